"""Best trees for every loss against enumeration, and the bounds of the multiplier."""

from itertools import product

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from tree_cases import WORK, agree, as_tree, cases, empty_heads, trees

from partwise.structures.dependency._decoders import FirstOrder
from partwise.structures.dependency._frontier import (
    new_frontier_work,
    new_hull_work,
    trace_tree_frontier,
    tree_frontier,
    tree_hull,
)


def score_of(options, tree, losses):
    words = zip(tree, losses, range(1, len(tree) + 1), strict=True)
    return sum(options[c, h, d] for h, c, d in words)


def best_by_loss(options, n, space):
    best = np.full((len(options) - 1) * n + 1, -np.inf)
    for tree in space:
        for losses in product(range(len(options)), repeat=n):
            loss = sum(losses)
            best[loss] = max(best[loss], score_of(options, tree, losses))
    return best


@settings(max_examples=50)
@given(case=cases(4), n_levels=st.integers(2, 3), single_root=st.booleans())
def test_frontier_of_projective_trees(case, n_levels, single_root):
    n = case.n
    options = case.score(n_levels)
    space = trees(n, True, single_root)
    expected = best_by_loss(options, n, space)
    work = new_frontier_work(case.size - 1, n_levels)
    tree_frontier(options, n, single_root, work)
    np.testing.assert_allclose(work.best[: len(expected)], expected, atol=1e-9)
    heads, losses = empty_heads(n), empty_heads(n)
    for loss in np.flatnonzero(expected > -np.inf):
        trace_tree_frontier(options, n, single_root, work, loss, heads, losses)
        assert as_tree(heads) in space
        assert losses.sum() == loss
        assert agree(score_of(options, as_tree(heads), losses), expected[loss])


def concave_hull(best):
    """The smallest concave function above the finite values; −inf outside of them."""
    at = np.flatnonzero(best > -np.inf)
    hull = np.full(len(best), -np.inf)
    for a in at:
        for b in at[at >= a]:
            e = np.arange(a, b + 1)
            share = (e - a) / max(1, b - a)
            hull[e] = np.maximum(hull[e], (1 - share) * best[a] + share * best[b])
    return hull


@settings(max_examples=50)
@given(
    case=cases(4),
    n_levels=st.integers(2, 3),
    projective=st.booleans(),
    single_root=st.booleans(),
    room=st.sampled_from([2, 3, 40]),
)
def test_hull_of_losses(case, n_levels, projective, single_root, room):
    n = case.n
    options = case.score(n_levels)
    space = trees(n, projective, single_root)
    expected = best_by_loss(options, n, space)
    heads, losses = empty_heads(room, n), empty_heads(room, n)
    values, bound = np.empty(room), np.empty(len(expected))
    decoder = FirstOrder(projective, single_root, WORK)
    work = new_hull_work(case.size - 1, room)
    found = tree_hull(decoder, options, n, work, heads, losses, values, bound)
    if expected.max() == -np.inf:
        assert found == 0
        return
    assert found > 0
    assert np.all(expected <= bound)
    for t in range(found):
        assert as_tree(heads[t]) in space
        assert agree(score_of(options, as_tree(heads[t]), losses[t]), values[t])
        assert agree(values[t], expected[losses[t].sum()])
    if room == 40:
        hull = concave_hull(expected)
        inside = hull > -np.inf
        np.testing.assert_allclose(bound[inside], hull[inside], atol=1e-8)
