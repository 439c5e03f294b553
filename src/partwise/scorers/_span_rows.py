"""Rules and brackets scored by features, as a numba tag; see `spans.py`.

A model is one flat array: a weight for each rule, then rows of features of spans with a
weight per bracket label.
"""

from typing import NamedTuple

import numpy as np

from partwise.compiled import inner
from partwise.scorers._touch import touch


class PhraseRows(NamedTuple):
    """Features of all spans of sentences; −1 for none."""

    offset: np.ndarray  # (n_sentences + 1,) int64 words
    begin: np.ndarray  # (n_words, m) int32 rows of features of spans that begin here
    end: np.ndarray  # (n_words, m) int32, that end here
    tag: np.ndarray  # (n_words,) int32 for features of pairs of tags
    bucket: np.ndarray  # (longest + 1,) int32 row of the length
    n_paired: int  # values of `tag`, 0 without pairs
    pair_row: int
    has_spans: int  # whether there are features of spans
    n_rules: int
    n_labels: int
    n_rows: int

    def score_phrases(rows, w, i, work):
        weight = work.weight
        for k in range(rows.n_rules):
            weight[k] = w[k]
        score_brackets(rows, w, i, work)

    def touch_rule(rows, w, i, rule, mode, coef):
        return touch(w, rule, mode, coef)

    def touch_bracket(rows, w, i, begin, end, label, mode, coef):
        return touch_features(rows, w, i, begin, end, label, mode, coef)

    def add_expected(rows, w, i, rule, bracket):
        for k in range(rows.n_rules):
            w[k] += rule[k]
        add_brackets(rows, w, i, bracket)


@inner
def joint_rows(rows, first, i, j, n):
    """Rows of the length, of the two tags inside and of the two outside."""
    tag, wide = rows.tag, rows.n_paired
    before = tag[first + i - 1] if i > 0 else 0
    after = tag[first + j] if j < n else 0
    inside = rows.pair_row + tag[first + i] * wide + tag[first + j - 1]
    outside = rows.pair_row + wide * wide + before * wide + after
    return rows.bucket[j - i], inside, outside


@inner
def touch_features(rows, w, block, i, j, label, mode, coef):
    """`touch` the weights of the features of a bracket; returns their sum."""
    if not rows.has_spans:
        return 0.0
    base, size = rows.n_rules + label, rows.n_labels
    first = rows.offset[block]
    n = rows.offset[block + 1] - first
    total = 0.0
    for f in range(rows.begin.shape[1]):
        row = rows.begin[first + i, f]
        if row >= 0:
            total += touch(w, base + row * size, mode, coef)
    for f in range(rows.end.shape[1]):
        row = rows.end[first + j - 1, f]
        if row >= 0:
            total += touch(w, base + row * size, mode, coef)
    length, inside, outside = joint_rows(rows, first, i, j, n)
    total += touch(w, base + length * size, mode, coef)
    if rows.n_paired > 0:
        pairs = touch(w, base + inside * size, mode, coef)
        total += pairs + touch(w, base + outside * size, mode, coef)
    return total


@inner
def score_ends(features, w, base, size, first, n, out):
    """Sums of the rows of features at each word, per label."""
    for t in range(n):
        for label in range(size):
            out[t, label] = 0.0
        for f in range(features.shape[1]):
            if features[first + t, f] >= 0:
                at = base + features[first + t, f] * size
                for label in range(size):
                    out[t, label] += w[at + label]


@inner
def score_brackets(rows, w, block, work):
    """Scores of all brackets of a sentence into ``work.plain``."""
    plain, begin, end = work.plain, work.begin, work.end
    size, base = rows.n_labels, rows.n_rules
    first = rows.offset[block]
    n = rows.offset[block + 1] - first
    if not rows.has_spans:
        for cell in range((n + 1) * (n + 1)):
            for label in range(size):
                plain[cell, label] = 0.0
        return
    score_ends(rows.begin, w, base, size, first, n, begin)
    score_ends(rows.end, w, base, size, first, n, end)
    is_paired = rows.n_paired > 0
    for i in range(n):
        for j in range(i + 1, n + 1):
            cell = i * (n + 1) + j
            length, inside, outside = joint_rows(rows, first, i, j, n)
            length = base + length * size
            for label in range(size):
                plain[cell, label] = (
                    begin[i, label] + end[j - 1, label] + w[length + label]
                )
            if is_paired:
                inside, outside = base + inside * size, base + outside * size
                for label in range(size):
                    plain[cell, label] += w[inside + label] + w[outside + label]


@inner
def add_brackets(rows, w, block, span):
    """W += features of all brackets, each times its entry in `span`."""
    if not rows.has_spans:
        return
    base, size = rows.n_rules, rows.n_labels
    first = rows.offset[block]
    n = rows.offset[block + 1] - first
    for i in range(n):
        for j in range(i + 1, n + 1):
            cell = i * (n + 1) + j
            for f in range(rows.begin.shape[1]):
                add_features(w, base, size, rows.begin[first + i, f], span, cell)
            for f in range(rows.end.shape[1]):
                add_features(w, base, size, rows.end[first + j - 1, f], span, cell)
            length, inside, outside = joint_rows(rows, first, i, j, n)
            add_features(w, base, size, length, span, cell)
            if rows.n_paired > 0:
                add_features(w, base, size, inside, span, cell)
                add_features(w, base, size, outside, span, cell)


@inner
def add_features(w, base, size, row, span, cell):
    """A row of weights += a row of the table of brackets."""
    if row >= 0:
        at = base + row * size
        for label in range(size):
            w[at + label] += span[cell, label]
