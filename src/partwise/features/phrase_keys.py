"""Keys of rules and brackets, by hash functions that are named by what must agree.

A part of a tree is a rule of the grammar, or a bracket: a label over the words
[begin, end). Joined by ``+``::

    rule                      the rule, wherever it stands
    label                     the label of a bracket, over any words
    label+tag                 the label, the tags of its first and of its last word
    label+first.word          the label, and its first word
    label+first.tag[-1]       the tag before it; functions and neighbours as elsewhere
    label+length              the label, and the number of words
    label+bucket              the same in steps (1 … 6, 8, 11, 16, 21, 31 and more)

What keys are, and how several hash functions go together, stands in `keys.py`. A rule
has no place in the sentence, so that nothing can be joined to it: the chart of a
grammar adds its score wherever the rule is used.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from difflib import get_close_matches
from typing import Any, NamedTuple

import numpy as np

from partwise.features.keys import (
    NO_KEY,
    Hasher,
    MatchError,
    answers_of,
    roles_of,
    shares_of,
    split_outside,
    terms_of,
    token_shares,
    value_at,
    written,
)
from partwise.features.spans import LENGTHS
from partwise.features.templates import Term
from partwise.readers.table import Table

RULE, LABEL = "rule", "label"
SIZES = ("length", "bucket")
ENDS = ("first", "last")
COLUMNS = ("word", "tag")

Hash = Callable[[Table, np.ndarray, np.ndarray, np.ndarray], Any]


class PhraseKeys(NamedTuple):
    """Keys of all rules and brackets that sentences might have.

    The parts of sentence i begin at ``first[i]``: the rules, then the brackets by span,
    (0, 1), (0, 2), …, (0, n), (1, 2), …, and within a span by label.
    """

    offset: np.ndarray  # (n_sentences + 1,) int64 words
    first: np.ndarray  # (n_sentences + 1,) int64 parts of each sentence
    key: np.ndarray  # (n_parts, n_hashes) int64
    n_rules: int
    n_labels: int

    @property
    def token_offset(self) -> np.ndarray:
        """First word of each sentence, and the end, (n_sentences + 1,) int64."""
        return self.offset

    def bracket(self, i: int, begin: int, end: int, label: int) -> int:
        """The part that a label over the words [begin, end) of sentence i is."""
        n = int(self.offset[i + 1] - self.offset[i])
        span = begin * n - begin * (begin - 1) // 2 + end - begin - 1
        return int(self.first[i]) + self.n_rules + span * self.n_labels + label


class PhraseMatch(NamedTuple):
    """One hash function, read."""

    text: str
    terms: dict[str, tuple[Term, ...]]  # of both ends
    size: str  # "" or what must agree of the number of words
    is_rule: bool


class PhraseHasher(Hasher[PhraseMatch]):
    """Keys of rules and brackets by one or several hash functions.

    Parameters
    ----------
    match : str, callable, or sequence of them
        Names as above, or functions ``f(sentence, label, begin, end)`` that get a table
        of one sentence and three arrays (labels, and the words [begin, end)) and return
        one whole number per bracket; a negative one stands for no key.
    rules : sequence of str
        Names of the rules.
    labels : sequence of str
        Labels of brackets.
    needs : sequence of sets of str, optional
        Tags without which a rule has no place in a sentence, and no key. By default
        there are none.
    columns : callable, optional
        From sentences to lists of (word, tag), as hash functions look at them.

    Examples
    --------
    >>> hasher = PhraseHasher("rule, label+first.tag", ["S → DT NN", "→ S"], ["S"])
    >>> keys = hasher.transform([[("a", "DT"), ("cat", "NN")]])
    >>> keys.key.shape  # two rules, three spans with one label
    (5, 2)
    """

    def __init__(
        self,
        match: Any,
        rules: Sequence[str],
        labels: Sequence[str],
        needs: Sequence[Iterable[str]] | None = None,
        columns: Callable[[Any], Any] = list,
    ) -> None:
        super().__init__(match, _parse, "rule, label+tag")
        self.rules = list(rules)
        self.labels = list(labels)
        self.needs = needs
        self.of_sentences = columns

    @property
    def columns(self) -> list[str]:
        """Columns that are used, each once."""
        named = [one for one in self.hashes if isinstance(one, PhraseMatch)]
        ends = [terms for match in named for terms in match.terms.values()]
        return list(dict.fromkeys(term.view.column for terms in ends for term in terms))

    def table(self, X: Any) -> Table:
        """Sentences as a table of words and tags."""
        if isinstance(X, Table):
            return X
        return Table.from_sequences(self.of_sentences(X), list(COLUMNS))

    def n_keys(self, offset: np.ndarray) -> np.ndarray:
        """Number of keys of each sentence, from the first word of each."""
        length = np.diff(offset)
        n_brackets = length * (length + 1) // 2 * len(self.labels)
        return (len(self.rules) + n_brackets) * len(self.hashes)

    def transform(self, X: Any) -> PhraseKeys:
        """Keys of all rules and brackets."""
        table = self.table(X)
        self.check_columns(table, self.columns)
        n_rules, n_labels = len(self.rules), len(self.labels)
        length = np.diff(table.offset)
        n_parts = n_rules + length * (length + 1) // 2 * n_labels
        first = np.append(0, np.cumsum(n_parts)).astype(np.int64)
        key = np.full((first[-1], len(self.hashes)), NO_KEY, np.int64)
        for number, match in enumerate(self.hashes):
            if isinstance(match, PhraseMatch) and match.is_rule:
                self._rule_keys(table, first, key[:, number])
                continue
            shares: dict[str, np.ndarray] = {}
            if isinstance(match, PhraseMatch):
                named = f"{match.text} {LABEL}"
                shares[LABEL] = shares_of([f"{named} {name!r}" for name in self.labels])
                for side, terms in match.terms.items():
                    text, n = f"{match.text} {side}", int(table.offset[-1])
                    shares[side] = token_shares(text, terms, table, n)
                sizes = range(int(length.max()) + 1)
                shares["size"] = size_shares(match.size, sizes)
            for i, n in enumerate(length.tolist()):
                begin, end = span_ends(n)
                span_keys = key[first[i] + n_rules : first[i + 1], number]
                if not shares:
                    args = self._arguments(table, i, begin, end)
                    span_keys[:] = answers_of(match, number, len(span_keys), *args)
                    continue
                at = int(table.offset[i])
                first_share = shares["first"][at + begin]
                last_share = shares["last"][at + end - 1]
                total = first_share + last_share + shares["size"][end - begin]
                total = total[:, None] + shares[LABEL]
                is_absent = (first_share < 0) | (last_share < 0)
                span_keys[:] = np.where(is_absent[:, None], NO_KEY, total).ravel()
        offset = np.asarray(table.offset, np.int64)
        return PhraseKeys(offset, first, key, n_rules, n_labels)

    def _rule_keys(self, table: Table, first: np.ndarray, key: np.ndarray) -> None:
        """Keys of the rules that have a place in each sentence."""
        # numbered, because steps of Markov processes may share a name
        named = [f"{RULE} {k} {name}" for k, name in enumerate(self.rules)]
        shares = shares_of(named)
        needs = self.needs
        if needs is None:
            needs = [()] * len(self.rules)
        needed = {tag: k for k, tag in enumerate(sorted(set().union(*needs)))}
        tag_sets = [sorted(set(tags)) for tags in needs]
        rule = np.repeat(np.arange(len(needs)), list(map(len, tag_sets)))
        tag = np.array([needed[t] for tags in tag_sets for t in tags], int)
        column = table.columns["tag"]
        number = np.array([needed.get(v, -1) for v in column.values], int)
        for i in range(len(table)):
            here = number[column.codes[table.offset[i] : table.offset[i + 1]]]
            rule_keys = key[first[i] : first[i] + len(shares)]
            rule_keys[:] = shares
            if (here >= 0).all():  # an unknown tag may stand for any other
                is_there = np.zeros(len(needed), bool)
                is_there[here] = True
                rule_keys[rule[~is_there[tag]]] = NO_KEY

    def _arguments(
        self, table: Table, i: int, begin: np.ndarray, end: np.ndarray
    ) -> tuple[Any, ...]:
        """Arguments of a user's function for the brackets of sentence i."""
        size = len(self.labels)
        labels = np.tile(np.array(self.labels), len(begin))
        return table[i : i + 1], labels, np.repeat(begin, size), np.repeat(end, size)

    def agreement(
        self, match: PhraseMatch, X: Any, keys: PhraseKeys, i: int, at: int
    ) -> str:
        """What agrees of a rule or a bracket, in words.

        Examples
        --------
        >>> hasher = PhraseHasher("label+first.tag[-1]+length", ["→ S"], ["S", "NP"])
        >>> X = [[("the", "DT"), ("cat", "NN")]]
        >>> hasher.describe(X, hasher.transform(X), 6, 0)
        'label=NP first.tag[-1]=DT length=1'
        """
        if match.is_rule:
            return self.rules[at]
        table = self.table(X)
        n = int(table.offset[i + 1] - table.offset[i])
        span, label = divmod(at - keys.n_rules, keys.n_labels)
        begin, end = (int(ends[span]) for ends in span_ends(n))
        lines = [f"{LABEL}={self.labels[label]}"]
        for side, t in zip(ENDS, (begin, end - 1), strict=True):
            for term in match.terms[side]:
                lines.append(f"{side}.{written(term)}={value_at(term, table, i, t)}")
        if match.size:
            lines.append(f"{match.size}={size_name(match.size, end - begin)}")
        return " ".join(lines)


def span_ends(n: int) -> tuple[np.ndarray, np.ndarray]:
    """Begin and end of all spans of n words, in the order of `PhraseKeys`."""
    begin, end = np.triu_indices(n + 1, 1)
    return begin, end


def size_name(size: str, n: int) -> str:
    """What must agree of a number of words."""
    if size == "bucket":
        return str(max((least for least in LENGTHS if least <= n), default=0))
    return str(n)


def size_shares(size: str, lengths: Sequence[int]) -> np.ndarray:
    """What numbers of words add to a key."""
    if not size:
        return np.zeros(len(lengths), np.int64)
    return shares_of([f"{size} {size_name(size, n)}" for n in lengths])


def _parse(text: str) -> PhraseMatch:
    parts: list[str] = []
    sizes: list[str] = []
    shown: list[str] = []
    terms: dict[str, list[Term]] = {end: [] for end in ENDS}
    for name in split_outside(text, "+"):
        if name in (RULE, LABEL):
            parts.append(name)
        elif name in SIZES:
            sizes.append(name)
        else:
            new_terms = terms_of(name, text)
            for term in new_terms:
                for end, view in roles_of(term.view, ENDS, text):
                    terms[end].append(Term(view, term.offset))
            shown += map(written, new_terms)
    near = get_close_matches(text, [RULE, LABEL], n=1)
    if not parts and near:
        raise MatchError(f"<match={text!r}>: did you mean {near[0]}?")
    if not parts:
        raise MatchError(
            f"<match={text!r}>: labels of brackets must agree, too; write label+{text}"
        )
    is_alone = not sizes and not shown
    if len(parts) > 1 or len(sizes) > 1 or (parts[0] == RULE and not is_alone):
        raise MatchError(
            f"<match={text!r}>: name label once and one of {' and '.join(SIZES)}; rule "
            "stands alone"
        )
    named = "+".join([parts[0], *shown, *sizes])
    both = {end: tuple(its_terms) for end, its_terms in terms.items()}
    return PhraseMatch(named, both, (*sizes, "")[0], parts[0] == RULE)
