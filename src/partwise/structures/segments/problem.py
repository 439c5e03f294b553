"""Packed segmentations: the `Problem` of `Segments`."""

from __future__ import annotations

from typing import Any

import numpy as np

from partwise.objective import Formulation
from partwise.protocol import Cuts, Floats, Ints
from partwise.structures.packed import PackedProblem
from partwise.structures.segments import _compiled as compiled
from partwise.structures.segments._compiled import SegmentBlocks, new_segment_work


class SegmentsProblem(PackedProblem):
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

        def localise() -> tuple[Any, int]:
            local = scorer.local(blocks.rows, blocks.offset)
            return blocks._replace(rows=local), local.n_features * width + n_rest

        self.n_table = blocks.rows.n_features * width
        super().__init__(
            blocks,
            blocks._replace(has_loss=0),
            localise,
            n_blocks=len(blocks.offset) - 1,
            n_weights=self.n_table + n_rest,
            formulation=formulation,
            new_work=lambda: new_segment_work(most, width, size, depth),
            n_jobs=n_jobs,
        )
        self.structure = structure
        self.number = slice(None) if number is None else number

    def compact(self, model: Floats) -> Floats:
        """A model in the plain layout, flat."""
        table = model[: self.n_table].reshape(-1, self.blocks.width)
        weights = table[self.number, : 3 * self.structure.n_labels].ravel()
        return np.concatenate([weights, model[self.n_table :]])

    def expand(self, weights: Floats) -> Floats:
        """A model of this problem from the plain layout."""
        model, columns = self.zero(), 3 * self.structure.n_labels
        table = model[: self.n_table].reshape(-1, self.blocks.width)
        n_plain = len(table) * columns
        weights = np.asarray(weights)
        table[self.number, :columns] = weights[:n_plain].reshape(-1, columns)
        model[self.n_table :] = weights[n_plain:]
        return model

    def effort(self) -> Floats:
        """Tokens of each sequence."""
        return np.diff(self.blocks.offset) + 1.0

    def outputs(self, cuts: Cuts) -> list[Any]:
        """Segments of the cuts."""
        bounds = zip(cuts.indptr[:-1], cuts.indptr[1:], strict=True)
        return [self.structure.decode_code(cuts.code[a:z]) for a, z in bounds]

    def decode(self, model: Floats) -> list[Any]:
        """The best segmentation of each sequence."""
        return self.outputs(self.predict_codes(model))

    def k_best(self, model: Floats, k: int) -> list[list[tuple[Any, float]]]:
        """The k best segmentations of each sequence with their scores, best first."""
        offset, listed, work = self.blocks.offset, [], self.borrow_work()
        size = -(-self.structure.n_labels // 4) * 4
        for i in range(self.n_blocks):
            n = int(offset[i + 1] - offset[i])
            rows = (n + 1) * size
            ended, ahead = np.empty((rows, k)), np.empty((rows, k))
            ended_at, ahead_at = (np.zeros((rows, k, 2), np.int32) for _ in range(2))
            codes, value = np.zeros((k, n), np.int32), np.empty(k)
            compiled.best_of_block(
                self.plain_blocks, work, model, i, k, ended, ended_at, ahead, ahead_at,
                codes, value,
            )  # fmt: skip
            pairs = zip(codes, value.tolist(), strict=True)
            decode = self.structure.decode_code
            listed.append([(decode(code), v) for code, v in pairs if v > -np.inf])
        self.return_work(work)
        return listed

    def marginals(self, model: Floats) -> tuple[list[Floats], Floats]:
        """P(segment) under exp(score), and log Z of each sequence.

        Entry (b, d, l) of an array (n, D, L) is that of the segment of d + 1 tokens
        with label l that begins with token b.
        """
        size, offset = self.structure.n_labels, self.blocks.offset
        wide = -(-size // 4) * 4
        depth, work = self.blocks.depth, self.borrow_work()
        shares, totals = [], np.empty(self.n_blocks)
        for i in range(self.n_blocks):
            n = int(offset[i + 1] - offset[i])
            behind, begun = np.empty((n + 1, wide)), np.empty((n + 1, wide))
            out = np.empty((n, depth, size))
            totals[i] = compiled.marginals_of_block(
                self.plain_blocks, work, model, i, behind, begun, out
            )
            shares.append(out)
        self.return_work(work)
        return shares, totals
