"""What is known about a fitted model, recomputed from data by one pass."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from partwise.objective import Objective
from partwise.protocol import Model, Problem


@dataclass(frozen=True)
class Certificate:
    """What is known about a fitted model, and how.

    ``primal`` was computed by one pass over the data after training. ``dual`` is a
    lower bound on the optimum by the solver's own α (None without one). Because the
    objective is 1-strongly convex, ``data_bound`` = ½‖g‖² for a subgradient g bounds
    ``primal`` − optimum from the data alone, whoever trained the model.
    """

    primal: float
    dual: float | None
    data_bound: float | None
    oracle_calls: int
    exact_oracle: bool
    stopped: str
    penalty: str
    note: str = ""

    @property
    def lower(self) -> float | None:
        """The best known lower bound on the optimum."""
        if not self.exact_oracle:
            return self.dual
        bounds = [0.0]  # no term of the objective is negative
        if self.dual is not None:
            bounds.append(self.dual)
        if self.data_bound is not None:
            bounds.append(self.primal - self.data_bound)
        return max(bounds)

    @property
    def gap(self) -> float | None:
        """Primal minus the best lower bound.

        None when the oracle is inexact, or a hard margin is not reached.
        """
        if not self.exact_oracle or self.lower is None or self.primal == np.inf:
            return None
        return max(self.primal - self.lower, 0.0)

    @property
    def relative_gap(self) -> float | None:
        """Gap divided by the primal."""
        if self.gap is None:
            return None
        return self.gap / abs(self.primal) if self.primal else self.gap

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON, derived ones included."""
        names = ("primal", "dual", "gap", "relative_gap", "data_bound", "oracle_calls")
        more = ("exact_oracle", "stopped", "penalty", "note")
        return {name: getattr(self, name) for name in names + more}

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> Certificate:
        """The certificate that `to_dict` told of."""
        return cls(**{name: values[name] for name in cls.__dataclass_fields__})


def certify(
    problem: Problem,
    objective: Objective,
    model: Model,
    *,
    dual: float | None = None,
    oracle_calls: int = 0,
    stopped: str = "",
    note: str = "",
) -> Certificate:
    """Recompute the primal of `model` by one pass, and its data-only bound.

    For planes, g = w − Σ_i (∂ slack term_i) a_i is a subgradient at w; for
    ``penalty="log"`` it is the gradient. P(w) − P* ≤ ½‖g‖² (strong convexity). A hard
    margin has no subgradient to offer: its bound is the dual alone.
    """
    if objective.penalty == "log":
        value, gradient = log_loss(problem, objective, model)
        return Certificate(
            primal=value,
            dual=dual,
            data_bound=0.5 * problem.dot(gradient, gradient),
            oracle_calls=oracle_calls + problem.n_blocks,
            exact_oracle=True,
            stopped=stopped,
            penalty="log",
            note=note,
        )
    cuts = problem.oracle(model)
    square = problem.dot(model, model)
    if not problem.is_euclidean and square < -1e-9 * float(np.sum(np.square(model))):
        raise ValueError(
            f"‖w‖² is {square:.3g} through the kernel, which therefore is not positive "
            "semidefinite, and no bound holds; use another kernel"
        )
    bound = None
    if objective.penalty != "hard" and problem.exact_oracle:
        slope = objective.slope(cuts.violation)
        residual = model - problem.combine(cuts, slope)
        bound = 0.5 * problem.dot(residual, residual)
    primal = objective.primal(square, cuts.bound)
    if primal == np.inf and not note:
        left = int(np.sum(cuts.violation > 0))
        note = (
            f"{left} of {problem.n_blocks} examples are not separated by the margin: "
            "train longer, use solver n_slack, which names examples that conflict, or "
            "a soft margin"
        )
    return Certificate(
        primal=primal,
        dual=dual,
        data_bound=bound,
        oracle_calls=oracle_calls + problem.n_blocks,
        exact_oracle=problem.exact_oracle,
        stopped=stopped,
        penalty=objective.penalty,
        note=note,
    )


def log_loss(problem: Any, objective: Objective, model: Model) -> tuple[float, Model]:
    """½‖w‖² + Σ c_i (log Z_i − <w, φ(y_i)>) and its gradient."""
    from partwise.threads import add  # here, because it loads numba

    loss, expected_minus_truth = problem.log_likelihood(model, objective.weight)
    value = 0.5 * problem.dot(model, model) + float(np.sum(objective.weight * loss))
    n_jobs = getattr(problem, "n_jobs", 1)
    return value, add(n_jobs, model, 1.0, expected_minus_truth, expected_minus_truth)
