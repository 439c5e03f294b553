"""Losses of segmentations that count segments, each a sum over predicted ones."""

HAMMING, SEGMENTS, OVERLAP = range(3)
LOSSES = {"hamming": HAMMING, "segments": SEGMENTS, "overlap": OVERLAP}


def segment_cost(kind, first, last, label, outside, y, begin, n, label_of, begins):
    """What a predicted segment [first, last) of a label adds to the loss.

    `y` holds codes of the truth from place `begin` on, n of them: ``label_of`` and
    ``begins`` say what they mean. With counts of segments other than `outside` the
    losses are

    * segments: |true| + |predicted| − 2·|both|;
    * overlap: |true| + |predicted| − 2·Σ (largest |both tokens| / |either| of the
      predicted segment with a true one of its label).

    |true| is left to the caller. Segments of an output are disjoint, so the overlaps
    with one true segment add up to 1 at most, and no loss is negative.
    """
    if label == outside:
        return 0.0
    end = begin + n
    best = 0.0
    t = first
    while t < last:
        here = begin + t
        while begins[y[here]] == 0:  # the beginning of the true segment
            here -= 1
        stop = here + 1
        while stop < end and begins[y[stop]] == 0:
            stop += 1
        if label_of[y[here]] == label:
            both = min(stop - begin, last) - max(here - begin, first)
            either = max(stop - begin, last) - min(here - begin, first)
            share = both / either
            if kind == SEGMENTS and share < 1.0:
                share = 0.0
            best = max(best, share)
        t = stop - begin
    return 1.0 - 2.0 * best


def count_segments(y, first, last, outside, label_of, begins):
    """Segments of codes in [first, last), but for those of one label."""
    n = 0
    for t in range(first, last):
        if begins[y[t]] != 0 and label_of[y[t]] != outside:
            n += 1
    return n
