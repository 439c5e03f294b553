"""Trees by integer programming against enumeration, constraints included."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tree_cases import agree, as_tree, cases, empty_heads, trees

from partwise.structures.constraints import PartConstraint
from partwise.structures.dependency._climb import climb_trees, new_climb_work
from partwise.structures.dependency._programs import chu_liu_edmonds, new_tree_work
from partwise.structures.dependency.constraints import (
    InfeasibleTreeError,
    at_most_per_head,
    constrained_tree,
)
from tree_reference import dense_rows, second_order_score


@settings(max_examples=40)
@given(
    case=cases(4),
    projective=st.booleans(),
    single_root=st.booleans(),
    has_siblings=st.booleans(),
    has_grandparents=st.booleans(),
)
def test_best_tree_of_any_order(
    case, projective, single_root, has_siblings, has_grandparents
):
    size = case.n + 1
    score = case._replace(size=size).score()
    cubes = case.table(2, size, size, size)
    sibling = cubes[0] if has_siblings else None
    grandparent = cubes[1] if has_grandparents else None
    space = trees(case.n, projective, single_root)
    best = max(second_order_score(score, t, sibling, grandparent) for t in space)
    options = dict(projective=projective, single_root=single_root)
    options |= dict(sibling=sibling, grandparent=grandparent)
    if best == -np.inf:
        with pytest.raises(InfeasibleTreeError):
            constrained_tree(score, **options)
        return
    found = constrained_tree(score, **options)
    assert as_tree(found.heads) in space
    assert agree(found.value, best)
    again = second_order_score(score, as_tree(found.heads), sibling, grandparent)
    assert agree(again, best)


def test_at_most_one_subject_per_head():
    subject, other = 0, 1
    score = np.zeros((4, 4, 2))
    score[:, :, other] = -1.0
    score[0, 1] = 5.0
    score[1, :, subject] = 3.0
    free = constrained_tree(score)
    assert as_tree(free.heads) == (0, 1, 1)
    assert as_tree(free.labels)[1:] == (subject, subject)
    bound = constrained_tree(score, constraints=at_most_per_head(subject)(3))
    for h in range(1, 4):
        assert np.sum((bound.heads == h) & (bound.labels == subject)) <= 1
    assert bound.value == 8.0


def test_fixed_and_forbidden_arcs():
    rng = np.random.default_rng(0)
    score = rng.normal(size=(6, 6))
    best = {}
    for tree in trees(5, False, False):
        value = second_order_score(score, tree)
        key = tree[1] == 4, tree[4] == 3
        best[key] = max(best.get(key, -np.inf), value)
    found = constrained_tree(score, fixed=[(4, 2)], forbidden=[(3, 5)])
    assert found.value == pytest.approx(best[True, False])
    assert found.heads[1] == 4
    assert found.heads[4] != 3
    two = PartConstraint([(None, 2), (4, 2)], [1.0, 1.0], lower=2.0)
    assert constrained_tree(score, constraints=[two]).heads[1] == 4


def test_agrees_with_chu_liu_edmonds_on_long_sentences():
    n = 25
    score = np.random.default_rng(3).normal(size=(n + 1, n + 1))
    heads = empty_heads(n)
    value = chu_liu_edmonds(score, n, True, new_tree_work(n), heads)
    found = constrained_tree(score, single_root=True)
    assert found.value == pytest.approx(value)
    assert as_tree(found.heads) == as_tree(heads)
    assert found.rounds > 1  # cycles were cut


def test_climbing_is_close_to_the_optimum():
    """Eight sentences of eight words: never above the exact optimum, mostly at it."""
    n = 8
    rng = np.random.default_rng(0)
    row, work = dense_rows(n), new_climb_work(n)
    reached = 0
    for _ in range(8):
        score = 2.0 * rng.normal(size=(n + 1, n + 1))
        sibling, grandparent = 0.5 * rng.normal(size=(2, n + 1, n + 1, n + 1))
        exact = constrained_tree(score, sibling=sibling, grandparent=grandparent)
        tables = [cube.reshape(-1, n + 1) for cube in (sibling, grandparent)]
        value = climb_trees(score, row, *tables, n, False, work, empty_heads(n))
        assert value <= exact.value + 1e-9
        reached += value >= exact.value - 1e-9
    assert reached >= 6


def test_errors_name_the_remedy():
    score = np.zeros((3, 3))
    with pytest.raises(InfeasibleTreeError, match="relax one of"):
        constrained_tree(score, fixed=[(2, 1), (1, 2)])
    with pytest.raises(InfeasibleTreeError, match="word 2 has no head"):
        constrained_tree(np.where(np.arange(3) == 2, -np.inf, score))
    with pytest.raises(ValueError, match="7 is not between 0 and 2"):
        constrained_tree(score, fixed=[(7, 1)])
    with pytest.raises(ValueError, match="give \\(head, dependent\\)"):
        constrained_tree(score, forbidden=[(1,)])
    with pytest.raises(ValueError, match="2 parts and 1 coefficients"):
        wrong = PartConstraint([(0, 1), (0, 2)], [1.0])
        constrained_tree(score, constraints=[wrong])
    with pytest.raises(ValueError, match="give \\(n \\+ 1, n \\+ 1\\)"):
        constrained_tree(np.zeros(3))
