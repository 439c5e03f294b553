"""Sequences with planted motifs, whose places are known."""

from __future__ import annotations

import numpy as np

from partwise.datasets._seed import generator

LETTERS = np.array(list("ACGT"))


def planted_motifs(
    n: int = 200,
    length: int = 8,
    n_letters: int = 60,
    noise: float = 0.1,
    random_state: int = 0,
) -> tuple[list[str], np.ndarray, np.ndarray]:
    """
    Draw sequences, half of them with a noisy copy of one motif at a random place.

    Parameters
    ----------
    n : int
        Sequences.
    length : int
        Letters of the motif.
    n_letters : int
        Letters of a sequence.
    noise : float
        Probability that a letter of a copy is drawn anew.
    random_state : int

    Returns
    -------
    X : list of str
    y : array (n,) of 0 and 1
    positions : array (n,)
        Where the motif begins, -1 without one.

    Examples
    --------
    >>> X, y, positions = planted_motifs(4, length=6, n_letters=12, noise=0.0)
    >>> y.tolist()
    [1, 0, 1, 0]
    >>> first, second = (X[i][positions[i] :][:6] for i in (0, 2))
    >>> first == second
    True
    """
    rng = generator(random_state)
    motif = rng.integers(4, size=length)
    y = (np.arange(n) % 2 == 0).astype(int)
    X, positions = [], np.full(n, -1)
    for i in range(n):
        letters = rng.integers(4, size=n_letters)
        if y[i]:
            positions[i] = rng.integers(n_letters - length + 1)
            is_noise = rng.random(length) < noise
            copy = np.where(is_noise, rng.integers(4, size=length), motif)
            letters[positions[i] : positions[i] + length] = copy
        X.append("".join(LETTERS[letters]))
    return X, y, positions


def toy_motifs(n: int = 40, random_state: int = 0) -> tuple[list[str], np.ndarray]:
    """
    Draw short sequences, half of them with a motif of eight letters.

    Examples
    --------
    >>> X, y = toy_motifs(3)
    >>> len(X[0]), y.tolist()
    (25, [1, 0, 1])
    """
    X, y, _ = planted_motifs(n, n_letters=25, noise=0.05, random_state=random_state)
    return X, y
