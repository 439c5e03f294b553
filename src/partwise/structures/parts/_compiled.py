"""Sets of parts as numba blocks, around a decoder that the user compiled.

The decoder enters as an address, so kernels are compiled and cached once for all
decoders. A model is one flat array (n_features,). A code is a mask: one integer, 0 or
1, per part.
"""

from typing import Any, NamedTuple

import numpy as np
from numba import types

from partwise.compiled import (
    add_row,
    called_at,
    dot_row,
    output_loss,
    recall_margin,
    score_rows,
    wipe_row,
)

DECODER = types.void(types.float64[::1], types.int64[::1], types.uint8[::1])

call_decoder = called_at(DECODER)


class PartWork(NamedTuple):
    """Buffers of one thread; `plain` has plain scores, `edited` those with losses."""

    plain: np.ndarray  # (most parts, 1); rows are scored for one label
    edited: np.ndarray  # (most parts,)
    selected: np.ndarray  # (most parts,) uint8


class PartBlocks(NamedTuple):
    """Packed alphabets of parts over rows of any scorer; row = part."""

    rows: Any  # a tag with the row operations of `partwise.compiled`
    first: np.ndarray  # (n_blocks + 1,) int64, parts of each example
    truth: np.ndarray  # (n_parts,) uint8
    addition: np.ndarray  # (n_parts,) what the loss adds to the score of each part
    shape_first: np.ndarray  # (n_blocks + 1,) int64
    shape: np.ndarray  # int64, the user's description of each example
    decode: Any  # the address of (scores, shape, selected) → None
    is_exact: int  # whether the decoder always finds the best set

    def code_length(blocks, i):
        return blocks.first[i + 1] - blocks.first[i]

    def output_loss(blocks, i, code):
        # a true part adds what its absence costs, with a minus
        total = 0.0
        for p in range(blocks.first[i + 1] - blocks.first[i]):
            row = blocks.first[i] + p
            if blocks.truth[row] != code[p]:
                cost = blocks.addition[row]
                total += -cost if blocks.truth[row] else cost
        return max(total, 0.0)  # negative by rounding alone

    def find_output(blocks, work, w, i, code):
        begin = blocks.first[i]
        n = blocks.first[i + 1] - begin
        weights = w.reshape(w.shape[0], 1)
        score_rows(blocks.rows, weights, begin, begin + n, work.plain)
        for p in range(n):
            work.edited[p] = work.plain[p, 0] + blocks.addition[begin + p]
            work.selected[p] = 0
        shape = blocks.shape[blocks.shape_first[i] : blocks.shape_first[i + 1]]
        call_decoder(blocks.decode, (work.edited[:n], shape, work.selected[:n]))
        for p in range(n):
            code[p] = 1 if work.selected[p] else 0
        b = output_loss(blocks, i, code)
        violation = b - recall_margin(blocks, work, i, code)
        return b, 1.0, violation, violation if blocks.is_exact else np.inf

    def recall_margin(blocks, work, i, code):
        total = 0.0
        for p in range(blocks.first[i + 1] - blocks.first[i]):
            here = blocks.truth[blocks.first[i] + p]
            if here != code[p]:
                total += work.plain[p, 0] if here else -work.plain[p, 0]
        return total

    def margin(blocks, w, i, code):
        total = 0.0
        for p in range(blocks.first[i + 1] - blocks.first[i]):
            row = blocks.first[i] + p
            if blocks.truth[row] != code[p]:
                score = dot_row(blocks.rows, w, 1, row, 0)
                total += score if blocks.truth[row] else -score
        return total

    def push(blocks, w, i, code, coef):
        for p in range(blocks.first[i + 1] - blocks.first[i]):
            row = blocks.first[i] + p
            if blocks.truth[row] != code[p]:
                sign = coef if blocks.truth[row] else -coef
                add_row(blocks.rows, w, 1, row, 0, sign)

    def wipe(blocks, w, i, code):
        for p in range(blocks.first[i + 1] - blocks.first[i]):
            row = blocks.first[i] + p
            if blocks.truth[row] != code[p]:
                wipe_row(blocks.rows, w, 1, row, 0)
