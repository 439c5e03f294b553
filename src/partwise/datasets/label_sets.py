"""Rows with sets of labels."""

from __future__ import annotations

import numpy as np


def toy_label_sets(
    n: int = 100, random_state: int = 0
) -> tuple[np.ndarray, np.ndarray]:
    """
    Draw points, each with some of five labels that go together or exclude each other.

    Parameters
    ----------
    n : int
    random_state : int

    Returns
    -------
    X : array (n, 6)
    y : 0/1 array (n, 5)
        The second label comes with the first, the fourth seldom with the third.

    Examples
    --------
    >>> X, y = toy_label_sets(4)
    >>> X.shape, y.shape
    ((4, 6), (4, 5))
    """
    directions = np.random.default_rng(3).normal(size=(6, 5))  # for every seed
    rng = np.random.default_rng(random_state)
    X = rng.normal(size=(n, 6))
    scores = X @ directions - 0.5 + rng.normal(size=(n, 5))
    y = (scores > 0).astype(int)
    y[:, 1] = scores[:, 1] + 3.0 * (2 * y[:, 0] - 1) > 0
    y[:, 3] = scores[:, 3] - 3.0 * y[:, 2] > 0
    return X, y
