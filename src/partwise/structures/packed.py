"""A `Problem` on arrays: any tag with the operations of `partwise.compiled`.

Rows are handled in shards of fixed size by a pool of threads over nogil kernels. Each
row writes its own results and sums are taken in row order by one thread, so the bits
are the same for every `n_jobs`.
"""

from __future__ import annotations

import copy
import hashlib
import math
from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from partwise.compiled import Reference, as_reference, plain_array
from partwise.protocol import Cuts, Floats, Formulation, Ints, Problem, Structure
from partwise.structures import _packed_compiled as kernels
from partwise.structures.digests import digest_arrays
from partwise.threads import Shards, add_scaled, dot, run_sharded, shards_by_effort

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

    observed: Any = None  # truths without completions, where some parts are hidden

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

    def visit_shards(
        self,
        n: int,
        visit: Callable[[Any, int, int], None],
        shard: int | Shards | None = None,
    ) -> None:
        """Call ``visit(work, first, last)`` for shards of n rows, see `run_sharded`."""

        def work_on(first: int, last: int) -> None:
            work = self.borrow_work()
            visit(work, first, last)
            self.return_work(work)

        run_sharded(self.n_jobs, n, work_on, shard)

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

        def visit(work: Any, first: int, last: int) -> None:
            kernels.find_rows(
                blocks, work, model, rows, first, last, cuts.b, cuts.scale,
                cuts.violation, cuts.bound, indptr, cuts.code,
            )  # fmt: skip

        if self._effort is None:
            self._effort = self.effort()
        self.visit_shards(m, visit, shards_by_effort(self._effort[rows]))
        return cuts

    def digest(self) -> bytes:
        """Of all arrays of the data, the formulation, and the length of a model."""
        digest = hashlib.blake2b(repr((self.formulation, self.n_weights)).encode())
        digest_arrays(self.blocks, digest)
        return digest.digest()

    def truths_for_keys(self) -> Any:
        """What is known of the truths."""
        return self.blocks.y if self.observed is None else self.observed

    def adopt(self, cuts: Cuts, outputs: list[Any] | None) -> Cuts:
        """Codes mean the same; offsets and scales are those of this formulation."""
        loss = np.empty(len(cuts.block))
        kernels.losses(self.blocks, cuts.block, cuts.indptr, cuts.code, loss)
        b, scale = self.formulation.planes(loss)
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

        def visit(work: Any, first: int, last: int) -> None:
            kernels.combine(
                self.blocks, work, models[first // half], cuts.block[first:last],
                coef[first:last], cuts.indptr[first : last + 1], cuts.code,
            )  # fmt: skip

        self.visit_shards(len(coef), visit, shard=half)
        if len(models) == 2:
            add_scaled(self.n_jobs, models[0], 1.0, models[1])
            self.recycle(models[1])
        return models[0]


class ForkedTruths:
    """A `PackedProblem` with hidden parts that is solved from several starts at once.

    See `Forking`. Forks share all arrays but those of truths, which completions write.
    """

    truth_fields: ClassVar[tuple[str, ...]] = ("y",)  # of all tags

    def fork(self) -> Any:
        """The same data with completions of their own, for one thread."""
        problem: Any = self
        fresh = {name: getattr(problem.blocks, name) for name in self.truth_fields}
        fresh = {name: array.copy() for name, array in fresh.items()}

        def renewed(tag: Any) -> Any:
            if not fresh.keys() <= set(tag._fields):
                return tag
            is_reference = isinstance(tag, Reference)
            return tag.replace(**fresh) if is_reference else tag._replace(**fresh)

        def localise() -> tuple[Any, int]:
            tag, size = problem.localise()
            return renewed(tag), size

        fork = copy.copy(problem)
        for name, value in vars(problem).items():
            if isinstance(value, Reference) or hasattr(value, "_fields"):
                setattr(fork, name, renewed(value))
        fork.__dict__.pop("_local", None)
        fork.localise, fork.n_jobs = localise, 1
        fork._free_work, fork._free_models = [], []
        return fork


class ScoredProblem(PackedProblem):
    """A packed problem over the rows of a scorer.

    Parameters
    ----------
    structure : object
    blocks, plain_blocks : NamedTuple
        Tags with a field `rows`.
    offset : int array (n_blocks + 1,)
        Rows of each block.
    length : callable
        Length of a model over some rows.
    new_work : callable
        Makes the buffers of one thread.
    formulation : Formulation
    n_jobs : int
    scorer : Scorer
    number : int array (n_features,), optional
        The place of each feature of the user in a model; by default its own.
    localise : callable, optional
        As of `PackedProblem`; by default the scorer numbers the rows block by block.
    """

    n_tail = 0  # weights of a model behind those of rows

    def __init__(
        self,
        structure: Any,
        blocks: Any,
        plain_blocks: Any,
        *,
        offset: Ints,
        length: Callable[[Any], int],
        new_work: Callable[[], Any],
        formulation: Formulation,
        n_jobs: int,
        scorer: Any,
        number: Ints | None = None,
        localise: Callable[[], tuple[Any, int]] | None = None,
    ) -> None:
        def number_rows() -> tuple[Any, int]:
            local = scorer.local(blocks.rows, offset)
            # of the plain class: exact steps need the weights of all rows
            return type(plain_blocks)(*blocks)._replace(rows=local), length(local)

        super().__init__(
            blocks,
            plain_blocks,
            localise or number_rows,
            n_blocks=len(offset) - 1,
            n_weights=length(blocks.rows),
            formulation=formulation,
            new_work=new_work,
            n_jobs=n_jobs,
        )
        self.structure = structure
        self.scorer = scorer
        self.is_euclidean = scorer.is_euclidean
        self.number: Any = slice(None) if number is None else number

    def compact_tail(self, model: Floats) -> Floats:
        """Weights behind those of rows, in the plain layout."""
        return model[:0]

    def expand_tail(self, tail: Floats, model: Floats) -> None:
        """Write these weights into a model."""


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

    def visit(work: Any, first: int, last: int) -> None:
        decode_rows(problem.blocks, work, model, known, first, last, code, value)

    problem.visit_shards(problem.n_blocks, visit)
    return code, value


class PackedStructure(Structure):
    """A structure whose plain methods ask its packed problem."""

    def argmax(self, x: Any, w: Floats) -> Any:
        """The output of highest score."""
        return self.decode([x], w)[0]

    def loss_augmented_argmax(self, x: Any, y: Any, w: Floats) -> Any:
        """The output of largest Δ(y, ŷ) + <w, Ψ(x, ŷ)>."""
        problem = self.pack([x], [y])
        return problem.outputs(problem.oracle(problem.expand(np.asarray(w, float))))[0]

    def decode(self, X: Sequence[Any], w: Floats) -> list[Any]:
        """The output of highest score of each example."""
        problem = self.pack(X, None)  # type: ignore[arg-type]
        model = problem.expand(np.asarray(w, np.float64))
        return problem.outputs(problem.predict_codes(model))


def aligned_zeros(*shape: int, dtype: Any = np.float64) -> Any:
    """Zeros that begin at a cache line, so that vectors do not lie across two."""
    size = math.prod(shape)
    room = np.zeros(size + 15, dtype)
    skip = -room.ctypes.data % 64 // room.itemsize
    return room[skip : skip + size].reshape(shape)
