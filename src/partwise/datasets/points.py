"""Points of several classes."""

from __future__ import annotations

import numpy as np

NAMES = ("red", "green", "blue")


def toy_points(n: int = 150, random_state: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """
    Draw points of three overlapping clouds.

    Parameters
    ----------
    n : int
    random_state : int

    Returns
    -------
    X : array (n, 4)
        Two coordinates that tell the class, two that do not.
    y : array (n,) of str

    Examples
    --------
    >>> X, y = toy_points(6)
    >>> X.shape, sorted(set(y.tolist()))
    ((6, 4), ['blue', 'green', 'red'])
    """
    rng = np.random.default_rng(random_state)
    classes = np.arange(n) % 3
    angle = 2 * np.pi * classes / 3
    X = rng.normal(size=(n, 4))
    X[:, 0] += 2.0 * np.cos(angle)
    X[:, 1] += 2.0 * np.sin(angle)
    return X, np.array(NAMES)[classes]
