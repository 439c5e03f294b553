"""Keys of arcs: two arcs match when their keys are equal.

A hash function h maps an arc, together with its sentence, to a key; the output kernel
of the atomic structural SVM counts pairs of arcs with equal keys. It is named by what
must agree, joined by ``+``::

    xpos                      the fine tags of head and dependent
    form+direction            the words, and on which side the head is
    lemma+distance            the lemmas, and how far apart, to which side
    upos+bucket               the same in the parser's steps (1 … 5, 6-10, more)
    head.lemma+dep.upos       one column of one end alone
    lower(form)+upos[-1]      functions and neighbours as in templates

Several hashes are separated by commas; their kernels add up. A key is the sum of one
random number per end and one for the distance, 62 bits, the same in every process and
without a vocabulary. Two of a million different keys are equal by accident with a
probability below 1e-6.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np

from partwise.features.arc_shares import Places, hash_shares
from partwise.features.arc_templates import ArcTemplate
from partwise.features.columnar import as_table
from partwise.features.hashing import hash_strings
from partwise.features.templates import TemplateError, Term, View, parse_templates
from partwise.readers.table import Table

STEPS = ("direction", "distance", "bucket")
ENDS = ("head", "dep")
FEWER_BITS = np.uint64(4)  # of a share, so that three add up without overflow

Hash = Callable[[Table, np.ndarray, np.ndarray], Any]


class MatchError(ValueError):
    """The name of a hash function cannot be read; the text tells the remedy."""


class ArcKeys(NamedTuple):
    """Keys of all candidate arcs of sentences.

    The arc from h to d of sentence i is row ``first[i] + h·n + d − 1``, n words. Rows
    with h = d are no arcs and have the key −1, as have arcs without a value.
    """

    offset: np.ndarray  # (n_sentences + 1,) int64 positions, roots included
    first: np.ndarray  # (n_sentences + 1,) int64
    key: np.ndarray  # (n_rows, n_hashes) int64


class Match(NamedTuple):
    """One hash function, read."""

    text: str
    template: ArcTemplate
    step: str  # "" or the finest of `STEPS` that must agree


class ArcHasher:
    """
    Keys of arcs by one or several hash functions.

    Parameters
    ----------
    match : str, callable, or sequence of them
        Names as above, or functions ``f(sentence, head, dep)`` that get a table of one
        sentence and two integer arrays (head 0 is the root, words count from 1) and
        return one whole number per arc; a negative one stands for no key.

    Examples
    --------
    >>> table = Table.from_sequences([[("a", "DT"), ("cat", "NN")]], ["form", "xpos"])
    >>> keys = ArcHasher("xpos+direction, form").transform(table)
    >>> keys.key.shape
    (6, 2)
    >>> ArcHasher("xpos + direction, form").match
    ('xpos+direction', 'form')
    """

    def __init__(self, match: Any) -> None:
        named: list[str | Hash] = []
        for item in [match] if isinstance(match, str) or callable(match) else match:
            named += _split(item, ",") if isinstance(item, str) else [item]
        if not named:
            raise MatchError("match= is empty; name a hash such as 'xpos+distance'")
        self._hashes: list[Match | Hash] = []
        for one in named:
            if not isinstance(one, str) and not callable(one):
                raise MatchError(f"match: {one!r} is neither a name nor a function")
            self._hashes.append(_parse(one) if isinstance(one, str) else one)
        self.match = tuple(h.text if isinstance(h, Match) else h for h in self._hashes)
        for i, one in enumerate(self.match):
            if one in self.match[:i]:
                raise MatchError(f"match: {one!r} stands twice")

    @property
    def names(self) -> list[str]:
        """How to show the hash functions."""
        return [h if isinstance(h, str) else h.__name__ for h in self.match]

    @property
    def columns(self) -> list[str]:
        """Columns that are looked at, each once."""
        terms = [
            term
            for match in self._hashes
            if isinstance(match, Match)
            for _, own in match.template.parts
            for term in own
        ]
        return list(dict.fromkeys(term.view.column for term in terms))

    def transform(self, X: Table | Sequence[Any]) -> ArcKeys:
        """
        Keys of all arcs.

        Parameters
        ----------
        X : Table, or list of sentences

        Returns
        -------
        ArcKeys
        """
        from partwise.features._arc_key_kernels import add_shares

        table = as_table(X)
        self._check_columns(table)
        named = [h for h in self._hashes if isinstance(h, Match)]
        templates = [match.template for match in named]
        reach = {
            term.offset for t in templates for _, terms in t.parts for term in terms
        }
        places = Places.of_table(table, sorted(reach | {0}))
        length = np.diff(table.offset)
        first = np.append(0, np.cumsum(length * (length + 1))).astype(np.int64)
        key = np.full((first[-1], len(self._hashes)), -1, np.int64)
        shares = iter(hash_shares(templates, table, places))
        nothing = np.zeros(len(places.is_root), np.int64)
        for number, match in enumerate(self._hashes):
            if isinstance(match, Match):
                own = next(shares)
                head, dep = (own.get(end, nothing) for end in ENDS)
                steps = step_shares(match.step, int(length.max()))
                add_shares(places.offset, first, head, dep, steps, number, key)
            else:
                key[:, number] = _ask(match, table, first)
        return ArcKeys(places.offset, first, key)

    def _check_columns(self, table: Table) -> None:
        for column in self.columns:
            if column not in table.columns:
                raise MatchError(
                    f"match needs a column {column!r}; there are "
                    f"{', '.join(table.columns)}"
                )


def step_shares(step: str, longest: int) -> np.ndarray:
    """Shares of the distances −longest … longest, (2·longest + 1,) int64."""
    from partwise.features._arc_kernels import variant

    names = []
    for distance in range(-longest, longest + 1):
        side = "right" if distance > 0 else "left"
        exact = {
            "": "",
            "direction": side,
            "distance": str(distance),
            "bucket": str(variant(max(-distance, 0), max(distance, 0))),
        }
        names.append(f"{step} {exact[step]}")
    if not step:
        return np.zeros(len(names), np.int64)
    return (hash_strings(names) >> FEWER_BITS).astype(np.int64)


def _split(text: str, at: str) -> list[str]:
    """Parts of a text between separators that stand outside all brackets."""
    parts, depth = [""], 0
    for letter in text:
        depth += (letter in "([") - (letter in ")]")
        if letter == at and depth == 0:
            parts.append("")
        else:
            parts[-1] += letter
    return [part.strip() for part in parts]


def _parse(text: str) -> Match:
    steps: list[str] = []
    parts: dict[str, list[Term]] = {end: [] for end in ENDS}
    shown: list[str] = []
    for name in _split(text, "+"):
        if name in STEPS:
            steps.append(name)
            continue
        if not name:
            raise MatchError(f"match {text!r}: a name is missing")
        try:
            templates = parse_templates(name)
        except TemplateError as error:
            raise MatchError(f"match {text!r}: {error}") from None
        if len(templates) != 1 or not templates[0].terms:
            raise MatchError(
                f"match {text!r}: {name!r} is not one column; join what must agree "
                "by +, and separate hashes by commas"
            )
        for term in templates[0].terms:
            for end, view in _roles(term.view, text):
                parts[end].append(Term(view, term.offset))
        shown.append(str(templates[0]).replace("[0]", ""))
    if not shown:
        raise MatchError(
            f"match {text!r}: name a column that must agree, such as xpos{_hint(steps)}"
        )
    step = max(steps, key=("direction", "bucket", "distance").index, default="")
    canonical = tuple((end, tuple(parts[end])) for end in ENDS if parts[end])
    template = ArcTemplate("|".join(shown), canonical)
    return Match("+".join(shown + [s for s in STEPS if s in steps]), template, step)


def _hint(steps: Iterable[str]) -> str:
    return "".join(f"+{step}" for step in steps)


def _roles(view: View, text: str) -> list[tuple[str, View]]:
    """The ends of the arc that a view looks at: both, unless it names one."""
    if view.inner is not None:
        inner = _roles(view.inner, text)
        return [(end, View(view.name, own, view.argument)) for end, own in inner]
    end, dot, column = view.name.partition(".")
    if not dot:
        return [(end, view) for end in ENDS]
    if end not in ENDS or not column:
        raise MatchError(f"match {text!r}: {view.name!r} begins with neither head. "
                         "nor dep.")  # fmt: skip
    return [(end, View(column))]


def _ask(function: Hash, table: Table, first: np.ndarray) -> np.ndarray:
    """Keys of all arcs by a user's function."""
    space = int(hash_strings([f"function {function.__name__}"])[0] >> FEWER_BITS)
    found = np.full(first[-1], -1, np.int64)
    for i in range(len(table)):
        n = int(table.offset[i + 1] - table.offset[i])
        head, dep = np.divmod(np.arange(n * (n + 1)), n)
        is_arc = head != dep + 1
        told = np.asarray(function(table[i : i + 1], head[is_arc], dep[is_arc] + 1))
        if told.shape != (int(is_arc.sum()),) or told.dtype.kind not in "iu":
            raise MatchError(
                f"{function.__name__} gave {told.dtype} of shape {told.shape}; one "
                f"whole number for each of {int(is_arc.sum())} arcs is needed"
            )
        if told.size and int(told.max()) >= 1 << 60:
            raise MatchError(f"{function.__name__} gave a key of more than 60 bits")
        found[first[i] : first[i + 1]][is_arc] = np.where(
            told < 0, -1, told.astype(np.int64) + space
        )
    return found
