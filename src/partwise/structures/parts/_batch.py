"""Packing of parts for a compiled decoder: Python objects to flat arrays and back."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import sparse

from partwise.compiled import address_of
from partwise.objective import Formulation
from partwise.protocol import Cuts, Ints
from partwise.scorers._rows import DenseRows, SparseRows
from partwise.scorers.linear import LinearScorer
from partwise.structures.loop import refuse_missing
from partwise.structures.packed import PackedProblem
from partwise.structures.parts._compiled import DECODER, PartBlocks, PartWork

if TYPE_CHECKING:
    from partwise.structures.parts import PartSelection


class PartProblem(PackedProblem):
    """Problem over masks of parts."""

    def outputs(self, cuts: Cuts) -> list[Ints]:
        """Part numbers of each mask."""
        bounds = zip(cuts.indptr[:-1], cuts.indptr[1:], strict=True)
        return [np.flatnonzero(cuts.code[a:z]) for a, z in bounds]


def pack_parts(
    structure: PartSelection,
    X: Sequence[Any],
    Y: Sequence[Any],
    formulation: Formulation,
    n_jobs: int,
) -> PartProblem:
    """Lay parts, truths and shapes end to end."""
    from partwise.structures.parts.selection import as_parts, part_features, part_shape

    refuse_missing(structure, formulation.validate())
    features = [part_features(x) for x in X]
    first = _begin([matrix.shape[0] for matrix in features])
    truth = np.zeros(first[-1], np.uint8)
    for i, y in enumerate(Y):
        parts = as_parts(y)
        if len(parts) and not 0 <= parts[0] <= parts[-1] < first[i + 1] - first[i]:
            raise ValueError(
                f"example {i} has the true parts {parts.tolist()} where its parts are "
                f"0 … {first[i + 1] - first[i] - 1}"
            )
        truth[first[i] + parts] = 1
    shapes = [part_shape(x) for x in X]
    loss = structure._part_loss()
    sizes = np.diff(first).tolist()
    terms = [loss.terms(y, n)[0] for y, n in zip(Y, sizes, strict=True)]
    blocks = PartBlocks(
        _stack(features),
        first,
        truth,
        np.concatenate([np.zeros(0), *terms]),
        _begin([len(shape) for shape in shapes]),
        np.concatenate([np.zeros(0, np.int64), *shapes]),
        address_of(DECODER, structure.decoder),
        int(structure.exact_oracle),
    )

    def localise() -> tuple[PartBlocks, int]:
        local = LinearScorer().local(blocks.rows, first)
        return blocks._replace(rows=local), local.n_features

    most = int(np.diff(first).max(initial=1))
    problem = PartProblem(
        blocks,
        blocks._replace(addition=np.zeros(first[-1])),
        localise,
        n_blocks=len(X),
        n_weights=structure.n_psi_,
        formulation=formulation,
        new_work=lambda: PartWork(
            np.empty((most, 1)), np.empty(most), np.empty(most, np.uint8)
        ),
        n_jobs=n_jobs,
    )
    return problem


def _begin(sizes: Sequence[int]) -> Ints:
    return np.concatenate([[0], np.cumsum(np.asarray(sizes, np.int64))]).astype(
        np.int64
    )


def _stack(features: Sequence[Any]) -> SparseRows | DenseRows:
    """All parts as rows; copies, because read-only input would compile again."""
    if all(isinstance(matrix, np.ndarray) for matrix in features):
        stacked = np.concatenate(features)
        return DenseRows(stacked, stacked.shape[1])
    rows = sparse.vstack([sparse.csr_array(m) for m in features], format="csr")
    return SparseRows(
        rows.indptr.astype(np.int64),
        rows.indices.astype(np.int32),
        rows.data.astype(np.float64),
        1,
        rows.shape[1],
    )
