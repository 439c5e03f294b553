"""Support structures of a dependency parser, drawn over their sentence.

As Figure 2 of paper 002 does for labels: a training sentence with a wrong tree that
carries dual weight, its wrong arcs above the words and the true ones below.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from partwise.report.arcs import draw_dependency_tree
from partwise.report.content import Picture
from partwise.report.support import count_words, heaviest_examples

if TYPE_CHECKING:
    from partwise.outputs.dependency.model import DependencyModel


def support_tree_pictures(
    model: DependencyModel, n_sentences: int = 5, n_trees: int = 2
) -> list[Picture]:
    """
    Draw the training sentences with the largest α.

    Parameters
    ----------
    model : DependencyModel
    n_sentences, n_trees : int
        How many sentences, and how many wrong trees of each.

    Returns
    -------
    list of Picture
        Empty for a model without its dual.
    """
    support, pictures = model.support, []
    for i, planes in heaviest_examples(support, n_sentences):
        truth = _tree(model, support.truth(i))
        n_outputs = count_words(model.structure.n_outputs(len(truth[0])))
        for rank, p in enumerate(planes[:n_trees].tolist(), 1):
            caption = (
                f"Training sentence {int(support.rows[i])}: support structure {rank} "
                f"of {len(planes)} among {n_outputs} trees, "
                f"α = {float(support.alpha[p]):.3g}"
            )
            tree = _tree(model, support.output(p))
            drawn = draw_dependency_tree(support.tokens[i], tree, truth=truth)
            pictures.append(Picture(caption, drawn))
    return pictures


def _tree(model: DependencyModel, code: np.ndarray) -> tuple[list[int], list[str]]:
    """Heads and labels of codes; without labels, empty ones."""
    names = model.joint_labels
    size = max(len(names), 1)
    heads = (code // size).tolist()
    labels = [names[c % size] if names else "" for c in code.tolist()]
    return heads, labels
