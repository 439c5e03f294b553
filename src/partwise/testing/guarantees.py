"""Theorems of the papers, checked on runs of the solvers that they are about.

A solver counts in its state: `n_planes` added so far (cutting planes), and in its memo
the `mistakes` made so far (perceptron).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from partwise.objective import Formulation, Objective
from partwise.protocol import Floats, State
from partwise.structures.loop import LoopProblem
from partwise.testing.enumeration import Planes, enumerate_planes, minimum
from partwise.testing.errors import SolverError
from partwise.testing.toys import Toy, toy_classes

C = 10.0  # of the toy problems
EPS = 0.05


def number_of_constraints(solver: Any, seed: int) -> None:
    """n-slack, slack rescaling with L2: Proposition 2 and Theorem 1 of ICML 2004.

    While a constraint is violated by more than ε, adding it raises the dual by at least
    ½ε²/(Δ̄R̄² + n/C), so that a step that adds k raises it by k times as much; at most
    (CΔ̄²R̄² + nΔ̄)/ε² are ever added.
    """
    toy = toy_classes(seed)
    formulation = Formulation("slack", "l2")
    problem, objective, planes = _pose(toy, formulation)
    n, loss, radius = problem.n_blocks, planes.loss.max(), _radius(planes)
    least = 0.5 * EPS**2 / (loss * radius**2 + n / C)
    most = (C * loss**2 * radius**2 + n * loss) / EPS**2
    history: list[tuple[int, float]] = [(0, 0.0)]

    def watch(state: State) -> None:
        count, dual = _count(solver, state, "n_planes"), state.dual
        added, rise = count - history[-1][0], dual - history[-1][1]
        if added > 0 and rise < added * least * (1 - 1e-6):
            raise SolverError(
                f"{solver!r}: step {state.n_iter} adds {added} constraints but raises "
                f"the dual by {rise}, less than {least} for each (Proposition 2)"
            )
        history.append((count, dual))

    state = _solve(solver, problem, objective, watch)
    count = _count(solver, state, "n_planes")
    if count > most:
        raise SolverError(
            f"{solver!r}: {count} constraints, more than {most} (Theorem 1)"
        )


def number_of_planes(solver: Any, seed: int) -> None:
    """One-slack, margin rescaling with L1: at most O(C/ε) planes, whatever n.

    Theorem 5 of Joachims, Finley, Yu (Machine Learning 2009), with δ = max‖δΨ‖ in place
    of its 2R: ⌈log₂(Δ̄/(δ²C))⌉ + ⌈4δ²C/ε⌉.
    """
    for n in (6, 24):
        problem, objective, planes = _pose(toy_classes(seed, n), Formulation())
        loss, radius = planes.loss.max(), _radius(planes)
        first = max(np.ceil(np.log2(loss / (radius**2 * C))), 0.0)
        most = first + np.ceil(4 * radius**2 * C / EPS)
        state = _solve(solver, problem, objective, None)
        count = _count(solver, state, "n_planes")
        if count > most:
            raise SolverError(f"{solver!r}: {count} planes for n = {n}, bound {most}")


def number_of_mistakes(solver: Any, seed: int) -> None:
    """Perceptron on separable data: at most max‖δΨ‖²/γ² mistakes.

    Collins 2002, Theorem 1, where γ is the largest margin of a model of length one:
    1/‖w‖ for the hard-margin solution w.
    """
    toy = toy_classes(seed, separable=True)
    problem, objective, planes = _pose(toy, Formulation())
    hard = _pose(toy, Formulation("hard"))
    w: Floats = minimum(hard[2], hard[1]).w
    most = _radius(planes) ** 2 * float(w @ w)
    state = _solve(solver, problem, objective, None)
    count = _count(solver, state, "mistakes")
    if count > most * (1 + 1e-6):
        raise SolverError(f"{solver!r}: {count} mistakes, more than R²/γ² = {most}")


def stop_by_violation(solver: Any, seed: int) -> None:
    """With ``eps``, the run ends when no constraint is violated by more than ξ + ε.

    Each slack is then at most ε too small: P(w) ≤ optimum + Cε for L1.
    """
    problem, objective, planes = _pose(toy_classes(seed), Formulation())
    state = _solve(solver, problem, objective, None)
    if state.stopped != "converged" or not state.violation <= EPS:
        raise SolverError(
            f"{solver!r}: with eps={EPS} it stopped by {state.stopped!r} at violation "
            f"{state.violation}"
        )
    slack = planes.slack(state.model, problem.n_blocks)
    primal = objective.primal(float(state.model @ state.model), slack)
    optimum = minimum(planes, objective).value
    if primal > optimum + C * EPS * (1 + 1e-6):
        raise SolverError(
            f"{solver!r}: stopped by eps={EPS} at {primal}, more than Cε above the "
            f"optimum {optimum}"
        )


GUARANTEES: dict[str, Callable[[Any, int], None]] = {
    "constraints": number_of_constraints,
    "planes": number_of_planes,
    "mistakes": number_of_mistakes,
    "eps": stop_by_violation,
}


def _pose(toy: Toy, formulation: Formulation) -> tuple[LoopProblem, Objective, Planes]:
    structure, X, Y = toy
    penalty = "hard" if formulation.rescaling == "hard" else formulation.penalty
    return (
        LoopProblem(structure, X, Y, formulation),
        Objective.create(C, len(X), penalty),
        enumerate_planes(structure, X, Y, formulation, structure.enumerate),
    )


def _radius(planes: Planes) -> float:
    """R̄ = max‖Ψ(x, y) − Ψ(x, ŷ)‖."""
    return float(np.sqrt(np.sum(planes.delta**2, axis=1)).max())


def _solve(solver: Any, problem: Any, objective: Objective, callback: Any) -> State:
    """Run to the papers' ε where the solver has one."""
    if "eps" in solver.get_params(deep=False):
        solver = type(solver)(**solver.get_params(deep=False)).set_params(eps=EPS)
    return solver.solve(problem, objective, callback=callback)


def _count(solver: Any, state: State, name: str) -> int:
    count = getattr(state, name, getattr(state.memo, name, None))
    if count is None:
        raise SolverError(f"{solver!r}: state.memo has no `{name}` to check")
    return int(count)
