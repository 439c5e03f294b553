"""Support structures of a dependency parser, drawn over their sentence.

As Figure 2 of paper 002 does for labels: a training sentence with a wrong tree that
carries dual weight, its wrong arcs above the words and the true ones below.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from partwise.report.arcs import dependency_picture
from partwise.report.content import Picture
from partwise.report.support import count_words, heaviest

if TYPE_CHECKING:
    from partwise.outputs.dependency.model import DependencyModel

_LONGEST = 20  # words of a sentence that is drawn


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
    kept = model.support
    if kept is None or not len(kept.alpha):
        return []
    offset = kept.table.offset
    names = next((n for n in ("form", "word") if n in kept.table.columns), None)
    words = kept.table.strings(names or next(iter(kept.table.columns)))
    pictures = []
    is_short = np.diff(offset) <= _LONGEST
    for i, planes in heaviest(kept.cuts.block, kept.alpha, is_short, n_sentences):
        truth = _tree(model, kept.y[offset[i] : offset[i + 1]])
        n_outputs = count_words(model.structure.n_outputs(len(truth[0])))
        for rank, p in enumerate(planes[:n_trees].tolist(), 1):
            code = kept.cuts.code[kept.cuts.indptr[p] : kept.cuts.indptr[p + 1]]
            caption = (
                f"Training sentence {int(kept.rows[i])}: support structure {rank} of "
                f"{len(planes)} among {n_outputs} trees, "
                f"α = {float(kept.alpha[p]):.3g}"
            )
            drawn = dependency_picture(words[i], _tree(model, code), truth=truth)
            pictures.append(Picture(caption, drawn))
    return pictures


def _tree(model: DependencyModel, code: np.ndarray) -> tuple[list[int], list[str]]:
    """Heads and labels of codes; without labels, empty ones."""
    names = model.joint_labels
    size = max(len(names), 1)
    heads = (code // size).tolist()
    labels = [names[c % size] if names else "" for c in code.tolist()]
    return heads, labels
