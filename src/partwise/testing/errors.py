"""Errors and reports of the checks of this package."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from partwise.protocol import Floats


class StructureError(AssertionError):
    """A method of a structure breaks its contract.

    Attributes
    ----------
    method : str
        The method at fault.
    example : int or None
        Number of the example it failed on.
    w : ndarray or None
        The model it was asked about.
    """

    def __init__(
        self,
        structure: Any,
        method: str,
        problem: str,
        *,
        example: int | None = None,
        w: Floats | None = None,
    ) -> None:
        self.method = method
        self.example = example
        self.w = w
        where = "" if example is None else f" on example {example}"
        text = f"{type(structure).__name__}.{method} is wrong{where}: {problem}"
        if w is not None:
            text += f"\n  w = {np.array2string(w, threshold=40, precision=17)}"
        super().__init__(text)


class Report(NamedTuple):
    """What was checked, and what the structure does not offer."""

    passed: tuple[str, ...]
    skipped: tuple[str, ...]


class SolverError(AssertionError):
    """A solver breaks its contract, or a guarantee of its paper."""
