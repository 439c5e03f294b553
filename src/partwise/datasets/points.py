"""Points of several classes, of two classes, and of queries."""

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
        Two coordinates that depend on the class, two that do not.
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


def toy_binary(n: int = 150, random_state: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """
    Draw the points of `toy_points`; those of one class are the positive ones.

    Returns
    -------
    X : array (n, 4)
    y : array (n,) of 0 and 1

    Examples
    --------
    >>> toy_binary(6)[1].tolist()
    [1, 0, 0, 1, 0, 0]
    """
    X, y = toy_points(n, random_state)
    return X, (y == NAMES[0]).astype(int)


def toy_queries(
    n: int = 10, random_state: int = 0
) -> tuple[list[np.ndarray], list[np.ndarray]]:
    """
    Draw queries with six points each; a point's class is its grade.

    Parameters
    ----------
    n : int
        Queries.
    random_state : int

    Returns
    -------
    X : list of arrays (6, 4)
    y : list of integer arrays (6,)
        Grades from 0 to 2.

    Examples
    --------
    >>> X, y = toy_queries(2)
    >>> X[0].shape, y[0].tolist()
    ((6, 4), [2, 1, 0, 2, 1, 0])
    """
    X, y = toy_points(6 * n, random_state)
    grades = np.array([2 - NAMES.index(name) for name in y])
    return np.split(X, n), np.split(grades, n)
