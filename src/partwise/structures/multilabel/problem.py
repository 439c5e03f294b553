"""Packed examples with sets of labels: the `Problem` of `Multilabel`."""

from __future__ import annotations

from typing import Any

import numpy as np

from partwise.objective import Formulation
from partwise.protocol import Floats, Ints
from partwise.structures.multilabel import _compiled as compiled
from partwise.structures.multilabel._compiled import LabelBlocks, new_label_work
from partwise.structures.multilabel._searches import BRANCH, LIST
from partwise.structures.row_structure import SetProblem


class MultilabelProblem(SetProblem):
    """Packed examples with sets of labels.

    A model has padded rows of weights and may number features in its own way; `compact`
    and `expand` convert from and to the plain layout: (n_features, K), then pairs.
    """

    def __init__(
        self,
        structure: Any,
        blocks: LabelBlocks,
        plain_blocks: LabelBlocks,
        offset: Ints,
        formulation: Formulation,
        n_jobs: int,
        scorer: Any,
        number: Ints | None,
    ) -> None:
        size, width, n_pairs = structure.n_labels, blocks.width, len(blocks.pairs)
        has_tables = any(b.search in (BRANCH, LIST) for b in (blocks, plain_blocks))
        super().__init__(
            structure,
            blocks,
            plain_blocks,
            n_pairs,
            offset=offset,
            formulation=formulation,
            new_work=lambda: new_label_work(size, width, n_pairs, has_tables),
            n_jobs=n_jobs,
            scorer=scorer,
            number=number,
        )

    def leads(self, model: Floats) -> tuple[Floats, Floats]:
        """Best score with each label less that without it, (n, K); best scores, (n,).

        The best set of a row has the labels that lead.
        """
        best = np.empty(self.n_blocks)
        out = np.empty((self.n_blocks, self.structure.n_labels))

        def visit(work: Any, first: int, last: int) -> None:
            compiled.leads(self.plain_blocks, work, model, first, last, best, out)

        self.visit_shards(self.n_blocks, visit)
        return out, best
