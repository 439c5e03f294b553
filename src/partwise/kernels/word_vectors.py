"""Given word vectors, in whatever form, and their groups by k-means."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from partwise.readers.vectors import LARGEST, MAX_DIMENSIONS, read_vectors


def as_vectors(vectors: Any) -> tuple[list[str], np.ndarray]:
    """
    Words and their vectors from what a user has.

    Parameters
    ----------
    vectors : dict, pair or path
        Word to vector; (words, matrix); or a file that `read_vectors` reads. Of a word
        that stands several times the first vector counts.

    Returns
    -------
    words : list of str
    matrix : float32 array (n_words, n_dimensions)

    Examples
    --------
    >>> as_vectors({"cat": [1, 0], "dog": [1, 0.5]})
    (['cat', 'dog'], array([[1. , 0. ],
           [1. , 0.5]], dtype=float32))
    """
    if isinstance(vectors, str | os.PathLike):
        return read_vectors(vectors)
    if isinstance(vectors, Mapping):
        words: list[Any] = list(vectors)
        rows: Any = list(vectors.values())
        sizes = [np.size(row) for row in rows]
        for word, size in zip(words, sizes, strict=True):
            if size != sizes[0]:
                raise ValueError(
                    f"vectors=: {word!r:.80} has {size} numbers, {words[0]!r:.80} has "
                    f"{sizes[0]}; give all words as many"
                )
    elif isinstance(vectors, Sequence) and len(vectors) == 2:
        words, rows = list(vectors[0]), vectors[1]
    else:
        raise ValueError(
            f"vectors= is a {type(vectors).__name__}; give a dict of word to vector, "
            "a pair (words, matrix), or a file"
        )
    try:
        matrix = np.asarray(rows, np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError(f"vectors= must hold numbers: {error}") from None
    if matrix.ndim != 2 or len(matrix) != len(words) or not matrix.size:
        raise ValueError(
            f"vectors= has {len(words)} words and numbers of shape {matrix.shape}; "
            "give one vector per word"
        )
    if matrix.shape[1] > MAX_DIMENSIONS:
        raise ValueError(
            f"vectors= have {matrix.shape[1]} dimensions; {MAX_DIMENSIONS} are possible"
        )
    _check_words(words, matrix)
    first = list(
        dict(zip(reversed(words), range(len(words))[::-1], strict=True)).values()
    )
    first.sort()
    return [words[i] for i in first], matrix[first].astype(np.float32)


def _check_words(words: list[Any], matrix: np.ndarray) -> None:
    for word in words:
        if not isinstance(word, str) or not word.strip():
            raise ValueError(f"vectors=: {word!r:.80} is no word; give strings")
    bad = np.flatnonzero(~(np.abs(matrix) <= LARGEST).all(axis=1))
    if len(bad):
        raise ValueError(
            f"vectors=: the vector of {words[bad[0]]!r:.80} holds a number that is not "
            f"finite or above {LARGEST:g}; leave the word out"
        )


def group_vectors(
    matrix: np.ndarray, counts: np.ndarray, n_clusters: int, random_state: int
) -> np.ndarray:
    """
    Clusters of vectors: k-means on those of the text, the nearest centre for others.

    Parameters
    ----------
    matrix : float32 array (n_words, n_dimensions)
    counts : int array (n_words,)
        Tokens of each word in the text; some are above zero.
    n_clusters : int
        At most: never more than different vectors in the text.
    random_state : int

    Returns
    -------
    int array (n_words,)
    """
    from sklearn.cluster import KMeans
    from threadpoolctl import threadpool_limits

    known = matrix[counts > 0]
    n_clusters = min(n_clusters, len(np.unique(known, axis=0)))
    # several threads would add up centres in an order that changes from run to run
    with threadpool_limits(1):
        means = KMeans(n_clusters, random_state=random_state).fit(known)
        return means.predict(matrix)
