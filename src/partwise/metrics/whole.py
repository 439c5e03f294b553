"""The share of outputs without an error, for all kinds of outputs."""

from collections.abc import Sequence
from typing import Any

from partwise.metrics.brackets import evalb
from partwise.metrics.dependencies import tree_match
from partwise.metrics.tokens import exact_match as sequence_match


def exact_match(y_true: Sequence[Any], y_pred: Sequence[Any]) -> float:
    """Share of outputs without a single error.

    Parameters
    ----------
    y_true, y_pred : sequences of outputs
        Label sequences; dependency trees (heads, labels), whose relations are compared
        without subtypes; or phrase-structure trees (label, children), whose brackets
        are compared as EVALB does.

    Returns
    -------
    float
        Between 0 and 1.

    Examples
    --------
    >>> exact_match([["N", "V"], ["N", "N"]], [["N", "V"], ["V", "N"]])
    0.5
    >>> exact_match([([2, 0], ["nsubj", "root"])], [([2, 0], ["nsubj", "root"])])
    1.0
    >>> exact_match([("NP", (("NN", ("cats",)),))], [("VP", (("NN", ("cats",)),))])
    0.0
    """
    if len(y_true) and _is_phrase_tree(y_true[0]):
        return evalb(y_true, y_pred).exact_match
    if len(y_true) and _is_dependency_tree(y_true[0]):
        return tree_match(y_true, y_pred)
    return sequence_match(y_true, y_pred)


def _is_phrase_tree(y: Any) -> bool:
    if callable(getattr(y, "label", None)):
        return True
    is_pair = isinstance(y, tuple) and len(y) == 2
    return is_pair and isinstance(y[0], str) and isinstance(y[1], tuple | list)


def _is_dependency_tree(y: Any) -> bool:
    is_pair = isinstance(y, tuple) and len(y) == 2
    return is_pair and not any(isinstance(v, str | int | float) for v in y)
