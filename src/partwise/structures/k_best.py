"""Several best outputs of packed problems, for `KBest`."""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

import numpy as np

from partwise.protocol import (
    CapabilityError,
    Cuts,
    Floats,
    Formulation,
    Ints,
    offsets_of,
)


class BestOutputs(NamedTuple):
    """The best outputs of rows, as kernels write them: k places for each row."""

    indptr: Ints  # (n_rows + 1,) where codes begin, one per row
    code: Ints  # the codes of row r stand end to end from ``indptr[r]·k``
    value: Floats  # (n_rows, k) scores, falling
    n_found: Ints  # (n_rows,) how many outputs there are
    b: Floats  # (n_rows, k) offsets of their planes, where losses count
    scale: Floats  # (n_rows, k)
    violation: Floats  # (n_rows, k)

    @property
    def k(self) -> int:
        """Places of a row."""
        return int(self.value.shape[1])

    def codes(self, r: int) -> Ints:
        """The codes of row r, (n_found, length)."""
        first, last = self.indptr[r] * self.k, self.indptr[r + 1] * self.k
        return self.code[first:last].reshape(self.k, -1)[: self.n_found[r]]


class KBestRows:
    """The k best outputs of a packed problem; mixed into it.

    A subclass finds those of a shard of rows in `fill_best`.
    """

    n_blocks: int
    indptr_of: Callable[[Ints], Ints]
    visit_shards: Callable[..., None]

    def fill_best(
        self, model: Floats, rows: Ints, with_loss: bool, first: int, last: int,
        work: Any, best: BestOutputs,
    ) -> None:  # fmt: skip
        """Write the best outputs of rows [first, last), and planes with losses."""
        raise NotImplementedError

    def best_outputs(
        self, model: Floats, rows: Ints, k: int, *, with_loss: bool
    ) -> BestOutputs:
        """The k outputs of highest score, or of highest score plus loss."""
        indptr = self.indptr_of(rows)
        code = np.zeros(indptr[-1] * k, np.int32)
        value = np.full((len(rows), k), -np.inf)
        n_found = np.zeros(len(rows), np.int64)
        b, scale, violation = (np.zeros((len(rows), k)) for _ in range(3))
        best = BestOutputs(indptr, code, value, n_found, b, scale, violation)

        def visit(work: Any, first: int, last: int) -> None:
            self.fill_best(model, rows, with_loss, first, last, work, best)

        self.visit_shards(len(rows), visit)
        return best

    def k_best_codes(self, model: Floats, k: int) -> list[list[tuple[Ints, float]]]:
        """The codes of the k outputs of highest score with their scores."""
        rows = np.arange(self.n_blocks)
        best = self.best_outputs(model, rows, k, with_loss=False)
        return [
            list(zip(best.codes(r), best.value[r].tolist(), strict=False))
            for r in range(self.n_blocks)
        ]

    def k_best(self, model: Floats, k: int) -> list[list[tuple[Any, float]]]:
        """The k outputs of highest score with their scores, here codes."""
        return self.k_best_codes(model, k)


class KBestCuts(KBestRows):
    """The k most violated planes as well."""

    formulation: Formulation

    def k_cuts(self, model: Floats, rows: Ints, k: int) -> Cuts:
        """The k most violated planes of each row, by loss-augmented k-best."""
        if not self.formulation.is_additive:
            raise CapabilityError(
                "k > 1 needs <formulation='margin'> and <penalty='l1'>"
            )
        rows = np.asarray(rows, np.int64)
        best = self.best_outputs(model, rows, k, with_loss=True)
        n_found = best.n_found
        is_output = np.arange(k)[None, :] < n_found[:, None]
        codes = [best.codes(r).ravel() for r in range(len(rows))]
        lengths = np.repeat(np.diff(best.indptr), n_found)
        b, scale, violation = (table[is_output] for table in best[-3:])
        top = np.maximum.reduceat(violation, np.cumsum(n_found) - n_found)
        return Cuts(
            np.repeat(rows, n_found), b, scale, violation, np.repeat(top, n_found),
            offsets_of(lengths),
            np.concatenate(codes).astype(np.int32),
        )  # fmt: skip


def k_best_by_partition(
    k: int,
    everything: Any,
    best_of: Callable[[Any], tuple[Any, float] | None],
    divide: Callable[[Any, Any], Iterable[Any]],
) -> list[tuple[Any, float]]:
    """
    The k outputs of highest score with their scores, by many searches for a best one.

    The outputs besides the best one are divided into sets, of which each has a best
    output; the best of these is next, and its set is divided in turn (Murty 1968,
    Lawler 1972).

    Parameters
    ----------
    k : int
    everything : object
        What stands for the set of all outputs.
    best_of : callable
        The best output of a set with its score, or None where the set is empty.
    divide : callable
        From a set and its best output, sets that have the other outputs, each in one.
    """
    heap: list[Any] = []
    ranked: list[tuple[Any, float]] = []
    waiting: Iterable[Any] = [everything]
    n_pushed = 0
    while True:
        for space in waiting:
            best = best_of(space)
            if best is not None:
                n_pushed += 1  # of equal outputs the first
                heapq.heappush(heap, (-best[1], n_pushed, best[0], space))
        if not heap or len(ranked) == k:
            return ranked
        negative, _, output, space = heapq.heappop(heap)
        ranked.append((output, -negative))
        waiting = divide(space, output) if len(ranked) < k else []
