"""A `Problem` on arrays: any tag with the operations of `compiled.py`.

Rows are handled in shards of fixed size by a pool of threads over nogil kernels. Each
row writes its own results and sums are taken in row order by one thread, so the bits
are the same for every `n_jobs`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from partwise.compiled import (
    code_length,
    find_output,
    margin,
    output_loss,
    push,
    sweep_of,
)
from partwise.protocol import Cuts, Floats, Formulation, Ints, Problem
from partwise.threads import add_scaled, dot, run_sharded


@sweep_of
def _find_rows(blocks, work, w, rows, first, last, b, scale, violation, indptr, code):
    for r in range(first, last):
        i = rows[r]
        out = code[indptr[r] : indptr[r + 1]]
        b[r], scale[r], violation[r] = find_output(blocks, work, w, i, out)


@sweep_of
def _losses(blocks, block, indptr, code, out):
    for r in range(block.shape[0]):
        out[r] = output_loss(blocks, block[r], code[indptr[r] : indptr[r + 1]])


@sweep_of
def _margins(blocks, w, block, scale, indptr, code, first, last, out):
    for r in range(first, last):
        here = code[indptr[r] : indptr[r + 1]]
        out[r] = scale[r] * margin(blocks, w, block[r], here)


@sweep_of
def _combine(blocks, w, block, coef, indptr, code):
    for r in range(block.shape[0]):
        if coef[r] != 0.0:
            push(blocks, w, block[r], code[indptr[r] : indptr[r + 1]], coef[r])


@sweep_of
def _code_lengths(blocks, rows, out):
    for r in range(rows.shape[0]):
        out[r] = code_length(blocks, rows[r])


class PackedProblem(Problem):
    """Problem over a tag of arrays.

    Parameters
    ----------
    blocks : NamedTuple
        Packed data with the operations of `compiled.py`.
    plain_blocks : NamedTuple
        The same without losses: its most violated output is the prediction.
    local_blocks : NamedTuple
        The same with coordinates of the model numbered block by block, so that inner
        products of planes of one block need only a small, cached vector.
    n_blocks, n_weights, n_local : int
        Number of blocks, length of a model, and of a model over local coordinates.
    formulation : Formulation
    new_work : callable
        Makes the buffers of one thread.
    n_jobs : int
    """

    def __init__(
        self,
        blocks: Any,
        plain_blocks: Any,
        local_blocks: Any,
        *,
        n_blocks: int,
        n_weights: int,
        n_local: int,
        formulation: Formulation,
        new_work: Callable[[], Any],
        n_jobs: int = 1,
    ) -> None:
        self.blocks = blocks
        self.plain_blocks = plain_blocks
        self.local_blocks = local_blocks
        self.n_blocks = n_blocks
        self.n_weights = n_weights
        self.n_local = n_local
        self.formulation = formulation
        self.new_work = new_work
        self.n_jobs = n_jobs
        self._idle: list[Any] = []  # buffers not in use; list methods are atomic

    def borrow_work(self) -> Any:
        """Buffers for one thread; give them back with `return_work`."""
        return self._idle.pop() if self._idle else self.new_work()

    def return_work(self, work: Any) -> None:
        """Keep buffers for the next borrower."""
        self._idle.append(work)

    def zero(self) -> Floats:
        """The zero model, shape (n_weights,), beginning at a cache line."""
        room = np.zeros(self.n_weights + 7)
        skip = -room.ctypes.data % 64 // room.itemsize
        return room[skip : skip + self.n_weights]

    def local_zero(self) -> Floats:
        """The zero model over local coordinates, shape (n_local,)."""
        return np.zeros(self.n_local)

    def dot(self, one: Floats, other: Floats) -> float:
        """<one, other>."""
        return dot(self.n_jobs, one, other)

    def oracle(self, model: Floats, rows: Ints | None = None, *, k: int = 1) -> Cuts:
        """Most violated output of each row (see `Problem`)."""
        return self._search(self.blocks, model, rows)

    def predict_codes(self, model: Floats, rows: Ints | None = None) -> Cuts:
        """Outputs of highest score; `b` holds their loss."""
        cuts = self._search(self.plain_blocks, model, rows)
        _losses(self.blocks, cuts.block, cuts.indptr, cuts.code, cuts.b)
        return cuts

    def _search(self, blocks: Any, model: Floats, rows: Ints | None) -> Cuts:
        rows = np.arange(self.n_blocks) if rows is None else np.asarray(rows, np.int64)
        m = len(rows)
        indptr = self.indptr_of(rows)
        cuts = Cuts(
            rows, np.empty(m), np.empty(m), np.empty(m), np.empty(0), indptr,
            np.empty(indptr[-1], np.int32),
        )  # fmt: skip

        def work_on(first: int, last: int) -> None:
            work = self.borrow_work()
            _find_rows(
                blocks, work, model, rows, first, last, cuts.b, cuts.scale,
                cuts.violation, indptr, cuts.code,
            )  # fmt: skip
            self.return_work(work)

        run_sharded(self.n_jobs, m, work_on)
        return cuts._replace(bound=cuts.violation)

    def indptr_of(self, rows: Ints) -> Ints:
        """Where the codes of these rows begin when laid end to end."""
        indptr = np.zeros(len(rows) + 1, np.int64)
        _code_lengths(self.blocks, rows, indptr[1:])
        return np.cumsum(indptr)

    def margins(self, model: Floats, cuts: Cuts) -> Floats:
        """<model, a> of each cut."""
        out = np.empty(len(cuts.block))

        def work_on(first: int, last: int) -> None:
            _margins(
                self.blocks, model, cuts.block, cuts.scale, cuts.indptr, cuts.code,
                first, last, out,
            )  # fmt: skip

        run_sharded(self.n_jobs, len(out), work_on)
        return out

    def combine(self, cuts: Cuts, alpha: Floats) -> Floats:
        """Σ α a: two halves of the rows, each summed in row order, then added.

        Always two, whatever `n_jobs`, so that the bits are the same.
        """
        coef = cuts.scale * alpha
        half = max(1, -(-len(coef) // 2))
        models = [self.zero() for _ in range(0, len(coef), half)] or [self.zero()]

        def work_on(first: int, last: int) -> None:
            _combine(
                self.blocks, models[first // half], cuts.block[first:last],
                coef[first:last], cuts.indptr[first : last + 1], cuts.code,
            )  # fmt: skip

        run_sharded(self.n_jobs, len(coef), work_on, shard=half)
        if len(models) == 2:
            add_scaled(self.n_jobs, models[0], 1.0, models[1])
        return models[0]


def flatten_cuts(
    rows: Ints, indptr: Ints, code: Ints, found: Ints, *planes: Floats
) -> Cuts:
    """Cuts of the outputs found, row by row, from tables with k places per row."""
    k = planes[0].shape[1]
    keep = np.arange(k)[None, :] < found[:, None]
    length = np.diff(indptr)
    flat = [
        code[indptr[r] * k : indptr[r + 1] * k].reshape(k, -1)[keep[r]].ravel()
        for r in range(len(rows))
    ]
    starts = np.concatenate([[0], np.cumsum(np.repeat(length, found))])
    b, scale, violation = (plane[keep] for plane in planes)
    block = np.repeat(rows, found)
    top = np.maximum.reduceat(violation, np.cumsum(found) - found)
    return Cuts(
        block, b, scale, violation, np.repeat(top, found), starts.astype(np.int64),
        np.concatenate(flat).astype(np.int32),
    )  # fmt: skip
