"""Packed dependency trees: an arborescence's `Problem`, in numba."""

from __future__ import annotations

from typing import Any

import numpy as np

from partwise.objective import Formulation
from partwise.protocol import CapabilityError, Cuts, Floats, Ints
from partwise.structures import _arborescence_batch as batch
from partwise.structures._arborescence_kernels import ArcBlocks, new_arc_work
from partwise.structures._arborescence_searches import ADDITIVE, BEST_HEADS, GIVEN
from partwise.structures._tree_sums import new_sum_work
from partwise.structures.chain_problem import _flatten as flatten_cuts
from partwise.structures.packed import PackedProblem
from partwise.threads import add_scaled, run_sharded


class ArborescenceProblem(PackedProblem):
    """Packed sentences and their trees."""

    def __init__(
        self,
        structure: Any,
        blocks: ArcBlocks,
        formulation: Formulation,
        n_jobs: int,
        scorer: Any,
    ) -> None:
        self.longest = int(np.diff(blocks.offset).max())
        local = scorer.local(blocks.rows)
        super().__init__(
            blocks,
            blocks._replace(
                unit=np.zeros_like(blocks.unit), oracle=ADDITIVE, label_cost=0.0
            ),
            blocks._replace(rows=local),
            n_blocks=len(blocks.offset) - 1,
            n_weights=scorer.n_weights(blocks.rows),
            n_local=scorer.n_weights(local),
            formulation=formulation,
            new_work=lambda: new_arc_work(self.longest, blocks.rows.width),  # type: ignore[attr-defined]
            n_jobs=n_jobs,
        )
        self.structure = structure
        self.scorer = scorer
        self.is_euclidean = scorer.is_euclidean

    def effort(self) -> Floats:
        """Arcs that each sentence might have."""
        return (np.diff(self.blocks.offset) + 1.0) ** 2

    def outputs(self, cuts: Cuts) -> list[Ints]:
        """Codes of the cuts, head · n_labels + label of each word."""
        return np.split(cuts.code, cuts.indptr[1:-1])

    def oracle(self, model: Floats, rows: Ints | None = None, *, k: int = 1) -> Cuts:
        """Most violated trees; several per row by loss-augmented k-best."""
        if k == 1:
            return super().oracle(model, rows)
        if not self.formulation.is_additive:
            raise CapabilityError("k > 1 needs formulation='margin' and penalty='l1'")
        rows = np.arange(self.n_blocks) if rows is None else np.asarray(rows, np.int64)
        indptr, code, _, found, *planes = self._k_best(model, rows, k, with_loss=True)
        return flatten_cuts(rows, indptr, code, found, *planes)

    def _k_best(
        self, model: Floats, rows: Ints, k: int, *, with_loss: bool
    ) -> tuple[Any, ...]:
        blocks = self.blocks if with_loss else self.plain_blocks
        if blocks.construction in (BEST_HEADS, GIVEN):
            raise CapabilityError("k best trees need construction='exact'")
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

    def marginals(self, model: Floats) -> tuple[list[Floats], Floats]:
        """P(arc from h to d) ∝ exp(score), (n + 1, n + 1), and log Z of each row."""
        sizes = np.diff(self.blocks.offset) + 1
        indptr = np.append(0, np.cumsum(sizes * sizes)).astype(np.int64)
        out, log_z = np.empty(indptr[-1]), np.empty(self.n_blocks)

        def work_on(first: int, last: int) -> None:
            work = self.borrow_work()
            table = np.zeros((self.longest + 1, self.longest + 1))
            batch.marginal_rows(
                self.plain_blocks, work, new_sum_work(self.longest), model, table,
                first, last, indptr, out, log_z,
            )  # fmt: skip
            self.return_work(work)

        run_sharded(self.n_jobs, self.n_blocks, work_on)
        rows = np.split(out, indptr[1:-1])
        shapes = zip(rows, sizes, strict=True)
        return [row.reshape(size, size) for row, size in shapes], log_z

    def log_likelihood(self, model: Floats, weight: Floats) -> tuple[Floats, Floats]:
        """Loss log Z_i − <w, φ(y_i)> of each row, and Σ c_i (E[φ] − φ(y_i)).

        Two halves of the rows, each summed in row order, whatever `n_jobs`.
        """
        if self.blocks.construction == GIVEN:
            raise CapabilityError("a labeller of given trees has no log-likelihood")
        loss = np.empty(self.n_blocks)
        half = max(1, -(-self.n_blocks // 2))
        models = [self.zero() for _ in range(0, self.n_blocks, half)]

        def work_on(first: int, last: int) -> None:
            work = self.borrow_work()
            table = np.zeros((self.longest + 1, self.longest + 1))
            batch.likelihood_rows(
                self.plain_blocks, work, new_sum_work(self.longest), model, table,
                weight, first, last, loss, models[first // half],
            )  # fmt: skip
            self.return_work(work)

        run_sharded(self.n_jobs, self.n_blocks, work_on, shard=half)
        if len(models) == 2:
            add_scaled(self.n_jobs, models[0], 1.0, models[1])
        return loss, models[0]
