"""Where the weights of a chain stand in its model, a flat array."""

from __future__ import annotations

from math import prod
from typing import NamedTuple

from partwise.protocol import Floats


class Weights(NamedTuple):
    """The parts of a chain's model, views into one flat array."""

    emission: Floats  # (n_features, L)
    bigram: Floats  # (L, L), or (0, L) for order 0
    trigram: Floats  # (L, L, L), or (0, L, L) below order 2
    start: Floats  # (L,), or (0,) without boundary
    end: Floats  # (L,), or (0,) without boundary

    @property
    def tail(self) -> tuple[Floats, ...]:
        """All but the emissions."""
        return self[1:]


class ChainLayout(NamedTuple):
    """The order of a model's parts: that of `Weights`.

    Kernels read the same order off `places` in `_planes.py`.

    Examples
    --------
    >>> import numpy as np
    >>> layout = ChainLayout(n_labels=2, order=1, boundary=True)
    >>> layout.n_weights(3)
    14
    >>> layout.parts(np.arange(14.0)).end
    array([12., 13.])
    """

    n_labels: int
    order: int
    boundary: bool

    def shapes(self, n_features: int) -> list[tuple[int, ...]]:
        """The shape of each part."""
        size = self.n_labels
        ends = (size if self.boundary else 0,)
        return [
            (n_features, size),
            (size if self.order > 0 else 0, size),
            (size if self.order == 2 else 0, size, size),
            ends,
            ends,
        ]

    def n_weights(self, n_features: int) -> int:
        """Length of a model over `n_features` features."""
        return sum(prod(shape) for shape in self.shapes(n_features))

    def parts(self, model: Floats, n_features: int | None = None) -> Weights:
        """The parts of a model; by default it holds as many features as fit."""
        if n_features is None:
            n_features = (len(model) - self.n_weights(0)) // self.n_labels
        parts, first = [], 0
        for shape in self.shapes(n_features):
            parts.append(model[first : first + prod(shape)].reshape(shape))
            first += prod(shape)
        return Weights(*parts)
