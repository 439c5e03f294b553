"""Where to cut scores, so that the measure of labelled rows is best."""

from __future__ import annotations

import numpy as np

from partwise.protocol import Floats
from partwise.structures.label_vector.structure import LabelVector


def best_threshold(structure: LabelVector, y: np.ndarray, scores: Floats) -> float:
    """A threshold under which the measure of these rows is best.

    Parameters
    ----------
    structure : LabelVector
    y : array (n,) of −1 and 1
    scores : array (n,)

    Returns
    -------
    float
        Halfway between two scores; of several, the one nearest to zero. Measures that
        fix the number of positives cut there; measures of orders have none, so 0.
    """
    if structure.is_pairwise:
        return 0.0
    order = np.argsort(-scores, kind="stable")
    ranked = scores[order]
    positives = np.concatenate([[0], np.cumsum(y[order] > 0)])
    loss = structure.loss_of(y)
    cuts = np.flatnonzero(np.append(True, np.append(ranked[1:] < ranked[:-1], True)))
    if loss.size >= 0:
        cuts = cuts[[np.argmin(np.abs(cuts - loss.size))]]
    values = np.array([loss(int(positives[c]), int(c - positives[c])) for c in cuts])
    above = np.append(ranked[0] + 1.0, ranked)[cuts]
    below = np.append(ranked, ranked[-1] - 1.0)[cuts]
    middle = (above + below) / 2
    best = np.flatnonzero(values <= values.min() + 1e-12)
    inside = (above[best] > 0) & (below[best] <= 0)
    if inside.any():  # zero is as good
        return 0.0
    return float(middle[best[np.argmin(np.abs(middle[best]))]])
