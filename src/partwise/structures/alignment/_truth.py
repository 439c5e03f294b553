"""Checks of true alignments against masks, before they reach a kernel."""

from typing import Any

import numpy as np

from partwise.compiled import jitted
from partwise.structures.alignment._scores import fill_ranges


def check_truths(blocks: Any) -> None:
    """Refuse a truth that masks or the band forbid: it could never be predicted."""
    if blocks.band < 0 and not len(blocks.forbid) and not len(blocks.given):
        return
    where = first_forbidden(blocks, np.zeros(2, np.int64))
    if where[0] >= 0:
        i, t = where
        raise ValueError(
            f"Y[{i}] passes token {t} of a where band, forbidden or given pairs do not "
            "let it; widen the band or repair the masks"
        )


@jitted
def first_forbidden(blocks, where):
    """Example and token at which a true alignment leaves what is allowed, or −1."""
    longest = 0
    for i in range(blocks.offset.shape[0] - 1):
        longest = max(longest, blocks.offset[i + 1] - blocks.offset[i])
    low, high = np.empty(longest, np.int32), np.empty(longest, np.int32)
    for i in range(blocks.offset.shape[0] - 1):
        begin = blocks.offset[i]
        n = blocks.offset[i + 1] - begin
        pair = blocks.pair_first[i]
        place, other = blocks.pair_offset[pair], blocks.pair_b[pair]
        m = blocks.b_offset[other + 1] - blocks.b_offset[other]
        fill_ranges(blocks, pair, n, m, low, high)
        where[0] = i
        row, column = -1, -1
        for t in range(n):
            where[1] = t
            c = blocks.y[begin + t]
            if c < 0:
                continue
            if c < low[t] or c >= high[t]:
                return where
            if blocks.forbid.shape[0] > 0:
                for p in range(
                    blocks.forbid_first[place + t], blocks.forbid_first[place + t + 1]
                ):
                    if blocks.forbid[p] == c:
                        return where
            if row >= 0:
                for k in range(row + 1, t):
                    if column < low[k] or column >= high[k]:
                        return where
                # insertions lie in the row before the match
                if column + 1 < c and (column + 1 < low[t - 1] or c > high[t - 1]):
                    return where
            row, column = t, c
        for g in range(blocks.given_first[pair], blocks.given_first[pair + 1]):
            where[1] = blocks.given[g, 0]
            if blocks.y[begin + blocks.given[g, 0]] != blocks.given[g, 1]:
                return where
    where[0] = -1
    return where
