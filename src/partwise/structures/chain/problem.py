"""Packed label sequences: a chain's `Problem`, in numba behind the common contract."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from partwise.compiled import has_pairs, plain_array
from partwise.objective import MARGIN, Formulation
from partwise.protocol import Cuts, Floats, Ints
from partwise.scorers.linear import DenseRows, SparseRows
from partwise.structures._packed_compiled import gather_columns
from partwise.structures.chain import _batch as batch
from partwise.structures.chain._compiled import ChainBlocks, ChainWork
from partwise.structures.chain._programs import Edges
from partwise.structures.chain.layout import ChainLayout, Weights
from partwise.structures.digests import row_digests
from partwise.structures.hidden_truths import replace_truths, runs_of
from partwise.structures.k_best import BestOutputs, KBestCuts
from partwise.structures.losses import ADDITIVE
from partwise.structures.packed import (
    ForkedTruths,
    ScoredProblem,
    aligned_zeros,
    decode_tokens,
)
from partwise.threads import run_sharded, shard_size


def padded(n_labels: int) -> int:
    """Labels including those that pad a row of weights to whole vectors.

    Padding labels are forbidden everywhere and their weights stay zero. With 22 labels
    in rows of 24, scoring takes 0.6 of the time: rows begin at cache lines and loops
    have no remainder.
    """
    return n_labels if n_labels < 4 else -(-n_labels // 4) * 4


class ChainSums(NamedTuple):
    """Sums over all outputs, with padding; counts are weighted by c_i, see `_batch`."""

    node: Floats  # (n_tokens, L)
    pair: Floats  # (L, L), or (0, L)
    triple: Floats  # (L, L, L), or (0, L, L)
    ends: Floats  # (2, L), or (0, L)
    log_z: Floats  # (n_blocks,)
    truth: Floats  # (n_blocks,) scores of the truths


class ChainProblem(KBestCuts, ScoredProblem):
    """Packed label sequences.

    A model of this problem has padded rows (see `padded`) and may number features in
    its own way; `compact` and `expand` convert from and to the plain layout of
    `Chain.n_weights`.
    """

    def __init__(
        self,
        chain: Any,
        blocks: ChainBlocks,
        formulation: Formulation,
        n_jobs: int,
        scorer: Any,
        number: Ints | None = None,
    ) -> None:
        width = padded(chain.n_labels)
        layout = ChainLayout(width, chain.order, chain.boundary)
        longest = int(np.diff(blocks.offset).max())
        n_states = width**2 if chain.order == 2 else width

        def new_work() -> ChainWork:
            opening = aligned_zeros(width, width)
            inner = aligned_zeros(n_states, width) if chain.order == 2 else opening
            return ChainWork(
                emit=aligned_zeros(longest, width),
                score=aligned_zeros(longest, width),
                edges=Edges(opening, inner, last=aligned_zeros(width)),
                alpha=aligned_zeros(longest, n_states),
                beta=aligned_zeros(longest, n_states),
                parts=aligned_zeros(longest, width),
                known=np.zeros(longest, np.uint8),
            )

        plain = blocks._replace(
            cost=np.zeros_like(blocks.cost), oracle=ADDITIVE, rule=MARGIN
        )
        super().__init__(
            chain,
            blocks,
            plain,
            offset=blocks.offset,
            length=lambda rows: layout.n_weights(rows.n_features),
            new_work=new_work,
            formulation=formulation,
            n_jobs=n_jobs,
            scorer=scorer,
            number=number,
        )
        self.layout = layout
        self.n_tail = layout.n_weights(0)
        self._columns: Any = None

    def weights(self, model: Floats) -> Weights:
        """The parts of a model by name, padding included; views."""
        return self.layout.parts(model, self.blocks.rows.n_features)

    def compact(self, model: Floats) -> Floats:
        """A model in the plain layout."""
        emission = self.weights(model).emission[self.number, : self.structure.n_labels]
        return np.append(emission, self.compact_tail(model))

    def compact_tail(self, model: Floats) -> Floats:
        """Transitions and ends in the plain layout."""
        return np.concatenate([part.ravel() for part in self._real_tail(model)])

    def _real_tail(self, model: Floats) -> list[Floats]:
        """Transitions and ends without padding; views."""
        size = self.structure.n_labels
        return [part[(slice(size),) * part.ndim] for part in self.weights(model).tail]

    def expand(self, weights: Floats) -> Floats:
        """A model of this problem from the plain layout."""
        size = self.structure.n_labels
        model = self.zero()
        emission = self.weights(model).emission
        at = len(emission) * size
        emission[self.number, :size] = weights[:at].reshape(-1, size)
        self.expand_tail(weights[at:], model)
        return model

    def expand_tail(self, tail: Floats, model: Floats) -> None:
        """Write transitions and ends, from the plain layout."""
        given = self.structure.layout.parts(tail).tail
        for part, values in zip(self._real_tail(model), given, strict=True):
            part[...] = values

    def keys(self) -> list[bytes] | None:
        """Digests of features, as the featurizer numbers them, and labels."""
        rows, truths = self.blocks.rows, self.truths_for_keys()
        if not isinstance(rows, DenseRows | SparseRows):
            return None  # keys of a kernel's parts are numbered by each fit
        return row_digests(rows, self.number, truths, self.blocks.offset)

    def outputs(self, cuts: Cuts) -> list[Ints]:
        """Label arrays of the cuts."""
        return cuts.codes

    def fill_best(
        self, model: Floats, rows: Ints, with_loss: bool, first: int, last: int,
        work: Any, best: BestOutputs,
    ) -> None:  # fmt: skip
        """Write the best outputs of rows [first, last)."""
        batch.k_best_rows(
            self.blocks, work, model, rows, best.k, with_loss, first, last, *best
        )

    def decode(self, model: Floats, given: Ints | None = None) -> tuple[Ints, Floats]:
        """Best labels of all tokens, and the score of each sequence.

        Parameters
        ----------
        model : array (n_weights,)
        given : int array (n_tokens,), optional
            Labels that are known; −1 where they are not.
        """
        return decode_tokens(self, batch.decode_rows, model, given)

    def effort(self) -> Floats:
        """Tokens of each sequence."""
        return np.diff(self.blocks.offset).astype(np.float64)

    def marginals(self, model: Floats) -> tuple[Floats, Floats]:
        """P(label at token) (n_tokens, L) under exp(score), and log Z of each row."""
        sums = self._sums(model, np.ones(self.n_blocks), edges=False)
        return sums.node[:, : self.structure.n_labels], sums.log_z

    def step_marginals(self, model: Floats) -> Iterator[Floats]:
        """P(labels before t, label at t), an array (n − 1, A, L, L) for each sequence.

        Entry [t − 1, a, b, c] is P(y_{t−2} = a, y_{t−1} = b, y_t = c) under exp(score)
        for order 2, where A = L; below order 2 A = 1, and there is no a. Nor is there
        one before the first step of order 2: its probabilities stand at a = 0.
        """
        size, width = self.structure.n_labels, padded(self.structure.n_labels)
        depth = width if self.structure.order == 2 else 1
        real = (slice(None), slice(size if depth > 1 else 1), slice(size), slice(size))
        work = self.borrow_work()
        for i, n in enumerate(np.diff(self.blocks.offset).tolist()):
            steps = np.zeros((n - 1, depth * width, width))
            batch.steps_of_row(self.blocks, work, model, i, steps)
            yield steps.reshape(n - 1, depth, width, width)[real]
        self.return_work(work)

    def log_likelihood(self, model: Floats, weight: Floats) -> tuple[Floats, Floats]:
        """Loss log Z_i − <w, φ(y_i)> of each row, and Σ c_i (E[φ] − φ(y_i))."""
        sums = self._sums(model, weight, edges=True, truth=True)
        return sums.log_z - sums.truth, self._gradient(sums)

    def _gradient(self, sums: ChainSums) -> Floats:
        """The model with these counts of labels and edges."""
        gradient = self.zero()
        into = self.weights(gradient)
        if self._columns is None:
            self._columns = self.scorer.columns(self.blocks.rows)
        columns = self._columns

        def work_on(first: int, last: int) -> None:
            gather_columns(*columns, first, last, sums.node, into.emission)

        run_sharded(self.n_jobs, len(into.emission), work_on, shard=1024)
        into.bigram[:] = sums.pair
        into.trigram[:] = sums.triple
        if self.structure.boundary:
            into.start[:], into.end[:] = sums.ends
        return gradient

    def generative_model(self, smoothing: float) -> Floats:
        """Hidden Markov model: log of smoothed relative frequencies.

        Features are taken as independent emissions of the label, which overlapping
        features are not; this is the baseline of the papers.
        """
        blocks, size = self.blocks, self.structure.n_labels
        model = self.zero()
        into = self.weights(model)
        node = np.zeros((blocks.offset[-1], into.emission.shape[1]))
        node[np.arange(len(node)), blocks.y] = 1.0
        columns = self.scorer.columns(blocks.rows)
        gather_columns(*columns, 0, len(into.emission), node, into.emission)
        first = np.zeros(len(node), bool)
        first[blocks.offset[:-1]] = True
        y = blocks.y
        for run, table in ((2, into.bigram), (3, into.trigram)):
            if table.size:
                ends = np.flatnonzero(~first)
                for back in range(1, run - 1):  # the run stays inside its sequence
                    ends = ends[~first[ends - back]]
                np.add.at(table, tuple(y[ends - k] for k in range(run - 1, -1, -1)), 1)
        if self.structure.boundary:
            np.add.at(into.start, y[blocks.offset[:-1]], 1)
            np.add.at(into.end, y[blocks.offset[1:] - 1], 1)
        tables = [(into.emission[:, :size], 0)]
        tables += [(part, part.ndim - 1) for part in self._real_tail(model)]
        for table, axis in tables:
            if table.size:
                counts = np.maximum(table, 0.0) + smoothing
                table[...] = np.log(counts / counts.sum(axis=axis, keepdims=True))
        return model

    def _sums(
        self,
        model: Floats,
        weight: Floats,
        *,
        edges: bool,
        truth: bool = False,
        given: Ints | None = None,
    ) -> ChainSums:
        """Expected counts of labels; with `edges`, of edges, too; less true ones.

        Expectations are over labellings with the given labels, −1 for any.
        """
        known = plain_array([] if given is None else given, np.int32)
        size = padded(self.structure.n_labels)
        node = np.empty((self.blocks.offset[-1], size))
        log_z, score = np.empty(self.n_blocks), np.empty(self.n_blocks)
        shard = 1 if has_pairs(self.blocks.rows) else shard_size(self.n_blocks)
        shards = -(-self.n_blocks // shard)  # partial sums per shard, never per thread
        pair = np.zeros((shards, size if edges and self.structure.order else 0, size))
        triple = np.zeros(
            (shards, size if edges and self.structure.order == 2 else 0, size, size)
        )
        ends = np.zeros((shards, 2 if edges and self.structure.boundary else 0, size))
        rows = np.arange(self.n_blocks)

        def visit(work: Any, first: int, last: int) -> None:
            s = first // shard
            batch.sum_rows(
                self.blocks, work, model, rows, first, last, known, weight, node,
                pair[s], triple[s], ends[s], log_z, score,
            )  # fmt: skip
            if truth:
                batch.subtract_truth(
                    self.blocks, first, last, weight, node, pair[s], triple[s], ends[s]
                )

        try:
            self.visit_shards(self.n_blocks, visit, shard=shard)
        except ZeroDivisionError:  # all sums of exp(score) at a token are zero
            raise ValueError(
                "a sequence has no probabilities: its constraints allow no output, or "
                "its scores are too far apart"
            ) from None
        return ChainSums(node, pair.sum(0), triple.sum(0), ends.sum(0), log_z, score)


class LatentChainProblem(ForkedTruths, ChainProblem):
    """Packed label sequences of which some labels are not known.

    Tokens without a label cost nothing; their labels are the best ones beside those
    that are known.
    """

    def __init__(
        self,
        chain: Any,
        blocks: ChainBlocks,
        formulation: Formulation,
        n_jobs: int,
        scorer: Any,
        number: Ints | None,
        known: Ints,
    ) -> None:
        super().__init__(chain, blocks, formulation, n_jobs, scorer, number)
        self._tag = blocks
        self.observed: Ints = known  # (n_tokens,) labels, −1 where there is none

    def complete(self, model: Floats) -> Cuts:
        """Label the hidden tokens; the old truths of sequences that changed."""
        code, _ = self.decode(model, self.observed)
        return replace_truths(self._tag.y, self._tag.offset, code)

    def log_likelihood(self, model: Floats, weight: Floats) -> tuple[Floats, Floats]:
        """The likelihood of what is known, which sums over the labels that are not.

        Loss log Z_i − log Z_i(known) of each row, where Z_i(known) runs over labellings
        with the known labels, and Σ c_i (E[φ] − E[φ | known]). It is not convex.
        """
        every = self._sums(model, weight, edges=True)
        known = self._sums(model, weight, edges=True, given=self.observed)
        counts = zip(every, known, strict=True)
        difference = ChainSums(*(one - other for one, other in counts))
        return difference.log_z, self._gradient(difference)

    def known_problem(self) -> tuple[ChainProblem, Ints]:
        """Runs of known labels as sequences, and the sequence of each."""
        tag = self._tag
        places, offset = runs_of(self.observed >= 0, tag.offset)
        block = np.searchsorted(tag.offset, places[offset[:-1]], side="right") - 1
        free = np.where(
            np.arange(tag.cost.shape[1]) < self.structure.n_labels, 0.0, -np.inf
        )
        runs = tag._replace(
            rows=self.scorer.selected(tag.rows, places),
            offset=offset,
            y=tag.y[places],
            cost_row=tag.cost_row[places],
            unit=tag.unit[block],
            token_weight=tag.token_weight[places],
            forbid_start=free,  # a run may begin and end within its sequence
            forbid_end=free.copy(),
            boundary=0,
        )
        problem = ChainProblem(
            self.structure, runs, self.formulation, self.n_jobs, self.scorer,
            self.number,
        )  # fmt: skip
        return problem, block
