"""Spanning forests against enumeration: searches, completions, losses."""

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from partwise import Clustering
from partwise.objective import Formulation, Objective
from partwise.protocol import CapabilityError, Structure
from partwise.solvers.bcfw import BCFW
from partwise.solvers.cccp import CCCP
from partwise.structures.clustering import Forest, Items
from partwise.structures.clustering.structure import clusters, kruskal
from partwise.testing import check_structure


def forests(x):
    """All sets of links without a cycle."""
    for size in range(x.n_items):
        for links in combinations(range(len(x.pairs)), size):
            if len(kruskal(x.n_items, x.pairs, chosen(x, links), True)) == size:
                yield Forest(links)


def chosen(x, links):
    score = np.zeros(len(x.pairs))
    score[list(links)] = 1.0
    return score


def examples(n=4, seed=0, n_items=4, share=1.0):
    rng = np.random.default_rng(seed)
    found = []
    for _ in range(n):
        pairs = np.array(list(combinations(range(n_items), 2)))
        pairs = pairs[rng.random(len(pairs)) <= share] if share < 1 else pairs
        pairs = pairs if len(pairs) else np.array([[0, 1]])
        x = Items(n_items, pairs, rng.normal(size=(len(pairs), 3)))
        found.append((x, (x, rng.integers(0, 2, size=n_items))))
    return found


@pytest.mark.parametrize("penalty", [1.0, 0.25, 3.0])
@pytest.mark.parametrize("share", [1.0, 0.6])
def test_methods_and_kernels_find_what_enumeration_finds(penalty, share):
    report = check_structure(
        Clustering(penalty), examples(share=share), enumerate=forests, n_models=8
    )
    assert {"complete", "pack[margin, l1]"} <= set(report.passed)


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 1000), st.sampled_from([0.01, 1.0]))
def test_the_loss_is_zero_exactly_for_the_true_clustering(seed, penalty):
    ((x, y),) = examples(1, seed)
    for forest in forests(x):
        loss = Clustering(penalty).loss(y, forest)
        assert loss >= 0
        same = clusters(x, forest)
        truth = np.asarray(y[1])
        pairs = combinations(range(x.n_items), 2)
        is_right = all((same[a] == same[b]) == (truth[a] == truth[b]) for a, b in pairs)
        assert (loss == 0) == is_right


def test_truths_begin_as_chains():
    x = Items(5, list(combinations(range(5), 2)), np.ones((10, 1)))
    labels = [0, 1, 0, 1, 0]
    problem = Clustering().pack([x], [(x, labels)])
    first = np.flatnonzero(problem.blocks.truth).tolist()
    assert [x.pairs[r] for r in first] == [(0, 2), (1, 3), (2, 4)]
    assert problem.blocks.best.tolist() == [3.0]


def test_packed_and_looped_problems_have_one_optimum():
    pairs = examples(8)
    X, Y = [x for x, _ in pairs], [y for _, y in pairs]
    structure = Clustering().setup(X, Y)
    objective = Objective.create(20.0, 8, "l1")
    w = np.random.default_rng(1).normal(size=3)
    values = []
    for problem in (structure.pack(X, Y), Structure.pack(structure, X, Y)):
        problem.complete(problem.expand(w))
        values.append(BCFW(tol=1e-6).solve(problem, objective).primal)
    assert values[0] == pytest.approx(values[1], rel=1e-5)


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_rounds_never_raise_the_objective(n_jobs):
    pairs = examples(10, n_items=6, share=0.8)
    X, Y = [x for x, _ in pairs], [y for _, y in pairs]
    problem = Clustering(0.5).setup(X, Y).pack(X, Y, n_jobs=n_jobs)
    state = CCCP(restarts=2).solve(problem, Objective.create(30.0, 10, "l1"))
    for done in state.memo.rounds:
        assert done.objective <= done.before * (1 + 1e-12)


def test_other_formulations_are_refused():
    ((x, y),) = examples(1)
    with pytest.raises(CapabilityError, match="frontier"):
        Clustering().pack([x], [y], Formulation("slack"))
    with pytest.raises(ValueError, match="link_penalty=-1"):
        Clustering(-1).pack([x], [y])
