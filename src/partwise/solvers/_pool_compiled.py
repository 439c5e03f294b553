"""A pool of planes per block, and exact ascent of the dual over it.

Block i of the dual, all else fixed, is a small quadratic program in the α of its
planes a_p = s_p·δ(ŷ_p) with Gram matrix G and slopes g_p = b_p − <w, a_p>:

    maximise  Σ_p Δα_p g_p − ½ Δαᵀ G Δα − (ridge/2)·(S + ΣΔα)²,   α ≥ 0, S = Σα ≤ cap

with cap = c_i, ridge = 0 (L1); cap = ∞, ridge = 1/c_i (L2); cap = ∞, ridge = 0 (hard).
Mass not on a plane lies on a virtual plane with a = 0, b = 0, whose supply cap − S is
infinite for L2 and hard. Moving mass between two planes, the virtual one included, is
the only step (`ascend`), so all penalties share one text; for L2 and hard its cone of
current planes and the new one contains the step (θ, η) of conditional gradients.

Both block-coordinate Frank-Wolfe and the n-slack working set are visits to blocks of
this pool; they differ in order, stopping rule and in what they add.
"""

import numpy as np

from partwise.compiled import (
    both_ways,
    code_length,
    find_output,
    kernel,
    margin,
    margins,
    optional_operation,
    push,
    push_sum,
    recall_margins,
    sweep_of,
    wipe,
)
from partwise.solvers._pool_arena import (
    can_grow,
    contains,
    copy_code,
    drop_idle,
    make_room,
)


@kernel
def block_gap(penalty, weight, violation, mass, inner):
    """Share of block i in the duality gap.

    `inner` is Σ α (b − <w, a>). The shares of all blocks add up to P(w) − D(α) because
    Σ α <w, a> = ‖w‖². A hard margin has no finite share: its violation stands in.
    """
    slack = max(violation, 0.0)
    if penalty == 0:
        return weight * slack - inner
    if penalty == 1:
        return 0.5 * weight * slack * slack + 0.5 * mass * mass / weight - inner
    return slack


@kernel
def ascend(gram, slope, alpha, n_planes, cap, ridge, steps, tol):
    """Pairwise steps between the planes of steepest ascent and descent.

    Updates α and slope in place. Stops when no pair has a slope above `tol`.
    """
    mass = 0.0
    for p in range(n_planes):
        mass += alpha[p]
    for _ in range(steps):
        up, down = -1, -1  # −1 is the virtual plane
        best, worst = 0.0, 0.0
        if cap - mass <= 0.0:
            worst = np.inf
        for p in range(n_planes):
            gradient = slope[p] - ridge * mass
            if gradient > best:
                best, up = gradient, p
            if alpha[p] > 0.0 and gradient < worst:
                worst, down = gradient, p
        gain = best - worst
        if up == down or gain <= tol:
            return
        curvature = 0.0
        if up >= 0:
            curvature += gram[up, up]
        if down >= 0:
            curvature += gram[down, down]
        if up >= 0 and down >= 0:
            curvature -= 2.0 * gram[up, down]
        else:
            curvature += ridge
        supply = alpha[down] if down >= 0 else cap - mass
        step = supply
        if gain < supply * curvature:
            step = gain / curvature
        if not step < np.inf:
            return  # a hard margin on a zero plane: no finite step exists
        if down >= 0:
            alpha[down] = alpha[down] - step if step < supply else 0.0
        else:
            mass = mass + step if step < supply else cap
        if up >= 0:
            alpha[up] += step
        else:
            mass -= step
        for p in range(n_planes):
            change = 0.0
            if up >= 0:
                change += gram[p, up]
            if down >= 0:
                change -= gram[p, down]
            slope[p] -= step * change


@both_ways
def move(blocks, work, pool, w, i, slope, change, cap, ridge, steps, tol):
    """Optimise block i over its planes and carry the change into w."""
    n_planes = pool.used[i]
    first = pool.first[i]
    alpha = pool.alpha[first : first + n_planes]
    for p in range(n_planes):
        change[p] = alpha[p]
    size = pool.room[i]
    begin = pool.gram_first[i]
    gram = pool.gram[begin : begin + size * size].reshape(size, size)
    ascend(gram, slope, alpha, n_planes, cap, ridge, steps, tol)
    for p in range(n_planes):
        change[p] = pool.scale[first + p] * (alpha[p] - change[p])
        pool.idle[first + p] = 0 if alpha[p] > 0.0 else pool.idle[first + p] + 1
    push_sum(blocks, work, w, i, pool.code, pool.code_first[i], n_planes, change)


@both_ways
def add(local, work, pool, scratch, i, length, code, b, scale):
    """Give an output the next slot of block i, with its row of the Gram matrix.

    `local` are the blocks with local coordinates, `scratch` a zero model over them; it
    is left zero.
    """
    first = pool.first[i]
    p = pool.used[i]
    pool.used[i] = p + 1
    pool.alpha[first + p] = 0.0
    pool.b[first + p] = b
    pool.scale[first + p] = scale
    pool.idle[first + p] = 0
    at = pool.code_first[i]
    copy_code(code, np.int64(0), pool.code, at + p * length, length)
    size = pool.room[i]
    begin = pool.gram_first[i]
    gram = pool.gram[begin : begin + size * size].reshape(size, size)
    push(local, scratch, i, code, scale)
    margins(local, work, scratch, i, pool.code, at, p + 1, gram[p])
    for q in range(p + 1):
        gram[p, q] *= pool.scale[first + q]
        gram[q, p] = gram[p, q]
    wipe(local, scratch, i, code)


@both_ways
def recall_slopes(blocks, work, pool, i, slope):
    """B − <w, a> of the planes of block i, from the scores in `work`."""
    n_planes = pool.used[i]
    recall_margins(blocks, work, i, pool.code, pool.code_first[i], n_planes, slope)
    to_slopes(pool, i, slope)


@both_ways
def current_slopes(blocks, work, pool, w, i, slope):
    """B − <w, a> of the planes of block i, from the model."""
    n_planes = pool.used[i]
    margins(blocks, work, w, i, pool.code, pool.code_first[i], n_planes, slope)
    to_slopes(pool, i, slope)


@kernel
def to_slopes(pool, i, slope):
    """Turn <w, δ> of the planes of block i into b − scale·<w, δ>."""
    for p in range(pool.used[i]):
        slot = pool.first[i] + p
        slope[p] = pool.b[slot] - pool.scale[slot] * slope[p]


@both_ways
def visit(
    blocks, local, work, pool, w, scratch, i, plane, code, weight, cap, ridge, penalty,
    eps, steps, limit, slope, old, gaps, excess,
):  # fmt: skip
    """Show block i a plane (b, scale, violation): enlarge the pool, ascend, update w.

    `slope` holds b − <w, a> of the planes of the pool; it has room for one more.
    ``eps < 0``: Frank-Wolfe; every visit ascends. ``eps ≥ 0``: the working set of
    Algorithm 1 (ICML 2004); the block moves only when its new plane is violated by more
    than ξ_i + ε, so that a sweep without additions leaves w as it was checked. Returns
    whether a plane was added.
    """
    b, scale, violation = plane
    length = code_length(blocks, i)
    first = pool.first[i]
    slack, inner, mass = 0.0, 0.0, 0.0
    for p in range(pool.used[i]):
        slack = max(slack, slope[p])
        inner += pool.alpha[first + p] * slope[p]
        mass += pool.alpha[first + p]
    gaps[i] = block_gap(penalty, weight, max(violation, slack), mass, inner)
    excess[i] = violation - slack
    is_new = violation > slack + max(eps, 0.0)
    is_new = is_new and not contains(pool, i, length, code)
    if is_new:
        make_room(pool, i, length)
        slope[pool.used[i]] = violation
        add(local, work, pool, scratch, i, length, code, b, scale)
    elif eps >= 0.0:
        return False
    if pool.used[i] > 0:
        move(blocks, work, pool, w, i, slope, old, cap, ridge, steps, 0.0)
        drop_idle(pool, i, length, limit)
    return is_new


@optional_operation
def ascend_block(
    blocks, local, work, pool, w, scratch, i, weight, cap, ridge, penalty, eps, steps,
    limit, fresh, slope, old, gaps, excess,
):  # fmt: skip
    """Visit block i with its most violated plane at w; returns whether it was added.

    A structure whose outputs are few may keep all of them in the pool and ascend in a
    way of its own, as an exact step on the simplex of all classes. It must leave
    w = Σ α a, `gaps` and `excess` as `visit` does.
    """
    code = fresh[: code_length(blocks, i)]
    b, scale, violation, _ = find_output(blocks, work, w, i, code)
    recall_slopes(blocks, work, pool, i, slope)
    return visit(
        blocks, local, work, pool, w, scratch, i, (b, scale, violation), code, weight,
        cap, ridge, penalty, eps, steps, limit, slope, old, gaps, excess,
    )  # fmt: skip


@sweep_of(
    blocks=("code_length", "find_output", "recall_margins", "push_sum"),
    local=("push", "margins", "wipe"),
)
def sweep(
    blocks, local, work, pool, w, scratch, order, first, last, weight, cap, ridge,
    penalty, eps, steps, limit, fresh, slope, old, gaps, excess,
):  # fmt: skip
    """Visit the blocks order[first:last] with their most violated planes at w.

    Returns (planes added, where it stopped): before `last` only when the arenas have no
    room for the next block.
    """
    added = 0
    for q in range(first, last):
        i = order[q]
        if not can_grow(pool, i, code_length(blocks, i), slope.shape[0]):
            return added, q
        if ascend_block(
            blocks, local, work, pool, w, scratch, i, weight[i], cap[i], ridge[i],
            penalty, eps, steps, limit, fresh, slope, old, gaps, excess,
        ):  # fmt: skip
            added += 1
    return added, last


@sweep_of(
    blocks=("code_length", "margins", "margin", "push_sum"),
    local=("push", "margins", "wipe"),
)
def show(
    blocks, local, work, pool, w, scratch, cuts, first, last, weight, cap, ridge,
    penalty, steps, limit, slope, old, gaps, excess,
):  # fmt: skip
    """Visit blocks with planes found at an earlier w; returns what `sweep` returns."""
    added = 0
    for r in range(first, last):
        i = cuts.block[r]
        if not can_grow(pool, i, code_length(blocks, i), slope.shape[0]):
            return added, r
        code = cuts.code[cuts.indptr[r] : cuts.indptr[r + 1]]
        current_slopes(blocks, work, pool, w, i, slope)
        violation = cuts.b[r] - cuts.scale[r] * margin(blocks, w, i, code)
        if visit(
            blocks, local, work, pool, w, scratch, i,
            (cuts.b[r], cuts.scale[r], violation), code, weight[i], cap[i], ridge[i],
            penalty, -1.0, steps, limit, slope, old, gaps, excess,
        ):  # fmt: skip
            added += 1
    return added, last


@sweep_of(local=("push", "margins", "wipe"))
def load(local, work, pool, scratch, cuts, alpha, first, last):
    """Put given planes with their α into the pool; returns where it stopped."""
    for r in range(first, last):
        i = cuts.block[r]
        length = cuts.indptr[r + 1] - cuts.indptr[r]
        if not can_grow(pool, i, length, pool.used[i] + 1):
            return r
        make_room(pool, i, length)
        code = cuts.code[cuts.indptr[r] : cuts.indptr[r + 1]]
        add(local, work, pool, scratch, i, length, code, cuts.b[r], cuts.scale[r])
        pool.alpha[pool.first[i] + pool.used[i] - 1] = alpha[r]
    return last


@sweep_of(local=("code_length", "push", "margins", "wipe"))
def renew_grams(local, work, pool, scratch, rows, row):
    """Compute the Gram tables of these blocks again, after a change of their truths."""
    for r in range(rows.shape[0]):
        i = rows[r]
        length = code_length(local, i)
        at, size, begin = pool.code_first[i], pool.room[i], pool.gram_first[i]
        first = pool.first[i]
        for p in range(pool.used[i]):
            code = pool.code[at + p * length : at + (p + 1) * length]
            push(local, scratch, i, code, pool.scale[first + p])
            margins(local, work, scratch, i, pool.code, at, pool.used[i], row)
            for q in range(pool.used[i]):
                pool.gram[begin + p * size + q] = pool.scale[first + q] * row[q]
            wipe(local, scratch, i, code)


@sweep_of(blocks=("margins",))
def assess(blocks, work, pool, w, violation, weight, penalty, slope, gaps, slacks):
    """Shares of the gap, and ξ_i over the pool, of all blocks at one w.

    `violation` is that of each block from a full pass of the oracle.
    """
    for i in range(gaps.shape[0]):
        current_slopes(blocks, work, pool, w, i, slope)
        slack, inner, mass = 0.0, 0.0, 0.0
        for p in range(pool.used[i]):
            alpha = pool.alpha[pool.first[i] + p]
            slack = max(slack, slope[p])
            inner += alpha * slope[p]
            mass += alpha
        gaps[i] = block_gap(penalty, weight[i], violation[i], mass, inner)
        slacks[i] = slack


@sweep_of(blocks=("margins",))
def choose(blocks, work, pool, w, slope, chosen, violation):
    """The most violated plane in the pool of each block: its place, −1 for none."""
    for i in range(chosen.shape[0]):
        current_slopes(blocks, work, pool, w, i, slope)
        chosen[i], violation[i] = -1, 0.0
        for p in range(pool.used[i]):
            if slope[p] > violation[i]:
                chosen[i], violation[i] = p, slope[p]


@sweep_of(blocks=("margins", "push_sum"))
def polish(blocks, work, pool, w, order, cap, ridge, steps, slope, old, tol):
    """Visit blocks without the oracle: ascent over the planes of their pools.

    Returns the largest slope of a pair before its step, to judge convergence.
    """
    largest = 0.0
    for q in range(order.shape[0]):
        i = order[q]
        n_planes = pool.used[i]
        if n_planes == 0:
            continue
        first = pool.first[i]
        mass, best, worst = 0.0, 0.0, 0.0
        for p in range(n_planes):
            mass += pool.alpha[first + p]
        if cap[i] - mass <= 0.0:
            worst = np.inf
        current_slopes(blocks, work, pool, w, i, slope)
        for p in range(n_planes):
            best = max(best, slope[p] - ridge[i] * mass)
            if pool.alpha[first + p] > 0.0:
                worst = min(worst, slope[p] - ridge[i] * mass)
        largest = max(largest, best - worst)
        if best - worst > tol:
            move(
                blocks, work, pool, w, i, slope, old, cap[i], ridge[i], steps, 0.1 * tol
            )
    return largest
