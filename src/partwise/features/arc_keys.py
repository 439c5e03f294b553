"""Keys of arcs, by hash functions that are named by what must agree.

Joined by ``+``::

    xpos                      the fine tags of head and dependent
    form+direction            the words, and on which side the head is
    lemma+distance            the lemmas, and how far apart, to which side
    upos+bucket               the same in the parser's steps (1 … 5, 6-10, more)
    head.lemma+dep.upos       one column of one end alone
    lower(form)+upos[-1]      functions and neighbours as in templates

What keys are, and how several hash functions go together, stands in `keys.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from difflib import get_close_matches
from typing import Any, NamedTuple

import numpy as np

from partwise.features.arc_shares import Places, hash_shares
from partwise.features.arc_templates import ROOT, ArcTemplate
from partwise.features.columnar import as_table
from partwise.features.keys import (
    NO_KEY,
    Hasher,
    MatchError,
    answers_of,
    roles_of,
    shares_of,
    split_outside,
    terms_of,
    value_at,
    written,
)
from partwise.features.templates import Term
from partwise.readers.table import Table

STEPS = ("direction", "distance", "bucket")
ENDS = ("head", "dep")

Hash = Callable[[Table, np.ndarray, np.ndarray], Any]


class ArcKeys(NamedTuple):
    """Keys of all candidate arcs of sentences.

    The arc from h to d of sentence i is part ``first[i] + h·n + d − 1``, n words. Parts
    with h = d are no arcs and have no key, nor have arcs without a value.
    """

    offset: np.ndarray  # (n_sentences + 1,) int64 positions, roots included
    first: np.ndarray  # (n_sentences + 1,) int64 parts of each sentence
    key: np.ndarray  # (n_parts, n_hashes) int64

    @property
    def token_offset(self) -> np.ndarray:
        """First word of each sentence, and the end, (n_sentences + 1,) int64."""
        return self.offset - np.arange(len(self.offset))


class Match(NamedTuple):
    """One hash function, read."""

    text: str
    template: ArcTemplate
    step: str  # "" or the finest of `STEPS` that must agree


class ArcHasher(Hasher[Match]):
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
        super().__init__(match, _parse, "xpos+distance")

    @property
    def columns(self) -> list[str]:
        """Columns that are looked at, each once."""
        terms = [
            term
            for match in self.hashes
            if isinstance(match, Match)
            for _, terms_of_end in match.template.parts
            for term in terms_of_end
        ]
        return list(dict.fromkeys(term.view.column for term in terms))

    def n_keys(self, offset: np.ndarray) -> np.ndarray:
        """Number of keys of each sentence, from the first word of each."""
        length = np.diff(offset)
        return length * (length + 1) * len(self.hashes)

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
        from partwise.features._arc_key_compiled import add_shares

        table = as_table(X)
        self._check_names(table)
        named = [h for h in self.hashes if isinstance(h, Match)]
        templates = [match.template for match in named]
        reach = {
            term.offset for t in templates for _, terms in t.parts for term in terms
        }
        places = Places.of_table(table, sorted(reach | {0}))
        length = np.diff(table.offset)
        first = np.append(0, np.cumsum(length * (length + 1))).astype(np.int64)
        key = np.full((first[-1], len(self.hashes)), NO_KEY, np.int64)
        shares = np.zeros((len(named), len(ENDS), len(places.is_root)), np.int64)
        for template, end, begin, values in hash_shares(templates, table, places):
            place = shares[template, ENDS.index(end)]
            place[begin : begin + len(values)] = values
        of_named = iter(shares)
        for number, match in enumerate(self.hashes):
            if isinstance(match, Match):
                head, dep = next(of_named)
                steps = step_shares(match.step, int(length.max()))
                add_shares(places.offset, first, head, dep, steps, number, key)
            else:
                key[:, number] = _ask(match, number, table, first)
        return ArcKeys(places.offset, first, key)

    def _check_names(self, table: Table) -> None:
        """Refuse columns that the table lacks; misspelt steps look like columns."""
        for column in self.columns:
            near = get_close_matches(column, STEPS, n=1)
            if column not in table.columns and near:
                raise MatchError(f"<match=> has {column!r}; did you mean {near[0]}?")
            if column == "cluster" and column not in table.columns:
                raise MatchError(
                    "<match=> needs a column 'cluster'; <clusters=> makes it of the "
                    "training text"
                )
        self.check_columns(table, self.columns)

    def agreement(self, match: Match, X: Any, keys: ArcKeys, i: int, at: int) -> str:
        """
        What agrees of an arc, in words.

        Examples
        --------
        >>> hasher = ArcHasher("form+direction")
        >>> X = Table.from_sequences([["a", "cat"]], ["form"])
        >>> hasher.describe(X, hasher.transform(X), 4, 0)
        'form=cat → form=a left'
        """
        table = as_table(X)
        head, dep = divmod(at, int(table.offset[i + 1] - table.offset[i]))
        values_of = {}
        for end, terms in match.template.parts:
            t = head - 1 if end == "head" else dep
            values = []
            for term in terms:
                is_root = t + term.offset == -1
                value = ROOT if is_root else value_at(term, table, i, t)
                values.append(f"{written(term)}={value}")
            values_of[end] = " ".join(values)
        arc = " → ".join(values_of.get(end, "any") for end in ENDS)
        return f"{arc} {step_name(match.step, dep + 1 - head)}".rstrip()


def step_name(step: str, distance: int) -> str:
    """What must agree of a distance, to the right if positive, as a string."""
    from partwise.features._arc_compiled import variant

    if step == "direction":
        return "right" if distance > 0 else "left"
    if step == "bucket":
        return f"bucket {variant(max(-distance, 0), max(distance, 0))}"
    return f"{distance:+d}" if step else ""


def step_shares(step: str, longest: int) -> np.ndarray:
    """Shares of the distances −longest … longest, (2·longest + 1,) int64."""
    distances = range(-longest, longest + 1)
    if not step:
        return np.zeros(len(distances), np.int64)
    return shares_of([f"{step} {step_name(step, distance)}" for distance in distances])


def _parse(text: str) -> Match:
    steps: list[str] = []
    parts: dict[str, list[Term]] = {end: [] for end in ENDS}
    shown: list[str] = []
    for name in split_outside(text, "+"):
        if name in STEPS:
            steps.append(name)
            continue
        terms = terms_of(name, text)
        for term in terms:
            for end, view in roles_of(term.view, ENDS, text):
                parts[end].append(Term(view, term.offset))
        shown += map(written, terms)
    if not shown:
        raise MatchError(
            f"<match={text!r}>: name a column that must agree, such as "
            f"xpos{_hint(steps)}"
        )
    step = max(steps, key=("direction", "bucket", "distance").index, default="")
    canonical = tuple((end, tuple(parts[end])) for end in ENDS if parts[end])
    template = ArcTemplate("|".join(shown), canonical)
    return Match("+".join(shown + [step] * bool(step)), template, step)


def _hint(steps: Iterable[str]) -> str:
    return "".join(f"+{step}" for step in steps)


def _ask(function: Hash, number: int, table: Table, first: np.ndarray) -> np.ndarray:
    """Keys of all arcs by a user's function."""
    keys = np.full(first[-1], NO_KEY, np.int64)
    for i in range(len(table)):
        n = int(table.offset[i + 1] - table.offset[i])
        head, dep = np.divmod(np.arange(n * (n + 1)), n)
        is_arc = head != dep + 1
        keys[first[i] : first[i + 1]][is_arc] = answers_of(
            function, number, int(is_arc.sum()), table[i : i + 1], head[is_arc],
            dep[is_arc] + 1,
        )  # fmt: skip
    return keys


def default_match(table: Table) -> str:
    """Fine tags with their distance, or what comes nearest among these columns."""
    for column in ("xpos", "upos"):
        if column in table.columns and len(table.columns[column].values) > 1:
            return f"{column}+distance"
    return "form+direction"
