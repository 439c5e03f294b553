"""Chains: kernels against enumeration and the plain-Python reference."""

from itertools import pairwise, product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from partwise.features.arrays import as_features
from partwise.objective import Formulation
from partwise.protocol import CapabilityError
from partwise.structures.chain import Chain

FORMULATIONS = [
    Formulation("margin", "l1"),
    Formulation("margin", "l2"),
    Formulation("slack", "l1"),
    Formulation("slack", "l2"),
    Formulation("hard", "l1"),
]


def make(
    seed, *, n_labels=3, n_features=4, lengths=(1, 4, 3, 2), dense=False, **params
):
    """A small chain problem with its data and a random model."""
    rng = np.random.default_rng(seed)
    chain = Chain(n_labels, **params)
    x = [rng.integers(-2, 3, size=(n, n_features)).astype(float) for n in lengths]
    if not dense:
        from scipy import sparse

        features = as_features([sparse.csr_array(a) for a in x])
    else:
        features = as_features(x)
    chain.setup(x, None)
    outputs = [list(chain.enumerate(a)) for a in x]
    y = [o[rng.integers(len(o))] for o in outputs]
    w = rng.normal(size=chain.n_psi_)
    return chain, x, features, y, outputs, w


def scores(chain, x, outputs, w):
    return np.array([chain.joint_feature(x, o) @ w for o in outputs])


def masks(n_labels, seed):
    """Random masks that leave at least the constant sequences possible."""
    rng = np.random.default_rng(seed)
    allowed = rng.random((n_labels, n_labels)) < 0.6
    np.fill_diagonal(allowed, True)
    starts = rng.random(n_labels) < 0.7
    starts[0] = True
    ends = rng.random(n_labels) < 0.7
    ends[0] = True
    return {"transitions": allowed, "starts": starts, "ends": ends}


chains = st.fixed_dictionaries(
    {
        "n_labels": st.sampled_from([2, 3, 5]),  # 5 is padded
        "seed": st.integers(0, 10_000),
        "order": st.sampled_from([0, 1, 2]),
        "boundary": st.booleans(),
        "dense": st.booleans(),
        "masked": st.booleans(),
    }
)


def make_any(settings_, **params):
    settings_ = dict(settings_)
    if settings_.pop("masked"):
        params |= masks(settings_["n_labels"], settings_["seed"])
    return make(**settings_, **params)


@settings(max_examples=40, deadline=None)
@given(chains)
def test_decoding_is_the_enumerated_maximum(case):
    chain, x, features, _, outputs, w = make_any(case)
    problem = chain.pack(features, None)
    code, value = problem.decode(problem.expand(w))
    for i, labels in enumerate(np.split(code, features.offset[1:-1])):
        expected = scores(chain, x[i], outputs[i], w)
        assert value[i] == pytest.approx(expected.max())
        assert chain.joint_feature(x[i], labels) @ w == pytest.approx(expected.max())
        reference = chain.argmax(x[i], w)
        assert chain.joint_feature(x[i], reference) @ w == pytest.approx(value[i])


@settings(max_examples=40, deadline=None)
@given(chains, st.integers(0, 2**31))
def test_given_labels_are_kept(case, pick):
    chain, x, features, _, outputs, w = make_any(case)
    rng = np.random.default_rng(pick)
    wanted = np.concatenate([o[rng.integers(len(o))] for o in outputs])
    fixed = np.where(rng.random(len(wanted)) < 0.4, wanted, -1)
    problem = chain.pack(features, None)
    code, value = problem.decode(problem.expand(w), fixed)
    assert (code[fixed >= 0] == fixed[fixed >= 0]).all()
    for i, known in enumerate(np.split(fixed, features.offset[1:-1])):
        fitting = [
            o for o in outputs[i]
            if all(k in (-1, a) for k, a in zip(known, o, strict=True))
        ]  # fmt: skip
        assert value[i] == pytest.approx(scores(chain, x[i], fitting, w).max())


@settings(max_examples=40, deadline=None)
@given(chains, st.integers(1, 7))
def test_k_best_is_exact_and_ordered(case, k):
    chain, x, features, _, outputs, w = make_any(case)
    problem = chain.pack(features, None)
    for i, actual in enumerate(problem.k_best(problem.expand(w), k)):
        expected = np.sort(scores(chain, x[i], outputs[i], w))[::-1][:k]
        assert [value for _, value in actual] == pytest.approx(list(expected))
        assert len({tuple(code) for code, _ in actual}) == len(actual)
        for code, value in actual:
            assert chain.joint_feature(x[i], code) @ w == pytest.approx(value)


@settings(max_examples=40, deadline=None)
@given(chains)
def test_marginals_and_partition_are_enumerated_sums(case):
    chain, x, features, _, outputs, w = make_any(case)
    problem = chain.pack(features, None)
    node, log_z = problem.marginals(problem.expand(w))
    for i, rows in enumerate(np.split(node, features.offset[1:-1])):
        total = scores(chain, x[i], outputs[i], w)
        p = np.exp(total - np.logaddexp.reduce(total))
        assert log_z[i] == pytest.approx(np.logaddexp.reduce(total))
        expected = np.zeros_like(rows)
        for mass, output in zip(p, outputs[i], strict=True):
            expected[np.arange(len(output)), output] += mass
        np.testing.assert_allclose(rows, expected, atol=1e-12)


@settings(max_examples=30, deadline=None)
@given(chains)
def test_likelihood_gradient_is_expected_minus_true_counts(case):
    chain, x, features, y, outputs, w = make_any(case)
    problem = chain.pack(features, np.concatenate(y))
    weight = np.linspace(0.5, 2, len(x))
    loss, gradient = problem.log_likelihood(problem.expand(w), weight)
    gradient = problem.compact(gradient)
    expected = np.zeros_like(w)
    for i in range(len(x)):
        total = scores(chain, x[i], outputs[i], w)
        top = np.logaddexp.reduce(total)
        truth = chain.joint_feature(x[i], y[i])
        assert loss[i] == pytest.approx(top - truth @ w, abs=1e-12)
        expected -= weight[i] * truth
        for value, output in zip(total, outputs[i], strict=True):
            mass = np.exp(value - top)
            expected += weight[i] * mass * chain.joint_feature(x[i], output)
    np.testing.assert_allclose(gradient, expected, atol=1e-10)


@pytest.mark.parametrize("formulation", FORMULATIONS, ids=str)
@settings(max_examples=25, deadline=None)
@given(
    case=chains, cost=st.sampled_from(["hamming", "normalized", "zero_one", "matrix"])
)
def test_oracle_finds_the_most_violated_output(formulation, case, cost):
    size = case["n_labels"]
    least = 0 if case["seed"] % 2 else 1  # with and without free confusions
    matrix = np.random.default_rng(0).integers(least, 4, size=(size, size))
    np.fill_diagonal(matrix, 0)
    chain, x, features, y, outputs, w = make_any(
        case, cost=matrix if cost == "matrix" else cost
    )
    problem = chain.pack(features, np.concatenate(y), formulation)
    cuts = problem.oracle(problem.expand(w))
    for i, y_hat in enumerate(problem.outputs(cuts)):
        truth = chain.joint_feature(x[i], y[i]) @ w
        planes = [
            (*formulation.plane(chain.loss(y[i], o)), chain.joint_feature(x[i], o) @ w)
            for o in outputs[i]
            if chain.loss(y[i], o) > 0 or formulation.rescaling == "margin"
        ]
        nothing = -np.inf if formulation.rescaling == "hard" else 0.0
        worst = max((b - s * (truth - v) for b, s, v in planes), default=nothing)
        actual = cuts.violation[i]
        if cost == "zero_one":  # the truth, violated by 0, may stand back
            actual, worst = max(actual, 0.0), max(worst, 0.0)
        assert actual == pytest.approx(worst, abs=1e-9)
        assert cuts.bound[i] == cuts.violation[i]
        loss = chain.loss(y[i], y_hat)
        if loss > 0 or formulation.rescaling == "margin":
            b, scale = formulation.plane(loss)
            assert (cuts.b[i], cuts.scale[i]) == pytest.approx((b, scale))
            value = b - scale * (truth - chain.joint_feature(x[i], y_hat) @ w)
            assert value == pytest.approx(cuts.violation[i], abs=1e-9)


@settings(max_examples=30, deadline=None)
@given(chains, st.integers(0, 10_000))
def test_planes_agree_with_joint_features(case, seed):
    chain, x, features, y, _, w = make_any(case)
    problem = chain.pack(features, np.concatenate(y))
    cuts = problem.oracle(problem.expand(w))
    alpha = np.random.default_rng(seed).random(len(x))
    dense = np.array(
        [
            chain.joint_feature(x[i], y[i]) - chain.joint_feature(x[i], y_hat)
            for i, y_hat in enumerate(problem.outputs(cuts))
        ]
    )
    combined = problem.compact(problem.combine(cuts, alpha))
    np.testing.assert_allclose(combined, alpha @ dense, atol=1e-12)
    np.testing.assert_allclose(
        problem.margins(problem.expand(w), cuts), dense @ w, atol=1e-9
    )
    np.testing.assert_allclose(problem.gram(cuts, cuts), dense @ dense.T, atol=1e-9)


@settings(max_examples=20, deadline=None)
@given(chains, st.integers(2, 5))
def test_several_cuts_per_row_are_the_loss_augmented_k_best(case, k):
    chain, x, features, y, outputs, w = make_any(case)
    problem = chain.pack(features, np.concatenate(y))
    cuts = problem.k_cuts(problem.expand(w), np.arange(len(x)), k)
    for i in range(len(x)):
        truth = chain.joint_feature(x[i], y[i]) @ w
        all_ = sorted(
            (chain.loss(y[i], o) - truth + chain.joint_feature(x[i], o) @ w
             for o in outputs[i]),
            reverse=True,
        )  # fmt: skip
        assert cuts.violation[cuts.block == i] == pytest.approx(all_[:k], abs=1e-9)
        assert cuts.bound[cuts.block == i] == pytest.approx(all_[0], abs=1e-9)


def test_token_weights_scale_the_loss():
    chain, _, features, y, _, w = make(3)
    weight = np.arange(1.0, 11.0)
    problem = chain.pack(features, np.concatenate(y), token_weight=weight)
    cuts = problem.oracle(problem.expand(w))
    wrong = cuts.code != np.concatenate(y)
    expected = np.add.reduceat(np.where(wrong, weight, 0), features.offset[:-1])
    np.testing.assert_allclose(cuts.b, expected)


@pytest.mark.parametrize("n_jobs", [1, 2, 3])
def test_results_do_not_depend_on_n_jobs(n_jobs):
    lengths = tuple(np.random.default_rng(0).integers(1, 6, size=300))
    rng = np.random.default_rng(1)
    chain = Chain(4)
    x = [rng.normal(size=(n, 5)) for n in lengths]
    features = as_features(x)
    y = rng.integers(0, 4, size=sum(lengths))
    w = rng.normal(size=chain.n_weights(5))  # four labels: no padding
    one = chain.pack(features, y, n_jobs=1)
    many = chain.pack(features, y, n_jobs=n_jobs)
    for a, b in zip(one.oracle(w), many.oracle(w), strict=True):
        np.testing.assert_array_equal(a, b)
    weight = np.ones(300)
    for a, b in zip(
        one.log_likelihood(w, weight), many.log_likelihood(w, weight), strict=True
    ):
        np.testing.assert_array_equal(a, b)


def test_real_valued_costs_refuse_slack_rescaling_by_name():
    _, _, features, y, _, _ = make(0)
    cost = np.array([[0, 0.5, 1], [1, 0, 1], [1, 1, 0]])
    with pytest.raises(CapabilityError, match="whole numbers"):
        Chain(3, cost=cost).pack(features, np.concatenate(y), Formulation("slack"))


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"order": 3}, "order=3"),
        ({"cost": "hinge"}, "cost='hinge'"),
        ({"cost": np.ones((3, 3))}, "diagonal"),
        ({"cost": np.zeros((2, 2))}, "shape"),
        ({"transitions": np.ones((2, 2))}, "transitions has shape"),
    ],
)
def test_bad_settings_are_named(params, message):
    _, _, features, y, _, _ = make(0)
    with pytest.raises(ValueError, match=message):
        Chain(3, **params).pack(features, np.concatenate(y))


def test_read_only_features_are_packed_as_kernels_know_them():
    """Numba would compile again for arrays of a memory-mapped file."""
    _, _, features, y, _, _ = make(0)
    for array in features:
        if isinstance(array, np.ndarray):
            array.flags.writeable = False
    blocks = Chain(3).pack(features, np.concatenate(y)).blocks
    arrays = [a for a in (*blocks, *blocks.rows) if isinstance(a, np.ndarray)]
    assert len(arrays) > 8 and all(array.flags.carray for array in arrays)


def test_a_forbidden_truth_is_named():
    _, _, features, _, _, _ = make(0)
    allowed = np.ones((3, 3), bool)
    allowed[1, 2] = False
    y = np.zeros(10, int)
    y[1:3] = [1, 2]
    with pytest.raises(ValueError, match="sequence 1 has 2 after 1"):
        Chain(3, transitions=allowed).pack(features, y)
    with pytest.raises(ValueError, match="sequence 1 has 'C' after 'B'"):
        Chain(3, transitions=allowed).pack(features, y, label_names="ABC")


def test_brute_force_agrees_on_every_label_sequence_of_order_two():
    """The one case worth doing without hypothesis: all outputs, all scores."""
    chain, x, _, _, outputs, w = make(5, order=2, boundary=True, lengths=(4,))
    assert len(outputs[0]) == 3**4
    by_hand = []
    emission = w[:12].reshape(4, 3)
    two, three = w[12:21].reshape(3, 3), w[21:48].reshape(3, 3, 3)
    start, end = w[48:51], w[51:]
    for y in product(range(3), repeat=4):
        total = sum(x[0][t] @ emission[:, y[t]] for t in range(4)) + start[y[0]]
        total += sum(two[y[t - 1], y[t]] for t in range(1, 4)) + end[y[3]]
        by_hand.append(total + sum(three[y[t - 2 : t + 1]] for t in range(2, 4)))
    np.testing.assert_allclose(scores(chain, x[0], outputs[0], w), by_hand)


@pytest.mark.parametrize("n", [0, 1, 3])
def test_sequences_are_counted(n):
    rng = np.random.default_rng(n)
    chain = Chain(3, transitions=rng.random((3, 3)) < 0.6, starts=[True, True, False])
    inner, first, last = (mask == 0 for mask in chain.masks())
    allowed = [
        y
        for y in product(range(3), repeat=n)
        if not y
        or (first[y[0]] and last[y[-1]] and all(inner[a, b] for a, b in pairwise(y)))
    ]
    assert chain.n_outputs(n) == len(allowed)
    assert Chain(4).n_outputs(n) == 4**n


def test_prediction_makes_no_local_blocks(monkeypatch):
    from partwise.scorers.linear import LinearScorer

    def refuse(self, rows, offset):
        raise AssertionError("local blocks were made")

    monkeypatch.setattr(LinearScorer, "local", refuse)
    chain = Chain(n_labels=3)
    problem = chain.pack(as_features([np.eye(4), np.ones((2, 4))]), None)
    codes, _ = problem.decode(problem.zero())
    assert len(codes) == 6
    with pytest.raises(AssertionError, match="local blocks"):
        problem.local_zero()
