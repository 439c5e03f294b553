"""What all estimators share: parameters, the fit itself, certificate and history."""

from __future__ import annotations

import os
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.callback import CallbackSupportMixin
from sklearn.exceptions import ConvergenceWarning, NotFittedError

from partwise.certificate import Certificate, certify
from partwise.checkpoint import FileCheckpoint
from partwise.objective import Formulation, Objective
from partwise.protocol import (
    CapabilityError,
    Problem,
    Solver,
    Start,
    State,
    Support,
)
from partwise.solvers import make_solver, suitable_solver
from partwise.threads import resolve_jobs

# settings that have no part in the result, or only in when training stops
FREE = (
    "n_jobs", "max_iter", "time_limit", "checkpoint", "checkpoint_every", "metric",
    "gram_options",
)  # fmt: skip
UNFINISHED = ("max_iter", "time limit", "callback", "interrupted")


class StructuredEstimator(CallbackSupportMixin, BaseEstimator):
    """Base of the estimators; composition of a structure and a solver.

    Common parameters
    -----------------
    C : float or None
        Weight of the losses: ½‖w‖² + (C/n) Σ ξ. None stands for n/10.
    formulation : {"margin", "slack", "hard"}
    penalty : {"l1", "l2"}
    solver : str or Solver
        A name, with the settings below, or an object with settings of its own.
    tol : float
        Relative duality gap at which training stops.
    eps : float or None
        The papers' constraint violation, instead of `tol`.
    max_iter : int or None
    time_limit : float or None
        Seconds.
    checkpoint : path or None
        File in which training is kept as it goes on. A fit that finds one there, of the
        same data and settings, continues it and ends with the same bits as one that was
        never interrupted; a fit that ends deletes it.
    checkpoint_every : float
        Seconds between two writings of it.
    random_state : int
    n_jobs : int
        Threads; the bits of the result do not depend on it.
    warm_start : bool
        Start from the last fit: its weights, and the dual of the examples that are
        still there.
    """

    C: Any
    formulation: str
    penalty: str
    solver: Any
    tol: float
    eps: float | None
    max_iter: int | None
    time_limit: float | None
    checkpoint: Any
    checkpoint_every: float
    random_state: int
    n_jobs: int
    warm_start: bool = False  # a reranker has no such parameter
    can_vote: ClassVar[bool] = False  # whether it predicts by votes of several models

    certificate_: Certificate

    def _formulation(self) -> Formulation:
        return Formulation(self.formulation, self.penalty).validate()

    def _penalty(self) -> str:
        """The penalty as `Objective` names it."""
        if self.formulation == "hard":
            return "hard"
        return self.penalty

    def _resolve_solver(self, problem: Problem, objective: Objective) -> Solver:
        if isinstance(self.solver, Solver):
            return self.solver
        name = self.solver
        if name == "auto":
            name = suitable_solver(problem, objective)
        settings = {
            "tol": self.tol,
            "eps": self.eps,
            "max_iter": self.max_iter,
            "time_limit": self.time_limit,
            "random_state": self.random_state,
        }
        return make_solver(name, settings)

    def _default_C(self, n: int) -> float:
        """What ``C=None`` stands for, for n examples."""
        return n / 10

    def _n_jobs(self) -> int:
        return resolve_jobs(self.n_jobs)

    def _solve(
        self,
        problem: Any,
        sample_weight: Any = None,
        start: Any = None,
    ) -> tuple[State, Support | None]:
        """Run the solver on a problem; sets the certificate, history and n_iter.

        `start` is the model of the last fit, for ``warm_start=True``.
        """
        n = problem.n_blocks
        C = self._default_C(n) if self.C is None else self.C
        objective = Objective.create(C, n, self._penalty(), sample_weight)
        solver = self._resolve_solver(problem, objective)
        if solver.is_voting and not self.can_vote:
            raise CapabilityError(
                f"solver={self.solver!r}: a vote needs one search per model and input,"
                f" which {type(self).__name__} does not do; use 'perceptron', whose "
                "average of the models stands in for their vote"
            )
        began = time.perf_counter()
        root = self._init_callback_context(max_subtasks=None)
        root.call_on_fit_task_begin(estimator=self)

        def report(state: State) -> bool:
            task = root.subcontext(task_name="iteration")
            task.call_on_fit_task_begin(estimator=self)
            value = state.point().objective
            metadata = {
                "iteration": state.n_iter,
                "objective": value,
                "is_estimate": not np.isfinite(state.primal),
                "bound": state.dual,
                "gap": (value - state.dual) / value if value else np.inf,
                "seconds": state.seconds,
            }
            return bool(task.call_on_fit_task_end(estimator=self, metadata=metadata))

        callbacks = getattr(self, "_skl_callbacks", ())
        state = solver.solve(
            problem,
            objective,
            start=self._start(start),
            checkpoint=self._checkpoint(),
            callback=report if callbacks else None,
            pulse=pulse_of(callbacks),
        )
        state.model = problem.settle(state.model)
        self._record(problem, objective, solver, state)
        root.call_on_fit_task_end(estimator=self)
        self.fit_seconds_ = time.perf_counter() - began
        if self.warm_start and np.isfinite(state.dual):
            self._last_dual = dual_of(solver, state, problem)
        return state, solver.support(state)

    def _start(self, model: Any) -> Start:
        """The model of the last fit, and its dual where it was kept."""
        if model is None:
            return Start()
        last: Start = getattr(self, "_last_dual", Start())
        return last._replace(model=model)

    def _checkpoint(self) -> FileCheckpoint | None:
        if self.checkpoint is None:
            return None
        from partwise.outputs.saved import portable_parameters

        settings = portable_parameters(self.get_params(deep=False))
        for name in FREE:
            settings.pop(name, None)
        return FileCheckpoint(self.checkpoint, self.checkpoint_every, settings)

    def _remove_checkpoints(self, *stages: str) -> None:
        """Delete the files of a fit that has come to its end."""
        if self.checkpoint is None or self.certificate_.stopped in UNFINISHED:
            return
        for stage in ("", *stages):
            Path(f"{os.fspath(self.checkpoint)}{stage}").unlink(missing_ok=True)

    def _record(
        self, problem: Any, objective: Objective, solver: Solver, state: State
    ) -> None:
        self.certificate_ = certify(
            problem,
            objective,
            state.model,
            dual=float(state.dual) if np.isfinite(state.dual) else None,
            oracle_calls=state.oracle_calls,
            stopped=state.stopped or "",
            note=state.note,
            n_planes=state.n_planes or None,
        )
        self.history_ = state.history
        self.n_iter_ = state.n_iter
        self.objective_ = objective
        self.solver_ = solver
        if state.stopped in ("max_iter", "time limit") and np.isfinite(state.dual):
            gap = self.certificate_.relative_gap
            told = "without a known gap"
            if gap is not None:
                told = f"at a relative gap of {gap:.2%}"
            warnings.warn(
                f"{type(solver).__name__} stopped by {state.stopped} {told}; raise "
                "max_iter or time_limit, or accept a larger tol",
                ConvergenceWarning,
                stacklevel=4,
            )

    def _check_fitted(self) -> None:
        if not hasattr(self, "certificate_"):
            raise NotFittedError(
                f"this {type(self).__name__} is not fitted yet; call fit first"
            )


def dual_of(solver: Solver, state: State, problem: Problem) -> Start:
    """What the next fit may start from, by the keys of its examples."""
    support, keys = solver.planes_at_hand(state), problem.keys()
    if support is None or keys is None:
        return Start()
    return Start(
        support=support, keys=keys, outputs=problem.portable_outputs(support.cuts)
    )


def pulse_of(callbacks: Any) -> Callable[[State], None] | None:
    """What tells callbacks with a method `on_pulse` of progress within an iteration."""
    listeners = [each for each in callbacks if hasattr(each, "on_pulse")]
    if not listeners:
        return None

    def tell(state: State) -> None:
        for listener in listeners:
            listener.on_pulse(state.n_iter + 1, state.share)

    return tell


def as_object_array(items: list[Any]) -> np.ndarray:
    """A 1-D object array of ragged outputs, which cross-validation can index."""
    array = np.empty(len(items), dtype=object)
    array[:] = items
    return array
