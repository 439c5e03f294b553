"""Solvers: an algorithm, or a family of them, per file, named as in its paper."""

from __future__ import annotations

import inspect
from importlib import import_module
from typing import Any, NamedTuple

from partwise.parameters import ParameterError, SettingsError, check_choice
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
    check_choice("solver", name, SOLVERS)
    module, attribute = SOLVERS[name]
    return getattr(import_module(f"partwise.solvers.{module}"), attribute)


class Abilities(NamedTuple):
    """What an output offers to solvers.

    Parameters
    ----------
    baselines : tuple of str
        Solvers that estimate the generative model of its structure.
    has_hidden_parts : bool
        Whether its truths may have hidden parts, which rounds complete.
    can_vote : bool
        Whether it predicts by votes of several models.
    """

    baselines: tuple[str, ...] = ()
    has_hidden_parts: bool = False
    can_vote: bool = False

    def objection(self, name: str) -> str:
        """Why a solver cannot train this output, with any penalty; empty if it can."""
        cls = solver_class(name)
        if is_generative(name) and name not in self.baselines:
            if not self.baselines:
                return "this output has no generative model"
            return f"the generative model of this output is {self.baselines[0]!r}"
        if has_rounds(name) and not self.has_hidden_parts:
            return "it completes hidden parts of truths, which this output has not"
        if cls.is_voting and not self.can_vote:
            return VOTES
        return ""

    def solvers(self, penalty: str) -> list[str]:
        """Names of the solvers for this output and a penalty of `Objective`."""
        return [
            name
            for name in SOLVERS
            if penalty in solver_class(name).penalties and not self.objection(name)
        ]


VOTES = (
    "a vote needs one search per model and input, which this output does not do; use "
    "'perceptron', whose average of the models stands in for their vote"
)


def check_solver(
    name: str, abilities: Abilities, penalty: str, cause: tuple[str, str]
) -> None:
    """Refuse the name of a solver that does not go with an output or its penalty.

    Parameters
    ----------
    name : str
    abilities : Abilities
        Of the output.
    penalty : str
        As `Objective` names it.
    cause : (str, str)
        The parameter that says so and its value, for the message.
    """
    choices = ["auto", *abilities.solvers(penalty)]
    if name in choices:
        return
    if name not in SOLVERS:
        check_choice("solver", name, choices)
    remedy = f"choose from {', '.join(choices)}"
    objection = abilities.objection(name)
    if objection:
        raise ParameterError("solver", name, f"{objection}; {remedy}")
    if solver_class(name).penalties == ("log",):
        raise SettingsError(
            f"<solver={name!r}> trains conditional likelihood alone; add "
            f"<loss='log'>, or {remedy}"
        )
    raise SettingsError(
        f"<solver={name!r}> does not go with <{cause[0]}={cause[1]!r}>; {remedy}"
    )


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
