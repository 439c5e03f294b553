"""Sentences of annotated words, in any of the forms that users have, as a table."""

from collections.abc import Mapping, Sequence
from typing import Any

from partwise.readers.refusals import refuse_single
from partwise.readers.table import Table

# Names of the columns of tokens that are tuples, by their length.
TUPLES = {
    1: ("form",),
    2: ("form", "upos"),
    3: ("form", "lemma", "upos"),
    4: ("form", "lemma", "upos", "xpos"),
    5: ("form", "lemma", "upos", "xpos", "feats"),
}


def sentence_table(X: Table | Sequence[Any]) -> Table:
    """Bring sentences into one table.

    Parameters
    ----------
    X : Table, list of Tables, or list of sentences
        A sentence is a list of words; a word is a dict of columns, a tuple of strings
        (form, upos), (form, lemma, upos), then xpos, then feats, or a string. A
        sentence may also be a dict of columns, each a list with a string per word.

    Examples
    --------
    >>> list(sentence_table([[("the", "DET"), ("cat", "NOUN")]]).columns)
    ['form', 'upos']
    >>> sentence_table([[{"form": "go", "upos": "VERB"}]]).strings("upos")
    [['VERB']]
    """
    if isinstance(X, Table):
        return X
    refuse_single(X)
    if isinstance(X, str | Mapping) or not hasattr(X, "__len__"):
        raise TypeError(
            f"X is of type {type(X).__name__}; give a Table or a list of sentences"
        )
    if not len(X):
        raise ValueError("X has no sentence")
    if isinstance(X[0], Table):
        return Table.concatenate(list(X))
    if isinstance(X[0], Mapping) and any(
        isinstance(value, list | tuple) for value in X[0].values()
    ):
        X = [_words(x, s) for s, x in enumerate(X)]
    if isinstance(X[0], str | Mapping):
        raise ValueError("X is one sentence; give a list of sentences: [X]")
    first = X[0][0] if len(X[0]) else ("",)
    if isinstance(first, Mapping):
        names: Sequence[str] = list(first)
        rows = [
            [_values(word, names, s) for word in words] for s, words in enumerate(X)
        ]
        return Table.from_sequences(rows, names)
    width = 1 if isinstance(first, str) else len(first)
    if width not in TUPLES:
        raise ValueError(
            f"a word has {width} columns; name them: give dicts or a Table"
        )
    return Table.from_sequences(X, TUPLES[width])


def _values(word: Any, names: Sequence[str], s: int) -> tuple[str, ...]:
    if not isinstance(word, Mapping) or set(word) != set(names):
        raise ValueError(
            f"sentence {s}: {word!r} where a dict of {', '.join(names)} is needed"
        )
    return tuple(word[name] for name in names)


def _words(sentence: Any, s: int) -> list[dict[str, str]]:
    """A dict of columns as a list of words."""
    if not isinstance(sentence, Mapping) or len({*map(len, sentence.values())}) != 1:
        raise ValueError(
            f"sentence {s}: {sentence!r:.60} where a dict of columns, all of the same "
            "length, is needed"
        )
    columns = zip(*sentence.values(), strict=True)
    return [dict(zip(sentence, values, strict=True)) for values in columns]


def shown_words(table: Table) -> list[list[str]]:
    """The words of each sentence as they are shown: forms, or the first column."""
    name = next((n for n in ("form", "word") if n in table.columns), None)
    return table.strings(name or next(iter(table.columns)))
