"""Alignments: training to the enumerated optimum, decoys, starts."""

from itertools import pairwise

import numpy as np
import pytest

from partwise.objective import Formulation, Objective
from partwise.protocol import CapabilityError, Start
from partwise.solvers import solver_class
from partwise.structures.alignment import Alignment
from partwise.structures.alignment.problem import pairs_of
from partwise.testing.enumeration import (
    EnumeratedProblem,
    enumerate_planes,
    log_optimum,
    minimum,
)

FORMULATIONS = [
    Formulation("margin", "l1"),
    Formulation("margin", "l2"),
    Formulation("slack", "l1"),
    Formulation("slack", "l2"),
    Formulation("hard", "l1"),
]
SOLVERS = ["bcfw", "n_slack", "one_slack", "bundle"]


def tiny(mode="global", **params):
    """Truths that a model can learn, of three pairs of sequences."""
    alignment = Alignment((2,), mode=mode, **params).setup(None, None)
    rng = np.random.default_rng(5)
    X = [tuple(rng.integers(0, 2, 3) for _ in range(2)) for _ in range(3)]
    w = np.array([2.0, -1.0, -1.0, 2.0, -1.5, -0.5, -1.5, -0.5])
    return alignment, X, [np.array(alignment.argmax(x, w)).reshape(-1, 2) for x in X]


def penalty_of(formulation):
    return "hard" if formulation.rescaling == "hard" else formulation.penalty


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("formulation", FORMULATIONS, ids=str)
@pytest.mark.parametrize("mode", ["global", "local", "semiglobal"])
def test_solvers_reach_the_enumerated_optimum(mode, formulation, solver):
    alignment, X, Y = tiny(mode, cost=1 if mode == "global" else "q")
    if penalty_of(formulation) not in solver_class(solver).penalties:
        pytest.skip("refused")
    objective = Objective.create(10.0, len(X), penalty_of(formulation))
    planes = enumerate_planes(alignment, X, Y, formulation, alignment.enumerate)
    optimum = minimum(planes, objective)
    limit = {} if np.isfinite(optimum.value) else {"max_iter": 20}
    with np.errstate(all="ignore"):  # the dual of an inseparable problem has no bound
        state = solver_class(solver)(tol=1e-5, **limit).solve(
            alignment.pack(X, Y, formulation), objective
        )
    if not np.isfinite(optimum.value):
        assert not np.isfinite(state.primal)
        return
    slack = 1e-7 * (1 + optimum.value)
    assert state.stopped == "converged"
    assert state.dual <= optimum.value + slack
    assert optimum.value - slack <= state.primal
    assert state.primal <= optimum.value + 1e-5 * state.primal + slack


@pytest.mark.parametrize("solver", ["perceptron", "mira", "pegasos", "sampled_cuts"])
def test_solvers_without_a_bound_learn(solver):
    alignment, X, Y = tiny()
    problem = alignment.pack(X, Y)
    before = problem.predict_codes(problem.zero()).b.mean()
    state = solver_class(solver)(max_iter=50).solve(
        problem, Objective.create(100.0, len(X), "l1")
    )
    assert problem.predict_codes(state.model).b.mean() < before


def test_likelihood_reaches_the_enumerated_optimum():
    alignment, X, Y = tiny("semiglobal")
    objective = Objective.create(10.0, len(X), "log")
    best = log_optimum(EnumeratedProblem(alignment, X, Y, Formulation()), objective)
    problem = alignment.pack(X, Y)
    state = solver_class("lbfgs")(tol=1e-6).solve(problem, objective)
    loss, _ = problem.log_likelihood(state.model, objective.weight)
    value = 0.5 * state.model @ state.model + objective.weight @ loss
    assert value == pytest.approx(best, rel=1e-5)


def test_generative_model_is_log_odds():
    """Counted by hand: three matches 0-0, one 0-1, a gap of two tokens of a."""
    X = [(np.array([0, 0, 0, 1, 0]), np.array([0, 0, 0])), ([0], [1])]
    X = [tuple(np.array(side) for side in x) for x in X]
    Y = [np.array([[0, 0], [1, 1], [4, 2]]), np.array([[0, 0]])]
    problem = Alignment((2,)).pack(X, Y)
    w = (
        solver_class("generative")(smoothing=1.0)
        .solve(problem, Objective.create(1.0, 2, "l1"))
        .model
    )
    of_a, of_b = np.array([6, 2]) / 8, np.array([4, 2]) / 6
    chance = of_a[:, None] * of_b
    joint = (np.array([[3, 1], [0, 0]]) + 4 * chance) / 8  # 4 pairs more, by chance
    np.testing.assert_allclose(w[:4].reshape(2, 2), np.log(joint / chance))
    np.testing.assert_allclose(w[2:4], np.log(4 / 8))  # never seen
    longer, opens = (1 + 1) / (2 + 2), (1 + 1) / (5 + 2)
    np.testing.assert_allclose(w[4] + w[5], np.log(opens) + np.log(1 - longer))
    np.testing.assert_allclose(w[5], np.log(longer))
    linear = Alignment((2,), gap_open=(), tie_gaps=True).pack(X, Y)
    shared = linear.generative_model(1.0)
    np.testing.assert_allclose(shared[4], np.log((2 + 1) / (2 + 8 + 2)))


# --------------------------------------------------------------------------- decoys


def choices(seed=0, **params):
    """Natives with three candidates each, and a homologue with its alignment."""
    alignment = Alignment((3,), decoys=True, tie_gaps=True, **params)
    alignment.setup(None, None)
    rng = np.random.default_rng(seed)
    X = [
        (rng.integers(0, 3, 3), [rng.integers(0, 3, rng.integers(2, 4)) for _ in "abc"])
        for _ in range(4)
    ]
    Y = []
    for k, (a, candidates) in enumerate(X):
        chosen = k % 3
        options = list(alignment._all_pairs(a, candidates[chosen]))
        Y.append((chosen, np.array(options[rng.integers(len(options))]).reshape(-1, 2)))
    return alignment, X, Y


def decoys_of(alignment, X, Y):
    """All alignments of the decoys of an example, and none of its homologue."""
    chosen = {id(x): y[0] for x, y in zip(X, Y, strict=True)}
    return lambda x: [y for y in alignment.enumerate(x) if y[0] != chosen[id(x)]]


@pytest.mark.parametrize("formulation", FORMULATIONS, ids=str)
@pytest.mark.parametrize("mode", ["global", "local", "semiglobal"])
@pytest.mark.parametrize("gap_open", [(), ((),)], ids=["linear", "affine"])
def test_constraints_range_over_decoys_alone(formulation, mode, gap_open):
    alignment, X, Y = choices(gap_open=gap_open, mode=mode)
    rivals = decoys_of(alignment, X, Y)
    problem = alignment.pack(X, Y, formulation)
    w = np.random.default_rng(7).normal(size=alignment.n_psi_)
    cuts = problem.oracle(w)
    dense = []
    for i, (number, pairs) in enumerate(problem.outputs(cuts)):
        truth = alignment.joint_feature(X[i], Y[i]) @ w
        rival = max(alignment.joint_feature(X[i], o) @ w for o in rivals(X[i]))
        assert cuts.violation[i] == pytest.approx(1 - truth + rival)
        assert (cuts.b[i], cuts.scale[i]) == (1, 1) and number != Y[i][0]
        actual = alignment.joint_feature(X[i], (number, pairs))
        assert actual @ w == pytest.approx(rival)
        dense.append(alignment.joint_feature(X[i], Y[i]) - actual)
    np.testing.assert_allclose(
        problem.combine(cuts, np.ones(4)), np.sum(dense, axis=0), atol=1e-12
    )
    np.testing.assert_allclose(problem.margins(w, cuts), np.array(dense) @ w)
    best = problem.predict_codes(w)
    for i, (number, pairs) in enumerate(problem.outputs(best)):
        top = max(
            alignment.joint_feature(X[i], o) @ w for o in alignment.enumerate(X[i])
        )
        score = alignment.joint_feature(X[i], (number, pairs)) @ w
        assert score == pytest.approx(top)
        assert best.b[i] == (number != Y[i][0])
        assert score == pytest.approx(
            alignment.joint_feature(X[i], alignment.argmax(X[i], w)) @ w
        )
    reference = alignment.loss_augmented_argmax(X[0], Y[0], w)
    value = alignment.joint_feature(X[0], reference) @ w
    truth = alignment.joint_feature(X[0], Y[0]) @ w
    assert value + alignment.loss(Y[0], reference) - truth == pytest.approx(
        max(cuts.violation[0], 0.0)
    )


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("formulation", FORMULATIONS, ids=str)
def test_decoys_are_trained_to_the_enumerated_optimum(formulation, solver):
    alignment, X, Y = choices(gap_open=(), mode="local")
    if penalty_of(formulation) not in solver_class(solver).penalties:
        pytest.skip("refused")
    objective = Objective.create(1.0, len(X), penalty_of(formulation))
    planes = enumerate_planes(alignment, X, Y, formulation, decoys_of(alignment, X, Y))
    optimum = minimum(planes, objective)
    limit = {} if np.isfinite(optimum.value) else {"max_iter": 20}
    with np.errstate(all="ignore"):  # the dual of an inseparable problem has no bound
        state = solver_class(solver)(tol=1e-5, **limit).solve(
            alignment.pack(X, Y, formulation), objective
        )
    if not np.isfinite(optimum.value):
        assert not np.isfinite(state.primal)
        return
    assert state.primal == pytest.approx(optimum.value, rel=2e-5)
    assert state.dual <= optimum.value * (1 + 1e-7)


def hide(Y):
    """Two homologues of unknown alignment, written in both ways."""
    return [Y[0][0], Y[1], (Y[2][0], None), Y[3]]


def latent_value(alignment, X, Y, objective, w):
    """½‖w‖² + Σ c_i ξ_i(w) with unknown alignments maximised, by enumeration."""
    slack = []
    for x, y in zip(X, Y, strict=True):
        chosen = y if isinstance(y, int) else y[0]
        scores = [
            (w @ alignment.joint_feature(x, o), o) for o in alignment.enumerate(x)
        ]
        decoy = max(score for score, output in scores if output[0] != chosen)
        known = isinstance(y, tuple) and y[1] is not None
        truth = max(score for score, output in scores if output[0] == chosen)
        if known:
            truth = w @ alignment.joint_feature(x, y)
        slack.append(max(0.0, 1.0 + decoy - truth))
    return 0.5 * w @ w + objective.weight @ np.array(slack)


@pytest.mark.parametrize("mode", ["global", "local", "semiglobal"])
@pytest.mark.parametrize("gap_open", [(), ((),)], ids=["linear", "affine"])
def test_unknown_alignments_are_completed_by_the_best(mode, gap_open):
    alignment, X, Y = choices(seed=5, mode=mode, gap_open=gap_open)
    problem = alignment.pack(X, hide(Y))
    rng = np.random.default_rng(1)
    for w in (rng.normal(size=alignment.n_psi_), rng.integers(-1, 2, 20) * 1.0):
        w = np.resize(w, alignment.n_psi_)
        ends = problem.blocks.offset[1:-1]
        before = np.split(problem.blocks.y.copy(), ends)
        old = problem.complete(w)
        assert set(old.block.tolist()) <= {0, 2}
        after = np.split(problem.blocks.y, ends)
        for i in (0, 2):
            chosen = Y[i][0]
            best = max(
                w @ alignment.joint_feature(X[i], output)
                for output in alignment.enumerate(X[i])
                if output[0] == chosen
            )
            completed = (chosen, pairs_of(after[i]))
            assert w @ alignment.joint_feature(X[i], completed) == pytest.approx(best)
            assert (i in old.block) == (before[i] != after[i]).any()
        assert all((before[i] == after[i]).all() for i in (1, 3))
        # δ of the old truths is φ(new) − φ(old)
        moved = problem.combine(old, np.ones(len(old.block)))
        change = np.zeros(alignment.n_psi_)
        for i in old.block.tolist():
            for sign, codes in ((1.0, after[i]), (-1.0, before[i])):
                output = (Y[i][0], pairs_of(codes))
                change += sign * alignment.joint_feature(X[i], output)
        np.testing.assert_allclose(moved, change, atol=1e-12)
        again = problem.complete(w)
        assert not len(again.block)


@pytest.mark.parametrize("convex", ["bundle", "bcfw", "n_slack"])
def test_rounds_over_unknown_alignments_never_rise(convex):
    alignment, X, Y = choices(seed=2)
    hidden = hide(Y)
    objective = Objective.create(4.0, len(X), "l1")
    problem = alignment.pack(X, hidden)
    state = solver_class("cccp")(convex=convex, tol=1e-6).solve(problem, objective)
    values = [one.objective for one in state.memo.rounds]
    assert all(b <= a + 1e-9 for a, b in pairwise(values))
    expected = latent_value(alignment, X, hidden, objective, state.model)
    assert values[-1] == pytest.approx(expected, rel=1e-6)
    known = solver_class("bundle")(tol=1e-6).solve(alignment.pack(X, Y), objective)
    # started at the model of the known alignments, rounds end no higher than there
    begun = latent_value(alignment, X, hidden, objective, known.model)
    after = solver_class("cccp")(convex=convex, tol=1e-6).solve(
        alignment.pack(X, hidden), objective, start=Start(known.model)
    )
    assert after.found <= begun + 1e-6
    with pytest.raises(CapabilityError, match="offsets"):
        alignment.pack(X, hidden, base=np.ones(alignment.n_psi_))


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("mode", ["global", "local", "semiglobal"])
def test_candidates_keep_their_masks(mode, seed):
    """Masks belong to a candidate, whichever place the homologue has."""
    alignment, X, Y = choices(seed, mode=mode)
    rng = np.random.default_rng(seed)
    w = rng.normal(size=alignment.n_psi_)
    forbidden, given, fitting = [], [], []
    for x, y in zip(X, Y, strict=True):
        outputs = [(k, list(map(tuple, pairs))) for k, pairs in alignment.enumerate(x)]
        forbidden.append([None] * 3)
        given.append([None] * 3)
        for k in range(3):
            own = [pairs for number, pairs in outputs if number == k]
            wanted = own[rng.integers(len(own))]
            if k == y[0]:  # the truth must be possible
                wanted = list(map(tuple, y[1].tolist()))
            cells = [(i, j) for i in range(len(x[0])) for j in range(len(x[1][k]))]
            masked = [c for c in cells if rng.random() < 0.4 and c not in wanted]
            forbidden[-1][k] = np.array(masked).reshape(-1, 2)
            if rng.random() < 0.5:
                given[-1][k] = np.array(wanted[:1]).reshape(-1, 2)
        no, yes = (
            [set() if m is None else set(map(tuple, m.tolist())) for m in masks[-1]]
            for masks in (forbidden, given)
        )
        fitting.append(
            [(k, p) for k, p in outputs if not no[k] & set(p) and yes[k] <= set(p)]
        )
    masks = {"forbidden": forbidden, "given": given}
    problem = alignment.pack(X, None, **masks)
    predicted = problem.outputs(problem.predict_codes(w))
    ranked = problem.k_best(w, 3)
    for i, x in enumerate(X):
        scores = [alignment.joint_feature(x, o) @ w for o in fitting[i]]
        number, pairs = predicted[i]
        assert (number, list(map(tuple, pairs.tolist()))) in fitting[i]
        value = alignment.joint_feature(x, predicted[i]) @ w
        assert value == pytest.approx(max(scores))
        for (k, _), value in ranked[i]:
            own = [s for s, o in zip(scores, fitting[i], strict=True) if o[0] == k]
            assert value == pytest.approx(max(own))
    cuts = alignment.pack(X, Y, **masks).oracle(w)
    hidden = alignment.pack(X, [y[0] for y in Y], **masks)
    hidden.complete(w)
    losses = hidden.oracle(w)
    for i, x in enumerate(X):
        scores = [(o[0], alignment.joint_feature(x, o) @ w) for o in fitting[i]]
        rival = max(value for k, value in scores if k != Y[i][0])
        truth = alignment.joint_feature(x, Y[i]) @ w
        assert cuts.violation[i] == pytest.approx(1 - truth + rival)
        completed = max(value for k, value in scores if k == Y[i][0])
        assert losses.violation[i] == pytest.approx(1 - completed + rival)


def test_decoys_that_make_no_sense_are_refused():
    alignment, X, Y = choices()
    with pytest.raises(ValueError, match="number of the homologue"):
        alignment.pack(X, [(1, None, 2), *Y[1:]])
    with pytest.raises(ValueError, match="no decoys"):
        alignment.pack([(X[0][0], X[0][1][:1])], [(0, [[0, 0]])])
    with pytest.raises(ValueError, match="candidate 3"):
        alignment.pack(X[:1], [(3, [[0, 0]])])
    with pytest.raises(
        ValueError, match=r"forbidden\[0\]: give a list of pairs for each"
    ):
        alignment.pack(X, Y, forbidden=[[]] * 4)
    outside = [[None, [[9, 9]], None]] * 4
    with pytest.raises(ValueError, match=r"forbidden\[0\], a candidate: .* outside"):
        alignment.pack(X, Y, forbidden=outside)
    with pytest.raises(ValueError, match="is 1 for any decoy"):
        alignment.pack(X, Y, core=[[]] * 4)
    lost = [[np.asarray(pairs) if k == y[0] else None for k in range(3)]
            for y in Y for pairs in [y[1]]]  # fmt: skip
    with pytest.raises(ValueError, match="repair the masks"):
        alignment.pack(X, Y, forbidden=lost)
    assert not hasattr(alignment.pack(X, Y), "log_likelihood")


# ----------------------------------------------------------- starts and checkpoints


def test_planes_of_another_fit_are_taken_over():
    alignment, X, Y = tiny()
    part = alignment.pack(X[:2], Y[:2])
    objective = Objective.create(10.0, 2, "l1")
    solver = solver_class("bcfw")(tol=1e-5)
    state = solver.solve(part, objective)
    start = Start(state.model, solver.planes_at_hand(state), part.keys())
    whole = alignment.pack(X, Y)
    assert whole.keys()[:2] == part.keys()
    objective = Objective.create(10.0, 3, "l1")
    cold = solver_class("bcfw")(tol=1e-5).solve(whole, objective)
    warm = solver_class("bcfw")(tol=1e-5).solve(whole, objective, start=start)
    assert warm.primal == pytest.approx(cold.primal, rel=1e-4)


def test_digests_tell_settings_apart():
    alignment, X, Y = tiny()
    problems = [alignment, tiny("local")[0], Alignment((2,), cost="q4")]
    digests = [structure.pack(X, Y).digest() for structure in problems]
    assert len(set(digests)) == 3
    assert alignment.pack(X, Y).digest() == digests[0]


# --------------------------------------------------------- weights to start from


def shifted_optimum(alignment, X, Y, formulation, objective, base, outputs):
    """Optimum over w − base: planes lose s·<base, δ> of their offsets."""
    planes = enumerate_planes(alignment, X, Y, formulation, outputs)
    moved = planes._replace(b=planes.b - planes.a @ base)
    return minimum(moved, objective)


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("formulation", FORMULATIONS[:4], ids=str)
@pytest.mark.parametrize("decoys", [False, True])
def test_training_starts_from_given_weights(formulation, solver, decoys):
    if decoys:
        alignment, X, Y = choices(gap_open=(), mode="local")
        outputs = decoys_of(alignment, X, Y)
    else:
        alignment, X, Y = tiny("semiglobal")
        outputs = alignment.enumerate
    if penalty_of(formulation) not in solver_class(solver).penalties:
        pytest.skip("refused")
    base = np.random.default_rng(3).normal(size=alignment.n_psi_)
    objective = Objective.create(3.0, len(X), penalty_of(formulation))
    optimum = shifted_optimum(alignment, X, Y, formulation, objective, base, outputs)
    problem = alignment.pack(X, Y, formulation, base=base)
    state = solver_class(solver)(tol=1e-6).solve(problem, objective)
    assert state.primal == pytest.approx(optimum.value, rel=1e-5, abs=1e-8)
    assert state.dual <= optimum.value * (1 + 1e-7) + 1e-9
    weights = problem.compact(state.model)
    np.testing.assert_allclose(problem.expand(weights), state.model, atol=1e-12)
    best = problem.outputs(problem.predict_codes(state.model))
    again = alignment.decode(X, weights)
    for one, other in zip(best, again, strict=True):
        assert np.array_equal(np.asarray(one[-1]), np.asarray(other[-1]))


def test_likelihood_and_ranks_start_from_given_weights():
    alignment, X, Y = tiny()
    rng = np.random.default_rng(3)
    base, model = rng.normal(size=(2, alignment.n_psi_))
    moved, plain = alignment.pack(X, Y, base=base), alignment.pack(X, Y)
    weight = np.ones(len(X))
    one, other = (
        moved.log_likelihood(model, weight),
        plain.log_likelihood(model + base, weight),
    )
    np.testing.assert_allclose(one[0], other[0])
    np.testing.assert_allclose(one[1], other[1])
    rows = np.arange(len(X))
    cuts = moved.k_cuts(model, rows, 3)
    same = plain.k_cuts(model + base, rows, 3)
    np.testing.assert_allclose(cuts.violation, same.violation)
    np.testing.assert_allclose(moved.adopt(cuts, None).b, cuts.b)
    assert moved.k_best(model, 2)[0][0][1] == plain.k_best(model + base, 2)[0][0][1]
    with pytest.raises(ValueError, match="start"):
        alignment.pack(X, Y, Formulation("hard", "l1"), base=base)
    with pytest.raises(ValueError, match="8 weights"):
        alignment.pack(X, Y, base=base[1:])
