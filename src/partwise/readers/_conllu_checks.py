"""Checks of a CoNLL-U file: numbers of words, and heads that make trees.

All checks run on whole columns; the line is looked up only when one fails.
"""

import re

import numpy as np

from partwise.readers.fields import Fields, encode_fields
from partwise.readers.source import ReaderError, ReaderSettingsError

WORD, RANGE, EMPTY, BAD = 0, 1, 2, 3

ID, HEAD = 0, 6
NO_HEAD, BAD_HEAD = -1, -2
# nine digits stay far inside an integer of the arrays, and beyond any sentence
_NUMBER = "[1-9][0-9]{0,8}"
_ID = re.compile(rf"({_NUMBER})|({_NUMBER})-({_NUMBER})|(0|{_NUMBER})\.({_NUMBER})")
_HEAD = re.compile(rf"0|{_NUMBER}")


def line_of(data: bytes, position: int) -> int:
    """Number of the line, from 1, that holds a byte."""
    return data.count(b"\n", 0, int(position)) + 1


def first_row(condition: np.ndarray) -> int:
    """Return the first row where a condition holds."""
    return int(np.argmax(condition))


def word_rows(name: str, data: bytes, fields: Fields) -> tuple[np.ndarray, np.ndarray]:
    """
    Rows that are words, and where their sentences end.

    The other rows are tokens of several words (1-2) and empty nodes (1.1).

    Parameters
    ----------
    name : str
    data : bytes
    fields : Fields
        Of all rows.

    Returns
    -------
    rows : int array of shape (n_words,)
    offset : int64 array of shape (n_sentences + 1,)

    Raises
    ------
    ReaderError
        A number out of order, named with its line.
    """
    column = encode_fields(data, fields.start[ID], fields.stop[ID])
    parsed = np.array([_parse_id(value) for value in column.values]).reshape(-1, 3)
    kind, first, second = parsed[column.codes].T
    offset = fields.offset
    is_word = kind == WORD
    so_far = np.append(0, np.cumsum(is_word))
    n_words = np.diff(so_far[offset])  # of each sentence
    sentence = np.repeat(np.arange(len(n_words)), np.diff(offset))
    before = so_far[:-1] - so_far[offset[:-1]][sentence]  # words of the sentence so far

    wrong = kind == BAD
    wrong |= is_word & (first != before + 1)
    is_range = kind == RANGE
    wrong |= is_range & ((first != before + 1) | (second < first))
    wrong |= is_range & (second > n_words[sentence])
    ranges = np.flatnonzero(is_range)
    overlap = (sentence[ranges[1:]] == sentence[ranges[:-1]]) & (
        first[ranges[1:]] <= second[ranges[:-1]]
    )
    wrong[ranges[1:][overlap]] = True
    is_empty = kind == EMPTY
    follows = np.zeros(len(kind), dtype=bool)  # another empty node at the same place
    follows[1:] = (
        is_empty[1:]
        & is_empty[:-1]
        & (first[1:] == first[:-1])
        & (sentence[1:] == sentence[:-1])
    )
    rank = np.where(follows, np.append(0, second[:-1]) + 1, 1)
    wrong |= is_empty & ((first != before) | (second != rank))
    if wrong.any():
        row = first_row(wrong)
        line = line_of(data, fields.start[ID, row])
        raise ReaderError(
            f"{name}:{line}: ID {_shown(data, fields, ID, row)} where "
            f"{before[row] + 1} was expected; number the words of a sentence 1, 2, 3, "
            "…, tokens of several words as in 1-2, empty nodes as in 1.1, and leave a "
            "blank line between sentences"
        )
    if not n_words.all():
        row = int(offset[first_row(n_words == 0)])
        line = line_of(data, fields.start[ID, row])
        raise ReaderError(f"{name}:{line}: a sentence without words; leave it out")
    return np.flatnonzero(is_word), np.append(0, np.cumsum(n_words))


def parse_heads(
    name: str, data: bytes, words: Fields, partial: bool = False
) -> np.ndarray | None:
    """
    Heads of the words, int64 (n_words,); None when every one of them is `_`.

    With `partial` some may be: `NO_HEAD`.

    Raises
    ------
    ReaderError
        A head that is missing or no number, named with its line.
    """
    column = encode_fields(data, words.start[HEAD], words.stop[HEAD])
    parsed = np.array([parse_head(value) for value in column.values], np.int64)
    if (parsed == NO_HEAD).all():
        return None
    heads = parsed[column.codes]
    wrong = parsed == BAD_HEAD if partial else parsed < 0
    if wrong.any():
        row = first_row(wrong[column.codes])
        line = line_of(data, words.start[ID, row])
        if heads[row] == NO_HEAD:
            raise ReaderError(
                f"{name}:{line}: no HEAD, although other words have one; complete the "
                "tree, write `_` as HEAD everywhere for a file without trees, or read "
                "what is known with partial=True"
            )
        raise ReaderError(
            f"{name}:{line}: HEAD {_shown(data, words, HEAD, row)} is no number; write "
            "0 for the root, else the ID of a word"
        )
    return heads


def check_trees(
    name: str, data: bytes, words: Fields, heads: np.ndarray, single_root: bool
) -> None:
    """
    Refuse heads that make no tree; those that are not known are left out.

    Raises
    ------
    ReaderError
        A head out of range, a cycle, or several roots, named with its line.
    """
    offset = words.offset
    n_words = np.diff(offset)
    sentence = np.repeat(np.arange(len(n_words)), n_words)
    beyond = heads > n_words[sentence]
    if beyond.any():
        row = first_row(beyond)
        line = line_of(data, words.start[ID, row])
        raise ReaderError(
            f"{name}:{line}: HEAD {heads[row]} in a sentence of "
            f"{n_words[sentence[row]]} words; write 0 or the ID of one of them"
        )
    root = len(heads)  # one vertex above all sentences, and words of unknown head
    parent = np.append(np.where(heads <= 0, root, offset[sentence] + heads - 1), root)
    ancestor = parent
    # each step doubles the distance looked up, so that after these a vertex that has
    # not reached the root runs in circles
    for _ in range(int(n_words.max()).bit_length()):
        ancestor = ancestor[ancestor]
    lost = ancestor[:-1] != root
    if lost.any():
        cycle = _cycle_from(parent, first_row(lost))
        line = line_of(data, words.start[ID, cycle[0]])
        base = int(offset[sentence[cycle[0]]])
        path = " → ".join(str(t - base + 1) for t in [*cycle, cycle[0]])
        raise ReaderError(
            f"{name}:{line}: the heads make a cycle, {path}; one of these words needs "
            "another HEAD, so that all lead to 0"
        )
    if single_root:
        roots = np.flatnonzero(heads == 0)
        again = np.flatnonzero(sentence[roots[1:]] == sentence[roots[:-1]])
        if len(again):
            one, two = roots[again[0]], roots[again[0] + 1]
            lines = [line_of(data, words.start[ID, row]) for row in (one, two)]
            raise ReaderSettingsError(
                f"{name}:{lines[1]}: a second root; line {lines[0]} has HEAD 0 "
                "already; keep one, or use <single_root=False> if the treebank allows "
                "several"
            )


def _parse_id(value: str) -> tuple[int, int, int]:
    """Kind of row, and the one or two numbers of its ID."""
    match = _ID.fullmatch(value)
    if match is None:
        return BAD, 0, 0
    word, low, high, place, rank = match.groups()
    if word:
        return WORD, int(word), 0
    return (RANGE, int(low), int(high)) if low else (EMPTY, int(place), int(rank))


def parse_head(value: str) -> int:
    """Head as a number; `NO_HEAD` for `_`, `BAD_HEAD` for what is neither."""
    if value == "_":
        return NO_HEAD
    return int(value) if _HEAD.fullmatch(value) else BAD_HEAD


def _cycle_from(parent: np.ndarray, vertex: int) -> list[int]:
    """Cycle that a vertex leads to, from its first word on."""
    seen: dict[int, int] = {}
    path: list[int] = []
    while vertex not in seen:
        seen[vertex] = len(path)
        path.append(vertex)
        vertex = int(parent[vertex])
    cycle = path[seen[vertex] :]
    lowest = cycle.index(min(cycle))
    return cycle[lowest:] + cycle[:lowest]


def _shown(data: bytes, fields: Fields, column: int, row: int) -> str:
    """Field of a file as it may stand in a message."""
    begin, end = fields.start[column, row], fields.stop[column, row]
    return repr(data[begin : min(end, begin + 40)].decode(errors="replace"))
