"""The base class of all estimators: parameters, the fit, certificate and history."""

from __future__ import annotations

import os
import time
from dataclasses import dataclass, field
from numbers import Integral
from pathlib import Path
from typing import Any, ClassVar, Literal, get_type_hints

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.callback import CallbackSupportMixin, with_callbacks
from sklearn.exceptions import NotFittedError

from partwise.certificate import Certificate, certify
from partwise.checkpoint import FileCheckpoint
from partwise.compile_ahead import compile_ahead_of
from partwise.jit import announce_compilation, compile_seconds
from partwise.metrics import metric as find_metric
from partwise.objective import Formulation, Objective
from partwise.outputs.docstrings import complete
from partwise.outputs.early_stop import warn_of_early_stop
from partwise.outputs.json_parameters import MAX_JOBS, portable_parameters
from partwise.outputs.progress import FitProgress, is_in_search
from partwise.parameters import (
    ParameterError,
    SettingsError,
    check_choice,
    check_positive,
    check_whole,
    choices_of,
)
from partwise.protocol import (
    HistoryPoint,
    Latent,
    Problem,
    Solver,
    Start,
    State,
    Support,
    offers,
)
from partwise.solvers import (
    VOTES,
    Abilities,
    check_solver,
    has_rounds,
    make_solver,
    suitable_solver,
    with_rounds,
)
from partwise.structures.ramp import RampProblem
from partwise.threads import resolve_jobs

# parameters that do not change the result, or only when training stops
FREE = (
    "n_jobs", "max_iter", "time_limit", "checkpoint", "checkpoint_every", "metric",
    "gram_options", "verbose",
)  # fmt: skip
UNFINISHED = ("max_iter", "time limit", "callback", "interrupted")


@dataclass(eq=False, repr=False, kw_only=True)
class StructuredEstimator(CallbackSupportMixin, BaseEstimator):
    """Base of the estimators, which put a structure and a solver together.

    An estimator is a dataclass: a parameter is a field with its type and default, and
    an entry of the docstring. Python's signature, scikit-learn's `get_params` and the
    options of the command line all follow from the two.

    Parameters
    ----------
    C : float or None
        Weight of the losses: ½‖w‖² + (C/n) Σ ξ; by default a tenth of the number of
        examples n.
    loss : {"hinge", "log", "ramp"}
        Maximum margin; conditional likelihood (a conditional random field); or the
        tighter, non-convex bound that compares with the prediction instead of the
        truth, for data with wrong labels (a local optimum, in rounds).
    formulation : {"margin", "slack", "hard"}
        How losses enter: as a margin, as a factor of the slack, or not at all.
    penalty : {"l1", "l2"}
        Slacks count as they are, or squared.
    solver : str or Solver
        Algorithm by name: auto, bcfw, one_slack, n_slack, bundle, mira, lbfgs, ….
        Or an object with settings of its own. The default is Frank-Wolfe (bcfw), and
        L-BFGS for ``loss="log"``.
    tol : float
        Stop at this relative duality gap.
    eps : float or None
        Stop at this constraint violation, that of the papers, instead.
    max_iter : int or None
        Most iterations.
    time_limit : float or None
        Most seconds.
    checkpoint : path or None
        File in which training is kept; called again, a run that was stopped goes on.
        A fit that finds one there, of the same data and settings, continues it and ends
        with the same bits as one that was never interrupted; a fit that ends deletes
        it.
    checkpoint_every : float
        Seconds between two writings of it.
    random_state : int
        Seed of all random choices.
    n_jobs : int
        Threads, -1 for all cores; the bits of the result do not depend on it.
    warm_start : bool
        Start from the last fit: its weights, and the dual of the examples that are
        still there.
    verbose : int
        Print where training stands: 1 a line a second, 2 one for each iteration.
        Also when functions are compiled, which happens in the first run only.

    Attributes
    ----------
    certificate_ : Certificate
        Objective, bound and relative gap of the model.
    history_ : list of HistoryPoint
        Time, searches, objective and bound in the course of training.
    n_iter_ : int
    """

    C: float | None = field(default=None, kw_only=False)
    loss: Literal["hinge", "log", "ramp"] = "hinge"
    formulation: Literal["margin", "slack", "hard"] = "margin"
    penalty: Literal["l1", "l2"] = "l1"
    solver: Any = "auto"
    tol: float = 1e-3
    eps: float | None = None
    max_iter: int | None = None
    time_limit: float | None = None
    checkpoint: Any = None
    checkpoint_every: float = 60.0
    random_state: int = 0
    n_jobs: int = 1
    warm_start: bool = False
    verbose: int = 0

    abilities: ClassVar[Abilities] = Abilities()  # what it offers to solvers
    measured: ClassVar[str] = ""  # `Metric.output` of its metrics; any without it

    certificate_: Certificate = field(init=False)
    history_: list[HistoryPoint] = field(init=False)
    n_iter_: int = field(init=False)
    objective_: Objective = field(init=False)
    solver_: Solver = field(init=False)
    fit_seconds_: float = field(init=False)

    def __init_subclass__(cls, **settings: Any) -> None:
        super().__init_subclass__(**settings)
        complete(cls)  # ``help`` shows all parameters

    def _formulation(self) -> Formulation:
        return Formulation(self.formulation, self.penalty).validate()

    def _penalty(self) -> str:
        """The penalty as `Objective` names it."""
        if self.loss == "log":
            return "log"
        return "hard" if self.formulation == "hard" else self.penalty

    def check_parameters(self) -> None:
        """Refuse what cannot be fitted, before any data are read."""
        for name, hint in get_type_hints(type(self)).items():
            choices = choices_of(hint)
            if choices:
                check_choice(name, getattr(self, name), choices)
        if self.C is not None:
            Objective.create(self.C, 1, "l1")
        for name in ("tol", "eps", "time_limit", "checkpoint_every"):
            check_positive(name, getattr(self, name))
        if self.tol is not None and self.tol > 1:
            remedy = "a relative gap is a share of the objective, give at most 1"
            raise ParameterError("tol", self.tol, remedy)
        check_whole("max_iter", self.max_iter, 1)
        check_whole("random_state", self.random_state, 0)
        is_whole = isinstance(self.n_jobs, Integral | None)
        if not is_whole or (self.n_jobs is not None and self.n_jobs > MAX_JOBS):
            raise ParameterError(
                "n_jobs",
                self.n_jobs,
                f"give a number of threads, at most {MAX_JOBS}, or -1 for all cores",
            )
        check_whole("verbose", self.verbose, 0)
        if self.verbose:
            announce_compilation(print)
        self._formulation()
        if self.loss == "log":
            self._refuse_margins()
        if self.loss == "ramp" and not self._formulation().is_additive:
            raise SettingsError(
                "<loss='ramp'> needs <formulation='margin'> and <penalty='l1'>"
            )
        self._n_jobs()
        metric = getattr(self, "metric", None)
        if isinstance(metric, str):
            find_metric(metric, self.measured)
        if isinstance(self.solver, str):
            self._check_solver(self.solver)

    def _refuse_margins(self) -> None:
        """Refuse settings of a margin, which the conditional likelihood has not."""
        fields = type(self).__dataclass_fields__
        for name in fields.keys() & {"formulation", "penalty", "cost"}:
            value = getattr(self, name)
            if not isinstance(value, str) or value != fields[name].default:
                shown = repr(value) if isinstance(value, str) else ""
                raise SettingsError(
                    f"<{name}={shown}> does not go with <loss='log'>, which has no "
                    "margin; leave one of them out"
                )

    def _check_solver(self, name: str) -> None:
        """Refuse a solver that does not go with the output, loss or penalty."""
        penalty = self._penalty()
        parameter = {"log": "loss", "hard": "formulation"}.get(penalty, "penalty")
        check_solver(name, self.abilities, penalty, (parameter, penalty))

    def _resolve_solver(self, problem: Problem, objective: Objective) -> Solver:
        settings = self._solver_settings()
        if objective.penalty == "log" and offers(problem, Latent):
            return self._local_likelihood(settings)
        if isinstance(self.solver, Solver):
            return with_rounds(self.solver, problem, settings)
        name = self.solver
        if name == "auto":
            name = suitable_solver(problem, objective)
        if has_rounds(name) and not offers(problem, Latent):
            remedy = "no truth has a hidden part to complete; leave it out"
            raise ParameterError("solver", name, remedy)
        if not has_rounds(name) and offers(problem, Latent):
            convex = make_solver(name, {"random_state": self.random_state})
            return with_rounds(convex, problem, settings)
        return make_solver(name, settings)

    def _local_likelihood(self, settings: dict[str, Any]) -> Solver:
        """The solver of the likelihood of what is known, which is not convex."""
        from partwise.solvers._latent_runs import LatentLBFGS
        from partwise.solvers.lbfgs import LBFGS

        if not isinstance(self.solver, Solver):
            return LatentLBFGS.of(settings)
        if not isinstance(self.solver, LBFGS):
            raise SettingsError("None in y with <loss='log'> needs <solver='lbfgs'>")
        return LatentLBFGS.of(self.solver.get_params(deep=False))

    def _solver_settings(self) -> dict[str, Any]:
        """Settings of a solver given by name; it takes those that it has."""
        return {
            "tol": self.tol,
            "eps": self.eps,
            "max_iter": self.max_iter,
            "time_limit": self.time_limit,
            "random_state": self.random_state,
        }

    def _default_C(self, n: int) -> float:
        """The value of C for n examples if the parameter is None."""
        return n / 10

    def _n_jobs(self) -> int:
        return resolve_jobs(self.n_jobs)

    @with_callbacks
    def _solve(
        self, problem: Any, sample_weight: Any = None, start: Any = None
    ) -> tuple[State, Support | None]:
        """Run the solver on a problem; sets the certificate, history and n_iter.

        `start` is the model of the last fit, for ``warm_start=True``.
        """
        n = problem.n_blocks
        C = self._default_C(n) if self.C is None else self.C
        objective = Objective.create(C, n, self._penalty(), sample_weight)
        if self.loss == "ramp":
            problem = RampProblem(problem)
        solver = self._resolve_solver(problem, objective)
        if solver.is_voting and not self.abilities.can_vote:
            raise ParameterError("solver", self.solver, VOTES)
        compile_ahead_of(solver, problem)
        began = time.perf_counter()
        progress = FitProgress(self, solver)
        state = solver.solve(
            problem,
            objective,
            start=self._start(start),
            checkpoint=self._checkpoint(),
            callback=progress.report,
            pulse=progress.pulse,
        )
        if state.stopped == "interrupted" and is_in_search():
            raise KeyboardInterrupt
        clock = time.perf_counter() - state.seconds  # of a resumed run it began earlier
        state.model = problem.settle(state.model)
        progress.stage("certificate: the objective on all data …", state.seconds)
        self._record(problem, objective, solver, state)
        progress.end(state)
        self.history_ = [
            point._replace(
                seconds=point.seconds - compile_seconds(began, clock + point.seconds)
            )
            for point in state.history
        ]
        end = time.perf_counter()
        self.fit_seconds_ = end - began - compile_seconds(began, end)
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
        warn_of_early_stop(solver, state, self.certificate_)

    def _check_fitted(self) -> None:
        if not hasattr(self, "certificate_") and not hasattr(self, "model_"):
            raise NotFittedError(
                f"this {type(self).__name__} is not fitted yet; call fit first"
            )

    def _recall_training(self, info: dict[str, Any]) -> None:
        """Set what a model file holds of the training, perhaps no certificate."""
        document: Any = info.get("certificate")
        self.certificate_ = document and Certificate.from_dict(document)
        self.history_ = [HistoryPoint(*row) for row in info.get("history", [])]
        self.n_iter_ = info.get("n_iter", 0)


def dual_of(solver: Solver, state: State, problem: Problem) -> Start:
    """The dual of a fit, from which a warm start of the next one begins."""
    support, keys = solver.planes_at_hand(state), problem.keys()
    if support is None or keys is None:
        return Start()
    return Start(
        support=support, keys=keys, outputs=problem.portable_outputs(support.cuts)
    )


def as_object_array(items: list[Any]) -> np.ndarray:
    """A 1-D object array of ragged outputs, which cross-validation can index."""
    array = np.empty(len(items), dtype=object)
    array[:] = items
    return array
