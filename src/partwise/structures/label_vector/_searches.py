"""The most violated labelling: a sweep over true positives a and false positives b.

Among the labellings with a true and b false positives, the one of highest score takes
the a positive and the b negative rows of highest score (Joachims: A support vector
method for multivariate performance measures, ICML 2005, Algorithm 2). With scores s
sorted from the largest down and Ψ = (1/n) Σ y_i x_i its margin is −(F(a) + G(b)),

    F(a) = −(2/n) Σ_{k > a} s⁺_k,     G(b) = (2/n) Σ_{k ≤ b} s⁻_k,

both concave. A formulation turns Δ(a, b) and that margin into a violation V(a, b), and
the labelling is the largest of (P + 1)(N + 1) cells. They are not all looked at:

* Δ = u·fn + v·fp, margin rescaling: each row decides for itself.
* a + b fixed: one cell for each a.
* Δ concave in b and rising (linear, F-beta): V(a, ·) rises, then falls. Under margin
  rescaling it is concave, √Δ being concave with Δ; under slack rescaling it is the
  product of Δ and 1 + F + G, log-concave where both are positive. Bisection finds its
  largest value, and rows a whose bound V(Δ(a, N), F(a) + max G) is too low are left
  out: O(P log N).
* any Δ: cells are grouped in boxes whose largest Δ is known (it does not depend on the
  model); a box is bounded by that and by the largest F and G in it, which concavity
  gives. Boxes are looked into while their bound is above the best cell.
"""

import numpy as np
from numba import types

from partwise.compiled import called_at, kernel
from partwise.objective import HARD, MARGIN_ROOT
from partwise.structures._formulations import plane, violation_of
from partwise.structures.label_vector.measures import F_BETA, LINEAR, SHARE

EACH, FIXED, CONCAVE, BOXES, PREDICT = range(5)  # ways to search

FUNCTION = types.float64(types.float64, types.float64, types.float64, types.float64)
call_measure = called_at(FUNCTION)


@kernel
def cell_loss(kind, u, v, function, n_positive, n_negative, a, b):
    """Δ(a, b), see `measures.py`."""
    if kind == LINEAR:
        return u * (n_positive - a) + v * b
    if a == n_positive and b == 0:
        return 0.0
    if kind == F_BETA:
        return 1.0 - (1.0 + u) * a / (a + b + u * n_positive)
    if kind == SHARE:
        return max(1.0 - u * a, 0.0)
    table = (
        np.float64(a), np.float64(b), np.float64(n_positive - a),
        np.float64(n_negative - b),
    )  # fmt: skip
    return 1.0 - call_measure(function, table)


@kernel
def block_loss(blocks, i, a, b):
    """Δ(a, b) of block i."""
    n_positive = blocks.n_positive[i]
    n_negative = blocks.offset[i + 1] - blocks.offset[i] - n_positive
    return cell_loss(
        blocks.kind, blocks.u[i], blocks.v[i], blocks.function, n_positive, n_negative,
        a, b,
    )  # fmt: skip


@kernel
def cell_value(rule, loss, gain):
    """V of a cell with this loss and F + G."""
    b, scale = plane(rule, loss)
    return violation_of(rule, b, scale, -gain)


@kernel
def largest_of(gain, peak, first, last):
    """The largest of gain[first:last], which rises up to `peak` and falls behind."""
    return gain[min(max(peak, first), last - 1)]


@kernel
def peak_of(gain, n):
    """Where gain[: n + 1], which rises and then falls, is largest."""
    low, high = np.int64(0), np.int64(n)
    while low < high:
        middle = (low + high) // 2
        if gain[middle + 1] > gain[middle]:
            low = middle + 1
        else:
            high = middle
    return low


@kernel
def best_of_row(blocks, work, i, a, peak):
    """The b of largest V(a, b), by bisection; `peak` is the b of largest G.

    Returns −1 where V is not positive for slack rescaling, or nowhere defined.
    """
    rule = blocks.rule
    n_positive = blocks.n_positive[i]
    n_negative = blocks.offset[i + 1] - blocks.offset[i] - n_positive
    gain, f = work.gain_negative, work.gain_positive[a]
    low, high = np.int64(0), n_negative
    if rule == HARD and a == n_positive:  # the truth has no plane
        low = np.int64(1)
        if n_negative == 0:
            return np.int64(-1)
    if rule > MARGIN_ROOT and rule != HARD:  # begin where 1 + F + G is positive
        if 1.0 + f + gain[peak] <= 0.0:
            return np.int64(-1)
        last = peak
        while low < last:
            middle = (low + last) // 2
            if 1.0 + f + gain[middle] > 0.0:
                last = middle
            else:
                low = middle + 1
    while low < high:
        middle = (low + high) // 2
        value = cell_value(rule, block_loss(blocks, i, a, middle), f + gain[middle])
        after = cell_value(
            rule, block_loss(blocks, i, a, middle + 1), f + gain[middle + 1]
        )
        if after > value:
            low = middle + 1
        else:
            high = middle
    return low


@kernel
def search_concave(blocks, work, i, cell):
    """The best cell where Δ is concave in b and rises with it; returns V."""
    rule = blocks.rule
    n_positive = blocks.n_positive[i]
    n_negative = blocks.offset[i + 1] - blocks.offset[i] - n_positive
    gain_positive, gain_negative = work.gain_positive, work.gain_negative
    peak = peak_of(gain_negative, n_negative)
    best = -np.inf if rule == HARD else 0.0  # that of the truth
    cell[0], cell[1] = n_positive, 0
    for a in range(n_positive, -1, -1):
        bound = cell_value(
            rule, block_loss(blocks, i, a, n_negative),
            gain_positive[a] + gain_negative[peak],
        )  # fmt: skip
        if bound <= best:
            continue
        b = best_of_row(blocks, work, i, a, peak)
        if b < 0:
            continue
        value = cell_value(
            rule, block_loss(blocks, i, a, b), gain_positive[a] + gain_negative[b]
        )
        if value > best:
            best = value
            cell[0], cell[1] = a, b
    return best


@kernel
def search_fixed(blocks, work, i, cell):
    """The best cell with a + b fixed; returns V."""
    n_positive, size = blocks.n_positive[i], blocks.size[i]
    n_negative = blocks.offset[i + 1] - blocks.offset[i] - n_positive
    best = -np.inf
    cell[0], cell[1] = n_positive, 0  # the truth, where no cell has a plane
    for a in range(max(0, size - n_negative), min(n_positive, size) + 1):
        gain = work.gain_positive[a] + work.gain_negative[size - a]
        value = cell_value(blocks.rule, block_loss(blocks, i, a, size - a), gain)
        if value > best:
            best = value
            cell[0], cell[1] = a, size - a
    return best


@kernel
def box_losses(kind, u, v, function, n_positive, n_negative, shape, first, last, out):
    """The largest Δ of each box in the rows [first, last) of boxes.

    Returns the smallest Δ seen; NaN where there is one.
    """
    high, wide, n_columns = shape[0], shape[1], shape[2]
    smallest = np.inf
    for row in range(first, last):
        for column in range(n_columns):
            largest = -np.inf
            for a in range(row * high, min((row + 1) * high, n_positive + 1)):
                for b in range(column * wide, min((column + 1) * wide, n_negative + 1)):
                    loss = cell_loss(kind, u, v, function, n_positive, n_negative, a, b)
                    largest = max(largest, loss)
                    smallest = min(smallest, loss)
                    if loss != loss:
                        return loss
            out[row * n_columns + column] = largest
    return smallest


@kernel
def search_boxes(blocks, work, i, cell):
    """The best cell of any loss, box after box from the highest bound; returns V."""
    rule = blocks.rule
    n_positive = blocks.n_positive[i]
    n_negative = blocks.offset[i + 1] - blocks.offset[i] - n_positive
    gain_positive, gain_negative = work.gain_positive, work.gain_negative
    peak_positive = peak_of(gain_positive, n_positive)
    peak_negative = peak_of(gain_negative, n_negative)
    high, wide, n_columns = blocks.shape[i, 0], blocks.shape[i, 1], blocks.shape[i, 2]
    first = blocks.box_first[i]
    n_boxes = blocks.box_first[i + 1] - first
    bound = work.bound
    for k in range(n_boxes):
        row, column = k // n_columns, k % n_columns
        f = largest_of(
            gain_positive, peak_positive, row * high,
            min((row + 1) * high, n_positive + 1),
        )  # fmt: skip
        g = largest_of(
            gain_negative, peak_negative, column * wide,
            min((column + 1) * wide, n_negative + 1),
        )  # fmt: skip
        bound[k] = cell_value(rule, blocks.box_loss[first + k], f + g)
        # a negative 1 + F + G makes V larger where Δ is smaller: 0 is above all
        if rule > MARGIN_ROOT and rule != HARD and bound[k] < 0.0:
            bound[k] = 0.0
    best = -np.inf if rule == HARD else 0.0  # that of the truth
    cell[0], cell[1] = n_positive, 0
    while True:
        top = 0
        for k in range(n_boxes):
            if bound[k] > bound[top]:
                top = k
        if not bound[top] > best:
            return best
        bound[top] = -np.inf
        row, column = top // n_columns, top % n_columns
        for a in range(row * high, min((row + 1) * high, n_positive + 1)):
            f = gain_positive[a]
            for b in range(column * wide, min((column + 1) * wide, n_negative + 1)):
                loss = block_loss(blocks, i, a, b)
                value = cell_value(rule, loss, f + gain_negative[b])
                if value > best:
                    best = value
                    cell[0], cell[1] = a, b
