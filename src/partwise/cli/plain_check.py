"""The objective once more, by plain Python: nothing here shares code with training."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from partwise.objective import Objective


def plain_primal(
    model: Any,
    features: Any,
    codes: Any,
    settings: dict[str, Any],
    objective: Objective,
) -> float:
    """P(w) by the reference methods of the chain, one sentence after the other.

    They enumerate outputs except for the L1 margin with a loss that adds up over
    tokens, so anything else is refused.
    """
    chain = model.chain
    plain = (settings["loss"], settings["formulation"], settings["penalty"])
    if plain != ("hinge", "margin", "l1") or _is_zero_one(chain):
        raise ValueError(
            "--plain needs a model of loss hinge, formulation margin and penalty l1 "
            "whose cost adds up over tokens; drop it"
        )
    reference = type(chain)(**chain.get_params(deep=False))
    reference.n_features_ = features.n_features
    violation = []
    for a, b in pairwise(features.offset.tolist()):
        x, y = _matrix(features, a, b), codes[a:b]
        y_hat = np.array(reference.loss_augmented_argmax(x, y, model.weights))
        scores = x @ model.parts().emission
        lead = _score(model, scores, y) - _score(model, scores, y_hat)
        violation.append(reference.loss(y, y_hat) - lead)
    return objective.primal(_square(model), np.array(violation))


def _square(model: Any) -> float:
    """‖w‖²; through the kernel where weights are coefficients of anchors."""
    plain = float(np.sum(model.weights**2))
    if not hasattr(model.featurizer, "anchors"):
        return plain
    beta = model.parts().emission
    gram = model.featurizer.kernel(model.featurizer.anchors)
    return plain - float(np.sum(beta**2)) + float(np.sum(beta * (gram @ beta)))


def _is_zero_one(chain: Any) -> bool:
    return isinstance(chain.cost, str) and chain.cost == "zero_one"


def _matrix(features: Any, a: int, b: int) -> Any:
    """Rows a to b, (b - a, n_features)."""
    from scipy import sparse

    if not hasattr(features, "indptr"):
        return features.X[a:b]
    first, last = features.indptr[a], features.indptr[b]
    indices = features.indices[first:last]
    data = features.data
    data = (
        data[first:last]
        if len(data) == len(features.indices)
        else data.repeat(len(indices))
    )
    indptr = features.indptr[a : b + 1] - first
    return sparse.csr_array((data, indices, indptr), (b - a, features.n_features))


def _score(model: Any, scores: Any, y: Any) -> float:
    """<w, φ(x, y)> from the scores of (token, label) and of runs of labels."""
    parts = model.parts()
    total = scores[np.arange(len(y)), y].sum()
    for run, table in ((2, parts.bigram), (3, parts.trigram)):
        if table.size:
            steps = len(y) - run + 1
            total += sum(table[tuple(y[t : t + run])] for t in range(steps))
    if parts.start.size:
        total += parts.start[y[0]] + parts.end[y[-1]]
    return float(total)
