"""Alignments: kernels against enumeration and the plain-Python reference."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from partwise.features.pairs import PairFeaturizer
from partwise.objective import Formulation
from partwise.protocol import CapabilityError
from partwise.structures.alignment import Alignment, _best, structure
from partwise.structures.alignment.weights import weight_tables
from partwise.testing import check_structure

FORMULATIONS = [
    Formulation("margin", "l1"),
    Formulation("margin", "l2"),
    Formulation("slack", "l1"),
    Formulation("slack", "l2"),
    Formulation("hard", "l1"),
]
ENDS = ("a_start", "a_end", "b_start", "b_end")
LENGTHS = ((4, 3), (1, 4), (3, 4), (2, 1))

MODELS = {
    "matrix": {"sizes": (3,)},
    "linear": {"sizes": (3,), "gap_open": (), "tie_gaps": True},
    "simple": {"sizes": ((3, 2), (2, 3, 2)), "match": "simple"},
    "anova2": {"sizes": (2, 3, 2), "match": "anova2", "gap_open": ((), (0,))},
    "tensor": {"sizes": (2, 3), "match": "tensor", "gap_extend": ((0,), (1,))},
    "window": {"sizes": (2, 4), "match": [((0,), (0,)), ((1,), (1,)), ((), (1,))]},
    "profile": {"sizes": (3,), "products": (3, 2), "gap_extend": ((0,),)},
}

cases = st.fixed_dictionaries(
    {
        "seed": st.integers(0, 10_000),
        "model": st.sampled_from(sorted(MODELS)),
        "mode": st.sampled_from(["global", "local", "semiglobal"]),
        "free_ends": st.sets(st.sampled_from(ENDS)) | st.just(set(ENDS)),
        "cost": st.sampled_from(["q", "q4", 1]),
        "band": st.none() | st.integers(0, 2),
    }
)


def make(case, lengths=LENGTHS, enumerated=True, **params):
    """A small problem: structure, examples, truths, all outputs, a random model."""
    rng = np.random.default_rng(case["seed"])
    alignment = Alignment(
        **MODELS[case["model"]],
        mode=case["mode"],
        free_ends=tuple(sorted(case["free_ends"])),
        cost=case["cost"],
        band=case["band"],
        **params,
    ).setup(None, None)
    layout = alignment.layout()

    def sequence(n, side):
        sizes = layout.sizes[side]
        codes = np.stack([rng.integers(0, size, n) for size in sizes], axis=1)
        if layout.widths:
            return codes, rng.integers(-1, 2, (n, layout.n_values)).astype(float)
        return codes[:, 0] if len(sizes) == 1 else codes

    X = [(sequence(n, 0), sequence(m, 1)) for n, m in lengths]
    outputs = [list(alignment.enumerate(x)) if enumerated else [[]] for x in X]
    Y = [np.array(o[rng.integers(len(o))]).reshape(-1, 2) for o in outputs]
    w = rng.normal(size=alignment.n_psi_)
    return alignment, X, Y, outputs, w


def scores(alignment, x, outputs, w):
    return np.array([alignment.joint_feature(x, o) @ w for o in outputs])


def as_set(pairs):
    return {(int(i), int(j)) for i, j in pairs}


@settings(max_examples=60)
@given(cases)
def test_decoding_is_the_enumerated_maximum(case):
    alignment, X, _, outputs, w = make(case)
    problem = alignment.pack(X, None)
    actual, value = problem.align(w)
    _, alone = problem.align(w, trace=False)
    for i, pairs in enumerate(actual):
        best = scores(alignment, X[i], outputs[i], w).max()
        assert value[i] == pytest.approx(best)
        assert alone[i] == pytest.approx(best)
        assert alignment.joint_feature(X[i], pairs) @ w == pytest.approx(best)
        reference = alignment.argmax(X[i], w)
        assert alignment.joint_feature(X[i], reference) @ w == pytest.approx(best)
        assert as_set(pairs) in [as_set(o) for o in outputs[i]]


@settings(max_examples=60)
@given(cases, st.integers(0, 2**31), st.floats(0, 1), st.booleans())
def test_masks_are_kept(case, pick, share, use_given):
    case = case | {"band": None} if use_given else case
    alignment, X, _, outputs, w = make(case)
    rng = np.random.default_rng(pick)
    forbidden, fixed, fitting = [], [], []
    for (n, m), options in zip(LENGTHS, outputs, strict=True):
        wanted = options[rng.integers(len(options))]
        subset = [pair for pair in wanted if rng.random() < 0.5 and use_given]
        masked = [
            pair
            for pair in product(range(n), range(m))
            if rng.random() < share and pair not in subset
        ]
        forbidden.append(np.array(masked).reshape(-1, 2))
        fixed.append(np.array(subset).reshape(-1, 2))
        fitting.append(
            [o for o in options if set(subset) <= set(o) and not set(masked) & set(o)]
        )
    problem = alignment.pack(
        X, None, forbidden=forbidden, given=fixed if use_given else None
    )
    actual, value = problem.align(w)
    best = problem.k_best(w, 3)
    posterior, log_z = problem.marginals(w)
    for i in range(len(X)):
        expected = np.sort(scores(alignment, X[i], fitting[i], w))[::-1]
        assert value[i] == pytest.approx(expected[0])
        assert as_set(actual[i]) in [set(o) for o in fitting[i]]
        assert [v for _, v in best[i]] == pytest.approx(list(expected[:3]))
        assert log_z[i] == pytest.approx(np.logaddexp.reduce(expected))
        for row, column in fixed[i]:
            assert posterior[i][row, column] == pytest.approx(1)


@settings(max_examples=40)
@given(cases, st.integers(1, 9))
def test_k_best_is_exact_and_ordered(case, k):
    alignment, X, _, outputs, w = make(case)
    for i, actual in enumerate(alignment.pack(X, None).k_best(w, k)):
        expected = np.sort(scores(alignment, X[i], outputs[i], w))[::-1][:k]
        assert [value for _, value in actual] == pytest.approx(list(expected))
        assert len({tuple(map(tuple, pairs)) for pairs, _ in actual}) == len(actual)
        for pairs, value in actual:
            assert alignment.joint_feature(X[i], pairs) @ w == pytest.approx(value)


@settings(max_examples=40)
@given(cases)
def test_posteriors_and_partition_are_enumerated_sums(case):
    alignment, X, _, outputs, w = make(case)
    posterior, log_z = alignment.pack(X, None).marginals(w)
    for i, table in enumerate(posterior):
        total = scores(alignment, X[i], outputs[i], w)
        assert log_z[i] == pytest.approx(np.logaddexp.reduce(total))
        expected = np.zeros_like(table)
        for mass, pairs in zip(np.exp(total - log_z[i]), outputs[i], strict=True):
            for row, column in pairs:
                expected[row, column] += mass
        np.testing.assert_allclose(table, expected, atol=1e-12)


@settings(max_examples=40)
@given(cases)
def test_likelihood_gradient_is_expected_minus_true_counts(case):
    alignment, X, Y, outputs, w = make(case)
    problem = alignment.pack(X, Y)
    weight = np.linspace(0.5, 2, len(X))
    loss, gradient = problem.log_likelihood(w, weight)
    expected = np.zeros_like(w)
    for i in range(len(X)):
        total = scores(alignment, X[i], outputs[i], w)
        top = np.logaddexp.reduce(total)
        truth = alignment.joint_feature(X[i], Y[i])
        assert loss[i] == pytest.approx(top - truth @ w, abs=1e-12)
        expected -= weight[i] * truth
        for value, pairs in zip(total, outputs[i], strict=True):
            mass = weight[i] * np.exp(value - top)
            expected += mass * alignment.joint_feature(X[i], pairs)
    np.testing.assert_allclose(gradient, expected, atol=1e-10)


@pytest.mark.parametrize("size", [0.0, 1.0, 30.0])
@pytest.mark.parametrize("mode", ["global", "local", "semiglobal"])
def test_scaled_sums_agree_with_those_of_logarithms(mode, size):
    """Many tokens: numbers of alignments and their weights leave the range."""
    from partwise.structures.alignment import _batch, _sums

    rng = np.random.default_rng(0)
    alignment = Alignment((4,), mode=mode)
    X = [tuple(rng.integers(0, 4, n) for n in (600, 550)), (np.arange(4), np.arange(4))]
    problem = alignment.pack(X, None)
    w = size * rng.normal(size=20)
    work = problem.borrow_work()
    for i in range(2):
        chart = _batch.chart_of(problem.blocks, work, w, i)
        ours = _sums.expected_counts(chart, problem.blocks.free)
        theirs = _sums.counts_by_logarithms(chart, problem.blocks.free)
        for one, other in zip(ours, theirs, strict=True):
            np.testing.assert_allclose(one, other, rtol=1e-8, atol=1e-8)


def worst_violation(alignment, formulation, x, y, outputs, w, counted=None):
    """The largest b − s·margin of all outputs, by trying them."""
    truth = alignment.joint_feature(x, y) @ w
    losses = [alignment.loss(y if counted is None else counted, o) for o in outputs]
    planes = [
        (*formulation.plane(loss), alignment.joint_feature(x, o) @ w)
        for loss, o in zip(losses, outputs, strict=True)
        if loss > 0 or formulation.rescaling == "margin"
    ]
    nothing = -np.inf if formulation.rescaling == "hard" else 0.0
    return max((b - s * (truth - v) for b, s, v in planes), default=nothing)


@pytest.mark.parametrize("formulation", FORMULATIONS, ids=str)
@settings(max_examples=40)
@given(cases)
def test_oracle_finds_the_most_violated_output(formulation, case):
    alignment, X, Y, outputs, w = make(case)
    problem = alignment.pack(X, Y, formulation)
    cuts = problem.oracle(w)
    for i, y_hat in enumerate(problem.outputs(cuts)):
        worst = worst_violation(alignment, formulation, X[i], Y[i], outputs[i], w)
        assert cuts.violation[i] == pytest.approx(worst, abs=1e-9)
        assert cuts.bound[i] == cuts.violation[i]
        loss = alignment.loss(Y[i], y_hat)
        if loss > 0 or formulation.rescaling == "margin":
            assert (cuts.b[i], cuts.scale[i]) == pytest.approx(formulation.plane(loss))
    losses = problem.predict_codes(w)
    for i, y_hat in enumerate(problem.outputs(losses)):
        assert losses.b[i] == pytest.approx(alignment.loss(Y[i], y_hat))


@settings(max_examples=30)
@given(cases, st.integers(0, 10_000))
def test_planes_agree_with_joint_features(case, seed):
    alignment, X, Y, _, w = make(case)
    problem = alignment.pack(X, Y)
    cuts = problem.oracle(w)
    alpha = np.random.default_rng(seed).random(len(X))
    dense = np.array(
        [
            alignment.joint_feature(X[i], Y[i]) - alignment.joint_feature(X[i], y_hat)
            for i, y_hat in enumerate(problem.outputs(cuts))
        ]
    )
    np.testing.assert_allclose(problem.combine(cuts, alpha), alpha @ dense, atol=1e-12)
    np.testing.assert_allclose(problem.margins(w, cuts), dense @ w, atol=1e-9)
    np.testing.assert_allclose(problem.gram(cuts, cuts), dense @ dense.T, atol=1e-9)


@settings(max_examples=20)
@given(cases, st.integers(2, 5))
def test_several_cuts_per_row_are_the_loss_augmented_k_best(case, k):
    alignment, X, Y, outputs, w = make(case)
    cuts = alignment.pack(X, Y).k_cuts(w, np.arange(len(X)), k)
    for i in range(len(X)):
        truth = alignment.joint_feature(X[i], Y[i]) @ w
        loss = np.array([alignment.loss(Y[i], o) for o in outputs[i]])
        ranked = np.sort(loss - truth + scores(alignment, X[i], outputs[i], w))[::-1]
        assert cuts.violation[cuts.block == i] == pytest.approx(ranked[:k], abs=1e-9)


@pytest.mark.parametrize("formulation", FORMULATIONS, ids=str)
@settings(max_examples=15)
@given(cases, st.integers(0, 100))
def test_core_pairs_alone_count(formulation, case, pick):
    alignment, X, Y, outputs, w = make(case)
    rng = np.random.default_rng(pick)
    core = [rng.random(len(y)) < 0.5 for y in Y]
    cuts = alignment.pack(X, Y, formulation, core=core).oracle(w)
    for i in range(len(X)):
        worst = worst_violation(
            alignment, formulation, X[i], Y[i], outputs[i], w, counted=Y[i][core[i]]
        )
        assert cuts.violation[i] == pytest.approx(worst, abs=1e-9)


@pytest.mark.parametrize("mode", ["global", "local", "semiglobal"])
@pytest.mark.parametrize("model", ["matrix", "profile"])
def test_check_structure(mode, model):
    case = {"seed": 1, "model": model, "mode": mode, "free_ends": set(ENDS)}
    alignment, X, Y, _, _ = make(case | {"cost": 1, "band": None})
    report = check_structure(alignment, list(zip(X, Y, strict=True)), n_models=8)
    assert "pack[slack, l2]" in report.passed and "pack[hard, l1]" in report.passed


@pytest.mark.parametrize("max_bits", [1, 12, 40, 10**6])
@settings(max_examples=25, deadline=None)
@given(case=cases, pick=st.integers(0, 10_000), use_given=st.booleans())
def test_the_way_back_is_the_same_within_any_memory(max_bits, case, pick, use_given):
    """With few rows of traces at a time the alignments are the same, also in ties."""
    rng = np.random.default_rng(pick)
    lengths = ((70, 21), (9, 40), (41, 33), (1, 20), (25, 1))
    alignment, X, _, _, w = make(case, lengths, enumerated=False)
    w = np.round(2 * w)  # whole numbers: many alignments are equally good
    masks = {}
    if use_given and case["band"] is None:
        masks["given"] = [
            np.stack([np.sort(rng.choice(k, min(n, m, 2), False)) for k in (n, m)], 1)
            for n, m in lengths
        ]
    if rng.random() < 0.5 and "given" not in masks:
        masks["forbidden"] = [rng.integers(0, (n, m), (n, 2)) for n, m in lengths]
    expected = alignment.pack(X, None, **masks).predict_codes(w)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_best, "MAX_BITS", max_bits)
        patch.setattr(_best, "BALANCE", 0.0)
        problem = alignment.pack(X, None, **masks)
        predicted = problem.predict_codes(w)
        assert (len(problem.borrow_work().rows.saved) > 1) == (max_bits < 10**6)
    assert np.array_equal(predicted.code, expected.code)
    assert np.array_equal(predicted.violation, expected.violation)


@pytest.mark.parametrize("decoys", [False, True])
def test_training_is_the_same_within_any_memory(decoys, monkeypatch):
    alignment = Alignment((3,), mode="local", cost="q4", decoys=decoys)
    rng = np.random.default_rng(5)
    X = [tuple(rng.integers(0, 3, n) for n in (60, 50)) for _ in range(4)]
    Y = [np.stack([np.arange(0, 40, 3)] * 2, axis=1)] * 4
    if decoys:
        X = [(a, [b, b[::-1].copy(), b[5:]]) for a, b in X]
        Y = [(1, y[:2]) for y in Y]
    w = np.round(rng.normal(size=alignment.layout().n_weights))
    expected = alignment.pack(X, Y).oracle(w)
    monkeypatch.setattr(_best, "MAX_BITS", 50)
    monkeypatch.setattr(_best, "BALANCE", 0.0)
    for one, other in zip(alignment.pack(X, Y).oracle(w), expected, strict=True):
        assert np.array_equal(one, other)


def test_long_pairs_are_aligned_within_little_memory():
    """Of 9,000 × 9,000 cells the traces alone would take 50 MB."""
    rng = np.random.default_rng(0)
    a = rng.integers(0, 4, 9000)
    b = np.delete(np.where(rng.random(9000) < 0.2, rng.integers(0, 4, 9000), a), 77)
    alignment = Alignment((4,), tie_gaps=True)
    w = np.append((3 * np.eye(4) - 1).ravel(), [-4.0, -1.0])
    problem = alignment.pack([(a, b)], None)
    (actual,), (value,) = problem.align(w)
    rows = problem.borrow_work().rows
    assert sum(buffer.nbytes for buffer in rows) < 10e6
    assert problem.align(w, trace=False)[1] == value
    assert np.isclose(alignment.joint_feature((a, b), actual) @ w, value)
    assert np.mean(actual[:, 0] - actual[:, 1] == (actual[:, 0] > 77)) > 0.9


EMPTY = np.zeros(0, np.int64)


@pytest.mark.parametrize("mode", ["global", "local", "semiglobal"])
@pytest.mark.parametrize("keeps_rows", [True, False])
def test_empty_sequences_have_empty_alignments(mode, keeps_rows, monkeypatch):
    if not keeps_rows:
        monkeypatch.setattr(structure, "MAX_ROWS", 0)
    alignment = Alignment((3,), mode=mode, tie_gaps=True)
    w = np.append(np.ones(9), [-4.0, -1.0])
    full = np.array([0, 1, 2])
    for X in ([(EMPTY, EMPTY)], [(EMPTY, full), (full, EMPTY), (full, full)]):
        problem = alignment.pack(X, None)
        actual, value = problem.align(w)
        sizes = [min(len(a), len(b)) for a, b in X]
        assert [len(pairs) for pairs in actual] == sizes
        # a gap of all tokens costs 7 in global alignment alone
        gap = -7.0 if mode == "global" else 0.0
        expected = [3.0 if n else (gap if len(a) + len(b) else 0.0)
                    for n, (a, b) in zip(sizes, X, strict=True)]  # fmt: skip
        np.testing.assert_allclose(value, expected)
        np.testing.assert_allclose(problem.align(w, trace=False)[1], expected)
        ranked = problem.k_best(w, 2)
        np.testing.assert_allclose([one[0][1] for one in ranked], expected)
        tables, log_z = problem.marginals(w)
        assert [t.shape for t in tables] == [(len(a), len(b)) for a, b in X]
        is_empty = [n == 0 for n in sizes]
        np.testing.assert_allclose(log_z[is_empty], np.array(expected)[is_empty])
    with pytest.raises(ValueError, match=r"X\[1\]: b has no tokens"):
        alignment.pack([(full, full), (full, EMPTY)], [EMPTY.reshape(0, 2)] * 2)


@pytest.mark.parametrize("mode", ["global", "local", "semiglobal"])
def test_long_rows_agree_with_the_chart(mode):
    """Several vectors per row, a band, and tokens with and without shared scores."""
    rng = np.random.default_rng(3)
    for sizes, band in (((4,), None), ((9, 9), None), ((4,), 11), ((9, 9), 30)):
        match = "tensor" if len(sizes) > 1 else "simple"
        alignment = Alignment(sizes, match=match, mode=mode, band=band, cost="q4")
        lengths = ((90, 75), (17, 64), (33, 8))
        X = [
            tuple(rng.integers(0, 4, (n, len(sizes))) for n in pair) for pair in lengths
        ]
        Y = [np.array([[0, 0], [1, 1], [2, 2]])[: 1 if band else 3]] * 3
        w = rng.normal(size=alignment.layout().n_weights)
        w[-4:] -= 1
        problem = alignment.pack(X, Y)
        actual, value = problem.align(w)
        best = problem.k_best(w, 1)
        for i, pairs in enumerate(actual):
            assert value[i] == pytest.approx(best[i][0][1])
            score = alignment.joint_feature(X[i], pairs) @ w
            assert score == pytest.approx(value[i])
        for model in (w, np.round(4 * w)):  # double, and single precision
            np.testing.assert_allclose(
                problem.align(model, trace=False)[1], problem.align(model)[1]
            )
        cuts = problem.oracle(w)
        top = problem.k_cuts(w, np.arange(3), 1)
        np.testing.assert_allclose(cuts.violation, top.violation)


def test_too_large_tables_of_scores_are_not_kept(monkeypatch):
    case = {"seed": 2, "model": "tensor", "mode": "local", "free_ends": set()}
    alignment, X, Y, _, w = make(case | {"cost": "q", "band": None})
    usual = alignment.pack(X, Y)
    monkeypatch.setattr(structure, "MAX_ROWS", 0)
    frugal = alignment.pack(X, Y)
    assert usual.blocks.keeps_rows and not frugal.blocks.keeps_rows
    for one, other in zip(usual.oracle(w), frugal.oracle(w), strict=True):
        np.testing.assert_allclose(one, other, atol=1e-12)
    for ours, theirs in zip(usual.k_best(w, 3), frugal.k_best(w, 3), strict=True):
        assert [v for _, v in ours] == pytest.approx([v for _, v in theirs])
    with pytest.raises(CapabilityError, match="too much memory"):
        alignment.pack(X, Y, Formulation("slack"))


@pytest.mark.parametrize("mode", ["global", "local", "semiglobal"])
def test_scores_are_those_of_biopython(mode):
    align = pytest.importorskip("Bio.Align")
    rng = np.random.default_rng(4)
    letters = "ACGT"
    matrix = rng.integers(-4, 3, (4, 4)) + 3.0 * np.eye(4)
    aligner = align.PairwiseAligner(mode="local" if mode == "local" else "global")
    aligner.substitution_matrix = align.substitution_matrices.Array(letters, 2, matrix)
    aligner.open_gap_score, aligner.extend_gap_score = -6, -1
    if mode == "semiglobal":
        aligner.end_gap_score = 0
    X = [
        tuple(rng.integers(0, 4, rng.integers(1, 60)) for _ in "ab") for _ in range(60)
    ]
    w = np.append(matrix.ravel(), [-5.0, -1.0] * 2)
    _, ours = Alignment((4,), mode=mode).pack(X, None).align(w)
    text = [["".join(letters[k] for k in side) for side in x] for x in X]
    np.testing.assert_allclose(ours, [aligner.score(a, b) for a, b in text])


@pytest.mark.parametrize("n_jobs", [2, 3])
def test_results_do_not_depend_on_n_jobs(n_jobs):
    rng = np.random.default_rng(1)
    alignment = Alignment((4,))
    X = [
        tuple(rng.integers(0, 4, rng.integers(1, 20)) for _ in range(2))
        for _ in range(60)
    ]
    Y = [np.array([[0, 0]])] * 60
    w = rng.normal(size=20)
    one, many = alignment.pack(X, Y), alignment.pack(X, Y, n_jobs=n_jobs)
    for a, b in zip(one.oracle(w), many.oracle(w), strict=True):
        np.testing.assert_array_equal(a, b)
    weight = np.ones(60)
    for a, b in zip(
        one.log_likelihood(w, weight), many.log_likelihood(w, weight), strict=True
    ):
        np.testing.assert_array_equal(a, b)


def test_sequences_that_are_one_object_are_stored_once():
    a, b = np.array([0, 1, 2]), np.array([2, 1])
    problem = Alignment((3,)).pack([(a, b), (a, a), (b, a)], None)
    assert len(problem.blocks.a_offset) == len(problem.blocks.b_offset) == 3
    first, _, third = problem.keys()
    assert first != third
    again = Alignment((3,)).pack([(b.copy(), a.copy())], None)
    assert again.keys() == [third]


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"mode": "overlap"}, "mode='overlap'"),
        ({"mode": "semiglobal", "free_ends": ("start",)}, "free_ends"),
        ({"cost": "q5"}, "cost='q5'"),
        ({"match": "quadratic"}, "match='quadratic'"),
        ({"match": "anova2"}, "2 columns"),
        ({"match": [((1,), (0,))]}, "columns"),
        ({"sizes": ((3,), (4,)), "tie_gaps": True}, "tie_gaps"),
        ({"band": -1}, "band=-1"),
        ({"band": 0}, r"Y\[0\] passes token 0"),
        ({"products": (0,)}, "products"),
    ],
)
def test_bad_settings_are_named(params, message):
    X, Y = [(np.array([0, 1, 2]), np.array([2, 1]))], [np.array([[0, 1]])]
    with pytest.raises(ValueError, match=message):
        Alignment(**{"sizes": (3,)} | params).pack(X, Y)


@pytest.mark.parametrize(
    ("x", "y", "message"),
    [
        (([0, 3], [0]), [[0, 0]], "value 3 in column 0"),
        (([0.5], [0]), [[0, 0]], "integers"),
        (([], [0]), [], "integers|no tokens"),
        (([0, 1], [0, 1]), [[1, 0], [0, 1]], "rise"),
        (([0, 1], [0, 1]), [[0, 0], [0, 1]], "rise"),
        (([0, 1], [0, 1]), [[0, 2]], "outside"),
    ],
)
def test_bad_data_are_named(x, y, message):
    X = [tuple(np.array(part) for part in x)]
    with pytest.raises(ValueError, match=message):
        Alignment((3,)).pack(X, [np.array(y)])


def test_truths_that_masks_forbid_are_named():
    X, Y = [(np.array([0, 1, 2]), np.array([2, 1]))], [np.array([[1, 1]])]
    for masks in ({"forbidden": [[(1, 1)]]}, {"given": [[(0, 0)]]}):
        with pytest.raises(ValueError, match="token"):
            Alignment((3,)).pack(X, Y, **masks)
    with pytest.raises(ValueError, match="forbidden, too"):
        Alignment((3,)).pack(X, None, given=[[(1, 1)]], forbidden=[[(1, 1)]])


@pytest.mark.parametrize("mode", ["global", "local", "semiglobal"])
@pytest.mark.parametrize("tie_gaps", [True, False])
def test_gaps_by_position_are_those_before_and_behind_the_matches(mode, tie_gaps):
    """Scores of whole alignments from what each run of tokens is, not from codes."""
    lines = ["residue", "open: bias", "open: position", "extend: position"]
    featurizer = PairFeaturizer(lines).fit(["ACD"], ["ACD"])
    free = ("a_start", "b_end") if mode == "semiglobal" else ENDS
    alignment = Alignment(
        **featurizer.settings(), tie_gaps=tie_gaps, mode=mode, free_ends=free
    )
    layout = alignment.layout()
    names = [n for table in weight_tables(featurizer, layout) for n in table.names]
    rng = np.random.default_rng(tie_gaps)
    for a, b in (("ACDA", "CDA"), ("A", "CAD"), ("CD", "CD"), ("ACC", "A")):
        w = rng.normal(size=layout.n_weights)
        weight = dict(zip(names, w, strict=True))
        x = featurizer.transform(a, 0), featurizer.transform(b, 1)
        values = []
        outputs = list(alignment.enumerate(x))
        for pairs in outputs:
            total = sum(weight[f"residue={a[i]} ~ residue={b[j]}"] for i, j in pairs)
            for side, first, last in alignment.gaps(pairs, len(a), len(b)):
                gap = "gap" if tie_gaps else f"gap of {'ab'[side]}"
                place = "begin" if first == 0 else "middle"
                n = len((a, b)[side])
                if first == n - 1 and n > 1:
                    place = "end"
                is_behind = last == n
                total += (
                    weight[f"{gap}, open"] + weight[f"{gap}, open position={place}"]
                )
                n_middle = last - first - (first == 0) - (is_behind and n > 1)
                total += n_middle * weight[f"{gap}, extend position=middle"]
                total += (first == 0) * weight[f"{gap}, extend position=begin"]
                if is_behind and n > 1:
                    total += weight[f"{gap}, extend position=end"]
            values.append(total)
        problem = alignment.pack([x], None)
        (best,), (value,) = problem.align(w)
        assert value == pytest.approx(max(values))
        assert as_set(best) == set(outputs[int(np.argmax(values))])
        assert problem.align(w, trace=False)[1][0] == pytest.approx(max(values))
        ranked = [score for _, score in problem.k_best(w, 4)[0]]
        assert ranked == pytest.approx(sorted(values, reverse=True)[:4])
        log_z = problem.marginals(w)[1][0]
        assert log_z == pytest.approx(np.logaddexp.reduce(values))
