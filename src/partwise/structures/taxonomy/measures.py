"""Measures of classes and sets of nodes in a taxonomy."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from partwise.protocol import Ints
from partwise.structures.taxonomy.node_sets import NodeSets
from partwise.structures.taxonomy.nodes import Nodes
from partwise.structures.taxonomy.structure import Taxonomy


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
        "accuracy": float(np.mean(np.equal(rows, predicted))) if rows else 0.0,
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


def marks(nodes: Nodes, labels: Sequence[Any]) -> Ints:
    """0/1 array (n, N) of classes, or lists of them, with all their ancestors."""
    sets = [label if isinstance(label, list) else [label] for label in labels]
    return NodeSets(nodes).closure(sets)


def known_rows(
    nodes: Nodes, y: Sequence[Any], y_pred: Sequence[Any]
) -> tuple[list[Any], list[Any]]:
    """True and predicted classes of the rows whose truth is in the taxonomy."""
    is_list = bool(y_pred) and isinstance(y_pred[0], list)
    truth, predicted = [], []
    for label, best in zip(y, y_pred, strict=True):
        names = label if isinstance(label, list) else [label]
        if all(name in nodes.number for name in names):
            truth.append(names if is_list else names[0])
            predicted.append(best)
    return truth, predicted


def row_measures(
    nodes: Nodes, y: Sequence[Any], y_pred: Sequence[Any]
) -> dict[str, float]:
    """`class_measures` of single classes, `set_measures` of lists of them."""
    if not y_pred or isinstance(y_pred[0], list):
        return set_measures(marks(nodes, y), marks(nodes, y_pred))
    return class_measures(nodes, y, y_pred)
