"""A heap with the largest key on top, in two arrays that the caller owns."""

from partwise.compiled import kernel


@kernel
def sift_up(key, item, at):
    """Restore the order after a larger key at place `at`."""
    while at > 0 and key[(at - 1) // 2] < key[at]:
        up = (at - 1) // 2
        key[at], key[up] = key[up], key[at]
        item[at], item[up] = item[up], item[at]
        at = up


@kernel
def sift_down(key, item, size):
    """Restore the order of `size` keys after a smaller one came on top."""
    at = 0
    while True:
        child = 2 * at + 1
        if child >= size:
            return
        if child + 1 < size and key[child + 1] > key[child]:
            child += 1
        if key[child] <= key[at]:
            return
        key[at], key[child] = key[child], key[at]
        item[at], item[child] = item[child], item[at]
        at = child
