"""Linear constraints over the parts of an output: arcs of trees, labels of sets."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np


def checked_constraints(constraints: Any, *, with_functions: bool = False) -> list[Any]:
    """Constraints as a list; refuses what is none.

    Parameters
    ----------
    constraints : iterable of PartConstraint
    with_functions : bool
        Whether functions of the number of words are allowed, too.
    """
    if isinstance(constraints, PartConstraint):
        raise ValueError("constraints is one constraint; give a list: [constraint]")
    is_listed = isinstance(constraints, Iterable) and not isinstance(constraints, str)
    listed = list(constraints) if is_listed else [constraints]
    for item in listed:
        if not (
            isinstance(item, PartConstraint) or (with_functions and callable(item))
        ):
            raise ValueError(
                f"constraints: {item!r:.60} is no constraint; make them with "
                "partwise.structures.constraints, as at_most(2)"
            )
    return listed


class PartConstraint(NamedTuple):
    """lower ≤ Σ coef·x ≤ upper, where x is 1 for the parts of an output.

    Parameters
    ----------
    parts : sequence
        Of a dependency tree arcs (head, dependent) or (head, dependent, label), with
        words from 1 on and 0 for the root; of a set of labels the labels. None stands
        for all, so (h, None, l) are all arcs from h with label l, and None alone is
        every label. Models know labels by name, structures by number.
    coef : sequence of float, optional
        One per part (per pattern, if it stands for several); 1 when left out.
    lower, upper : float
        Bounds of the sum.

    Examples
    --------
    >>> one_root = PartConstraint([(0, None)], upper=1)
    >>> one_root.holds([(0, 1), (1, 2)]), one_root.holds([(0, 1), (0, 2)])
    (True, False)
    """

    parts: Sequence[Any]
    coef: Sequence[float] | None = None
    lower: float = -np.inf
    upper: float = np.inf

    def terms(self) -> Iterator[tuple[tuple[Any, ...], float]]:
        """Patterns of parts as tuples, with their coefficients."""
        coef = [1.0] * len(self.parts) if self.coef is None else self.coef
        if len(coef) != len(self.parts):
            raise ValueError(
                f"a constraint has {len(self.parts)} parts and {len(coef)} "
                "coefficients; give one for each part, or none"
            )
        for part, factor in zip(self.parts, coef, strict=True):
            yield part if isinstance(part, tuple) else (part,), factor

    def holds(self, parts: Iterable[tuple[Any, ...]]) -> bool:
        """Whether an output with these parts satisfies it."""
        terms, total = list(self.terms()), 0.0
        for part in parts:
            for pattern, factor in terms:
                # patterns of arcs may leave labels out
                pairs = zip(pattern, part, strict=False)
                if all(wanted in (None, value) for wanted, value in pairs):
                    total += factor
        return self.lower <= total <= self.upper


def at_most(count: int, parts: Sequence[Any] = (None,)) -> PartConstraint:
    """An output has at most `count` of these parts, by default of all labels.

    Examples
    --------
    >>> at_most(1).holds([("owl",), ("bird",)])
    False
    """
    return PartConstraint(parts, upper=count)


def implies(one: Any, other: Any) -> PartConstraint:
    """An output with the first part has the second.

    Examples
    --------
    >>> rule = implies("owl", "bird")
    >>> rule.holds([("bird",)]), rule.holds([("owl",)])
    (True, False)
    """
    return PartConstraint([one, other], [1.0, -1.0], upper=0.0)
