"""Features of whole segments: templates over their tokens, and lists of phrases.

A template of segments is written in the language of `partwise.features.templates`. Its
offset 0, the default, stands for all tokens of the segment in their order; −1 is the
token before it, 1 the one behind it, and so on::

    lower(word)                 the words of the segment
    short_shape(word)           their shapes
    pos[-1]|pos|pos[1]          its tags, with those on both sides

A gazetteer is a list of phrases, as of the names of cities: a segment that stands in
it, whatever the case of its letters, has the feature ``gazetteer=NAME``.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from partwise.bounds import check_indices, read_array
from partwise.features.arrays import DenseFeatures, Features, make_features
from partwise.features.hashing import HALF, MULTIPLIER, hash_strings, hash_views
from partwise.features.templates import (
    BOUNDARY,
    Template,
    Term,
    View,
    parse_templates,
)
from partwise.features.vocabulary import read_strings, string_arrays
from partwise.features.windows import neighbours
from partwise.readers.table import Table

Ints = np.ndarray


class SegmentParts(NamedTuple):
    """Features of the tokens of all sequences, and of their segments.

    Row t·D + d − 1 of `spans` is that of the segment of d tokens that begins with token
    t; D is the number of tokens of the longest segment.
    """

    tokens: Features | DenseFeatures
    spans: Features

    @property
    def offset(self) -> Ints:
        """Where the tokens of sequences begin, (n_sequences + 1,)."""
        return self.tokens.offset


class SegmentFeaturizer:
    """
    Binary features of segments.

    Templates have the values that occur in the segments of `fit`; all other values give
    no feature.

    Parameters
    ----------
    templates : iterable of str
    gazetteers : mapping of str to iterable of str
        Phrases by the name of their list; blanks separate tokens.
    column : str
        The column that gazetteers are compared with.
    min_count : int
        Features that fewer segments have are left out, but not those of gazetteers.

    Examples
    --------
    >>> table = Table.from_sequences([["in", "New", "York"], ["York", "wins"]])
    >>> featurizer = SegmentFeaturizer(["lower(word)"], {"city": ["new york"]}, "word")
    >>> featurizer.fit(table, np.array([1, 3]), np.array([2, 1])).feature_names_
    ['gazetteer=city', 'lower(word)[0]=new york', 'lower(word)[0]=york']
    >>> features = featurizer.transform(table, 2)
    >>> np.diff(features.indptr).reshape(-1, 2).tolist()  # by token and length
    [[0, 0], [0, 2], [1, 0], [1, 0], [0, 0]]
    """

    kind = "segments.v1"

    def __init__(
        self,
        templates: Iterable[str],
        gazetteers: Mapping[str, Iterable[str]],
        column: str,
        min_count: int = 1,
    ) -> None:
        lines = list(templates)
        self.templates = parse_templates(lines) if lines else []
        self.column = column
        self.gazetteers = list(gazetteers)
        self.min_count = min_count
        self._phrases = gazetteers

    @property
    def columns(self) -> list[str]:
        """Columns that are looked at, each once."""
        terms = [term for template in self._all_templates() for term in template.terms]
        return list(dict.fromkeys(term.view.column for term in terms))

    @property
    def n_features_(self) -> int:
        """Number of features."""
        return len(self.feature_names_)

    def _all_templates(self) -> list[Template]:
        """The templates; those of gazetteers come first."""
        listed = Template((Term(View("lower", View(self.column))),))
        return [listed] * len(self.gazetteers) + self.templates

    def _check_columns(self, table: Table) -> None:
        for name in self.columns:
            if name not in table.columns:
                raise ValueError(
                    f"templates of segments need a column {name!r}; there are "
                    f"{', '.join(table.columns)}"
                )

    def fit(self, table: Table, first: Ints, length: Ints) -> SegmentFeaturizer:
        """Learn the values of templates.

        Parameters
        ----------
        table : Table
        first, length : int arrays (n_segments,)
            First token of each segment among all tokens, and its number of tokens.
        """
        names = [f"gazetteer={name}" for name in self.gazetteers]
        keys, numbers = [], []
        for g, name in enumerate(self.gazetteers):
            listed = phrase_keys(self._phrases[name], self._all_templates()[g])
            keys.append(listed)
            numbers.append(np.full(len(listed), g, np.int32))
        at = [first[length == d] for d in range(1, int(length.max(initial=0)) + 1)]
        views = self._views(table)
        for template in self.templates:
            seen: dict[int, list[int]] = {}  # of a key: how often, where, how long
            for d, key, place in views.keys(template, at):
                for one, t in zip(key.tolist(), place.tolist(), strict=True):
                    seen.setdefault(one, [0, t, d])[0] += 1
            chosen = [one for one, (n, _, _) in seen.items() if n >= self.min_count]
            chosen.sort(key=lambda one: (-seen[one][0], seen[one][1], seen[one][2]))
            keys.append(np.array(chosen, np.uint64))
            numbers.append(len(names) + np.arange(len(chosen), dtype=np.int32))
            names += [
                f"{template}={_spell(template, table, *seen[one][1:])}"
                for one in chosen
            ]
        self._set(keys, numbers, names)
        return self

    def _set(self, keys: list[Ints], numbers: list[Ints], names: list[str]) -> None:
        order = [np.argsort(key, kind="stable") for key in keys]
        self._key = [key[o] for key, o in zip(keys, order, strict=True)]
        self._number = [number[o] for number, o in zip(numbers, order, strict=True)]
        self.feature_names_ = names

    def transform(self, table: Table, depth: int) -> Features:
        """Features of all segments of up to `depth` tokens, as in `SegmentParts`."""
        views, length = self._views(table), np.diff(table.offset)
        end = np.repeat(table.offset[1:], length)
        left = end - np.arange(len(end))  # tokens to the end of the sequence
        at = [np.flatnonzero(left >= d) for d in range(1, depth + 1)]
        rows, columns = [np.zeros(0, np.int64)], [np.zeros(0, np.int32)]
        templates = zip(self._all_templates(), self._key, self._number, strict=True)
        for template, known, number in templates:
            # most segments have no feature, which a table of bits tells sooner
            mask = np.uint64((1 << (16 * len(known)).bit_length()) - 1)
            may_be_known = np.zeros(int(mask) + 1, bool)
            may_be_known[known & mask] = True
            for d, key, place in views.keys(template, at if len(known) else []):
                some = np.flatnonzero(may_be_known[key & mask])
                nearest = np.searchsorted(known, key[some])
                nearest = np.minimum(nearest, len(known) - 1)
                is_known = known[nearest] == key[some]
                rows.append(place[some[is_known]] * depth + d - 1)
                columns.append(number[nearest[is_known]])
        row, column = np.concatenate(rows), np.concatenate(columns)
        order = np.lexsort((column, row))
        counts = np.bincount(row, minlength=len(end) * depth)
        indptr = np.append(0, np.cumsum(counts))
        offset = table.offset * depth
        return make_features(indptr, column[order], None, offset, self.n_features_)

    def _views(self, table: Table) -> _Views:
        """What the templates look at in a table."""
        self._check_columns(table)
        terms = [term for template in self._all_templates() for term in template.terms]
        return _Views(
            neighbours(table.offset, {term.offset for term in terms}),
            *hash_views((term.view for term in terms), table),
            table.n_tokens,
        )

    # ---------------------------------------------------------------------- files

    def state(self) -> tuple[dict[str, Any], dict[str, Ints]]:
        """What a model file must keep: settings, and keys with their features."""
        meta = {
            "kind": self.kind,
            "templates": [str(template) for template in self.templates],
            "gazetteers": self.gazetteers,
            "column": self.column,
            "min_count": self.min_count,
        }
        sizes = np.array([len(key) for key in self._key], np.int64)
        none = [np.zeros(0, np.uint64)], [np.zeros(0, np.int32)]
        arrays = {
            "key": np.concatenate(self._key + none[0]).view(np.int64),
            "number": np.concatenate(self._number + none[1]),
            "size": sizes,
            **string_arrays(self.feature_names_),
        }
        return meta, arrays

    @classmethod
    def from_state(
        cls, meta: Mapping[str, Any], arrays: Mapping[str, Ints]
    ) -> SegmentFeaturizer:
        """Rebuild from `state`; invalid input raises ValueError."""
        lists = [meta.get("templates"), meta.get("gazetteers")]
        are_texts = all(
            isinstance(texts, list) and all(isinstance(text, str) for text in texts)
            for texts in [*lists, [meta.get("column")]]
        )
        if meta.get("kind") != cls.kind or not are_texts:
            raise ValueError("damaged featurizer state: no templates of segments")
        count = meta.get("min_count")
        if type(count) is not int or count < 1:
            raise ValueError("damaged featurizer state: min_count")
        featurizer = cls(
            meta["templates"], dict.fromkeys(meta["gazetteers"], ()), meta["column"],
            count,
        )  # fmt: skip
        n_templates = len(featurizer._all_templates())
        size = read_array(arrays, "size", np.int64, n_templates)
        names = read_strings(arrays)
        n_keys = int(size.sum()) if (size >= 0).all() else -1
        key = read_array(arrays, "key", np.int64, None).view(np.uint64)
        number = read_array(arrays, "number", np.int32, None)
        if len(featurizer.gazetteers) != len(meta["gazetteers"]) or not (
            n_keys == len(key) == len(number)
        ):
            raise ValueError("damaged featurizer state: sizes of segment features")
        check_indices(number, len(names), "a feature of segments")
        ends = np.cumsum(size)[:-1]
        featurizer._set(np.split(key, ends), np.split(number, ends), names)
        if not n_templates:
            featurizer._key, featurizer._number = [], []
        return featurizer


class _Views(NamedTuple):
    """Hashes of what templates look at in a table."""

    near: dict[int, Ints]  # by distance, see `neighbours`
    hashes: dict[View, Ints]  # (n_tokens + 1,) each, the last of the boundary
    has_value: dict[View, Ints]
    n_tokens: int

    def keys(
        self, template: Template, at: Sequence[Ints]
    ) -> Iterator[tuple[int, Ints, Ints]]:
        """Keys of the segments of d = 1, 2, … tokens that begin at these places.

        Yields d, keys, and the places of those that have one. The hash of a segment
        goes on from that of the segment that is one token shorter.
        """
        inside = [np.zeros(self.n_tokens, np.uint64) for _ in template.terms]
        present = [np.ones(self.n_tokens, bool) for _ in template.terms]
        name = hash_strings([str(template)])[0]
        for d, places in enumerate(at, start=1):
            mixed, has_key = np.full(len(places), name), np.ones(len(places), bool)
            for k, term in enumerate(template.terms):
                hashes, has_value = self.hashes[term.view], self.has_value[term.view]
                if term.offset:
                    away = places if term.offset < 0 else places + d - 1
                    place = self.near[term.offset][away]
                    mixed = _mix(mixed, hashes[place])
                    has_key &= has_value[place]
                    continue
                n = self.n_tokens - d + 1
                inside[k][:n] = _mix(inside[k][:n], hashes[d - 1 : d - 1 + n])
                present[k][:n] &= has_value[d - 1 : d - 1 + n]
                mixed = _mix(mixed, inside[k][places])
                has_key &= present[k][places]
            yield d, mixed[has_key], places[has_key]


def phrase_keys(phrases: Iterable[str], template: Template) -> Ints:
    """Keys that a template of one term gives to segments of these words, uint64."""
    listed = sorted({tuple(phrase.lower().split()) for phrase in phrases} - {()})
    words = sorted({word for phrase in listed for word in phrase})
    of_word = dict(zip(words, hash_strings(words), strict=True))
    keys = [np.zeros(0, np.uint64)]
    for length in sorted({len(phrase) for phrase in listed}):
        same = [phrase for phrase in listed if len(phrase) == length]
        inside = np.zeros(len(same), np.uint64)
        for t in range(length):
            inside = _mix(inside, np.array([of_word[phrase[t]] for phrase in same]))
        keys.append(_mix(hash_strings([str(template)]), inside))
    return np.concatenate(keys)


def _mix(one: Ints, other: Any) -> Ints:
    """Mix hashes into others; the order counts."""
    mixed = (one ^ other) * MULTIPLIER
    return mixed ^ (mixed >> HALF)


def _spell(template: Template, table: Table, first: int, length: int) -> str:
    """The value of a template at a segment."""
    row = int(np.searchsorted(table.offset, first, side="right")) - 1
    begin, end = int(table.offset[row]), int(table.offset[row + 1])
    texts = []
    for term in template.terms:
        column = table.columns[term.view.column]
        places = range(first, first + length)
        if term.offset:
            place = first + term.offset + (length - 1 if term.offset > 0 else 0)
            places = range(place, place + 1)
        inside = [
            BOUNDARY
            if not begin <= t < end
            else term.view.apply([column.values[column.codes[t]]])[0]
            for t in places
        ]
        texts.append(" ".join(map(str, inside)))
    return "|".join(texts)
