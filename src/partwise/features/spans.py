"""Features of spans, for a max-margin grammar: what stands at their two ends.

A bracket with label A over the words [i, j) has, besides the weight of its rule, the
weights A × f of the features f at its beginning (word and tag of i and i − 1, pairs of
neighbouring tags), at its end (those of j − 1 and j), and of both ends together (its
length, the tags inside, the tags outside). Hall, Durrett, Klein: Less grammar, more
features, ACL 2014, show how far such surface features carry.

Beginnings and ends are scored once per word, so that the chart pays three rows of
labels per cell only.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple, Self

import numpy as np

from partwise.bounds import Arrays, check_indices, check_rising, read_array, require
from partwise.features.vocabulary import read_texts, texts

Ints = np.ndarray

OUTSIDE, RARE = 0, 1  # codes of the places beyond the sentence and of rare values
LENGTHS = (1, 2, 3, 4, 5, 6, 8, 11, 16, 21, 31)  # first length of each bucket
MAX_PAIRED = 128  # values of a column whose pairs have weights of their own
# name, column and place of each token of a template, relative to the word at the end
BEGIN = (
    ("tag", 0), ("tag", -1), ("tag", -1, "tag", 0), ("tag", 0, "tag", 1),
    ("word", 0), ("word", -1),
)  # fmt: skip
END = (
    ("tag", 0), ("tag", 1), ("tag", 0, "tag", 1), ("tag", -1, "tag", 0),
    ("word", 0), ("word", 1),
)  # fmt: skip

Columns = dict[str, tuple[Ints, int]]  # numbers, and how many there are


class SpanRows(NamedTuple):
    """Feature numbers of all tokens; −1 where a value was not seen in training."""

    begin: Ints  # (n_tokens, len(BEGIN)) int32, for spans that begin here
    end: Ints  # (n_tokens, len(END)) int32, for spans that end here
    tag: Ints  # (n_tokens,) int32
    n_tags: int
    pair_row: int  # first row of the pairs, −1 without
    length_row: int


class PhraseFeatures(NamedTuple):
    """Features of the phrases of sentences, for a linear scorer."""

    offset: Ints  # (n_sentences + 1,) int64 words
    n_rules: int  # weights of the grammar: rules, roots, words
    n_labels: int
    rows: SpanRows | None  # features of spans, if any
    n_rows: int  # each has a weight per label


class SpanFeatures:
    """Numbers of the features of a treebank's sentences.

    Parameters
    ----------
    min_count : int
        Words that occur less often are one word.
    """

    def __init__(self, min_count: int = 2) -> None:
        self.min_count = min_count

    def fit(self, sentences: Sequence[Sequence[tuple[str, str]]]) -> Self:
        """Number what occurs."""
        words, tags = _columns(sentences)
        names, count = np.unique(words, return_counts=True)
        self.words_ = names[count >= self.min_count]
        self.tags_ = np.unique(tags)
        columns, place, length = self._code(sentences)
        self.values_: list[Ints] = []
        for template in (*BEGIN, *END):
            self.values_.append(np.unique(_join(template, columns, place, length)))
        return self

    @property
    def n_rows_(self) -> int:
        """Number of features; each has a weight per label."""
        n = sum(len(values) for values in self.values_) + len(LENGTHS)
        return n + (2 * self._width() ** 2 if self._is_paired() else 0)

    def _width(self) -> int:
        return len(self.tags_) + 2

    def _is_paired(self) -> bool:
        return self._width() <= MAX_PAIRED

    def transform(self, sentences: Sequence[Sequence[tuple[str, str]]]) -> SpanRows:
        """Feature numbers of these sentences."""
        columns, place, length = self._code(sentences)
        tables, at = [], 0
        for template, values in zip((*BEGIN, *END), self.values_, strict=True):
            code = _join(template, columns, place, length)
            number = np.minimum(np.searchsorted(values, code), len(values) - 1)
            tables.append(np.where(values[number] == code, at + number, -1))
            at += len(values)
        begin = np.stack(tables[: len(BEGIN)], axis=1).astype(np.int32)
        end = np.stack(tables[len(BEGIN) :], axis=1).astype(np.int32)
        pairs = at + len(LENGTHS) if self._is_paired() else -1
        tag = columns["tag"][0].astype(np.int32)
        return SpanRows(begin, end, tag, self._width(), pairs, at)

    def rows_of(self, sentence: Sequence[tuple[str, str]]) -> Any:
        """Function (i, j) → the rows of one span; what the kernels should find."""
        rows = self.transform([sentence])
        n = len(sentence)

        def look(i: int, j: int) -> list[int]:
            listed = [int(f) for f in (*rows.begin[i], *rows.end[j - 1]) if f >= 0]
            bucket = sum(j - i >= least for least in LENGTHS) - 1
            listed.append(rows.length_row + bucket)
            if rows.pair_row >= 0:
                tag, wide = rows.tag.tolist(), rows.n_tags
                before = tag[i - 1] if i > 0 else OUTSIDE
                after = tag[j] if j < n else OUTSIDE
                listed.append(rows.pair_row + tag[i] * wide + tag[j - 1])
                listed.append(rows.pair_row + (wide + before) * wide + after)
            return listed

        return look

    def arrays(self) -> Arrays:
        """What a model file keeps of them."""
        arrays = texts("words", self.words_.tolist()) | texts(
            "tags", self.tags_.tolist()
        )
        for k, values in enumerate(self.values_):
            arrays[f"values{k}"] = values.astype(np.int64)
        return arrays

    @classmethod
    def from_arrays(cls, arrays: Arrays, min_count: int) -> Self:
        """Rebuild from `arrays`; invalid input raises ValueError."""
        spans = cls(min_count)
        spans.words_ = np.array(read_texts(arrays, "words"), dtype=str)
        spans.tags_ = np.array(read_texts(arrays, "tags"), dtype=str)
        for column in (spans.words_, spans.tags_):
            require(bool((column[:-1] < column[1:]).all()), "words out of order")
        width = {"word": len(spans.words_) + 2, "tag": spans._width()}
        spans.values_ = []
        for k, template in enumerate((*BEGIN, *END)):
            values = read_array(arrays, f"values{k}", np.int64, None)
            limit = math.prod(width[str(column)] for column in template[::2])
            check_indices(values, limit, "a feature")
            check_rising(values, "features")
            require(len(values) > 0, "a template without features")
            spans.values_.append(values)
        return spans

    def _code(self, sentences: Any) -> tuple[Columns, Ints, Ints]:
        """Columns as numbers, and the place of each token in its sentence."""
        words, tags = _columns(sentences)
        sizes = np.array([len(sentence) for sentence in sentences])
        begin = np.repeat(np.cumsum(sizes) - sizes, sizes)
        place = np.arange(len(words)) - begin
        columns = {
            "word": (_number(words, self.words_), len(self.words_) + 2),
            "tag": (_number(tags, self.tags_), self._width()),
        }
        return columns, place, np.repeat(sizes, sizes)

    def names(self) -> list[str]:
        """Names of the rows, in order."""
        shown = {
            "word": ["outside", "rare", *self.words_],
            "tag": ["outside", "rare", *self.tags_],
        }
        names = []
        for k, (template, values) in enumerate(
            zip((*BEGIN, *END), self.values_, strict=True)
        ):
            side = "begin" if k < len(BEGIN) else "end"
            for code in values.tolist():
                parts = []
                for column, offset in reversed(_tokens(template)):
                    code, value = divmod(code, len(shown[column]))
                    parts.append(f"{column}[{offset:+d}]={shown[column][value]}")
                names.append(f"{side}: {' '.join(reversed(parts))}")
        names += [f"length ≥ {n}" for n in LENGTHS]
        if self._is_paired():
            for where in ("inside", "outside"):
                names += [
                    f"{where}: {a} … {b}" for a in shown["tag"] for b in shown["tag"]
                ]
        return names


def _columns(sentences: Any) -> tuple[np.ndarray, np.ndarray]:
    tokens = [token for sentence in sentences for token in sentence]
    return np.array([w for w, _ in tokens]), np.array([t for _, t in tokens])


def _number(column: np.ndarray, values: np.ndarray) -> Ints:
    """Place of each entry among sorted values after OUTSIDE and RARE."""
    if not len(values):
        return np.full(len(column), RARE)
    number = np.minimum(np.searchsorted(values, column), len(values) - 1)
    return np.where(values[number] == column, number + 2, RARE)


def _tokens(template: tuple[Any, ...]) -> list[tuple[str, int]]:
    return list(zip(template[::2], template[1::2], strict=True))


def _join(
    template: tuple[Any, ...], columns: Columns, place: Ints, length: Ints
) -> Ints:
    """One number per token for the values that a template looks at."""
    code = np.zeros(len(place), np.int64)
    for column, offset in _tokens(template):
        values, width = columns[column]
        index = np.arange(len(values)) + offset
        inside = (place + offset >= 0) & (place + offset < length)
        value = np.where(inside, values[np.clip(index, 0, len(values) - 1)], OUTSIDE)
        code = code * width + value
    return code
