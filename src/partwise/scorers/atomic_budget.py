"""An atomic model on a budget: fewer training sentences, almost the same model."""

from __future__ import annotations

import numpy as np
from numba import njit

from partwise.protocol import Floats
from partwise.scorers._atomic_rows import AtomicRows

WAYS = ("merge", "drop")


def check_budget(budget: int, how: str) -> None:
    """Refuse nonsense before the work."""
    if how not in WAYS:
        raise ValueError(f"over_budget={how!r}: choose {' or '.join(WAYS)}")
    if isinstance(budget, bool) or int(budget) != budget or budget < 1:
        raise ValueError(f"budget={budget!r}: give a positive whole number of anchors")


def keep_anchors_within(
    rows: AtomicRows, beta: Floats, budget: int, how: str = "merge"
) -> Floats:
    """
    Coefficients of the model on at most `budget` anchors.

    Anchor a is as useful as its part of the model is long, √(k(a, a) Σ_κ β(κ, a)²).
    The least useful ones go. To merge is to project each of their coefficients on the
    nearest kept anchor b among the postings of its key,

        β(κ, b) += β(κ, a)·k(a, b) / k(b, b);

    to drop is to forget.

    Parameters
    ----------
    rows : AtomicRows
        Of the training data, with an input kernel.
    beta : array (n_slots,)
    budget : int
    how : {"merge", "drop"}

    Returns
    -------
    array (n_slots,)
        The same array when it is within the budget already.

    Examples
    --------
    >>> from partwise.features.arc_keys import ArcHasher
    >>> from partwise.scorers.atomic import AtomicScorer
    >>> keys = ArcHasher("word").transform([["a"], ["a"]])
    >>> rows = AtomicScorer([[1.0, 0.5], [0.5, 1.0]]).bind(keys)
    >>> keep_anchors_within(rows, np.array([2.0, 1.0]), 1)
    array([2.5, 0. ])
    """
    check_budget(budget, how)
    n = rows.gram.shape[1]
    if n == 1:
        return beta
    square = np.diagonal(rows.gram).astype(np.float64)
    use = np.bincount(rows.anchor, beta * beta, minlength=n) * square
    held = np.flatnonzero(np.bincount(rows.anchor[beta != 0.0], minlength=n))
    if len(held) <= budget:
        return beta
    order = held[np.argsort(-use[held], kind="stable")]
    is_kept = np.zeros(n, np.uint8)
    is_kept[order[:budget]] = 1
    small = np.where(is_kept[rows.anchor] == 1, beta, 0.0)
    if how == "merge":
        merge_postings(rows.begin, rows.anchor, rows.gram, is_kept, beta, small)
    return small


@njit(cache=True, nogil=True)
def merge_postings(begin, anchor, gram, is_kept, beta, small):
    """Project the coefficients of anchors that went on the nearest kept ones."""
    for key in range(begin.shape[0] - 1):
        for s in range(begin[key], begin[key + 1]):
            a = anchor[s]
            if beta[s] == 0.0 or is_kept[a]:
                continue
            best, nearest = -1, 0.0
            for p in range(begin[key], begin[key + 1]):
                b = anchor[p]
                if is_kept[b] and gram[b, b] > 0.0:
                    near = gram[a, b] * gram[a, b] / gram[b, b]
                    if near > nearest:
                        best, nearest = p, near
            if best >= 0:
                b = anchor[best]
                small[best] += beta[s] * gram[a, b] / gram[b, b]
