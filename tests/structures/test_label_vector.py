"""Label vectors: searches and solvers against lists of all labellings."""

from itertools import permutations, product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numba.core import config
from scipy import sparse
from sklearn.metrics import average_precision_score
from sklearn.svm import LinearSVC

from partwise.certificate import certify
from partwise.objective import Formulation, Objective
from partwise.protocol import CapabilityError, Start
from partwise.scorers.kernel import KernelScorer
from partwise.solvers import make_solver, suitable_solver
from partwise.structures import weighted_rows
from partwise.structures.label_vector import LabelVector
from partwise.structures.label_vector import problem as label_problem
from partwise.structures.label_vector.measures import MEASURES, RANKED
from partwise.structures.pair_orders import PairOrders
from partwise.structures.ranking.structure import RankedRows
from partwise.testing import check_structure
from partwise.testing.enumeration import Planes, minimum

FORMULATIONS = [
    Formulation("margin", "l1"),
    Formulation("margin", "l2"),
    Formulation("slack", "l1"),
    Formulation("slack", "l2"),
    Formulation("hard", "l1"),
]


def jaccard(tp, fp, fn, tn):
    return tp / (tp + fp + fn) if tp + fp + fn > 0 else 1.0


def ragged(tp, fp, fn, tn):
    """Neither concave nor monotone, with several tables without loss."""
    if fp == 0 and fn <= 1:
        return 1.0
    return (0.3 * tp + 0.7 * tn + ((tp * 7 + fp * 3) % 5)) / (tp + fp + fn + tn + 5)


CONTINGENCY = [m for m in MEASURES if m not in RANKED] + [jaccard, ragged]


def table_loss(structure, y, y_hat):
    """The loss written out once more, from the definitions."""
    tp = np.sum((y == 1) & (y_hat == 1))
    fp = np.sum((y == -1) & (y_hat == 1))
    fn, tn = np.sum(y == 1) - tp, np.sum(y == -1) - fp
    beta2 = structure.beta**2 if structure.measure == "fbeta" else 1.0
    if callable(structure.measure):
        return 1 - structure.measure(float(tp), float(fp), float(fn), float(tn))
    if structure.measure == "error":
        return np.mean(y != y_hat)
    if structure.measure == "balanced_error":
        return (fn / (tp + fn) + fp / (fp + tn)) / 2
    if structure.measure in ("f1", "fbeta"):
        return 1 - (1 + beta2) * tp / ((1 + beta2) * tp + beta2 * fn + fp)
    return 1 - tp / (tp + fp if structure.measure == "precision_at_k" else tp + fn)


def labellings(structure, y):
    """All outputs; the truth stands for itself where it is none of them."""
    everything = [np.array(v) for v in product((-1, 1), repeat=len(y))]
    size = structure.loss_of(y).size
    return [v for v in everything if size < 0 or np.sum(v == 1) == size]


def pair_orders(y):
    """All orders of the pairs of a positive and a negative row."""
    better, worse = np.flatnonzero(y == 1), np.flatnonzero(y == -1)
    for signs in product((-1, 1), repeat=len(better) * len(worse)):
        matrix = np.reshape(signs, (len(better), len(worse)))
        wins = np.zeros(len(y), np.int64)
        wins[better] = matrix.sum(axis=1)
        wins[worse] = -matrix.sum(axis=0)
        yield PairOrders(wins, float(np.sum(matrix < 0)), matrix.size)


def planes_of(structure, X, Y, formulation):
    """Every plane of every block."""
    block, loss, delta = [], [], []
    for i, (x, y) in enumerate(zip(X, Y, strict=True)):
        truth = structure.joint_feature(x, y)
        is_pairwise = structure.is_pairwise
        for v in pair_orders(y) if is_pairwise else labellings(structure, y):
            here = v.loss if is_pairwise else table_loss(structure, y, v)
            is_truth = not is_pairwise and (v == y).all()
            if formulation.rescaling == "hard" and here == 0:
                continue
            block.append(i)
            loss.append(0.0 if is_truth else here)
            delta.append(truth - structure.joint_feature(x, v))
    pairs = np.array([formulation.plane(d) for d in loss]).reshape(-1, 2)
    delta = np.array(delta).reshape(-1, X[0].shape[1])
    return Planes(np.array(block, np.int64), np.array(loss), *pairs.T, delta)


def make(seed, n, n_features=3, measure="f1", n_blocks=1, scale=1.0, **params):
    """Rows of small whole numbers, so that scores tie, with labels and a model."""
    rng = np.random.default_rng(seed)
    structure = LabelVector(measure, **params)
    X = [rng.integers(-2, 3, (n, n_features)).astype(float) for _ in range(n_blocks)]
    Y = []
    for _ in X:
        y = np.where(rng.random(n) < rng.choice([0.2, 0.5, 0.8]), 1, -1)
        y[rng.integers(n)] = 1
        if measure in (*RANKED, "balanced_error"):
            y[:2] = 1, -1
        Y.append(y)
    w = scale * rng.integers(-2, 3, n_features) * rng.choice([1.0, 0.37])
    return structure.setup(X, Y), X, Y, w


cases = st.fixed_dictionaries(
    {
        "seed": st.integers(0, 10_000),
        "n": st.integers(2, 6),
        "scale": st.sampled_from([0.0, 0.1, 1.0, 5.0]),
    }
)


@settings(max_examples=60, deadline=None)
@given(
    cases,
    st.sampled_from(CONTINGENCY),
    st.sampled_from(FORMULATIONS),
    st.booleans(),
    st.sampled_from([0.5, 2.0]),
    st.sampled_from([None, 1, 2]),
)
def test_search_is_the_enumerated_maximum(case, measure, formulation, dense, beta, k):
    structure, X, Y, w = make(**case, measure=measure, beta=beta, k=k, n_blocks=2)
    given_x = X if dense else [sparse.csr_array(x) for x in X]
    problem = structure.pack(given_x, Y, formulation)
    cuts = problem.oracle(problem.expand(w))
    planes = planes_of(structure, X, Y, formulation)
    violation = planes.b - planes.a @ w
    for i, labels in enumerate(problem.outputs(cuts)):
        mine = planes.block == i
        if formulation.rescaling == "hard":
            if mine.any():
                assert cuts.violation[i] == pytest.approx(violation[mine].max())
            continue
        expected = max(violation[mine].max(initial=0.0), 0.0)
        assert max(cuts.violation[i], 0.0) == pytest.approx(expected, abs=1e-12)
        assert cuts.bound[i] == cuts.violation[i]
        loss = structure.loss(Y[i], labels)
        b, scale = formulation.plane(loss)
        assert (cuts.b[i], cuts.scale[i]) == pytest.approx((b, scale), abs=1e-12)
        delta = structure.joint_feature(X[i], Y[i]) - structure.joint_feature(
            X[i], labels
        )
        assert cuts.violation[i] == pytest.approx(b - scale * delta @ w, abs=1e-12)


@settings(max_examples=60, deadline=None)
@given(cases, st.booleans())
def test_orders_of_pairs_are_the_enumerated_maximum(case, dense):
    structure, X, Y, w = make(**case | {"n": min(case["n"], 5)}, measure="roc_auc")
    problem = structure.pack(X[0] if dense else sparse.csr_array(X[0]), Y[0])
    cuts = problem.oracle(problem.expand(w))
    planes = planes_of(structure, X, Y, Formulation())
    assert cuts.violation[0] == pytest.approx(np.max(planes.b - planes.a @ w))
    (orders,) = problem.outputs(cuts)
    assert orders.loss == pytest.approx(cuts.b[0])
    delta = structure.joint_feature(X[0], Y[0]) - structure.joint_feature(X[0], orders)
    combined = problem.compact(problem.combine(cuts, np.ones(1)))
    np.testing.assert_allclose(combined, delta, atol=1e-12)
    # a prediction leaves ties undecided, and each costs half a pair
    predicted = problem.predict_codes(problem.expand(w))
    by_scores = PairOrders.of(Y[0], X[0] @ w)
    assert predicted.b[0] == pytest.approx(by_scores.loss)
    (orders,) = problem.outputs(predicted)
    assert orders.wins.tolist() == by_scores.wins.tolist()


@settings(max_examples=40, deadline=None)
@given(cases, st.sampled_from(CONTINGENCY), st.sampled_from([None, 1, 2]))
def test_predictions_have_the_highest_score(case, measure, k):
    structure, X, Y, w = make(**case, measure=measure, k=k)
    problem = structure.pack(X[0], Y[0])
    cuts = problem.predict_codes(problem.expand(w))
    outputs = labellings(structure, Y[0])
    score = [structure.joint_feature(X[0], v) @ w for v in outputs]
    labels = problem.outputs(cuts)[0]
    assert structure.joint_feature(X[0], labels) @ w == pytest.approx(max(score))
    assert cuts.b[0] == pytest.approx(table_loss(structure, Y[0], labels), abs=1e-12)
    best = structure.argmax(X[0], w)
    assert structure.joint_feature(X[0], best) @ w == pytest.approx(max(score))
    assert (best == labels).all()


@settings(max_examples=30, deadline=None)
@given(cases, st.sampled_from(CONTINGENCY))
def test_operations_agree_with_features(case, measure):
    structure, X, Y, w = make(**case, measure=measure, n_blocks=3)
    problem = structure.pack(X, Y)
    rng = np.random.default_rng(case["seed"])
    cuts = problem.oracle(problem.expand(rng.normal(size=3)))
    deltas = np.array(
        [
            structure.joint_feature(x, y) - structure.joint_feature(x, v)
            for x, y, v in zip(X, Y, problem.outputs(cuts), strict=True)
        ]
    )
    model = problem.expand(w)
    np.testing.assert_allclose(problem.margins(model, cuts), deltas @ w, atol=1e-12)
    alpha = rng.random(3)
    combined = problem.compact(problem.combine(cuts, alpha))
    np.testing.assert_allclose(combined, alpha @ deltas, atol=1e-12)
    np.testing.assert_allclose(problem.gram(cuts, cuts), deltas @ deltas.T, atol=1e-12)


@pytest.mark.parametrize("measure", ["f1", "precision_at_k", jaccard, "error"])
def test_large_tables_equal_a_full_sweep(measure):
    rng = np.random.default_rng(3)
    n = 700
    x = rng.normal(size=(n, 5))
    y = np.where(x[:, 0] + rng.normal(size=n) > 1.2, 1, -1)
    structure = LabelVector(measure, k=40)
    loss = structure.loss_of(y)
    for formulation in FORMULATIONS[:4]:
        problem = structure.pack(x, y, formulation)
        for scale in (0.0, 0.3, 3.0, 30.0):
            w = scale * rng.normal(size=5)
            score = x @ w
            up, down = -np.sort(-score[y == 1]), -np.sort(-score[y == -1])
            f = -2 / n * np.append(np.cumsum(up[::-1])[::-1], 0)
            g = 2 / n * np.append(0, np.cumsum(down))
            best = 0.0
            for a in range(len(f)):
                for b in range(len(g)) if loss.size < 0 else [loss.size - a]:
                    if 0 <= b < len(g):
                        offset, s = formulation.plane(loss(a, b))
                        best = max(best, offset + s * (f[a] + g[b]))
            got = problem.oracle(problem.expand(w)).violation[0]
            assert max(got, 0) == pytest.approx(best, abs=1e-10)


@pytest.mark.parametrize("measure", [*CONTINGENCY, "roc_auc"])
@pytest.mark.parametrize("formulation", FORMULATIONS)
def test_solvers_reach_the_enumerated_optimum(measure, formulation):
    if measure == "roc_auc" and not formulation.is_additive:
        pytest.skip("refused")
    for seed, n_blocks in ((0, 1), (1, 3)):
        structure, X, Y, _ = make(seed, 5, measure=measure, n_blocks=n_blocks, k=2)
        problem = structure.pack(X, Y, formulation)
        penalty = "hard" if formulation.rescaling == "hard" else formulation.penalty
        objective = Objective.create(4.0, n_blocks, penalty)
        best = minimum(planes_of(structure, X, Y, formulation), objective)
        if not np.isfinite(best.value):
            continue
        names = {suitable_solver(problem, objective), "bcfw", "n_slack"}
        names |= set() if penalty == "hard" else {"one_slack", "bundle"}
        for name in sorted(names):
            solver = make_solver(name, {"tol": 1e-6, "max_iter": 3000})
            state = solver.solve(problem, objective)
            assert state.primal == pytest.approx(best.value, rel=1e-5), name
            assert state.dual <= best.value * (1 + 1e-7)


@pytest.mark.parametrize("measure", ["error", "balanced_error"])
@given(seed=st.integers(0, 10**6))
@settings(max_examples=30, deadline=None)
def test_rows_with_weights_are_the_enumerated_maximum(measure, seed):
    rng = np.random.default_rng(seed)
    x, w = rng.normal(size=(6, 2)), rng.normal(size=2)
    y = np.array([1, -1, 1, -1, -1, -1])
    weight = rng.uniform(0.1, 3.0, size=6)
    share = weight / weight.sum()
    cost = share if measure == "error" else weight / 2
    if measure == "balanced_error":
        cost[y == 1] /= weight[y == 1].sum()
        cost[y == -1] /= weight[y == -1].sum()
    values = [
        np.sum(cost * (o != y)) - w @ (x.T @ (share * (y - o)))
        for o in map(np.array, product((-1, 1), repeat=6))
    ]
    structure = LabelVector(measure).setup([x], [y])
    problem = structure.pack(x, y, row_weight=weight)
    model = problem.expand(w)
    cuts = problem.oracle(model)
    assert cuts.violation[0] == pytest.approx(max(values))
    (labels,) = problem.outputs(cuts)
    assert cuts.b[0] == pytest.approx(np.sum(cost * (labels != y)))
    assert problem.margins(model, cuts)[0] == pytest.approx(
        w @ (x.T @ (share * (y - labels)))
    )


def test_weights_of_rows_are_refused_where_a_measure_counts():
    x, y = np.ones((2, 1)), np.array([1, -1])
    with pytest.raises(CapabilityError, match="repeat rows"):
        LabelVector("f1").pack(x, y, row_weight=[1.0, 2.0])
    with pytest.raises(CapabilityError, match="slack rescaling"):
        LabelVector("error").pack(x, y, Formulation("slack"), row_weight=[1.0, 2.0])
    for bad in ([1.0], [1.0, 0.0], [1.0, np.nan]):
        with pytest.raises(ValueError, match="row_weight"):
            LabelVector("error").pack(x, y, row_weight=bad)


def test_error_rate_is_a_linear_svm():
    rng = np.random.default_rng(0)
    n, C = 80, 7.0
    x = rng.normal(size=(n, 4))
    y = np.where(x[:, 0] + rng.normal(size=n) > 0, 1, -1)
    problem = LabelVector("error").pack(x, y)
    objective = Objective.create(C, 1, "l1")
    state = make_solver("bundle", {"tol": 1e-8}).solve(problem, objective)
    svm = LinearSVC(
        loss="hinge", C=4 * C / n, fit_intercept=False, tol=1e-10, max_iter=10**6
    ).fit(x, y)
    np.testing.assert_allclose(
        2 * problem.compact(state.model), svm.coef_[0], atol=1e-3
    )


def test_values_of_svm_perf_are_four_times_ours():
    """It takes losses in percent and half our Ψ: see `benchmarks/measures.py`."""
    structure, X, Y, _ = make(2, 6, measure="f1")
    planes = planes_of(structure, X, Y, Formulation())
    theirs = planes._replace(b=100 * planes.b, delta=50 * planes.delta)
    C = 0.04
    one = minimum(theirs, Objective.create(C, 1, "l1"))
    two = minimum(planes, Objective.create(25 * C, 1, "l1"))
    assert one.value == pytest.approx(4 * two.value)
    np.testing.assert_allclose(one.w, 2 * two.w, atol=1e-6)


@pytest.mark.parametrize("measure", ["f1", "roc_auc"])
def test_planes_serve_a_fit_with_another_C(measure):
    structure, X, Y, _ = make(5, 6, measure=measure, n_blocks=3)
    x = [sparse.csr_array(a) for a in X]
    first, second = structure.pack(x, Y), structure.pack(x[::-1], Y[::-1])
    assert first.keys() == second.keys()[::-1]
    solver = make_solver("bcfw", {"tol": 1e-6})
    state = solver.solve(first, Objective.create(3.0, 3, "l1"))
    support = solver.planes_at_hand(state)
    start = Start(second.expand(first.compact(state.model)), support, first.keys())
    warm = solver.solve(second, Objective.create(6.0, 3, "l1"), start=start)
    cold = solver.solve(second, Objective.create(6.0, 3, "l1"))
    assert warm.primal == pytest.approx(cold.primal, rel=1e-5)


@pytest.mark.parametrize("measure", ["f1", "prbep", "roc_auc", "error", jaccard])
@pytest.mark.parametrize("is_sparse", [True, False])
def test_bits_do_not_depend_on_threads(monkeypatch, measure, is_sparse):
    monkeypatch.setattr(weighted_rows, "LARGE", 10)
    monkeypatch.setattr(weighted_rows, "ROW_SHARD", 16)
    rng = np.random.default_rng(5)
    x = rng.normal(size=(150, 40)) * (rng.random((150, 40)) < 0.2)
    y = np.where(x[:, 0] + 0.3 * rng.normal(size=150) > 0.2, 1, -1)
    x = sparse.csr_array(x) if is_sparse else x
    objective = Objective.create(50.0, 1, "l1")
    states = []
    for n_jobs in (1, 2):
        problem = LabelVector(measure).pack(x, y, n_jobs=n_jobs)
        state = make_solver("bundle", {"tol": 1e-4}).solve(problem, objective)
        states.append((state.model.tobytes(), state.primal, state.dual, state.n_iter))
        certificate = certify(problem, objective, state.model, dual=state.dual)
        assert certificate.exact_oracle
        assert certificate.relative_gap <= 1e-4
    assert states[0] == states[1]
    # blocks by themselves, as other solvers visit them, find the same
    rows = problem.oracle(state.model)
    monkeypatch.setattr(weighted_rows, "LARGE", 10**9)
    again = problem.oracle(state.model)
    assert rows.code.tobytes() == again.code.tobytes()
    assert rows.violation.tobytes() == again.violation.tobytes()


def test_labels_may_be_zero_and_one():
    x = np.array([[2.0], [1.0], [-1.0]])
    one = LabelVector("f1").pack(x, [1, -1, -1]).oracle(np.array([0.3]))
    two = LabelVector("f1").pack(x, [True, False, False]).oracle(np.array([0.3]))
    assert one.code.tolist() == two.code.tolist()
    with pytest.raises(ValueError, match="give 1 and −1, or 1 and 0"):
        LabelVector("f1").pack(x, [1, 2, 0])


@pytest.mark.parametrize(
    ("measure", "y", "words"),
    [
        ("auc", [1, -1], "choose from f1"),
        ("f1", [-1, -1], "needs a positive row"),
        ("roc_auc", [1, 1], "needs a negative row"),
        (lambda tp, fp, fn, tn: fp + fn, [1, -1], "for a loss return 1 − loss"),
        (lambda tp, fp, fn, tn: 1 + fp, [1, -1], r"must lie in \[0, 1\]"),
        (lambda tp, fp, fn, tn: 1 if fp + fn == 0 else 0 * fp / tp, [1, -1], "NaN"),
    ],
)
def test_refusals_name_the_remedy(measure, y, words):
    with pytest.raises(ValueError, match=words):
        LabelVector(measure).pack(np.eye(2), y)


@pytest.mark.skipif(bool(config.DISABLE_JIT), reason="nothing is compiled")
def test_a_measure_that_numba_cannot_compile_is_refused():
    with pytest.raises(ValueError, match="cannot compile"):
        LabelVector(lambda tp, fp, fn, tn: len({}) + 1 - fp).pack(np.eye(2), [1, -1])


def test_too_many_tables_are_refused(monkeypatch):
    monkeypatch.setattr(label_problem, "MOST_TABLES", 8)
    with pytest.raises(ValueError, match="tables of 2 positive and 2 negative rows"):
        LabelVector(jaccard).pack(np.eye(4), [1, -1, 1, -1])


@pytest.mark.parametrize("measure", ["f1", "error", "balanced_error"])
def test_passes_the_checks_of_structures(measure):
    rng = np.random.default_rng(8)
    examples = [(rng.normal(size=(n, 3)), np.array([1, -1, 1, -1])[:n]) for n in (4, 3)]

    def enumerate(x):
        return [np.array(v) for v in product((-1, 1), repeat=len(x))]

    report = check_structure(LabelVector(measure), examples, enumerate=enumerate)
    assert "pack[slack, l2]" in report.passed
    assert "loss_augmented_argmax" in report.passed


def test_roc_area_has_one_formulation():
    with pytest.raises(CapabilityError, match="frontier"):
        LabelVector("roc_auc").pack(np.eye(2), [1, -1], Formulation("slack"))


def test_k_must_fit():
    with pytest.raises(ValueError, match="k=3"):
        LabelVector("precision_at_k", k=3).pack(np.eye(2), [1, -1])


def ranking_planes(structure, x, y):
    """Loss and δ of every ranking of the rows, written out from the definitions."""
    truth = PairOrders.truth(y).feature(x)
    for order in permutations(range(len(y))):
        place = np.empty(len(y))
        place[list(order)] = np.arange(len(y))
        loss = 1.0 - average_precision_score(y == 1, -place)
        yield order, loss, truth - PairOrders.of(y, -place).feature(x)


@settings(max_examples=40, deadline=None)
@given(cases, st.booleans())
def test_average_precision_has_an_exact_search(case, dense):
    structure, (x,), (y,), w = make(**case, measure="average_precision")
    problem = structure.pack(x if dense else sparse.csr_array(x), y)
    cuts = problem.oracle(problem.expand(w))
    best = max(loss - w @ d for _, loss, d in ranking_planes(structure, x, y))
    assert cuts.violation[0] == pytest.approx(best, abs=1e-12)
    (y_hat,) = problem.outputs(cuts)
    change = structure.joint_feature(x, y) - structure.joint_feature(x, y_hat)
    assert structure.loss(y, y_hat) - w @ change == pytest.approx(best, abs=1e-12)
    for order, loss, d in ranking_planes(structure, x, y):
        ranked = RankedRows(np.array(order), (y > 0).astype(float))
        assert structure.loss(y, ranked) == pytest.approx(loss)
        change = structure.joint_feature(x, y) - structure.joint_feature(x, ranked)
        assert np.allclose(change, d)


def test_average_precision_reaches_the_enumerated_optimum():
    structure, (x,), (y,), _ = make(4, 6, measure="average_precision")
    planes = list(ranking_planes(structure, x, y))
    loss, delta = (np.array([plane[k] for plane in planes]) for k in (1, 2))
    ones = np.ones(len(loss))
    block = np.zeros(len(loss), np.int64)
    objective = Objective.create(3.0, 1, "l1")
    best = minimum(Planes(block, loss, loss, ones, delta), objective)[0]
    problem = structure.pack(x, y)
    state = make_solver("bundle", {"tol": 1e-9}).solve(problem, objective)
    actual = certify(problem, objective, state.model, dual=state.dual)
    assert actual.primal == pytest.approx(best, rel=1e-6)
    with pytest.raises(CapabilityError, match="frontier"):
        structure.pack(x, y, Formulation("slack", "l1"))
    with pytest.raises(ValueError, match="needs a negative row"):
        structure.pack(x, np.ones(6))


@pytest.mark.parametrize("measure", [*MEASURES, jaccard])
@pytest.mark.parametrize("solver", ["bundle", "bcfw", "n_slack"])
def test_a_kernel_is_its_feature_map(measure, solver):
    """k(x, z) = <x, z>² against its monomials: optimum, scores and single planes."""
    structure, X, Y, _ = make(11, 7, 2, measure=measure, k=2, n_blocks=2)
    a, b = np.concatenate(X).T
    rows = np.column_stack([a * a, b * b, np.sqrt(2) * a * b])
    gram = np.concatenate(X) @ np.concatenate(X).T
    mapped = structure.pack(np.split(rows, 2), Y)
    keys = weighted_rows.row_keys([0, 7, 14])
    kernel = structure.pack(keys, Y, scorer=KernelScorer(gram**2, by_token=True))
    objective = Objective.create(4.0, 2, "l1")
    ends = []
    for problem in (mapped, kernel):
        state = make_solver(solver, {"tol": 1e-8}).solve(problem, objective)
        actual = certify(problem, objective, state.model, dual=state.dual)
        assert actual.relative_gap <= 1e-7
        ends.append((actual.primal, problem.scores(state.model)))
    assert ends[0][0] == pytest.approx(ends[1][0], rel=1e-6)
    assert np.allclose(ends[0][1], ends[1][1], atol=2e-3)
    cuts = kernel.oracle(kernel.zero())
    one, other = (p.combine(cuts, np.array([0.3, 0.7])) for p in (mapped, kernel))
    assert mapped.dot(one, one) == pytest.approx(kernel.dot(other, other))
    assert np.allclose(mapped.scores(one), kernel.scores(other))
    again = kernel.expand(kernel.compact(other))
    assert np.allclose(kernel.scores(again), kernel.scores(other))


def test_a_single_stored_value_need_not_be_one():
    x, y = np.array([[-2.0, 0.0], [0.0, 0.0]]), np.array([1, -1])
    dense, stored = (LabelVector("error").pack(m, y) for m in (x, sparse.csr_array(x)))
    cuts = dense.oracle(dense.zero())
    models = [p.compact(p.combine(cuts, np.ones(1))) for p in (dense, stored)]
    np.testing.assert_array_equal(*models)


@pytest.mark.parametrize("positive", [40, 160])
@pytest.mark.parametrize("spread", ["even", "one far away", "all but two alike"])
def test_swapped_pairs_are_counted_wherever_scores_lie(positive, spread):
    rng = np.random.default_rng(0)
    n = 200
    scores = np.round(8 * rng.normal(size=n)) / 8  # differences are exact
    if spread == "one far away":
        scores[[0, n - 1]] = 1e12, -1e12
    elif spread == "all but two alike":
        scores[:] = 0.0
        scores[[0, n - 1]] = 1.0, -1.0
    y = np.where(rng.permutation(n) < positive, 1, -1)
    x = scores[:, None]
    problem = LabelVector("roc_auc").pack(x, y)
    cuts = problem.oracle(problem.expand(np.ones(1)))
    gaps = scores[y == 1][:, None] - scores[y == -1][None, :]
    swapped = gaps < 1.0
    assert cuts.b[0] == pytest.approx(np.mean(swapped))
    margin = np.sum(gaps[swapped]) / gaps.size
    assert cuts.violation[0] == pytest.approx(cuts.b[0] - margin)
