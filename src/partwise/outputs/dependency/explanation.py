"""Why a dependency tree won: winner against runner-up, word by word.

The winner becomes the runner-up by changing one word after the other. What each change
costs is that word's share of the lead, so the shares add up to it, whatever parts the
scores are made of.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from partwise.features.sentences import sentence_table
from partwise.outputs.explanation import Contribution, Explanation
from partwise.protocol import Cuts, Floats, Ints
from partwise.structures.dependency.codes import encode_trees

if TYPE_CHECKING:
    from partwise.outputs.dependency.model import DependencyModel
    from partwise.readers.table import Table
    from partwise.readers.trees import DependencyTree


def explain_tree(model: DependencyModel, X: Any, *, top: int = 10) -> Explanation:
    """Compare the best tree of a sentence with the second.

    Parameters
    ----------
    model : DependencyModel
    X : sentences
        The first one is explained.
    top : int
        Number of reasons.

    Returns
    -------
    Explanation
        Arcs are written as label(head), as in ``nsubj(2)``. With a kernel it also
        lists the training sentences, or keys, that decide, with their arcs.
    """
    table = sentence_table(X)[:1]
    ranked = model.predict_topk(table, 2)[0]
    words = table.strings(next(iter(table.columns)))[0]
    trees = [tree for tree, _ in ranked]
    outputs = [encode_trees([tree], table.offset, model.joint_labels) for tree in trees]
    score, lead = ranked[0][1], np.inf
    explanation = Explanation(words, _arcs(trees[0]), None, score, lead)
    runner_up = trees[1] if len(ranked) > 1 else None
    explanation.drawn = table, trees[0], runner_up
    if len(ranked) > 1:
        explanation.runner_up = _arcs(trees[1])
        explanation.lead = score - ranked[1][1]
        changed = np.flatnonzero(outputs[0] != outputs[1])
        leads = _leads(model, table, outputs, changed)
        shares = np.diff(leads, prepend=0.0).tolist()
        reasons = [
            Contribution(
                t,
                f"the arc to {words[t]}",
                _spoken(trees[0], words, t),
                _spoken(trees[1], words, t),
                share,
            )
            for t, share in zip(changed.tolist(), shares, strict=True)
        ]
        reasons.sort(key=lambda reason: -abs(reason.share))
        explanation.contributions = reasons[:top]
    explanation.support = model.scoring.supporters(table, model.weights, outputs, top)
    return explanation


def _leads(
    model: DependencyModel, table: Table, outputs: list[Ints], changed: Ints
) -> Floats:
    """Lead of the winner over itself with the first 1, 2, … changes."""
    codes, others = outputs
    stages = np.tile(codes, (len(changed), 1))
    for k, t in enumerate(changed):
        stages[k:, t] = others[t]
    n, ones = len(changed), np.ones(len(changed))
    cuts = Cuts(
        block=np.zeros(n, np.int64),
        b=ones,
        scale=ones,
        violation=ones,
        bound=ones,
        indptr=np.arange(n + 1) * len(codes),
        code=stages.ravel().astype(np.int32),
    )
    problem = model.problem_of(table, codes)
    return problem.margins(problem.expand(model.weights), cuts)


def _arcs(tree: DependencyTree) -> list[str]:
    return [f"{label}({head})" for head, label in zip(*tree, strict=True)]


def _spoken(tree: DependencyTree, words: list[str], t: int) -> str:
    """One arc in words, as in "nsubj of works"."""
    head = tree.heads[t]
    return f"{tree.labels[t]} of {words[head - 1] if head else 'the root'}"
