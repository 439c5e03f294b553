"""Numba kernel of arc keys."""

from partwise.jit import njit


@njit(cache=True, nogil=True)
def add_shares(offset, first, head, dep, steps, number, key):
    """Write keys into column `number` of `key`: shares of both ends and the distance.

    Shares of positions are (n_positions,), below zero for "no value"; those of
    distances begin with the most negative one.
    """
    longest = steps.shape[0] // 2
    for i in range(offset.shape[0] - 1):
        begin = offset[i]
        n = offset[i + 1] - begin - 1
        for h in range(n + 1):
            for d in range(1, n + 1):
                if h != d:
                    found = head[begin + h] + dep[begin + d] + steps[longest + d - h]
                    key[first[i] + h * n + d - 1, number] = max(found, -1)
