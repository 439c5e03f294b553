"""Measures of a label vector, as losses over tables of true and false positives.

With P positive and N negative rows, the contingency table of a labelling is given by
its true positives a and false positives b: fn = P − a, tn = N − b. Losses are in
[0, 1]:

=================== ======================================== =================
measure             loss                                     labellings
=================== ======================================== =================
``error``           (fn + fp)/n                              all
``balanced_error``  ½ (fn/P + fp/N)                          all
``f1``              1 − 2a/(2a + fn + fp)                    all
``fbeta``           1 − (1 + β²)a/((1 + β²)a + β² fn + fp)   all
``prbep``           1 − a/P                                  a + b = P
``precision_at_k``  1 − a/k                                  a + b = k
``recall_at_k``     1 − a/P                                  a + b = k
a function          1 − f(tp, fp, fn, tn)                    all
``roc_auc``         share of (positive, negative) in the     orders of pairs
                    wrong order, ties ½
``average_          1 − mean precision at positive rows      rankings
precision``
=================== ======================================== =================

A labelling without true positives has F1 = 0. Where k differs from P, precision or
recall at k cannot reach 1: the loss is that of the measure all the same.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

MEASURES = (
    "f1", "fbeta", "prbep", "roc_auc", "precision_at_k", "recall_at_k", "error",
    "balanced_error", "average_precision",
)  # fmt: skip

WEIGHTED = ("error", "balanced_error")  # sums over rows, which may have weights
RANKED = ("roc_auc", "average_precision")  # of the order of rows, not of their labels

# How kernels compute a loss from (a, b), with two numbers u and v per block.
LINEAR = 0  # u·fn + v·fp
F_BETA = 1  # 1 − (1 + u)a/(a + b + u·P)
SHARE = 2  # 1 − u·a
GIVEN = 3  # 1 − f(tp, fp, fn, tn)


class ContingencyLoss(NamedTuple):
    """The loss of a label vector with P positive and N negative rows, or weights."""

    n_positive: float
    n_negative: float
    kind: int
    u: float
    v: float
    size: int  # predicted positives of every labelling, or −1
    function: Callable[..., float] | None

    def __call__(self, tp: float, fp: float) -> float:
        """Δ of a labelling with these true and false positives."""
        fn, tn = self.n_positive - tp, self.n_negative - fp
        if (fn, fp) == (0, 0):
            return 0.0  # the truth, also where it is not among the labellings
        if self.kind == LINEAR:
            return self.u * fn + self.v * fp
        if self.kind == F_BETA:
            return 1.0 - (1 + self.u) * tp / (tp + fp + self.u * self.n_positive)
        if self.kind == SHARE:
            return max(1.0 - self.u * tp, 0.0)
        assert self.function is not None
        return 1.0 - float(self.function(float(tp), float(fp), float(fn), float(tn)))


def contingency_loss(
    measure: Any, n_positive: float, n_negative: float, beta: float, k: int | None
) -> ContingencyLoss:
    """The loss of a measure on so many positive and negative rows, or their weights."""
    n = n_positive + n_negative
    if callable(measure):
        return _given_loss(measure, n_positive, n_negative)
    if measure not in MEASURES:
        raise ValueError(
            f"measure={measure!r}: choose from {', '.join(MEASURES)}, or give a "
            "function of (tp, fp, fn, tn)"
        )
    if measure != "error" and n_positive == 0:
        raise ValueError(f"measure={measure!r} needs a positive row; there is none")
    if measure in ("balanced_error", *RANKED) and n_negative == 0:
        raise ValueError(f"measure={measure!r} needs a negative row; there is none")
    u, v, size = 1.0 / n, 1.0 / n, -1
    kind = LINEAR
    if measure == "balanced_error":
        u, v = 0.5 / n_positive, 0.5 / n_negative
    elif measure in ("f1", "fbeta"):
        if not 0 < beta < 1e6:
            raise ValueError(f"beta={beta!r}: give a positive number")
        kind, u = F_BETA, (1.0 if measure == "f1" else float(beta) ** 2)
    elif measure in ("prbep", "precision_at_k", "recall_at_k"):
        kind, size = SHARE, int(n_positive)
        if k is not None and measure != "prbep":
            size = k
        if not 1 <= size <= n:
            raise ValueError(f"k={k!r}: give a number from 1 to the {n} rows")
        u = 1.0 / (size if measure == "precision_at_k" else n_positive)
    return ContingencyLoss(n_positive, n_negative, kind, u, v, size, None)


def _given_loss(
    function: Callable[..., float], n_positive: float, n_negative: float
) -> ContingencyLoss:
    loss = ContingencyLoss(n_positive, n_negative, GIVEN, 0.0, 0.0, -1, function)
    name = getattr(function, "__name__", repr(function))
    value = function(float(n_positive), 0.0, 0.0, float(n_negative))
    if not abs(value - 1.0) <= 1e-12:
        raise ValueError(
            f"measure={name} is {value!r} for the truth (tp={n_positive}, fp=0, fn=0, "
            f"tn={n_negative}); it must be 1 there and at most 1 elsewhere, so for a "
            "loss return 1 − loss"
        )
    return loss


def count_table(y: Any, y_hat: Any) -> tuple[int, int]:
    """True and false positives of ŷ."""
    positive, predicted = np.asarray(y) > 0, np.asarray(y_hat) > 0
    return int(np.sum(positive & predicted)), int(np.sum(~positive & predicted))
