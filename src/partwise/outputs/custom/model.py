"""The weights of a user's own structure: all that a file can hold of it.

The structure is the user's code, and is given again to `load`.
"""

from __future__ import annotations

from typing import Any

from partwise.protocol import Floats
from partwise.scorers.kernel_index import KernelIndex


class WeightsModel:
    """A weight vector, the name of the structure it belongs to, and its certificate.

    With an index the weights are coefficients of parts, which a kernel compares.
    """

    def __init__(
        self,
        structure_name: str,
        weights: Floats,
        info: dict[str, Any],
        index: KernelIndex | None = None,
    ):
        self.structure_name = structure_name
        self.weights = weights
        self.info = info
        self.index = index
