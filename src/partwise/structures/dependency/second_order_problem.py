"""Packed dependency trees with second-order parts, over candidate heads."""

from __future__ import annotations

from typing import Any

import numpy as np

from partwise.compiled import Reference
from partwise.objective import Formulation
from partwise.protocol import CapabilityError, Cuts, Floats, Ints
from partwise.structures.dependency._second_order_compiled import (
    SecondOrderBlocks,
    new_second_order_work,
)
from partwise.structures.dependency.problem import ScoreTables, TreeProblem
from partwise.structures.packed import aligned_zeros

FIRST_HEADS = 5  # of each word's candidates, and the true one, for narrow searches


def first_heads(heads: Ints, truth: Ints) -> Ints:
    """The first candidates of each word and its true head, (n_words, ·); −1 for none.

    Parts of second order grow with the square of the candidates.
    """
    few = np.full((len(heads), min(FIRST_HEADS + 1, heads.shape[1])), -1, np.int32)
    few[:, :FIRST_HEADS] = heads[:, :FIRST_HEADS]
    absent = ~(few == truth[:, None]).any(axis=1)
    few[absent, -1] = truth[absent]
    return few


class SecondOrderProblem(TreeProblem):
    """Packed sentences whose trees also score siblings and grandparents.

    The output space is the trees of candidate arcs. With crossing arcs allowed the
    search climbs to a good tree and knows no bound of its violation.
    """

    def __init__(
        self,
        structure: Any,
        blocks: SecondOrderBlocks,
        formulation: Formulation,
        n_jobs: int,
        scorer: Any,
        has_grandparents: bool,
    ) -> None:
        self.longest = int(np.diff(blocks.offset).max())
        rows: Any = blocks.rows
        n_candidates = rows.candidates().shape[1]

        def localise() -> tuple[SecondOrderBlocks, int]:
            local = scorer.local(rows, blocks.offset)
            return blocks._replace(rows=local), scorer.n_weights(local)

        super().__init__(
            blocks,
            blocks._replace(unit=np.zeros_like(blocks.unit), label_cost=0.0),
            localise,
            n_blocks=len(blocks.offset) - 1,
            n_weights=scorer.n_weights(rows),
            formulation=formulation,
            new_work=lambda: new_second_order_work(
                self.longest, rows.width, n_candidates, has_grandparents
            ),
            n_jobs=n_jobs,
        )
        self.structure = structure

    def narrow_blocks(self) -> tuple[Any, Any] | None:
        """Blocks that search fewer candidates, with a model in single precision."""
        blocks = self.blocks
        rows: Any = blocks.rows
        heads = first_heads(rows.candidates(), blocks.y // blocks.n_labels)
        w32 = aligned_zeros(self.n_weights, dtype=np.float32)
        rows = rows.narrowed(heads, w32)
        return Reference(blocks._replace(rows=rows, is_narrow=1)), w32

    def k_cuts(self, model: Floats, rows: Ints, k: int) -> Cuts:
        """The k most violated trees; with crossing arcs k good ones."""
        cuts = super().k_cuts(model, rows, k)
        if self.structure.projective:
            return cuts
        return cuts._replace(bound=np.full(len(cuts.bound), np.inf))

    def k_best(self, model: Floats, k: int) -> list[list[tuple[Ints, float]]]:
        """The k trees of highest score; with crossing arcs k good ones."""
        ranked = super().k_best(model, k)
        return [sorted(trees, key=lambda pair: -pair[1]) for trees in ranked]

    def marginals(self, model: Floats) -> tuple[list[Floats], Floats]:
        """Not known."""
        raise CapabilityError(
            "probabilities of second-order trees are not known; fit with <order=1>"
        )

    def _with_parts(self, tables: ScoreTables, work: Any) -> ScoreTables:
        """Second-order scores of candidate arcs, which alone have a row of them."""
        size = len(tables.arc)
        chosen = np.isfinite(tables.arc.max(axis=2))
        chosen[:, 0] = False
        np.fill_diagonal(chosen, False)
        rows = work.parts.row[:size, :size][chosen]
        cubes: list[Floats | None] = [None, None]
        for k, scores in enumerate((work.parts.sibling, work.parts.grandparent)):
            if len(scores):
                cube = np.zeros((size, size, size))
                cube[chosen] = scores[rows, :size]
                cubes[k] = cube
        return tables._replace(sibling=cubes[0], grandparent=cubes[1])
