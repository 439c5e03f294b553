"""Truths of files of which some parts are not known: None in y.

Numpy is imported where it is used, as in tasks.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any


def known_pairs(y: Any, y_pred: Any) -> tuple[list[Any], list[Any]]:
    """True and predicted labels of what has a known label.

    Examples
    --------
    >>> known_pairs([["a", None]], [["b", "a"]])
    ([['a']], [['b']])
    """
    rows = [
        [(a, b) for a, b in zip(*labels, strict=True) if a is not None]
        for labels in zip(y, y_pred, strict=True)
    ]
    truth, predicted = ([[pair[k] for pair in row] for row in rows] for k in (0, 1))
    return truth, predicted


def filled(y: Any, y_pred: Any) -> list[list[Any]]:
    """Truths with the predictions in the place of what is not known.

    Examples
    --------
    >>> filled([["a", None]], [["b", "c"]])
    [['a', 'c']]
    """
    return [
        [b if a is None else a for a, b in zip(*rows, strict=True)]
        for rows in zip(y, y_pred, strict=True)
    ]


def n_unknown(y: Any) -> int:
    """How many entries of all rows are not known."""
    return sum(entry is None for row in y for entry in row)


def label_numbers(y: Any, labels: Sequence[Any]) -> Any:
    """Numbers of the labels of all rows, −1 where they are not known."""
    import numpy as np

    number: dict[Any, int] = {str(label): k for k, label in enumerate(labels)}
    number[None] = -1
    return np.array([number[a] for row in y for a in row], np.int32)


def token_loss(structure: Any, known: Sequence[Any], truth: Any, output: Any) -> float:
    """Plain loss of the labels of a sequence where they are known.

    Parameters
    ----------
    structure : Chain
    known : list
        The true labels, or None.
    truth, output : int arrays (n_tokens,)
        Codes of the completed truth, and of an output.
    """
    places = [t for t, label in enumerate(known) if label is not None]
    if len(places) == len(truth):
        return float(structure.loss(truth, output))
    return float(structure.loss(truth[places], output[places])) if places else 0.0


def arc_loss(structure: Any, known: Any, truth: Any, output: Any) -> float:
    """Plain loss of a dependency tree where the true heads and labels are known.

    Parameters
    ----------
    structure : Arborescence
    known : pair of lists
        True heads and labels, or None.
    truth, output : int arrays (n_words,)
        Codes of the completed truth, and of an output.
    """
    import numpy as np

    size = max(structure.n_labels, 1)
    parts = np.array(np.divmod(truth, size))
    is_hidden = np.array([[part is None for part in parts] for parts in known])
    n_known = np.sum(~is_hidden.all(axis=0))
    parts[is_hidden] = np.array(np.divmod(output, size))[is_hidden]
    loss = float(structure.loss(parts[0] * size + parts[1], output))
    return loss * len(truth) / n_known if structure.normalized and loss else loss
