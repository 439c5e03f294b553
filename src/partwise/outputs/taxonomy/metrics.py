"""Metrics of classes in a taxonomy."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from partwise.outputs.multiclass.metrics import accuracy
from partwise.protocol import Ints
from partwise.structures.taxonomy import Taxonomy
from partwise.structures.taxonomy.nodes import Nodes


def mean_loss(
    loss: str, nodes: Nodes, y: Sequence[Any], y_pred: Sequence[Any]
) -> float:
    """Mean ``"tree"`` or ``"path"`` loss of predicted for true nodes, by their names.

    Examples
    --------
    >>> nodes = Nodes.read({"cat": "animal", "dog": "animal", "oak": "plant"})
    >>> mean_loss("tree", nodes, ["cat", "cat"], ["dog", "oak"])
    1.5
    """
    classes = sorted({*y, *y_pred})
    matrix = Taxonomy(nodes, classes, loss).cost_matrix()
    number = {name: k for k, name in enumerate(classes)}
    pairs = zip(y, y_pred, strict=True)
    total = sum(float(matrix[number[a], number[b]]) for a, b in pairs)
    return total / max(len(y), 1)


def hierarchical_scores(y: Ints, y_pred: Ints) -> dict[str, float]:
    """Precision, recall and F1 over nodes, ancestors included, of all rows together.

    Parameters
    ----------
    y, y_pred : 0/1 arrays (n, N)
        Closed under ancestors (Kiritchenko et al. 2006).
    """
    both = float((y * y_pred).sum())
    precision = both / max(float(y_pred.sum()), 1.0)
    recall = both / max(float(y.sum()), 1.0)
    f1 = 2 * both / max(float(y.sum() + y_pred.sum()), 1.0)
    return {
        "hierarchical_f1": f1,
        "hierarchical_precision": precision,
        "hierarchical_recall": recall,
    }


def class_measures(
    nodes: Nodes, y: Sequence[Any], y_pred: Sequence[Any]
) -> dict[str, float]:
    """Accuracy and losses of one class per row, true ones among the nodes."""
    marks, number = nodes.ancestors().astype(int), nodes.number
    rows, predicted = ([number[name] for name in names] for names in (y, y_pred))
    return {
        "accuracy": accuracy(y, y_pred),
        "tree_loss": mean_loss("tree", nodes, y, y_pred),
        "path_loss": mean_loss("path", nodes, y, y_pred),
        **hierarchical_scores(marks[rows], marks[predicted]),
    }


def set_measures(y: Ints, y_pred: Ints) -> dict[str, float]:
    """Exact matches, the share of wrong nodes, and F1 of sets of nodes."""
    return {
        "exact_match": float((y == y_pred).all(axis=1).mean()),
        "hamming_loss": float((y != y_pred).mean()),
        **hierarchical_scores(y, y_pred),
    }
