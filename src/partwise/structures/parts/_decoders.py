"""The best set of parts from part scores: integer programs, sorting and search.

Each function takes the scores of one example's parts and returns part numbers in
increasing order.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np
from scipy.optimize import Bounds, LinearConstraint, milp

from partwise.protocol import Floats, Ints

Rows = list[LinearConstraint]


def as_rows(constraints: Any) -> Rows:
    """Linear constraints as a list, from one, several, or (A, lb, ub) tuples."""
    if constraints is None:
        return []
    if isinstance(constraints, LinearConstraint):
        return [constraints]
    is_triple = isinstance(constraints, tuple) and len(constraints) == 3
    if is_triple and not isinstance(constraints[0], LinearConstraint | tuple):
        return [LinearConstraint(*constraints)]
    return [row for item in constraints for row in as_rows(item)]


def violated_row(rows: Rows, y: Ints, n_parts: int) -> int | None:
    """The first row that a set of parts breaks, counted over all constraints."""
    selected = np.zeros(n_parts)
    selected[y] = 1.0
    before = 0
    for row in rows:
        value = np.atleast_1d(row.A @ selected)
        slack = 1e-9 * (1.0 + np.abs(value))
        broken = np.flatnonzero((value < row.lb - slack) | (value > row.ub + slack))
        if len(broken):
            return before + int(broken[0])
        before += len(value)
    return None


def exactly(n_parts: int, size: int) -> LinearConstraint:
    """|ŷ| = size."""
    return LinearConstraint(np.ones((1, n_parts)), size, size)


def differing(y: Ints, n_parts: int, least: float, most: float) -> LinearConstraint:
    """From `least` to `most` parts in one of y and ŷ alone; least=1 excludes y."""
    sign = np.ones((1, n_parts))
    sign[0, y] = -1.0
    return LinearConstraint(sign, least - len(y), most - len(y))


def best_by_milp(scores: Floats, rows: Rows) -> Ints | None:
    """The best 0/1 vector under linear rows; None when there is none."""
    n_parts = len(scores)
    if n_parts == 0:
        return np.zeros(0, np.int64)
    # HiGHS stops within 1e-4 of the optimum by default, and its absolute tolerance of
    # 1e-6 means nothing for small scores; both would make the oracle inexact.
    largest = float(np.max(np.abs(scores)))
    result = milp(
        -scores * (1e3 / largest) if largest > 0 else np.zeros(n_parts),
        integrality=np.ones(n_parts),
        bounds=Bounds(0, 1),
        constraints=rows or None,
        options={"mip_rel_gap": 0.0},
    )
    if result.status == 2:
        return None
    if not result.success:
        raise RuntimeError(f"the integer program failed: {result.message}")
    return np.flatnonzero(result.x > 0.5)


def best_by_size(scores: Floats, size: int) -> Ints:
    """The `size` parts of highest score; ties go to lower numbers."""
    return np.sort(np.argsort(-scores, kind="stable")[:size])


def positive(scores: Floats) -> Ints:
    """All parts of positive score."""
    return np.flatnonzero(scores > 0)


def frontier_by_sorting(
    scores: Floats, y: Ints, size: int | None
) -> Iterator[tuple[int, Ints]]:
    """Best set for each number of parts that differ from y, from 1 on.

    Without other constraints the parts in y and those outside it are chosen apart:
    by flipping the d cheapest ones, or, with `size` fixed, a of y and the rest outside.
    """
    inside = np.zeros(len(scores), bool)
    inside[y] = True
    if size is None:
        order = np.argsort(np.where(inside, scores, -scores), kind="stable")
        for d in range(1, len(scores) + 1):
            inside[order[d - 1]] ^= True
            yield d, np.flatnonzero(inside)
        return
    order = np.argsort(-scores, kind="stable")
    true, fresh = order[inside[order]], order[~inside[order]]
    for a in range(max(0, size - len(fresh)), min(len(true), size) + 1):
        d = len(true) + size - 2 * a
        if d > 0:
            yield d, np.sort(np.concatenate([true[:a], fresh[: size - a]]))


def best_by_search(
    scores: Floats,
    is_valid: Callable[[Ints], bool],
    starts: Iterable[Ints],
    n_restarts: int,
    rng: np.random.Generator,
) -> Ints | None:
    """Climb from every valid start, then from kicked copies of the best set.

    A step adds, removes or swaps one part: the largest gain that stays valid. Returns
    None when no start is valid. No bound on the distance to the optimum is known.
    """

    def is_fine(mask: np.ndarray) -> bool:
        return bool(is_valid(np.flatnonzero(mask)))

    def climb(mask: np.ndarray) -> np.ndarray:
        while (better := _step(mask, scores, is_fine)) is not None:
            mask = better
        return mask

    best = None
    for start in starts:
        mask = np.zeros(len(scores), bool)
        mask[start] = True
        if is_fine(mask):
            mask = climb(mask)
            if best is None or scores[mask].sum() > scores[best].sum():
                best = mask
    if best is None:
        return None
    for _ in range(n_restarts):
        mask = best.copy()
        mask[rng.integers(len(scores), size=3)] ^= True
        if is_fine(mask):
            mask = climb(mask)
            if scores[mask].sum() > scores[best].sum():
                best = mask
    return np.flatnonzero(best)


def _step(
    mask: np.ndarray, scores: Floats, is_fine: Callable[[np.ndarray], bool]
) -> np.ndarray | None:
    """The best valid neighbour that improves; None at a local optimum."""
    inside, outside = np.flatnonzero(mask), np.flatnonzero(~mask)
    flip = np.where(mask, -scores, scores)
    swap = scores[outside][None, :] - scores[inside][:, None]
    gain = np.concatenate([flip, swap.ravel()])
    for k in np.argsort(-gain, kind="stable"):
        if gain[k] <= 1e-12:
            return None
        near = mask.copy()
        if k < len(scores):
            near[k] ^= True
        else:
            removed, added = divmod(k - len(scores), len(outside))
            near[inside[removed]] = False
            near[outside[added]] = True
        if is_fine(near):
            return near
    return None
