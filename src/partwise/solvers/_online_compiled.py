"""Sweeps of the online solvers, one text for compiled and for Python structures.

An average of the models w_1 … w_T after each visit costs no pass over the weights: a
change δ made after τ visits is part of the last T − τ models, so with u = Σ τ δ, the
`sum_offset` of all sweeps,

    (1/T) Σ_t w_t = w_T − u/T.
"""

import numpy as np

from partwise.compiled import (
    both_ways,
    code_length,
    find_output,
    kernel,
    margin,
    output_loss,
    push,
    sweep_of,
    wipe,
)
from partwise.solvers._simplex_qp import maximise

QP_TOL = 1e-12


@both_ways
def change(blocks, w, sum_offset, i, code, coef, n_seen):
    """Add coef·δ(code) to w, and n_seen times as much to `sum_offset`."""
    push(blocks, w, i, code, coef)
    push(blocks, sum_offset, i, code, n_seen * coef)


@both_ways
def square_of(blocks, scratch, i, code):
    """‖δ(code)‖²; `scratch` is a zero model and is left zero."""
    push(blocks, scratch, i, code, 1.0)
    square = margin(blocks, scratch, i, code)
    wipe(blocks, scratch, i, code)
    return square


@sweep_of(blocks=("output_loss", "push"), plain=("find_output",))
def perceptron_sweep(
    blocks, plain, work, w, sum_offset, order, first, last, n_seen, indptr, log, step
):
    """Predict the blocks order[first:last]; where one is wrong, add its δ.

    Visit q writes its prediction to ``log[indptr[q]:indptr[q + 1]]``, and the length of
    its step, 0 or 1, to ``step[q]``. Counts mistakes.
    """
    mistakes = 0
    for q in range(first, last):
        i = order[q]
        code = log[indptr[q] : indptr[q + 1]]
        find_output(plain, work, w, i, code)
        step[q] = 0.0
        if output_loss(blocks, i, code) > 0.0:
            change(blocks, w, sum_offset, i, code, 1.0, n_seen + q)
            step[q] = 1.0
            mistakes += 1
    return mistakes


@sweep_of(
    blocks=("find_output", "output_loss", "push", "margin", "wipe"),
    plain=("find_output",),
)
def mira_sweep(
    blocks, plain, work, w, sum_offset, scratch, order, first, last, cap, ridge,
    augmented, n_seen, indptr, log, steps,
):  # fmt: skip
    """The smallest change of w that satisfies one cut per block. Counts changes.

    Writes outputs and lengths of steps as `perceptron_sweep` does.
    """
    changes = 0
    for q in range(first, last):
        i = order[q]
        code = log[indptr[q] : indptr[q + 1]]
        steps[q] = 0.0
        if augmented:
            _, scale, violation, _ = find_output(blocks, work, w, i, code)
        else:
            score = find_output(plain, work, w, i, code)[2]
            scale = 1.0
            violation = output_loss(blocks, i, code) + score
        if not violation > 0.0:
            continue
        curvature = scale * scale * square_of(blocks, scratch, i, code) + ridge[i]
        step = cap[i]
        if violation < step * curvature:
            step = violation / curvature
        if 0.0 < step < np.inf:
            change(blocks, w, sum_offset, i, code, step * scale, n_seen + q)
            steps[q] = step * scale
            changes += 1
    return changes


@sweep_of(blocks=("margin", "push", "wipe"))
def mira_update(
    blocks, w, sum_offset, scratch, i, cuts, cap, ridge, n_seen, gram, slope, alpha
):
    """The smallest change of w for all given cuts of block i; returns whether any.

    Its dual is max Σ α (b − <w, a>) − ½‖Σ α a‖² − (ridge/2)(Σα)², α ≥ 0, Σα ≤ cap; a
    last plane of zeros holds the mass that a finite cap leaves over. The last three
    arguments are room for it.
    """
    b, scale, indptr, codes = cuts.b, cuts.scale, cuts.indptr, cuts.code
    m = b.shape[0]
    is_violated = False
    for p in range(m + 1):
        gram[m, p], gram[p, m] = 0.0, 0.0
        slope[p], alpha[p] = 0.0, 0.0
    for p in range(m):
        code = codes[indptr[p] : indptr[p + 1]]
        slope[p] = b[p] - scale[p] * margin(blocks, w, i, code)
        is_violated = is_violated or slope[p] > 0.0
        push(blocks, scratch, i, code, scale[p])
        for q in range(p + 1):
            other = codes[indptr[q] : indptr[q + 1]]
            product = scale[q] * margin(blocks, scratch, i, other) + ridge
            gram[p, q] = product
            gram[q, p] = product
        wipe(blocks, scratch, i, code)
    if not is_violated:
        return False
    size = m + 1 if cap < np.inf else m
    maximise(gram, slope, alpha, size, cap, QP_TOL, 100 + 20 * size)
    for p in range(m):
        if alpha[p] > 0.0:
            code = codes[indptr[p] : indptr[p + 1]]
            change(blocks, w, sum_offset, i, code, alpha[p] * scale[p], n_seen)
    return True


@kernel
def shrink(w, factor):
    """Multiply w in place."""
    for k in range(w.shape[0]):
        w[k] *= factor


@kernel
def project(w, radius, sum_offset, clock):
    """Scale w into the ball.

    The sum of models moves from A·v into `sum_offset` first: were A divided by the
    factor instead, it would grow with every projection until rounding spoils the sum.
    """
    square = 0.0
    for k in range(w.shape[0]):
        square += w[k] * w[k]
    if square > radius * radius:
        factor = radius / np.sqrt(square)
        share = clock[1] * clock[0]
        for k in range(w.shape[0]):
            sum_offset[k] += share * w[k]
            w[k] *= factor
        clock[1] = 0.0


@sweep_of(blocks=("code_length", "find_output", "push"))
def pegasos_sweep(
    blocks, work, w, sum_offset, order, begin, stop, batch, weight, is_square, radius,
    clock, rooms, coefs,
):  # fmt: skip
    """Subgradient steps of length 1/t on batches of the blocks order[begin:stop].

    ``clock`` holds t, the number of steps made; A, such that with v = t·w the sum of
    all v so far is A·v + sum_offset; and Σ t.
    """
    n = order.shape[0]
    for first in range(begin, stop, batch):
        last = min(first + batch, stop)
        for q in range(first, last):
            i = order[q]
            code = rooms[q - first, : code_length(blocks, i)]
            _, scale, violation, _ = find_output(blocks, work, w, i, code)
            mass = weight[i] if violation > 0.0 else 0.0
            if is_square:
                mass *= violation
            coefs[q - first] = scale * mass * n / (last - first)
        t = clock[0] + 1.0
        shrink(w, (t - 1.0) / t)
        for q in range(first, last):
            i = order[q]
            coef = coefs[q - first]
            if coef != 0.0:
                code = rooms[q - first, : code_length(blocks, i)]
                push(blocks, w, i, code, coef / t)
                push(blocks, sum_offset, i, code, -clock[1] * coef)
        clock[0] = t
        if radius < np.inf:
            project(w, radius, sum_offset, clock)
        clock[1] += 1.0
        clock[2] += t
