"""Dependency trees scored through keys and a kernel, as a `Problem`.

Decoders, blocks and sweeps are those of every arborescence. Only the space differs: a
model holds coefficients and, beside them, the scores that follow from them, and the
inner product goes through the kernel.
"""

from __future__ import annotations

from typing import Any

from partwise.objective import Formulation
from partwise.protocol import CapabilityError, Cuts, Floats
from partwise.structures._arborescence_kernels import ArcBlocks
from partwise.structures.arborescence_problem import ArborescenceProblem
from partwise.structures.packed import _combine


class AtomicProblem(ArborescenceProblem):
    """Packed sentences with an `AtomicScorer`."""

    def __init__(
        self,
        structure: Any,
        blocks: ArcBlocks,
        formulation: Formulation,
        n_jobs: int,
        scorer: Any,
    ) -> None:
        super().__init__(structure, blocks, formulation, n_jobs, scorer)
        self.n_slots = self.n_weights // 2
        self._sparse = blocks._replace(rows=scorer.coefficients_only(blocks.rows))

    def dot(self, one: Floats, other: Floats) -> float:
        """<one, other> through the kernel."""
        return float(self.scorer.dot(self.blocks.rows, one, other))

    def coefficients(self, model: Floats) -> Floats:
        """What determines a model, (n_slots,); mostly zero."""
        return model[: self.n_slots]

    def values(self, model: Floats) -> Floats:
        """What coefficients are multiplied with to give `dot`, (n_slots,)."""
        return model[self.n_slots :]

    def with_scores(self, coefficients: Floats) -> Floats:
        """The model that has these coefficients."""
        model = self.zero()
        self.scorer.fill(self.blocks.rows, coefficients, model, self.n_jobs)
        return model

    def compact(self, model: Floats) -> Floats:
        """The coefficients."""
        return self.coefficients(model)

    def expand(self, weights: Floats) -> Floats:
        """The model of these coefficients; for new sentences those of an index."""
        return self.with_scores(weights)

    def combine(self, cuts: Cuts, alpha: Floats) -> Floats:
        """Σ α a: coefficients in row order, then all scores at once."""
        model = self.zero()
        coef = cuts.scale * alpha
        _combine(self._sparse, model, cuts.block, coef, cuts.indptr, cuts.code)
        self.scorer.complete(self.blocks.rows, model, self.n_jobs)
        return model

    def log_likelihood(self, model: Floats, weight: Floats) -> tuple[Floats, Floats]:
        """Refuse: a gradient of the log loss has a coefficient in every slot."""
        raise CapabilityError(
            "loss='log' has no kernel form here; use a margin, or explicit features"
        )
