"""Tokens around tokens, and rows of feature numbers as sparse vectors."""

from collections.abc import Iterable, Iterator
from itertools import pairwise

import numpy as np

from partwise.features.arrays import Features, make_features


def neighbours(offset: np.ndarray, reach: Iterable[int]) -> dict[int, np.ndarray]:
    """Positions of the tokens at given distances.

    Parameters
    ----------
    offset : int64 array of shape (n_sequences + 1,)
    reach : iterable of int
        Distances; -1 is the token before.

    Returns
    -------
    dict of int to int64 array of shape (n_tokens,)
        For each distance the token so far away, or -1 outside the sentence: the last
        entry of an array, where its users put the value of the boundary.
    """
    lengths = np.diff(offset)
    begin = np.repeat(offset[:-1], lengths)
    end = np.repeat(offset[1:], lengths)
    near = {}
    for distance in reach:
        place = np.arange(offset[-1]) + distance
        near[distance] = np.where((place >= begin) & (place < end), place, -1)
    return near


def pieces(offset: np.ndarray, size: int = 1 << 15) -> Iterator[tuple[int, int]]:
    """Cut sequences into runs whose arrays stay in the cache.

    Parameters
    ----------
    offset : int64 array of shape (n_sequences + 1,)
    size : int
        Tokens of a run, about.

    Yields
    ------
    first, last : int
        The run holds the sequences ``first:last``, at least one.
    """
    n_tokens = int(offset[-1])
    marks = np.searchsorted(offset, np.arange(0, n_tokens, size))
    yield from pairwise(np.unique(np.append(marks, len(offset) - 1)).tolist())


def gather_rows(numbers: np.ndarray, offset: np.ndarray, n_features: int) -> Features:
    """Make sparse vectors of the feature numbers of each token.

    Parameters
    ----------
    numbers : int32 array of shape (n_tokens, n_templates)
        Feature numbers; -1 is none.
    offset : int64 array of shape (n_sequences + 1,)
    n_features : int
    """
    present = numbers >= 0
    indptr = np.append(0, np.cumsum(np.count_nonzero(present, axis=1)))
    return make_features(indptr, numbers[present], None, offset, n_features)
