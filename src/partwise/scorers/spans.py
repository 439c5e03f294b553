"""The scorer of phrases: scores of the rules of a grammar, and of brackets over spans.

A part of a tree is a rule, which has one score in a sentence wherever it stands, or a
bracket: a label over a span. Rows of any scorer of phrases have the operations below,
as those of `partwise.compiled`. `PhraseRows` is the linear one,

    score of rule k = w[k]        score of (A, i, j) = Σ_f w[A, f(x, i, j)]

with features f of both ends of a span (`partwise.features.spans`); `PhraseSlots`
(`_kernel_rows.py`) scores both kinds of parts by keys and a kernel.
"""

from __future__ import annotations

import numpy as np

from partwise.compiled import operation
from partwise.features.spans import LENGTHS, PhraseFeatures
from partwise.protocol import Scorer
from partwise.scorers._span_rows import PhraseRows
from partwise.scorers._touch import ADD, DOT, WIPE  # noqa: F401 — for structures


@operation
def score_phrases(rows, w, i, work):
    """Scores of all rules of sentence i into ``work.weight``, of brackets into `plain`.

    ``work.plain`` has a row for each cell begin · (n + 1) + end and a column for each
    label; ``work.begin`` and ``work.end``, (n, n_labels), are room.
    """


@operation
def touch_rule(rows, w, i, rule, mode, coef):
    """Sum the weights of a rule in sentence i (DOT), add `coef` to them, or WIPE."""


@operation
def touch_bracket(rows, w, i, begin, end, label, mode, coef):
    """The same for a bracket over the words [begin, end) of sentence i."""


@operation
def add_expected(rows, w, i, rule, bracket):
    """W += Σ φ(part) · its entry in `rule`, (n_rules,), or `bracket`, like `plain`."""


class SpanScorer(Scorer):
    """Binds features of phrases to the operations above.

    Examples
    --------
    >>> features = PhraseFeatures(np.array([0, 2]), 5, 3, None, 0)
    >>> scorer = SpanScorer()
    >>> scorer.n_weights(scorer.bind(features))
    5
    """

    is_euclidean = True

    def bind(self, parts: PhraseFeatures, width: int = 0) -> PhraseRows:
        """Rows of all phrases; the labels are those of `parts`."""
        offset, spans = np.asarray(parts.offset, np.int64), parts.rows
        longest = int(np.diff(offset).max())
        bucket = np.searchsorted(LENGTHS, np.arange(longest + 1), side="right") - 1
        n_words = int(offset[-1])
        empty = np.zeros((n_words, 0), np.int32)
        return PhraseRows(
            offset=offset,
            begin=spans.begin if spans else empty,
            end=spans.end if spans else empty,
            tag=spans.tag if spans else np.zeros(n_words, np.int32),
            bucket=(bucket + (spans.length_row if spans else 0)).astype(np.int32),
            n_paired=spans.n_tags if spans and spans.pair_row >= 0 else 0,
            pair_row=spans.pair_row if spans else -1,
            has_spans=int(spans is not None),
            n_rules=parts.n_rules,
            n_labels=parts.n_labels,
            n_rows=parts.n_rows,
        )

    def n_weights(self, rows: PhraseRows) -> int:
        """Length of a model: rules, then features with a weight per label."""
        return rows.n_rules + rows.n_rows * rows.n_labels
