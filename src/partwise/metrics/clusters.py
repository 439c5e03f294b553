"""Metrics of clusterings: MUC, B³, CEAF, and pairs.

All take lists of clusterings, each a cluster label per item; items are the same in
truth and prediction (gold mentions). Sums are over all documents, as the CoNLL scorer
does.

Vilain et al.: A model-theoretic coreference scoring scheme, MUC-6, 1995. Bagga,
Baldwin: Algorithms for scoring coreference chains, 1998. Luo: On coreference resolution
performance metrics, 2005.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from scipy.optimize import linear_sum_assignment

Clusterings = Sequence[Any]
Table = np.ndarray


def overlaps(y: Any, y_hat: Any) -> Table:
    """Items in each pair of a true and a predicted cluster."""
    _, rows = np.unique(np.asarray(y), return_inverse=True)
    _, columns = np.unique(np.asarray(y_hat), return_inverse=True)
    if len(rows) != len(columns):
        raise ValueError(f"{len(rows)} true items and {len(columns)} predicted ones")
    table = np.zeros((rows.max(initial=-1) + 1, columns.max(initial=-1) + 1))
    np.add.at(table, (rows, columns), 1.0)
    return table


def _f1(
    y_true: Clusterings, y_pred: Clusterings, parts: Callable[[Table], Any]
) -> float:
    """F1 from (hits of recall, most, hits of precision, most), summed."""
    total = np.zeros(4)
    for y, y_hat in zip(y_true, y_pred, strict=True):
        total += parts(overlaps(y, y_hat))
    recall = total[0] / total[1] if total[1] else 0.0
    precision = total[2] / total[3] if total[3] else 0.0
    both = recall + precision
    return float(2 * recall * precision / both) if both else 0.0


def _muc(table: Table) -> tuple[float, float, float, float]:
    size, size_hat = table.sum(axis=1), table.sum(axis=0)
    pieces, pieces_hat = (table > 0).sum(axis=1), (table > 0).sum(axis=0)
    return (
        float((size - pieces).sum()), float((size - 1).sum()),
        float((size_hat - pieces_hat).sum()), float((size_hat - 1).sum()),
    )  # fmt: skip


def muc_f1(y_true: Clusterings, y_pred: Clusterings) -> float:
    """F1 of links (MUC).

    Examples
    --------
    >>> round(muc_f1([[0, 0, 0, 0]], [[0, 0, 1, 1]]), 3)
    0.8
    """
    return _f1(y_true, y_pred, _muc)


def mitre_loss(y_true: Clusterings, y_pred: Clusterings) -> float:
    """100·(1 − MUC F1), the MITRE loss of Finley and Joachims."""
    return 100.0 * (1.0 - muc_f1(y_true, y_pred))


def pair_loss(y_true: Clusterings, y_pred: Clusterings) -> float:
    """100·wrong pairs / all pairs, a mean over documents with two items or more.

    Examples
    --------
    >>> round(pair_loss([[0, 0, 1]], [[0, 1, 1]]), 3)
    66.667
    """
    losses = []
    for y, y_hat in zip(y_true, y_pred, strict=True):
        table = overlaps(y, y_hat)
        n = table.sum()
        if n < 2:
            continue
        squares = [np.sum(t**2) for t in (table.sum(axis=1), table.sum(axis=0), table)]
        wrong = (squares[0] + squares[1] - 2 * squares[2]) / 2
        losses.append(100.0 * wrong / (n * (n - 1) / 2))
    return float(np.mean(losses)) if losses else 0.0


def _b_cubed(table: Table) -> tuple[float, float, float, float]:
    size, size_hat = table.sum(axis=1, keepdims=True), table.sum(axis=0, keepdims=True)
    n = float(table.sum())
    return float((table**2 / size).sum()), n, float((table**2 / size_hat).sum()), n


def b_cubed_f1(y_true: Clusterings, y_pred: Clusterings) -> float:
    """F1 of B³: precision and recall of each item's cluster, averaged."""
    return _f1(y_true, y_pred, _b_cubed)


def _ceaf_m(table: Table) -> tuple[float, float, float, float]:
    value = float(table[linear_sum_assignment(table, maximize=True)].sum())
    return value, float(table.sum()), value, float(table.sum())


def ceaf_m_f1(y_true: Clusterings, y_pred: Clusterings) -> float:
    """CEAF by items: the best one-to-one alignment of clusters (φ₃)."""
    return _f1(y_true, y_pred, _ceaf_m)


def _ceaf_e(table: Table) -> tuple[float, float, float, float]:
    sizes = table.sum(axis=1, keepdims=True) + table.sum(axis=0, keepdims=True)
    alike = 2 * table / sizes
    value = float(alike[linear_sum_assignment(alike, maximize=True)].sum())
    return value, float(table.shape[0]), value, float(table.shape[1])


def ceaf_e_f1(y_true: Clusterings, y_pred: Clusterings) -> float:
    """CEAF by entities (φ₄)."""
    return _f1(y_true, y_pred, _ceaf_e)


def conll_f1(y_true: Clusterings, y_pred: Clusterings) -> float:
    """Mean of MUC, B³ and CEAF by entities, the score of CoNLL-2012."""
    scores = (muc_f1, b_cubed_f1, ceaf_e_f1)
    return float(np.mean([score(y_true, y_pred) for score in scores]))
