"""Which features matches and gaps have, and where their weights lie in a model.

Tokens are rows of small integers, one per column: a residue, its secondary structure,
a bin of its accessibility. Nothing is stored per pair of tokens. A match (i, j) has one
feature for each *template*, a pair of sets of columns of either side, whose number is

    base + code_a[i]·size_b + code_b[j]

where a code is the mixed-radix number of the token's values in these columns. The
alignment models of the literature are lists of templates:

========== ======================================================================
Simple     one column of a, one of b, all pairs of columns: R×R, R×S, S×R, …
Anova2     two columns of a, two of b, all pairs of such pairs: RS×RS, RS×RA, …
Tensor     all columns of a and of b: RSA×RSA
Window     more columns: bins of what surrounds a token, as templates
Profile    real features <u_i, v_j> of vectors of the tokens (`products`), such as the
           profile of i and the one-hot residue of j; one weight each
========== ======================================================================

A gap has features of its first token (opening) and of every token (extension), by sets
of columns; the empty set is a constant. Without opening features gaps are linear.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations, product
from typing import Any, NamedTuple

import numpy as np

from partwise.bounds import MAX_FEATURE, check_magnitude
from partwise.features.pair_presets import MODELS
from partwise.parameters import SettingsError
from partwise.protocol import Ints

Columns = tuple[int, ...]


class Template(NamedTuple):
    """One table of weights: a feature for each pair of codes, or for each code."""

    columns_a: Columns
    columns_b: Columns
    size_a: int
    size_b: int
    base: int

    @property
    def size(self) -> int:
        """Number of its features."""
        return self.size_a * self.size_b


class Layout(NamedTuple):
    """The parts of a model: matches, products, then gaps of a and gaps of b.

    Gaps of a are deletions (tokens of a without a partner), gaps of b insertions. When
    gaps are tied both are the same templates.
    """

    sizes: tuple[Columns, Columns]  # number of values of each column, either side
    match: tuple[Template, ...]
    widths: Columns  # lengths of the vectors of each product
    product_base: int
    a_open: tuple[Template, ...]
    a_extend: tuple[Template, ...]
    b_open: tuple[Template, ...]
    b_extend: tuple[Template, ...]
    n_weights: int

    @classmethod
    def create(
        cls,
        sizes: Any,
        match: Any = "simple",
        products: Sequence[int] = (),
        gap_open: Any = ((),),
        gap_extend: Any = ((),),
        tie_gaps: bool = False,
    ) -> Layout:
        """Lay out a model; see `Alignment` for the parameters.

        Examples
        --------
        >>> Layout.create((20,)).n_weights  # 400 substitutions, four gap weights
        404
        >>> rich = Layout.create((20, 3, 5), "simple")
        >>> [t.size for t in rich.match]
        [400, 60, 100, 60, 9, 15, 100, 15, 25]
        """
        both = _sizes(sizes)
        at = 0
        tables = []
        for columns_a, columns_b in _templates(match, both):
            size_a = _size(both[0], columns_a, "match")
            size_b = _size(both[1], columns_b, "match")
            tables.append(Template(columns_a, columns_b, size_a, size_b, at))
            at += size_a * size_b
        widths = tuple(int(width) for width in products)
        if any(width < 1 for width in widths):
            raise ValueError(f"products={products!r}: give positive lengths of vectors")
        product_base = at
        at += len(widths)
        gaps: list[tuple[Template, ...]] = []
        for side in (0, 1):
            if side == 1 and tie_gaps:
                if both[0] != both[1]:
                    raise ValueError(
                        "tie_gaps=True needs the same columns on both sides; give "
                        "equal sizes or tie_gaps=False"
                    )
                gaps += gaps[:2]
                break
            for name, wanted in (("gap_open", gap_open), ("gap_extend", gap_extend)):
                of_kind = []
                for columns in () if wanted is None else wanted:
                    size = _size(both[side], tuple(columns), name)
                    of_kind.append(Template(tuple(columns), (), size, 1, at))
                    at += size
                gaps.append(tuple(of_kind))
        if at >= 2**31:
            raise ValueError(f"match: {at} features are too many; use fewer columns")
        a_open, a_extend, b_open, b_extend = gaps
        return cls(
            both, tuple(tables), widths, product_base, a_open, a_extend, b_open,
            b_extend, at,
        )  # fmt: skip

    @property
    def n_values(self) -> int:
        """Real numbers per token, for products."""
        return sum(self.widths)

    def read(self, x: Any, side: int, what: str) -> tuple[Ints, Any]:
        """Codes (n, n_columns) and real values (n, n_values) of a sequence, checked."""
        codes, values = x if isinstance(x, tuple) else (x, None)
        codes = np.asarray(codes)
        if codes.ndim == 1:
            codes = codes[:, None]
        sizes = self.sizes[side]
        is_table = codes.ndim == 2 and codes.shape[1] == len(sizes)
        if not is_table or codes.dtype.kind not in "iu":
            raise ValueError(
                f"{what} has shape {codes.shape} and type {codes.dtype}; give "
                f"{len(sizes)} integers per token"
            )
        if (codes < 0).any() or (codes >= sizes).any():
            t, k = np.argwhere((codes < 0) | (codes >= sizes))[0]
            raise ValueError(
                f"{what}: token {t} has the value {codes[t, k]} in column {k}, which "
                f"is not one of 0 … {sizes[k] - 1}"
            )
        if values is None:
            values = np.zeros((len(codes), 0))
        values = np.asarray(values, np.float64)
        if values.shape != (len(codes), self.n_values):
            raise ValueError(
                f"{what} has values of shape {values.shape}; products={self.widths} "
                f"need ({len(codes)}, {self.n_values})"
            )
        check_magnitude(values, MAX_FEATURE, f"values of {what}")
        return codes.astype(np.int64, copy=False), values

    def match_rows(self, codes: Ints) -> Ints:
        """Where the weights of each token of a begin, (n_templates, n) uint32."""
        rows = [
            t.base + code_of(codes, t.columns_a, self.sizes[0]) * t.size_b
            for t in self.match
        ]
        return _stack(rows, len(codes))

    def match_codes(self, codes: Ints) -> Ints:
        """What each token of b adds to them, (n_templates, n) uint32."""
        rows = [code_of(codes, t.columns_b, self.sizes[1]) for t in self.match]
        return _stack(rows, len(codes))

    def groups(self) -> tuple[Ints, Ints]:
        """Templates ordered by their columns of b, and where each group begins."""
        names = [t.columns_b for t in self.match]
        places = {name: k for k, name in enumerate(dict.fromkeys(names))}
        group = np.array([places[name] for name in names], np.int64)
        order = np.argsort(group, kind="stable")
        return order, np.searchsorted(group[order], np.arange(len(places) + 1))

    def gap_features(self, codes: Ints, side: int) -> tuple[Ints, Ints]:
        """Features of opening and of extending a gap at each token, uint32."""
        tables = (self.a_open, self.a_extend) if side == 0 else self[6:8]
        opening, extension = (
            _stack(
                [t.base + code_of(codes, t.columns_a, self.sizes[side]) for t in table],
                len(codes),
            )
            for table in tables
        )
        return opening, extension


def code_of(codes: Ints, columns: Columns, sizes: Columns) -> Ints:
    """One number for the values of some columns, (n,)."""
    code = np.zeros(len(codes), np.int64)
    for k in columns:
        code = code * sizes[k] + codes[:, k]
    return code


def _stack(rows: list[Ints], n: int) -> Ints:
    return np.array(rows, np.uint32).reshape(len(rows), n)


def _sizes(sizes: Any) -> tuple[Columns, Columns]:
    sides = sizes if np.ndim(sizes[0]) else (sizes, sizes)
    a, b = (tuple(int(size) for size in side) for side in sides)
    if min(a + b, default=0) < 1:
        raise ValueError(f"sizes={sizes!r}: give the number of values of each column")
    return a, b


def _size(sizes: Columns, columns: Columns, name: str) -> int:
    if any(not 0 <= k < len(sizes) for k in columns):
        raise ValueError(f"{name}: columns {columns} where there are {len(sizes)}")
    return int(np.prod([sizes[k] for k in columns], dtype=object))


def _templates(match: Any, sizes: tuple[Columns, Columns]) -> list[Any]:
    if isinstance(match, str):
        if match not in MODELS:
            raise SettingsError(
                f"<match={match!r}>: choose {', '.join(MODELS)} or give templates"
            )
        sides = []
        for side in sizes:
            degree = MODELS[match] or len(side)
            if degree > len(side):
                raise SettingsError(f"<match={match!r}> needs {degree} columns or more")
            sides.append(list(combinations(range(len(side)), degree)))
        return list(product(*sides))
    return [(tuple(a), tuple(b)) for a, b in match]
