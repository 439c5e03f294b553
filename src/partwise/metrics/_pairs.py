"""Checked pairs of true and predicted sequences, and the rates made of counts."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, NamedTuple, TypeVar

Labels = Sequence[Any]
Row = TypeVar("Row")


class Rates(NamedTuple):
    """Precision, recall and their harmonic mean; 0 where a rate is undefined."""

    precision: float
    recall: float
    f1: float


def rates(n_correct: int, n_predicted: int, n_true: int) -> Rates:
    """Make the rates of counts, 0/0 being 0 as in conlleval."""
    return Rates(
        n_correct / n_predicted if n_predicted else 0.0,
        n_correct / n_true if n_true else 0.0,
        2 * n_correct / (n_predicted + n_true) if n_correct else 0.0,
    )


def rate_rows(
    make: Callable[..., Row],
    names: Iterable[Any],
    n_correct: Counter[Any],
    n_predicted: Counter[Any],
    n_true: Counter[Any],
) -> list[Row]:
    """Make rows (name, precision, recall, f1, support) of counts by name."""
    return [
        make(n, *rates(n_correct[n], n_predicted[n], n_true[n]), n_true[n])
        for n in names
    ]


def paired(
    y_true: Sequence[Labels], y_pred: Sequence[Labels]
) -> Iterator[tuple[Labels, Labels]]:
    """Yield (true, predicted) sequences, refusing the first that do not fit."""
    if len(y_true) != len(y_pred):
        raise ValueError(
            f"y_true has {len(y_true)} sequences but y_pred has {len(y_pred)}"
        )
    for number, (true, predicted) in enumerate(zip(y_true, y_pred, strict=True)):
        for name, labels in (("y_true", true), ("y_pred", predicted)):
            # A string has a length too: a flat list of tags would be scored by letter.
            if isinstance(labels, str) or not hasattr(labels, "__len__"):
                raise ValueError(
                    f"sequence {number} of {name} is {labels!r}: "
                    "expected a list of labels for each sequence"
                )
        if len(true) != len(predicted):
            raise ValueError(
                f"sequence {number} (counting from 0) has {len(true)} true labels "
                f"but {len(predicted)} predicted ones"
            )
        yield true, predicted


def token_pairs(
    y_true: Sequence[Labels], y_pred: Sequence[Labels]
) -> Iterator[tuple[Any, Any]]:
    """Yield the (true, predicted) labels of all tokens."""
    for true, predicted in paired(y_true, y_pred):
        yield from zip(true, predicted, strict=True)
