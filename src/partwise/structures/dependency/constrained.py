"""Trees of a parser under linear constraints over their arcs.

The best tree without constraints is found first; only where it breaks one is an
integer program solved (`partwise.structures.dependency.constraints`).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from partwise.protocol import CapabilityError, Floats, Ints
from partwise.structures.constraints import PartConstraint
from partwise.structures.dependency.constraints import (
    Constraint,
    InfeasibleTreeError,
    constrained_tree,
)


class ImpossibleHeadsError(ValueError):
    """Given heads that no tree has.

    Parameters
    ----------
    rows : list of int
        Sentences with such heads.
    """

    def __init__(self, rows: list[int]) -> None:
        super().__init__(
            f"sentence {rows[0]}: no tree has the given heads; check for circles, "
            "crossing arcs and several roots"
        )
        self.rows = rows


def decode_within(
    problem: Any,
    model: Floats,
    given: Ints | None,
    constraints: Sequence[Any],
    labels: Sequence[str],
    first: int = 0,
) -> tuple[Ints, Any]:
    """Codes of the best trees that have the given heads and satisfy all constraints.

    Parameters
    ----------
    problem : TreeProblem
    model : array (n_weights,)
    given : int array (n_words,) or None
        Heads that are known; −1 where they are not.
    constraints, labels
        See `satisfy`.
    first : int
        Number of the first sentence, for messages.

    Returns
    -------
    codes : int array (n_words,)
    is_tree : bool array (n_sentences,)
    """
    codes, value, is_tree = problem.decode(model, given)
    if not np.isfinite(value).all():
        rows = first + np.flatnonzero(~np.isfinite(value))
        raise ImpossibleHeadsError(rows.tolist())
    if constraints:
        codes = satisfy(problem, model, codes, constraints, labels, given)
    return codes, is_tree


def satisfy(
    problem: Any,
    weights: Floats,
    codes: Ints,
    constraints: Iterable[Constraint],
    labels: Sequence[str],
    fixed: Ints | None = None,
) -> Ints:
    """Codes of the best trees that satisfy all constraints.

    Parameters
    ----------
    problem : TreeProblem
    weights : array (n_weights,)
    codes : int array (n_words,)
        The best trees without constraints.
    constraints : iterable of PartConstraint, or functions of the number of words
        Labels are names.
    labels : sequence of str
        Name of each label; empty without labels.
    fixed : int array (n_words,), optional
        Heads that are known; −1 where they are not.

    Returns
    -------
    int array (n_words,)
    """
    structure = problem.structure
    if structure.construction != "exact":
        raise CapabilityError("constraints need <construction='exact'>")
    wanted = list(constraints)
    size = max(len(labels), 1)
    result = codes.copy()
    for i, begin in enumerate(problem.blocks.offset[:-1].tolist()):
        words = slice(begin, int(problem.blocks.offset[i + 1]))
        rows = _of_sentence(wanted, words.stop - begin, labels)
        heads, numbers = np.divmod(codes[words], size)
        words_and_labels = enumerate(numbers.tolist(), 1)
        arcs = [
            (h, *rest) for h, rest in zip(heads.tolist(), words_and_labels, strict=True)
        ]
        if all(row.holds(arcs) for row in rows):
            continue
        tables = problem.score_tables(weights, i)
        known = [] if fixed is None else np.flatnonzero(fixed[words] >= 0).tolist()
        try:
            tree = constrained_tree(
                tables.arc,
                fixed=[(int(fixed[begin + t]), t + 1) for t in known],  # type: ignore[index]
                constraints=rows,
                sibling=tables.sibling,
                grandparent=tables.grandparent,
                single_root=structure.single_root,
                projective=structure.projective,
            )
        except InfeasibleTreeError as error:
            raise InfeasibleTreeError(f"sentence {i}: {error}") from None
        result[words] = tree.heads * size + tree.labels
    return result


def _of_sentence(
    constraints: Sequence[Constraint], n: int, labels: Sequence[str]
) -> list[PartConstraint]:
    """Constraints of a sentence of n words, with numbers for labels."""
    rows: list[PartConstraint] = []
    for item in constraints:
        rows += item(n) if callable(item) else [item]
    return [
        row._replace(parts=[_numbered(arc, labels) for arc in row.parts])
        for row in rows
    ]


def _numbered(arc: tuple[Any, ...], labels: Sequence[str]) -> tuple[Any, ...]:
    """The arc with the number of its label."""
    if len(arc) < 3 or arc[2] is None:
        return arc
    if arc[2] not in labels:
        known = ", ".join(labels) or "none: labels are given in a second stage"
        raise ValueError(
            f"constraints: arc {arc!r} has an unknown label; there are {known}"
        )
    return (*arc[:2], list(labels).index(arc[2]))
