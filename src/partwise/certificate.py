"""What is known about a fitted model, recomputed from data by one pass."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from partwise.objective import Objective
from partwise.protocol import Latent, Likelihood, Model, Problem, offers
from partwise.state import relative


@dataclass(frozen=True)
class Certificate:
    """What is known about a fitted model, and how.

    One pass over the data after training gives ``at_least`` ≤ P(w) ≤ ``at_most``: the
    objective of this model by the violations that the search found, and by the bounds
    that it returned (None without one). An exact search has both equal. ``dual`` is
    a lower bound on the optimum by the solver's own α (None without one). Because the
    objective is 1-strongly convex, at_least − ``data_bound``, with data_bound = ½‖g‖²
    for a subgradient g of the planes found, is another, from the data alone,
    whatever trained the model.

    When the search returns outputs of a relaxation (``is_relaxed``), all of this is
    said of the relaxed problem, whose optimum is at least that of the true one.

    When truths have hidden parts (``is_local``), all of this is said of the convex
    problem with these parts as the model completes them; other completions may have a
    smaller objective.
    """

    at_least: float
    at_most: float | None
    dual: float | None = None
    data_bound: float | None = None
    oracle_calls: int = 0
    exact_oracle: bool = True
    stopped: str = ""  # why: "converged", "time limit", "estimated" (from counts), …
    penalty: str = "l1"
    note: str = ""
    is_relaxed: bool = False
    n_planes: int | None = None  # constraints added while training
    is_local: bool = False

    @property
    def primal(self) -> float:
        """The upper bound of the objective; where there is none, the lower bound."""
        return self.at_least if self.at_most is None else self.at_most

    @property
    def search(self) -> str:
        """How the last pass searched: "exact", "bounded" or "heuristic"."""
        if self.exact_oracle:
            return "exact"
        return "heuristic" if self.at_most is None else "bounded"

    @property
    def is_generative(self) -> bool:
        """Whether weights were estimated from counts, and nothing was minimised."""
        return self.stopped == "estimated"

    @property
    def lower(self) -> float:
        """The best known lower bound on the optimum."""
        bounds = [0.0]  # no term of the objective is negative
        if self.dual is not None:
            bounds.append(self.dual)
        if self.data_bound is not None:
            bounds.append(self.at_least - self.data_bound)
        return max(bounds)

    @property
    def gap(self) -> float | None:
        """`at_most` minus the best lower bound.

        None when the search has no bound, or a hard margin is not reached.
        """
        if self.at_most is None or self.at_most == np.inf:
            return None
        return max(self.at_most - self.lower, 0.0)

    @property
    def relative_gap(self) -> float | None:
        """Gap divided by the primal: no other weights lower the objective by more."""
        if self.gap is None or self.at_most is None:
            return None
        return max(relative(self.at_most, self.lower), 0.0)

    def statements(self) -> list[str]:
        """What holds, in words, for people who read the figures."""
        problem = "the relaxed problem" if self.is_relaxed else "the training problem"
        if self.is_local:
            problem += " with these completions of its hidden parts"
        statements = []
        if self.search == "exact":
            statements.append("the search was exact: the objective is known")
        elif self.search == "bounded":
            statements.append(
                f"the search was not exact: the objective is at least "
                f"{self.at_least:.6g} and at most {self.at_most:.6g}"
            )
        else:
            statements.append(
                "the search was a heuristic without a bound: the objective is at least "
                f"{self.at_least:.6g}, and there is no gap"
            )
        statements.append(f"the optimum of {problem} is at least {self.lower:.6g}")
        if self.is_relaxed:
            statements.append("the optimum of the true problem may be lower")
        if self.is_local:
            statements.append("the optimum is local: other completions may do better")
        if self.stopped == "search exhausted":
            statements.append("training ended because the search found nothing more")
        return statements

    def _repr_html_(self) -> str:
        from partwise.report.notebook import certificate_html

        return certificate_html(self)

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON, derived ones included."""
        names = (
            "primal", "dual", "gap", "relative_gap", "data_bound", "oracle_calls",
            "exact_oracle", "search", "at_least", "at_most", "is_relaxed", "is_local",
            "n_planes", "stopped", "penalty", "note",
        )  # fmt: skip
        return {name: getattr(self, name) for name in names}

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> Certificate:
        """The certificate from what `to_dict` gave, now or in an earlier version."""
        known = dict(values)
        if "at_least" not in known:  # files written before bounds were stated
            known["at_least"] = known["primal"]
            known["at_most"] = known["primal"] if known["exact_oracle"] else None
        given = {k: known[k] for k in cls.__dataclass_fields__ if k in known}
        return cls(**given)


def certify(
    problem: Problem,
    objective: Objective,
    model: Model,
    *,
    dual: float | None = None,
    oracle_calls: int = 0,
    stopped: str = "",
    note: str = "",
    n_planes: int | None = None,
) -> Certificate:
    """Recompute the objective of `model` by one pass, and its data-only bound.

    Nothing of the solver's own passes is reused: the figures are those of the model
    that is handed out, whatever happened to it since its last evaluation.

    For planes, g = w − Σ_i (∂ slack term_i) a_i is a subgradient at w of the objective
    over the planes found, F_found ≤ F; so P* ≥ P_found(w) − ½‖g‖² (strong convexity),
    whether the search was exact or not. For ``penalty="log"`` g is the gradient. A hard
    margin has no subgradient to offer: its bound is the dual alone.
    """
    oracle_calls += problem.n_blocks
    if objective.penalty == "log":
        value, gradient = log_loss(problem, objective, model)
        return Certificate(
            value, value, dual, 0.5 * problem.dot(gradient, gradient), oracle_calls,
            stopped=stopped, penalty="log", note=note,
            is_local=offers(problem, Latent),
        )  # fmt: skip
    cuts = problem.oracle(model)
    square = problem.dot(model, model)
    if not problem.is_euclidean and square < -1e-9 * float(np.sum(np.square(model))):
        raise ValueError(
            f"‖w‖² is {square:.3g} through the kernel, which therefore is not positive "
            "semidefinite, and no bound holds; use another kernel"
        )
    bound = None
    if objective.penalty != "hard":
        slope = objective.slope(cuts.violation)
        residual = problem.combine(cuts, slope)
        np.subtract(model, residual, out=residual)
        bound = 0.5 * problem.dot(residual, residual)
    at_least = objective.primal(square, cuts.violation)
    is_known = bool(np.all(cuts.bound < np.inf))
    at_most = objective.primal(square, cuts.bound) if is_known else None
    if at_most == np.inf and not note:
        left = int(np.sum(cuts.violation > 0))
        note = (
            f"{left} of {problem.n_blocks} examples are not separated by the margin: "
            "train longer, use solver n_slack, which names examples that conflict, or "
            "a soft margin"
        )
    return Certificate(
        at_least=at_least,
        at_most=at_most,
        # bounds are sums of rounded numbers: the model itself proves no dual above it
        dual=dual if dual is None or at_most is None else min(dual, at_most),
        data_bound=bound,
        oracle_calls=oracle_calls,
        exact_oracle=cuts.is_exact,
        stopped=stopped,
        penalty=objective.penalty,
        note=note,
        is_relaxed=problem.is_relaxed,
        n_planes=n_planes,
        is_local=offers(problem, Latent),
    )


def log_loss(
    problem: Problem, objective: Objective, model: Model
) -> tuple[float, Model]:
    """½‖w‖² + Σ c_i (log Z_i − <w, φ(y_i)>) and its gradient."""
    from partwise.threads import add  # here, because it loads numba

    assert isinstance(problem, Likelihood)
    loss, expected_minus_truth = problem.log_likelihood(model, objective.weight)
    value = 0.5 * problem.dot(model, model) + float(np.sum(objective.weight * loss))
    return value, add(
        problem.n_jobs, model, 1.0, expected_minus_truth, expected_minus_truth
    )
