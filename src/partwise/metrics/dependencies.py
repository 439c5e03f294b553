"""Metrics of dependency trees, with the numbers of the Universal Dependencies' script.

A tree is a pair (heads, labels), such as `partwise.readers.DependencyTree`. Relations
are compared without their subtypes (`nsubj:pass` counts as `nsubj`), as that script
does; `subtypes=True` compares them whole. Words whose true head is None, not known, are
left out; where the relation alone is, the head decides.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from partwise.metrics._pairs import rate_rows, rates
from partwise.metrics.lengths import (
    ARC_LENGTHS,
    SENTENCE_LENGTHS,
    bin_name,
    length_name,
)

# relations of content words in Universal Dependencies, the only ones that CLAS counts
CONTENT_RELATIONS = frozenset(
    "nsubj obj iobj csubj ccomp xcomp obl vocative expl dislocated advcl advmod "
    "discourse nmod appos nummod acl amod conj fixed flat compound list parataxis "
    "orphan goeswith reparandum root dep".split()
)

Trees = Sequence[Any]


class RelationRow(NamedTuple):
    """How well one relation is found; `support` counts the true ones."""

    relation: str
    precision: float
    recall: float
    f1: float
    support: int


class ArcLengthRow(NamedTuple):
    """How well arcs of some length are found, their relations aside."""

    length: str
    precision: float
    recall: float
    f1: float
    support: int


class SentenceLengthRow(NamedTuple):
    """Attachment in sentences of some length; `support` counts the sentences."""

    length: str
    uas: float
    las: float
    support: int


def uas(y_true: Trees, y_pred: Trees) -> float:
    """Unlabelled attachment score: share of words with the right head.

    Parameters
    ----------
    y_true, y_pred : sequences of (heads, labels)
        True and predicted trees.

    Returns
    -------
    float
        Between 0 and 1.

    Examples
    --------
    >>> uas([([2, 0], ["nsubj", "root"])], [([2, 0], ["obj", "root"])])
    1.0
    """
    words = list(_words(y_true, y_pred))
    return sum(word.head == word.head_hat for word in words) / _number(words)


def las(y_true: Trees, y_pred: Trees, *, subtypes: bool = False) -> float:
    """Labelled attachment score: share of words with the right head and relation.

    See `uas`; with `subtypes`, `nsubj:pass` differs from `nsubj`.

    Examples
    --------
    >>> las([([2, 0], ["nsubj:pass", "root"])], [([2, 0], ["nsubj", "root"])])
    1.0
    >>> las([([2, 0], ["nsubj", "root"])], [([2, 0], ["obj", "root"])])
    0.5
    """
    words = list(_words(y_true, y_pred, subtypes))
    return sum(map(_is_right, words)) / _number(words)


def clas(y_true: Trees, y_pred: Trees) -> float:
    """Content-word labelled attachment score: F1 over relations of content words.

    Function words and punctuation (aux, cop, mark, det, clf, case, cc, punct) are left
    out, so that languages with and without them can be compared. See `uas`; labels must
    be relations of Universal Dependencies, and 0 means that no such word is right.

    Examples
    --------
    >>> clas([([2, 0], ["det", "root"])], [([0, 1], ["root", "det"])])
    0.0
    >>> clas([([2, 0], ["det", "root"])], [([2, 0], ["case", "root"])])
    1.0
    """
    words = list(_words(y_true, y_pred))
    n_true = sum(word.label in CONTENT_RELATIONS for word in words)
    n_predicted = sum(word.label_hat in CONTENT_RELATIONS for word in words)
    n_correct = sum(
        word.label in CONTENT_RELATIONS and _is_right(word) for word in words
    )
    return rates(n_correct, n_predicted, n_true).f1


def tree_match(y_true: Trees, y_pred: Trees, *, labelled: bool = True) -> float:
    """Share of sentences in which every word is attached rightly.

    See `uas`; without `labelled`, relations do not count, else without their subtypes.

    Examples
    --------
    >>> y, y_pred = [([2, 0], ["nsubj", "root"])], [([2, 0], ["obj", "root"])]
    >>> tree_match(y, y_pred), tree_match(y, y_pred, labelled=False)
    (0.0, 1.0)
    """
    wrong = set()
    for word in _words(y_true, y_pred):
        if word.head != word.head_hat or (labelled and word.label != word.label_hat):
            wrong.add(word.sentence)
    if not len(y_true):
        raise ValueError("nothing to measure: y_true holds no tree")
    return 1 - len(wrong) / len(y_true)


def relation_report(
    y_true: Trees, y_pred: Trees, *, subtypes: bool = False
) -> list[RelationRow]:
    """Precision, recall and F1 of each relation, sorted by name.

    A word counts as found when its head and its relation are right; see `las`. There is
    a row for each relation of the truth or of the prediction; 0/0 is 0.

    Examples
    --------
    >>> y, y_pred = [([2, 0], ["nsubj", "root"])], [([2, 0], ["obj", "root"])]
    >>> for row in relation_report(y, y_pred):
    ...     print(row.relation, row.precision, row.recall, row.support)
    nsubj 0.0 0.0 1
    obj 0.0 0.0 0
    root 1.0 1.0 1
    """
    words = list(_words(y_true, y_pred, subtypes))
    n_true = Counter(word.label for word in words)
    n_predicted = Counter(word.label_hat for word in words)
    n_correct = Counter(word.label for word in words if _is_right(word))
    labels = sorted(n_true.keys() | n_predicted.keys())
    return rate_rows(RelationRow, labels, n_correct, n_predicted, n_true)


def arc_length_report(y_true: Trees, y_pred: Trees) -> list[ArcLengthRow]:
    """Precision, recall and F1 of arcs by the distance between head and dependent.

    Relations are not compared. Arcs from the root have their own row. See `uas`.

    Examples
    --------
    >>> y, y_pred = [([2, 0, 2], list("abc"))], [([3, 0, 2], list("abc"))]
    >>> for row in arc_length_report(y, y_pred):
    ...     print(row.length, row.precision, row.recall, row.support)
    root 1.0 1.0 1
    1 1.0 0.5 2
    2 0.0 0.0 0
    """
    n_true: Counter[str] = Counter()
    n_predicted: Counter[str] = Counter()
    n_correct: Counter[str] = Counter()
    for word in _words(y_true, y_pred):
        true = _arc_bin(word.number, word.head)
        n_true[true] += 1
        n_predicted[_arc_bin(word.number, word.head_hat)] += 1
        n_correct[true] += word.head == word.head_hat
    names = ["root", *(bin_name(*bounds) for bounds in ARC_LENGTHS)]
    names = [name for name in names if n_true[name] or n_predicted[name]]
    return rate_rows(ArcLengthRow, names, n_correct, n_predicted, n_true)


def sentence_length_report(y_true: Trees, y_pred: Trees) -> list[SentenceLengthRow]:
    """UAS and LAS by the number of words of the sentence; see `uas`.

    Examples
    --------
    >>> y, y_pred = [([2, 0], ["nsubj", "root"])], [([2, 0], ["obj", "root"])]
    >>> sentence_length_report(y, y_pred)
    [SentenceLengthRow(length='1-5', uas=1.0, las=0.5, support=1)]
    """
    groups: dict[str, list[int]] = {}
    for s, (heads, _) in enumerate(y_true):
        if any(head is not None for head in heads):
            groups.setdefault(length_name(len(heads)), []).append(s)
    rows = []
    for name in (bin_name(*bounds) for bounds in SENTENCE_LENGTHS):
        if name in groups:
            part = [[trees[s] for s in groups[name]] for trees in (y_true, y_pred)]
            rows.append(SentenceLengthRow(name, uas(*part), las(*part), len(part[0])))
    return rows


def universal_relation(label: str) -> str:
    """Relation without its subtype.

    Examples
    --------
    >>> universal_relation("nsubj:pass")
    'nsubj'
    """
    return label.partition(":")[0]


class _Word(NamedTuple):
    """One word: true head and relation, and predicted ones (ŷ)."""

    sentence: int
    number: int
    head: int
    label: str
    head_hat: int
    label_hat: str


def _words(y_true: Trees, y_pred: Trees, subtypes: bool = False) -> Iterator[_Word]:
    if len(y_true) != len(y_pred):
        raise ValueError(f"y_true has {len(y_true)} trees but y_pred has {len(y_pred)}")
    for s, pair in enumerate(zip(y_true, y_pred, strict=True)):
        (heads, labels), (heads_hat, labels_hat) = map(_tree, pair, [s, s])
        if not len(heads) == len(labels) == len(heads_hat) == len(labels_hat):
            raise ValueError(
                f"tree {s} (counting from 0) has {len(heads)} true heads and "
                f"{len(labels)} labels, but {len(heads_hat)} predicted heads and "
                f"{len(labels_hat)} labels"
            )
        both = zip(heads, labels, heads_hat, labels_hat, strict=True)
        for i, (head, label, head_hat, label_hat) in enumerate(both, start=1):
            if head is None:
                continue
            if label is None:
                label = label_hat
            if not subtypes:
                label, label_hat = map(universal_relation, (label, label_hat))
            yield _Word(s, i, int(head), label, int(head_hat), label_hat)


def _tree(tree: Any, s: int) -> tuple[Sequence[int], Sequence[str]]:
    try:
        heads, labels = tree
        if not isinstance(heads, str) and not isinstance(labels, str):
            len(heads), len(labels)
            return heads, labels
    except (TypeError, ValueError):
        pass
    raise ValueError(
        f"tree {s} (counting from 0) is {str(tree)[:60]!r}: expected (heads, labels)"
    )


def _number(words: list[_Word]) -> int:
    if not words:
        raise ValueError("nothing to measure: y_true holds no word")
    return len(words)


def _is_right(word: _Word) -> bool:
    return word.head == word.head_hat and word.label == word.label_hat


def _arc_bin(dependent: int, head: int) -> str:
    return length_name(abs(dependent - head), ARC_LENGTHS) if head else "root"
