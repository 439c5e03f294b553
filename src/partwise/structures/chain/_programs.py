"""Dynamic programs on chains, over score tables; losses and masks are in the scores.

A chain of `n` positions and L labels has states: the label itself (order 0 and 1), or
the pair (previous label, label) = previous·L + label (order 2; at position 0 a state
is the label alone). A state's label is always ``state % L``. Scores are

    score (n, L)           of a label at a position, losses and fixed labels included
    edges                  of the steps between positions (`Edges`)

both in the semiring's own units. Scores of the first position include any start score.
"""

from typing import NamedTuple

import numpy as np

from partwise.compiled import allocating, kernel
from partwise.structures._heap import sift_down, sift_up
from partwise.structures._semirings import absorb, plus, rescale, times


class Edges(NamedTuple):
    """Scores that do not depend on the position; the same for all sequences."""

    opening: np.ndarray  # (L, L) the edge from position 0 to 1
    inner: np.ndarray  # (n_states, L) from a state to the next label, afterwards
    last: np.ndarray  # (L,) the label at the final position


@kernel
def n_states(order, n_labels, t):
    """Number of states at position t."""
    return n_labels * n_labels if order == 2 and t > 0 else n_labels


@kernel
def forward(sr, order, n, score, edges, alpha):
    """alpha[t, s] = score[t, label] ⊗ ⊕ over edges into s of alpha[t−1] ⊗ edge.

    Returns the logarithm of what `rescale` took out (0 for MaxPlus).
    """
    n_labels = score.shape[1]
    log_scale = 0.0
    rows = alpha.reshape(alpha.shape[0], -1, n_labels)
    for label in range(n_labels):
        alpha[0, label] = score[0, label]
    for t in range(n):
        width = n_states(order, n_labels, t)
        if t > 0:
            for s in range(width):
                alpha[t, s] = sr.zero
            if order < 2:
                absorb(sr, rows, t, 0, alpha, t - 1, edges.inner, 0, 1, n_labels)
            else:
                table = edges.opening if t == 1 else edges.inner
                n_sources = 1 if t == 1 else n_labels
                for m in range(n_labels):  # sources (any, m), targets (m, label)
                    absorb(sr, rows, t, m, alpha, t - 1, table, m, n_labels, n_sources)
            for m in range(width // n_labels):
                for label in range(n_labels):
                    rows[t, m, label] = times(sr, rows[t, m, label], score[t, label])
        if t == n - 1:
            for s in range(width):
                alpha[t, s] = times(sr, alpha[t, s], edges.last[s % n_labels])
        log_scale += rescale(sr, alpha[t, :width])
    return log_scale


@allocating
def backward(sr, order, n, score, edges, turned, beta, after, log_scale):
    """beta[t, s] = ⊕ over labels of edge ⊗ score[t+1] ⊗ beta[t+1]: all that follows.

    `turned` are the same edges from label to state, so that a row of states is filled
    at once: opening is (label, state); inner is that too below order 2, and for order
    2 has the rows (middle, label) and the columns `first` of states (first, middle).
    ``after[t]`` keeps score[t] ⊗ beta[t], ``log_scale[t]`` what `rescale` took out.
    """
    n_labels = score.shape[1]
    filled = np.empty((1, 1, n_labels))
    rows = beta.reshape(beta.shape[0], -1, n_labels)
    for t in range(n - 1, -1, -1):
        width = n_states(order, n_labels, t)
        for s in range(width):
            beta[t, s] = edges.last[s % n_labels] if t == n - 1 else sr.zero
        if t < n - 1 and order < 2:
            absorb(sr, rows, t, 0, after, t + 1, turned.inner, 0, 1, n_labels)
        elif t < n - 1:
            for m in range(n_labels):
                at = m * n_labels
                if t == 0:  # the state is the middle label m itself
                    for label in range(n_labels):
                        step = times(sr, turned.opening[label, m], after[1, at + label])
                        beta[0, m] = plus(sr, beta[0, m], step)
                    continue
                for label in range(n_labels):
                    filled[0, 0, label] = sr.zero
                absorb(sr, filled, 0, 0, after, t + 1, turned.inner, at, 1, n_labels)
                for first in range(n_labels):
                    beta[t, first * n_labels + m] = filled[0, 0, first]
        log_scale[t] = rescale(sr, beta[t, :width])
        for at in range(0, width, n_labels):
            for label in range(n_labels):
                value = times(sr, score[t, label], beta[t, at + label])
                after[t, at + label] = value


@kernel
def best_state(alpha_row):
    """Index of the largest entry."""
    best = 0
    for s in range(1, alpha_row.shape[0]):
        if alpha_row[s] > alpha_row[best]:
            best = s
    return best


@kernel
def sources(order, n_labels, t, state):
    """Sources of a state: the numbers first + z·stride for z below n, as a triple."""
    if order < 2:
        return 0, 1, n_labels
    if t == 1:
        return state // n_labels, 1, 1
    return state // n_labels, n_labels, n_labels


@kernel
def best_source(order, t, state, alpha_row, table, n_labels):
    """The source that gave a state its MaxPlus score."""
    first, stride, n = sources(order, n_labels, t, state)
    label = state % n_labels
    best = first
    value = alpha_row[first] + table[first, label]
    for z in range(1, n):
        s = first + z * stride
        other = alpha_row[s] + table[s, label]
        if other > value:
            value, best = other, s
    return best


@kernel
def trace(order, n, score, edges, alpha, code):
    """The best output after a MaxPlus forward pass over `score`; returns its score.

    The source of a state is the first whose sum is the state's score again, to the
    bit. Comparing all sources with each other took three times as long.
    """
    n_labels = score.shape[1]
    state = best_state(alpha[n - 1, : n_states(order, n_labels, n - 1)])
    value = alpha[n - 1, state]
    for t in range(n - 1, 0, -1):
        label = state % n_labels
        code[t] = label
        table = edges.opening if t == 1 else edges.inner
        wanted, rest = alpha[t, state], score[t, label]
        end = edges.last[label] if t == n - 1 else 0.0
        state, stride, n_sources = sources(order, n_labels, t, state)
        for _ in range(n_sources - 1):
            if alpha[t - 1, state] + table[state, label] + rest + end == wanted:
                break
            state += stride
    code[0] = state % n_labels
    return value


@allocating
def k_best(order, n, k, n_labels, edges, alpha, codes, values):
    """The k outputs of highest score, best first; returns how many there are.

    Best-first search from the end; the forward scores `alpha` (MaxPlus) are an exact
    estimate of the rest, so the first k completions are the k best. A candidate is a
    node (position, state, what follows it); completing it means going back by best
    sources, and each step on the way offers its other sources as new candidates,
    k·n·L in all.
    """
    room = (k * n + 1) * n_labels * n_labels + k * n
    at_t = np.empty(room, np.int32)
    at_state = np.empty(room, np.int32)
    follows = np.empty(room, np.int32)
    key = np.empty(room)
    item = np.empty(room, np.int32)
    n_nodes = 0
    size = 0
    for s in range(n_states(order, n_labels, n - 1)):
        if alpha[n - 1, s] > -np.inf:
            at_t[n_nodes], at_state[n_nodes], follows[n_nodes] = n - 1, s, -1
            key[size], item[size] = alpha[n - 1, s], n_nodes
            sift_up(key, item, size)
            n_nodes += 1
            size += 1
    n_found = 0
    while n_found < k and size > 0:
        total, node = key[0], item[0]
        size -= 1
        key[0], item[0] = key[size], item[size]
        sift_down(key, item, size)
        for t in range(at_t[node], 0, -1):
            state = at_state[node]
            table = edges.opening if t == 1 else edges.inner
            label = state % n_labels
            before = alpha[t - 1]
            winner = best_source(order, t, state, before, table, n_labels)
            into = before[winner] + table[winner, label]
            first, stride, n_sources = sources(order, n_labels, t, state)
            for z in range(n_sources):
                source = first + z * stride
                if source == winner:
                    continue
                other = before[source] + table[source, label]
                if other > -np.inf:
                    at_t[n_nodes], at_state[n_nodes] = t - 1, source
                    follows[n_nodes] = node
                    key[size], item[size] = total - into + other, n_nodes
                    sift_up(key, item, size)
                    n_nodes += 1
                    size += 1
            at_t[n_nodes], at_state[n_nodes] = t - 1, winner
            follows[n_nodes] = node
            node = n_nodes
            n_nodes += 1
        values[n_found] = total
        t = 0
        while node >= 0:
            codes[n_found, t] = at_state[node] % n_labels
            node = follows[node]
            t += 1
        n_found += 1
    return n_found


@allocating
def frontier(order, n, score, edges, cost, best, back):
    """The best score for every value of an integer loss.

    cost (n, L) int64 is the loss of a label at a position. ``best[d, s]`` at return is
    the highest score of an output of loss d that ends in state s, and ``back[t, d,
    s]`` the source before it. Time O(n·D·L²): the chain's dynamic program with the
    loss so far as a second coordinate.
    """
    n_labels = score.shape[1]
    n_losses = best.shape[0]
    n_columns = best.shape[1]
    previous = np.empty((n_losses, n_columns))
    for d in range(n_losses):
        for s in range(n_columns):
            best[d, s] = -np.inf
    for label in range(n_labels):
        best[cost[0, label], label] = score[0, label]
    for t in range(1, n):
        for d in range(n_losses):
            for s in range(n_columns):
                previous[d, s] = best[d, s]
                best[d, s] = -np.inf
        table = edges.opening if t == 1 else edges.inner
        for d in range(n_losses):
            for s in range(n_states(order, n_labels, t - 1)):
                if previous[d, s] == -np.inf:
                    continue
                first = (s % n_labels) * n_labels if order == 2 else 0
                for label in range(n_labels):
                    total = d + cost[t, label]
                    value = previous[d, s] + table[s, label] + score[t, label]
                    if total < n_losses and value > best[total, first + label]:
                        best[total, first + label] = value
                        back[t, total, first + label] = s
    for d in range(n_losses):
        for s in range(best.shape[1]):
            best[d, s] += edges.last[s % n_labels]


@kernel
def trace_frontier(n, n_labels, best, back, cost, d, code):
    """The output behind the best score of loss d."""
    state = best_state(best[d])
    for t in range(n - 1, -1, -1):
        label = state % n_labels
        code[t] = label
        if t > 0:
            before = back[t, d, state]
            d -= cost[t, label]
            state = before
