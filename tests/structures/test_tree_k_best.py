"""The k best labelled trees against sorting all of them."""

from itertools import product

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from tree_cases import WORK, as_tree, cases, empty_heads, trees

from partwise.structures.dependency._decoders import FirstOrder
from partwise.structures.dependency._k_best import k_best_trees, new_k_best_work
from partwise.structures.dependency._second_order_compiled import (
    Parts,
    decode_parts_by,
)
from tree_reference import dense_rows, second_order_score


def labelled_score(options, tree, ranks):
    words = zip(tree, ranks, range(1, len(tree) + 1), strict=True)
    return sum(options[r, h, d] for h, r, d in words)


def check(decoder, options, n, k, space, second_order):
    values = sorted(
        value
        for tree in space
        for ranks in product(range(len(options)), repeat=n)
        if (value := labelled_score(options, tree, ranks) + second_order(tree))
        > -np.inf
    )[: -k - 1 : -1]
    heads, ranks, found_values = empty_heads(k, n), empty_heads(k, n), np.empty(k)
    work = new_k_best_work(n, k)
    actual = k_best_trees(decoder, options, n, k, work, heads, ranks, found_values)
    assert actual == len(values)
    np.testing.assert_allclose(found_values[:actual], values, atol=1e-9)
    seen = set()
    for value, tree, rank in zip(found_values[:actual], heads, ranks, strict=False):
        assert as_tree(tree) in space
        again = labelled_score(options, as_tree(tree), rank)
        np.testing.assert_allclose(again + second_order(as_tree(tree)), value)
        seen.add((as_tree(tree), as_tree(rank)))
    assert len(seen) == actual


def ranked(case, n_labels):
    """Scores of the labels of each arc, best first."""
    return np.sort(case.score(n_labels), axis=0)[::-1].copy()


@settings(max_examples=60)
@given(
    case=cases(4),
    n_labels=st.integers(1, 3),
    k=st.integers(1, 12),
    projective=st.booleans(),
    single_root=st.booleans(),
)
def test_labelled_trees(case, n_labels, k, projective, single_root):
    decoder = FirstOrder(projective, single_root, WORK)
    space = trees(case.n, projective, single_root)
    check(decoder, ranked(case, n_labels), case.n, k, space, lambda tree: 0.0)


@settings(max_examples=25)
@given(case=cases(4), k=st.integers(1, 6), single_root=st.booleans())
def test_second_order_trees(case, k, single_root):
    size = case.size
    sibling = case.table(size, size, size)
    rows = sibling.reshape(size * size, size)
    decode = decode_parts_by(projective=True, has_grandparents=False)
    decoder = Parts(decode, dense_rows(size - 1), rows, np.empty((0, 0)), single_root)
    zero = np.zeros((size, size))
    space = trees(case.n, True, single_root)
    check(
        decoder, ranked(case, 2), case.n, k, space,
        lambda tree: second_order_score(zero, tree, sibling),
    )  # fmt: skip
