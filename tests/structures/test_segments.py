"""Segmentations: searches, k best and marginals against all segmentations."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import logsumexp

from partwise.certificate import certify
from partwise.objective import Formulation, Objective
from partwise.protocol import CapabilityError
from partwise.solvers.bcfw import BCFW
from partwise.structures.segments import Segments
from partwise.structures.segments.segment_losses import LOSSES
from partwise.testing import brute_force_optimum, check_structure


def random_problem(seed, n_labels, cost):
    rng = np.random.default_rng(seed)
    longest = rng.integers(1, 4, size=n_labels).tolist()
    outside = int(rng.integers(n_labels)) if rng.random() < 0.5 else None
    structure = Segments(n_labels, longest, cost, outside)
    X = [
        rng.integers(-1, 2, size=(n, 2)).astype(float)
        for n in rng.integers(1, 5, size=3)
    ]
    if rng.random() < 0.6:  # features of segments
        depth = max(longest)
        spans = [rng.integers(-1, 2, size=(len(x), depth, 2)) for x in X]
        X = [(x, span.astype(float)) for x, span in zip(X, spans, strict=True)]
    if rng.random() < 0.5:  # codes as those of tags
        codes = rng.permutation(2 * n_labels)
        inside = np.where(np.array(longest) > 1, codes[n_labels:], -1)
        structure = Segments(n_labels, longest, cost, outside, codes[:n_labels], inside)
    outputs = [structure.enumerate(x) for x in X]
    Y = [listed[rng.integers(len(listed))] for listed in outputs]
    structure.setup(X, Y)
    w = rng.integers(-2, 3, size=structure.n_psi_).astype(float)
    w[rng.random(len(w)) < 0.5] *= rng.choice([0.0, 0.37])
    return structure, X, Y, w, outputs


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 10_000), st.integers(1, 3), st.sampled_from(sorted(LOSSES)))
def test_searches_agree_with_enumeration(seed, n_labels, cost):
    structure, X, Y, w, outputs = random_problem(seed, n_labels, cost)
    problem = structure.pack(X, Y)
    model = problem.expand(w)
    np.testing.assert_array_equal(problem.compact(model), w)
    cuts = problem.oracle(model)
    codes, highest = problem.decode(model)
    ranked, offset = problem.k_best(model, 5), problem.blocks.offset
    decoded = np.split(codes, offset[1:-1])
    shares, log_z = problem.segment_marginals(model)
    by_code, _ = problem.marginals(model)
    for i, y_hat in enumerate(problem.outputs(cuts)):
        x, y = X[i], Y[i]
        scores = np.array([structure.joint_feature(x, one) @ w for one in outputs[i]])
        losses = np.array([structure.loss(y, one) for one in outputs[i]])
        truth = structure.joint_feature(x, y) @ w
        assert structure.loss(y, y) == 0.0 and (losses >= -1e-12).all()
        assert structure.n_outputs(offset[i + 1] - offset[i]) == len(scores)
        assert cuts.violation[i] == pytest.approx((losses + scores).max() - truth)
        assert cuts.b[i] == pytest.approx(structure.loss(y, y_hat))
        assert highest[i] == pytest.approx(scores.max())
        assert structure.joint_feature(x, decoded[i]) @ w == pytest.approx(scores.max())
        plain = structure.loss_augmented_argmax(x, y, w)
        best = structure.loss(y, plain) + structure.joint_feature(x, plain) @ w
        assert best == pytest.approx((losses + scores).max())
        plain = structure.joint_feature(x, structure.argmax(x, w)) @ w
        assert plain == pytest.approx(scores.max())
        best = np.sort(scores)[::-1][:5]
        np.testing.assert_allclose([value for _, value in ranked[i]], best, atol=1e-9)
        texts = [str(one) for one, _ in ranked[i]]
        assert len(set(texts)) == len(texts)
        for one, value in ranked[i]:
            assert structure.joint_feature(x, one) @ w == pytest.approx(value)
        assert log_z[i] == pytest.approx(logsumexp(scores))
        expected = np.zeros_like(shares[i])
        n = offset[i + 1] - offset[i]
        at_token = np.zeros((n, by_code.shape[1]))
        for one, share in zip(outputs[i], np.exp(scores - log_z[i]), strict=True):
            for first, last, label in one:
                expected[first, last - first - 1, label] += share
            at_token[np.arange(n), structure.encode(one, n)] += share
        np.testing.assert_allclose(shares[i], expected, atol=1e-9)
        np.testing.assert_allclose(
            by_code[offset[i] : offset[i + 1]], at_token, atol=1e-9
        )


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 10_000), st.integers(1, 3))
def test_known_codes_are_kept(seed, n_labels):
    structure, X, Y, w, outputs = random_problem(seed, n_labels, "hamming")
    problem = structure.pack(X, Y)
    rng = np.random.default_rng(seed)
    known = np.where(rng.random(len(problem.blocks.y)) < 0.5, problem.blocks.y, -1)
    codes, value = problem.decode(problem.expand(w), known)
    offset = problem.blocks.offset
    for i, listed in enumerate(outputs):
        here = known[offset[i] : offset[i + 1]]
        scores = [
            structure.joint_feature(X[i], one) @ w
            for one in listed
            if ((structure.encode(one, len(here)) == here) | (here < 0)).all()
        ]
        assert value[i] == pytest.approx(max(scores))
    assert ((codes == known) | (known < 0)).all()
    problem = structure.pack(X, None)
    none = np.full(len(known), -1)
    none[0] = structure.codes()[1][0]  # inside of a segment that has not begun
    if none[0] >= 0:
        assert problem.decode(problem.expand(w), none)[1][0] == -np.inf


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 10_000), st.integers(1, 3))
def test_likelihoods_agree_with_enumeration(seed, n_labels):
    structure, X, Y, w, outputs = random_problem(seed, n_labels, "hamming")
    problem = structure.pack(X, Y)
    weight = np.array([0.5, 1.0, 2.0])
    losses, gradient = problem.log_likelihood(problem.expand(w), weight)
    expected = np.zeros(len(w))
    for i, listed in enumerate(outputs):
        features = np.array([structure.joint_feature(X[i], one) for one in listed])
        truth = structure.joint_feature(X[i], Y[i])
        log_z = logsumexp(features @ w)
        assert losses[i] == pytest.approx(log_z - truth @ w)
        mean = np.exp(features @ w - log_z) @ features
        expected += weight[i] * (mean - truth)
    np.testing.assert_allclose(problem.compact(gradient), expected, atol=1e-9)


@pytest.mark.parametrize("cost", sorted(LOSSES))
def test_the_public_check_passes(cost):
    structure, X, Y, _, _ = random_problem(4, 2, cost)
    check_structure(structure, list(zip(X, Y, strict=True)), n_models=5)


@pytest.mark.parametrize("cost", sorted(LOSSES))
def test_training_reaches_the_enumerated_optimum(cost):
    structure, X, Y, _, _ = random_problem(7, 2, cost)
    best = brute_force_optimum(structure, X, Y, 5.0)
    problem = structure.pack(X, Y)
    objective = Objective.create(5.0, len(X), "l1")
    state = BCFW(tol=1e-6).solve(problem, objective)
    certificate = certify(problem, objective, state.model, dual=state.dual)
    assert certificate.primal == pytest.approx(best.value, rel=1e-4)


def test_losses_of_an_example():
    y = [(0, 1, 0), (1, 5, 1), (5, 6, 0)]
    half = [(0, 1, 0), (1, 3, 1), (3, 4, 0), (4, 5, 0), (5, 6, 0)]
    longest = (1, 4)
    assert Segments(2, longest).loss(y, half) == 2.0
    assert Segments(2, longest, "segments", 0).loss(y, half) == 2.0
    assert Segments(2, longest, "overlap", 0).loss(y, half) == 1.0
    assert Segments(2, longest, "segments").loss(y, half) == 4.0


def test_tokens_inside_of_nothing_begin_a_segment():
    """As conlleval counts them; codes 0, 1 are inside of, 2, 3 begin segments."""
    structure = Segments(2, longest=3)
    X = [np.ones((3, 1)), np.ones((4, 1))]
    problem = structure.pack(X, np.array([1, 1, 0, 3, 0, 2, 0]))
    assert problem.blocks.y.tolist() == [3, 1, 2, 3, 2, 2, 0]


def test_lengths_are_learned():
    """Segments of two tokens or of none, which no chain over tags can tell."""
    rng = np.random.default_rng(0)
    X, Y = [], []
    for _ in range(30):
        y, first = [], 0
        for label in rng.integers(0, 2, size=5):
            last = first + (2 if label else 1)
            y.append((first, last, int(label)))
            first = last
        x = np.ones((first, 2))
        x[:, 1] = rng.normal(size=first)
        for a, z, label in y:
            x[a:z, 1] += 2.0 * label
        X.append(x)
        Y.append(y)
    structure = Segments(2, longest=(1, 4), cost="segments", outside=0).setup(X, Y)
    problem = structure.pack(X, Y)
    state = BCFW(tol=1e-2).solve(problem, Objective.create(30.0, 30, "l1"))
    codes = np.split(problem.decode(state.model)[0], problem.blocks.offset[1:-1])
    decoded = [structure.decode_code(code) for code in codes]
    lengths = [z - a for one in decoded for a, z, label in one if label == 1]
    assert np.mean(np.array(lengths) == 2) > 0.95


def test_refusals():
    X = [np.ones((3, 1))]
    structure = Segments(2, longest=(1, 2))
    for wrong, text in (
        ([(0, 2, 1)], "end at token 2 of 3"),
        ([(0, 2, 1), (1, 3, 1)], "must cover"),
        ([(0, 3, 1)], "longest allows 2"),
        ([(0, 2, 2), (2, 3, 0)], "labels are 0 to 1"),
    ):
        with pytest.raises(ValueError, match=text):
            structure.pack(X, [wrong])
    with pytest.raises(CapabilityError, match="frontier"):
        structure.pack(X, [[(0, 2, 1), (2, 3, 0)]], Formulation("slack", "l1"))
    with pytest.raises(ValueError, match="whole numbers"):
        Segments(2, longest=0).lengths()
    with pytest.raises(ValueError, match="longest has 3 numbers"):
        Segments(2, longest=(1, 2, 3)).lengths()
    with pytest.raises(ValueError, match="1 sequences and Y 2"):
        structure.pack(X, [[], []])
    for wrong, text in (
        ([3, 1, 1], "a segment of 3 tokens"),
        ([3, 1, 4], "a code of Y"),
        ([3, 1], "2 codes where X has 3"),
    ):
        with pytest.raises(ValueError, match=text):
            structure.pack(X, np.array(wrong))
    with pytest.raises(ValueError, match="other lengths than 2"):
        structure.pack([(np.ones((3, 1)), np.ones((3, 3, 1)))], None)
