"""First-order decoders against enumeration and against ufal.chu_liu_edmonds."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tree_cases import WORK, agree, as_tree, cases, empty_heads, trees
from ufal.chu_liu_edmonds import chu_liu_edmonds as peer

from partwise.readers import is_projective
from partwise.structures.dependency._eisner import eisner
from partwise.structures.dependency._programs import (
    best_heads,
    chu_liu_edmonds,
    is_tree,
    new_tree_work,
)
from partwise.structures.dependency._reference import reaches_root
from tree_reference import first_order_score


@pytest.mark.parametrize("decode", [chu_liu_edmonds, eisner])
@given(case=cases(), single_root=st.booleans())
def test_finds_the_best_tree(decode, case, single_root):
    score = case.score()
    space = trees(case.n, decode is eisner, single_root)
    best = max(first_order_score(score, tree) for tree in space)
    heads = empty_heads(case.n)
    value = decode(score, case.n, single_root, WORK, heads)
    assert agree(value, best)
    if best > -np.inf:
        assert as_tree(heads) in space
        assert agree(first_order_score(score, as_tree(heads)), best)
        again = empty_heads(case.n)
        decode(score, case.n, single_root, WORK, again)
        assert as_tree(again) == as_tree(heads)


@given(case=cases())
def test_best_heads_are_best_word_by_word(case):
    score = case.score()
    heads = empty_heads(case.n)
    value, is_valid = best_heads(score, case.n, WORK, heads)
    best = 0.0
    for d in range(1, case.n + 1):
        best += max(score[h, d] for h in range(case.n + 1) if h != d)
    assert agree(value, best)
    if best > -np.inf:
        assert agree(first_order_score(score, as_tree(heads)), best)
        assert is_valid == reaches_root(as_tree(heads))


@given(heads=st.lists(st.integers(0, 5), min_size=5, max_size=5))
def test_is_tree(heads):
    place = WORK.contraction.place
    assert is_tree(5, place, np.array(heads, np.int32)) == reaches_root(tuple(heads))


@pytest.mark.parametrize("n", [7, 30, 90])
def test_long_sentences_agree_with_ufal(n):
    rng = np.random.default_rng(n)
    work = new_tree_work(n)
    for scale in (1.0, 1e-3, 1e6):
        score = scale * rng.normal(size=(n + 1, n + 1))
        score[rng.random(score.shape) < 0.2] = -np.inf
        score[0, 1 + rng.integers(n)] = 0.0
        heads = empty_heads(n)
        value = chu_liu_edmonds(score, n, False, work, heads)
        theirs, _ = peer(np.ascontiguousarray(score.T))
        assert reaches_root(as_tree(heads))
        assert value == pytest.approx(
            first_order_score(score, tuple(theirs[1:])), rel=1e-12
        )


@pytest.mark.parametrize("n", [30, 90])
def test_single_root_of_long_sentences(n):
    """Against the best of n decodings, each with one word allowed below the root."""
    rng = np.random.default_rng(n)
    score = rng.normal(size=(n + 1, n + 1))
    score[0] += 3.0  # tempt with many roots
    work = new_tree_work(n)
    heads = empty_heads(n)
    for decode in (chu_liu_edmonds, eisner):
        assert decode(score, n, False, work, heads) > -np.inf
        assert np.sum(heads == 0) > 1
        value = decode(score, n, True, work, heads)
        assert np.sum(heads == 0) == 1
        best = -np.inf
        for root_word in range(1, n + 1):
            one = score.copy()
            one[0] = -np.inf
            one[0, root_word] = score[0, root_word]
            best = max(best, decode(one, n, False, work, empty_heads(n)))
        assert value == pytest.approx(best, rel=1e-12)


def test_crossing_arcs_only_where_allowed():
    score = np.zeros((5, 5))
    for d, h in enumerate((3, 4, 0, 3), 1):
        score[h, d] = 10.0
    heads = empty_heads(4)
    assert chu_liu_edmonds(score, 4, False, WORK, heads) == 40.0
    assert as_tree(heads) == (3, 4, 0, 3)
    assert eisner(score, 4, False, WORK, heads) == 30.0
    assert is_projective(as_tree(heads))
