"""Features of templates, computed on whole columns.

A view (a column, or a function of it) is computed once per distinct string. A template
of k terms is then a k-digit number per token, its key, with the code of each term's
string as a digit; the vocabulary is the set of keys seen in training.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from partwise.bounds import check_indices, read_array
from partwise.features.arrays import Features
from partwise.features.hashing import hash_templates
from partwise.features.templates import BOUNDARY, Template, View, parse_templates
from partwise.features.vocabulary import (
    check_settings,
    numbered,
    pack_views,
    unpack_views,
)
from partwise.features.windows import gather_rows, neighbours, pieces
from partwise.parameters import SettingsError
from partwise.readers.refusals import refuse_single
from partwise.readers.table import Column, Table


class Featurizer:
    """Binary features of tokens from templates over the columns of a table.

    Parameters
    ----------
    templates : str or iterable of str
        See `partwise.features.templates`; ready-made ones are in `PRESETS`.
    min_count : int
        Features that occur less often in training are left out.
    hash_bits : int, optional
        Hash features to ``2**hash_bits`` columns instead of keeping a vocabulary.
        Features that meet in a column are added.

    Attributes
    ----------
    n_features_ : int
    feature_names_ : list of str
        Features are numbered by falling training frequency, so that the weights in
        use lie together; ties by template, then by the strings.

    Examples
    --------
    >>> table = Table.from_sequences([["the", "cat"], ["the", "dog"]])
    >>> featurizer = Featurizer("word[-1..0]")
    >>> features = featurizer.fit_transform(table)
    >>> featurizer.feature_names_[:3]
    ['word[-1]=the', 'word[-1]=<s>', 'word[0]=the']
    >>> features.indptr, features.indices
    (array([0, 2, 4, 6, 8]), array([1, 2, 0, 3, 1, 2, 0, 4], dtype=int32))
    """

    kind = "columns.v1"

    n_features_: int

    def __init__(
        self,
        templates: str | Iterable[str],
        *,
        min_count: int = 1,
        hash_bits: int | None = None,
    ) -> None:
        self.templates = parse_templates(templates)
        self.min_count, self.hash_bits = check_settings(min_count, hash_bits)
        terms = [term for template in self.templates for term in template.terms]
        self._views = list(dict.fromkeys(term.view for term in terms))
        self._reach = sorted({term.offset for term in terms})
        self._strings: dict[View, dict[str, int]] = {}
        self._names: list[str] | None = None
        if self.hash_bits is not None:
            self.n_features_ = 1 << self.hash_bits

    @property
    def columns(self) -> list[str]:
        """Columns that the templates use, each once."""
        return list(dict.fromkeys(view.column for view in self._views))

    def fit(self, X: Table | Sequence[Any], y: Any = None) -> "Featurizer":
        """Learn the vocabulary."""
        table = as_table(X)
        if not len(table):
            raise ValueError("no sequences to fit")
        if self.hash_bits is None:
            self._learn_features(self._learn_strings(table), table.offset)
        else:
            self._check_columns(table)
        return self

    def transform(self, X: Table | Sequence[Any]) -> Features:
        """Feature vectors of the tokens; features unseen in training are left out."""
        self._check_fitted()
        table = as_table(X)
        self._check_columns(table)
        if self.hash_bits is not None:
            return hash_templates(self.templates, table, self.n_features_)
        codes = {}
        for view in self._views:
            column = table.columns[view.column]
            codes[view] = self._encode(column, view, *view.of_column(column))
        return self._look_up(codes, table.offset)

    def fit_transform(self, X: Table | Sequence[Any], y: Any = None) -> Features:
        """Learn the vocabulary and transform; faster than one after the other."""
        table = as_table(X)
        if not len(table) or self.hash_bits is not None:
            return self.fit(table).transform(table)
        codes = self._learn_strings(table)
        self._learn_features(codes, table.offset)
        return self._look_up(codes, table.offset)

    @property
    def feature_names_(self) -> list[str]:
        """Names such as ``pos[0]|pos[1]=NN|IN``, one per feature."""
        self._check_fitted()
        if self.hash_bits is not None:
            return [f"hash={i}" for i in range(self.n_features_)]
        if self._names is None:
            self._names = self._spell_names()
        return self._names

    def state(self) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
        """Settings for JSON, and arrays, for a model file.

        The arrays are the vocabulary: strings of the views as bytes, and for each
        feature its template and key.
        """
        self._check_fitted()
        meta = {
            "kind": self.kind,
            "templates": [str(template) for template in self.templates],
            "min_count": self.min_count,
            "hash_bits": self.hash_bits,
        }
        if self.hash_bits is not None:
            return meta, {}
        arrays = {
            **pack_views({view: self._strings[view] for view in self._views}),
            "template": self._template,
            "key": self._key,
        }
        return meta, arrays

    @classmethod
    def from_state(
        cls, meta: Mapping[str, Any], arrays: Mapping[str, np.ndarray]
    ) -> "Featurizer":
        """Rebuild from `state`; invalid input raises ValueError."""
        templates = meta.get("templates")
        if (
            meta.get("kind") != cls.kind
            or not isinstance(templates, list)
            or not all(isinstance(template, str) for template in templates)
        ):
            raise ValueError("damaged featurizer state: no templates of columns")
        featurizer = cls(
            templates,
            min_count=meta.get("min_count", 1),
            hash_bits=meta.get("hash_bits"),
        )
        if featurizer.hash_bits is None:
            featurizer._restore(arrays)
        return featurizer

    def _restore(self, arrays: Mapping[str, np.ndarray]) -> None:
        self._strings = unpack_views(self._views, arrays)
        template = read_array(arrays, "template", np.int32)
        key = read_array(arrays, "key", np.int64)
        if len(template) != len(key):
            raise ValueError("damaged featurizer state: sizes of template and key")
        spaces = np.array([self._key_space(t) for t in self.templates], np.int64)
        check_indices(template, len(spaces), "a template")
        if np.any((key < 0) | (key >= spaces[template])):
            raise ValueError("damaged featurizer state: a key without strings")
        order = np.lexsort((key, template))
        pairs = np.stack([template[order], key[order]])
        if (pairs[:, 1:] == pairs[:, :-1]).all(axis=0).any():
            raise ValueError("damaged featurizer state: a feature stands twice")
        self._set_features(template, key)

    def _check_fitted(self) -> None:
        if not hasattr(self, "n_features_"):
            raise ValueError("the featurizer has no vocabulary yet; call fit first")

    def _check_columns(self, table: Table) -> None:
        for view in self._views:
            if view.column not in table.columns:
                raise ValueError(
                    f"template {view} needs a column {view.column!r}; "
                    f"there are {', '.join(table.columns)}"
                )

    def _learn_strings(self, table: Table) -> dict[View, np.ndarray]:
        """Learn the strings of each view; return the codes of its tokens."""
        self._check_columns(table)
        codes = {}
        for view in self._views:
            column = table.columns[view.column]
            used, strings = view.of_column(column)
            self._strings[view] = numbered(
                sorted({s for s in strings if s is not None})
            )
            codes[view] = self._encode(column, view, used, strings)
        return codes

    def _encode(
        self,
        column: Column,
        view: View,
        used: np.ndarray,
        strings: Sequence[str | None],
    ) -> np.ndarray:
        """Codes of the tokens under a view, int64 (n_tokens + 1,).

        -1 stands for no value or an unseen one; the last entry is the boundary's code,
        as `neighbours` needs it.
        """
        codes = self._strings[view]
        known = np.empty(len(column.values), np.int64)
        known[used] = [-1 if s is None else codes.get(s, -1) for s in strings]
        return np.append(known[column.codes], len(codes))

    def _key_space(self, template: Template) -> int:
        """Number of keys that a template can make."""
        space = 1
        for term in template.terms:
            space *= len(self._strings[term.view]) + 1
        if space > np.iinfo(np.int64).max:
            raise SettingsError(
                f"template {template}: its {space:.1e} combinations exceed 64 bits; "
                "use fewer terms, or <hash_bits=>"
            )
        return space

    def _keys(
        self, codes: Mapping[View, np.ndarray], offset: np.ndarray
    ) -> Iterator[np.ndarray]:
        """Keys of each template in turn, int64 (n_tokens,); -1 is no feature."""
        near = neighbours(offset, self._reach)
        for template in self.templates:
            key = np.zeros(offset[-1], np.int64)
            missing = np.zeros(offset[-1], bool)
            for term in template.terms:
                digit = codes[term.view][near[term.offset]]
                missing |= digit < 0
                key *= len(self._strings[term.view]) + 1
                key += digit
            key[missing] = -1
            yield key

    def _learn_features(
        self, codes: Mapping[View, np.ndarray], offset: np.ndarray
    ) -> None:
        from partwise.features import _columnar_compiled as kernels

        spaces = [self._key_space(template) for template in self.templates]
        keys, counts = [], []
        for space, key in zip(spaces, self._keys(codes, offset), strict=True):
            most = min(space, len(key))
            distinct = np.empty(most, np.int64)
            count = np.empty(most, np.int64)
            n = kernels.count_keys(key, _free_slots(most), distinct, count)
            order = np.argsort(distinct[:n])
            keys.append(distinct[order])
            counts.append(count[order])
        template = np.repeat(np.arange(len(keys), dtype=np.int32), list(map(len, keys)))
        rarity = -np.concatenate(counts)
        order = np.argsort(rarity, kind="stable")
        order = order[: np.searchsorted(rarity[order], -self.min_count, side="right")]
        self._set_features(template[order], np.concatenate(keys)[order])

    def _set_features(self, template: np.ndarray, key: np.ndarray) -> None:
        """Keep the vocabulary and make it searchable, one hash table per template."""
        from partwise.features import _columnar_compiled as kernels

        self.n_features_ = len(key)
        self._template = template
        self._key = key
        self._names = None
        self._slots = []
        for members in self._members():
            slots = _free_slots(len(members))
            kernels.fill_slots(members, key, slots)
            self._slots.append(slots)

    def _members(self) -> list[np.ndarray]:
        """Feature numbers of each template, in rising order."""
        order = np.argsort(self._template, kind="stable")
        sizes = np.bincount(self._template, minlength=len(self.templates))
        return np.split(order, np.cumsum(sizes)[:-1])

    def _look_up(
        self, codes: Mapping[View, np.ndarray], offset: np.ndarray
    ) -> Features:
        from partwise.features import _columnar_compiled as kernels

        numbers = np.empty((offset[-1], len(self.templates)), np.int32)
        for first, last in pieces(offset):
            a, b = offset[first], offset[last]
            here = {view: np.append(c[a:b], c[-1]) for view, c in codes.items()}
            for i, key in enumerate(self._keys(here, offset[first : last + 1] - a)):
                kernels.look_up(key, self._slots[i], self._key, i, numbers[a:b])
        return gather_rows(numbers, offset, self.n_features_)

    def _spell_names(self) -> list[str]:
        names = np.empty(self.n_features_, object)
        for template, members in zip(self.templates, self._members(), strict=True):
            rest = self._key[members]
            parts: list[list[str]] = []
            for term in reversed(template.terms):
                strings = [*self._strings[term.view], BOUNDARY]
                rest, digit = np.divmod(rest, len(strings))
                parts.insert(0, [strings[code] for code in digit.tolist()])
            if parts:
                values = map("|".join, zip(*parts, strict=True))
                names[members] = [f"{template}={value}" for value in values]
            else:
                names[members] = str(template)
        return names.tolist()


def as_table(X: Table | Sequence[Any]) -> Table:
    """Bring any of the forms that a table can take into one.

    Parameters
    ----------
    X : Table, list of Tables, or list of lists of str or of tuples of str
    """
    if isinstance(X, Table):
        return X
    refuse_single(X)
    if len(X) and isinstance(X[0], Table):
        return Table.concatenate(X)
    return Table.from_sequences(X)


def _free_slots(n_keys: int) -> np.ndarray:
    """Return an empty hash table, at most half full with n_keys."""
    return np.full(1 << int(2 * n_keys).bit_length(), -1, np.int32)
