"""Problems whose outputs weigh the rows of a block.

Label vectors, rankings, covering sets, matchings and clusterings are of this kind.

Ψ(x, ŷ) = Σ_r c_r(ŷ)·x_r, so a model is one flat array (n_features,), and Σ α a is one
product of the transposed matrix with a weight per row. Where blocks are few and large,
threads share the rows of a block: scores are written row by row and sums are taken
column by column, each by one thread, so the bits do not depend on `n_jobs`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from partwise.features.arrays import as_features
from partwise.features.label_keys import LabelKeys
from partwise.objective import Formulation
from partwise.protocol import Cuts, Floats, Ints
from partwise.scorers.linear import DenseRows
from partwise.structures import _weighted_rows_compiled as compiled
from partwise.structures.digests import row_digests
from partwise.structures.packed import ScoredProblem
from partwise.structures.row_structure import RowStructure
from partwise.threads import Shards, run_sharded, shards_by_effort

ROW_SHARD = 8192  # rows that a thread scores at once
LARGE = 16384  # rows per block from which threads share a block
FEW = 4  # with weights for at most 1/FEW of the rows, sums go row by row, not by column


class WeightedRowsProblem(ScoredProblem):
    """Problem over rows with weights.

    Parameters
    ----------
    blocks, plain_blocks : NamedTuple
        Tags with the operations of `partwise.compiled` and `row_weight`, and the fields
        `rows`, `offset` and `y`.
    formulation : Formulation
    n_jobs : int
    scorer : LinearScorer or KernelScorer
    number : int array (n_features,) or None
        The place of each feature in a model; none with a kernel.
    new_work : callable
        Makes the buffers of one thread.
    """

    def __init__(
        self,
        blocks: Any,
        plain_blocks: Any,
        formulation: Formulation,
        n_jobs: int,
        scorer: Any,
        number: Ints | None,
        new_work: Callable[[], Any],
    ) -> None:
        super().__init__(
            None,
            blocks,
            plain_blocks,
            offset=blocks.offset,
            length=lambda rows: rows.n_features,
            new_work=new_work,
            formulation=formulation,
            n_jobs=n_jobs,
            scorer=scorer,
            number=number,
        )
        self._columns: Any = None
        self._column_shards: Shards = []

    def compact(self, model: Floats) -> Floats:
        """One weight per feature, in the order of the columns of X."""
        return model[self.number]

    def expand(self, weights: Floats) -> Floats:
        """A model of this problem from one weight per column of X."""
        model = self.zero()
        model[self.number] = weights
        return model

    def effort(self) -> Floats:
        """Rows of each block."""
        return np.diff(self.blocks.offset).astype(np.float64)

    def scores(self, model: Floats) -> Floats:
        """<w, x_t> of all rows, shape (n_rows,)."""
        out = np.empty(self.blocks.offset[-1])
        self._score(model, 0, len(out), out)
        return out

    def _score(self, model: Floats, begin: int, end: int, out: Floats) -> None:
        def work_on(first: int, last: int) -> None:
            compiled.score_range(
                self.blocks.rows, model, begin + first, begin + last, begin, out
            )

        run_sharded(self.n_jobs, end - begin, work_on, shard=ROW_SHARD)

    def _search(self, blocks: Any, model: Floats, rows: Ints | None) -> Cuts:
        """One block after the other, their rows on threads, where blocks are large."""
        offset = self.blocks.offset
        if offset[-1] < LARGE * self.n_blocks:
            return super()._search(blocks, model, rows)
        rows = np.arange(self.n_blocks) if rows is None else np.asarray(rows, np.int64)
        indptr = self.indptr_of(rows)
        planes = np.empty((4, len(rows)))
        code = np.zeros(indptr[-1], np.int32)
        work = self.borrow_work()
        for r, i in enumerate(rows.tolist()):
            self._score(model, int(offset[i]), int(offset[i + 1]), work.score)
            output = code[indptr[r] : indptr[r + 1]]
            planes[:, r] = self._search_block(blocks, work, i, output)
        self.return_work(work)
        b, scale, violation, bound = planes
        return Cuts(rows, b, scale, violation, bound, indptr, code)

    def _search_block(self, blocks: Any, work: Any, i: int, code: Ints) -> Any:
        """What `find_output` does once ``work.score`` has the scores of block i."""
        raise NotImplementedError

    def combine(self, cuts: Cuts, alpha: Floats) -> Floats:
        """Σ α a: weights of rows, cut after cut, then the columns on threads."""
        weight = np.zeros(self.blocks.offset[-1])
        coef = cuts.scale * alpha
        compiled.weights_of_cuts(
            self.blocks, cuts.block, coef, cuts.indptr, cuts.code, weight
        )
        return self.sum_rows(weight)

    def sum_rows(self, weight: Floats) -> Floats:
        """Σ_t weight[t]·x_t, a model."""
        model = self.zero()
        rows = self.blocks.rows
        if isinstance(rows, DenseRows):

            def work_on(first: int, last: int) -> None:
                compiled.add_dense_rows(rows.x, weight, first, last, model)

            run_sharded(self.n_jobs, len(model), work_on, shard=16)
            return model
        if FEW * np.count_nonzero(weight) <= len(weight):
            compiled.add_few_rows(rows, weight, model)
            return model
        if self._columns is None:
            self._columns = self.scorer.columns(rows)
            self._column_shards = shards_by_effort(1.0 + np.diff(self._columns[0]))

        def work_on_columns(first: int, last: int) -> None:
            compiled.add_columns(*self._columns, weight, first, last, model)

        run_sharded(self.n_jobs, len(model), work_on_columns, self._column_shards)
        return model

    def keys(self) -> list[bytes] | None:
        """Digests of features, as the user numbers them, and of truths."""
        blocks = self.blocks
        if not self.is_euclidean:
            return None  # rows of a Gram matrix depend on all inputs
        return row_digests(blocks.rows, self.number, blocks.y, blocks.offset)


class WeightedRowsStructure(RowStructure):
    """What structures over the rows of a block share."""

    def loss_augmented_argmax(self, x: Any, y: Any, w: Floats) -> Any:
        """The most violated output."""
        problem = self.pack(x, y)
        return problem.outputs(problem.oracle(problem.expand(w)))[0]


def row_keys(offset: Any) -> LabelKeys:
    """Keys of the rows of blocks for a `KernelScorer`: one, which all rows share.

    Parameters
    ----------
    offset : int array (n_blocks + 1,)
        Rows of each block.

    Examples
    --------
    >>> row_keys([0, 3]).key.ravel()
    array([0, 0, 0])
    """
    first = np.array(offset, np.int64)
    row = np.arange(first[-1])
    key = np.zeros((len(row), 1), np.int64)
    return LabelKeys(first, first.copy(), row, key, 1, False)


def as_blocks(X: Any, Y: Any) -> tuple[Any, list[Any]]:
    """Rows of all blocks, and the truths block by block.

    X is one matrix, a list of matrices, or rows with an offset; Y has one number per
    row, in one array or an array per block.
    """
    if not hasattr(X, "offset"):
        is_one = hasattr(X, "tocsr") or np.ndim(X[0]) != 2
        if is_one:
            X, Y = [X], [Y]
        elif not isinstance(Y, list | tuple):
            Y = list(Y)
        X = as_features(list(X))
    offset = X.offset
    if len(offset) > 1 and (len(Y) != len(offset) - 1 or np.ndim(Y[0]) == 0):
        if len(Y) != offset[-1]:
            raise ValueError(f"Y has {len(Y)} numbers where X has {offset[-1]} rows")
        Y = np.split(np.asarray(Y), offset[1:-1])
    for i, y in enumerate(Y):
        if np.shape(y) != (offset[i + 1] - offset[i],):
            raise ValueError(
                f"Y of block {i} has shape {np.shape(y)} where X has "
                f"{offset[i + 1] - offset[i]} rows; give one number per row"
            )
    return X, list(Y)
