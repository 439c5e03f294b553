"""The kernel scorer: a model is coefficients of training rows, one per (row, label).

With anchors a (rows of the training data) and a kernel k,

    w = Σ_{a, l} β[a, l] φ(a, l),    <w, φ(x, l)> = Σ_a β[a, l] k(a, x).

These β are the α of the dual summed up by part: β(i, t, σ) of Hidden Markov SVMs (002
eq. 10), and the index of the atomic structural SVM with the label as key (003 section
4.4.2). A model also carries the scores of all training rows (see `DenseRows`), so that
an oracle is free of kernel products and adding a part costs one row of the Gram matrix.
For structures, pools and sweeps it is a model over as many features as it has rows;
only the inner product of two models differs, and `KernelScorer.dot` gives it.

At prediction k(x, a) are features of x like any others: a trained kernel model is a
linear model over them (`partwise.kernels.anchors`).
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np

from partwise.protocol import CapabilityError, Floats, Ints
from partwise.scorers._rows import DenseRows, scores_of


class KernelScorer:
    """Scores rows by a Gram matrix instead of features.

    Parameters
    ----------
    gram : array (n_rows, n_rows)
        k(x_t, x_u) of all rows of the training data; symmetric, positive semidefinite.
        In single precision it takes half the memory; sums are double in any case.
    kept : int array (m,), optional
        Anchors that a compact model has coefficients of; all by default.

    Examples
    --------
    >>> rows = KernelScorer(np.eye(3)).bind(None)
    >>> rows.n_features  # coefficients and scores
    6
    """

    is_euclidean = False

    def __init__(self, gram: Any, kept: Ints | None = None) -> None:
        values = np.asarray(gram)
        precision = np.float32 if values.dtype == np.float32 else np.float64
        self.gram = np.ascontiguousarray(values, precision)
        self.kept = kept
        if self.gram.ndim != 2 or self.gram.shape[0] != self.gram.shape[1]:
            raise ValueError(
                f"gram has shape {self.gram.shape}; give one row and one column per "
                "training row"
            )

    def bind(self, features: Any) -> DenseRows:
        """Each row is its own anchor."""
        n = len(self.gram)
        return DenseRows(self.gram, np.arange(n), 2 * n)

    def ordered(self, rows: DenseRows) -> tuple[DenseRows, Ints]:
        """Anchors stay in their order; a compact model may have some of them."""
        return rows, np.arange(len(self.gram)) if self.kept is None else self.kept

    def local(self, rows: DenseRows, offset: Ints) -> DenseRows:
        """Rows with the anchors of their own sequence alone."""
        length = np.diff(offset)
        longest = int(length.max())
        gram = np.zeros((len(rows.x), longest), rows.x.dtype)
        for first, last in pairwise(offset.tolist()):
            gram[first:last, : last - first] = rows.x[first:last, first:last]
        anchor = np.arange(len(gram)) - np.repeat(offset[:-1], length)
        return DenseRows(gram, anchor, 2 * longest)

    def columns(self, rows: DenseRows) -> Any:
        """Refuse: gradients of a log loss are not sparse in the anchors."""
        raise CapabilityError(
            "loss='log' and solver='hmm' have no kernel form here; use a margin, or an "
            "explicit approximation of the kernel (Nystroem, random Fourier features)"
        )

    def complete(self, rows: DenseRows, emission: Floats) -> None:
        """Compute the scores that belong to the coefficients, (2·n_anchors, width)."""
        n = rows.x.shape[1]
        scores_of(rows.x, emission[:n], emission[n:].reshape(-1, n))

    def dot(self, rows: DenseRows, one: Floats, other: Floats, width: int) -> float:
        """Σ_l <β_l, K β'_l> of two models of shape (2·n_anchors·width,)."""
        n, scores = rows.x.shape[1], slice(rows.x.shape[1] * width, None)
        beta = one[: n * width].reshape(n, width)
        return float(np.sum(beta.T * other[scores].reshape(width, n)))
