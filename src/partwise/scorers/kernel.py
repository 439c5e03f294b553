"""The kernel scorer: a model is coefficients of training rows, one per (row, label).

With anchors a (rows of the training data) and a kernel k,

    w = Σ_{a, l} β[a, l] φ(a, l),    <w, φ(x, l)> = Σ_a β[a, l] k(a, x).

These β are the α of the dual summed up by part: β(i, t, σ) of Hidden Markov SVMs (002
eq. 10), and the index of the atomic structural SVM with the label as key (003 section
4.4.2). Adding a part touches one number; scoring a row reads a row of the Gram matrix.
The array β has the shape of linear weights over as many features as there are anchors,
so structures, pools and sweeps are those of the linear scorer; only the inner product
of two models differs, and `KernelScorer.dot` gives it.

At prediction k(x, a) are features of x like any others: a trained kernel model is a
linear model over them (`partwise.kernels.anchors`).
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np

from partwise.protocol import CapabilityError, Floats, Ints
from partwise.scorers._rows import DenseRows, sum_through


class KernelScorer:
    """Scores rows by a Gram matrix instead of features.

    Parameters
    ----------
    gram : array (n_rows, n_rows)
        k(x_t, x_u) of all rows of the training data; symmetric, positive semidefinite.
    kept : int array (m,), optional
        Anchors that a compact model has coefficients of; all by default.

    Examples
    --------
    >>> rows = KernelScorer(np.eye(3)).bind(None)
    >>> rows.n_features
    3
    """

    is_euclidean = False

    def __init__(self, gram: Any, kept: Ints | None = None) -> None:
        self.gram = np.ascontiguousarray(gram, np.float64)
        self.kept = kept
        if self.gram.ndim != 2 or self.gram.shape[0] != self.gram.shape[1]:
            raise ValueError(
                f"gram has shape {self.gram.shape}; give one row and one column per "
                "training row"
            )

    def bind(self, features: Any) -> DenseRows:
        """Each row is its own anchor."""
        n = len(self.gram)
        return DenseRows(self.gram, np.arange(n), n)

    def ordered(self, rows: DenseRows) -> tuple[DenseRows, Ints]:
        """Anchors stay in their order; a compact model may have some of them."""
        return rows, np.arange(rows.n_features) if self.kept is None else self.kept

    def local(self, rows: DenseRows, offset: Ints) -> DenseRows:
        """Rows with the anchors of their own sequence alone."""
        length = np.diff(offset)
        longest = int(length.max())
        gram = np.zeros((len(rows.x), longest))
        for first, last in pairwise(offset.tolist()):
            gram[first:last, : last - first] = rows.x[first:last, first:last]
        anchor = np.arange(len(gram)) - np.repeat(offset[:-1], length)
        return DenseRows(gram, anchor, longest)

    def columns(self, rows: DenseRows) -> Any:
        """Refuse: gradients of a log loss are not sparse in the anchors."""
        raise CapabilityError(
            "loss='log' and solver='hmm' have no kernel form here; use a margin, or an "
            "explicit approximation of the kernel (Nystroem, random Fourier features)"
        )

    def dot(self, rows: DenseRows, one: Floats, other: Floats, width: int) -> float:
        """Σ_l <β_l, K β'_l> of two coefficient arrays of shape (n_anchors · width,)."""
        one, other = one.reshape(-1, width), other.reshape(-1, width)
        left, right = (np.flatnonzero(part.any(axis=1)) for part in (one, other))
        return float(sum_through(rows.x, one, left, other, right))
