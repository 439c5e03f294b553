"""Alignments as numba blocks: the structure's side of `partwise.compiled`.

A code is the partner of each token of a, −1 where it has none; deletions, insertions
and ends follow from it. Where an example offers several candidates for b, the number of
the chosen one follows, and the truth is an alignment with the first.
"""

from typing import Any, NamedTuple

import numpy as np

from partwise.compiled import kernel, output_loss, recall_margin, uncounted
from partwise.structures._formulations import plane, violation_of
from partwise.structures.alignment._best import find_best, trace_best
from partwise.structures.alignment._pairs import ADD, DOT, WIPE, PairFeatures
from partwise.structures.alignment._scores import (
    bounds_of,
    prepare,
    score_path,
    walk_path,
)
from partwise.structures.alignment._searches import call_search


@uncounted
class AlignmentBlocks(NamedTuple):
    """Packed pairs of sequences; sequences may be shared by many of them."""

    pairs: PairFeatures
    a_offset: np.ndarray  # (n_sequences_a + 1,) int64, tokens of each sequence
    b_offset: np.ndarray  # (n_sequences_b + 1,) int64
    pair_a: np.ndarray  # (n_pairs,) int64, number of a sequence
    pair_b: np.ndarray  # (n_pairs,) int64
    pair_first: np.ndarray  # (n_blocks + 1,) int64, pairs of each example
    pair_offset: np.ndarray  # (n_pairs + 1,) int64, tokens of a of each pair
    offset: np.ndarray  # (n_blocks + 1,) int64, tokens of a of each example
    y: np.ndarray  # (offset[-1],) int32, true partners
    counted: np.ndarray  # (offset[-1],) uint8, whether the loss looks at the token
    unit: np.ndarray  # (n_blocks,) loss of one lost pair
    tolerance: int  # how far a partner may be off
    forbid_first: np.ndarray  # (pair_offset[-1] + 1,) int64, or (1,) without masks
    forbid: np.ndarray  # (n_forbidden,) int32, tokens of b
    given_first: np.ndarray  # (n_pairs + 1,) int64
    given: np.ndarray  # (n_given, 2) int32
    band: int  # −1 without
    free: int  # which ends are free, bits
    is_choice: int  # whether b is one of several candidates
    first_candidate: int  # 1 where the true candidate is not searched
    with_loss: int
    is_additive: int  # whether the loss merely adds to scores of matches
    search: Any  # address of the search of other formulations
    rule: int  # how a loss becomes a plane, see `Formulation.rule`
    keeps_rows: int  # whether `scores` has room for all tokens of a
    keeps_weights: int  # whether `weights` has room for a model
    base: np.ndarray  # (n_weights,) what is added to every model, or (0,)

    def code_length(blocks, i):
        return blocks.offset[i + 1] - blocks.offset[i] + blocks.is_choice

    def output_loss(blocks, i, code):
        begin = blocks.offset[i]
        n = blocks.offset[i + 1] - begin
        if not blocks.with_loss:
            return 0.0
        if blocks.is_choice:
            return 1.0 if code[n] > 0 else 0.0
        lost = 0
        for t in range(n):
            if blocks.counted[begin + t]:
                is_far = abs(code[t] - blocks.y[begin + t]) > blocks.tolerance
                lost += code[t] < 0 or is_far
        return lost * blocks.unit[i]

    def find_output(blocks, work, w, i, code):
        if blocks.keeps_weights:
            for k in range(work.weights.shape[0]):
                work.weights[k] = w[k]
        total = w
        if blocks.base.shape[0] > 0:
            total = work.total
            for k in range(total.shape[0]):
                total[k] = w[k] + blocks.base[k]
        n = blocks.offset[i + 1] - blocks.offset[i]
        first = blocks.pair_first[i]
        top = -np.inf
        for pair in range(first + blocks.first_candidate, blocks.pair_first[i + 1]):
            prepare(blocks, work, total, i, pair)
            if blocks.is_additive:
                with_loss = blocks.with_loss
                value, place = find_best(blocks, work, total, i, pair, with_loss, True)
                if value > top:
                    top = value
                    trace_best(blocks, work, total, i, pair, with_loss, place, code)
                    if blocks.is_choice:
                        code[n] = pair - first
            else:
                search_losses(blocks, work, i, pair, code)
        b, scale = plane(blocks.rule, output_loss(blocks, i, code))
        if blocks.base.shape[0] > 0:
            b -= scale * base_margin(blocks, i, code)
        margin = recall_margin(blocks, work, i, code)
        violation = violation_of(blocks.rule, b, scale, margin)
        return b, scale, violation, violation

    def recall_margin(blocks, work, i, code):
        pair, begin = blocks.pair_first[i], blocks.offset[i]
        if blocks.keeps_weights:
            truth = walk_path(blocks, work.weights, pair, blocks.y, begin, DOT, 1.0)
            return truth - output_score(blocks, work.weights, i, code, np.int64(0))
        truth = score_path(blocks, work, pair, blocks.y, begin)
        return truth - score_path(blocks, work, pair, code, np.int64(0))

    def recall_margins(blocks, work, i, codes, at, n, out):
        if blocks.keeps_weights:
            many_margins(blocks, work.weights, i, codes, at, n, out)
            return
        pair, begin = blocks.pair_first[i], blocks.offset[i]
        length = blocks.offset[i + 1] - begin
        truth = score_path(blocks, work, pair, blocks.y, begin)
        for p in range(n):
            out[p] = truth - score_path(blocks, work, pair, codes, at + p * length)

    def margin(blocks, w, i, code):
        pair, begin = blocks.pair_first[i], blocks.offset[i]
        truth = walk_path(blocks, w, pair, blocks.y, begin, DOT, 1.0)
        return truth - output_score(blocks, w, i, code, np.int64(0))

    def margins(blocks, work, w, i, codes, at, n, out):
        many_margins(blocks, w, i, codes, at, n, out)

    def push(blocks, w, i, code, coef):
        if not is_truth(blocks, i, code, np.int64(0)):
            walk_plane(blocks, w, i, code, ADD, coef)

    def push_sum(blocks, work, w, i, codes, at, n, coef):
        pair, begin = blocks.pair_first[i], blocks.offset[i]
        length = blocks.offset[i + 1] - begin + blocks.is_choice
        total = 0.0
        for p in range(n):
            here = at + p * length
            if coef[p] != 0.0 and not is_truth(blocks, i, codes, here):
                total += coef[p]
                other = pair
                if blocks.is_choice:
                    other += codes[here + length - 1]
                walk_path(blocks, w, other, codes, here, ADD, -coef[p])
        if total != 0.0:
            walk_path(blocks, w, pair, blocks.y, begin, ADD, total)

    def wipe(blocks, w, i, code):
        walk_plane(blocks, w, i, code, WIPE, 0.0)


@kernel
def output_score(blocks, w, i, codes, at):
    """<w, φ> of the output at place `at`."""
    pair = blocks.pair_first[i]
    if blocks.is_choice:
        pair += codes[at + blocks.offset[i + 1] - blocks.offset[i]]
    return walk_path(blocks, w, pair, codes, at, DOT, 1.0)


@kernel
def base_margin(blocks, i, code):
    """<base, δ>, which every plane has in its offset."""
    pair, begin = blocks.pair_first[i], blocks.offset[i]
    truth = walk_path(blocks, blocks.base, pair, blocks.y, begin, DOT, 1.0)
    return truth - output_score(blocks, blocks.base, i, code, np.int64(0))


@kernel
def many_margins(blocks, w, i, codes, at, n, out):
    """<w, δ> of n outputs; the truth is scored once."""
    pair, begin = blocks.pair_first[i], blocks.offset[i]
    length = blocks.offset[i + 1] - begin + blocks.is_choice
    truth = walk_path(blocks, w, pair, blocks.y, begin, DOT, 1.0)
    for p in range(n):
        out[p] = truth - output_score(blocks, w, i, codes, at + p * length)


@kernel
def is_truth(blocks, i, codes, at):
    """Whether an output is the truth: its δ must leave no rounding behind."""
    begin = blocks.offset[i]
    n = blocks.offset[i + 1] - begin
    if blocks.is_choice and codes[at + n] != 0:
        return False
    for t in range(n):
        if codes[at + t] != blocks.y[begin + t]:
            return False
    return True


@kernel
def walk_plane(blocks, w, i, code, kind, coef):
    """Add coef·δ to w, or wipe its coordinates."""
    pair, begin = blocks.pair_first[i], blocks.offset[i]
    other = pair
    if blocks.is_choice:
        other += code[blocks.offset[i + 1] - begin]
    walk_path(blocks, w, pair, blocks.y, begin, kind, coef)
    walk_path(blocks, w, other, code, np.int64(0), kind, -coef)


@kernel
def search_losses(blocks, work, i, pair, code):
    """The most violated alignment by the best one for every loss."""
    a, n, _, m = bounds_of(blocks, pair)
    begin = blocks.offset[i]
    ends = work.ends
    y, counted = blocks.y[begin : begin + n], blocks.counted[begin : begin + n]
    call_search(
        blocks.search,
        (
            work.scores, blocks.pairs.a_symbol[a : a + n], m,
            blocks.forbid_first[begin : begin + n + 1], blocks.forbid,
            blocks.given[blocks.given_first[pair] : blocks.given_first[pair + 1]],
            work.a_open, work.a_extend, work.b_open, work.b_extend, work.low, work.high,
            ends.lead_a, ends.lead_b, ends.tail_a, ends.tail_b, ends.shorter,
            y, counted, blocks.unit[i], blocks.tolerance,
            score_path(blocks, work, pair, blocks.y, begin), blocks.rule, code[:n],
        ),
    )  # fmt: skip
