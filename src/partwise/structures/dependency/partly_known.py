"""Packed dependency trees of which some heads and labels are not known.

Let K be the words with a known head and L those with a known label. The loss counts
what is known:

    Δ(y, ŷ) = |{d ∈ K: ĥ_d ≠ h_d}| + c·|{d ∈ L: label wrong, and head right or unknown}|

with c the cost of a label. The completion is the best tree with all known heads and
labels.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from partwise.objective import Formulation
from partwise.protocol import Cuts, Floats, Ints
from partwise.structures.dependency._compiled import ArcBlocks
from partwise.structures.dependency._oracles import FROZEN, NO_HEAD, NO_LABEL
from partwise.structures.dependency._searches import BEST_HEADS, decode_by
from partwise.structures.dependency.first_order_problem import ArborescenceProblem
from partwise.structures.hidden_truths import replace_truths


def known_words(hidden: Any, offset: Ints, n_labels: int) -> Ints:
    """Words of each sentence of which something is known, at least 1."""
    nothing = NO_HEAD | NO_LABEL if n_labels else NO_HEAD
    is_known = (hidden & nothing) != nothing
    return np.maximum(np.add.reduceat(is_known.astype(np.int64), offset[:-1]), 1)


class LatentTreeProblem(ArborescenceProblem):
    """Packed sentences whose trees are partly known."""

    def __init__(
        self,
        structure: Any,
        blocks: ArcBlocks,
        formulation: Formulation,
        n_jobs: int,
        scorer: Any,
    ) -> None:
        super().__init__(structure, blocks, formulation, n_jobs, scorer)
        self._tag = blocks
        heads, labels = np.divmod(blocks.y, blocks.n_labels)
        self._heads: Ints = np.where(blocks.hidden & NO_HEAD, -1, heads)
        self._labels: Ints = np.where(blocks.hidden & NO_LABEL, -1, labels)
        if not structure.n_labels:
            self._labels = np.zeros(0, np.int32)
        self._known = np.append(self._heads, self._labels).reshape(-1, len(heads)).T
        _, value, _ = self.decode(self.zero(), self._heads, self._labels)
        if np.isneginf(value).any():
            raise ValueError(
                f"tree {int(np.argmin(value))}: no tree has its known heads; check for "
                "circles, crossing arcs and several roots"
            )
        self.complete(self.zero())

    def truths_for_keys(self) -> Any:
        """Known heads and labels, without completions."""
        return self._known

    def complete(self, model: Floats) -> Cuts:
        """Find what is hidden; the old truths of sentences that changed."""
        code, *_ = self.decode(model, self._heads, self._labels)
        return replace_truths(self._tag.y, self._tag.offset, code)

    def known_problem(self) -> tuple[ArborescenceProblem, Ints]:
        """Heads and labels of the words of which all is known, each on its own.

        The best head of each word, tree or not: the rest of a tree has no part in it.
        """
        tag = self._tag
        frozen = np.where(tag.hidden, NO_HEAD | NO_LABEL | FROZEN, 0).astype(np.uint8)
        words = tag._replace(
            construction=BEST_HEADS, single_root=0, decode=decode_by(BEST_HEADS),
            hidden=frozen, y=tag.y.copy(),
        )  # fmt: skip
        problem = ArborescenceProblem(
            self.structure, words, self.formulation, self.n_jobs, self.scorer
        )
        problem.features = self.features
        return problem, np.arange(self.n_blocks)
