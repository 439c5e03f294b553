"""Any output drawn over its input."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from partwise.report.alignments import draw_alignment
from partwise.report.arcs import draw_dependency_tree
from partwise.report.labels import draw_sequence
from partwise.report.phrase_trees import draw_phrase_tree
from partwise.report.svg import Drawing


def draw(x: Any, y: Any, *, truth: Any = None) -> Drawing:
    """
    Draw an output over its input: one item of X with one of ``predict(X)``.

    Parameters
    ----------
    x : sequence, sentence or pair of sequences
        As `predict` takes it: a sentence of a `Table`, a list of tokens, or (a, b).
    y : labels, DependencyTree, phrase-structure tree or array (k, 2)
        What `predict` returns for it: the labels of a sequence, a tree, or the aligned
        positions of a pair.
    truth : like y, optional
        Where it differs, both are marked.

    Returns
    -------
    Drawing
        SVG as text, which a notebook shows.

    Examples
    --------
    >>> from partwise import SequenceTagger
    >>> from partwise.datasets import toy_entities
    >>> X, y = toy_entities(20)
    >>> tagger = SequenceTagger(tol=0.1).fit(X, y)
    >>> drawn = draw(X[0], tagger.predict(X[:1])[0], truth=y[0])
    >>> drawn.startswith("<svg")
    True
    """
    from partwise.readers.tokens import show_tokens

    if _is_dependency_tree(y):
        tags = None
        if "upos" in getattr(x, "columns", ()):
            tags = x.strings("upos")[0]
        return draw_dependency_tree(show_tokens([x], 0), y, truth=truth, tags=tags)
    if _is_phrase_tree(y):
        return draw_phrase_tree(y, truth=truth)
    if _is_pair(x):
        a, b = x
        if isinstance(b, list | tuple):  # candidates, and (index, alignment)
            index, y = y
            b, truth = b[index], None if truth is None else truth[1]
        return draw_alignment(_letters(a), _letters(b), y, truth)
    return draw_sequence(show_tokens([x], 0), y, truth=truth)


def _is_dependency_tree(y: Any) -> bool:
    is_pair = isinstance(y, tuple) and len(y) == 2
    return is_pair and hasattr(y[0], "__len__") and not isinstance(y[0], str)


def _is_phrase_tree(y: Any) -> bool:
    if callable(getattr(y, "label", None)):  # nltk.Tree
        return True
    is_pair = isinstance(y, tuple | list) and len(y) == 2 and isinstance(y[0], str)
    return is_pair and isinstance(y[1], tuple | list)


def _is_pair(x: Any) -> bool:
    """Whether x is (a, b) or (a, candidates): strings or dicts of columns."""
    is_two = isinstance(x, tuple) and len(x) == 2
    return is_two and isinstance(x[0], str | Mapping)


def _letters(x: Any) -> list[str]:
    column = next(iter(x.values())) if isinstance(x, Mapping) else x
    return [str(letter) for letter in column]
