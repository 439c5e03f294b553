"""Label sequences: a chain of order 0, 1 or 2.

An output is one label per token. Its parts are (token, label), each run of two labels
(order 1 and 2) and of three (order 2), and optionally the labels at both ends:

    <w, φ(x, y)> = Σ_t <w[:, y_t], x_t> + Σ_t T[y_{t−1}, y_t] + …

`Chain` holds the settings and the plain-Python reference of its methods; `ChainProblem`
runs whole batches in numba behind the same contract.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from partwise.features.arrays import as_features
from partwise.objective import Formulation
from partwise.protocol import CapabilityError, Cuts, Floats, Ints, Structure
from partwise.scorers.linear import (
    LinearScorer,
    columns_of,
    local_rows,
    ordered_rows,
)
from partwise.structures import _chain_batch as batch
from partwise.structures._chain_kernels import (
    ADDITIVE,
    FRONTIER,
    TWO_BEST,
    ChainBlocks,
    ChainWork,
    views,
)
from partwise.structures._chain_programs import Edges
from partwise.structures._chain_reference import ChainReference
from partwise.structures.packed import PackedProblem, run_sharded, shard_size

COSTS = ("hamming", "normalized", "zero_one")


class Weights(NamedTuple):
    """The parts of a chain's model, views into one flat array."""

    emission: Floats  # (n_features, L)
    bigram: Floats  # (L, L), or (0, L) for order 0
    trigram: Floats  # (L, L, L), or (0, L, L) below order 2
    start: Floats  # (L,), or (0,) without boundary
    end: Floats  # (L,), or (0,) without boundary


class Chain(ChainReference, Structure):
    """Label sequences with scores on tokens and on runs of labels.

    Parameters
    ----------
    n_labels : int
        Labels are the integers below it.
    order : {0, 1, 2}
        Labels that a label's score may look back at. Order 2 has the transitions of
        order 1 as well.
    boundary : bool
        Whether the first and the last label have scores of their own.
    cost : {"hamming", "normalized", "zero_one"} or array (L, L)
        The loss: number of wrong tokens, share of wrong tokens, 1 for any wrong
        sequence, or the cost of predicting the column's label for the row's.
    transitions, starts, ends : bool arrays (L, L), (L,), (L,), optional
        False forbids a transition, a first and a last label.

    Examples
    --------
    >>> chain = Chain(2, cost="normalized")
    >>> chain.loss([0, 1, 1, 0], [0, 1, 0, 0])
    0.25
    """

    def __init__(
        self,
        n_labels: int,
        order: int = 1,
        boundary: bool = False,
        cost: Any = "hamming",
        transitions: Any = None,
        starts: Any = None,
        ends: Any = None,
    ) -> None:
        self.n_labels = n_labels
        self.order = order
        self.boundary = boundary
        self.cost = cost
        self.transitions = transitions
        self.starts = starts
        self.ends = ends

    def n_weights(self, n_features: int, size: int | None = None) -> int:
        """Length of a model over that many features (and `size` labels)."""
        size = self.n_labels if size is None else size
        return (
            n_features * size
            + (self.order > 0) * size**2
            + (self.order == 2) * size**3
            + 2 * self.boundary * size
        )

    def cost_matrix(self) -> Floats:
        """Loss of one token, shape (L, L)."""
        if isinstance(self.cost, str):
            if self.cost not in COSTS:
                raise ValueError(
                    f"cost={self.cost!r}: choose {', '.join(COSTS)} or give a matrix"
                )
            return 1.0 - np.eye(self.n_labels)
        matrix = np.ascontiguousarray(self.cost, np.float64)
        if matrix.shape != (self.n_labels, self.n_labels):
            raise ValueError(
                f"cost has shape {matrix.shape} where there are {self.n_labels} labels"
            )
        if not np.isfinite(matrix).all() or (matrix < 0).any() or matrix.trace():
            raise ValueError("cost: entries must be ≥ 0 and the diagonal zero")
        return matrix

    def masks(self) -> tuple[Floats, Floats, Floats]:
        """0 where a transition, first or last label is allowed, −inf elsewhere."""
        size = self.n_labels
        shapes = ((size, size), (size,), (size,))
        masks = []
        for name, shape in zip(("transitions", "starts", "ends"), shapes, strict=True):
            given = getattr(self, name)
            allowed = np.ones(shape, bool) if given is None else np.asarray(given, bool)
            if allowed.shape != shape:
                raise ValueError(f"{name} has shape {allowed.shape}, expected {shape}")
            masks.append(np.where(allowed, 0.0, -np.inf))
        return masks[0], masks[1], masks[2]

    def pack(  # type: ignore[override]
        self,
        X: Any,
        Y: Any,
        formulation: Formulation | None = None,
        *,
        n_jobs: int = 1,
        token_weight: Any = None,
        scorer: Any = None,
    ) -> ChainProblem:
        """Lay sequences out for a solver.

        Parameters
        ----------
        X : Features, DenseFeatures, or list of matrices (tokens × features)
            Rows of all tokens with the offsets of the sequences.
        Y : int array (n_tokens,), or one per matrix; None to predict only
        formulation : Formulation
        n_jobs : int
        token_weight : array (n_tokens,), optional
            Factor of each token's loss.
        scorer : object with ``bind(features)``, optional
            How rows are scored; linear by default.
        """
        formulation = (formulation or Formulation()).validate()
        if not hasattr(X, "offset"):
            X = as_features(X)
            Y = None if Y is None else np.concatenate([np.asarray(y) for y in Y])
        if self.order not in (0, 1, 2):
            raise ValueError(f"order={self.order!r}: choose 0, 1 or 2")
        offset = np.ascontiguousarray(X.offset, np.int64)
        n_tokens = int(offset[-1])
        y = np.zeros(n_tokens, np.int32) if Y is None else np.asarray(Y, np.int32)
        if y.shape != (n_tokens,):
            raise ValueError(f"Y has {len(y)} labels where X has {n_tokens} tokens")
        weight = np.ones(1)
        if token_weight is not None:
            weight = np.ascontiguousarray(token_weight, np.float64)
            bad = weight.shape != (n_tokens,) or not np.isfinite(weight).all()
            if bad or (weight <= 0).any():
                raise ValueError("token_weight: give one positive number per token")
        unit = np.ones(len(offset) - 1)
        if isinstance(self.cost, str) and self.cost == "normalized":
            unit = 1.0 / np.diff(offset)
        cost = self.cost_matrix()
        edges, starts, ends = self.masks()
        extra = padded(self.n_labels) - self.n_labels
        zero_one = isinstance(self.cost, str) and self.cost == "zero_one"
        rows = (scorer or LinearScorer()).bind(X)
        number = None
        if Y is not None:  # learning visits the rows many times: worth a renumbering
            rows, number = ordered_rows(rows)
        blocks = ChainBlocks(
            rows=rows,
            offset=offset,
            y=y,
            cost=np.pad(cost, (0, extra)),
            unit=unit,
            token_weight=weight,
            weight_step=int(token_weight is not None),
            forbid_edge=np.pad(edges, (0, extra), constant_values=-np.inf),
            forbid_start=np.pad(starts, (0, extra), constant_values=-np.inf),
            forbid_end=np.pad(ends, (0, extra), constant_values=-np.inf),
            order=self.order,
            boundary=int(self.boundary),
            oracle=self._oracle(formulation, cost, weight, zero_one),
            slack_scaled=int(formulation.rescaling == "slack"),
            square_root=int(formulation.penalty == "l2"),
            constant=int(zero_one or formulation.rescaling == "hard"),
            zero_one=int(zero_one),
        )
        return ChainProblem(self, blocks, formulation, n_jobs, number)

    def decode(self, X: Any, w: Floats) -> list[Any]:
        """The best labels of each sequence."""
        problem = self.pack(X, None)
        code, _ = problem.decode(problem.expand(w))
        return np.split(code, problem.blocks.offset[1:-1])

    def _oracle(
        self, formulation: Formulation, cost: Floats, weight: Floats, zero_one: bool
    ) -> int:
        if zero_one or formulation.rescaling == "hard":
            if (cost + np.eye(self.n_labels) == 0).any():
                raise CapabilityError(
                    "a hard margin separates every wrong label: cost must be positive "
                    "off the diagonal; use formulation='margin'"
                )
            return TWO_BEST
        if formulation.is_additive:
            return ADDITIVE
        if (cost % 1 != 0).any() or (weight % 1 != 0).any():
            raise CapabilityError(
                f"{formulation.rescaling} rescaling with penalty "
                f"{formulation.penalty!r} needs losses that are whole numbers, because "
                "its oracle runs over every value of the loss; round cost and "
                "token_weight, or use formulation='margin' with penalty='l1'"
            )
        return FRONTIER


def padded(n_labels: int) -> int:
    """Labels including those that pad a row of weights to whole vectors.

    Padding labels are forbidden everywhere and their weights stay zero. With 22 labels
    in rows of 24, scoring takes 0.6 of the time: rows begin at cache lines and loops
    have no remainder.
    """
    return n_labels if n_labels < 4 else -(-n_labels // 4) * 4


class ChainProblem(PackedProblem):
    """Packed label sequences.

    A model of this problem has padded rows (see `padded`) and may number features in
    its own way; `compact` and `expand` convert from and to the plain layout of
    `Chain.n_weights`.
    """

    def __init__(
        self,
        chain: Chain,
        blocks: ChainBlocks,
        formulation: Formulation,
        n_jobs: int,
        number: Ints | None = None,
    ) -> None:
        width = padded(chain.n_labels)
        longest = int(np.diff(blocks.offset).max())
        n_states = width**2 if chain.order == 2 else width

        def new_work() -> ChainWork:
            opening = np.zeros((width, width))
            inner = np.zeros((n_states, width)) if chain.order == 2 else opening
            return ChainWork(
                emit=np.zeros((longest, width)),
                score=np.zeros((longest, width)),
                edges=Edges(opening, inner, last=np.zeros(width)),
                alpha=np.zeros((longest, n_states)),
                beta=np.zeros((longest, n_states)),
            )

        plain = blocks._replace(cost=np.zeros_like(blocks.cost), oracle=ADDITIVE)
        rows: Any = blocks.rows
        local: Any = blocks._replace(rows=local_rows(rows, blocks.offset))
        super().__init__(
            blocks,
            plain,
            local,
            n_blocks=len(blocks.offset) - 1,
            n_weights=chain.n_weights(rows.n_features, width),
            n_local=chain.n_weights(local.rows.n_features, width),
            formulation=formulation,
            new_work=new_work,
            n_jobs=n_jobs,
        )
        self.chain = chain
        self.number = slice(None) if number is None else number
        self._columns: Any = None

    def weights(self, model: Floats) -> Weights:
        """The parts of a model by name, padding included; views."""
        return Weights(*views(self.blocks, model))

    def compact(self, model: Floats) -> Floats:
        """A model in the plain layout."""
        size = self.chain.n_labels
        emission, *rest = self.weights(model)
        parts = [emission[self.number, :size]]
        parts += [part[(slice(size),) * part.ndim] for part in rest]
        return np.concatenate([part.ravel() for part in parts])

    def expand(self, weights: Floats) -> Floats:
        """A model of this problem from the plain layout."""
        size = self.chain.n_labels
        model = self.zero()
        emission, *rest = self.weights(model)
        at = len(emission) * size
        emission[self.number, :size] = weights[:at].reshape(-1, size)
        for part in rest:
            real = part[(slice(size),) * part.ndim]
            real[...] = weights[at : at + real.size].reshape(real.shape)
            at += real.size
        return model

    def refuse_impossible(self, describe: Any = str) -> None:
        """Raise when a true sequence is one that the masks forbid."""
        blocks = self.blocks
        for i, y in enumerate(np.split(blocks.y, blocks.offset[1:-1])):
            fault = self._fault(y)
            if fault:
                raise ValueError(
                    f"sequence {i} has {describe(fault)}, which the constraints forbid;"
                    " repair the labels or drop the constraint"
                )

    def _fault(self, y: Ints) -> tuple[int, ...] | None:
        blocks = self.blocks
        if blocks.forbid_start[y[0]]:
            return (-1, int(y[0]))
        if blocks.forbid_end[y[-1]]:
            return (int(y[-1]), -1)
        bad = np.flatnonzero(blocks.forbid_edge[y[:-1], y[1:]])
        return (int(y[bad[0]]), int(y[bad[0] + 1])) if len(bad) else None

    def outputs(self, cuts: Cuts) -> list[Ints]:
        """Label arrays of the cuts."""
        return np.split(cuts.code, cuts.indptr[1:-1])

    def oracle(self, model: Floats, rows: Ints | None = None, *, k: int = 1) -> Cuts:
        """Most violated outputs; several per row by loss-augmented k-best."""
        if k == 1:
            return super().oracle(model, rows)
        if not self.formulation.is_additive:
            raise CapabilityError("k > 1 needs formulation='margin' and penalty='l1'")
        rows = np.arange(self.n_blocks) if rows is None else np.asarray(rows, np.int64)
        indptr, code, _, found = self._k_best(model, rows, k, with_loss=True)
        b, scale, violation = (np.zeros((len(rows), k)) for _ in range(3))
        work = self.borrow_work()
        batch.planes_of_rows(
            self.blocks, work, model, rows, k, indptr, code, found, b, scale, violation
        )
        self.return_work(work)
        return _flatten(rows, indptr, code, found, b, scale, violation)

    def _k_best(
        self, model: Floats, rows: Ints, k: int, *, with_loss: bool
    ) -> tuple[Ints, Ints, Floats, Ints]:
        indptr = self.indptr_of(rows)
        code = np.zeros(indptr[-1] * k, np.int32)
        value = np.full((len(rows), k), -np.inf)
        found = np.zeros(len(rows), np.int64)

        def work_on(first: int, last: int) -> None:
            work = self.borrow_work()
            batch.k_best_rows(
                self.blocks, work, model, rows, k, with_loss, first, last, indptr,
                code, value, found,
            )  # fmt: skip
            self.return_work(work)

        run_sharded(self.n_jobs, len(rows), work_on)
        return indptr, code, value, found

    def k_best(self, model: Floats, k: int) -> list[list[tuple[Ints, float]]]:
        """The k outputs of highest score with their scores, for each row."""
        rows = np.arange(self.n_blocks)
        indptr, code, value, found = self._k_best(model, rows, k, with_loss=False)
        answers = []
        for r in rows:
            codes = code[indptr[r] * k : indptr[r + 1] * k].reshape(k, -1)
            answers.append([(codes[j], float(value[r, j])) for j in range(found[r])])
        return answers

    def decode(self, model: Floats, given: Ints | None = None) -> tuple[Ints, Floats]:
        """Best labels of all tokens, and the score of each sequence.

        Parameters
        ----------
        model : array (n_weights,)
        given : int array (n_tokens,), optional
            Labels that are known; −1 where they are not.
        """
        code = np.zeros(self.blocks.offset[-1], np.int32)
        value = np.zeros(self.n_blocks)
        fixed = np.zeros(0, np.int32) if given is None else np.asarray(given, np.int32)

        def work_on(first: int, last: int) -> None:
            work = self.borrow_work()
            batch.decode_rows(self.blocks, work, model, fixed, first, last, code, value)
            self.return_work(work)

        run_sharded(self.n_jobs, self.n_blocks, work_on)
        return code, value

    def marginals(self, model: Floats) -> tuple[Floats, Floats]:
        """P(label at token) (n_tokens, L) under exp(score), and log Z of each row."""
        node, _, _, _, log_z, _ = self._sums(model, np.ones(self.n_blocks), edges=False)
        return node[:, : self.chain.n_labels], log_z

    def log_likelihood(self, model: Floats, weight: Floats) -> tuple[Floats, Floats]:
        """Loss log Z_i − <w, φ(y_i)> of each row, and Σ c_i (E[φ] − φ(y_i))."""
        node, pair, triple, ends, log_z, truth = self._sums(model, weight, edges=True)
        batch.subtract_truth(self.blocks, weight, node, pair, triple, ends)
        gradient = self.zero()
        into = self.weights(gradient)
        if self._columns is None:
            self._columns = columns_of(self.blocks.rows)
        indptr, index, data, step = self._columns

        def work_on(first: int, last: int) -> None:
            batch.gather_columns(
                indptr, index, data, step, first, last, node, into.emission
            )

        run_sharded(self.n_jobs, len(into.emission), work_on, shard=1024)
        into.bigram[:] = pair
        into.trigram[:] = triple
        if self.chain.boundary:
            into.start[:], into.end[:] = ends
        return log_z - truth, gradient

    def generative_model(self, smoothing: float) -> Floats:
        """Hidden Markov model: log of smoothed relative frequencies.

        Features are taken as independent emissions of the label, which overlapping
        features are not; this is the baseline of the papers.
        """
        blocks, size = self.blocks, self.chain.n_labels
        model = self.zero()
        into = self.weights(model)
        node = np.zeros((blocks.offset[-1], into.emission.shape[1]))
        node[np.arange(len(node)), blocks.y] = 1.0
        columns = columns_of(blocks.rows)
        batch.gather_columns(*columns, 0, len(into.emission), node, into.emission)
        first = np.zeros(len(node), bool)
        first[blocks.offset[:-1]] = True
        y = blocks.y
        for run, table in ((2, into.bigram), (3, into.trigram)):
            if table.size:
                ends = np.flatnonzero(~first)
                for back in range(1, run - 1):  # the run stays inside its sequence
                    ends = ends[~first[ends - back]]
                np.add.at(table, tuple(y[ends - k] for k in range(run - 1, -1, -1)), 1)
        if self.chain.boundary:
            np.add.at(into.start, y[blocks.offset[:-1]], 1)
            np.add.at(into.end, y[blocks.offset[1:] - 1], 1)
        emission, *rest = into
        tables = [(emission[:, :size], 0)]
        tables += [(part[(slice(size),) * part.ndim], part.ndim - 1) for part in rest]
        for table, axis in tables:
            if table.size:
                counts = np.maximum(table, 0.0) + smoothing
                table[...] = np.log(counts / counts.sum(axis=axis, keepdims=True))
        return model

    def _sums(self, model: Floats, weight: Floats, *, edges: bool) -> Sequence[Any]:
        size = padded(self.chain.n_labels)
        node = np.empty((self.blocks.offset[-1], size))
        log_z, truth = np.empty(self.n_blocks), np.empty(self.n_blocks)
        shard = shard_size(self.n_blocks)
        shards = -(-self.n_blocks // shard)  # partial sums per shard, never per thread
        pair = np.zeros((shards, size if edges and self.chain.order else 0, size))
        triple = np.zeros(
            (shards, size if edges and self.chain.order == 2 else 0, size, size)
        )
        ends = np.zeros((shards, 2 if edges and self.chain.boundary else 0, size))
        rows = np.arange(self.n_blocks)

        def work_on(first: int, last: int) -> None:
            work = self.borrow_work()
            s = first // shard
            batch.sum_rows(
                self.blocks, work, model, rows, first, last, weight, node, pair[s],
                triple[s], ends[s], log_z, truth,
            )  # fmt: skip
            self.return_work(work)

        run_sharded(self.n_jobs, self.n_blocks, work_on)
        return node, pair.sum(0), triple.sum(0), ends.sum(0), log_z, truth


def _flatten(
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
