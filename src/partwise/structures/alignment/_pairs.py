"""Features of pairs of tokens as a numba tag: scores, products and sums.

`layout.py` says which features there are. Here they are arrays over all tokens of all
sequences of one side, which pairs of sequences share.
"""

from typing import NamedTuple

import numpy as np

from partwise.compiled import jitted, kernel
from partwise.scorers._touch import ADD, DOT, WIPE  # noqa: F401 — for other modules

FEW = 64  # distinct tokens of a sequence up to which equal ones share their scores


class PairFeatures(NamedTuple):
    """Features of matches and gaps; numbers of features are uint32, never negative."""

    a_row: np.ndarray  # (tokens of a, n_templates) where their weights begin
    b_code: np.ndarray  # (n_groups, tokens of b) what b adds to it
    group_first: np.ndarray  # (n_groups + 1,) int64, templates of each group
    group_size: np.ndarray  # (n_groups,) int64, codes of b
    a_value: np.ndarray  # (tokens of a, n_values) float64
    b_value: np.ndarray  # (n_values, tokens of b)
    product_first: np.ndarray  # (n_products + 1,) int64, values of each product
    product_base: int
    a_open: np.ndarray  # (n_open, tokens of a) features of a gap that opens there
    a_extend: np.ndarray  # (n_extend, tokens of a)
    b_open: np.ndarray
    b_extend: np.ndarray
    a_symbol: np.ndarray  # (tokens of a,) int32: tokens of one sequence that are alike


@kernel
def fill_row(pairs, w, a, b, m, stripe, rows, r):
    """rows[r, c] = score of token a matched with each of the m tokens from b on.

    Weights of templates that look at the same columns of b are added up first, into
    `stripe`, so that each token of b is looked up once per group.
    """
    for c in range(m):
        rows[r, c] = 0.0
    code = pairs.b_code
    for g in range(code.shape[0]):
        first, last = pairs.group_first[g], pairs.group_first[g + 1]
        if last - first == 1:
            base = pairs.a_row[a, first]
            for c in range(m):
                rows[r, c] += w[base + code[g, b + c]]
            continue
        size = pairs.group_size[g]
        for k in range(size):
            stripe[k] = 0.0
        for f in range(first, last):
            base = pairs.a_row[a, f]
            for k in range(size):
                stripe[k] += w[base + np.uint64(k)]
        for c in range(m):
            rows[r, c] += stripe[code[g, b + c]]
    for p in range(pairs.product_first.shape[0] - 1):
        weight = w[pairs.product_base + p]
        for k in range(pairs.product_first[p], pairs.product_first[p + 1]):
            value = weight * pairs.a_value[a, k]
            if value != 0.0:  # one-hot vectors are mostly zero
                for c in range(m):
                    rows[r, c] += value * pairs.b_value[k, b + c]


@kernel
def fill_gaps(features, w, first, n, out):
    """out[t] = score of the gap features of the n tokens from `first` on."""
    for t in range(n):
        out[t] = 0.0
    for f in range(features.shape[0]):
        for t in range(n):
            out[t] += w[features[f, first + t]]


@kernel
def touch(w, feature, kind, coef):
    """coef·w[feature], or add coef to it, or set it to zero."""
    if kind == DOT:
        return coef * w[feature]
    if kind == ADD:
        w[feature] += coef
    else:
        w[feature] = 0.0
    return 0.0


@kernel
def touch_match(pairs, w, a, b, kind, coef):
    """The features of a match of token a with token b."""
    total = 0.0
    for g in range(pairs.b_code.shape[0]):
        code = pairs.b_code[g, b]
        first, last = pairs.group_first[g], pairs.group_first[g + 1]
        if kind == DOT:  # what is asked most often: planes by the thousand
            for f in range(first, last):
                total += w[pairs.a_row[a, f] + code]
        else:
            for f in range(first, last):
                touch(w, pairs.a_row[a, f] + code, kind, coef)
    total *= coef
    for p in range(pairs.product_first.shape[0] - 1):
        value = 0.0
        for k in range(pairs.product_first[p], pairs.product_first[p + 1]):
            value += pairs.a_value[a, k] * pairs.b_value[k, b]
        total += touch(w, np.uint64(pairs.product_base + p), kind, coef * value)
    return total


@kernel
def touch_gap(opening, extension, w, first, last, kind, coef):
    """The features of a gap of the tokens [first, last)."""
    total = 0.0
    if first < last:
        for f in range(opening.shape[0]):
            total += touch(w, opening[f, first], kind, coef)
        for f in range(extension.shape[0]):
            if kind == DOT:
                for t in range(first, last):
                    total += coef * w[extension[f, t]]
            else:
                for t in range(first, last):
                    touch(w, extension[f, t], kind, coef)
    return total


@jitted
def number_symbols(a_row, offset, symbol, count):
    """Number tokens of a sequence alike if all their features are.

    ``count[s]`` is the number of different tokens of sequence s. Beyond `FEW` it does
    not pay to look for equal ones: each token of the sequence then has its own number.
    """
    seen = np.empty(FEW, np.int64)
    for s in range(offset.shape[0] - 1):
        begin, end = offset[s], offset[s + 1]
        n_seen = 0
        for t in range(begin, end):
            here = n_seen
            for k in range(min(n_seen, FEW)):
                is_same = True
                for f in range(a_row.shape[1]):
                    is_same = is_same and a_row[t, f] == a_row[seen[k], f]
                if is_same:
                    here = k
                    break
            if here == n_seen:
                if n_seen < FEW:
                    seen[n_seen] = t
                n_seen += 1
                if n_seen > FEW:
                    break
            symbol[t] = here
        if n_seen > FEW:
            n_seen = end - begin
            for t in range(begin, end):
                symbol[t] = t - begin
        count[s] = n_seen
