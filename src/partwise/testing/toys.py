"""Structures small enough to list, on which solvers are judged."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import pairwise, product
from typing import Any, Self

import numpy as np

from partwise.protocol import Floats
from partwise.testing.enumeration import EnumeratedStructure

Toy = tuple[EnumeratedStructure, list[Any], list[Any]]


class ToyClasses(EnumeratedStructure):
    """One of `n_classes`, each with its own weights; Δ grows with the distance."""

    def __init__(self, n_classes: int = 3) -> None:
        self.n_classes = n_classes

    def setup(self, X: Sequence[Any], Y: Sequence[Any]) -> Self:
        """One weight per class and coordinate."""
        self.n_psi_ = self.n_classes * len(X[0])
        return self

    def enumerate(self, x: Any) -> Iterable[int]:
        """All classes."""
        return range(self.n_classes)

    def joint_feature(self, x: Floats, y: int) -> Any:
        """X in the place of class y."""
        return np.arange(y * len(x), (y + 1) * len(x)), x

    def loss(self, y: int, y_hat: int) -> float:
        """Half the distance of two class numbers."""
        return abs(y - y_hat) / 2


class ToyPlaces(EnumeratedStructure):
    """A class is observed; the row of the input that shows it is hidden.

    An output is (class, row); a truth is (class, None).
    """

    def setup(self, X: Sequence[Any], Y: Sequence[Any]) -> Self:
        """One weight per class and coordinate."""
        self.n_psi_ = 2 * X[0].shape[1]
        return self

    def enumerate(self, x: Floats) -> Iterable[tuple[int, int]]:
        """All classes and rows."""
        return [(label, row) for label in range(2) for row in range(len(x))]

    def joint_feature(self, x: Floats, y: tuple[int, int]) -> Floats:
        """The row in the place of the class."""
        label, row = y
        psi = np.zeros((2, x.shape[1]))
        psi[label] = x[row]
        return psi.ravel()

    def loss(self, y: tuple[int, None], y_hat: tuple[int, int]) -> float:
        """Whether the classes differ."""
        return float(y[0] != y_hat[0])

    def complete(self, x: Floats, y: tuple[int, None], w: Floats) -> tuple[int, int]:
        """The best row for the class."""
        rows = [(y[0], row) for row in range(len(x))]
        return max(rows, key=lambda output: self.score(x, output, w))


def toy_places(
    n: int, random_state: int = 0, n_rows: int = 3, n_features: int = 4
) -> tuple[list[Any], list[Any]]:
    """Inputs one row of which shows the class, and truths for `ToyPlaces`."""
    rng = np.random.default_rng(random_state)
    Y = [(int(label), None) for label in rng.integers(0, 2, size=n)]
    X = [rng.normal(size=(n_rows, n_features)) for _ in Y]
    for x, (label, _) in zip(X, Y, strict=True):
        x[rng.integers(n_rows)] += 2.0 * np.eye(n_features)[label]
    return X, Y


class ToyChain(EnumeratedStructure):
    """Binary labels of up to a few tokens, with emissions and transitions."""

    def setup(self, X: Sequence[Any], Y: Sequence[Any]) -> Self:
        """Two emission rows and four transitions."""
        self.n_features_ = X[0].shape[1]
        self.n_psi_ = 2 * self.n_features_ + 4
        return self

    def enumerate(self, x: Floats) -> Iterable[tuple[int, ...]]:
        """All label sequences."""
        return product(range(2), repeat=len(x))

    def joint_feature(self, x: Floats, y: tuple[int, ...]) -> Floats:
        """Sums of token features by label, and counts of transitions."""
        psi = np.zeros(self.n_psi_)
        for row, label in zip(x, y, strict=True):
            begin = label * self.n_features_
            psi[begin : begin + self.n_features_] += row
        for before, here in pairwise(y):
            psi[2 * self.n_features_ + 2 * before + here] += 1.0
        return psi

    def loss(self, y: tuple[int, ...], y_hat: tuple[int, ...]) -> float:
        """Number of wrong labels."""
        return float(sum(a != b for a, b in zip(y, y_hat, strict=True)))


def toy_classes(seed: int = 0, n: int = 9, *, separable: bool = False) -> Toy:
    """Points of three overlapping clouds, or of three clouds far apart."""
    rng = np.random.default_rng(seed)
    Y = [i % 3 for i in range(n)]
    center = np.array([[1.0, 0.0], [-0.5, 0.9], [-0.5, -0.9]])
    spread = 0.15 if separable else 0.8
    X = [np.append(center[y] + spread * rng.normal(size=2), 1.0) for y in Y]
    return ToyClasses().setup(X, Y), X, Y


def toy_chain(seed: int = 0, n: int = 6, *, separable: bool = False) -> Toy:
    """Short label sequences with noisy tokens, or with tokens that tell the label."""
    rng = np.random.default_rng(seed)
    lengths = [1 + i % 3 for i in range(n)]
    Y = [tuple(int(label) for label in rng.integers(2, size=k)) for k in lengths]
    spread = 0.2 if separable else 1.0
    X = [
        np.array(
            [[2.0 * label - 1.0, 1.0] + spread * rng.normal(size=2) for label in y]
        )
        for y in Y
    ]
    return ToyChain().setup(X, Y), X, Y
