"""Grammars as numba blocks: the structure's side of `partwise.compiled`.

Parts are scored by the rows of any scorer with the operations of
`partwise.scorers.spans`. A code is a derivation, see `trace`; a bracket is a label over
a span, tags and unfinished branchings are none.
"""

from typing import Any, NamedTuple

import numpy as np
from numba import typeof, types
from numba.core import config

from partwise.compiled import Reference, address_of, called_at, uncounted
from partwise.structures.losses import FRONTIER, TWO_BEST
from partwise.structures.phrase._cky_programs import Chart
from partwise.structures.phrase._count_searches import search_counts
from partwise.structures.phrase._parts import (
    add_parts,
    dot_parts,
    loss_of,
    recalled,
    score_sentence,
    wipe_parts,
)
from partwise.structures.phrase._searches import search_best, search_two
from partwise.structures.phrase._tables import GrammarTables


class GrammarWork(NamedTuple):
    """Buffers of one thread; `plain` keeps scores of spans without the loss."""

    weight: np.ndarray  # (n_weights + 2,), the last two are 0
    chain: np.ndarray  # (C,)
    plain: np.ndarray  # (cells, n_labels)
    span: np.ndarray  # (cells, n_labels)
    node: np.ndarray  # (cells,) of having any bracket; empty where none is known
    none: np.ndarray  # (0,)
    begin: np.ndarray  # (longest, n_labels) features at the first word
    end: np.ndarray  # (longest, n_labels) features at the last word
    chart: Reference[Chart]
    sums: Reference[Chart]  # for sums over trees: another `base` and `sum`
    stack: np.ndarray  # (2·longest + 2, 3) int64 nodes to trace


class GrammarData(NamedTuple):
    """Packed sentences with their true derivations."""

    tables: Reference[GrammarTables]
    offset: np.ndarray  # (n_blocks + 1,) int64, tokens of each sentence
    leaf_ptr: np.ndarray  # (n_tokens + 1,) int64
    leaf_tag: np.ndarray  # int32
    leaf_weight: np.ndarray  # int32
    truth_ptr: np.ndarray  # (n_blocks + 1,) int64
    truth: np.ndarray  # int32 codes
    gold_ptr: np.ndarray  # these two: parts with the brackets that the loss counts,
    gold: np.ndarray  # as in codes; the truth itself where all of it is known
    bare_ptr: np.ndarray  # these two: cells with a bracket of unknown label
    bare: np.ndarray  # int32
    n_gold: np.ndarray  # (n_blocks,) int64 number of brackets in both
    is_partial: np.ndarray  # (n_blocks,) uint8, 1 where others may be right, too
    room: int  # parts of a code per word, at most
    zero_one: int  # the loss is 1 for any wrong tree
    is_f1: int  # the loss is 1 − F1 of the brackets; else a sum of these two:
    missed: float  # cost of a true bracket that is not predicted
    spurious: float  # cost of a predicted bracket that is not true
    oracle: int  # PLAIN, ADDITIVE, TWO_BEST or FRONTIER
    rule: int  # how a loss becomes a plane, see `Formulation.rule`
    exact_words: int  # longest sentence for charts over two counts


SEARCHES = {FRONTIER: search_counts, TWO_BEST: search_two}  # else `search_best`
PLANE = types.UniTuple(types.float64, 4)

call_search = called_at(PLANE)


@uncounted
class GrammarBlocks(NamedTuple):
    """The operations of `partwise.compiled` on packed sentences.

    The search is called by its address: charts take longer to compile than all the
    rest, and a sweep that merely calls them need not compile them again. It reads the
    scores in `work`, so that it is the same whatever the rows of the scorer.
    """

    rows: Any  # a tag with the operations of `partwise.scorers.spans`
    data: Reference[GrammarData]
    search: int  # address of (data, work, i, code) → (b, scale, violation, bound)

    def code_length(blocks, i):
        data = blocks.data
        return 2 * data.room * (data.offset[i + 1] - data.offset[i])

    def output_loss(blocks, i, code):
        return loss_of(blocks.data, i, code)

    def find_output(blocks, work, w, i, code):
        score_sentence(blocks.rows, blocks.data, work, w, i)
        return call_search(blocks.search, (blocks.data, work, i, code))

    def recall_margin(blocks, work, i, code):
        return recalled(blocks.data, work, i, code)

    def margin(blocks, w, i, code):
        rows, data = blocks.rows, blocks.data
        truth = data.truth[data.truth_ptr[i] : data.truth_ptr[i + 1]]
        return dot_parts(rows, data, w, i, truth) - dot_parts(rows, data, w, i, code)

    def push(blocks, w, i, code, coef):
        rows, data = blocks.rows, blocks.data
        truth = data.truth[data.truth_ptr[i] : data.truth_ptr[i + 1]]
        add_parts(rows, data, w, i, truth, coef)
        add_parts(rows, data, w, i, code, -coef)

    def wipe(blocks, w, i, code):
        rows, data = blocks.rows, blocks.data
        truth = data.truth[data.truth_ptr[i] : data.truth_ptr[i + 1]]
        wipe_parts(rows, data, w, i, truth)
        wipe_parts(rows, data, w, i, code)


def compile_search(data: Reference[GrammarData], work: Reference[GrammarWork]) -> Any:
    """Address of the search of these data, compiled when it is first needed."""
    search = SEARCHES.get(data.oracle, search_best)
    if vars(config)["DISABLE_JIT"]:
        return search
    signature = PLANE(typeof(data), typeof(work), types.int64, types.int32[::1])
    return address_of(signature, search)
