"""Searches of segmentations in plain Python: nothing here shares code with training."""

from __future__ import annotations

from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from partwise.objective import Objective
from partwise.protocol import Floats, Ints


class Segment(NamedTuple):
    """Tokens [first, last) with a label."""

    first: int
    last: int
    label: int


def segment_scores(structure: Any, x: tuple[Any, Any], w: Floats) -> Floats:
    """Scores of segments (n, D, L), −inf for those that are too long.

    Parameters
    ----------
    structure : Segments
    x : matrix (n, F) of tokens, and of segments (n, D, G)
    w : array (n_weights,)
    """
    tokens, spans = x
    weights = structure.weights_of(w, tokens.shape[1])
    size, longest = structure.n_labels, structure.lengths()
    columns = np.asarray(tokens @ weights.tokens)
    n, depth = len(columns), int(longest.max())
    scores = np.full((n, depth, size), -np.inf)
    of_span = np.asarray(spans @ weights.spans)
    for label in range(size):
        first, rest, last = (columns[:, k * size + label] for k in range(3))
        for b in range(n):
            for d in range(min(int(longest[label]), n - b)):
                inside = rest[b + 1 : b + d + 1].sum()
                scores[b, d, label] = first[b] + inside
                if longest[label] > 1:
                    scores[b, d, label] += last[b + d]
                scores[b, d, label] += weights.lengths[label, d] + of_span[b, d, label]
    return scores


def plain_search(
    structure: Any, x: tuple[Any, Any], w: Floats, truth: Ints | None = None
) -> list[Segment]:
    """The segmentation of highest score, plus loss where a truth (n,) is given."""
    scores = segment_scores(structure, x, w)
    edges = structure.weights_of(w, x[0].shape[1]).edges
    n, depth, size = scores.shape
    best = np.full((n + 1, size), -np.inf)
    way: dict[tuple[int, int], tuple[int, int]] = {}  # to (end, label): start, before
    for e in range(1, n + 1):
        for label in range(size):
            for b in range(max(0, e - depth), e):
                value, before = scores[b, e - b - 1, label], -1
                if value == -np.inf:
                    continue
                if truth is not None:
                    value += structure.loss_of_segment(truth, b, e, label)
                if b:
                    before = int(np.argmax(best[b] + edges[:, label]))
                    value += best[b, before] + edges[before, label]
                if value > best[e, label]:
                    best[e, label], way[e, label] = value, (b, before)
    output: list[Segment] = []
    e, label = n, int(np.argmax(best[n]))
    while e:
        b, before = way[e, label]
        output.insert(0, Segment(b, e, label))
        e, label = b, before
    return output


def plain_primal(
    model: Any, X: Any, codes: Any, settings: dict[str, Any], objective: Objective
) -> float:
    """P(w) by the plain search, one sequence after the other."""
    if settings["loss"] != "hinge":
        raise ValueError("--plain needs a model of loss hinge; drop it")
    from partwise.structures.chain.plain import feature_rows

    structure, parts = model.structure, model.scoring.features(X)
    depth, violation = int(structure.lengths().max()), []
    for a, b in pairwise(parts.offset.tolist()):
        spans = feature_rows(parts.spans, a * depth, b * depth).toarray()
        x = feature_rows(parts.tokens, a, b), spans.reshape(b - a, depth, -1)
        y, w = codes[a:b], model.weights
        scores = segment_scores(structure, x, w)
        edges = structure.weights_of(w, x[0].shape[1]).edges

        def score(output: Any, scores: Any = scores, edges: Any = edges) -> float:
            segments = structure.segments_of(output)
            total = sum(scores[f, e - f - 1, label] for f, e, label in segments)
            return total + sum(edges[i[2], j[2]] for i, j in pairwise(segments))

        y_hat = plain_search(structure, x, w, y)
        violation.append(structure.loss(y, y_hat) - score(y) + score(y_hat))
    return objective.primal(float(np.sum(model.weights**2)), np.array(violation))
