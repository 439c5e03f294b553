"""Covering sets as numba blocks: the structure's side of `partwise.compiled`.

The rows of a block are its elements, and an output weighs those that it covers: the
operations of `_weighted_rows_compiled.py` do the rest. A code has a bit for each
covered element, 31 to a number, and then the chosen documents in their order.
"""

from typing import Any, NamedTuple

import numpy as np

from partwise.compiled import kernel, output_loss, uncounted
from partwise.structures._weighted_rows_compiled import (
    row_operations,
    score_block,
    weighted_score,
)
from partwise.structures.coverage._searches import (
    branch_and_bound,
    choose_greedily,
    take_document,
)

BITS = 31  # of a number of a code that stand for elements


class CoverWork(NamedTuple):
    """Buffers of one thread, for blocks of n documents, m elements and subtopics."""

    score: np.ndarray  # (elements,) <w, φ>
    spare: np.ndarray  # (elements,)
    benefit: np.ndarray  # (m,) scores, then what the loss adds for subtopics
    tally: np.ndarray  # (m,) int32, how often elements are covered
    gain: np.ndarray  # (n,)
    fresh: np.ndarray  # (n,) int32
    room: np.ndarray  # (k,)
    order: np.ndarray  # (n,) int32
    place: np.ndarray  # (k + 1,) int32
    stack: np.ndarray  # (k + 1,)
    trial: np.ndarray  # (k,) int32
    chosen: np.ndarray  # (k,) int32


def new_cover_work(n: int, m: int, k: int) -> CoverWork:
    """Buffers for blocks of n documents, m elements and subtopics, k choices."""
    return CoverWork(
        np.zeros(m), np.zeros(m), np.zeros(m), np.zeros(m, np.int32), np.zeros(n),
        np.zeros(n, np.int32), np.zeros(k), np.zeros(n, np.int32),
        np.zeros(k + 1, np.int32), np.zeros(k + 1), np.zeros(k, np.int32),
        np.zeros(k, np.int32),
    )  # fmt: skip


@uncounted
@row_operations
class CoverBlocks(NamedTuple):
    """Packed candidate sets over elements of any scorer."""

    rows: Any  # a tag with the row operations of `partwise.compiled`
    offset: np.ndarray  # (n_blocks + 1,) int64, elements of each block
    y: np.ndarray  # (n_elements,) int32, 1 where the target covers an element
    document: np.ndarray  # (n_blocks + 1,) int64, first document of each block
    indptr: np.ndarray  # (n_documents + 1,) int64 into `element`
    element: np.ndarray  # int32 elements of documents, then subtopics; by block
    topic: np.ndarray  # (n_blocks + 1,) int64, first subtopic of each block
    weight: np.ndarray  # (n_subtopics,) shares of the loss
    least: np.ndarray  # (n_blocks,) loss of the target
    excess: np.ndarray  # (n_blocks,) by how much the least loss may be lower
    k: int
    limit: int  # branches that a search may look at; 0 for greedy alone
    is_prediction: int

    def code_length(blocks, i):
        n_elements = blocks.offset[i + 1] - blocks.offset[i]
        return (n_elements + BITS - 1) // BITS + n_chosen(blocks, i)

    def row_weight(blocks, i, r, code):
        bit = (code[r // BITS] >> np.int32(r % BITS)) & 1
        return float(blocks.y[blocks.offset[i] + r] - bit)

    def output_loss(blocks, i, code):
        k = n_chosen(blocks, i)
        n_elements = blocks.offset[i + 1] - blocks.offset[i]
        loss = 0.0
        for t in range(blocks.topic[i + 1] - blocks.topic[i]):
            is_covered = False
            for q in range(code.shape[0] - k, code.shape[0]):
                d = blocks.document[i] + code[q]
                for p in range(blocks.indptr[d], blocks.indptr[d + 1]):
                    if blocks.element[p] == n_elements + t:
                        is_covered = True
            if not is_covered:
                loss += blocks.weight[blocks.topic[i] + t]
        return max(loss - blocks.least[i], 0.0)

    def find_output(blocks, work, w, i, code):
        score_block(blocks, w, i, work.score)
        return search_block(blocks, work, i, code)


@kernel
def n_chosen(blocks, i):
    """Documents of an output: k, or all of a smaller set."""
    return min(blocks.k, blocks.document[i + 1] - blocks.document[i])


@kernel
def search_block(blocks, work, i, code):
    """`find_output` of block i, whose scores are in ``work.score``."""
    n_elements = blocks.offset[i + 1] - blocks.offset[i]
    n_topics = blocks.topic[i + 1] - blocks.topic[i]
    first, n = blocks.document[i], blocks.document[i + 1] - blocks.document[i]
    k = n_chosen(blocks, i)
    m = n_elements + n_topics
    benefit, count, chosen = work.benefit[:m], work.tally[:m], work.chosen[:k]
    for e in range(n_elements):
        benefit[e] = work.score[e]
    for t in range(n_topics):
        share = 0.0 if blocks.is_prediction else blocks.weight[blocks.topic[i] + t]
        benefit[n_elements + t] = -share
    for e in range(m):
        count[e] = 0
    indptr, index = blocks.indptr, blocks.element
    value = choose_greedily(
        indptr, index, first, n, k, benefit, count, work.gain, work.fresh, chosen
    )
    for e in range(m):
        count[e] = 0
    # greedy choice needs a bound, too: that of the search before its first branch
    limit = blocks.limit if blocks.limit > 0 else np.int64(1)
    value, bound = branch_and_bound(
        indptr, index, first, n, k, benefit, limit, value, count, work.gain,
        work.room, work.order, work.place, work.stack, work.trial, chosen,
    )  # fmt: skip
    if is_monotone(benefit):  # greedy is within 1 − 1/e of the best
        bound = min(bound, value / (1.0 - np.exp(-1.0)))
    for q in range(k):
        take_document(indptr, index, first + chosen[q], count, 1)
    n_words = code.shape[0] - k
    for q in range(n_words):
        code[q] = 0
    for r in range(n_elements):
        if count[r] > 0:
            code[r // BITS] |= np.int32(1) << np.int32(r % BITS)
    for q in range(k):
        code[n_words + q] = chosen[q]
    margin = weighted_score(blocks, work.score, i, code)
    if blocks.is_prediction:
        return 0.0, 1.0, -margin, -margin + max(bound - value, 0.0)
    loss = output_loss(blocks, i, code)
    violation = loss - margin
    return loss, 1.0, violation, violation + max(bound - value, 0.0) + blocks.excess[i]


@kernel
def is_monotone(benefit):
    """Whether covering more is never worse."""
    for e in range(benefit.shape[0]):
        if benefit[e] < 0.0:
            return False
    return True
