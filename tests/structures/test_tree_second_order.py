"""Second-order decoders against enumeration, dense and pruned; climbing against it."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tree_cases import LONGEST, agree, as_tree, cases, empty_heads, trees

from partwise.structures.dependency._climb import climb_trees, new_climb_work
from partwise.structures.dependency._grandparents import (
    eisner_grandparents,
    new_grandparent_work,
)
from partwise.structures.dependency._grandparents import (
    second_order_score as kernel_score,
)
from partwise.structures.dependency._reference import reaches_root
from partwise.structures.dependency._second_order import (
    eisner_siblings,
    new_sibling_work,
)
from tree_reference import dense_rows, inner_sibling, second_order_score

EMPTY = np.zeros((0, 0))
SIBLING_WORK = new_sibling_work(LONGEST + 2)
GRANDPARENT_WORK = new_grandparent_work(LONGEST + 2)
CLIMB_WORK = new_climb_work(LONGEST + 2)


def pruned_rows(score, cube):
    """Rows of the allowed arcs only, elsewhere a row that does not exist."""
    row = np.full(score.shape, 10**6, dtype=np.int32)
    allowed = score > -np.inf
    row[allowed] = np.arange(allowed.sum())
    return row, np.ascontiguousarray(cube[allowed])


def flat(cube):
    return cube.reshape(-1, cube.shape[2])


def check(value, heads, score, space, sibling, grandparent=None):
    best = max(second_order_score(score, t, sibling, grandparent) for t in space)
    assert agree(value, best)
    if best > -np.inf:
        assert as_tree(heads) in space
        again = second_order_score(score, as_tree(heads), sibling, grandparent)
        assert agree(again, best)


@given(case=cases(), single_root=st.booleans(), is_pruned=st.booleans())
def test_siblings(case, single_root, is_pruned):
    n, size = case.n, case.size
    score, sibling = case.score(), case.table(size, size, size)
    row, table = dense_rows(size - 1), flat(sibling)
    if is_pruned:
        row, table = pruned_rows(score, sibling)
    heads = empty_heads(n)
    value = eisner_siblings(score, row, table, n, single_root, SIBLING_WORK, heads)
    check(value, heads, score, trees(n, True, single_root), sibling)


@settings(max_examples=60)
@given(
    case=cases(),
    single_root=st.booleans(),
    is_pruned=st.booleans(),
    has_siblings=st.booleans(),
)
def test_grandparents(case, single_root, is_pruned, has_siblings):
    n, size = case.n, case.size
    score = case.score()
    sibling, grandparent = case.table(2, size, size, size)
    row, tables = dense_rows(size - 1), [flat(sibling), flat(grandparent)]
    if is_pruned:
        tables = [pruned_rows(score, cube)[1] for cube in (sibling, grandparent)]
        row = pruned_rows(score, sibling)[0]
    if not has_siblings:
        sibling, tables[0] = None, EMPTY
    heads = empty_heads(n)
    value = eisner_grandparents(
        score, row, *tables, n, single_root, GRANDPARENT_WORK, heads
    )
    check(value, heads, score, trees(n, True, single_root), sibling, grandparent)


@pytest.mark.parametrize("n", [12, 30])
def test_orders_agree_on_long_sentences(n):
    rng = np.random.default_rng(n)
    score = rng.normal(size=(n + 1, n + 1))
    sibling = rng.normal(size=((n + 1) ** 2, n + 1))
    row = dense_rows(n)
    one, two = empty_heads(2, n)
    for single_root in (False, True):
        value = eisner_siblings(
            score, row, sibling, n, single_root, new_sibling_work(n), one
        )
        work = new_grandparent_work(n)
        other = eisner_grandparents(
            score, row, sibling, EMPTY, n, single_root, work, two
        )
        assert value == pytest.approx(other)
        assert as_tree(one) == as_tree(two)


def moves(tree, single_root):
    """All trees that differ in one head."""
    for d in range(len(tree)):
        for h in range(len(tree) + 1):
            other = (*tree[:d], h, *tree[d + 1 :])
            if reaches_root(other) and (not single_root or other.count(0) == 1):
                yield other


@settings(max_examples=60)
@given(
    case=cases(),
    single_root=st.booleans(),
    has_siblings=st.booleans(),
    has_grandparents=st.booleans(),
)
def test_climbing_ends_where_no_single_head_helps(
    case, single_root, has_siblings, has_grandparents
):
    n, size = case.n, case.size
    score = case.score()
    cubes = case.table(2, size, size, size)
    sibling = cubes[0] if has_siblings or not has_grandparents else None
    grandparent = cubes[1] if has_grandparents else None
    tables = [EMPTY if cube is None else flat(cube) for cube in (sibling, grandparent)]
    row = dense_rows(size - 1)
    heads = empty_heads(n)
    value = climb_trees(score, row, *tables, n, single_root, CLIMB_WORK, heads)

    def total(tree):
        return second_order_score(score, tree, sibling, grandparent)

    if value == -np.inf:
        assert max(total(t) for t in trees(n, False, single_root)) == -np.inf
        return
    tree = as_tree(heads)
    assert tree in trees(n, False, single_root)
    assert agree(value, total(tree))
    assert agree(value, kernel_score(score, row, *tables, n, heads))
    assert value >= max(total(t) for t in trees(n, True, single_root)) - 1e-9
    assert value >= max(total(t) for t in moves(tree, single_root)) - 1e-9


def test_inner_sibling_is_the_next_child_towards_the_head():
    assert [inner_sibling((3, 3, 0, 3, 3), d) for d in range(1, 6)] == [2, 3, 0, 3, 4]
