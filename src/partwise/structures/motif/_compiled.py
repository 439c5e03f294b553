"""Motifs as numba blocks: the structure's side of `partwise.compiled`.

A code is one number: 0 without the motif, h + 1 at place h, −(h + 1) at place h of the
reverse strand. A window scores <w, Ψ(x, 1, h) − Ψ(x, 0)>: its letters in the motif less
their background, so that a sequence without the motif scores 0.
"""

from typing import NamedTuple

import numpy as np

from partwise.compiled import kernel, uncounted
from partwise.objective import HARD, MARGIN_ROOT

SEARCH, PREDICT, WINDOW = range(3)  # most violated output, best one, best window


class MotifWork(NamedTuple):
    """Buffers of one thread, for sequences of at most n letters."""

    forward: np.ndarray  # (n,) scores of windows, left for `recall_margin`
    reverse: np.ndarray  # (n,) of the other strand


@kernel
def window_score(blocks, w, first, strand):
    """Score of the window that begins at a letter, on a strand."""
    total = 0.0
    length = blocks.length
    for j in range(length):
        here = first + j
        letter = np.int64(blocks.letter[here])
        if letter >= 0:
            if strand > 0:
                total += w[4 * j + letter]
            else:
                total += w[4 * (length - 1 - j) + 3 - letter]
        context = np.int64(blocks.context[here])
        if context >= 0:
            total -= w[4 * length + context]
    return total


@kernel
def add_window(blocks, w, first, strand, coef, is_wiped):
    """Add coef times the features of a window to w, or set their places to zero."""
    length = blocks.length
    for j in range(length):
        here = first + j
        letter = np.int64(blocks.letter[here])
        if letter >= 0:
            at = 4 * j + letter if strand > 0 else 4 * (length - 1 - j) + 3 - letter
            w[at] = 0.0 if is_wiped else w[at] + coef
        context = np.int64(blocks.context[here])
        if context >= 0:
            at = 4 * length + context
            w[at] = 0.0 if is_wiped else w[at] - coef


@kernel
def code_score(blocks, w, i, code):
    """Score of an output."""
    if code == 0:
        return 0.0
    strand = 1 if code > 0 else -1
    return window_score(blocks, w, blocks.offset[i] + strand * code - 1, strand)


@kernel
def add_code(blocks, w, i, code, coef, is_wiped):
    """Add coef times the features of an output to w, or wipe them."""
    if code != 0:
        strand = 1 if code > 0 else -1
        at = blocks.offset[i] + strand * code - 1
        add_window(blocks, w, at, strand, coef, is_wiped)


@kernel
def score_windows(blocks, work, w, i):
    """Scores of all windows of a sequence; returns how many there are."""
    begin = blocks.offset[i]
    n = blocks.offset[i + 1] - begin - blocks.length + 1
    for h in range(n):
        work.forward[h] = window_score(blocks, w, begin + h, 1)
        if blocks.both_strands:
            work.reverse[h] = window_score(blocks, w, begin + h, -1)
    return max(n, 0)


@kernel
def best_window(blocks, work, n):
    """Code of the best of n windows, 0 where there is none."""
    best, code = -np.inf, 0
    for h in range(n):
        if work.forward[h] > best:
            best, code = work.forward[h], h + 1
        if blocks.both_strands and work.reverse[h] > best:
            best, code = work.reverse[h], -(h + 1)
    return code


@kernel
def recalled(work, code):
    """Score of an output from those of all windows."""
    if code == 0:
        return 0.0
    return work.forward[code - 1] if code > 0 else work.reverse[-code - 1]


@uncounted
class MotifBlocks(NamedTuple):
    """Sequences with a hidden window each."""

    offset: np.ndarray  # (n_blocks + 1,) int64
    letter: np.ndarray  # (n_letters,) int32
    context: np.ndarray  # (n_letters,) int32
    y: np.ndarray  # (n_blocks,) int32, whether the motif is there
    truth: np.ndarray  # (n_blocks,) int32, codes of completed truths
    length: int
    both_strands: int
    rule: int
    way: int  # of `find_output`: SEARCH, PREDICT or WINDOW

    def code_length(blocks, i):
        return 1

    def output_loss(blocks, i, code):
        return 1.0 if (code[0] != 0) != (blocks.y[i] != 0) else 0.0

    def find_output(blocks, work, w, i, code):
        n = score_windows(blocks, work, w, i)
        window = best_window(blocks, work, n)
        truth = recalled(work, np.int64(blocks.truth[i]))
        lead = recalled(work, window)
        if blocks.way == WINDOW:
            code[0] = window
            return 0.0, 1.0, lead, lead
        if blocks.way == PREDICT:
            chosen = window if lead > 0.0 else 0
            code[0] = chosen
            lead = recalled(work, chosen) - truth
            return 0.0, 1.0, lead, lead
        right, wrong = 0, window
        if blocks.y[i]:
            right, wrong = window, 0
        has_wrong = blocks.y[i] != 0 or n > 0
        excess = recalled(work, right) - truth
        violation = 1.0 - (truth - recalled(work, wrong))
        if blocks.rule <= MARGIN_ROOT and (not has_wrong or violation < excess):
            code[0] = right
            return 0.0, 1.0, excess, excess
        if not has_wrong or (violation <= 0.0 and blocks.rule <= MARGIN_ROOT):
            code[0] = blocks.truth[i]
            nothing = -np.inf if blocks.rule == HARD else 0.0
            return 0.0, 1.0 if blocks.rule <= MARGIN_ROOT else 0.0, nothing, nothing
        code[0] = wrong
        return 1.0, 1.0, violation, violation

    def recall_margin(blocks, work, i, code):
        truth = recalled(work, np.int64(blocks.truth[i]))
        return truth - recalled(work, np.int64(code[0]))

    def margin(blocks, w, i, code):
        truth = code_score(blocks, w, i, np.int64(blocks.truth[i]))
        return truth - code_score(blocks, w, i, np.int64(code[0]))

    def push(blocks, w, i, code, coef):
        add_code(blocks, w, i, np.int64(blocks.truth[i]), coef, False)
        add_code(blocks, w, i, np.int64(code[0]), -coef, False)

    def wipe(blocks, w, i, code):
        add_code(blocks, w, i, np.int64(blocks.truth[i]), 0.0, True)
        add_code(blocks, w, i, np.int64(code[0]), 0.0, True)
