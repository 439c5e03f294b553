"""`check_solver`: bounds, optimum, determinism and the conditions of optimality."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any, NamedTuple, NoReturn

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from partwise.certificate import certify
from partwise.objective import Formulation, Objective
from partwise.protocol import CapabilityError, Floats, Solver, State, Support
from partwise.testing.enumeration import (
    EnumeratedProblem,
    Optimum,
    Planes,
    enumerate_planes,
    log_optimum,
    minimum,
)
from partwise.testing.errors import Report, SolverError
from partwise.testing.guarantees import GUARANTEES
from partwise.testing.structures import FORMULATIONS
from partwise.testing.toys import Toy, ToyClasses, toy_chain, toy_classes

C = 10.0  # of the toy problems
ROUNDING = 1e-7  # of the enumerated optimum and of sums, relative


class Case(NamedTuple):
    """A toy problem with its enumerated optimum."""

    name: str
    problem: EnumeratedProblem
    objective: Objective
    planes: Planes
    optimum: Optimum

    @property
    def slack(self) -> float:
        """Rounding allowed in comparisons with the optimum."""
        return ROUNDING * (1.0 + abs(self.optimum.value))


def check_solver(
    solver: Solver, *, seed: int = 0, guarantees: Sequence[str] | None = None
) -> Report:
    """Check a solver on problems whose optimum is known by enumeration.

    For each formulation that the solver accepts, on classes and on chains:

    - dual ≤ optimum ≤ primal after every step, and the dual never falls;
    - the optimum is reached within `tol`, whatever the order of the examples;
    - the same seed gives the same bits;
    - contradictory examples get no hard margin;
    - the certificate's bound from data alone holds, and the mean slack bounds the
      training loss;
    - the dual variables of `support` are feasible, belong to true planes, and satisfy
      stationarity, complementary slackness and full mass within the duality gap.

    Solvers without a dual (it stays −inf) skip what needs one.

    Parameters
    ----------
    solver : Solver
        With a `tol` that it can reach; it is cloned.
    seed : int
        Of the toy problems.
    guarantees : sequence of str or None
        Theorems of the solver's paper: ``"constraints"`` (n-slack: dual rise per cut,
        number of constraints), ``"planes"`` (one-slack: number of planes whatever the
        number of examples), ``"mistakes"`` (perceptron), ``"eps"`` (the papers'
        stopping rule). None takes the solver's attribute `guarantees`, if any.

    Returns
    -------
    Report

    Raises
    ------
    SolverError
        Names the solver, the problem and the condition that fails.

    Examples
    --------
    >>> from partwise.solvers.bcfw import BCFW
    >>> report = check_solver(BCFW(tol=1e-4))
    >>> "slack l2 on ToyChain" in report.passed
    True
    """
    with warnings.catch_warnings():  # runs that are cut short are among the checks
        warnings.simplefilter("ignore", ConvergenceWarning)
        return _check(solver, seed, guarantees)


def _check(solver: Solver, seed: int, guarantees: Sequence[str] | None) -> Report:
    passed, skipped = [], []
    for formulation in FORMULATIONS:
        for toy in (toy_classes, toy_chain):
            is_hard = formulation.rescaling == "hard"
            case = make_case(toy(seed, separable=is_hard), formulation)
            if _refuses(solver, case):
                skipped.append(case.name)
                continue
            _check_case(solver, case)
            _check_order(solver, toy(seed, separable=is_hard), formulation, seed)
            passed.append(case.name)
    if "hard" in solver.penalties:
        _check_inseparable(solver)
        passed.append("hard on contradictory examples")
    if "log" in solver.penalties:
        _check_log(solver, toy_chain(seed))
        passed.append("log on ToyChain")
    if guarantees is None:
        guarantees = getattr(solver, "guarantees", ())
    for name in guarantees:
        GUARANTEES[name](_copy(solver), seed)
        passed.append(name)
    if not passed:
        raise SolverError(f"{solver!r} accepts none of the formulations")
    return Report(tuple(passed), tuple(skipped))


def make_case(toy: Toy, formulation: Formulation, sample_weight: Any = None) -> Case:
    """A toy under a formulation, solved by enumeration."""
    structure, X, Y = toy
    penalty = "hard" if formulation.rescaling == "hard" else formulation.penalty
    objective = Objective.create(C, len(X), penalty, sample_weight)
    planes = enumerate_planes(structure, X, Y, formulation, structure.enumerate)
    label = formulation.rescaling + ("" if penalty == "hard" else f" {penalty}")
    return Case(
        f"{label} on {type(structure).__name__}",
        EnumeratedProblem(structure, X, Y, formulation),
        objective,
        planes,
        minimum(planes, objective),
    )


def _copy(solver: Solver) -> Any:
    """A clone; stopping is by `tol`, whose meaning all solvers share."""
    clone = type(solver)(**solver.get_params(deep=False))
    if getattr(clone, "eps", None) is not None:
        clone.set_params(eps=None)
    return clone


def _refuses(solver: Solver, case: Case) -> bool:
    try:
        solver.refuse(case.problem, case.objective)
    except CapabilityError:
        return True
    return False


class _Watch:
    """Callback that follows the bounds of a run."""

    def __init__(self, solver: Any, case: Case) -> None:
        self.solver, self.case = solver, case
        self.dual = -np.inf
        self.n_iter = 0

    def fail(self, problem: str) -> NoReturn:
        """Say which solver fails on which problem."""
        raise SolverError(f"{self.solver!r} on {self.case.name}: {problem}")

    def __call__(self, state: State) -> None:
        optimum, slack = self.case.optimum, self.case.slack
        where = f"after step {state.n_iter}"
        if state.n_iter != self.n_iter + 1:
            self.fail(f"n_iter went from {self.n_iter} to {state.n_iter}")
        if state.dual > optimum.value + slack:
            self.fail(f"dual {state.dual} {where} is above the optimum {optimum.value}")
        if state.primal < optimum.lower - slack:
            self.fail(
                f"primal {state.primal} {where} is below the optimum {optimum.lower}"
            )
        if state.dual < self.dual - ROUNDING * (1 + abs(self.dual)):
            self.fail(f"dual fell from {self.dual} to {state.dual} {where}")
        self.dual, self.n_iter = state.dual, state.n_iter


def _check_case(solver: Solver, case: Case) -> None:
    first, second = _copy(solver), _copy(solver)
    watch = _Watch(first, case)
    state = first.solve(case.problem, case.objective, callback=watch)
    again = second.solve(case.problem, case.objective)
    if not np.array_equal(state.model, again.model):
        watch.fail("two runs with the same seed give different models")
    _check_certificate(watch, state)
    _check_mean_slack(watch, state)
    if np.isfinite(state.dual):
        _check_reached(watch, state)
        support = first.support(state)
        if support is not None:
            _check_support(watch, state, support)


def _check_order(solver: Solver, toy: Toy, formulation: Formulation, seed: int) -> None:
    """The optimum does not depend on the order; sample weights follow examples."""
    structure, X, Y = toy
    rng = np.random.default_rng(seed)
    order = rng.permutation(len(X))
    shuffled = structure, [X[i] for i in order], [Y[i] for i in order]
    weight = rng.uniform(0.5, 2.0, size=len(X))
    case = make_case(shuffled, formulation, sample_weight=weight)
    copied = _copy(solver)
    watch = _Watch(copied, case)
    state = copied.solve(case.problem, case.objective, callback=watch)
    if np.isfinite(state.dual):
        _check_reached(watch, state)


def _check_reached(watch: _Watch, state: State) -> None:
    case, solver = watch.case, watch.solver
    if state.stopped != "converged":
        watch.fail(
            f"stopped by {state.stopped!r} at relative gap {state.relative_gap:.2e}, "
            f"short of tol={solver.tol}"
        )
    allowed = solver.tol * abs(state.primal) + case.slack
    if state.primal - case.optimum.value > allowed:
        watch.fail(
            f"primal {state.primal} is more than tol={solver.tol} above the optimum "
            f"{case.optimum.value}"
        )


def _check_certificate(watch: _Watch, state: State) -> None:
    """The stated primal is that of the model; the bound from data alone holds."""
    case = watch.case
    certificate = certify(case.problem, case.objective, state.model)
    primal, bound = certificate.primal, certificate.data_bound
    is_stated = np.isfinite(state.primal)
    if is_stated and abs(primal - state.primal) > ROUNDING * (1 + abs(primal)):
        watch.fail(f"states primal {state.primal} of a model that has {primal}")
    if bound is not None and primal - bound > case.optimum.value + case.slack:
        watch.fail(
            f"primal {primal} minus its data-only bound {bound} is above the optimum "
            f"{case.optimum.value}"
        )


def _check_mean_slack(watch: _Watch, state: State) -> None:
    """Training loss ≤ mean slack (ICML 2004, Proposition 1); its square for L2."""
    case = watch.case
    loss = case.problem.predict_codes(state.model).b
    slack = case.planes.slack(state.model, case.problem.n_blocks)
    if case.objective.penalty == "hard":
        return
    if case.objective.penalty == "l2":
        slack = slack**2
    if np.mean(loss) > np.mean(slack) + ROUNDING:
        watch.fail(f"training loss {np.mean(loss)} exceeds mean slack {np.mean(slack)}")


def _check_support(watch: _Watch, state: State, support: Support) -> None:
    """Conditions of optimality, within the duality gap.

    With w_α = Σ α a, and S the mass of each block, for every w

        P(w) − D(α) = ½‖w − w_α‖² + Σ_i r_i + Σ α (ξ_i(w) − (b − <w, a>)),

    r_i = (c_i − S_i) ξ_i for L1, ½ c_i (ξ_i − S_i/c_i)² for L2, 0 for a hard margin
    (where w is scaled to be feasible). All terms are ≥ 0, so each is at most the gap.
    """
    case, cuts, alpha = watch.case, support.cuts, support.alpha
    objective, problem = case.objective, case.problem
    n = problem.n_blocks
    mass = np.bincount(cuts.block, alpha, n).astype(np.float64)
    if (alpha < 0).any() or (mass > objective.cap() * (1 + 1e-9)).any():
        watch.fail("support: some α is negative or a block has more mass than c_i")
    _check_planes(watch, support)
    model, slack = _feasible(case, state.model)
    combined = problem.combine(cuts, alpha)
    offset = np.bincount(cuts.block, alpha * cuts.b, n).astype(np.float64)
    dual = objective.dual(float(combined @ combined), offset, mass)
    if dual < state.dual - case.slack:
        watch.fail(f"support has dual value {dual}, the state promises {state.dual}")
    gap = state.primal - dual
    rest = np.zeros(n)
    if objective.penalty == "l1":
        rest = (objective.weight - mass) * slack
    elif objective.penalty == "l2":
        rest = 0.5 * objective.weight * (slack - mass / objective.weight) ** 2
    violation = cuts.b - problem.margins(model, cuts)
    terms = {
        "stationarity, ½‖w − Σ α a‖²": 0.5 * float(np.sum((model - combined) ** 2)),
        "full mass where ξ > 0": float(np.sum(rest)),
        "complementary slackness": float(alpha @ (slack[cuts.block] - violation)),
    }
    for name, value in terms.items():
        if not -case.slack <= value <= gap + case.slack:
            watch.fail(f"{name}: off by {value} where the duality gap is {gap}")


def _feasible(case: Case, model: Floats) -> tuple[Floats, Floats]:
    """The model and its slack; a hard margin scales it to margin one, without slack."""
    n = case.problem.n_blocks
    if case.objective.penalty != "hard":
        return model, case.planes.slack(model, n)
    return model / float(np.min(case.planes.a @ model)), np.zeros(n)


def _check_planes(watch: _Watch, support: Support) -> None:
    problem = watch.case.problem
    for i, b, scale, y_hat in zip(
        support.cuts.block,
        support.cuts.b,
        support.cuts.scale,
        problem.outputs(support.cuts),
        strict=True,
    ):
        loss = problem.structure.loss(problem.blocks.Y[i], y_hat)
        plane = problem.formulation.plane(loss)
        if not np.allclose((b, scale), plane):
            watch.fail(f"support: {(b, scale)} is not the plane {plane} of {y_hat!r}")


def _check_inseparable(solver: Solver) -> None:
    """No model has a positive margin on examples that contradict each other."""
    X, Y = [np.ones(2)] * 2, [0, 1]
    case = make_case((ToyClasses().setup(X, Y), X, Y), Formulation("hard"))
    copied = _copy(solver).set_params(max_iter=20)
    state = copied.solve(case.problem, case.objective)
    if np.isfinite(state.primal) or state.stopped == "converged":
        raise SolverError(
            f"{copied!r}: stopped by {state.stopped!r} with primal {state.primal} on "
            "contradictory examples, which no model separates"
        )


def _check_log(solver: Solver, toy: Toy) -> None:
    structure, X, Y = toy
    problem = EnumeratedProblem(structure, X, Y, Formulation())
    objective = Objective.create(C, len(X), "log")
    copied = _copy(solver)
    state = copied.solve(problem, objective)
    best = log_optimum(problem, objective)
    certificate = certify(problem, objective, state.model)
    primal, bound = certificate.primal, certificate.data_bound
    room = ROUNDING * (1 + abs(best))
    where = f"{copied!r} on log likelihood of ToyChain"
    if primal - best > copied.tol * abs(best) + room:
        raise SolverError(f"{where}: reaches {primal}; the optimum is {best}")
    if bound is not None and primal - bound > best + room:
        raise SolverError(f"{where}: data-only bound {bound} does not hold")
