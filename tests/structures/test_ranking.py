"""Rankings: searches and solvers against lists of all rankings and orders of pairs."""

from itertools import permutations, product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from scipy.optimize import linear_sum_assignment
from sklearn.metrics import average_precision_score, ndcg_score, roc_auc_score

from partwise.compiled import Reference
from partwise.objective import Formulation, Objective
from partwise.protocol import CapabilityError, Latent, offers
from partwise.solvers import make_solver, suitable_solver
from partwise.structures import weighted_rows
from partwise.structures._assignment import assign_places, new_assignment_work
from partwise.structures._radix_sort import new_sort_work, order_descending
from partwise.structures.label_vector import LabelVector
from partwise.structures.pair_orders import PairOrders
from partwise.structures.ranking import RankedRows, Ranking
from partwise.structures.ranking._places import PlaceValues
from partwise.testing.enumeration import Planes, minimum

FORMULATIONS = [
    Formulation("margin", "l1"),
    Formulation("margin", "l2"),
    Formulation("slack", "l1"),
    Formulation("slack", "l2"),
    Formulation("hard", "l1"),
]


def root(place):
    """Falls, but not as the discounts of NDCG do."""
    return place**-0.25


SETTINGS = [
    {"measure": "swapped_pairs"},
    {"measure": "average_precision"},
    {"measure": "reciprocal_rank"},
    {"measure": "ndcg_pairs"},
    {"measure": "ndcg_pairs", "k": 2},
    {"measure": "ndcg"},
    {"measure": "ndcg", "k": 2},
    {"measure": "ndcg", "k": 3, "place_weights": root},
    {"measure": "ndcg", "place_weights": [5.0, 3.0, 1.0, 1.0, 0.0]},
    {"measure": "precision_at_k", "k": 1},
    {"measure": "precision_at_k", "k": 3},
]


def ranking_loss(structure, grades, rows):
    """The loss written out once more, from the definitions."""
    sorted_grades = np.asarray(grades, float)[list(rows)]
    relevant = sorted_grades > 0
    k = structure.k or len(grades)
    if structure.measure in ("ndcg", "ndcg_pairs"):
        discount = 1 / np.log2(np.arange(2, len(grades) + 2))
        discount[k:] = 0
        best = np.sum((2 ** np.sort(sorted_grades)[::-1] - 1) * discount)
        got = np.sum((2**sorted_grades - 1) * discount)
        return 1 - got / best if best else 0.0
    if structure.measure == "precision_at_k":
        return min(1, relevant.sum() / k) - relevant[:k].sum() / k
    if relevant.all() or not relevant.any():
        return 0.0
    places = np.flatnonzero(relevant) + 1
    if structure.measure == "reciprocal_rank":
        return 1 - 1 / places[0]
    return 1 - np.mean(np.arange(1, len(places) + 1) / places)


def outputs_of(structure, grades):
    """All outputs of a query."""
    n = len(grades)
    if structure.measure != "swapped_pairs":
        yield from (RankedRows(np.array(v), grades) for v in permutations(range(n)))
        return
    pairs = [(i, j) for i in range(n) for j in range(n) if grades[i] > grades[j]]
    for signs in product((-1, 1), repeat=len(pairs)):
        wins = np.zeros(n, np.int64)
        for (i, j), sign in zip(pairs, signs, strict=True):
            wins[i] += sign
            wins[j] -= sign
        yield PairOrders(wins, float(signs.count(-1)), len(pairs))


def asks_nothing(structure, grades):
    is_graded = structure.measure in ("ndcg", "ndcg_pairs", "swapped_pairs")
    levels = grades if is_graded else grades > 0
    return len(np.unique(levels)) < 2


def planes_of(structure, X, Y, formulation):
    """Every plane of every query."""
    block, loss, delta = [], [], []
    for i, (x, y) in enumerate(zip(X, Y, strict=True)):
        if asks_nothing(structure, y):
            continue
        truth = structure.joint_feature(x, y)
        for v in outputs_of(structure, y):
            is_pairs = isinstance(v, PairOrders)
            here = v.loss if is_pairs else ranking_loss(structure, y, v.rows)
            here = 0.0 if here < 1e-12 else here
            if formulation.rescaling == "hard" and here == 0:
                continue
            block.append(i)
            loss.append(here)
            delta.append(truth - structure.joint_feature(x, v))
    pairs = np.array([formulation.plane(d) for d in loss]).reshape(-1, 2)
    n_psi = X[0].shape[1]
    return Planes(
        np.array(block, np.int64),
        np.array(loss),
        *pairs.T,
        np.array(delta).reshape(-1, n_psi),
    )


def make(seed, sizes=(1, 4, 5, 3), n_features=3, scale=1.0, most=2, **params):
    """Rows of small whole numbers, so that scores tie, with grades and a model."""
    rng = np.random.default_rng(seed)
    structure = Ranking(**params)
    X = [rng.integers(-2, 3, (n, n_features)).astype(float) for n in sizes]
    Y = [rng.integers(0, rng.integers(1, most + 1) + 1, n).astype(float) for n in sizes]
    w = scale * rng.integers(-2, 3, n_features) * rng.choice([1.0, 0.37])
    return structure.setup(X, Y), X, Y, w


cases = st.fixed_dictionaries(
    {
        "seed": st.integers(0, 10_000),
        "scale": st.sampled_from([0.0, 0.1, 1.0, 5.0]),
        "most": st.sampled_from([1, 2, 3]),
    }
)


@settings(max_examples=80, deadline=None)
@given(cases, st.sampled_from(SETTINGS), st.booleans())
def test_search_is_the_enumerated_maximum(case, params, dense):
    structure, X, Y, w = make(**case, **params)
    given_x = X if dense else [sparse.csr_array(x) for x in X]
    problem = structure.pack(given_x, Y)
    check_search(structure, problem, X, Y, w, Formulation())


def check_search(structure, problem, X, Y, w, formulation):
    cuts = problem.oracle(problem.expand(w))
    planes = planes_of(structure, X, Y, formulation)
    violation = planes.b - planes.a @ w
    for i, output in enumerate(problem.outputs(cuts)):
        mine = planes.block == i
        if formulation.rescaling == "hard":
            if mine.any():
                assert cuts.violation[i] == pytest.approx(violation[mine].max())
            continue
        expected = max(violation[mine].max(initial=0.0), 0.0)
        assert max(cuts.violation[i], 0.0) == pytest.approx(expected, abs=1e-9)
        assert cuts.bound[i] == cuts.violation[i]
        if asks_nothing(structure, Y[i]):
            continue
        loss = structure.loss(Y[i], output)
        b, scale = formulation.plane(0.0 if loss < 1e-12 else loss)
        assert (cuts.b[i], cuts.scale[i]) == pytest.approx((b, scale), abs=1e-9)
        delta = structure.joint_feature(X[i], Y[i]) - structure.joint_feature(
            X[i], output
        )
        assert cuts.violation[i] == pytest.approx(b - scale * delta @ w, abs=1e-9)


@settings(max_examples=50, deadline=None)
@given(cases, st.sampled_from(FORMULATIONS))
def test_first_relevant_row_under_every_formulation(case, formulation):
    structure, X, Y, w = make(**case, measure="reciprocal_rank")
    problem = structure.pack(X, Y, formulation)
    check_search(structure, problem, X, Y, w, formulation)


@settings(max_examples=60, deadline=None)
@given(cases, st.sampled_from(SETTINGS))
def test_predictions_have_the_highest_score(case, params):
    structure, X, Y, w = make(**case, **params)
    problem = structure.pack(X, Y)
    cuts = problem.predict_codes(problem.expand(w))
    for i, output in enumerate(problem.outputs(cuts)):
        score = [
            structure.joint_feature(X[i], v) @ w for v in outputs_of(structure, Y[i])
        ]
        got = structure.joint_feature(X[i], output) @ w
        assert got == pytest.approx(max(score, default=0.0), abs=1e-9)
        loss = structure.loss(Y[i], structure.argmax(X[i], w))
        assert cuts.b[i] == pytest.approx(loss, abs=1e-9)


@settings(max_examples=40, deadline=None)
@given(cases, st.sampled_from(SETTINGS))
def test_operations_agree_with_features(case, params):
    structure, X, Y, w = make(**case, **params)
    problem = structure.pack(X, Y)
    rng = np.random.default_rng(case["seed"])
    cuts = problem.oracle(problem.expand(rng.normal(size=3)))
    deltas = np.array(
        [
            np.zeros(3)
            if asks_nothing(structure, y)
            else structure.joint_feature(x, y) - structure.joint_feature(x, v)
            for x, y, v in zip(X, Y, problem.outputs(cuts), strict=True)
        ]
    )
    model = problem.expand(w)
    np.testing.assert_allclose(problem.margins(model, cuts), deltas @ w, atol=1e-9)
    alpha = rng.random(len(X))
    combined = problem.compact(problem.combine(cuts, alpha))
    np.testing.assert_allclose(combined, alpha @ deltas, atol=1e-9)
    np.testing.assert_allclose(problem.gram(cuts, cuts), deltas @ deltas.T, atol=1e-9)


@pytest.mark.parametrize("params", SETTINGS)
def test_solvers_reach_the_enumerated_optimum(params):
    for seed in (0, 1):
        structure, X, Y, _ = make(seed, sizes=(4, 4, 3, 1), **params)
        problem = structure.pack(X, Y)
        objective = Objective.create(6.0, len(X), "l1")
        best = minimum(planes_of(structure, X, Y, Formulation()), objective)
        names = {suitable_solver(problem, objective), "n_slack", "one_slack", "bundle"}
        for name in sorted(names):
            solver = make_solver(name, {"tol": 1e-6, "max_iter": 3000})
            state = solver.solve(problem, objective)
            assert state.primal == pytest.approx(best.value, rel=1e-5), name
            assert state.dual <= best.value * (1 + 1e-7)


def latent_planes(structure, problem, X, Y):
    """Every plane, by the present truths of a latent problem."""
    planes = planes_of(structure, X, Y, Formulation())
    offset = problem.blocks.offset
    shift = np.array(
        [
            x.T @ problem.blocks.truth[a:z] - structure.joint_feature(x, y)
            for x, y, a, z in zip(X, Y, offset[:-1], offset[1:], strict=True)
        ]
    )
    return planes._replace(delta=planes.delta + shift[planes.block])


@pytest.mark.parametrize("params", SETTINGS[5:])
@pytest.mark.parametrize("name", ["bcfw", "n_slack", "one_slack", "bundle"])
def test_completed_truths_are_the_best_and_planes_follow(params, name):
    structure, X, Y, _ = make(3, sizes=(4, 5, 3, 2), ties="latent", **params)
    problem = structure.pack(X, Y)
    assert offers(problem, Latent)
    objective = Objective.create(6.0, len(X), "l1")
    solver = make_solver(name, {"tol": 1e-6, "max_iter": 3000})
    state = solver.solve(problem, objective)
    rng = np.random.default_rng(0)
    for w in (rng.normal(size=3), problem.compact(state.model)):
        before = problem.blocks.truth.copy()
        old = problem.complete(problem.expand(w))
        solver.rebase(state, old)
        changed = np.zeros(3)
        for i, y in enumerate(Y):
            a, z = problem.blocks.offset[i : i + 2]
            changed += X[i].T @ (problem.blocks.truth - before)[a:z]
            if asks_nothing(structure, y):
                continue
            levels = structure.levels(y)
            true = [
                structure.joint_feature(X[i], v) @ w
                for v in outputs_of(structure, y)
                if (np.diff(levels[v.rows]) <= 0).all()
            ]
            got = X[i].T @ problem.blocks.truth[a:z] @ w
            assert got == pytest.approx(max(true), abs=1e-9)
        combined = problem.compact(problem.combine(old, np.ones(len(old.block))))
        np.testing.assert_allclose(combined, changed, atol=1e-9)
        best = minimum(latent_planes(structure, problem, X, Y), objective)
        state = solver.solve(problem, objective, start=state)
        assert state.primal == pytest.approx(best.value, rel=1e-5)
        assert not len(problem.complete(problem.expand(w)).block)


@pytest.mark.parametrize("formulation", FORMULATIONS[1:])
def test_solvers_run_every_formulation_of_reciprocal_rank(formulation):
    structure, X, Y, _ = make(4, sizes=(4, 4, 3), measure="reciprocal_rank")
    problem = structure.pack(X, Y, formulation)
    penalty = "hard" if formulation.rescaling == "hard" else formulation.penalty
    objective = Objective.create(6.0, len(X), penalty)
    best = minimum(planes_of(structure, X, Y, formulation), objective)
    if not np.isfinite(best.value):
        pytest.skip("inseparable")
    for name in ("bcfw", "n_slack"):
        solver = make_solver(name, {"tol": 1e-6, "max_iter": 3000})
        state = solver.solve(problem, objective)
        assert state.primal == pytest.approx(best.value, rel=1e-5), name


def test_one_query_of_two_grades_is_roc_area():
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(60, 4)), rng.integers(0, 2, 60)
    w = rng.normal(size=4)
    one, two = Ranking().pack(x, y), LabelVector("roc_auc").pack(x, y)
    a, b = one.oracle(one.expand(w)), two.oracle(two.expand(w))
    assert a.violation[0] == pytest.approx(b.violation[0])
    assert one.predict_codes(w).b[0] == pytest.approx(1 - roc_auc_score(y, x @ w))


def test_losses_agree_with_scikit_learn():
    rng = np.random.default_rng(1)
    x, y = rng.normal(size=(40, 3)), rng.integers(0, 4, 40)
    w = rng.normal(size=3)
    s = x @ w
    ap = Ranking("average_precision").pack(x, y).predict_codes(w).b[0]
    assert ap == pytest.approx(1 - average_precision_score(y > 0, s))
    for k in (None, 5):
        ndcg = Ranking("ndcg", k=k).pack(x, y).predict_codes(w).b[0]
        assert ndcg == pytest.approx(1 - ndcg_score([2.0**y - 1], [s], k=k))


def test_assignment_agrees_with_scipy():
    rng = np.random.default_rng(2)
    for _ in range(50):
        n = int(rng.integers(1, 20))
        m = int(rng.integers(1, n + 1))
        weight, discount = rng.random(m), rng.random(m)
        score = rng.integers(-3, 4, n).astype(float)
        gain = rng.integers(0, 3, n).astype(float)
        work = Reference(new_assignment_work(m, n))
        values = PlaceValues(weight, discount, score, gain)
        assert assign_places(values, m, n, work)
        value = np.outer(weight, score) - np.outer(discount, gain)
        best = value[linear_sum_assignment(value, maximize=True)].sum()
        place = work.place_of[1:]
        rows = np.flatnonzero(place)
        assert sorted(place[rows]) == list(range(1, m + 1))
        assert value[place[rows] - 1, rows].sum() == pytest.approx(best)


@pytest.mark.parametrize("n", [1, 2, 31, 33, 500, 2047, 2048, 5000])
def test_order_is_stable_and_falls(n):
    rng = np.random.default_rng(n)
    work, order = Reference(new_sort_work(n)), np.empty(n, np.int32)
    powers = rng.normal(size=n) * 10.0 ** rng.integers(-300, 300, n)
    signed_zeros = np.where(rng.random(n) < 0.5, 0.0, -0.0)
    few = rng.integers(-2, 3, n).astype(float)
    for value in (rng.normal(size=n), powers, signed_zeros, few, np.ones(n)):
        order_descending(value, n, work, order)
        assert (order == np.argsort(-value, kind="stable")).all()


@pytest.mark.parametrize("params", SETTINGS)
def test_bits_do_not_depend_on_threads(monkeypatch, params):
    params = {k: v for k, v in params.items() if not isinstance(v, list)}
    rng = np.random.default_rng(6)
    X = [rng.normal(size=(n, 6)) for n in rng.integers(1, 40, 30)]
    Y = [np.clip(np.round(x[:, 0] + rng.normal(size=len(x))), 0, 2) for x in X]
    objective = Objective.create(20.0, len(X), "l1")
    states = []
    for n_jobs in (1, 2):
        problem = Ranking(**params).pack(X, Y, n_jobs=n_jobs)
        state = make_solver("bundle", {"tol": 1e-2}).solve(problem, objective)
        states.append((state.model.tobytes(), state.primal, state.dual, state.n_iter))
    assert states[0] == states[1]
    cuts = problem.oracle(state.model)
    monkeypatch.setattr(weighted_rows, "LARGE", 0)  # queries one by one
    again = problem.oracle(state.model)
    assert cuts.code.tobytes() == again.code.tobytes()
    assert cuts.violation.tobytes() == again.violation.tobytes()


@pytest.mark.parametrize(
    ("params", "words"),
    [
        ({"measure": "map"}, "choose from swapped_pairs"),
        ({"measure": "precision_at_k"}, "needs k="),
        ({"measure": "ndcg", "k": 0}, "k=0"),
        ({"measure": "ndcg", "place_weights": [1.0, 2.0, 3.0]}, "do not rise"),
        ({"measure": "average_precision", "place_weights": [1.0]}, "leave place"),
        ({"measure": "ndcg", "ties": "best"}, "choose 'mean' or 'latent'"),
        ({"measure": "swapped_pairs", "ties": "latent"}, "leave ties out"),
    ],
)
def test_refusals_name_the_remedy(params, words):
    with pytest.raises(ValueError, match=words):
        Ranking(**params).pack(np.eye(3), [0, 1, 2])


def test_gains_need_grades_from_zero():
    with pytest.raises(ValueError, match="grades from 0 to"):
        Ranking("ndcg").pack(np.eye(2), [-1, 1])
    with pytest.raises(ValueError, match="NaN"):
        Ranking().pack(np.eye(2), [np.nan, 1])


def test_only_margin_rescaling_of_other_measures():
    with pytest.raises(CapabilityError, match="frontier"):
        Ranking("ndcg").pack(np.eye(2), [0, 1], Formulation("slack"))


def test_equal_rows_may_score_apart_under_ndcg_by_pairs():
    """Places with mean truths charge for the spread of equal rows; pairs do not."""
    x = np.array([[3.0], [4.0], [5.0], [9.0]])
    grades, w = [0.0, 0.0, 0.0, 2.0], np.array([10.0])
    slack = {}
    for measure in ("ndcg", "ndcg_pairs"):
        problem = Ranking(measure).setup([x], [grades]).pack([x], [grades])
        cuts = problem.oracle(problem.compact(w), np.arange(1))
        slack[measure] = float(cuts.violation[0])
    assert slack["ndcg_pairs"] == 0.0
    assert slack["ndcg"] > 1.0


def test_too_many_ways_to_mix_grades_are_refused():
    x, grades = np.zeros((320, 1)), np.arange(320) % 5.0
    ranking = Ranking("ndcg_pairs").setup([x], [grades])
    with pytest.raises(ValueError, match=r"k=10"):
        ranking.pack([x], [grades])
    Ranking("ndcg_pairs", k=10).setup([x], [grades]).pack([x], [grades])
