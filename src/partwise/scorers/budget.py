"""A kernel model on a budget: fewer anchors, almost the same model."""

from __future__ import annotations

from numbers import Integral
from typing import Any

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve, lstsq

from partwise.compiled import jitted
from partwise.parameters import SettingsError
from partwise.protocol import Floats
from partwise.scorers.postings import Postings

WAYS = ("project", "merge", "drop")


def check_budget(budget: Any, how: str) -> None:
    """Refuse invalid settings before any work."""
    if how not in WAYS:
        raise SettingsError(f"<over_budget={how!r}>: choose {', '.join(WAYS)}")
    if isinstance(budget, bool) or not isinstance(budget, Integral) or budget < 1:
        raise SettingsError(
            f"<budget={budget!r}>: give a positive whole number of anchors"
        )


def keep_within(
    postings: Postings, beta: Floats, budget: int, how: str = "project"
) -> Floats:
    """Coefficients of the model on at most `budget` anchors.

    Anchor a is as useful as its part of the model is long, √(k(a, a) Σ_κ β(κ, a)²). The
    least useful ones are dropped, key by key, in one of three ways; S are the remaining
    anchors that have the key. ``"project"`` finds the model on S that is nearest to the
    whole one, β_S = K_SS⁻¹ K_S: β. ``"merge"`` puts one anchor b of S in the place of
    a, the nearest in direction: β_b += β_a·k(a, b)/k(b, b). ``"drop"`` leaves a out.

    Parameters
    ----------
    postings : Postings
        Of the training data.
    beta : array (n_slots,)
    budget : int
    how : {"project", "merge", "drop"}

    Returns
    -------
    array (n_slots,)
        Zero for the anchors dropped; the same array when there are none.

    Examples
    --------
    >>> gram = np.array([[1.0, 0.5, 0.0], [0.5, 1.0, 0.0], [0.0, 0.0, 1.0]])
    >>> key, anchor = np.zeros(3, np.int32), np.arange(3, dtype=np.int32)
    >>> postings = Postings(key, np.array([0, 3]), anchor, gram, 3)
    >>> beta = np.array([2.0, 0.1, 1.0])
    >>> keep_within(postings, beta, 2, "merge")
    array([2.05, 0.  , 1.  ])
    >>> keep_within(postings, beta, 2, "drop")
    array([2., 0., 1.])
    """
    check_budget(budget, how)
    gram, anchor = postings.gram, postings.anchor
    n = gram.shape[1]
    with_weight = np.flatnonzero(np.bincount(anchor[beta != 0.0], minlength=n))
    if len(with_weight) <= budget or len(gram) != n:  # no kernel: keys are all there is
        return beta
    square = np.diagonal(gram).astype(np.float64)
    use = np.bincount(anchor, beta * beta, minlength=n) * square
    order = with_weight[np.argsort(-use[with_weight], kind="stable")]
    in_budget = np.zeros(n, np.uint8)
    in_budget[order[:budget]] = 1
    small = np.where(in_budget[anchor] == 1, beta, 0.0)
    if how == "merge":
        merge_postings(postings.begin, anchor, gram, in_budget, beta, small)
    elif how == "project":
        _project(postings, in_budget == 1, beta, small)
    return small


def _project(postings: Postings, in_budget: Any, beta: Floats, small: Floats) -> None:
    """Add the projections of dropped anchors; keys with the same anchors at once."""
    begin, anchor, gram = postings.begin, postings.anchor, postings.gram
    stays = in_budget[anchor]
    groups: dict[bytes, list[int]] = {}
    for key in np.unique(postings.key[(beta != 0.0) & ~stays]).tolist():
        anchors = anchor[begin[key] : begin[key + 1]]
        groups.setdefault(anchors[in_budget[anchors]].tobytes(), []).append(key)
    for keys in groups.values():
        first = slice(begin[keys[0]], begin[keys[0] + 1])
        anchors_left = anchor[first][stays[first]]
        if not len(anchors_left):
            continue
        outer = np.empty((len(anchors_left), len(keys)))
        for column, key in enumerate(keys):
            slots = np.arange(begin[key], begin[key + 1])
            out = slots[~stays[slots] & (beta[slots] != 0.0)]
            outer[:, column] = gram[np.ix_(anchors_left, anchor[out])] @ beta[out]
        solution = _solve(gram[np.ix_(anchors_left, anchors_left)], outer)
        for column, key in enumerate(keys):
            slots = np.arange(begin[key], begin[key + 1])
            small[slots[stays[slots]]] += solution[:, column]


def _solve(inner: Any, outer: Floats) -> Floats:
    """K⁻¹ times the columns of `outer`, where anchors may be alike.

    A ridge of the size of rounding makes K invertible; least squares, thirty times
    slower, are for what is left.
    """
    n, eps = len(inner), np.finfo(inner.dtype).eps
    matrix = inner.astype(np.float64)
    matrix[np.diag_indices(n)] += np.sqrt(n) * eps * np.max(np.diagonal(inner))
    try:
        return cho_solve(cho_factor(matrix, overwrite_a=True), outer)
    except LinAlgError:
        return lstsq(inner.astype(np.float64), outer, cond=n * eps)[0]


@jitted
def merge_postings(begin, anchor, gram, in_budget, beta, small):
    """Project the coefficients of dropped anchors on the nearest remaining ones."""
    for key in range(begin.shape[0] - 1):
        for s in range(begin[key], begin[key + 1]):
            a = anchor[s]
            if beta[s] == 0.0 or in_budget[a]:
                continue
            best, nearest = -1, 0.0
            for p in range(begin[key], begin[key + 1]):
                b = anchor[p]
                if in_budget[b] and gram[b, b] > 0.0:
                    near = gram[a, b] * gram[a, b] / gram[b, b]
                    if near > nearest:
                        best, nearest = p, near
            if best >= 0:
                b = anchor[best]
                small[best] += beta[s] * gram[a, b] / gram[b, b]
