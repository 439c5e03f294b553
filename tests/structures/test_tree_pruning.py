"""Pruning keeps the best heads and given trees, and numbers what is left."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from tree_cases import WORK, cases, empty_heads

from partwise.structures.dependency._programs import eisner
from partwise.structures.dependency._pruning import prune_arcs


@given(case=cases(), k=st.integers(0, 4), least=st.sampled_from([0.0, 0.5]))
def test_keeps_the_best_heads_and_the_given_tree(case, k, least):
    n, size = case.n, case.size
    score = case.score()
    rank = np.exp(case.table(size, size))
    heads = empty_heads(n)
    has_tree = eisner(score, n, False, WORK, heads) > -np.inf
    kept = heads[None, :][: int(has_tree)]
    pruned = np.full((size, size), np.nan)
    row = np.full((size, size), -1, dtype=np.int32)
    n_arcs = prune_arcs(score, rank, least, n, k, kept, pruned, row)

    allowed = score > -np.inf
    for d in range(1, n + 1):
        ranks = sorted(
            (-rank[h, d], h) for h in range(n + 1) if h != d and allowed[h, d]
        )
        expected = {h for r, h in ranks[:k] if -r >= least * -ranks[0][0]}
        if has_tree:
            expected.add(int(heads[d - 1]))
        left = {h for h in range(n + 1) if pruned[h, d] > -np.inf}
        assert left == expected
        assert all(pruned[h, d] == score[h, d] for h in left)
    numbers = [row[h, d] for h, d in np.argwhere(pruned[: n + 1, : n + 1] > -np.inf)]
    assert numbers == list(range(n_arcs))
