"""Solvers: an algorithm, or a family of them, per file, named as in its paper."""

from __future__ import annotations

import difflib
import inspect
from importlib import import_module
from typing import Any

from partwise.parameters import SettingsError
from partwise.protocol import Generative, Latent, Objective, Problem, Solver, offers

SOLVERS = {
    "bcfw": ("bcfw", "BCFW"),
    "n_slack": ("n_slack", "NSlack"),
    "one_slack": ("one_slack", "OneSlack"),
    "sampled_cuts": ("sampled_cuts", "SampledCuts"),
    "bundle": ("bundle", "ProximalBundle"),
    "perceptron": ("online", "Perceptron"),
    "voted_perceptron": ("online", "VotedPerceptron"),
    "mira": ("online", "MIRA"),
    "pegasos": ("online", "Pegasos"),
    "lbfgs": ("lbfgs", "LBFGS"),
    "cccp": ("cccp", "CCCP"),
    "hmm": ("generative", "Generative"),
    "generative": ("generative", "Generative"),
    "pcfg": ("generative", "RelativeFrequencies"),
}


def solver_class(name: str) -> type[Solver]:
    """The solver of this name; modules load on demand, because numba is slow to."""
    if name not in SOLVERS:
        near = difflib.get_close_matches(str(name), SOLVERS, n=1)
        hint = f"did you mean {near[0]!r}? " if near else ""
        raise SettingsError(
            f"<solver={name!r}>: {hint}choose from {', '.join(SOLVERS)}"
        )
    module, attribute = SOLVERS[name]
    return getattr(import_module(f"partwise.solvers.{module}"), attribute)


def is_generative(name: str) -> bool:
    """Whether a solver only counts, which a structure must have a model for."""
    return Generative in solver_class(name).needs


def suitable_solver(problem: Problem, objective: Objective) -> str:
    """The name of the solver that ``solver="auto"`` means.

    A single example, as of a measure over all data, is one joint plane: a bundle. Else
    Frank-Wolfe, and for the conditional likelihood L-BFGS. Hidden parts need rounds of
    convex problems, see `with_rounds`.
    """
    if offers(problem, Latent):
        return "cccp"
    if objective.penalty == "log":
        return "lbfgs"
    if problem.n_blocks == 1 and objective.penalty != "hard":
        return "bundle"
    return "bcfw"


def has_rounds(name: str) -> bool:
    """Whether a solver completes hidden parts between convex problems."""
    return Latent in solver_class(name).needs


def with_rounds(convex: Solver, problem: Problem, settings: dict[str, Any]) -> Solver:
    """The solver itself; where a problem has hidden parts, within rounds (`CCCP`)."""
    if not offers(problem, Latent) or Latent in convex.needs:
        return convex
    return make_solver("cccp", settings | {"convex": convex})


def make_solver(name: str, settings: dict[str, Any]) -> Solver:
    """A solver by name, with those settings it has and that are not None."""
    cls = solver_class(name)
    known = inspect.signature(cls.__init__).parameters
    given = {k: v for k, v in settings.items() if k in known and v is not None}
    return cls(**given)
