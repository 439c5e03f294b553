"""Keys of labels, by hash functions that are named by what must agree.

Joined by ``+``::

    label                     the label
    type                      the label without B-, I- and the like
    label+word                the label, and the word
    type+suffix(word,3)[-1]   functions and neighbours as in templates
    bigram                    two labels in a row, wherever they stand

What keys are, and how several hash functions go together, stands in `keys.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from difflib import get_close_matches
from typing import Any, NamedTuple

import numpy as np

from partwise.features.choice import kind_of
from partwise.features.columnar import as_table
from partwise.features.keys import (
    NO_KEY,
    Hasher,
    MatchError,
    answers_of,
    shares_of,
    split_outside,
    terms_of,
    token_shares,
    value_at,
    written,
)
from partwise.features.templates import Term
from partwise.readers.table import Table

LABELS = ("label", "type")
PAIR = "bigram"
PREFIXES = "BIOESLU"  # of tag schemes

Hash = Callable[[Any, np.ndarray, np.ndarray], Any]


class LabelKeys(NamedTuple):
    """Keys of all labels that the tokens of sequences might have.

    Token t with label l is part ``token[t] + l``. With `has_pairs` a sequence has L²
    more parts, the last of its own: label a before label b is part a·L + b of them.
    """

    offset: np.ndarray  # (n_sequences + 1,) int64 tokens
    first: np.ndarray  # (n_sequences + 1,) int64 parts of each sequence
    token: np.ndarray  # (n_tokens,) int64 first part of each token
    key: np.ndarray  # (n_parts, n_hashes) int64
    n_labels: int
    has_pairs: bool

    @property
    def token_offset(self) -> np.ndarray:
        """First token of each sequence, and the end, (n_sequences + 1,) int64."""
        return self.offset


class LabelMatch(NamedTuple):
    """One hash function, read."""

    text: str
    part: str  # of `LABELS`, or `PAIR`
    terms: tuple[Term, ...]


class LabelHasher(Hasher[LabelMatch]):
    """Keys of labels by one or several hash functions.

    Parameters
    ----------
    match : str, callable, or sequence of them
        Names as above, or functions ``f(sequence, token, label)`` that get one sequence
        (of a table, the table of that sequence), an integer array of tokens and an
        array of labels, and return one whole number for each pair of these; a negative
        one stands for no key.
    labels : sequence
        All labels, in their order.

    Examples
    --------
    >>> hasher = LabelHasher("type+word, label", ["B-PER", "I-PER", "O"])
    >>> keys = hasher.transform([["Ada", "Lovelace", "Ada"]])
    >>> keys.key.shape
    (9, 2)
    >>> key = keys.key[:, 0].reshape(3, 3)  # of the first hash: token by label
    >>> bool(key[0, 0] == key[2, 1]), bool(key[0, 0] == key[1, 0])
    (True, False)
    """

    def __init__(self, match: Any, labels: Sequence[Any]) -> None:
        super().__init__(match, _parse, "label")
        self.labels = list(labels)

    @property
    def columns(self) -> list[str]:
        """Columns that named hash functions use, each once."""
        named = [one for one in self.hashes if isinstance(one, LabelMatch)]
        terms = [term for match in named for term in match.terms]
        return list(dict.fromkeys(term.view.column for term in terms))

    @property
    def has_pairs(self) -> bool:
        """Whether two labels in a row are parts."""
        named = [one for one in self.hashes if isinstance(one, LabelMatch)]
        return any(match.part == PAIR for match in named)

    def n_keys(self, offset: np.ndarray) -> np.ndarray:
        """Number of keys of each sequence, from the first token of each."""
        size = len(self.labels)
        n_parts = np.diff(offset) * size + self.has_pairs * size * size
        return n_parts * len(self.hashes)

    def transform(self, X: Any, offset: np.ndarray | None = None) -> LabelKeys:
        """Keys of all labels of all tokens.

        Parameters
        ----------
        X : Table, or list of sequences
        offset : int array (n_sequences + 1,), optional
            Where sequences begin, if no hash function uses a column.
        """
        table = self._table(X) if self.columns else None
        if table is not None:
            offset = table.offset
        elif offset is None:
            offset = lengths_offset(X)
        size = len(self.labels)
        length = np.diff(offset)
        n_pairs = size * size if self.has_pairs else 0
        first = np.append(0, np.cumsum(length * size + n_pairs)).astype(np.int64)
        place = np.arange(offset[-1]) - np.repeat(offset[:-1], length)
        token = np.repeat(first[:-1], length) + place * size
        key = np.full((first[-1], len(self.hashes)), NO_KEY, np.int64)
        cells = token[:, None] + np.arange(size)  # (n_tokens, L)
        pairs = first[1:, None] - n_pairs + np.arange(n_pairs)
        for number, match in enumerate(self.hashes):
            if not isinstance(match, LabelMatch):
                key[cells.ravel(), number] = self._ask(match, number, X, offset)
            elif match.part == PAIR:
                names = [
                    f"{PAIR} {a!r} {b!r}" for a in self.labels for b in self.labels
                ]
                key[pairs, number] = shares_of(names)
            else:
                n_tokens = int(offset[-1])
                of_token = token_shares(match.text, match.terms, table, n_tokens)
                total = of_token[:, None] + self.label_shares(match)
                key[cells, number] = np.where(of_token[:, None] < 0, NO_KEY, total)
        return LabelKeys(
            np.asarray(offset, np.int64), first, token, key, size, self.has_pairs
        )

    def label_shares(self, match: LabelMatch) -> np.ndarray:
        """What each label adds to a key, (L,) int64."""
        strip = match.part == "type"
        names = [label_type(label) if strip else label for label in self.labels]
        return shares_of([f"{match.text} {name!r}" for name in names])

    def _table(self, X: Any) -> Table:
        if (kind := kind_of(X)) != "columns":
            raise MatchError(
                f"<match=> looks at columns ({', '.join(self.columns)}), and these "
                f"tokens are {kind}; give a Table or tuples of strings"
            )
        table = as_table(X)
        self.check_columns(table, self.columns)
        return table

    def _ask(
        self, function: Hash, number: int, X: Any, offset: np.ndarray
    ) -> np.ndarray:
        """Keys of all labels of all tokens by a user's function."""
        labels = np.array(self.labels)
        answers = []
        for i, sequence in enumerate(_sequences(X)):
            n = int(offset[i + 1] - offset[i])
            token, label = np.divmod(np.arange(n * len(labels)), len(labels))
            args = (sequence, token, labels[label])
            answers.append(answers_of(function, number, len(token), *args))
        return np.concatenate(answers)

    def agreement(
        self, match: LabelMatch, X: Any, keys: LabelKeys, i: int, at: int
    ) -> str:
        """What agrees of a label, or of a pair of labels, in words.

        Examples
        --------
        >>> hasher = LabelHasher("type+word[-1]", ["B-PER", "O"])
        >>> X = [["Mrs", "Lovelace"]]
        >>> hasher.describe(X, hasher.transform(X), 2, 0)
        'type=PER word[-1]=Mrs'
        """
        size = keys.n_labels
        if match.part == PAIR:
            n_parts = int(keys.first[i + 1] - keys.first[i])
            a, b = divmod(at - n_parts + size * size, size)
            return f"{PAIR}={self.labels[a]}→{self.labels[b]}"
        t, label = divmod(at, size)
        name = self.labels[label]
        lines = [f"{match.part}={label_type(name) if match.part == 'type' else name}"]
        if match.terms:
            table = self._table(X)
            lines += [f"{written(e)}={value_at(e, table, i, t)}" for e in match.terms]
        return " ".join(lines)


def label_type(label: Any) -> Any:
    """The label without the prefix of a tag scheme.

    Examples
    --------
    >>> label_type("B-PER"), label_type("O"), label_type("NN-S"), label_type(3)
    ('PER', 'O', 'NN-S', 3)
    """
    if isinstance(label, str) and label[1:2] == "-" and label[0] in PREFIXES:
        return label[2:]
    return label


def lengths_offset(X: Any) -> np.ndarray:
    """Where each of these sequences begins, and the end, (n + 1,) int64."""
    if hasattr(X, "offset"):  # a table, or features
        return X.offset
    if len(X) and isinstance(X[0], Table):
        lengths = [n for table in X for n in np.diff(table.offset).tolist()]
    else:
        lengths = [x.shape[0] if hasattr(x, "shape") else len(x) for x in X]
    if 0 in lengths:
        raise ValueError(f"sequence {lengths.index(0)} has no tokens; leave it out")
    return np.append(0, np.cumsum(lengths)).astype(np.int64)


def _sequences(X: Any) -> Iterator[Any]:
    """One sequence after the other, as functions of the user get them."""
    return (X[i : i + 1] for i in range(len(X))) if isinstance(X, Table) else iter(X)


def _parse(text: str) -> LabelMatch:
    parts: list[str] = []
    terms: list[Term] = []
    for name in split_outside(text, "+"):
        if name in (*LABELS, PAIR):
            parts.append(name)
        else:
            terms += terms_of(name, text)
    near = get_close_matches(text, [*LABELS, PAIR], n=1)
    if not parts and near:
        raise MatchError(f"<match={text!r}>: did you mean {near[0]}?")
    if not parts:
        raise MatchError(
            f"<match={text!r}>: labels must agree, too; write label+{text} or "
            f"type+{text}"
        )
    if len(parts) > 1 or (parts[0] == PAIR and terms):
        raise MatchError(
            f"<match={text!r}>: name one of label and type; {PAIR} stands alone"
        )
    text = "+".join([*parts, *map(written, terms)])
    return LabelMatch(text, parts[0], tuple(terms))
