"""Packed dependency trees: an arborescence's `Problem`, in numba."""

from __future__ import annotations

from typing import Any

import numpy as np

from partwise.compiled import Reference
from partwise.objective import MARGIN, Formulation
from partwise.protocol import CapabilityError, Floats, offsets_of
from partwise.scorers._stored_arcs import StoredRows
from partwise.structures.dependency import _batch as batch
from partwise.structures.dependency._compiled import ArcBlocks, new_arc_work
from partwise.structures.dependency._searches import GIVEN
from partwise.structures.dependency._sums import new_sum_work
from partwise.structures.dependency.problem import TreeProblem
from partwise.structures.losses import ADDITIVE
from partwise.structures.packed import ScoredProblem, aligned_zeros
from partwise.threads import add_scaled


class ArborescenceProblem(TreeProblem, ScoredProblem):
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

        plain = blocks._replace(
            unit=np.zeros_like(blocks.unit), oracle=ADDITIVE, label_cost=0.0,
            rule=MARGIN,
        )  # fmt: skip
        super().__init__(
            structure,
            blocks,
            plain,
            offset=blocks.offset,
            length=scorer.n_weights,
            new_work=lambda: new_arc_work(self.longest, blocks.rows.width),
            formulation=formulation,
            n_jobs=n_jobs,
            scorer=scorer,
        )

    def narrow_blocks(self) -> tuple[Any, Any] | None:
        """Blocks that search likely heads, with a model in single precision."""
        rows: Any = self.blocks.rows
        if not isinstance(rows, StoredRows) or not len(rows.heads):
            return None
        w32 = aligned_zeros(self.n_weights, dtype=np.float32)
        rows = rows._replace(is_narrow=1, w32=w32)
        return Reference(self.blocks._replace(rows=rows)), w32

    def marginals(self, model: Floats) -> tuple[list[Floats], Floats]:
        """P(arc from h to d) ∝ exp(score), (n + 1, n + 1), and log Z of each row."""
        sizes = np.diff(self.blocks.offset) + 1
        indptr = offsets_of(sizes * sizes)
        out, log_z = np.empty(indptr[-1]), np.empty(self.n_blocks)

        def visit(work: Any, first: int, last: int) -> None:
            table = np.zeros((self.longest + 1, self.longest + 1))
            batch.marginal_rows(
                self.plain_blocks, work, new_sum_work(self.longest), model, table,
                first, last, indptr, out, log_z,
            )  # fmt: skip

        self.visit_shards(self.n_blocks, visit)
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

        def visit(work: Any, first: int, last: int) -> None:
            table = np.zeros((self.longest + 1, self.longest + 1))
            batch.likelihood_rows(
                self.plain_blocks, work, new_sum_work(self.longest), model, table,
                weight, first, last, loss, models[first // half],
            )  # fmt: skip

        self.visit_shards(self.n_blocks, visit, shard=half)
        if len(models) == 2:
            add_scaled(self.n_jobs, models[0], 1.0, models[1])
        return loss, models[0]
