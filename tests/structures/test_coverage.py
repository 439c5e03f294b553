"""Coverage: greedy choice, branch and bound and their bounds against enumeration."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from partwise.certificate import certify
from partwise.features.covering import CoveringSet, WordCovers
from partwise.objective import Formulation, Objective
from partwise.protocol import CapabilityError
from partwise.solvers.bcfw import BCFW
from partwise.structures.coverage import Coverage
from partwise.structures.coverage.problem import best_cover
from partwise.structures.coverage.structure import Subtopics

ENOUGH = 10**6


def make(seed, n, m=6, n_features=3, n_topics=4):
    """A covering set with subtopics, and weights; whole numbers make ties likely."""
    rng = np.random.default_rng(seed)
    features = rng.integers(-1, 3, size=(m, n_features)).astype(float)
    covers = rng.uniform(size=(n, m)) < 0.4
    has = rng.uniform(size=(n, n_topics)) < 0.4
    topics = [np.flatnonzero(row).tolist() for row in has]
    w = rng.integers(-2, 3, size=n_features).astype(float)
    return CoveringSet(features, covers), topics, w


def plain_loss(topics, chosen):
    """Weight of subtopics that are not covered, as the definition has it."""
    everyone = [t for row in topics for t in row]
    if not everyone:
        return 0.0
    covered = set().union(*(set(topics[d]) for d in chosen))
    return sum(t not in covered for t in everyone) / len(everyone)


def value(x, chosen, w):
    covered = x.covers[list(chosen)].any(axis=0)
    return float((x.features @ w)[covered].sum())


cases = st.tuples(
    st.integers(0, 100_000), st.integers(1, 8), st.integers(1, 5),
    st.sampled_from([0, 3, ENOUGH]), st.integers(0, 80),
)  # fmt: skip


@settings(max_examples=150, deadline=None)
@given(cases)
def test_violated_sets_and_bounds(case):
    seed, n, k, nodes, m = case
    x, topics, w = make(seed, n, m=m)
    structure = Coverage(k, nodes)
    problem = structure.pack([x], [topics])
    cuts = problem.oracle(problem.expand(w))
    sets = list(itertools.combinations(range(n), min(k, n)))
    least = min(plain_loss(topics, one) for one in sets)
    target = structure.target(topics)
    assert plain_loss(topics, target) == pytest.approx(least)
    truth = value(x, target, w)
    violations = [
        plain_loss(topics, one) - least - (truth - value(x, one, w)) for one in sets
    ]
    (chosen,) = problem.outputs(cuts)
    assert len(set(chosen.tolist())) == min(k, n)
    loss = plain_loss(topics, chosen) - least
    assert cuts.b[0] == pytest.approx(loss, abs=1e-12)
    expected = loss - (truth - value(x, chosen, w))
    assert cuts.violation[0] == pytest.approx(expected, abs=1e-9)
    assert cuts.bound[0] >= max(violations) - 1e-9
    if nodes == ENOUGH:
        assert cuts.violation[0] == pytest.approx(max(violations), abs=1e-9)
        assert cuts.bound[0] == pytest.approx(max(violations), abs=1e-9)
    margins = problem.margins(problem.expand(w), cuts)
    assert margins[0] == pytest.approx(truth - value(x, chosen, w), abs=1e-9)
    psi = structure.joint_feature(x, target) - structure.joint_feature(x, chosen)
    np.testing.assert_allclose(problem.compact(problem.combine(cuts, np.ones(1))), psi)


@settings(max_examples=100, deadline=None)
@given(cases, st.booleans())
def test_predictions(case, positive):
    seed, n, k, nodes, m = case
    x, _, w = make(seed, n, m=m)
    if positive:
        x, w = x._replace(features=np.abs(x.features)), np.abs(w)
    chosen = Coverage(k, nodes).argmax(x, w)
    best = max(
        value(x, one, w) for one in itertools.combinations(range(n), len(chosen))
    )
    actual = value(x, chosen, w)
    if nodes == ENOUGH:
        assert actual == pytest.approx(best)
    if positive:
        assert actual >= (1 - 1 / math.e) * best - 1e-9
    if nodes == 0:
        # step by step, lazy or not, the first document of the largest gain
        taken = []
        for d in chosen.tolist():
            gains = [
                value(x, [*taken, other], w) if other not in taken else -np.inf
                for other in range(n)
            ]
            assert d == int(np.argmax(gains))
            taken.append(d)
    assert Coverage(k, nodes).argmax(x, w).tolist() == chosen.tolist()


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 10_000), st.integers(1, 8), st.integers(1, 4))
def test_targets_are_best(seed, n, k):
    rng = np.random.default_rng(seed)
    has, weight = rng.uniform(size=(n, 5)) < 0.4, rng.integers(0, 3, size=5) / 5
    chosen, bound = best_cover(has, weight, k)
    sets = itertools.combinations(range(n), min(k, n))
    best = max(weight[has[list(one)].any(axis=0)].sum() for one in sets)
    assert weight[has[chosen].any(axis=0)].sum() == pytest.approx(best)
    assert bound == pytest.approx(best, abs=1e-9)


@pytest.mark.parametrize("nodes", [0, 1000])
def test_training(nodes):
    rng = np.random.default_rng(0)
    X, Y = [], []
    for seed in range(8):
        x, topics, _ = make(seed, 6, m=12)
        X.append(x._replace(features=rng.uniform(size=x.features.shape)))
        Y.append(topics)
    structure = Coverage(2, nodes).setup(X, Y)
    problem = structure.pack(X, Y)
    objective = Objective.create(20.0, 8, "l1")
    state = BCFW(tol=1e-4, max_iter=200).solve(problem, objective)
    certificate = certify(problem, objective, state.model, dual=state.dual)
    slack = []
    w = problem.compact(state.model)
    for x, y in zip(X, Y, strict=True):
        truth = structure.joint_feature(x, structure.target(y)) @ w
        slack.append(max(
            structure.loss(y, one) - truth + structure.joint_feature(x, one) @ w
            for one in structure.enumerate(x)
        ))  # fmt: skip
    primal = 0.5 * w @ w + 20.0 * np.mean(np.maximum(slack, 0.0))
    assert certificate.dual <= primal * (1 + 1e-9)
    if nodes:
        assert certificate.primal == pytest.approx(primal, rel=1e-6)
        assert certificate.relative_gap <= 1e-3
    else:  # at least what greedy choice found, at most what its bounds allow
        assert certificate.at_least <= primal * (1 + 1e-9)
        assert certificate.at_most >= primal * (1 - 1e-9)


def test_words_as_elements():
    x = WordCovers("rich", shares=(0.0, 0.5)).transform([["A title\na b b", "b c"]])[0]
    assert x.features.shape[1] == 5 * 2
    assert x.covers.shape[0] == 2
    counts = np.array([[1, 2, 0], [0, 1, 5]])
    from_counts = WordCovers("rich").transform([counts])[0]
    assert from_counts.covers.shape == (2, 3 + 2 + 1)
    own = WordCovers(lambda x: (np.ones((3, 1)), counts)).transform([None])[0]
    assert own.covers.tolist() == (counts > 0).tolist()
    with pytest.raises(ValueError, match="one candidate set"):
        WordCovers().transform(["a", "b"])
    with pytest.raises(ValueError, match="choose frequency or rich"):
        WordCovers("other")
    with pytest.raises(ValueError, match="covers"):
        WordCovers(lambda x: (np.ones((4, 1)), counts)).transform([None])


def test_refusals():
    x, topics, _ = make(0, 3)
    with pytest.raises(ValueError, match="k=0"):
        Coverage(0).pack([x], [topics])
    with pytest.raises(CapabilityError, match="frontier"):
        Coverage(2).pack([x], [topics], Formulation("slack", "l1"))
    with pytest.raises(ValueError, match="has 3 documents, but subtopics of 2"):
        Coverage(2).pack([x], [topics[:2]])
    with pytest.raises(ValueError, match="give a list or set"):
        Subtopics.create(["ab"])


def test_sets_of_different_sizes_train_exactly():
    """Codes of small sets are shorter than those of large ones."""
    sets = [make(seed, 6, m=m) for seed, m in enumerate((6, 40, 12, 70))]
    X, topics = ([one[k] for one in sets] for k in (0, 1))
    structure = Coverage(k=2, search_nodes=10_000)
    problem = structure.pack(X, topics)
    objective = Objective.create(50.0, len(X), "l1")
    solver = BCFW(tol=1e-6, max_iter=500)
    state = solver.solve(problem, objective)
    cuts = solver.support(state).cuts
    outputs = zip(cuts.block.tolist(), problem.outputs(cuts), strict=True)
    losses = [structure.loss(topics[i], chosen) for i, chosen in outputs]
    np.testing.assert_allclose(losses, cuts.b, atol=1e-12)
    certificate = certify(problem, objective, state.model, dual=state.dual)
    assert certificate.exact_oracle
    assert certificate.dual <= certificate.primal
    assert certificate.relative_gap <= 1e-6
