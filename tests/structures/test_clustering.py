"""Clusterings against enumeration: searches, completions, losses, bounds."""

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from partwise import Clustering, CorrelationClustering
from partwise.objective import Formulation, Objective
from partwise.protocol import CapabilityError, Structure
from partwise.solvers.bcfw import BCFW
from partwise.solvers.bundle import ProximalBundle
from partwise.solvers.cccp import CCCP
from partwise.structures.clustering import Forest, Items, Partition
from partwise.structures.clustering.partitions import best_partition, joined
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
    actual = []
    for _ in range(n):
        pairs = np.array(list(combinations(range(n_items), 2)))
        pairs = pairs[rng.random(len(pairs)) <= share] if share < 1 else pairs
        pairs = pairs if len(pairs) else np.array([[0, 1]])
        x = Items(n_items, pairs, rng.normal(size=(len(pairs), 3)))
        actual.append((x, (x, rng.integers(0, 2, size=n_items))))
    return actual


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


# -------------------------------------------------------- correlation clustering

BELL = [1, 1, 2, 5, 15, 52, 203]


def labelings(n):
    """All partitions of n items: the label of an item is at most one new one."""
    if n == 0:
        yield ()
        return
    for before in labelings(n - 1):
        for label in range(max(before, default=-1) + 2):
            yield (*before, label)


def partitions(x):
    """All outputs; partitions that agree in all candidate pairs are one."""
    listed = {
        tuple(np.flatnonzero(joined(y, x.pairs)).tolist()) for y in labelings(x.n_items)
    }
    return [Partition(links) for links in sorted(listed)]


def parted(n=4, seed=0, n_items=4, share=1.0):
    return [(x, Partition.of(x, y[1])) for x, y in examples(n, seed, n_items, share)]


def best_value(x, value):
    return max(value[list(p.links)].sum() for p in partitions(x))


def test_all_partitions_are_counted_by_bell_numbers():
    assert [len(list(labelings(n))) for n in range(7)] == BELL
    ((x, _),) = examples(1, n_items=6)
    assert len(partitions(x)) == BELL[6]


@pytest.mark.parametrize("exact_items", [0, 5])
@pytest.mark.parametrize("penalty", [1.0, 0.25])
@pytest.mark.parametrize("share", [1.0, 0.6])
def test_partitions_are_those_of_enumeration(exact_items, penalty, share):
    """Exact ones are the best; greedy ones are outputs, and their bound holds."""
    report = check_structure(
        CorrelationClustering(penalty, exact_items),
        parted(4, share=share, n_items=5),
        enumerate=partitions,
        n_models=8,
    )
    assert "pack[margin, l1]" in report.passed


@settings(max_examples=25, deadline=None)
@given(
    n_items=st.integers(2, 6),
    seed=st.integers(0, 1000),
    kind=st.sampled_from(["normal", "ties", "zero"]),
    share=st.sampled_from([1.0, 0.5]),
)
def test_searches_and_bounds_enclose_the_best_partition(n_items, seed, kind, share):
    pairs = parted(3, seed, n_items, share)
    X, Y = [x for x, _ in pairs], [y for _, y in pairs]
    rng = np.random.default_rng(seed)
    w = {"normal": rng.normal(size=3), "zero": np.zeros(3)}.get(kind)
    if kind == "ties":
        X = [x._replace(features=np.sign(x.features)) for x in X]
        w = rng.integers(-1, 2, size=3).astype(float)
    for exact in (0, 6):
        structure = CorrelationClustering(0.5, exact).setup(X, Y)
        problem = structure.pack(X, Y)
        cuts, best = problem.oracle(problem.expand(w)), problem.predict_codes(w)
        for i, (x, y) in enumerate(zip(X, Y, strict=True)):
            truth = structure.joint_feature(x, y) @ w
            most = max(
                structure.loss(y, p) + structure.joint_feature(x, p) @ w - truth
                for p in partitions(x)
            )
            assert 0 <= cuts.violation[i] <= most + 1e-9
            assert most <= cuts.bound[i] + 1e-9
            output = problem.outputs(cuts)[i]
            assert output in partitions(x)
            assert cuts.b[i] == pytest.approx(structure.loss(y, output))
            if exact:
                assert cuts.violation[i] == pytest.approx(most, abs=1e-7)
                assert cuts.bound[i] == pytest.approx(most, abs=1e-7)
                actual = structure.scores(x, w)[list(problem.outputs(best)[i].links)]
                expected = best_value(x, structure.scores(x, w))
                assert actual.sum() == pytest.approx(expected, abs=1e-7)


def test_integer_programs_beat_greedy_merges():
    """Two strong pairs that a greedy merge in the middle keeps apart."""
    x = Items(4, [(1, 2), (0, 1), (2, 3), (0, 2), (1, 3)], np.eye(5))
    w = np.array([3.0, 2.0, 2.0, -2.0, -2.0])
    greedy = CorrelationClustering().argmax(x, w)
    exact = CorrelationClustering(exact_items=4).argmax(x, w)
    assert greedy == Partition((0,)) and exact == Partition((1, 2))
    actual = best_partition(4, x.pairs, w)
    assert actual.bound == pytest.approx(4.0)


def test_exact_searches_have_a_gap_that_closes():
    pairs = parted(12, n_items=6)
    X, Y = [x for x, _ in pairs], [y for _, y in pairs]
    problem = CorrelationClustering(exact_items=6).setup(X, Y).pack(X, Y)
    objective = Objective.create(12.0, 12, "l1")
    states = [
        solver.solve(problem, objective)
        for solver in (ProximalBundle(), BCFW(batch=12))
    ]
    for state in states:
        assert state.stopped == "converged" and state.relative_gap <= 1e-3
    assert states[0].primal == pytest.approx(states[1].primal, rel=3e-3)
    greedy = CorrelationClustering().setup(X, Y).pack(X, Y)
    actual = BCFW().solve(greedy, objective)
    assert actual.dual <= states[0].primal and actual.found <= actual.primal
    assert actual.dual <= states[0].dual * (1 + 1e-3)
