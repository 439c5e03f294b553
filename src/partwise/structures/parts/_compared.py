"""Where scores of parts come from: weights of features, or training parts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from partwise.protocol import Floats
from partwise.structures.parts._inputs import part_features

if TYPE_CHECKING:
    from partwise.structures.parts.kernel import PartKernel


class PartScores(NamedTuple):
    """Scores of the parts of one input, in the place of a model."""

    values: Floats


class ComparedParts:
    """Where a structure's part scores come from: weights, or a `PartExpansion`."""

    kernel: Any
    match: Any

    def scores_of(self, x: Any, w: Any) -> Floats:
        """Scores of the parts of an input: by weights, or by a `PartExpansion`."""
        if not self.has_keys:
            return part_features(x) @ w
        return w.values if isinstance(w, PartScores) else w.at(x).values

    @property
    def has_keys(self) -> bool:
        """Whether parts are compared, by a kernel or keys, instead of weighed."""
        return self.kernel is not None or self.match is not None

    def part_kernel(self) -> PartKernel:
        """When two parts are alike."""
        from partwise.kernels.naming import as_kernel  # these load numba
        from partwise.structures.parts.kernel import PartKernel

        kernel = None if self.kernel is None else as_kernel(self.kernel)
        match: Any = () if self.match is None else self.match
        is_one = isinstance(match, str) or callable(match)
        return PartKernel(kernel, (match,) if is_one else tuple(match))
