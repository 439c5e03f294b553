"""Items in clusters, with features of their pairs."""

from __future__ import annotations

from itertools import combinations
from typing import Any

import numpy as np

from partwise.datasets._seed import generator


def toy_clusters(
    n: int = 40, random_state: int = 0
) -> tuple[list[tuple[int, Any, Any]], list[np.ndarray]]:
    """
    Draw documents of four to eight items that belong to two or three clusters.

    Items are points in the plane near the centre of their cluster; features of a pair
    are their distance, its square, and a random number.

    Parameters
    ----------
    n : int
    random_state : int

    Returns
    -------
    X : list of (n_items, pairs, features)
    y : list of integer arrays (n_items,)

    Examples
    --------
    >>> X, y = toy_clusters(2)
    >>> n_items, pairs, features = X[0]
    >>> len(y[0]) == n_items, features.shape == (len(pairs), 3)
    (True, True)
    """
    rng = generator(random_state)
    X, y = [], []
    for _ in range(n):
        n_items = int(rng.integers(4, 9))
        labels = rng.integers(int(rng.integers(2, 4)), size=n_items)
        points = 3.0 * rng.normal(size=(3, 2))[labels] + 0.5 * rng.normal(
            size=(n_items, 2)
        )
        pairs = np.array(list(combinations(range(n_items), 2)))
        distance = np.linalg.norm(points[pairs[:, 0]] - points[pairs[:, 1]], axis=1)
        noise = rng.normal(size=len(pairs))
        X.append((n_items, pairs, np.column_stack([distance, distance**2, noise])))
        y.append(labels)
    return X, y
