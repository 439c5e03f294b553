"""Packing of parts for a compiled decoder: Python objects to flat arrays and back."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from partwise.compiled import address_of
from partwise.objective import Formulation
from partwise.protocol import Cuts, Ints, offsets_of
from partwise.scorers.linear import LinearScorer
from partwise.structures.loop import refuse_missing
from partwise.structures.packed import PackedProblem
from partwise.structures.parts._compiled import DECODER, PartBlocks, PartWork
from partwise.structures.parts._inputs import part_shape, stack_parts, true_parts

if TYPE_CHECKING:
    from partwise.structures.parts import PartSelection


class PartProblem(PackedProblem):
    """Problem over masks of parts."""

    def outputs(self, cuts: Cuts) -> list[Ints]:
        """Part numbers of each mask."""
        return [np.flatnonzero(code) for code in cuts.codes]


def pack_parts(
    structure: PartSelection,
    X: Sequence[Any],
    Y: Sequence[Any],
    formulation: Formulation,
    n_jobs: int,
    scorer: Any = None,
    rows: Any = None,
    kind: type[PartProblem] | None = None,
) -> PartProblem:
    """Lay parts, truths and shapes end to end.

    `scorer`, with the rows it has bound and the kind of the problem, is `LinearScorer`
    by default.
    """
    refuse_missing(structure, formulation.validate())
    features = stack_parts(X)
    first = features.offset
    if scorer is None:
        scorer = LinearScorer()
        rows = scorer.bind(features)
    truth = np.zeros(first[-1], np.uint8)
    for i, y in enumerate(Y):
        parts = true_parts(i, y, int(first[i + 1] - first[i]))
        truth[first[i] + parts] = 1
    shapes = [part_shape(x) for x in X]
    loss = structure._part_loss()
    sizes = np.diff(first).tolist()
    terms = [loss.terms(y, n)[0] for y, n in zip(Y, sizes, strict=True)]
    blocks = PartBlocks(
        rows,
        first,
        truth,
        np.concatenate([np.zeros(0), *terms]),
        offsets_of([len(shape) for shape in shapes]),
        np.concatenate([np.zeros(0, np.int64), *shapes]),
        address_of(DECODER, structure.decoder),
        int(structure.exact_oracle),
    )

    def localise() -> tuple[PartBlocks, int]:
        local = scorer.local(rows, first)
        return blocks._replace(rows=local), local.n_features

    most = int(np.diff(first).max(initial=1))
    return (kind or PartProblem)(
        blocks,
        blocks._replace(addition=np.zeros(first[-1])),
        localise,
        n_blocks=len(X),
        n_weights=rows.n_features,
        formulation=formulation,
        new_work=lambda: PartWork(
            np.empty((most, 1)), np.empty(most), np.empty(most, np.uint8)
        ),
        n_jobs=n_jobs,
    )
