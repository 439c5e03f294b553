"""Best trees for every loss against enumeration."""

from itertools import product

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from tree_cases import agree, as_tree, cases, empty_heads, trees

from partwise.structures.dependency._frontier import (
    new_frontier_work,
    trace_tree_frontier,
    tree_frontier,
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
