"""The exact step over all classes of one example, for L1 margin rescaling.

With all else fixed, the dual of `objective.py` in the variables of example i is

    maximise  Σ_k α_k g_k − ½ q Σ_k (α_k − α⁰_k)²,    α ≥ 0,  Σ_k α_k = c_i

over all K classes, the truth y included, whose α_y is the mass that no plane holds. α⁰
is the present point, g_k = Δ(y, k) + <w, Ψ(x, k) − Ψ(x, y)> the violation of class k at
the present w, which is 0 for the truth, and q = <Φ(x), Φ(x)>. The quadratic term has
this simple form because classes have no attributes in common: the step changes the
weights of class k by (α⁰_k − α_k)·Φ(x), those of the truth included. Its solution is
the projection of α⁰ + g/q onto the simplex of size c_i:

    α_k = max(α⁰_k + g_k/q − θ, 0),   θ such that they add up to c_i.

Crammer, Singer: On the algorithmic implementation of multiclass kernel-based vector
machines, JMLR 2001. Keerthi, Sundararajan, Chang, Hsieh, Lin: A sequential dual method
for large scale multi-class linear SVMs, KDD 2008; there θ is found by sorting and some
classes are left out for a while (shrinking). Here all classes are scored in vectors,
which costs less than choosing among them; which examples are visited, the solver
decides by their share of the duality gap.

The planes with α > 0 are kept in the pool of the block. Their Gram matrix is
q·(1 + [k = l]), whatever the classes. A pool has room for a few planes. When an optimum
needs more, classes that hold mass stay and those of largest target fill the room; a
full pool doubles. At w = 0 all classes are alike and would all get a share, of which
the next visits leave one or two.
"""

import numpy as np

from partwise.compiled import add_row, kernel, uncounted
from partwise.structures.multiclass._compiled import MulticlassBlocks, score_classes

NEGLIGIBLE = 1e-14  # of c_i: changes that are not worth a pass over the features
TINY = 1e-250  # below it, g/q might overflow, and q·c_i² is nothing beside c_i·g


@uncounted
class SimplexBlocks(MulticlassBlocks):
    """Blocks whose visits are exact steps over all classes."""

    __slots__ = ()

    def ascend_block(
        blocks, local, work, pool, w, scratch, i, weight, cap, ridge, penalty, eps,
        steps, limit, fresh, slope, old, gaps, excess,
    ):  # fmt: skip
        scores, target = work.scores, work.target
        score_classes(blocks, work.parts, w, i, scores)
        y, used = blocks.y[i], pool.used[i]
        top = fill_violations(blocks.b, y, scores, target)
        if used == 0 and top <= 0.0:
            gaps[i], excess[i] = 0.0, 0.0
            return False
        alpha = work.alpha
        mass, slack, inner = recall_alpha(pool, i, target, alpha)
        gaps[i] = weight * top - inner
        excess[i] = top - slack
        if eps >= 0.0 and top <= slack + eps:
            return False
        alpha[y] = max(cap - mass, 0.0)
        fill_target(alpha, blocks.square[i], target)
        theta = threshold(target, cap)
        # a full pool doubles; the sweep has made sure that it can take one plane more
        room = pool.room[i] if used < pool.room[i] else 2 * pool.room[i]
        room = min(room, slope.shape[0]) if eps < 0.0 else used + 1
        if n_above(target, theta, y) > room:
            keep_largest(alpha, y, room - used, target)
            theta = threshold(target, cap)
        settle(target, theta, y, cap)
        push_change(blocks, w, i, alpha, target, NEGLIGIBLE * cap)
        return store(pool, i, blocks.b, y, blocks.square[i], alpha, target)


@kernel
def fill_violations(b, y, scores, out):
    """Write g_k of all classes; returns the largest, which is 0 at least."""
    top = 0.0
    truth = scores[y]
    for k in range(scores.shape[0]):
        out[k] = b[y, k] - (truth - scores[k])
        top = max(top, out[k])
    return top


@kernel
def recall_alpha(pool, i, violation, alpha):
    """Fill α from the pool; returns Σ α, the largest violation of a plane, Σ α·g."""
    for k in range(alpha.shape[0]):
        alpha[k] = 0.0
    mass, slack, inner = 0.0, 0.0, 0.0
    for p in range(pool.used[i]):
        k = pool.code[pool.code_first[i] + p]
        share = pool.alpha[pool.first[i] + p]
        alpha[k] = share
        mass += share
        slack = max(slack, violation[k])
        inner += share * violation[k]
    return mass, slack, inner


@kernel
def fill_target(alpha, square, target):
    """Turn g into α + g/q, less its maximum: rounding then is relative to c_i."""
    peak = -np.inf
    if square > TINY:
        for k in range(target.shape[0]):
            target[k] = alpha[k] + target[k] / square
            peak = max(peak, target[k])
        for k in range(target.shape[0]):
            target[k] -= peak
        return
    # Without features the program is linear: all mass goes to the largest g.
    steepest = 0
    for k in range(target.shape[0]):
        if target[k] > peak:
            peak, steepest = target[k], k
    for k in range(target.shape[0]):
        target[k] = 0.0 if k == steepest else -np.inf


@kernel
def threshold(target, size):
    """Find θ with Σ_k max(target_k − θ, 0) = size, where the largest target is 0.

    The sum is convex and falling in θ, so Newton's method from the left never passes
    the solution, and ends because every step but the last leaves out a class.
    """
    theta = -size
    while True:
        total, count = 0.0, 0
        for k in range(target.shape[0]):
            if target[k] > theta:
                total += target[k]
                count += 1
        new = (total - size) / count
        if not new > theta:
            return theta
        theta = new


@kernel
def n_above(target, theta, y):
    """Classes but the truth that get a share."""
    count = 0
    for k in range(target.shape[0]):
        if target[k] > theta and k != y:
            count += 1
    return count


@kernel
def keep_largest(alpha, y, places, target):
    """Leave out classes without mass, but for so many of the largest target."""
    bound, place = np.inf, -1  # the last class kept; equal ones in their order
    for _ in range(places):
        best, chosen = -np.inf, -1
        for k in range(target.shape[0]):
            is_next = target[k] < bound or (target[k] == bound and k > place)
            if is_next and target[k] > best and alpha[k] == 0.0 and k != y:
                best, chosen = target[k], k
        if chosen < 0:
            return
        bound, place = best, chosen
    for k in range(target.shape[0]):
        is_next = target[k] < bound or (target[k] == bound and k > place)
        if is_next and alpha[k] == 0.0 and k != y:
            target[k] = -np.inf


@kernel
def settle(target, theta, y, size):
    """Turn targets into α of the planes, whose sum must not exceed c_i by rounding."""
    total = 0.0
    for k in range(target.shape[0]):
        target[k] = max(target[k] - theta, 0.0) if k != y else 0.0
        total += target[k]
    if total > size:
        for k in range(target.shape[0]):
            target[k] *= size / total


@kernel
def push_change(blocks, w, i, old, new, least):
    """Carry the change of α into w: w[:, k] −= change·x, and back for the truth."""
    y = blocks.y[i]
    moved = 0.0
    for k in range(new.shape[0]):
        change = new[k] - old[k]
        if k != y and abs(change) > least:
            add_row(blocks.rows, w, blocks.width, i, k, -change)
            moved += change
    if moved != 0.0:
        add_row(blocks.rows, w, blocks.width, i, y, moved)


@kernel
def store(pool, i, b, y, square, old, new):
    """Replace the planes of block i by those with α > 0; whether one of them is new."""
    count, added = 0, False
    for k in range(new.shape[0]):
        if new[k] > 0.0:
            count += 1
            added = added or old[k] == 0.0
    known = pool.used[i]
    if count > pool.room[i]:  # move to the end of the arenas
        size = 2 * pool.room[i]
        pool.room[i] = size
        pool.first[i], pool.code_first[i], pool.gram_first[i] = (
            pool.ends[0],
            pool.ends[1],
            pool.ends[2],
        )
        pool.ends[0] += size
        pool.ends[1] += size
        pool.ends[2] += size * size
        known = 0
    first, code_first = pool.first[i], pool.code_first[i]
    p = 0
    for k in range(new.shape[0]):
        if new[k] > 0.0:
            pool.alpha[first + p] = new[k]
            pool.b[first + p] = b[y, k]
            pool.scale[first + p] = 1.0
            pool.idle[first + p] = 0
            pool.code[code_first + p] = k
            p += 1
    size, begin = pool.room[i], pool.gram_first[i]
    for p in range(known, count):
        for q in range(p + 1):
            value = 2.0 * square if p == q else square
            pool.gram[begin + p * size + q] = value
            pool.gram[begin + q * size + p] = value
    pool.used[i] = count
    return added
