"""Packed dependency trees with second-order parts, over candidate heads."""

from __future__ import annotations

from typing import Any

import numpy as np

from partwise.objective import Formulation
from partwise.protocol import CapabilityError, Cuts, Floats, Ints
from partwise.scorers.arcs import n_weights
from partwise.structures._second_order_kernels import (
    PartBlocks,
    decode_part_rows,
    new_part_work,
)
from partwise.structures.packed import PackedProblem
from partwise.threads import run_sharded


class SecondOrderProblem(PackedProblem):
    """Packed sentences whose trees also score siblings and grandparents.

    The output space is the trees of candidate arcs. With crossing arcs allowed the
    oracle climbs to a good tree and is not exact.
    """

    def __init__(
        self,
        structure: Any,
        blocks: PartBlocks,
        formulation: Formulation,
        n_jobs: int,
        has_grandparents: bool,
    ) -> None:
        self.longest = int(np.diff(blocks.offset).max())
        rows: Any = blocks.rows
        size = n_weights(rows)
        super().__init__(
            blocks,
            blocks._replace(unit=np.zeros_like(blocks.unit), label_cost=0.0),
            blocks,
            n_blocks=len(blocks.offset) - 1,
            n_weights=size,
            n_local=size,
            formulation=formulation,
            new_work=lambda: new_part_work(
                self.longest, rows.width, rows.heads.shape[1], has_grandparents
            ),
            n_jobs=n_jobs,
        )
        self.structure = structure
        self.exact_oracle = bool(structure.projective)

    def effort(self) -> Floats:
        """Arcs that each sentence might have."""
        return (np.diff(self.blocks.offset) + 1.0) ** 2

    def outputs(self, cuts: Cuts) -> list[Ints]:
        """Codes of the cuts, head · n_labels + label of each word."""
        return np.split(cuts.code, cuts.indptr[1:-1])

    def oracle(self, model: Floats, rows: Ints | None = None, *, k: int = 1) -> Cuts:
        """Most violated trees; one per row."""
        if k > 1:
            raise CapabilityError("k best trees need order=1")
        cuts = super().oracle(model, rows)
        if self.exact_oracle:
            return cuts
        # the tree that was found may be worse than the true one, which has violation 0
        return cuts._replace(bound=np.maximum(cuts.violation, 0.0))

    def decode(
        self, model: Floats, given: Ints | None = None
    ) -> tuple[Ints, Floats, Any]:
        """Best codes of all words, scores of the trees, and whether they are trees.

        Parameters
        ----------
        model : array (n_weights,)
        given : int array (n_words,), optional
            Heads that are known; −1 where they are not. They must be candidates.
        """
        code = np.zeros(self.blocks.offset[-1], np.int32)
        value = np.zeros(self.n_blocks)
        fixed = np.zeros(0, np.int32) if given is None else np.asarray(given, np.int32)

        def work_on(first: int, last: int) -> None:
            work = self.borrow_work()
            decode_part_rows(
                self.plain_blocks, work, model, fixed, first, last, code, value
            )
            self.return_work(work)

        run_sharded(self.n_jobs, self.n_blocks, work_on)
        return code, value, np.ones(self.n_blocks, np.bool_)
