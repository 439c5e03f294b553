"""Synthetic alignments: native sequences, homologues and decoys."""

from __future__ import annotations

from typing import Any

import numpy as np

from partwise.datasets._seed import RandomState, generator

LETTERS = "ARNDCQEGHILKMFPSTWYV"
CLASSES = ("ILVMFWC", "AGPST", "NQHY", "DEKR")  # letters that often replace each other


def toy_alignments(
    n: int = 50, random_state: RandomState = 0, length: int = 30, noise: float = 0.2
) -> tuple[list[tuple[str, str]], list[np.ndarray]]:
    """
    Draw pairs of a native sequence and its homologue with their alignment.

    Made as in Joachims (2003): a native sequence has random letters; its homologue
    follows by random substitution, insertion and deletion. A letter is replaced by any
    other with probability `noise`; else it is kept, or replaced by one of its class,
    with equal probability. A gap opens at one token of twelve, on either side alike,
    and has two tokens on average.

    Parameters
    ----------
    n : int
    random_state : int, Generator or None
    length : int
        Of native sequences.
    noise : float
        Share of letters that are replaced by any other.

    Returns
    -------
    X : list of (str, str)
    y : list of int arrays (k, 2)

    Examples
    --------
    >>> X, y = toy_alignments(2)
    >>> X[0][0]
    'NLCDIGKNMVKFLKFRRAWGPLFGEKGGCA'
    >>> y[0][:2].tolist()
    [[0, 0], [1, 1]]
    """
    rng = generator(random_state, 11)
    X, y = [], []
    for _ in range(n):
        native = "".join(rng.choice(list(LETTERS), length))
        homologue, pairs = _mutate(native, noise, rng)
        X.append((native, homologue))
        y.append(pairs)
    return X, y


def toy_homologues(
    n: int = 50,
    random_state: RandomState = 0,
    length: int = 30,
    noise: float = 0.2,
    n_decoys: int = 20,
) -> tuple[list[Any], list[Any]]:
    """
    Draw native sequences with candidates, of which one is the homologue.

    Parameters
    ----------
    n : int
    random_state : int, Generator or None
    length : int
        Of native sequences.
    noise : float
        As in `toy_alignments`.
    n_decoys : int
        Candidates that are no homologue: its letters in random order.

    Returns
    -------
    X : list of (str, list of str)
        A native sequence and its candidates, in random order.
    y : list of (int, int array (k, 2))
        Number of the homologue, and its alignment.
    """
    rng = generator(random_state, 12)
    X, y = [], []
    for a, b, pairs in zip(
        *_columns(toy_alignments(n, rng, length, noise)), strict=True
    ):
        decoys = ["".join(rng.permutation(list(b))) for _ in range(n_decoys)]
        chosen = int(rng.integers(n_decoys + 1))
        X.append((a, [*decoys[:chosen], b, *decoys[chosen:]]))
        y.append((chosen, pairs))
    return X, y


def _columns(data: tuple[list[tuple[str, str]], list[np.ndarray]]) -> Any:
    X, y = data
    return [a for a, _ in X], [b for _, b in X], y


def _mutate(
    native: str, noise: float, rng: np.random.Generator
) -> tuple[str, np.ndarray]:
    """A homologue and its alignment; at least one pair is aligned."""
    class_of = {letter: group for group in CLASSES for letter in group}
    while True:
        letters: list[str] = []
        pairs = []
        i = 0
        while i < len(native):
            kind = rng.random()
            if kind < 1 / 24:  # insertion before the token
                letters += rng.choice(list(LETTERS), rng.geometric(0.5)).tolist()
            elif kind < 1 / 12:  # deletion
                i += int(rng.geometric(0.5))
                continue
            fate = rng.random()
            letter = native[i]
            if fate > 1 - noise:
                letter = str(rng.choice(list(LETTERS)))
            elif fate > (1 - noise) / 2:
                letter = str(rng.choice(list(class_of[letter])))
            pairs.append((i, len(letters)))
            letters.append(letter)
            i += 1
        if pairs:
            return "".join(letters), np.array(pairs)
