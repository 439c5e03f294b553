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
from partwise.structures._exact_step import NEGLIGIBLE, TINY, enlarge
from partwise.structures.multiclass._compiled import MulticlassBlocks, score_classes


@uncounted
class SimplexBlocks(MulticlassBlocks):
    """Blocks whose visits are exact steps over all classes."""

    __slots__ = ()

    def ascend_block(
        blocks, local, work, pool, w, scratch, i, weight, cap, ridge, penalty, eps,
        steps, limit, fresh, slope, old, gaps, excess,
    ):  # fmt: skip
        scores, violation, alpha = work.scores, work.spare, work.alpha
        score_classes(blocks, work.parts, w, i, scores)
        y, used = blocks.y[i], pool.used[i]
        top = fill_violations(blocks.b, y, scores, violation)
        if used == 0 and top <= 0.0:
            gaps[i], excess[i] = 0.0, 0.0
            return False
        first, at = pool.first[i], pool.code_first[i]
        mass, slack, inner = 0.0, 0.0, 0.0
        for p in range(used):
            k, share = pool.code[at + p], pool.alpha[first + p]
            alpha[k] = share
            mass += share
            slack = max(slack, violation[k])
            inner += share * violation[k]
        gaps[i] = weight * top - inner
        excess[i] = top - slack
        if eps >= 0.0 and top <= slack + eps:
            forget(pool.code, at, used, y, alpha)
            return False
        alpha[y] = max(cap - mass, 0.0)
        target, chosen = work.target, work.chosen
        n = list_candidates(alpha, violation, blocks.square[i], cap, target, chosen)
        # A full pool doubles; the sweep has made sure that it can take one plane more.
        room = pool.room[i] if used < pool.room[i] else 2 * pool.room[i]
        room = min(room, slope.shape[0]) if eps < 0.0 else used + 1
        n = project(alpha, y, cap, room, used, n, target, chosen)
        # The change of α is carried into w: of classes with mass, then of the others.
        rows, width, least = blocks.rows, blocks.width, NEGLIGIBLE * cap
        moved = 0.0
        added = False
        for j in range(n):
            k = chosen[j]
            change = target[j] - alpha[k]
            added = added or alpha[k] == 0.0
            alpha[k] = 0.0
            if abs(change) > least:
                add_row(rows, w, width, i, k, -change)
                moved += change
        for p in range(used):
            k = pool.code[at + p]
            if alpha[k] > 0.0 and k != y:
                add_row(rows, w, width, i, k, alpha[k])
                moved -= alpha[k]
                alpha[k] = 0.0
        alpha[y] = 0.0
        if moved != 0.0:
            add_row(rows, w, width, i, y, moved)
        known = used
        if n > pool.room[i]:  # move to the end of the arenas
            enlarge(
                pool.room, pool.first, pool.code_first, pool.gram_first, pool.ends, i, 1
            )
            first, at, known = pool.first[i], pool.code_first[i], 0
        for j in range(n):
            pool.alpha[first + j] = target[j]
            if j >= known or pool.code[at + j] != chosen[j]:  # else memory is spared
                pool.code[at + j] = chosen[j]
                pool.b[first + j] = blocks.b[y, chosen[j]]
                pool.scale[first + j] = 1.0
                pool.idle[first + j] = 0
        if n > known:
            begin, size = pool.gram_first[i], pool.room[i]
            fill_gram(pool.gram, begin, size, known, n, blocks.square[i])
        pool.used[i] = n
        return added


@kernel
def fill_violations(b, y, scores, out):
    """Write g_k of all classes; returns the largest, which is 0 at least."""
    truth = scores[y]
    for k in range(scores.shape[0]):
        out[k] = b[y, k] - (truth - scores[k])
    return largest(out)


@kernel
def largest(values):
    """The largest of some numbers, 0 at least; four chains of comparisons."""
    n = values.shape[0] // 4 * 4
    one, two, three, four = 0.0, 0.0, 0.0, 0.0
    for k in range(0, n, 4):
        one, two = max(one, values[k]), max(two, values[k + 1])
        three, four = max(three, values[k + 2]), max(four, values[k + 3])
    for k in range(n, values.shape[0]):
        one = max(one, values[k])
    return max(max(one, two), max(three, four))


@kernel
def forget(code, at, n, y, alpha):
    """Leave α zero, as every visit finds it."""
    for p in range(n):
        alpha[code[at + p]] = 0.0


@kernel
def list_candidates(alpha, violation, square, size, target, chosen):
    """List the classes that may get mass, with α + g/q less its maximum over all.

    α of a class is the difference of its target and θ, and the largest is at most
    c_i: targets c_i below the maximum get nothing. Differences to the maximum are
    rounded relative to c_i.
    """
    n_classes = alpha.shape[0]
    if not square > TINY:  # the program is linear: all mass goes to the largest g
        best = 0
        for k in range(n_classes):
            if violation[k] > violation[best]:
                best = k
        chosen[0], target[0] = best, 0.0
        return 1
    inverse = 1.0 / square
    for k in range(n_classes):
        violation[k] = alpha[k] + violation[k] * inverse
    peak = largest(violation)  # some α or some g is not negative
    floor = peak - size
    n = 0
    for k in range(n_classes):  # without a branch, which processors mispredict
        chosen[n], target[n] = k, violation[k] - peak
        n += violation[k] > floor
    return n


@kernel
def threshold(target, n, size):
    """Find θ with Σ max(target − θ, 0) = size over n targets, 0 to −size.

    The sum is convex and falling in θ, so Newton's method from the left never passes
    the solution, and ends because every step but the last leaves out a class.
    """
    total, count = 0.0, n
    for j in range(n):
        total += target[j]
    while True:
        theta = (total - size) / count
        before, total, count = count, 0.0, 0
        for j in range(n):
            is_above = target[j] > theta
            total += target[j] if is_above else 0.0
            count += is_above
        if count >= before or count == 0:  # more, or none, by rounding
            return theta


@kernel
def project(alpha, y, size, room, used, n, target, chosen):
    """Turn the targets of n classes into α; returns how many classes but y have mass.

    These come first in `target` and `chosen`, at most `room` of them.
    """
    theta = threshold(target, n, size)
    if n > room and n_above(target, chosen, n, theta, y) > room:
        n = keep_largest(alpha, y, room - used, n, target, chosen)
        theta = threshold(target, n, size)
    total, count = 0.0, 0
    for j in range(n):
        share = target[j] - theta
        has_mass = share > 0.0 and chosen[j] != y
        target[count], chosen[count] = share, chosen[j]
        total += share if has_mass else 0.0
        count += has_mass
    if total > size:  # by rounding
        for j in range(count):
            target[j] *= size / total
    return count


@kernel
def n_above(target, chosen, n, theta, y):
    """Classes but the truth that get mass."""
    count = 0
    for j in range(n):
        count += target[j] > theta and chosen[j] != y
    return count


@kernel
def keep_largest(alpha, y, places, n, target, chosen):
    """Leave out classes without mass, but for so many of the largest target."""
    bound, last = np.inf, -1  # the last class kept; equal ones in their order
    for _ in range(places):
        best, place = -np.inf, -1
        for j in range(n):
            is_next = target[j] < bound or (target[j] == bound and j > last)
            is_other = alpha[chosen[j]] == 0.0 and chosen[j] != y
            if is_next and is_other and target[j] > best:
                best, place = target[j], j
        bound, last = best, place
    count = 0
    for j in range(n):
        is_next = target[j] < bound or (target[j] == bound and j > last)
        if not is_next or alpha[chosen[j]] > 0.0 or chosen[j] == y:
            target[count], chosen[count] = target[j], chosen[j]
            count += 1
    return count


@kernel
def fill_gram(gram, begin, size, known, n, square):
    """Inner products of planes from number `known` on with all before them."""
    for p in range(known, n):
        for q in range(p + 1):
            value = 2.0 * square if p == q else square
            gram[begin + p * size + q] = value
            gram[begin + q * size + p] = value
