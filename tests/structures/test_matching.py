"""Matchings against enumeration, scipy, and the contract of structures."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linear_sum_assignment
from scipy.sparse import csr_array

from partwise.compiled import Reference
from partwise.objective import Formulation
from partwise.protocol import CapabilityError
from partwise.structures._assignment import (
    TableValues,
    assign_places,
    new_assignment_work,
)
from partwise.structures.matching import CandidatePairs, Matching
from partwise.testing import check_structure


def random_pairs(rng, n, m, is_complete, size=3):
    """Candidates with small whole features, so that ties are frequent."""
    pairs = [(a, b) for a in range(n) for b in range(m)]
    if not is_complete:
        pairs = [pair for pair in pairs if rng.random() < 0.7] or pairs[:1]
    features = rng.integers(-2, 3, (len(pairs), size)).astype(float)
    return CandidatePairs(features, np.array(pairs), (n, m))


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 10**6), st.integers(1, 4), st.integers(1, 4), st.booleans())
def test_searches_agree_with_enumeration(seed, n, m, unmatched):
    rng = np.random.default_rng(seed)
    matching = Matching(unmatched=unmatched, missed=1.5, invented=0.5)
    x = random_pairs(rng, n, m, is_complete=not unmatched)
    outputs = list(matching.enumerate(x))
    truth = outputs[rng.integers(len(outputs))]
    w = rng.integers(-2, 3, 3).astype(float)

    def score(y):
        return matching.joint_feature(x, y) @ w

    best = max(score(y) for y in outputs)
    assert score(matching.argmax(x, w)) == pytest.approx(best)
    augmented = max(score(y) + matching.loss(truth, y) for y in outputs)
    y_hat = matching.loss_augmented_argmax(x, truth, w)
    assert score(y_hat) + matching.loss(truth, y_hat) == pytest.approx(augmented)
    problem = matching.pack([x], [truth])
    ranked = problem.k_best(problem.expand(w), 5)[0]
    values = sorted((score(y) for y in outputs), reverse=True)[:5]
    assert [value for _, value in ranked] == pytest.approx(values)
    assert len({tuple(y) for y, _ in ranked}) == len(ranked)
    assert [score(y) for y, _ in ranked] == pytest.approx(values)


@pytest.mark.parametrize("unmatched", [False, True])
@pytest.mark.parametrize("wrap", [np.asarray, csr_array])
def test_the_contract_of_structures(unmatched, wrap):
    rng = np.random.default_rng(0)
    matching = Matching(unmatched=unmatched)
    examples = []
    for n, m in ((2, 3), (3, 2), (1, 1), (2, 2)):
        x = random_pairs(rng, n, m, is_complete=True)
        outputs = list(matching.enumerate(x))
        x = x._replace(features=wrap(x.features))
        examples.append((x, outputs[rng.integers(len(outputs))]))
    check_structure(matching, examples)


@settings(max_examples=50, deadline=None)
@given(st.integers(0, 10**6), st.integers(1, 7), st.integers(0, 4))
def test_assignments_are_those_of_scipy(seed, m, more):
    rng = np.random.default_rng(seed)
    n = m + more
    value = rng.integers(-3, 4, (m, n)).astype(float)
    value[rng.random((m, n)) < 0.3] = -np.inf
    work = Reference(new_assignment_work(m, n))
    is_possible = assign_places(TableValues(value), m, n, work)
    try:
        best = value[linear_sum_assignment(value, maximize=True)].sum()
    except ValueError:  # infeasible
        assert not is_possible
        return
    assert is_possible
    place = work.place_of[1:]
    rows = np.flatnonzero(place)
    assert value[place[rows] - 1, rows].sum() == pytest.approx(best)


def test_bad_input_is_named():
    x = np.zeros((2, 2, 1))
    with pytest.raises(ValueError, match="example 0: a right item is not there, or in"):
        Matching().pack([x], [[0, 0]])
    with pytest.raises(ValueError, match=r"1 items have no partner; give .*unmatched"):
        Matching().pack([x], [[0, -1]])
    with pytest.raises(ValueError, match=r"example 0: an input has the shape \(2,\)"):
        Matching().pack([np.zeros(2)], [[0, 1]])
    with pytest.raises(ValueError, match=r"example 0: the true pair \(0, 1\) is no"):
        pairs = (np.ones((1, 1)), [(0, 0)], (1, 2))
        Matching(unmatched=True).pack([pairs], [[1]])
    with pytest.raises(ValueError, match="Y has 1 matchings where X has 2"):
        Matching().pack([x, x], [[0, 1]])
    with pytest.raises(CapabilityError, match="frontier"):
        Matching().pack([x], [[0, 1]], Formulation("slack"))
