"""Best sets of labels under linear constraints that training did not know."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from partwise.protocol import Floats, Ints
from partwise.structures.constraints import (
    PartConstraint,
    at_most,
    checked_constraints,
    implies,
)

if TYPE_CHECKING:
    from partwise.structures.multilabel.structure import Multilabel


def satisfy(
    structure: Multilabel,
    sets: Ints,
    scores: Floats,
    pair: Floats,
    constraints: Iterable[PartConstraint],
    labels: Sequence[Any],
) -> Ints:
    """Best sets that satisfy all constraints: an integer program where one is broken.

    Parameters
    ----------
    structure : Multilabel
    sets : int array (n, K)
        The best sets without the constraints.
    scores : array (n, K)
    pair : array (E,)
        Scores of the structure's pairs of labels.
    constraints : iterable of PartConstraint
        The parts are names of labels; None stands for all.
    labels : sequence (K,)
    """
    from scipy.optimize import LinearConstraint

    from partwise.structures.parts._decoders import best_by_milp

    size, n_pairs = structure.n_labels, len(pair)
    wanted = _rows(checked_constraints(constraints), labels, size + n_pairs)
    needed = [implies(labels[a], labels[b]) for a, b in np.argwhere(structure.needs())]
    needed.append(at_most(structure.most()))
    rows = [*wanted, *_rows(needed, labels, size + n_pairs), *_pair_rows(structure)]
    program = [LinearConstraint(*row) for row in rows]
    result = sets.copy()
    for i, y in enumerate(sets):
        if all(low <= row[:size] @ y <= high for row, low, high in wanted):
            continue
        chosen = best_by_milp(np.append(scores[i], pair), program)
        if chosen is None:
            raise ValueError(
                f"row {i}: no set of labels satisfies the constraints; relax one"
            )
        result[i] = np.isin(np.arange(size), chosen)
    return result


def _rows(
    constraints: Sequence[PartConstraint], labels: Sequence[Any], n: int
) -> list[tuple[Floats, float, float]]:
    """Coefficients of n variables, labels first, and bounds of their sum."""
    number = {label: k for k, label in enumerate(labels)}
    rows = []
    for constraint in constraints:
        row = np.zeros(n)
        for (label, *more), coef in constraint.terms():
            if more or (label is not None and label not in number):
                shown = ", ".join(map(str, labels))
                raise ValueError(
                    f"constraints: {(label, *more)!r} is no label; there are {shown}"
                )
            row[slice(len(labels)) if label is None else number[label]] += coef
        rows.append((row, constraint.lower, constraint.upper))
    return rows


def _pair_rows(structure: Multilabel) -> list[tuple[Floats, float, float]]:
    """The variable of a pair is the product of those of its labels."""
    rows = []
    pairs = structure.pair_array()
    for e, labels in enumerate(pairs.tolist()):
        both = np.zeros(structure.n_labels + len(pairs))
        both[structure.n_labels + e] = 1.0
        for k in labels:
            one = both.copy()
            one[k] = -1.0
            rows.append((one, -1.0, 0.0))
        both[labels] = -1.0
        rows.append((both, -1.0, 1.0))
    return rows
