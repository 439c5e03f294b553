"""The objective by plain Python, for checks: it shares no code with training."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np

from partwise.features.arrays import DenseFeatures, Features
from partwise.objective import Objective
from partwise.structures.losses import ADDITIVE


def plain_primal(
    model: Any, X: Any, codes: Any, settings: dict[str, Any], objective: Objective
) -> float:
    """P(w) by the reference methods of the chain, one sentence after the other.

    They enumerate outputs except for the L1 margin with a loss that adds up over
    tokens, so anything else is refused.
    """
    chain = model.structure
    plain = (settings["loss"], settings["formulation"], settings["penalty"])
    if plain != ("hinge", "margin", "l1") or chain.delta.search != ADDITIVE:
        raise ValueError(
            "--plain needs a model of loss hinge, formulation margin and penalty l1 "
            "whose cost adds up over tokens; drop it"
        )
    if (np.asarray(codes) < 0).any():
        raise ValueError("--plain needs data in which all labels are known; drop it")
    tables, square = (_by_keys if model.scoring.prefix == "Kernel" else _by_features)(
        model, X
    )
    reference = type(chain)(**chain.get_params(deep=False))
    tail = model.weights[model.n_coefficients :]
    violation, begin = [], 0
    for scores in tables:
        n = len(scores)
        y = codes[begin : begin + n]
        # each token is its own feature, whose weights are its scores
        reference.n_features_ = n
        weights = np.append(scores, tail)
        y_hat = np.array(reference.loss_augmented_argmax(np.eye(n), y, weights))
        lead = _score(model, scores, y) - _score(model, scores, y_hat)
        violation.append(reference.loss(y, y_hat) - lead)
        begin += n
    return objective.primal(square + float(np.sum(tail**2)), np.array(violation))


def _by_features(model: Any, X: Any) -> tuple[list[Any], float]:
    """Scores of (token, label) of each sentence, and ‖w‖² without transitions."""
    features, emission = model.featurizer.transform(X), model.parts().emission
    tables = [
        feature_rows(features, a, b) @ emission
        for a, b in pairwise(features.offset.tolist())
    ]
    return tables, float(np.sum(emission**2))


def _by_keys(model: Any, X: Any) -> tuple[list[Any], float]:
    """The same through the kernel: sums over the anchors that share a key."""
    from partwise.kernels.gram import gram as kernel_values

    scoring, index, n_labels = model.scoring, model.scoring.index, len(model.labels)
    if scoring.hasher.has_pairs:
        raise ValueError("--plain has no plain methods for bigram in --match; drop it")
    keys, inputs = scoring.hasher.transform(X), scoring.inputs(X)
    postings: dict[int, list[tuple[int, float]]] = {}
    for k, key in enumerate(index.key.tolist()):
        here = range(int(index.begin[k]), int(index.begin[k + 1]))
        postings[key] = [(int(index.anchor[s]), model.weights[s]) for s in here]
    values = gram = np.ones((1, 1))
    if index.kernel is not None:
        anchors = index.anchors.inputs
        values = kernel_values(index.kernel, inputs, anchors, dtype=index.dtype)
        gram = kernel_values(index.kernel, anchors, dtype=index.dtype)
    tables = []
    for i, (a, b) in enumerate(pairwise(keys.offset.tolist())):
        scores = np.zeros((b - a, n_labels))
        for t in range(b - a):
            row = 0 if index.kernel is None else a + t if index.by_token else i
            for label in range(n_labels):
                for key in keys.key[keys.token[a + t] + label].tolist():
                    for anchor, beta in postings.get(key, ()):
                        scores[t, label] += beta * values[row, anchor]
        tables.append(scores)
    square = sum(
        beta * other * gram[one, two]
        for entries in postings.values()
        for one, beta in entries
        for two, other in entries
    )
    return tables, float(square)


def feature_rows(features: Features | DenseFeatures, a: int, b: int) -> Any:
    """Rows a to b, (b - a, n_features)."""
    from scipy import sparse

    if isinstance(features, DenseFeatures):
        return features.X[a:b]
    first, last = features.indptr[a], features.indptr[b]
    indices = features.indices[first:last]
    data = features.data
    is_binary = len(data) != len(features.indices)
    data = data.repeat(len(indices)) if is_binary else data[first:last]
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
