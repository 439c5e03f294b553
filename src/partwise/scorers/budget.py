"""A kernel model on a budget: fewer anchors, almost the same model."""

from __future__ import annotations

import numpy as np

from partwise.protocol import Floats

WAYS = ("project", "merge", "drop")


def keep_within(
    gram: np.ndarray, beta: Floats, budget: int, how: str = "project"
) -> Floats:
    """
    Coefficients of the model on at most `budget` anchors.

    Anchor a is as useful as its part of the model is long, ‖β_a‖·√k(a, a). The least
    useful ones go, in one of three ways. ``"project"`` finds the model on the kept
    anchors S that is nearest to the whole one: β_S = K_SS⁻¹ K_S: β. ``"merge"`` puts
    one kept anchor b in the place of a, the nearest in direction:
    β_b += β_a·k(a, b)/k(b, b). ``"drop"`` forgets a.

    Parameters
    ----------
    gram : array (n_anchors, n_anchors)
    beta : array (n_anchors, n_labels)
    budget : int
    how : {"project", "merge", "drop"}

    Returns
    -------
    array (n_anchors, n_labels)
        Zero for the anchors that went.

    Examples
    --------
    >>> gram = np.array([[1.0, 0.5, 0.0], [0.5, 1.0, 0.0], [0.0, 0.0, 1.0]])
    >>> beta = np.array([[2.0], [0.1], [1.0]])
    >>> keep_within(gram, beta, 2, "merge").ravel()
    array([2.05, 0.  , 1.  ])
    >>> keep_within(gram, beta, 2, "drop").ravel()
    array([2., 0., 1.])
    """
    if how not in WAYS:
        raise ValueError(f"over_budget={how!r}: choose {', '.join(WAYS)}")
    if isinstance(budget, bool) or int(budget) != budget or budget < 1:
        raise ValueError(f"budget={budget!r}: give a positive whole number of anchors")
    square = np.diagonal(gram)
    length = np.sqrt(np.maximum(square, 0.0))
    use = np.sqrt(np.sum(beta * beta, axis=1)) * length
    held = np.flatnonzero(beta.any(axis=1))
    if len(held) <= budget:
        return beta
    order = held[np.argsort(-use[held], kind="stable")]
    kept, gone = np.sort(order[:budget]), np.sort(order[budget:])
    small = np.zeros_like(beta)
    small[kept] = beta[kept]
    if how == "drop":
        return small
    if how == "project":  # anchors may be alike: least squares, no inverse
        inner, outer = gram[np.ix_(kept, kept)], gram[np.ix_(kept, gone)] @ beta[gone]
        rcond = len(kept) * np.finfo(gram.dtype).eps
        small[kept] += np.linalg.lstsq(inner, outer, rcond=rcond)[0]
        return small
    has_length = length[kept] > 0
    scale = np.divide(1.0, length[kept], out=np.zeros(budget), where=has_length)
    for a in gone:  # one row of the Gram matrix at a time
        b = np.argmax(np.abs(gram[a, kept]) * scale)
        if has_length[b]:
            small[kept[b]] += beta[a] * (gram[a, kept[b]] / square[kept[b]])
    return small
