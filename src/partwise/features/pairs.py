r"""
Features of pairs of tokens, one of either sequence: the template language of alignment.

One template per line, of which each side is a template of `partwise.features.templates`
over the annotation columns of a sequence::

    residue ~ residue            a substitution: a weight for each pair of letters
    structure ~ residue          columns may differ: left those of a, right those of b
    residue|structure            without ~ the same on both sides
    structure[-2..2]             a window: five templates, each beside its like
    match(residue,"[AVILMFWC]")  whether a letter is one of these
    profile * letters            the inner product of two real columns, one weight
    open: bias                   the opening of a gap, a constant
    open: position               by place: begin (before the first match) or not
    extend: structure            each token of a gap, by its structure

Without any ``open:`` or ``extend:`` both are constants, so that gaps are affine; with
``extend:`` alone they are linear. Names stand for lists of templates: ``simple`` for
all pairs of columns, ``anova2`` for all pairs of pairs, ``tensor`` for all columns of
a beside all of b, each followed by ``+window`` (all columns after the
first, or the only one, two tokens to either side), ``+profile`` (products of different
real columns of one width, or of each with its like) or ``+window+profile``.

A sequence is a string, whose letters are the column ``residue``, or a dict of columns:
strings, lists of strings, or real arrays (n, width). Each also has the column
``position``, unless it brings one: ``begin`` for its first token, ``end`` for its last,
``middle`` for others.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from itertools import product
from typing import Any

import numpy as np

from partwise.bounds import require
from partwise.features.annotated import (
    PLACES,
    POSITION,
    columns_of,
    has_candidates,
    positions,
    real_column,
    refuse_empty,
    values_of,
)
from partwise.features.pair_presets import expand, is_name
from partwise.features.templates import (
    BOUNDARY,
    Template,
    TemplateError,
    Term,
    View,
    parse_templates,
)
from partwise.parameters import SettingsError

MAX_SYMBOLS = 100_000  # of one column, in a file
OUTSIDE = "?"  # how a value that training never showed is written

_CODE = re.compile(r'(?:[^"#]|"(?:[^"\\]|\\.)*")*')
_PRODUCT = re.compile(r"\s*([^\W\d][\w.\-]*)\s*\*\s*([^\W\d][\w.\-]*)\s*")
_GAP = re.compile(r"\s*(open|extend):(.*)", re.DOTALL)


class PairFeaturizer:
    """Codes of tokens, and which features pairs and gaps have.

    Parameters
    ----------
    templates : str or iterable of str
        Lines of the language above, without names.

    Attributes
    ----------
    match : list of (Template, Template)
    open, extend : list of Template
    products : list of (str, str)
    values : dict of View to list of str
        The values of each view, by their codes; one more code stands for all others.

    Examples
    --------
    >>> featurizer = PairFeaturizer("residue").fit(["MKV"], ["MV"])
    >>> featurizer.transform("VXM", 0).ravel().tolist()  # X is new: the last code
    [2, 3, 1]
    >>> featurizer.settings()["sizes"]
    ((4,), (4,))
    """

    kind = "pairs.v1"

    def __init__(self, templates: str | Iterable[str]) -> None:
        lines = templates.splitlines() if isinstance(templates, str) else templates
        self.lines = [line for line in lines if _CODE.match(line)[0].strip()]  # type: ignore[index]
        self.match: list[tuple[Template, Template]] = []
        self.products: list[tuple[str, str]] = []
        gaps: dict[str, list[Template]] = {"open": [], "extend": []}
        for number, line in enumerate(self.lines, 1):
            self._parse(number, _CODE.match(line)[0], gaps)  # type: ignore[index]
        if not self.match and not self.products:
            raise TemplateError("no template of matches; write residue ~ residue")
        self.match = list(dict.fromkeys(self.match))
        if not gaps["open"] and not gaps["extend"]:
            gaps = {"open": [Template(())], "extend": [Template(())]}
        self.open, self.extend = (list(dict.fromkeys(g)) for g in gaps.values())
        all_templates = [t for both in self.match for t in both]
        terms = [
            t for each in all_templates + self.open + self.extend for t in each.terms
        ]
        self.terms = list(dict.fromkeys(terms))
        self.values: dict[View, list[str]] = {}
        self.sides: tuple[list[str], list[str]] = ([], [])  # columns of either side
        self.widths: list[int] = []  # of products

    def _parse(self, number: int, line: str, gaps: dict[str, list[Template]]) -> None:
        def read(text: str) -> list[Template]:
            if not text.strip():
                raise TemplateError(f"template line {number}: a side is empty")
            return parse_templates([""] * (number - 1) + [text])

        of_gap, of_product = _GAP.fullmatch(line), _PRODUCT.fullmatch(line)
        sides = re.split(r'~(?=(?:[^"]*"[^"]*")*[^"]*$)', line)
        if len(sides) > (1 if of_gap else 2):
            remedy = "a gap has one side, leave ~ out" if of_gap else "write ~ once"
            raise TemplateError(f"template line {number} ({line.strip()}): {remedy}")
        if of_gap:
            gaps[of_gap[1]] += read(of_gap[2])
            return
        if of_product:
            self.products.append((of_product[1], of_product[2]))
            return
        templates = [read(side) for side in sides]
        if len(templates) == 1:
            self.match += zip(templates[0], templates[0], strict=True)
        else:
            self.match += product(templates[0], templates[1])

    # ------------------------------------------------------------------- learning

    def fit(
        self, a: Sequence[Any], b: Sequence[Any], letters: str = ""
    ) -> PairFeaturizer:
        """Learn the columns of either side and their values.

        Parameters
        ----------
        a, b : lists of sequences
        letters : str
            Values of the first column that it has in any case.
        """
        refuse_empty([(x, []) for x in (*a, *b)])
        first = [columns_of(side[0]) for side in (a, b)]
        self.sides = (list(first[0]), list(first[1]))
        self._check_sides()
        columns = [[self._columns(x, k) for x in xs] for k, xs in enumerate((a, b))]
        self.widths = [
            real_column(first[0], one, "a").shape[1] for one, _ in self.products
        ]
        values_of_view: dict[View, set[str]] = {t.view: set() for t in self.terms}
        for side in columns:
            for view, values in values_of_view.items():
                for x in side:
                    if view.column in x:
                        values.update(values_of(view, x[view.column])[0])
        in_any_case = {View(self.sides[0][0]): letters, View(POSITION): PLACES}
        for term in self.terms:
            values_of_view[term.view].update(in_any_case.get(term.view, ()))
            if term.offset:
                values_of_view[term.view].add(BOUNDARY)
        self.values = {v: sorted(values) for v, values in values_of_view.items()}
        return self

    @classmethod
    def of_pairs(
        cls, templates: Any, X: Sequence[Any], letters: str = ""
    ) -> PairFeaturizer:
        """Fitted on (a, b), or (a, candidates); `templates` may be a name for lines."""
        refuse_empty(X)
        of_a, of_b = [a for a, _ in X], [b for _, b in X]
        if has_candidates(X):
            of_b = [c for candidates in of_b for c in candidates]
        if is_name(templates):
            templates = expand(templates, of_a[0], of_b[0])
        return cls(templates).fit(of_a, of_b, letters)

    def _check_sides(self) -> None:
        for both in self.match:
            for template, have, name in zip(both, self.sides, "ab", strict=True):
                for term in template.terms:
                    if term.view.column not in (*have, POSITION):
                        raise SettingsError(
                            f"<templates=>: {template} needs the column "
                            f"{term.view.column!r}, which {name} does not have; there "
                            f"are {', '.join(have)}"
                        )

    # ---------------------------------------------------------------- application

    def transform(self, x: Any, side: int, what: str = "sequence") -> Any:
        """Codes of a sequence, as `partwise.structures.alignment` takes it.

        Parameters
        ----------
        x : str or dict of columns
        side : {0, 1}
            Whether it is an a or a b.
        what : str
            How messages name it.

        Returns
        -------
        int array (n, n_terms), or a pair of it and a real array (n, Σ widths)
        """
        columns = self._columns(x, side, what)
        for name in self.sides[side]:
            if name not in columns:
                raise ValueError(f"{what} has no column {name!r}; the model needs it")
        n = len(next(iter(columns.values())))
        codes = np.zeros((n, len(self.terms)), np.int64)
        known: dict[View, np.ndarray] = {}
        for k, term in enumerate(self.terms):
            view = term.view
            if not self._has(view.column, side):
                continue  # one code for all
            if view not in known:
                known[view] = self._codes(view, columns[view.column])
            codes[:, k] = known[view]
            if term.offset:
                boundary = self.values[view].index(BOUNDARY)
                shifted = np.full(n, boundary)
                first, last = max(0, -term.offset), min(n, n - term.offset)
                if first < last:
                    place = slice(first + term.offset, last + term.offset)
                    shifted[first:last] = known[view][place]
                codes[:, k] = shifted
        if not self.products:
            return codes
        real = [
            real_column(columns, pair[side], what, width)
            for pair, width in zip(self.products, self.widths, strict=True)
        ]
        return codes, np.hstack(real)

    def transform_pairs(self, X: Sequence[Any]) -> tuple[bool, list[tuple[Any, Any]]]:
        """Codes of all pairs (a, b), or of (a, candidates), each object once.

        Parameters
        ----------
        X : list of (a, b), or of (a, list of candidates)

        Returns
        -------
        bool
            Whether there are candidates.
        list of (codes of a, codes of b, or a list of them)
        """
        known: dict[tuple[int, int], Any] = {}

        def codes(x: Any, side: int, what: str) -> Any:
            if (id(x), side) not in known:
                known[id(x), side] = self.transform(x, side, what)
            return known[id(x), side]

        decoys = has_candidates(X)
        pairs = []
        for i, (a, b) in enumerate(X):
            other: Any
            if decoys:
                other = [codes(c, 1, f"X[{i}]: candidate {k}") for k, c in enumerate(b)]
            else:
                other = codes(b, 1, f"X[{i}]: b")
            pairs.append((codes(a, 0, f"X[{i}]: a"), other))
        return decoys, pairs

    def _has(self, column: str, side: int) -> bool:
        return column == POSITION or column in self.sides[side]

    def _columns(self, x: Any, side: int, what: str = "sequence") -> dict[str, Any]:
        """Columns of a sequence, with its positions if templates look at them."""
        columns = columns_of(x, what)
        is_asked = any(term.view.column == POSITION for term in self.terms)
        if is_asked and POSITION not in self.sides[side]:
            columns[POSITION] = positions(len(next(iter(columns.values()))))
        return columns

    def _codes(self, view: View, column: Any) -> np.ndarray:
        strings, inverse = values_of(view, column)
        known = {value: code for code, value in enumerate(self.values[view])}
        other = len(known)
        return np.array([known.get(s, other) for s in strings], np.int64)[inverse]

    # -------------------------------------------------------------------- meaning

    def settings(self) -> dict[str, Any]:
        """Parameters of `Alignment` that follow: sizes, match, products and gaps."""
        number = {term: k for k, term in enumerate(self.terms)}

        def columns(template: Template) -> tuple[int, ...]:
            return tuple(number[term] for term in template.terms)

        sizes = [
            tuple(
                len(self.values[t.view]) + 1 if self._has(t.view.column, side) else 1
                for t in self.terms
            )
            or (1,)
            for side in (0, 1)
        ]
        return {
            "sizes": (sizes[0], sizes[1]),
            "match": [(columns(left), columns(right)) for left, right in self.match],
            "products": tuple(self.widths),
            "gap_open": tuple(map(columns, self.open)),
            "gap_extend": tuple(map(columns, self.extend)),
        }

    def names_of(self, template: Template, side: int) -> list[str]:
        """The meaning of each code of a template, in the order of codes."""
        names = [
            [f"{term}={value}" for value in [*self.values[term.view], OUTSIDE]]
            if self._has(term.view.column, side)
            else [""]
            for term in template.terms
        ]
        shown = ["|".join(filter(None, each)) for each in product(*names)]
        return [name.replace("[0]=", "=") for name in shown]

    def substitutions(self) -> int | None:
        """Number of the template of the first columns alone; None without one."""
        for k, (left, right) in enumerate(self.match):
            plain = [
                len(t.terms) == 1
                and t.terms[0].offset == 0
                and t.terms[0].view == View(side[0])
                for t, side in zip((left, right), self.sides, strict=True)
            ]
            if all(plain):
                return k
        return None

    def first_values(self, template: Template, side: int) -> np.ndarray | None:
        """Code of the first column in each code of a template; None without it."""
        first = Term(View(self.sides[side][0]))
        if first not in template.terms:
            return None
        sizes = [len(self.values[term.view]) + 1 for term in template.terms]
        places = np.unravel_index(np.arange(np.prod(sizes)), sizes)
        return places[template.terms.index(first)]

    def state(self) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
        """Settings for a model file."""
        return {
            "kind": self.kind,
            "templates": self.lines,
            "columns": list(map(list, self.sides)),
            "values": [self.values[view] for view in self._views()],
            "widths": self.widths,
        }, {}

    @classmethod
    def from_state(cls, state: Mapping[str, Any]) -> PairFeaturizer:
        """Rebuild from `state`; invalid input raises ValueError."""
        settings = dict(state)
        require(settings.get("kind") == cls.kind, "no features of pairs")
        require(_is_list_of(settings["templates"], str), "templates are no text")
        made = cls(settings["templates"])
        sides, values, widths = (settings[k] for k in ("columns", "values", "widths"))
        fits = isinstance(sides, list) and len(sides) == 2
        fits = fits and all(_is_list_of(side, str) and len(side) for side in sides)
        require(fits, "no columns of sequences")
        views = made._views()
        fits = isinstance(values, list) and len(values) == len(views)
        fits = fits and all(
            _is_list_of(v, str) and len(v) < MAX_SYMBOLS for v in values
        )
        require(
            fits and all(len(set(v)) == len(v) for v in values), "values of columns"
        )
        fits = _is_list_of(widths, int) and len(widths) == len(made.products)
        require(fits and all(0 < w < MAX_SYMBOLS for w in widths), "widths of products")
        made.sides, made.widths = (sides[0], sides[1]), widths
        made.values = dict(zip(views, values, strict=True))
        for term in made.terms:
            has_ends = not term.offset or BOUNDARY in made.values[term.view]
            require(has_ends, "no value for the ends of sequences")
        made._check_sides()
        return made

    def _views(self) -> list[View]:
        return list(dict.fromkeys(term.view for term in self.terms))


def _is_list_of(value: Any, kind: type) -> bool:
    return isinstance(value, list) and all(type(item) is kind for item in value)
