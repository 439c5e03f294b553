"""DNA as numbers: letters, and the contexts of a Markov background."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from partwise.protocol import Ints, offsets_of
from partwise.readers.sequences import NUCLEOTIDES

LETTERS = "ACGT"
UNKNOWN = -1  # any other letter: it has no weights
MAX_ORDER = 6
_CODES = np.full(256, UNKNOWN, np.int32)
for _number, _pair in enumerate(("Aa", "Cc", "Gg", "TtUu")):
    for _letter in _pair:
        _CODES[ord(_letter)] = _number


class Letters(NamedTuple):
    """Sequences end to end."""

    offset: Ints  # (n + 1,) int64
    letter: Ints  # (n_letters,) int32, 0 to 3, `UNKNOWN` for others
    context: Ints  # (n_letters,) int32, background feature of each place, or -1


def n_contexts(order: int) -> int:
    """Background features: 4^(order + 1), and those of lower orders at the start."""
    return sum(4 ** (m + 1) for m in range(order + 1))


def encode(X: Sequence[str], order: int) -> Letters:
    """
    Letters and contexts of sequences.

    A place has the context of up to `order` letters before it: fewer at the start of a
    sequence and behind an unknown letter.

    Examples
    --------
    >>> letters = encode(["ACN", "TG"], order=1)
    >>> letters.letter.tolist(), letters.context.tolist()
    ([0, 1, -1, 3, 2], [0, 5, -1, 3, 18])
    """
    for i, x in enumerate(X):
        if not isinstance(x, str):
            raise ValueError(
                f"sequence {i} is of type {type(x).__name__}; give strings of A, C, G "
                "and T"
            )
        known = NUCLEOTIDES.match(x)
        end = known.end() if known else 0
        if end < len(x):
            raise ValueError(
                f"sequence {i} has the letter {x[end]!r}, which is no nucleotide; give "
                "DNA or RNA"
            )
    length = [len(x) for x in X]
    offset = offsets_of(length)
    text = "".join(X).encode("ascii", "replace")
    letter = _CODES[np.frombuffer(text, np.uint8)]
    # known letters in a row that end at each place, counted up to order + 1
    place = np.arange(len(letter))
    starts = np.repeat(offset[:-1], length)
    unknown = np.where(letter < 0, place, -1)
    last = np.maximum.accumulate(unknown) if len(letter) else unknown
    n_known = np.minimum(place - np.maximum(last, starts - 1), order + 1)
    context = np.full(len(letter), -1, np.int32)
    number = np.zeros(len(letter), np.int64)
    first = 0
    for m in range(order + 1):
        before = letter[np.maximum(place - m, 0)]
        number = number + before.astype(np.int64) * 4**m
        here = n_known == m + 1
        context[here] = first + number[here]
        first += 4 ** (m + 1)
    return Letters(offset, letter, context)
