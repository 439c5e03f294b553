"""Where to cut scores, so that the measure of labelled rows is best."""

from __future__ import annotations

import numpy as np

from partwise.protocol import Floats
from partwise.structures.label_vector.structure import LabelVector


def best_threshold(
    structure: LabelVector, y: np.ndarray, scores: Floats, weight: Floats | None = None
) -> float:
    """A threshold under which the measure of these rows is best.

    Parameters
    ----------
    structure : LabelVector
    y : array (n,) of −1 and 1
    scores : array (n,)
    weight : array (n,), optional
        How much each row counts.

    Returns
    -------
    float
        Halfway between two scores; of several, the one nearest to zero. Measures that
        fix the number of positives cut there. Measures of orders look at no labels;
        they cut where as many rows are positive as in truth, which makes precision and
        recall equal and prefers no other measure.
    """
    order = np.argsort(-scores, kind="stable")
    ranked = scores[order]
    counts = np.ones(len(y)) if weight is None else weight[order]
    tp = np.append(0.0, np.cumsum(counts * (y[order] > 0)))
    fp = np.append(0.0, np.cumsum(counts * (y[order] <= 0)))
    loss = structure.loss_of(y, weight)
    size = int(np.sum(y > 0)) if structure.is_pairwise else loss.size
    cuts = np.flatnonzero(np.append(True, np.append(ranked[1:] < ranked[:-1], True)))
    if size >= 0:
        cuts = cuts[[np.argmin(np.abs(cuts - size))]]
    values = np.array([loss(float(tp[c]), float(fp[c])) for c in cuts])
    above = np.append(ranked[0] + 1.0, ranked)[cuts]
    below = np.append(ranked, ranked[-1] - 1.0)[cuts]
    middle = (above + below) / 2
    best = np.flatnonzero(values <= values.min() + 1e-12)
    inside = (above[best] > 0) & (below[best] <= 0)
    if inside.any():  # zero is as good
        return 0.0
    return float(middle[best[np.argmin(np.abs(middle[best]))]])
