"""Packed pairs of sequences: an alignment's `Problem`, behind the common contract."""

from __future__ import annotations

import hashlib
from itertools import pairwise
from typing import Any

import numpy as np

from partwise.objective import MARGIN, Formulation
from partwise.protocol import Cuts, Floats, Ints, offsets_of
from partwise.structures.alignment import _batch as batch
from partwise.structures.alignment import _charts as charts
from partwise.structures.alignment._best import trace_sizes
from partwise.structures.alignment._compiled import AlignmentBlocks
from partwise.structures.alignment._programs import Ends, Rows
from partwise.structures.alignment._score_only import MAX_EXACT, score_rows
from partwise.structures.alignment._scores import ANYWHERE, AlignmentWork
from partwise.structures.alignment._searches import search_by
from partwise.structures.alignment._sums import expected_counts
from partwise.structures.alignment.generative import log_odds
from partwise.structures.alignment.layout import Layout
from partwise.structures.hidden_truths import replace_truths
from partwise.structures.k_best import BestOutputs, KBestCuts
from partwise.structures.packed import PackedProblem, aligned_zeros
from partwise.threads import shards_by_effort

N_SUMS = 16  # partial sums of gradients, a model each, whatever `n_jobs`


class ChoiceProblem(PackedProblem):
    """Packed pairs of sequences, or of one sequence and several candidates.

    A model is laid out as `Layout` says; where weights start from a base, it is what
    training adds to them (`compact`, `expand`).
    """

    def __init__(
        self,
        alignment: Any,
        layout: Layout,
        blocks: AlignmentBlocks,
        chosen: Ints,
        n_symbols: Ints,
        formulation: Formulation,
        n_jobs: int,
    ) -> None:
        a_length, b_length = np.diff(blocks.a_offset), np.diff(blocks.b_offset)
        longest_a, longest_b = int(a_length.max()) or 1, int(b_length.max()) or 1
        width = -(-longest_b // 8) * 8
        n_rows = int(n_symbols.max()) if blocks.keeps_rows else 0
        n_bytes, n_saved = trace_sizes(a_length[blocks.pair_a], b_length[blocks.pair_b])
        self.cells = a_length[blocks.pair_a] * b_length[blocks.pair_b].astype(float)

        def new_work() -> AlignmentWork:
            return AlignmentWork(
                scores=aligned_zeros(n_rows + 1, width),
                stripe=np.zeros(int(blocks.pairs.group_size.max(initial=0))),
                weights=np.zeros(layout.n_weights if blocks.keeps_weights else 0),
                total=np.zeros(len(blocks.base)),
                a_open=np.zeros(longest_a),
                a_extend=np.zeros(longest_a),
                b_open=np.zeros(longest_b),
                b_extend=np.zeros(longest_b),
                low=np.zeros(longest_a, np.int32),
                high=np.zeros(longest_a, np.int32),
                ends=Ends(
                    np.zeros(longest_a + 1),
                    np.zeros(longest_b + 1),
                    np.zeros(longest_a),
                    np.zeros(longest_b),
                    np.zeros(2, np.uint8),
                ),
                rows=Rows(
                    match=aligned_zeros(width),
                    delete=aligned_zeros(width),
                    best=aligned_zeros(2, 8 + width),
                    sum=aligned_zeros(width),
                    base=aligned_zeros(width),
                    lead=aligned_zeros(width),
                    tail=aligned_zeros(width),
                    top=aligned_zeros(2, 8),
                    bits=np.zeros(n_bytes, np.uint8),
                    saved=np.zeros((n_saved, 3, width)),
                ),
            )

        plain = blocks._replace(
            with_loss=0,
            first_candidate=0,
            is_additive=1,
            search=search_by(True),
            rule=MARGIN,
        )
        super().__init__(
            blocks,
            plain,
            lambda: (self.blocks, layout.n_weights),
            n_blocks=len(blocks.offset) - 1,
            n_weights=layout.n_weights,
            formulation=formulation,
            new_work=new_work,
            n_jobs=n_jobs,
        )
        self.structure = alignment
        self.layout = layout
        self.chosen = chosen

    def compact(self, model: Floats) -> Floats:
        """The weights, base included."""
        return self.total(model)

    def expand(self, weights: Floats) -> Floats:
        """What they add to the base."""
        return weights - self.blocks.base if len(self.blocks.base) else weights

    def total(self, model: Floats) -> Floats:
        """The weights by which parts are scored."""
        return model + self.blocks.base if len(self.blocks.base) else model

    def adopt(self, cuts: Cuts, outputs: list[Any] | None) -> Cuts:
        """Codes mean the same; offsets are those of this formulation and base."""
        adopted = super().adopt(cuts, outputs)
        if len(self.blocks.base):
            b = adopted.b - self.margins(self.blocks.base, adopted)
            adopted = adopted._replace(b=b)
        return adopted

    def effort(self) -> Floats:
        """Cells of each example."""
        return np.add.reduceat(self.cells, self.blocks.pair_first[:-1])

    def outputs(self, cuts: Cuts) -> list[Any]:
        """Pairs (k, 2) of aligned tokens; with candidates (number, pairs)."""
        if not self.blocks.is_choice:
            return [pairs_of(code) for code in cuts.codes]
        return [
            (self._number(i, int(code[-1])), pairs_of(code[:-1]))
            for i, code in zip(cuts.block, cuts.codes, strict=True)
        ]

    def k_best(self, model: Floats, k: int) -> list[list[tuple[Any, float]]]:
        """The k best candidates with their best alignments and scores."""
        alignments, scores = self.align(model)
        assert alignments is not None
        ranked = []
        for i, (first, last) in enumerate(pairwise(self.blocks.pair_first.tolist())):
            here = scores[first:last]
            ranks = np.argsort(-here, kind="stable")[:k].tolist()
            outputs = [(self._number(i, r), alignments[first + r]) for r in ranks]
            ranked.append(list(zip(outputs, here[ranks].tolist(), strict=True)))
        return ranked

    def _number(self, i: int, rank: int) -> int:
        """Place of a candidate in the user's list; the true one was moved to front."""
        chosen = int(self.chosen[i])
        return chosen if rank == 0 else rank - (rank <= chosen)

    def keys(self) -> list[bytes]:
        """Digests of the features of both sequences, and the truth."""
        blocks = self.blocks
        pairs = blocks.pairs
        sides = [
            (blocks.a_offset, [pairs.a_row.T, pairs.a_value.T, pairs.a_open,
                               pairs.a_extend]),
            (blocks.b_offset, [pairs.b_code, pairs.b_value, pairs.b_open,
                               pairs.b_extend]),
        ]  # fmt: skip
        sequences = [
            [
                _digest([table[:, offset[s] : offset[s + 1]] for table in tables])
                for s in range(len(offset) - 1)
            ]
            for offset, tables in sides
        ]
        keys = []
        for i in range(self.n_blocks):
            here = slice(blocks.pair_first[i], blocks.pair_first[i + 1])
            tokens = slice(blocks.offset[i], blocks.offset[i + 1])
            names = [sequences[0][blocks.pair_a[here.start]]]
            names += [sequences[1][b] for b in blocks.pair_b[here]]
            truth = [blocks.y[tokens], blocks.counted[tokens]]
            keys.append(_digest(truth, b"".join(names)))
        return keys

    def digest(self) -> bytes:
        """Of the data and of the settings, which are numbers in the blocks."""
        settings = repr(self.structure)
        return _digest([], super().digest() + settings.encode())

    def generative_model(self, smoothing: float) -> Floats:
        """Log-odds of matches and log frequencies of gaps; see `log_odds`."""
        counts = self.zero()
        batch.add_truths(self.blocks, counts)
        return self.expand(log_odds(self.layout, self.blocks, counts, smoothing))

    def align(
        self, model: Floats, *, trace: bool = True
    ) -> tuple[list[Ints] | None, Floats]:
        """Best alignment and its score of every pair, those of candidates included.

        Parameters
        ----------
        model : array (n_weights,)
        trace : bool
            Without, scores alone are returned, which takes half the time or less.

        Returns
        -------
        alignments : list of int arrays (k, 2), or None
        scores : array (n_pairs,)
        """
        blocks, model = self.blocks, self.total(model)
        if not trace and self._is_unmasked():
            return None, self._scores(model)
        n_pairs = len(blocks.pair_a)
        length = np.diff(blocks.a_offset)[blocks.pair_a] * trace
        offset = offsets_of(length)
        code, value = np.empty(offset[-1], np.int32), np.empty(n_pairs)

        def visit(work: Any, first: int, last: int) -> None:
            batch.decode_rows(
                self.plain_blocks, work, model, first, last, offset, code, value, trace
            )

        self.visit_shards(n_pairs, visit, shards_by_effort(self.cells))
        if not trace:
            return None, value
        return [pairs_of(one) for one in np.split(code, offset[1:-1])], value

    def _is_unmasked(self) -> bool:
        """Whether every cell counts, and ends are those of global or local mode."""
        blocks = self.blocks
        masks = len(blocks.forbid) + len(blocks.given)
        is_plain = blocks.free == 0 or blocks.free & ANYWHERE
        return bool(blocks.keeps_rows and blocks.band < 0 and not masks and is_plain)

    def _scores(self, model: Floats) -> Floats:
        """Best scores alone of all pairs, in single precision where it is exact."""
        blocks, pairs = self.blocks, self.blocks.pairs
        n_features = max(
            len(table) for table in (pairs.a_row.T, pairs.a_open, pairs.a_extend)
        )
        n_tokens = np.diff(blocks.a_offset).max() + np.diff(blocks.b_offset).max()
        largest = 4.0 * n_tokens * n_features * np.abs(model).max(initial=0.0)
        is_whole = largest < MAX_EXACT and (model == np.round(model)).all()
        is_exact = is_whole and not self.layout.widths
        like = np.zeros(1, np.float32 if is_exact else np.float64)
        is_local = blocks.free != 0
        value = np.empty(len(blocks.pair_a))

        def visit(work: Any, first: int, last: int) -> None:
            score_rows(
                self.plain_blocks, work, model, is_local, like, first, last, value
            )

        self.visit_shards(len(value), visit, shards_by_effort(self.cells))
        return value


class LatentChoiceProblem(ChoiceProblem):
    """Candidates, some homologues among them of unknown alignment: see `Latent`.

    The truth of such an example is the best alignment of its homologue under the last
    model, so the slack is max(0, 1 + best score of a decoy − best score of the
    homologue), each over all alignments. The loss of a decoy is 1 whatever the
    completion.
    """

    hidden: Ints  # examples of unknown alignment

    def complete(self, model: Floats) -> Cuts:
        """Align the homologues; the old truths of examples that changed."""
        blocks, hidden = self.blocks, self.hidden
        place = np.zeros(len(blocks.pair_a), np.int64)
        place[blocks.pair_first[hidden]] = blocks.offset[hidden]
        code, value = blocks.y.copy(), np.empty(len(place))

        def visit(work: Any, first: int, last: int) -> None:
            for pair in blocks.pair_first[hidden[first:last]].tolist():
                batch.decode_rows(
                    self.plain_blocks, work, model, pair, pair + 1, place, code, value,
                    True,
                )  # fmt: skip

        self.visit_shards(len(hidden), visit, shard=16)
        cuts = replace_truths(blocks.y, blocks.offset, code)
        # an output ends with the number of its candidate, of a truth the first
        indptr = cuts.indptr + np.arange(len(cuts.indptr))
        return cuts._replace(
            code=np.insert(cuts.code, cuts.indptr[1:], 0), indptr=indptr
        )


class AlignmentProblem(KBestCuts, ChoiceProblem):
    """Packed pairs of sequences, with sums over alignments and the k best."""

    def k_best(self, model: Floats, k: int) -> list[list[tuple[Any, float]]]:
        """The k alignments of highest score with their scores, for each pair."""
        return [
            [(pairs_of(code), score) for code, score in ranked]
            for ranked in self.k_best_codes(model, k)
        ]

    def fill_best(
        self, model: Floats, rows: Ints, with_loss: bool, first: int, last: int,
        work: Any, best: BestOutputs,
    ) -> None:  # fmt: skip
        """Write the best alignments of rows [first, last)."""
        blocks, k, total = self.blocks, best.k, self.total(model)
        for r in range(first, last):
            i = rows[r]
            chart = batch.chart_of(blocks, work, total, i)
            if with_loss:
                here = slice(blocks.offset[i], blocks.offset[i + 1])
                charts.lower_matches(
                    chart, blocks.y[here], blocks.counted[here], blocks.unit[i],
                    blocks.tolerance,
                )  # fmt: skip
            places = slice(best.indptr[r] * k, best.indptr[r + 1] * k)
            codes = best.code[places].reshape(k, -1)
            best.n_found[r] = charts.k_best(chart, k, codes, best.value[r])
        if with_loss:
            batch.planes_of_rows(
                blocks, model, rows, k, first, last, best.indptr, best.code,
                *best[-4:],
            )  # fmt: skip

    def marginals(self, model: Floats) -> tuple[list[Floats], Floats]:
        """Posterior alignments: P(i matched with j) (n, m), and log Z, of each pair."""
        blocks, model = self.blocks, self.total(model)
        posterior: list[Any] = [None] * self.n_blocks
        log_z = np.empty(self.n_blocks)

        def visit(work: Any, first: int, last: int) -> None:
            for i in range(first, last):
                chart = batch.chart_of(blocks, work, model, i)
                log_z[i], posterior[i], *_ = expected_counts(chart, blocks.free)

        self.visit_shards(self.n_blocks, visit)
        return posterior, log_z

    def log_likelihood(self, model: Floats, weight: Floats) -> tuple[Floats, Floats]:
        """Loss log Z_i − <w, φ(y_i)> of each pair, and Σ c_i (E[φ] − φ(y_i))."""
        blocks, model = self.blocks, self.total(model)
        loss = np.empty(self.n_blocks)
        shard = max(1, -(-self.n_blocks // N_SUMS))
        sums = [self.zero() for _ in range(0, self.n_blocks, shard)]

        def visit(work: Any, first: int, last: int) -> None:
            for i in range(first, last):
                chart = batch.chart_of(blocks, work, model, i)
                log_z, *counts = expected_counts(chart, blocks.free)
                truth = batch.add_expected(
                    blocks, model, i, *counts, weight[i], sums[first // shard]
                )
                loss[i] = log_z - truth

        self.visit_shards(self.n_blocks, visit, shard=shard)
        gradient = sums[0]
        for other in sums[1:]:
            gradient += other
        return loss, gradient


def pairs_of(code: Ints) -> Ints:
    """Aligned tokens (k, 2) from the partner of each token of a."""
    rows = np.flatnonzero(code >= 0)
    return np.stack([rows, code[rows]], axis=1)


def _digest(arrays: list[Any], salt: bytes = b"") -> bytes:
    digest = hashlib.blake2b(salt, digest_size=12)
    for array in arrays:
        digest.update(repr(array.shape).encode())
        digest.update(np.ascontiguousarray(array).data)
    return digest.digest()
