"""Features of tokens and segments, in the forms that users give them."""

from __future__ import annotations

from typing import Any

import numpy as np

from partwise.features.arrays import Features, as_features, make_features
from partwise.features.segments import SegmentParts
from partwise.protocol import Floats


def split_input(x: Any, depth: int) -> tuple[Floats, Floats]:
    """Features of tokens (n, F), and of segments (n, D, G)."""
    tokens, spans = x if isinstance(x, tuple) else (x, None)
    tokens = np.asarray(tokens, float)
    if spans is None:
        spans = np.zeros((len(tokens), depth, 0))
    return tokens, np.asarray(spans, float)


def no_spans() -> Features:
    """Segments without features of their own."""
    none = np.zeros(1, np.int64)
    return Features(none, np.zeros(0, np.int32), np.ones(1), none, 0)


def as_parts(X: Any, depth: int) -> SegmentParts:
    """Features of tokens and segments, in whatever form they are given."""
    if isinstance(X, SegmentParts):
        return X
    if hasattr(X, "offset") or not (len(X) and isinstance(X[0], tuple)):
        tokens: Any = X if hasattr(X, "offset") else as_features(X)
        return SegmentParts(tokens, no_spans())
    split = [split_input(x, depth) for x in X]
    tokens = as_features([one for one, _ in split])
    table = np.concatenate([spans.reshape(-1, spans.shape[2]) for _, spans in split])
    row, column = np.nonzero(table)
    indptr = np.append(0, np.cumsum(np.bincount(row, minlength=len(table))))
    spans = make_features(
        indptr, column, table[row, column], tokens.offset * depth, table.shape[1]
    )
    return SegmentParts(tokens, spans)
