"""The generalised Hamming loss on sets of parts.

A part is right when it is selected in both outputs or in neither. The loss is linear
in the predicted parts, so a loss-augmented argmax is an argmax on edited scores: no
decoder needs to know about it.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from partwise.protocol import Floats, Parameters


class PartLoss(Parameters):
    """How many parts must be added to, or taken from, ŷ to make it y.

    The count form is |y| + |ŷ| − 2·|y ∩ ŷ|. The normalised form divides it by 2·|y|, so
    that large structures do not weigh more than small ones; it lies in [0, 1] for
    |ŷ| ≤ |y| and may exceed 1 otherwise. An empty y has no size to divide by: it counts
    as one part, and the normalised loss is then |ŷ|/2.

    Parameters
    ----------
    normalized : bool
        Divide by 2·max(|y|, 1).

    See Also
    --------
    PartSelection : the structure that uses it.

    Notes
    -----
    Section 4.3 of the thesis behind the kernel method; `terms` is its equation 4.21.

    Examples
    --------
    Parts 0 and 1 are right, part 2 was predicted in place of 3:

    >>> PartLoss(normalized=False).loss([0, 1, 3], [0, 1, 2])
    2.0
    >>> PartLoss().loss([0, 3], [0, 2])
    0.5
    >>> PartLoss().terms([0, 3], n_parts=4)
    (array([-0.25,  0.25,  0.25, -0.25]), 0.5)
    """

    def __init__(self, normalized: bool = True) -> None:
        self.normalized = normalized

    def unit(self, y: Iterable[int]) -> float:
        """What one part in the wrong place costs."""
        return 1.0 / (2.0 * max(len(_parts(y)), 1)) if self.normalized else 1.0

    def loss(self, y: Iterable[int], y_hat: Iterable[int]) -> float:
        """Δ(y, ŷ) of two sets of part numbers; repeated numbers count once."""
        return self.unit(y) * len(_parts(y) ^ _parts(y_hat))

    def terms(self, y: Iterable[int], n_parts: int) -> tuple[Floats, float]:
        """The same loss as additions to part scores.

        Returns
        -------
        addition : ndarray of shape (n_parts,)
        constant : float
            Δ(y, ŷ) = constant + Σ_{σ ∈ ŷ} addition[σ].
        """
        parts = _parts(y)
        unit = self.unit(parts)
        addition = np.full(n_parts, unit)
        addition[sorted(parts)] = -unit
        return addition, unit * len(parts)


def _parts(y: Iterable[int]) -> set[int]:
    return y if isinstance(y, set) else {int(part) for part in y}
