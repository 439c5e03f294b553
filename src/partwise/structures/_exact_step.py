"""What exact steps over the dual variables of one block share.

`multiclass/_simplex_step.py` takes them over classes, `multilabel/_label_step.py` over
labels.
"""

from partwise.compiled import kernel

NEGLIGIBLE = 1e-14  # of c_i: changes that are not worth a pass over the features
TINY = 1e-250  # of q: below it, g/q might overflow, and q·c_i² is nothing beside c_i·g


@kernel
def enlarge(room, first, code_first, gram_first, ends, i, length):
    """Give block i twice the room, at the end of the arenas; its planes stay behind.

    The codes of its outputs have this length.
    """
    size = 2 * room[i]
    room[i] = size
    first[i], code_first[i], gram_first[i] = ends[0], ends[1], ends[2]
    ends[0] += size
    ends[1] += size * length
    ends[2] += size * size
