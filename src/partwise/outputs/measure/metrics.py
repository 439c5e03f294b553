"""Measures of binary labels and of scores, and the one that a model was trained for."""

from __future__ import annotations

from typing import Any

import numpy as np

from partwise.metrics import binary
from partwise.metrics.binary import METRICS as METRICS
from partwise.structures.label_vector import LabelVector
from partwise.structures.label_vector.measures import count_table


def all_measures(
    y_true: Any, y_pred: Any, scores: Any, structure: LabelVector | None = None
) -> dict[str, float]:
    """Every measure by its name, from 0/1 labels and scores of rows.

    That of `structure` has its own settings, as in ``recall@25``.
    """
    values = {name: metric.function(y_true, y_pred) for name, metric in METRICS.items()}
    for measure in (binary.prbep, binary.roc_auc, binary.average_precision):
        values[measure.__name__] = measure(y_true, scores)
    if structure is not None:
        name, value = trained_measure(structure, y_true, y_pred, scores)
        values[name] = value
    return values


def trained_measure(
    structure: LabelVector, y_true: Any, y_pred: Any, scores: Any, weight: Any = None
) -> tuple[str, float]:
    """Name and value of the measure of `structure`, by its settings.

    With k, the k rows of the highest scores count as predicted. Errors are errors, so
    less is better; `weight` is how much each row counts in them.
    """
    measure, k = structure.measure, structure.k
    if callable(measure):
        true, predicted = (np.asarray(y) == 1 for y in (y_true, y_pred))
        tp, fp = count_table(true, predicted)
        fn = int(true.sum()) - tp
        table = map(float, (tp, fp, fn, len(true) - tp - fp - fn))
        return getattr(measure, "__name__", "measure"), float(measure(*table))
    if measure in ("error", "balanced_error"):
        return measure, getattr(binary, measure)(y_true, y_pred, weight)
    if measure in ("f1", "fbeta"):
        beta = 1.0 if measure == "f1" else structure.beta
        return f"f{beta:g}", binary.f_beta(y_true, y_pred, beta)
    if measure in ("precision_at_k", "recall_at_k"):
        kind = measure.removesuffix("_at_k")
        size = k or int(np.sum(np.asarray(y_true) == 1))
        return f"{kind}@{k or 'k'}", getattr(binary, f"{kind}_at")(y_true, scores, size)
    return measure, getattr(binary, measure)(y_true, scores)
