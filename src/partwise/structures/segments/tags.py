"""Segments over tags: B-X begins a segment of type X, I-X goes on with it."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from partwise.protocol import Ints
from partwise.structures.chain.tag_schemes import split_tag
from partwise.structures.segments.structure import Segments

OUTSIDE = "O"


class TagTypes(NamedTuple):
    """What the tags of a scheme stand for."""

    types: list[str]
    begin: Ints  # (L,) number of the tag B-X of each type, or of O
    inside: Ints  # (L,) number of I-X; −1 where there is none


def tag_types(labels: list[Any]) -> TagTypes:
    """The types of BIO tags, in the order of their first tags.

    Examples
    --------
    >>> kinds = tag_types(["B-LOC", "B-PER", "I-PER", "O"])
    >>> kinds.types, kinds.begin.tolist(), kinds.inside.tolist()
    (['LOC', 'PER', 'O'], [0, 1, 3], [-1, 2, -1])
    """
    begin: dict[str, int] = {}
    inside: dict[str, int] = {}
    for k, label in enumerate(labels):
        prefix, kind = split_tag(label, "BIO")
        (inside if prefix == "I" else begin)[kind or OUTSIDE] = k
    for kind in inside.keys() - begin.keys():
        raise ValueError(
            f"label 'I-{kind}' goes on with segments, but no label 'B-{kind}' begins "
            "one; write BIO tags, where every segment begins with B-"
        )
    types = list(begin)
    first = np.array([begin[kind] for kind in types], np.int32)
    return TagTypes(
        types, first, np.array([inside.get(kind, -1) for kind in types], np.int32)
    )


def tag_segments(labels: list[Any], longest: Any, cost: str) -> Segments:
    """Segments whose codes are the numbers of BIO tags.

    Parameters
    ----------
    labels : list of str
    longest : sequence of int (L,)
        Most tokens of a segment of each type; 1 for types without I-.
    cost : str
        Of `Segments`; tokens outside count in its Hamming loss only.
    """
    types, begin, inside = tag_types(labels)
    outside = types.index(OUTSIDE) if OUTSIDE in types else None
    return Segments(len(types), longest, cost, outside, begin, inside)
