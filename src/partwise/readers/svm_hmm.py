"""Data files of SVM-hmm: sequences of sparse rows."""

from __future__ import annotations

from typing import Any

import numpy as np

from partwise.readers.matrices import read_svmlight
from partwise.readers.source import ReaderError, Source


def read_svm_hmm(path: Source) -> tuple[list[Any], list[list[int]]]:
    r"""
    Read lines ``tag qid:sequence feature:value … [# token]``.

    Parameters
    ----------
    path : path, "-" or open binary file
        Lines of a sequence stand together. May be compressed by gzip.

    Returns
    -------
    X : list of CSR arrays (n_tokens, n_features)
        The number of a feature is its column; column 0 stays empty.
    y : list of lists of int

    Examples
    --------
    >>> import io
    >>> text = b"2 qid:1 1:1 3:0.5\n1 qid:1 2:1\n2 qid:2 1:1\n"
    >>> X, y = read_svm_hmm(io.BytesIO(text))
    >>> [x.shape for x in X], y
    ([(2, 4), (1, 4)], [[2, 1], [2]])
    """
    data = read_svmlight(path)
    name = str(getattr(path, "name", path))
    if data.groups is None or data.y is None:
        raise ReaderError(f"{name}: no qid in the lines; write it after each tag")
    if data.y.dtype.kind not in "iu":
        raise ReaderError(f"{name}: a tag is no whole number; number the tags from 1")
    bounds = np.flatnonzero(np.diff(data.groups)) + 1
    begin = [0, *bounds.tolist()]
    numbers = data.groups[begin].tolist()
    if len(set(numbers)) < len(numbers):
        twice = next(q for k, q in enumerate(numbers) if q in numbers[:k])
        raise ReaderError(
            f"{name}: lines of qid {twice} stand apart; put those of a sequence in one "
            "place"
        )
    end = [*begin[1:], len(data.groups)]
    X = [data.X[a:b] for a, b in zip(begin, end, strict=True)]
    return X, [labels.tolist() for labels in np.split(data.y, bounds)]
