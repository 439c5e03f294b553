"""Points and their noisy copies in another order."""

from __future__ import annotations

import numpy as np

from partwise.datasets._seed import RandomState, generator


def toy_matchings(
    n: int = 50, random_state: RandomState = 0, size: int = 6
) -> tuple[list[np.ndarray], list[np.ndarray]]:
    """
    Draw points in the plane, to be matched with noisy copies in another order.

    Parameters
    ----------
    n : int
        Examples.
    random_state : int, Generator or None
    size : int
        Points of an example.

    Returns
    -------
    X : list of arrays (size, size, 4)
        Features of pairs: the distances along both axes, whether both are small, and
        noise.
    y : list of int arrays (size,)

    Examples
    --------
    >>> X, y = toy_matchings(1)
    >>> X[0].shape, sorted(y[0].tolist())
    ((6, 6, 4), [0, 1, 2, 3, 4, 5])
    """
    rng = generator(random_state, 13)
    X, y = [], []
    for _ in range(n):
        points = rng.normal(size=(size, 2))
        order = rng.permutation(size)
        copies = np.empty_like(points)
        copies[order] = points + 0.3 * rng.normal(size=(size, 2))
        distance = np.abs(points[:, None] - copies[None])
        near = (distance < 0.3).all(axis=2, keepdims=True)
        noise = rng.normal(size=(size, size, 1))
        X.append(np.concatenate([distance, near, noise], axis=2))
        y.append(order)
    return X, y
