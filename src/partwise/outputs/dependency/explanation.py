"""Why a dependency tree won: winner against runner-up, word by word.

The winner becomes the runner-up by changing one word after the other. What each change
costs is that word's share of the lead, so the shares add up to it, whatever parts the
scores are made of.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from partwise.features._arc_compiled import N_VARIANTS
from partwise.features.sentences import sentence_table
from partwise.objective import Formulation
from partwise.outputs.dependency.model import encode_trees
from partwise.outputs.sequence.explanation import Contribution, Explanation
from partwise.protocol import Cuts, Floats, Ints

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
        Arcs are written as label(head), as in ``nsubj(2)``.
    """
    table = sentence_table(X)[:1]
    found = model.predict_topk(table, 2)[0]
    words = table.strings(next(iter(table.columns)))[0]
    winner, score = found[0]
    if len(found) == 1:
        return Explanation(words, _arcs(winner), None, score, np.inf)
    runner_up, second = found[1]
    explanation = Explanation(
        words, _arcs(winner), _arcs(runner_up), score, score - second
    )
    codes, others = (
        encode_trees([tree], table.offset, model.own_labels)
        for tree in (winner, runner_up)
    )
    changed = np.flatnonzero(codes != others)
    leads = _leads(model, table, winner, codes, others, changed)
    reasons = []
    for t, share in zip(changed.tolist(), np.diff(leads, prepend=0.0), strict=True):
        reasons.append(
            Contribution(
                t,
                f"the arc to {words[t]}",
                _spoken(winner, words, t),
                _spoken(runner_up, words, t),
                float(share),
            )
        )
    reasons.sort(key=lambda reason: -abs(reason.share))
    explanation.contributions = reasons[:top]
    return explanation


def _leads(
    model: DependencyModel,
    table: Table,
    winner: DependencyTree,
    codes: Ints,
    others: Ints,
    changed: Ints,
) -> Floats:
    """Lead of the winner over itself with the first 1, 2, … changes."""
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
    problem = model.training_problem(table, [winner], Formulation())
    return problem.margins(problem.expand(model.weights), cuts)


def telling_arcs(model: DependencyModel, top: int) -> list[tuple[str, float]]:
    """Heaviest features of arcs, for and against; none where they have no names.

    Parameters
    ----------
    model : DependencyModel
    top : int
        Number of each kind.

    Returns
    -------
    list of (name, weight)
        Weights without direction and distance, falling.
    """
    featurizer = model.featurizer
    if featurizer is None or featurizer.hash_bits is not None:
        return []
    names = featurizer.feature_names_
    plain = model.weights[: featurizer.n_rows_ * N_VARIANTS : N_VARIANTS]
    order = np.argsort(-plain, kind="stable")
    chosen = [f for f in order[:top] if plain[f] > 0]
    chosen += [f for f in order[max(0, len(order) - top) :] if plain[f] < 0]
    return [(names[f], float(plain[f])) for f in chosen]


def _arcs(tree: DependencyTree) -> list[str]:
    return [f"{label}({head})" for head, label in zip(*tree, strict=True)]


def _spoken(tree: DependencyTree, words: list[str], t: int) -> str:
    """One arc in words, as in "nsubj of works"."""
    head = tree.heads[t]
    return f"{tree.labels[t]} of {words[head - 1] if head else 'the root'}"
