"""What all packed dependency trees share: oracles, the best trees, k of them."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from partwise.features._arc_compiled import ArcFeatures
from partwise.protocol import CapabilityError, Cuts, Floats, Ints
from partwise.scorers.arcs import all_weights, used_weights
from partwise.structures.dependency import _batch as batch
from partwise.structures.dependency._searches import BEST_HEADS, GIVEN
from partwise.structures.digests import digests
from partwise.structures.k_best import BestOutputs, KBestCuts
from partwise.structures.packed import PackedProblem


class ScoreTables(NamedTuple):
    """Scores of all parts of one sentence of n words; −inf forbids an arc."""

    arc: Floats  # (n + 1, n + 1, n_labels) from head to dependent
    sibling: Floats | None = None  # (n + 1, n + 1, n + 1) as in `constrained_tree`
    grandparent: Floats | None = None


class TreeProblem(KBestCuts, PackedProblem):
    """Packed sentences and their trees, whatever their parts."""

    longest: int
    features: Any = None  # what the problem was packed from

    def truths_for_keys(self) -> Ints:
        """True codes."""
        return self.blocks.y

    def keys(self) -> list[bytes] | None:
        """Digests of features and true codes."""
        if not isinstance(self.features, ArcFeatures):
            return None  # keys of a kernel's parts are numbered by each fit
        pieces = [
            (self.truths_for_keys(), self.blocks.offset),
            (self.features.shares, self.features.offset),
            (self.features.single, self.features.offset),
        ]
        return digests(pieces, self.n_blocks)

    def compact(self, model: Floats) -> Floats:
        """Weights of all rows of the featurizer."""
        return all_weights(self.blocks.rows, self.features, model)

    def expand(self, weights: Floats) -> Floats:
        """Weights of the rows in use."""
        return used_weights(self.blocks.rows, self.features, weights)

    def effort(self) -> Floats:
        """Arcs that each sentence might have."""
        return (np.diff(self.blocks.offset) + 1.0) ** 2

    def outputs(self, cuts: Cuts) -> list[Ints]:
        """Codes of the cuts, head · n_labels + label of each word."""
        return cuts.codes

    def best_outputs(
        self, model: Floats, rows: Ints, k: int, *, with_loss: bool
    ) -> BestOutputs:
        """The k best trees, of first or second order."""
        if self.blocks.construction in (BEST_HEADS, GIVEN):
            raise CapabilityError("k best trees need <construction='exact'>")
        return super().best_outputs(model, rows, k, with_loss=with_loss)

    def fill_best(
        self, model: Floats, rows: Ints, with_loss: bool, first: int, last: int,
        work: Any, best: BestOutputs,
    ) -> None:  # fmt: skip
        """Write the best trees of rows [first, last)."""
        blocks = self.blocks if with_loss else self.plain_blocks
        n_ranks = 1 if blocks.n_labels == 1 else min(best.k, blocks.n_labels)
        options = np.empty((n_ranks, self.longest + 1, self.longest + 1))
        batch.k_best_rows(
            blocks, work, model, rows, best.k, with_loss, first, last, options,
            *best,
        )  # fmt: skip

    def marginals(self, model: Floats) -> tuple[list[Floats], Floats]:
        """P(arc from h to d) ∝ exp(score), (n + 1, n + 1), and log Z of each row."""
        raise NotImplementedError

    def decode(
        self, model: Floats, given: Ints | None = None, labels: Ints | None = None
    ) -> tuple[Ints, Floats, Any]:
        """Best codes of all words, scores of the trees, and which are trees at all.

        Parameters
        ----------
        model : array (n_weights,)
        given, labels : int arrays (n_words,), optional
            Heads and numbers of labels that are known; −1 where they are not.
        """
        code = np.zeros(self.blocks.offset[-1], np.int32)
        value = np.zeros(self.n_blocks)
        is_valid = np.ones(self.n_blocks, np.bool_)
        fixed, names = (
            np.asarray([] if part is None else part, np.int32)
            for part in (given, labels)
        )

        def visit(work: Any, first: int, last: int) -> None:
            batch.decode_rows(
                self.plain_blocks, work, model, fixed, names, first, last, code, value,
                is_valid,
            )  # fmt: skip

        self.visit_shards(self.n_blocks, visit)
        return code, value, is_valid

    def confidences(self, model: Floats) -> list[Floats]:
        """P(head in the best tree) of each word, (n,) for each sentence."""
        tables, _ = self.marginals(model)
        heads = self.decode(model)[0] // self.blocks.n_labels
        rows = np.split(heads, self.blocks.offset[1:-1])
        return [
            table[row, np.arange(1, len(row) + 1)]
            for table, row in zip(tables, rows, strict=True)
        ]

    def score_tables(self, model: Floats, i: int) -> ScoreTables:
        """Scores of all parts of sentence i, for programs that want them at once."""
        work = self.borrow_work()
        batch.score_row(self.plain_blocks, work, model, i)
        size = int(np.diff(self.blocks.offset)[i]) + 1
        scores, n_labels = work.scores, self.blocks.n_labels
        arc = scores.total[:size, :size, None].copy()
        if n_labels > 1:
            every = scores.arc[:, :, None] + scores.label[:, :, :n_labels]
            arc = np.where(arc > -np.inf, every[:size, :size], -np.inf)
        tables = self._with_parts(ScoreTables(arc), work)
        self.return_work(work)
        return tables

    def _with_parts(self, tables: ScoreTables, work: Any) -> ScoreTables:
        """Add the scores of larger parts."""
        return tables
