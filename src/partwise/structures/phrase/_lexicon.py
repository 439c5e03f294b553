"""Which tags a word may have, for grammars over words instead of given tags.

A word seen less than `min_count` times counts as its class, which depends on its
letters (capital, digit, hyphen, a common ending). A class that was never seen may have
every tag that a rare word had.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Self

ENDINGS = (
    "ing", "ed", "ly", "ion", "ers", "er", "est", "ity", "ous", "al", "ble", "y", "s",
)  # fmt: skip
UNKNOWN = "<unknown>"


def word_class(word: str) -> str:
    """The class of a rare word by its letters.

    Examples
    --------
    >>> word_class("Knowingly"), word_class("1,200-odd")
    ('<unknown> capital ly', '<unknown> digit hyphen')
    """
    marks = [UNKNOWN]
    if word[:1].isupper():
        marks.append("capital")
    if any(letter.isdigit() for letter in word):
        marks.append("digit")
    if "-" in word:
        marks.append("hyphen")
    if "digit" not in marks:
        marks += [end for end in ENDINGS if word.lower().endswith(end)][:1]
    return " ".join(marks)


class Lexicon:
    """Words and word classes with the tags seen.

    Parameters
    ----------
    words : iterable of str
        Those that stand for themselves.
    pairs : iterable of (word or class, tag)
        Each is a weight of the grammar.
    """

    def __init__(
        self, words: Iterable[str] = (), pairs: Iterable[tuple[str, str]] = ()
    ) -> None:
        self.words = set(words)
        self.pairs = list(pairs)
        self.tags: dict[str, list[str]] = {}
        for word, tag in self.pairs:
            self.tags.setdefault(word, []).append(tag)

    @classmethod
    def read(
        cls, sentences: Sequence[Sequence[tuple[str, str]]], min_count: int
    ) -> Self:
        """The lexicon of tagged sentences."""
        count = Counter(word for sentence in sentences for word, _ in sentence)
        known = sorted(word for word, n in count.items() if n >= min_count)
        pairs: dict[tuple[str, str], None] = {}
        for sentence in sentences:
            for word, tag in sentence:
                if count[word] < min_count:
                    pairs[word_class(word), tag] = None
                    pairs[UNKNOWN, tag] = None
                else:
                    pairs[word, tag] = None
        if not any(word == UNKNOWN for word, _ in pairs):  # no rare word at all
            pairs |= {(UNKNOWN, tag): None for _, tag in list(pairs)}
        return cls(known, pairs)

    def name(self, word: str) -> str:
        """The word itself, its class, or the class of all unknown words."""
        if word in self.words:
            return word
        name = word_class(word)
        return name if name in self.tags else UNKNOWN
