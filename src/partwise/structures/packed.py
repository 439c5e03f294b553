"""A `Problem` on arrays: any tag with the operations of `partwise.compiled`.

Rows are handled in shards of fixed size by a pool of threads over nogil kernels. Each
row writes its own results and sums are taken in row order by one thread, so the bits
are the same for every `n_jobs`.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from partwise.compiled import Reference, as_reference, plain_array
from partwise.protocol import CapabilityError, Cuts, Floats, Formulation, Ints, Problem
from partwise.scorers.linear import DenseRows
from partwise.structures import _packed_compiled as kernels
from partwise.threads import add_scaled, dot, run_sharded, shards_by_effort

SMALL_PLANES = 0.1  # integers of codes per weight of a model


class PackedProblem(Problem):
    """Problem over a tag of arrays.

    Parameters
    ----------
    blocks : NamedTuple
        Packed data with the operations of `partwise.compiled`.
    plain_blocks : NamedTuple
        The same without losses: its most violated output is the prediction.
    localise : callable
        Makes the same blocks with coordinates of the model numbered block by block, so
        that inner products of planes of one block need only a small, cached vector;
        and the length of a model over them. Called when a pool first needs it:
        prediction does without.
    n_blocks, n_weights : int
        Number of blocks, length of a model.
    formulation : Formulation
    new_work : callable
        Makes the buffers of one thread.
    n_jobs : int
    """

    def __init__(
        self,
        blocks: Any,
        plain_blocks: Any,
        localise: Callable[[], tuple[Any, int]],
        *,
        n_blocks: int,
        n_weights: int,
        formulation: Formulation,
        new_work: Callable[[], Any],
        n_jobs: int = 1,
    ) -> None:
        self.blocks: Any = Reference(blocks)
        self.plain_blocks: Any = Reference(plain_blocks)
        self.localise = localise
        self.n_blocks = n_blocks
        self.n_weights = n_weights
        self.formulation = formulation
        self.new_work = new_work
        self.n_jobs = n_jobs
        self._effort: Floats | None = None
        # memory not in use; list methods are atomic, and solvers may share a problem
        self._free_work: list[Any] = []
        self._free_models: list[Floats] = []

    @cached_property
    def _local(self) -> tuple[Any, int]:
        blocks, size = self.localise()
        return as_reference(blocks), size

    @property
    def local_blocks(self) -> Any:
        """The blocks over local coordinates."""
        return self._local[0]

    def borrow_work(self) -> Any:
        """Buffers for one thread; give them back with `return_work`."""
        try:
            return self._free_work.pop()
        except IndexError:
            return as_reference(self.new_work())

    def return_work(self, work: Any) -> None:
        """Keep buffers for the next borrower."""
        self._free_work.append(work)

    def zero(self) -> Floats:
        """The zero model, shape (n_weights,), beginning at a cache line.

        In memory that was used before if there is some: the first use of new memory
        takes 0.25 s for the 120 MB of a parser's model, to which 12,000 planes are
        added in 0.1 s.
        """
        try:
            model = self._free_models.pop()
        except IndexError:
            return aligned_zeros(self.n_weights)
        model.fill(0.0)
        return model

    def recycle(self, model: Floats) -> None:
        """Keep the memory for the next zero model."""
        self._free_models.append(model)

    def local_zero(self) -> Floats:
        """The zero model over local coordinates."""
        return aligned_zeros(self._local[1])

    def dot(self, one: Floats, other: Floats) -> float:
        """<one, other>."""
        return dot(self.n_jobs, one, other)

    def oracle(self, model: Floats, rows: Ints | None = None) -> Cuts:
        """Most violated output of each row (see `Problem`)."""
        return self._search(self.blocks, model, rows)

    def predict_codes(self, model: Floats, rows: Ints | None = None) -> Cuts:
        """Outputs of highest score; `b` holds their loss."""
        cuts = self._search(self.plain_blocks, model, rows)
        kernels.losses(self.blocks, cuts.block, cuts.indptr, cuts.code, cuts.b)
        return cuts

    def _search(self, blocks: Any, model: Floats, rows: Ints | None) -> Cuts:
        rows = np.arange(self.n_blocks) if rows is None else np.asarray(rows, np.int64)
        m = len(rows)
        indptr = self.indptr_of(rows)
        cuts = Cuts(
            rows, np.empty(m), np.empty(m), np.empty(m), np.empty(m), indptr,
            np.empty(indptr[-1], np.int32),
        )  # fmt: skip

        def work_on(first: int, last: int) -> None:
            work = self.borrow_work()
            kernels.find_rows(
                blocks, work, model, rows, first, last, cuts.b, cuts.scale,
                cuts.violation, cuts.bound, indptr, cuts.code,
            )  # fmt: skip
            self.return_work(work)

        if self._effort is None:
            self._effort = self.effort()
        shards = shards_by_effort(self._effort[rows])
        run_sharded(self.n_jobs, m, work_on, shards)
        return cuts

    def digest(self) -> bytes:
        """Of all arrays of the data, the formulation, and the length of a model."""
        digest = hashlib.blake2b(repr((self.formulation, self.n_weights)).encode())
        _digest_arrays(self.blocks, digest)
        return digest.digest()

    def adopt(self, cuts: Cuts, outputs: list[Any] | None) -> Cuts:
        """Codes mean the same; offsets and scales are those of this formulation."""
        loss = np.empty(len(cuts.block))
        kernels.losses(self.blocks, cuts.block, cuts.indptr, cuts.code, loss)
        planes = [self.formulation.plane(value) for value in loss.tolist()]
        b, scale = np.array(planes).reshape(-1, 2).T.copy()
        return cuts._replace(b=b, scale=scale)

    def indptr_of(self, rows: Ints) -> Ints:
        """Where the codes of these rows begin when laid end to end."""
        indptr = np.zeros(len(rows) + 1, np.int64)
        kernels.code_lengths(self.blocks, rows, indptr[1:])
        return np.cumsum(indptr)

    def margins(self, model: Floats, cuts: Cuts) -> Floats:
        """<model, a> of each cut."""
        out = np.empty(len(cuts.block))

        def work_on(first: int, last: int) -> None:
            kernels.margins(
                self.blocks, model, cuts.block, cuts.scale, cuts.indptr, cuts.code,
                first, last, out,
            )  # fmt: skip

        run_sharded(self.n_jobs, len(out), work_on)
        return out

    def combine(self, cuts: Cuts, alpha: Floats) -> Floats:
        """Σ α a: two halves of the rows, each summed in row order, then added.

        One sum where the planes are small beside the model, for which a second model
        would take longer. Whatever `n_jobs`, so that the bits are the same.
        """
        coef = cuts.scale * alpha
        half = max(1, -(-len(coef) // 2))
        if len(cuts.code) < SMALL_PLANES * self.n_weights:
            half = max(1, len(coef))
        models = [self.zero() for _ in range(0, len(coef), half)] or [self.zero()]

        def work_on(first: int, last: int) -> None:
            work = self.borrow_work()
            kernels.combine(
                self.blocks, work, models[first // half], cuts.block[first:last],
                coef[first:last], cuts.indptr[first : last + 1], cuts.code,
            )  # fmt: skip
            self.return_work(work)

        run_sharded(self.n_jobs, len(coef), work_on, shard=half)
        if len(models) == 2:
            add_scaled(self.n_jobs, models[0], 1.0, models[1])
            self.recycle(models[1])
        return models[0]


def decode_tokens(
    problem: PackedProblem, decode_rows: Any, model: Floats, given: Ints | None
) -> tuple[Ints, Floats]:
    """The best code of all tokens, and the score of each block.

    Parameters
    ----------
    problem : PackedProblem
        Its codes have a number for each token.
    decode_rows : compiled function
        Writes codes and scores of some blocks.
    model : array (n_weights,)
    given : int array (n_tokens,) or None
        Numbers that are known; −1 where they are not.
    """
    code = np.zeros(problem.blocks.offset[-1], np.int32)
    value = np.zeros(problem.n_blocks)
    known = plain_array([] if given is None else given, np.int32)

    def work_on(first: int, last: int) -> None:
        work = problem.borrow_work()
        decode_rows(problem.blocks, work, model, known, first, last, code, value)
        problem.return_work(work)

    run_sharded(problem.n_jobs, problem.n_blocks, work_on)
    return code, value


def aligned_zeros(*shape: int, dtype: Any = np.float64) -> Any:
    """Zeros that begin at a cache line, so that vectors do not lie across two."""
    size = math.prod(shape)
    room = np.zeros(size + 15, dtype)
    skip = -room.ctypes.data % 64 // room.itemsize
    return room[skip : skip + size].reshape(shape)


def _digest_arrays(value: Any, into: Any) -> None:
    """Arrays and numbers of nested tags; whole numbers may be addresses."""
    if isinstance(value, np.ndarray):
        into.update(repr((value.dtype.str, value.shape)).encode())
        into.update(np.ascontiguousarray(value).data)
    elif isinstance(value, float):
        into.update(repr(value).encode())
    elif hasattr(value, "_fields"):
        for name in value._fields:
            _digest_arrays(getattr(value, name), into)


def row_digests(rows: Any, number: Any, truths: Any, offset: Ints) -> list[bytes]:
    """
    A digest of each block of rows: its features, as the user numbers them, and truths.

    Parameters
    ----------
    rows : tag of dense or sparse rows
    number : int array (n_features,), or slice
        The place of each feature of the user in `rows`.
    truths : array (n_rows, …)
    offset : int array (n_blocks + 1,)
        Where the rows of blocks begin.
    """
    pieces = [(truths, offset)]
    if isinstance(rows, DenseRows):
        pieces.append((rows.x, offset))
    else:
        plain = np.empty(rows.n_features, np.int32)
        plain[np.arange(rows.n_features)[number]] = np.arange(rows.n_features)
        first = rows.indptr[offset]
        pieces.append((plain[rows.indices], first))
        pieces.append((np.diff(rows.indptr), offset))
        if rows.step:
            pieces.append((rows.data, first))
    return digests(pieces, len(offset) - 1)


def digests(pieces: list[tuple[Any, Ints]], n_blocks: int) -> list[bytes]:
    """A digest of each block: of ``array[first[i]:first[i + 1]]`` of all pieces."""
    views = []
    for array, first in pieces:
        view = np.ascontiguousarray(array).reshape(-1).view(np.uint8).data
        row_bytes = int(array.itemsize * np.prod(array.shape[1:], dtype=np.int64))
        views.append((view, first, row_bytes))
    listed = []
    for i in range(n_blocks):
        digest = hashlib.blake2b(digest_size=12)
        for view, first, size in views:
            digest.update(view[first[i] * size : first[i + 1] * size])
            digest.update(b"|")
        listed.append(digest.digest())
    return listed


# ------------------------------------------------------------------ several outputs


class Ranking(NamedTuple):
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


class Ranker:
    """The k best outputs of a packed problem; mixed into it.

    A subclass writes those of a shard of rows in `rank_rows`.
    """

    n_blocks: int
    n_jobs: int
    indptr_of: Callable[[Ints], Ints]
    borrow_work: Callable[[], Any]
    return_work: Callable[[Any], None]

    def rank_rows(
        self, model: Floats, rows: Ints, with_loss: bool, first: int, last: int,
        work: Any, ranking: Ranking,
    ) -> None:  # fmt: skip
        """Write the best outputs of rows [first, last), and planes with losses."""
        raise NotImplementedError

    def ranked(self, model: Floats, rows: Ints, k: int, *, with_loss: bool) -> Ranking:
        """The k outputs of highest score, or of highest score plus loss."""
        indptr = self.indptr_of(rows)
        code = np.zeros(indptr[-1] * k, np.int32)
        value = np.full((len(rows), k), -np.inf)
        n_found = np.zeros(len(rows), np.int64)
        b, scale, violation = (np.zeros((len(rows), k)) for _ in range(3))
        ranking = Ranking(indptr, code, value, n_found, b, scale, violation)

        def work_on(first: int, last: int) -> None:
            work = self.borrow_work()
            self.rank_rows(model, rows, with_loss, first, last, work, ranking)
            self.return_work(work)

        run_sharded(self.n_jobs, len(rows), work_on)
        return ranking

    def k_best_codes(self, model: Floats, k: int) -> list[list[tuple[Ints, float]]]:
        """The codes of the k outputs of highest score with their scores."""
        rows = np.arange(self.n_blocks)
        ranking = self.ranked(model, rows, k, with_loss=False)
        return [
            list(zip(ranking.codes(r), ranking.value[r].tolist(), strict=False))
            for r in range(self.n_blocks)
        ]


class CutRanker(Ranker):
    """A `Ranker` whose outputs are their codes, and which ranks planes as well."""

    formulation: Formulation

    def k_best(self, model: Floats, k: int) -> list[list[tuple[Ints, float]]]:
        """The k outputs of highest score with their scores, for each row."""
        return self.k_best_codes(model, k)

    def k_cuts(self, model: Floats, rows: Ints, k: int) -> Cuts:
        """The k most violated planes of each row, by loss-augmented k-best."""
        if not self.formulation.is_additive:
            raise CapabilityError(
                "k > 1 needs <formulation='margin'> and <penalty='l1'>"
            )
        rows = np.asarray(rows, np.int64)
        ranking = self.ranked(model, rows, k, with_loss=True)
        n_found = ranking.n_found
        is_output = np.arange(k)[None, :] < n_found[:, None]
        codes = [ranking.codes(r).ravel() for r in range(len(rows))]
        lengths = np.repeat(np.diff(ranking.indptr), n_found)
        b, scale, violation = (table[is_output] for table in ranking[-3:])
        top = np.maximum.reduceat(violation, np.cumsum(n_found) - n_found)
        return Cuts(
            np.repeat(rows, n_found), b, scale, violation, np.repeat(top, n_found),
            np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64),
            np.concatenate(codes).astype(np.int32),
        )  # fmt: skip
