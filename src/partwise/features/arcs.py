"""Features of arcs between tokens, as shares per token.

A treebank has millions of candidate arcs, so nothing is kept per arc. Each template
becomes one number per token and role, its share; the key of a feature of an arc is the
sum of the shares of its tokens, made on the fly by the scorer
(`partwise.features._arc_compiled`). With a vocabulary the shares are the digits of an
exact number in mixed radix; hashed, they are 60 random bits.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from partwise.bounds import read_array
from partwise.features.arc_shares import (
    FAMILIES,
    SINGLES,
    Places,
    Tables,
    TrueArcs,
    code_shares,
    hash_shares,
)
from partwise.features.arc_templates import ROOT, ArcTemplate, parse_arc_templates
from partwise.features.columnar import as_table
from partwise.features.templates import BOUNDARY, View
from partwise.features.vocabulary import (
    check_settings,
    numbered,
    pack_views,
    unpack_views,
)
from partwise.parameters import SettingsError
from partwise.readers.table import Table

if TYPE_CHECKING:
    from partwise.features._arc_compiled import ArcFeatures

ALL_BITS = np.iinfo(np.uint32).max
SEEN_BITS_MORE = 3  # eight times as many bits as rows, so that few others pass as seen
# A row of labels is many times as long as a row of an arc, and there are fewer.
LABEL_BITS_LESS = 3


class ArcFeaturizer:
    """Features of arcs, and of their labels, from templates over columns.

    Parameters
    ----------
    templates : str or iterable of str
        See `partwise.features.arc_templates`; ready-made ones are in `ARC_PRESETS`.
    label_templates : str or iterable of str
        The features of which each label has its own weights, over head and dependent.
        Empty for arcs without labels.
    min_count : int
        Features that occur on fewer true arcs are left out.
    hash_bits : int, optional
        Hash the features of arcs to ``2**hash_bits`` rows, and those of labels to an
        eighth as many, instead of keeping a vocabulary. Features that meet in a row
        are added. Those of true arcs are known by one bit each; a few others pass for
        them.

    Attributes
    ----------
    n_rows_, n_label_rows_ : int
        Rows of weights, with row 0 that belongs to no feature; the second is 0 for
        arcs without labels.

    Examples
    --------
    >>> words = [[("the", "DET"), ("cat", "NOUN")]]
    >>> table = Table.from_sequences(words, ["form", "upos"])
    >>> featurizer = ArcFeaturizer("head.upos|dep.upos").fit(table, [[2, 0]])
    >>> featurizer.feature_names_[1:]
    ['head.upos[0]|dep.upos[0]=NOUN|DET', 'head.upos[0]|dep.upos[0]=<root>|NOUN']
    """

    kind = "arcs.v1"

    n_rows_: int
    n_label_rows_: int

    def __init__(
        self,
        templates: str | Iterable[str],
        label_templates: str | Iterable[str] = (),
        *,
        min_count: int = 1,
        hash_bits: int | None = None,
    ) -> None:
        self.templates = parse_arc_templates(templates)
        self.label_templates = parse_label_templates(label_templates)
        self.min_count, self.hash_bits = check_settings(min_count, hash_bits)
        every = [*self.templates, *self.label_templates]
        terms = [term for template in every for _, p in template.parts for term in p]
        self._views = list(dict.fromkeys(term.view for term in terms))
        self._reach = sorted({term.offset for term in terms} | {0})
        self._strings: dict[View, dict[str, int]] = {}
        if self.hash_bits is not None:
            bits = max(1, self.hash_bits - LABEL_BITS_LESS)
            self.n_rows_ = (1 << self.hash_bits) + 1
            self.n_label_rows_ = (1 << bits) + 1 if self.label_templates else 0
            self._keys = np.full(1, -1, np.int64)
            self._seen = np.full(_seen_words(self.hash_bits), ALL_BITS, np.uint32)

    @property
    def n_features_(self) -> int:
        """Rows of weights of arcs and of labels."""
        return self.n_rows_ + self.n_label_rows_

    # ------------------------------------------------------------------ learning

    def fit(
        self, X: Table | Sequence[Any], heads: Sequence[Sequence[int | None]]
    ) -> Self:
        """Learn the vocabulary from true arcs.

        Parameters
        ----------
        X : Table
        heads : list of lists of int
            Head of each token, 0 for the root, None where it is not known.

        Returns
        -------
        ArcFeaturizer
            Itself.
        """
        self._fit(X, heads)
        return self

    def fit_transform(
        self, X: Table | Sequence[Any], heads: Sequence[Sequence[int | None]]
    ) -> ArcFeatures:
        """`fit`, then `transform` of the same sentences, in half of the time."""
        return self._features(self._fit(X, heads))

    def _fit(
        self, X: Table | Sequence[Any], heads: Sequence[Sequence[int | None]]
    ) -> Tables:
        table = as_table(X)
        self._check_columns(table)
        if self.hash_bits is None:
            for view in self._views:
                _, strings = view.of_column(table.columns[view.column])
                known = {string for string in strings if string is not None}
                self._strings[view] = numbered(sorted(known))
            self._check_space()
        tables = self._tables(table)
        arcs = Places.of_trees(tables.offset, heads)
        if self.hash_bits is None:
            self._learn_keys(tables, arcs)
        else:
            self._learn_seen(tables, arcs)
        return tables

    def _learn_seen(self, tables: Tables, arcs: TrueArcs) -> None:
        """One bit per hashed feature of true arcs."""
        from partwise.features._arc_compiled import mark_seen

        self._seen[:] = 0
        for (_, family), shares in tables.by_family.items():
            mark_seen(arcs.keys(family, shares).ravel(), self._seen)

    def _learn_keys(self, tables: Tables, arcs: TrueArcs) -> None:
        """Keys of the features of true arcs: arcs, then labels; frequent ones first."""
        from partwise.features._columnar_compiled import count_keys

        keys = [np.full(1, -1, np.int64)]
        for is_label in (False, True):
            shares = [(f, tables.by_family[is_label, f]) for f in FAMILIES]
            seen = np.concatenate([arcs.keys(*own).ravel() for own in shares])
            slots = np.full(1 << int(2 * len(seen)).bit_length(), -1, np.int32)
            distinct, count = np.empty((2, len(seen)), np.int64)
            n = count_keys(seen, slots, distinct, count)
            often = np.flatnonzero(count[:n] >= self.min_count)
            order = often[np.lexsort((distinct[often], -count[often]))]
            keys.append(distinct[order])
        self.n_rows_ = len(keys[1]) + 1
        self.n_label_rows_ = len(keys[2]) + 1 if self.label_templates else 0
        self._keys = np.concatenate(keys)

    # -------------------------------------------------------------- transforming

    def transform(self, X: Table | Sequence[Any]) -> ArcFeatures:
        """Shares of all tokens; features unseen in training lead to row 0.

        Parameters
        ----------
        X : Table

        Returns
        -------
        ArcFeatures
        """
        self._check_fitted()
        table = as_table(X)
        self._check_columns(table)
        return self._features(self._tables(table))

    def _features(self, tables: Tables) -> ArcFeatures:
        from partwise.features import _arc_compiled as kernels

        offset, sums, by_family = tables
        if self.hash_bits is not None:
            slots = self._seen
        else:
            slots = np.zeros(1 << int(2 * len(self._keys)).bit_length(), np.uint32)
            kernels.fill_table(self._keys, slots)
        count = {key: shares[0].shape[1] for key, shares in by_family.items()}
        sizes = [count[False, family] for family in FAMILIES]
        sizes += [count[True, family] for family in ("head", "dep", "pair")]
        sizes.append(sum(template.is_counted for template in self.templates))
        features = kernels.ArcFeatures(
            offset,
            np.zeros((offset[-1], sum(count[key] for key in SINGLES)), np.int32),
            sums,
            slots,
            self._keys,
            self.n_rows_ - 2,
            self.n_label_rows_ - 2,
            int(self.hash_bits is not None),
            self.n_rows_,
            self.n_label_rows_,
            *sizes,
        )
        first = 0
        for key in SINGLES:
            shares = by_family[key][0]
            kernels.find_rows(features, shares, key[0], first, features.single)
            first += count[key]
        return features

    def _tables(self, table: Table) -> Tables:
        places = Places.of_table(table, self._reach)
        every = [*self.templates, *self.label_templates]
        if self.hash_bits is not None:
            shares = hash_shares(every, table, places)
        else:
            shares = code_shares(every, table, places, self._strings)
        return Tables.create(places, self.templates, self.label_templates, shares)

    # --------------------------------------------------------------------- names

    @property
    def feature_names_(self) -> list[str]:
        """Names such as ``head.upos[0]|dep.upos[0]=NOUN|DET``: arcs, then labels."""
        self._check_fitted()
        if self.hash_bits is not None:
            labels = max(0, self.n_label_rows_ - 1)
            names = [f"hash={i}" for i in range(self.n_rows_ - 1)]
            return ["", *names, *(f"label hash={i}" for i in range(labels))]
        return ["", *(self._spell(int(key)) for key in self._keys[1:])]

    def _spell(self, key: int) -> str:
        every = [*self.templates, *self.label_templates]
        key, number = divmod(key, len(every))
        template = every[number]
        words = {}
        for role, terms in template.parts:
            for place, term in enumerate(terms):
                strings = [*self._strings[term.view], BOUNDARY, ROOT]
                key, digit = divmod(key, len(strings))
                words[role, place] = strings[digit]
        values = "|".join(words[place] for place in template.written)
        return f"{template}={values}" if words else str(template)

    # --------------------------------------------------------------------- files

    def state(self) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
        """Give what a model file must keep: settings (JSON) and arrays."""
        self._check_fitted()
        meta = {
            "kind": self.kind,
            "templates": [str(template) for template in self.templates],
            "label_templates": [str(template) for template in self.label_templates],
            "min_count": self.min_count,
            "hash_bits": self.hash_bits,
        }
        if self.hash_bits is not None:
            return meta, {"seen": self._seen.view(np.uint8)}
        return meta, {
            **pack_views({view: self._strings[view] for view in self._views}),
            "key": self._keys[1 : self.n_rows_],
            "label_key": self._keys[self.n_rows_ :],
        }

    @classmethod
    def from_state(
        cls, meta: Mapping[str, Any], arrays: Mapping[str, np.ndarray]
    ) -> ArcFeaturizer:
        """Rebuild from `state`; invalid input raises ValueError."""
        lists = [meta.get(name) for name in ("templates", "label_templates")]
        for templates in lists:
            if not isinstance(templates, list) or not all(
                isinstance(template, str) for template in templates
            ):
                raise ValueError("damaged featurizer state: no templates of arcs")
        if meta.get("kind") != cls.kind:
            raise ValueError("damaged featurizer state: not one of arcs")
        _, hash_bits = check_settings(meta.get("min_count", 1), meta.get("hash_bits"))
        if hash_bits is not None:
            # before any memory is taken that the file does not have
            seen = read_array(arrays, "seen", np.uint8, 4 * _seen_words(hash_bits))
        featurizer = cls(
            *lists,  # type: ignore[arg-type]
            min_count=meta.get("min_count", 1),
            hash_bits=hash_bits,
        )
        if hash_bits is None:
            featurizer._restore(arrays)
        else:
            featurizer._seen[:] = seen.view(np.uint32)
        return featurizer

    def _restore(self, arrays: Mapping[str, np.ndarray]) -> None:
        self._strings = unpack_views(self._views, arrays)
        spaces = self._check_space()
        keys = [read_array(arrays, name, np.int64) for name in ("key", "label_key")]
        n_arcs = len(self.templates)
        for is_label, listed in enumerate(keys):
            number = listed % len(spaces)
            if (listed < 0).any() or (listed >= spaces[number]).any():
                raise ValueError("damaged featurizer state: a key without strings")
            if ((number >= n_arcs) != is_label).any():
                raise ValueError("damaged featurizer state: a key at a wrong place")
            if len(np.unique(listed)) < len(listed):
                raise ValueError("damaged featurizer state: a feature stands twice")
        self.n_rows_ = len(keys[0]) + 1
        self.n_label_rows_ = len(keys[1]) + 1 if self.label_templates else 0
        self._keys = np.concatenate([np.full(1, -1, np.int64), *keys])

    # -------------------------------------------------------------------- checks

    def _check_space(self) -> np.ndarray:
        """Number of keys of each template; refuses those that would not fit."""
        every = [*self.templates, *self.label_templates]
        spaces = []
        for template in every:
            space = len(every)
            for _, terms in template.parts:
                for term in terms:
                    space *= len(self._strings[term.view]) + 2
            if space >= 1 << 60:
                raise SettingsError(
                    f"template {template}: its {space:.1e} combinations exceed 60 "
                    "bits; use fewer terms, or <hash_bits=>"
                )
            spaces.append(space)
        return np.array(spaces, np.int64)

    def _check_fitted(self) -> None:
        if not hasattr(self, "n_rows_"):
            raise ValueError("the featurizer has no vocabulary yet; call fit first")

    def _check_columns(self, table: Table) -> None:
        for view in self._views:
            if view.column not in table.columns:
                raise ValueError(
                    f"the templates need a column {view.column!r}; "
                    f"there are {', '.join(table.columns)}"
                )


def _seen_words(hash_bits: int) -> int:
    """Words of 32 bits in which the features of true arcs are marked."""
    return 1 << max(0, hash_bits + SEEN_BITS_MORE - 5)


def parse_label_templates(templates: str | Iterable[str]) -> list[ArcTemplate]:
    """Templates of labels: any over head and dependent, or none at all."""
    lines = templates.splitlines() if isinstance(templates, str) else list(templates)
    if not any(line.strip() for line in lines):
        return []
    parsed = parse_arc_templates(lines)
    for template in parsed:
        if template.family not in ("head", "dep", "pair"):
            raise ValueError(
                f"label template {template}: labels look at head and dep only"
            )
    return parsed
