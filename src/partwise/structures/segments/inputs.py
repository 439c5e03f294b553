"""Features of tokens and segments, and truths, in the forms that users give them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np

from partwise.bounds import check_indices
from partwise.features.arrays import Features, as_features, make_features
from partwise.features.segments import SegmentParts
from partwise.protocol import Floats, Ints

if TYPE_CHECKING:
    from partwise.structures.segments.structure import Segments


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


def truth_codes(structure: Segments, Y: Any, offset: Ints, names: Any) -> Ints:
    """Codes of all tokens, checked; see `Segments.pack`."""
    if isinstance(Y, np.ndarray) and Y.ndim == 1 and Y.dtype.kind in "iu":
        if len(Y) != offset[-1]:
            raise ValueError(f"Y has {len(Y)} codes where X has {offset[-1]} tokens")
        label_of, begins = structure.meanings()
        check_indices(Y, len(label_of), "a code of Y")
        codes = structure.repaired(Y, offset)
        first = np.flatnonzero(begins[codes])
        length, label = np.diff(np.append(first, len(codes))), label_of[codes[first]]
        for k in np.flatnonzero(length > structure.lengths()[label])[:1]:
            i = int(np.searchsorted(offset, first[k], side="right")) - 1
            refuse_long(structure, f"Y[{i}]", length[k], label[k], names)
        return codes
    if len(Y) != len(offset) - 1:
        raise ValueError(f"X has {len(offset) - 1} sequences and Y {len(Y)}")
    return np.concatenate(
        [
            structure.encode(structure.segments_of(one), n, f"Y[{i}]", names)
            for i, (one, n) in enumerate(zip(Y, np.diff(offset).tolist(), strict=True))
        ]
    )


def refuse_long(
    structure: Segments, where: str, length: int, label: int, names: Any
) -> NoReturn:
    """Say which label has a segment that is too long."""
    shown = label if names is None else names[structure.codes()[0][label]]
    raise ValueError(
        f"{where}: a segment of {length} tokens with label {shown}, where longest "
        f"allows {structure.lengths()[label]}; raise it"
    )
