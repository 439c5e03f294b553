"""What all packed dependency trees share: oracles, the best trees, k of them."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from partwise.features._arc_compiled import ArcFeatures
from partwise.protocol import CapabilityError, Cuts, Floats, Ints
from partwise.structures.dependency import _batch as batch
from partwise.structures.dependency._searches import BEST_HEADS, GIVEN
from partwise.structures.packed import PackedProblem, digests, flatten_cuts
from partwise.threads import run_sharded


class ScoreTables(NamedTuple):
    """Scores of all parts of one sentence of n words; −inf forbids an arc."""

    arc: Floats  # (n + 1, n + 1, n_labels) from head to dependent
    sibling: Floats | None = None  # (n + 1, n + 1, n + 1) as in `constrained_tree`
    grandparent: Floats | None = None


class TreeProblem(PackedProblem):
    """Packed sentences and their trees, whatever their parts."""

    longest: int
    features: Any = None  # what the problem was packed from

    def keys(self) -> list[bytes] | None:
        """Digests of features and true codes."""
        if not isinstance(self.features, ArcFeatures):
            return None  # keys of a kernel's parts are numbered by each fit
        pieces = [
            (self.blocks.y, self.blocks.offset),
            (self.features.shares, self.features.offset),
            (self.features.found, self.features.offset),
        ]
        return digests(pieces, self.n_blocks)

    def effort(self) -> Floats:
        """Arcs that each sentence might have."""
        return (np.diff(self.blocks.offset) + 1.0) ** 2

    def outputs(self, cuts: Cuts) -> list[Ints]:
        """Codes of the cuts, head · n_labels + label of each word."""
        return np.split(cuts.code, cuts.indptr[1:-1])

    def k_cuts(self, model: Floats, rows: Ints, k: int) -> Cuts:
        """The k most violated planes of each row, by loss-augmented k-best."""
        if not self.formulation.is_additive:
            raise CapabilityError(
                "k > 1 needs <formulation='margin'> and <penalty='l1'>"
            )
        rows = np.asarray(rows, np.int64)
        indptr, code, _, found, *planes = self._k_best(model, rows, k, with_loss=True)
        return flatten_cuts(rows, indptr, code, found, *planes)

    def _k_best(
        self, model: Floats, rows: Ints, k: int, *, with_loss: bool
    ) -> tuple[Any, ...]:
        blocks = self.blocks if with_loss else self.plain_blocks
        if blocks.construction in (BEST_HEADS, GIVEN):
            raise CapabilityError("k best trees need <construction='exact'>")
        indptr = self.indptr_of(rows)
        code = np.zeros(indptr[-1] * k, np.int32)
        value = np.full((len(rows), k), -np.inf)
        found = np.zeros(len(rows), np.int64)
        planes = [np.zeros((len(rows), k)) for _ in range(3)]
        n_ranks = 1 if blocks.n_labels == 1 else min(k, blocks.n_labels)

        def work_on(first: int, last: int) -> None:
            options = np.empty((n_ranks, self.longest + 1, self.longest + 1))
            work = self.borrow_work()
            batch.k_best_rows(
                blocks, work, model, rows, k, with_loss, first, last, indptr, code,
                options, value, found, *planes,
            )  # fmt: skip
            self.return_work(work)

        run_sharded(self.n_jobs, len(rows), work_on)
        return indptr, code, value, found, *planes

    def k_best(self, model: Floats, k: int) -> list[list[tuple[Ints, float]]]:
        """The k trees of highest score with their scores, for each row."""
        rows = np.arange(self.n_blocks)
        indptr, code, value, found, *_ = self._k_best(model, rows, k, with_loss=False)
        answers = []
        for r in rows:
            codes = code[indptr[r] * k : indptr[r + 1] * k].reshape(k, -1)
            answers.append([(codes[j], float(value[r, j])) for j in range(found[r])])
        return answers

    def decode(
        self, model: Floats, given: Ints | None = None
    ) -> tuple[Ints, Floats, Any]:
        """Best codes of all words, scores of the trees, and which are trees at all.

        Parameters
        ----------
        model : array (n_weights,)
        given : int array (n_words,), optional
            Heads that are known; −1 where they are not.
        """
        code = np.zeros(self.blocks.offset[-1], np.int32)
        value = np.zeros(self.n_blocks)
        is_valid = np.ones(self.n_blocks, np.bool_)
        fixed = np.zeros(0, np.int32) if given is None else np.asarray(given, np.int32)

        def work_on(first: int, last: int) -> None:
            work = self.borrow_work()
            batch.decode_rows(
                self.plain_blocks, work, model, fixed, first, last, code, value,
                is_valid,
            )  # fmt: skip
            self.return_work(work)

        run_sharded(self.n_jobs, self.n_blocks, work_on)
        return code, value, is_valid

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
