"""Metrics of phrase-structure trees, counted as the program EVALB counts.

True and predicted brackets are matched as multisets, each at most once. EVALB's
conventions are `EvalbParameters`; those of its file COLLINS.prm are the default here,
as nearly everywhere. Two things differ, both where EVALB leaves a sentence out of its
totals: a sentence without a parse counts with all its brackets missed, and punctuation
is recognised by the true tags, so that a wrong tag spoils no sentence.
"""

from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

from partwise.metrics._pairs import Rates, rate_rows, rates
from partwise.metrics.bracketing import (
    COLLINS,
    Bracketing,
    EvalbParameters,
    Trees,
    bracketing_pairs,
)
from partwise.metrics.lengths import SENTENCE_LENGTHS, bin_name, length_name


class BracketScores(NamedTuple):
    """Counts of an evaluation, and the figures made of them."""

    n_sentences: int = 0
    n_failures: int = 0  # sentences without a parse
    n_correct: int = 0
    n_predicted: int = 0
    n_true: int = 0
    n_exact: int = 0  # sentences with all brackets right and no others
    n_crossing: int = 0  # predicted brackets that cross a true one
    n_uncrossed: int = 0  # sentences without such brackets
    n_nearly_uncrossed: int = 0  # sentences with two at most
    n_words: int = 0
    n_right_tags: int = 0

    @property
    def rates(self) -> Rates:
        """Precision, recall and F1 over the brackets of all sentences."""
        return rates(self.n_correct, self.n_predicted, self.n_true)

    @property
    def precision(self) -> float:
        """Share of the predicted brackets that are true."""
        return self.rates.precision

    @property
    def recall(self) -> float:
        """Share of the true brackets that are predicted."""
        return self.rates.recall

    @property
    def f1(self) -> float:
        """Harmonic mean of precision and recall."""
        return self.rates.f1

    @property
    def exact_match(self) -> float:
        """Share of sentences with all brackets right and no others."""
        return self.n_exact / self.n_sentences if self.n_sentences else 0.0

    @property
    def crossing(self) -> float:
        """Crossing brackets per sentence."""
        return self.n_crossing / self.n_sentences if self.n_sentences else 0.0

    @property
    def tag_accuracy(self) -> float:
        """Share of the words with the right tag."""
        return self.n_right_tags / self.n_words if self.n_words else 0.0


class BracketRow(NamedTuple):
    """How well the phrases of one label are found; `support` counts the true ones."""

    label: str
    precision: float
    recall: float
    f1: float
    support: int


def evalb(
    y_true: Trees,
    y_pred: Trees,
    *,
    parameters: EvalbParameters = COLLINS,
    max_length: int | None = None,
) -> BracketScores:
    """Compare the brackets of trees as EVALB does.

    See `labelled_precision`.

    Examples
    --------
    >>> from partwise.readers import parse_tree
    >>> true = parse_tree("(S (NP (DT the) (NN cat)) (VP (VBD sat)) (. .))")
    >>> predicted = parse_tree("(S (NP (DT the)) (VP (NN cat) (VBD sat)) (. .))")
    >>> scores = evalb([true], [predicted])
    >>> scores.n_correct, scores.n_predicted, scores.n_true, scores.n_crossing
    (1, 3, 3, 1)
    """
    scores = [
        sentence_scores(gold, predicted)
        for gold, predicted in bracketing_pairs(y_true, y_pred, parameters)
        if max_length is None or gold.length <= max_length
    ]
    return total(scores)


def labelled_precision(y_true: Trees, y_pred: Trees) -> float:
    """Share of the predicted brackets that are true, by EVALB's count.

    Parameters
    ----------
    y_true, y_pred : sequences of trees
        See `evalb`.

    Returns
    -------
    float
        Between 0 and 1.

    Examples
    --------
    >>> true = ("S", (("NP", (("PRP", ("it",)),)), ("VP", (("VBZ", ("works",)),))))
    >>> flat = ("S", (("PRP", ("it",)), ("VBZ", ("works",))))
    >>> labelled_precision([true], [flat]), round(labelled_recall([true], [flat]), 3)
    (1.0, 0.333)
    """
    return evalb(y_true, y_pred).precision


def labelled_recall(y_true: Trees, y_pred: Trees) -> float:
    """Share of the true brackets that are predicted, by EVALB's count.

    See `labelled_precision`.

    Examples
    --------
    >>> tree = ("NP", (("DT", ("the",)), ("NN", ("cat",))))
    >>> labelled_recall([tree], [tree])
    1.0
    """
    return evalb(y_true, y_pred).recall


def labelled_f1(y_true: Trees, y_pred: Trees) -> float:
    """Harmonic mean of `labelled_precision` and `labelled_recall`.

    See `labelled_precision`.

    Examples
    --------
    >>> tree = ("NP", (("DT", ("the",)), ("NN", ("cat",))))
    >>> labelled_f1([tree, tree], [tree, None])
    0.6666666666666666
    """
    return evalb(y_true, y_pred).f1


def tag_accuracy(y_true: Trees, y_pred: Trees) -> float:
    """Share of the words with the right tag, punctuation aside.

    See `labelled_precision`.

    Examples
    --------
    >>> tag_accuracy([("NP", (("NN", ("cat",)),))], [("NP", (("VB", ("cat",)),))])
    0.0
    """
    return evalb(y_true, y_pred).tag_accuracy


def crossing_brackets(y_true: Trees, y_pred: Trees) -> float:
    """Predicted brackets per sentence that cross a true one; lower is better.

    See `labelled_precision`.

    Examples
    --------
    >>> tree = ("NP", (("DT", ("the",)), ("NN", ("cat",))))
    >>> crossing_brackets([tree], [tree])
    0.0
    """
    return evalb(y_true, y_pred).crossing


def bracket_report(
    y_true: Trees, y_pred: Trees, *, parameters: EvalbParameters = COLLINS
) -> list[BracketRow]:
    """Precision, recall and F1 of the phrases of each label, sorted by label.

    Parameters
    ----------
    y_true, y_pred : sequences of trees
        See `evalb`.
    parameters : EvalbParameters, default=COLLINS

    Returns
    -------
    list of BracketRow
        One per label of the truth or of the prediction; 0/0 is 0. Labels that count as
        one share a row.

    Examples
    --------
    >>> true = ("S", (("NP", (("PRP", ("it",)),)), ("VP", (("VBZ", ("works",)),))))
    >>> for row in bracket_report([true], [("S", true[1][:1] + true[1][1][1])]):
    ...     print(row.label, row.precision, row.recall, row.support)
    NP 1.0 1.0 1
    S 1.0 1.0 1
    VP 0.0 0.0 1
    """
    n_true: Counter[str] = Counter()
    n_predicted: Counter[str] = Counter()
    n_correct: Counter[str] = Counter()
    for gold, predicted in bracketing_pairs(y_true, y_pred, parameters):
        brackets_hat = predicted.brackets if predicted else Counter()
        for count, brackets in (
            (n_true, gold.brackets),
            (n_predicted, brackets_hat),
            (n_correct, gold.brackets & brackets_hat),
        ):
            for (label, _, _), n in brackets.items():
                count[label] += n
    labels = sorted(n_true.keys() | n_predicted.keys())
    return rate_rows(BracketRow, labels, n_correct, n_predicted, n_true)


def total(scores: Sequence[BracketScores]) -> BracketScores:
    """Scores of several sets of sentences together."""
    return BracketScores(*map(sum, zip(*scores, strict=True)))


def sentence_scores(gold: Bracketing, predicted: Bracketing | None) -> BracketScores:
    """Scores of one sentence."""
    n_true = gold.brackets.total()
    n_words = len(gold.words)
    if predicted is None:
        return BracketScores(1, 1, n_true=n_true, n_words=n_words)
    n_correct = (gold.brackets & predicted.brackets).total()
    n_predicted = predicted.brackets.total()
    spans = {bracket[1:] for bracket in gold.brackets}
    n_crossing = sum(
        n
        for (_, i, j), n in predicted.brackets.items()
        if any(a < i < b < j or i < a < j < b for a, b in spans)
    )
    return BracketScores(
        n_sentences=1,
        n_correct=n_correct,
        n_predicted=n_predicted,
        n_true=n_true,
        n_exact=n_correct == n_true == n_predicted,
        n_crossing=n_crossing,
        n_uncrossed=n_crossing == 0,
        n_nearly_uncrossed=n_crossing <= 2,
        n_words=n_words,
        n_right_tags=sum(map(str.__eq__, gold.tags, predicted.tags)),
    )


class BracketLengthRow(NamedTuple):
    """Scores of sentences of some length; `support` counts the sentences."""

    length: str
    f1: float
    exact_match: float
    crossing: float
    support: int


def bracket_length_report(y_true: Trees, y_pred: Trees) -> list[BracketLengthRow]:
    """Scores of sentences grouped by their number of words."""
    groups: dict[str, list[BracketScores]] = {}
    for gold, predicted in bracketing_pairs(y_true, y_pred):
        name = length_name(gold.length)
        groups.setdefault(name, []).append(sentence_scores(gold, predicted))
    rows = []
    for name in (bin_name(*bounds) for bounds in SENTENCE_LENGTHS):
        if name in groups:
            scores = total(groups[name])
            rates_of = (scores.f1, scores.exact_match, scores.crossing)
            rows.append(BracketLengthRow(name, *rates_of, scores.n_sentences))
    return rows


def bracket_confusion(
    y_true: Trees, y_pred: Trees
) -> tuple[list[str], list[list[int]]]:
    """Labels of phrases over the same words: names, and counts true × predicted."""
    counts: Counter[tuple[str, str]] = Counter()
    for gold, predicted in bracketing_pairs(y_true, y_pred):
        if predicted is None:
            continue
        same = gold.brackets & predicted.brackets
        for (label, _, _), n in same.items():
            counts[label, label] += n
        missed: dict[tuple[int, int], list[str]] = {}
        for label, begin, end in sorted((gold.brackets - same).elements()):
            missed.setdefault((begin, end), []).append(label)
        for label, begin, end in sorted((predicted.brackets - same).elements()):
            if missed.get((begin, end)):
                counts[missed[begin, end].pop(0), label] += 1
    labels = sorted({label for pair in counts for label in pair})
    return labels, [[counts[a, b] for b in labels] for a in labels]
