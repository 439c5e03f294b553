"""Problems whose parts are scored through keys and a kernel.

Decoders, blocks and sweeps are those of every structure with a `Scorer`. Only the space
differs: a model begins with coefficients of slots and the scores that follow from them,
the inner product of these goes through the kernel, and what comes behind them (the
transitions of a chain) is Euclidean.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from partwise.protocol import CapabilityError, Cuts, Floats
from partwise.scorers.kernel import KernelScorer, coefficients_only
from partwise.structures._packed_compiled import combine
from partwise.structures.packed import PackedProblem
from partwise.threads import dot

NOTHING = 1e-13  # of the largest: what rounding leaves of a sum that is zero


class KernelSpace:
    """The space of kernel models, mixed into a problem with a `KernelScorer`."""

    scorer: KernelScorer
    blocks: Any
    n_jobs: int
    n_weights: int
    n_tail: int
    zero: Callable[[], Floats]
    compact_tail: Callable[[Floats], Floats]
    expand_tail: Callable[[Floats, Floats], None]

    def measure_space(self) -> None:
        """Set the places of scores and of weights of transitions in a model."""
        self.n_slots = self.blocks.rows.postings.n_slots
        self.tail = self.n_weights - self.n_tail  # where transitions begin

    def compact(self, model: Floats) -> Floats:
        """The coefficients of all slots, then what is behind them."""
        return np.append(model[: self.n_slots], self.compact_tail(model))

    def expand(self, weights: Floats) -> Floats:
        """The model of these coefficients; for new inputs those of an index."""
        model = self.zero()
        at = len(weights) - len(self.compact_tail(model))
        self.scorer.fill(self.blocks.rows, weights[:at], model, self.n_jobs)
        self.expand_tail(weights[at:], model)
        return model

    def log_likelihood(self, model: Floats, weight: Floats) -> tuple[Floats, Floats]:
        """Refuse: a gradient of the log loss has a coefficient in every slot."""
        raise CapabilityError(
            "<loss='log'> has no kernel form here; use a margin, or an explicit "
            "approximation of the kernel (Nystroem, random Fourier features)"
        )

    def dot(self, one: Floats, other: Floats) -> float:
        """<one, other>: Σ_s β[s]·v'[s], and the plain product of the rest."""
        n, tail = self.n_slots, self.tail
        parts = dot(self.n_jobs, one[:n], other[n : 2 * n])
        return parts + dot(self.n_jobs, one[tail:], other[tail:])

    def coefficients(self, model: Floats) -> Floats:
        """The numbers that determine a model, mostly zero, (n_slots + n_tail,)."""
        return np.concatenate([model[: self.n_slots], model[self.tail :]])

    def values(self, model: Floats) -> Floats:
        """Their plain product with another model's coefficients is `dot`."""
        scores = model[self.n_slots : 2 * self.n_slots]
        return np.concatenate([scores, model[self.tail :]])

    def with_scores(self, coefficients: Floats) -> Floats:
        """The model that has these coefficients."""
        model = self.zero()
        model[: self.n_slots] = coefficients[: self.n_slots]
        model[self.tail :] = coefficients[self.n_slots :]
        self.scorer.complete(self.blocks.rows, model, self.n_jobs)
        return model

    def settle(self, model: Floats) -> Floats:
        """The same model from its coefficients alone.

        Scores carry the rounding of training, and coefficients that cancelled are not
        quite zero. They are compared by β·√k(a, a), the length of a slot's part of the
        model, because a small coefficient of an anchor with large values matters.
        """
        postings = self.blocks.rows.postings
        gram = postings.gram
        square = gram[:, 0] if gram.shape[1] == 1 else np.diagonal(gram)
        length = np.sqrt(np.maximum(square, 0.0)).astype(np.float64)
        size = np.abs(model[: self.n_slots]) * length[postings.anchor]
        sparse = self.coefficients(model)
        if len(size):
            sparse[: self.n_slots][size <= NOTHING * size.max()] = 0.0
        return self.with_scores(sparse)


class KernelProblem(KernelSpace, PackedProblem):
    """A packed problem over kernel models; `with_kernel` makes one of any kind."""

    def __init__(self, *args: Any, **named: Any) -> None:
        super().__init__(*args, **named)
        self.measure_space()
        self._sparse = self.blocks.replace(rows=coefficients_only(self.blocks.rows))

    def combine(self, cuts: Cuts, alpha: Floats) -> Floats:
        """Σ α a: coefficients in row order, then all scores at once."""
        model = self.zero()
        coef = cuts.scale * alpha
        work = self.borrow_work()
        combine(self._sparse, work, model, cuts.block, coef, cuts.indptr, cuts.code)
        self.return_work(work)
        self.scorer.complete(self.blocks.rows, model, self.n_jobs)
        return model


def with_kernel(kind: Any, scorer: Any) -> Any:
    """The class `kind` of problems, over kernel models if the scorer has a kernel."""
    return kind if scorer.is_euclidean else _kernel_class(kind)


@functools.cache
def _kernel_class(kind: type) -> type:
    return type(f"Kernel{kind.__name__}", (KernelProblem, kind), {})
