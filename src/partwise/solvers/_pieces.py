"""Long loops over blocks in pieces of a fraction of a second.

Between two pieces a solver looks at the clock and reports progress. How an order of
visits is cut into pieces changes no result.
"""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np

from partwise.protocol import Floats, State

PIECE = 0.05  # seconds of a piece, about


def in_pieces(
    effort: Floats,
    visit: Callable[[int, int], int],
    state: State,
    unit: int = 1,
    *,
    seconds: float = PIECE,
    is_last: bool = False,
) -> int:
    """Call ``visit(first, last)`` for consecutive pieces; returns where it ended.

    Parameters
    ----------
    effort : array (n,)
        What each visit costs, in any unit.
    visit : callable
        Returns where it stopped; the next piece begins there.
    state : State
        Ends the loop when its time is over.
    unit : int
        Pieces are multiples of so many visits.
    seconds : float
        Of a piece, about.
    is_last : bool
        Whether to finish although the time is over.
    """
    n = len(effort)
    total = np.concatenate([[0.0], np.cumsum(effort)])
    first, speed = 0, total[-1] / max(n, 1) * 4 / seconds
    while first < n:
        began = time.perf_counter()
        reach = total[first] + speed * seconds
        last = int(np.searchsorted(total, reach, side="right")) - 1
        last = first + max((last - first) // unit, 1) * unit
        stop = visit(first, min(last, n))
        spent = max(time.perf_counter() - began, 1e-6)
        if stop > first:
            speed = min((total[stop] - total[first]) / spent, 4 * speed)
        first = stop
        state.report(first / n)
        if state.is_late and not is_last:
            break
    return first
