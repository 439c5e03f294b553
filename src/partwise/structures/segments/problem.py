"""Packed segmentations: the `Problem` of `Segments`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from partwise.objective import Formulation
from partwise.protocol import Cuts, Floats, Ints
from partwise.scorers._rows import number_locally
from partwise.structures.digests import row_digests
from partwise.structures.k_best import BestOutputs, KBestRows
from partwise.structures.packed import ScoredProblem, decode_tokens
from partwise.structures.segments import _batch as batch
from partwise.structures.segments._compiled import SegmentBlocks, new_segment_work


class SegmentsProblem(KBestRows, ScoredProblem):
    """Packed sequences with segmentations.

    A model has padded rows of weights and may number features in its own way; `compact`
    and `expand` convert from and to the plain layout of `Segments.joint_feature`.
    """

    def __init__(
        self,
        structure: Any,
        blocks: SegmentBlocks,
        formulation: Formulation,
        n_jobs: int,
        scorer: Any,
        number: Ints | None,
    ) -> None:
        size, width, depth = structure.n_labels, blocks.width, blocks.depth
        n_rest = size * (depth + size)
        most = int(np.diff(blocks.offset).max(initial=1))
        has_spans = blocks.span_rows.n_features > 0

        def localise() -> tuple[Any, int]:
            local = scorer.local(blocks.rows, blocks.offset)
            spans = blocks.span_rows
            if has_spans:
                indices = np.empty_like(spans.indices)
                n_local = number_locally(
                    blocks.offset * depth, spans.indptr, spans.indices,
                    spans.n_features, indices,
                )  # fmt: skip
                n_local = max(1, int(n_local))  # 0 stands for no features of segments
                spans = spans._replace(indices=indices, n_features=n_local)
            n_weights = local.n_features * width + spans.n_features * blocks.span_width
            return blocks._replace(rows=local, span_rows=spans), n_weights + n_rest

        n_tokens = blocks.rows.n_features * width
        n_spans = blocks.span_rows.n_features * blocks.span_width
        super().__init__(
            structure,
            blocks,
            blocks._replace(has_loss=0),
            offset=blocks.offset,
            length=lambda rows: rows.n_features * width + n_spans + n_rest,
            new_work=lambda: new_segment_work(most, width, size, depth, has_spans),
            formulation=formulation,
            n_jobs=n_jobs,
            scorer=scorer,
            number=number,
            localise=localise,
        )
        self._ends = (n_tokens, n_tokens + n_spans)

    def _tables(self, model: Floats) -> tuple[Floats, Floats, Floats]:
        """Weights of tokens and spans without padding, and the others; views."""
        a, b = self._ends
        size = self.structure.n_labels
        tokens = model[:a].reshape(-1, self.blocks.width)[:, : 3 * size]
        spans = model[a:b].reshape(-1, self.blocks.span_width)[:, :size]
        return tokens, spans, model[b:]

    def compact(self, model: Floats) -> Floats:
        """A model in the plain layout, flat."""
        tokens, spans, rest = self._tables(model)
        return np.concatenate([tokens[self.number].ravel(), spans.ravel(), rest])

    def expand(self, weights: Floats) -> Floats:
        """A model of this problem from the plain layout."""
        model, weights = self.zero(), np.asarray(weights)
        tokens, spans, rest = self._tables(model)
        a, b = tokens.size, tokens.size + spans.size
        tokens[self.number] = weights[:a].reshape(tokens.shape)
        spans[:] = weights[a:b].reshape(spans.shape)
        rest[:] = weights[b:]
        return model

    def effort(self) -> Floats:
        """Tokens of each sequence."""
        return np.diff(self.blocks.offset) + 1.0

    def keys(self) -> list[bytes] | None:
        """Digests of features of tokens and truths; None with features of segments."""
        blocks: Any = self.blocks
        if blocks.span_rows.n_features:
            return None
        return row_digests(blocks.rows, self.number, blocks.y, blocks.offset)

    def outputs(self, cuts: Cuts) -> list[Any]:
        """Segments of the cuts."""
        return [self.structure.decode_code(code) for code in cuts.codes]

    def decode(self, model: Floats, given: Ints | None = None) -> tuple[Ints, Floats]:
        """Codes of the best segmentations, (n_tokens,), and their scores.

        Parameters
        ----------
        model : array (n_weights,)
        given : int array (n_tokens,), optional
            Codes that are known; −1 where they are not.
        """
        return decode_tokens(self, batch.decode_rows, model, given)

    def fill_best(
        self, model: Floats, rows: Ints, with_loss: bool, first: int, last: int,
        work: Any, best: BestOutputs,
    ) -> None:  # fmt: skip
        """Write the best outputs of rows [first, last)."""
        k, size = best.k, self.blocks.span_width
        for r in range(first, last):
            a, z = best.indptr[r], best.indptr[r + 1]
            places = (int(z - a) + 1) * size
            ended, ahead = np.empty((places, k)), np.empty((places, k))
            ended_at, ahead_at = (np.zeros((places, k, 2), np.int32) for _ in range(2))
            batch.best_of_block(
                self.blocks, work, model, rows[r], k, ended, ended_at, ahead, ahead_at,
                best.code[a * k : z * k].reshape(k, -1), best.value[r],
            )  # fmt: skip
            best.n_found[r] = np.sum(best.value[r] > -np.inf)

    def _sums(self) -> Iterator[tuple[int, tuple[Floats, Floats, Floats]]]:
        """Each block with room for sums from its end, and for those of segments."""
        size, wide = self.structure.n_labels, self.blocks.span_width
        for i, n in enumerate(np.diff(self.blocks.offset).tolist()):
            behind, begun = np.empty((n + 1, wide)), np.empty((n + 1, wide))
            yield i, (behind, begun, np.empty((n, self.blocks.depth, size)))

    def segment_marginals(self, model: Floats) -> tuple[list[Floats], Floats]:
        """P(segment) under exp(score), and log Z of each sequence.

        Entry (b, d, l) of an array (n, D, L) is that of the segment of d + 1 tokens
        with label l that begins with token b.
        """
        shares, totals, work = [], np.empty(self.n_blocks), self.borrow_work()
        for i, room in self._sums():
            totals[i] = batch.marginals_of_block(self.blocks, work, model, i, *room)
            shares.append(room[-1])
        self.return_work(work)
        return shares, totals

    def marginals(self, model: Floats) -> tuple[Floats, Floats]:
        """P(code at token), (n_tokens, n_codes), and log Z of each sequence."""
        blocks: Any = self.blocks
        out = np.zeros((blocks.offset[-1], len(blocks.label_of)))
        shares, totals = self.segment_marginals(model)
        for i, share in enumerate(shares):
            batch.sum_by_code(blocks, i, share, out)
        return out, totals

    def log_likelihood(self, model: Floats, weight: Floats) -> tuple[Floats, Floats]:
        """Loss log Z_i − <w, φ(y_i)> of each row, and Σ c_i (E[φ] − φ(y_i))."""
        losses, gradient = np.empty(self.n_blocks), self.zero()
        work = self.borrow_work()
        for i, room in self._sums():
            losses[i] = batch.add_gradient(
                self.blocks, work, model, i, weight[i], *room, gradient
            )
        self.return_work(work)
        return losses, gradient
