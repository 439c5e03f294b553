"""Lengths of sentences and arcs, grouped for reports."""

Bin = tuple[int, int | None]

ARC_LENGTHS: tuple[Bin, ...] = ((1, 1), (2, 2), (3, 3), (4, 6), (7, 10), (11, None))
SENTENCE_LENGTHS: tuple[Bin, ...] = (
    (1, 5),
    (6, 10),
    (11, 20),
    (21, 30),
    (31, 40),
    (41, None),
)


def bin_name(low: int, high: int | None) -> str:
    """Name of a group of lengths.

    Examples
    --------
    >>> bin_name(1, 1), bin_name(1, 5), bin_name(41, None)
    ('1', '1-5', '> 40')
    """
    if high is None:
        return f"> {low - 1}"
    return str(low) if low == high else f"{low}-{high}"


def length_name(length: int, bins: tuple[Bin, ...] = SENTENCE_LENGTHS) -> str:
    """Name of the group that a length falls in.

    Examples
    --------
    >>> length_name(7), length_name(7, ARC_LENGTHS)
    ('6-10', '7-10')
    """
    for low, high in bins:
        if high is None or length <= high:
            return bin_name(low, high)
    raise ValueError(f"length {length} is in none of the groups {bins}")
