"""Hash functions of parts: two parts match when their keys are equal.

A hash function maps a part of an output, together with its input, to a key; the output
kernel of an atomic structural SVM counts pairs of parts with equal keys (003 Definition
4.2.1). Functions have names, or are the user's own; several are separated by commas and
their kernels add up. A key is a sum of random numbers of 60 bits, one for each thing
that must agree: the same in every process, and without a vocabulary. Two of a million
different keys are equal by accident with a probability below 1e-6.

`arc_keys.py` has the parts of dependency trees, `label_keys.py` those of sequences,
`phrase_keys.py` those of phrase-structure trees.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, Generic, Protocol, TypeVar

import numpy as np

from partwise.features.hashing import HALF, MULTIPLIER, hash_strings, hash_view
from partwise.features.templates import (
    BOUNDARY,
    TemplateError,
    Term,
    View,
    parse_templates,
)
from partwise.features.windows import neighbours
from partwise.parameters import SettingsError
from partwise.readers.table import Table

FEWER_BITS = np.uint64(4)  # of a share, so that three add up without overflow
NO_KEY = -1


class MatchError(SettingsError):
    """A hash function cannot be read or used; the text names the remedy."""


class Named(Protocol):
    """A hash function with a name, read."""

    @property
    def text(self) -> str:
        """The name, in its plain form."""


N = TypeVar("N", bound=Named)


class Hasher(Generic[N]):
    """One or several hash functions.

    Parameters
    ----------
    match : str, callable, or sequence of them
    parse : callable
        Reads a name.
    hint : str
        A name to recommend.

    Attributes
    ----------
    match : tuple of str or callable
        Names in their plain form, and functions.
    hashes : list
        The same, names read.
    """

    def __init__(self, match: Any, parse: Callable[[str], N], hint: str) -> None:
        if not (isinstance(match, str | Iterable) or callable(match)):
            raise MatchError(
                f"<match={match!r}> is neither a name nor a function; name a hash such "
                f"as {hint!r}"
            )
        named: list[Any] = []
        for item in [match] if isinstance(match, str) or callable(match) else match:
            named += split_outside(item, ",") if isinstance(item, str) else [item]
        if not named:
            raise MatchError(f"<match=> is empty; name a hash such as {hint!r}")
        self.hashes: list[Any] = []
        for one in named:
            if not isinstance(one, str) and not callable(one):
                raise MatchError(f"<match=> has {one!r}, neither a name nor a function")
            self.hashes.append(parse(one) if isinstance(one, str) else one)
        self.match = tuple(getattr(one, "text", one) for one in self.hashes)
        for i, one in enumerate(self.match):
            if one in self.match[:i]:
                raise MatchError(f"<match={one!r}> stands twice; name it once")

    def check_columns(self, table: Table, columns: list[str]) -> None:
        """Refuse a table without these columns."""
        for column in columns:
            if column not in table.columns:
                raise MatchError(
                    f"<match=> needs a column {column!r}; there are "
                    f"{', '.join(table.columns)}"
                )

    @property
    def names(self) -> list[str]:
        """How to show the hash functions."""
        return [name_of(one) for one in self.match]

    def describe(self, X: Any, keys: Any, part: int, number: int) -> str:
        """What agrees when the key of a part is met, in words.

        Parameters
        ----------
        X : as given to `transform`
            For many parts, give a Table: other forms are converted at every call.
        keys : keys of X
        part : int
            A part that has a key.
        number : int
            Of the hash function.
        """
        match = self.hashes[number]
        if callable(match):
            answer = answer_of(match, number, keys.key[part, number])
            return f"{name_of(match)}={answer}"
        i = int(np.searchsorted(keys.first, part, "right")) - 1
        return self.agreement(match, X, keys, i, part - int(keys.first[i]))

    def agreement(self, match: N, X: Any, keys: Any, i: int, at: int) -> str:
        """What agrees by a named hash function of part `at` of sequence i, in words."""
        raise NotImplementedError


def name_of(one: Any) -> str:
    """How to show a hash function."""
    return one if isinstance(one, str) else getattr(one, "__name__", repr(one))


def shares_of(strings: list[str]) -> np.ndarray:
    """A share of 60 bits for each string, int64."""
    return (hash_strings(strings) >> FEWER_BITS).astype(np.int64)


def answers_of(function: Any, number: int, n_parts: int, *args: Any) -> np.ndarray:
    """Keys by a user's function, the `number`-th of the hash functions.

    Parameters
    ----------
    function : callable
        Returns one whole number per part; a negative one stands for no key.
    number : int
        Two functions of one name do not share keys.
    n_parts : int
    *args
        What the function is called with.

    Returns
    -------
    int64 array (n_parts,)
    """
    name = name_of(function)
    keys = np.asarray(function(*args))
    if keys.shape != (n_parts,) or keys.dtype.kind not in "iu":
        raise MatchError(
            f"{name} gave {keys.dtype} of shape {keys.shape}; one whole number for "
            f"each of {n_parts} parts is needed"
        )
    if keys.size and int(keys.max()) >= 1 << 60:
        raise MatchError(f"{name} gave a key of more than 60 bits")
    return np.where(keys < 0, NO_KEY, keys.astype(np.int64) + _space(function, number))


def answer_of(function: Any, number: int, key: int) -> int:
    """What a user's function gave for a part with this key."""
    return int(key) - _space(function, number)


def _space(function: Any, number: int) -> int:
    return int(shares_of([f"function {number} {name_of(function)}"])[0])


def terms_of(name: str, text: str) -> tuple[Term, ...]:
    """The columns that `name` joins by ``|``; `text` is the whole hash function."""
    if not name:
        raise MatchError(f"<match={text!r}>: a name is missing")
    try:
        templates = parse_templates(name)
    except TemplateError as error:
        raise MatchError(f"<match={text!r}>: {error}") from None
    if len(templates) != 1 or not templates[0].terms:
        raise MatchError(
            f"<match={text!r}>: {name!r} is not one column; join what must agree by +, "
            "and separate hashes by commas"
        )
    return templates[0].terms


def roles_of(view: View, ends: Sequence[str], text: str) -> list[tuple[str, View]]:
    """The ends of a part that a view looks at: all, unless it names one with a dot."""
    if view.inner is not None:
        inner = roles_of(view.inner, ends, text)
        return [
            (end, View(view.name, inner_view, view.argument))
            for end, inner_view in inner
        ]
    end, dot, column = view.name.partition(".")
    if not dot:
        return [(end, view) for end in ends]
    if end not in ends or not column:
        named = " nor ".join(f"{end}." for end in ends)
        raise MatchError(f"<match={text!r}>: {view.name!r} begins with neither {named}")
    return [(end, View(column))]


def token_shares(
    text: str, terms: Sequence[Term], table: Table | None, n_tokens: int
) -> np.ndarray:
    """What tokens add to keys of the hash function `text`, (n_tokens,) int64.

    −1 stands for no value of one of the terms.
    """
    mixed = np.full(n_tokens, hash_strings([text]))
    present = np.ones(n_tokens, bool)
    if table is not None:
        near = neighbours(table.offset, {term.offset for term in terms})
        outside = hash_strings([BOUNDARY])
        for term in terms:
            of_token, known = hash_view(term.view, table)
            place = near[term.offset]
            present &= np.append(known, True)[place]
            mixed = mixed ^ np.append(of_token, outside)[place]
            mixed *= MULTIPLIER
            mixed ^= mixed >> HALF
    mixed = mixed * MULTIPLIER
    bits = ((mixed ^ (mixed >> HALF)) >> FEWER_BITS).astype(np.int64)
    return np.where(present, bits, NO_KEY)


def written(term: Term) -> str:
    """A term as people write it."""
    return str(term).replace("[0]", "")


def value_at(term: Term, table: Table, i: int, t: int) -> str | None:
    """The string that a term has at token t of sequence i; None for no value."""
    begin, end = table.offset[i : i + 2]
    at = begin + t + term.offset
    if not begin <= at < end:
        return BOUNDARY
    column = table.columns[term.view.column]
    return term.view.apply([column.values[column.codes[at]]])[0]


def split_outside(text: str, at: str) -> list[str]:
    """Parts of a text between separators that stand outside all brackets."""
    parts, depth = [""], 0
    for letter in text:
        depth += (letter in "([") - (letter in ")]")
        if letter == at and depth == 0:
            parts.append("")
        else:
            parts[-1] += letter
    return [part.strip() for part in parts]
