"""Metrics that count tokens, and whole sequences of them."""

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np

from partwise.metrics._pairs import Labels, paired, rate_rows, token_pairs


class LabelRow(NamedTuple):
    """How well one label is predicted; `support` counts it in the truth."""

    label: Any
    precision: float
    recall: float
    f1: float
    support: int


def token_accuracy(y_true: Sequence[Labels], y_pred: Sequence[Labels]) -> float:
    """Share of tokens whose label is right.

    Parameters
    ----------
    y_true, y_pred : sequences of label sequences
        True and predicted labels, strings or integers.

    Returns
    -------
    float
        Between 0 and 1.

    Examples
    --------
    >>> token_accuracy([["N", "V"], ["N", "N"]], [["N", "V"], ["V", "N"]])
    0.75
    """
    hits = [true == predicted for true, predicted in token_pairs(y_true, y_pred)]
    return _mean(hits, "token")


def token_error(y_true: Sequence[Labels], y_pred: Sequence[Labels]) -> float:
    """Share of tokens whose label is wrong; see `token_accuracy`. Lower is better.

    Examples
    --------
    >>> token_error([["N", "V"], ["N", "N"]], [["N", "V"], ["V", "N"]])
    0.25
    """
    misses = [true != predicted for true, predicted in token_pairs(y_true, y_pred)]
    return _mean(misses, "token")


def exact_match(y_true: Sequence[Labels], y_pred: Sequence[Labels]) -> float:
    """Share of sequences without a single wrong label.

    See `token_accuracy`.

    Examples
    --------
    >>> exact_match([["N", "V"], ["N", "N"]], [["N", "V"], ["V", "N"]])
    0.5
    """
    hits = [list(true) == list(predicted) for true, predicted in paired(y_true, y_pred)]
    return _mean(hits, "sequence")


def label_report(y_true: Sequence[Labels], y_pred: Sequence[Labels]) -> list[LabelRow]:
    """Precision, recall, F1 and support of each label, in the order of the labels.

    Parameters
    ----------
    y_true, y_pred : sequences of label sequences
        True and predicted labels, strings or integers.

    Returns
    -------
    list of LabelRow
        One row (label, precision, recall, f1, support) per label that occurs in
        the truth or in the prediction. An undefined rate (0/0) is 0.

    Examples
    --------
    >>> for row in label_report([["N", "V"], ["N", "N"]], [["N", "V"], ["V", "N"]]):
    ...     print(row.label, row.precision, round(row.recall, 3), row.support)
    N 1.0 0.667 3
    V 0.5 1.0 1
    """
    pairs = Counter(token_pairs(y_true, y_pred))
    n_true: Counter[Any] = Counter()
    n_predicted: Counter[Any] = Counter()
    for (true, predicted), count in pairs.items():
        n_true[true] += count
        n_predicted[predicted] += count
    labels = _ordered(n_true.keys() | n_predicted.keys())
    n_correct = Counter({label: pairs[label, label] for label in labels})
    return rate_rows(LabelRow, labels, n_correct, n_predicted, n_true)


def macro_f1(y_true: Sequence[Labels], y_pred: Sequence[Labels]) -> float:
    """Mean over the labels of their F1, rare labels counting as much as common ones.

    See `label_report`.

    Examples
    --------
    >>> round(macro_f1([["N", "V"], ["N", "N"]], [["N", "V"], ["V", "N"]]), 4)
    0.7333
    """
    return _mean([row.f1 for row in label_report(y_true, y_pred)], "label")


def confusion(
    y_true: Sequence[Labels],
    y_pred: Sequence[Labels],
    labels: Sequence[Any] | None = None,
) -> tuple[list[Any], np.ndarray]:
    """Count how often each label is predicted for each true label.

    Parameters
    ----------
    y_true, y_pred : sequences of label sequences
        True and predicted labels, strings or integers.
    labels : sequence of labels, optional
        Rows and columns wanted, in this order; tokens whose true or predicted
        label is another one are left out, as in scikit-learn. By default all
        labels that occur, sorted.

    Returns
    -------
    labels : list
        Labels of the rows and columns.
    matrix : ndarray of int, shape (n_labels, n_labels)
        Row: true label; column: predicted label.

    Examples
    --------
    >>> labels, matrix = confusion([["N", "V"], ["N", "N"]], [["N", "V"], ["V", "N"]])
    >>> labels
    ['N', 'V']
    >>> matrix
    array([[2, 1],
           [0, 1]])
    """
    pairs = Counter(token_pairs(y_true, y_pred))
    if labels is None:
        labels = _ordered({label for pair in pairs for label in pair})
    index = {label: i for i, label in enumerate(labels)}
    if len(index) < len(labels):
        raise ValueError("labels holds a label twice")
    matrix = np.zeros((len(index), len(index)), dtype=np.int64)
    for (true, predicted), count in pairs.items():
        if true in index and predicted in index:
            matrix[index[true], index[predicted]] = count
    return list(labels), matrix


def _mean(values: Sequence[float], what: str) -> float:
    if not values:
        raise ValueError(f"nothing to measure: y_true holds no {what}")
    return float(sum(values) / len(values))


def _ordered(labels: Iterable[Any]) -> list[Any]:
    labels = list(labels)
    try:
        return sorted(labels)
    except TypeError:
        kinds = " and ".join(sorted({type(label).__name__ for label in labels}))
        raise ValueError(
            f"labels of several kinds, {kinds}: make y_true and y_pred the same kind"
        ) from None
