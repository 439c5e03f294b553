"""Generative baselines: counts instead of optimisation.

The papers compare with an HMM (tags), a PCFG (trees) and log-odds (alignments). Each
structure estimates its own; this solver only calls it, so that the baselines run
through the same estimators, files and reports as the rest.
"""

from partwise import protocol
from partwise.protocol import Objective, Problem, Solver, Start, State


class Generative(Solver):
    """Laplace estimates of the structure's generative model; one step, no bound."""

    needs = (protocol.Generative,)
    penalties = ("l1", "l2", "hard", "log")

    def __init__(self, smoothing: float = 1.0) -> None:
        self.smoothing = smoothing
        self.tol, self.eps, self.max_iter, self.time_limit = 1e-3, None, 1, None

    def begin(self, problem: Problem, objective: Objective, start: Start) -> State:
        """The zero model."""
        return State(model=problem.zero())

    def step(self, problem: Problem, objective: Objective, state: State) -> None:
        """Ask the structure for its estimates."""
        assert isinstance(problem, protocol.Generative)
        state.model = problem.generative_model(self.smoothing)
        state.stopped = "estimated"


class RelativeFrequencies(Generative):
    """Maximum likelihood: relative frequencies, unless `smoothing` is given."""

    def __init__(self, smoothing: float = 0.0) -> None:
        super().__init__(smoothing)
