"""Losses of segmentations, each a sum over predicted segments."""

HAMMING, SEGMENTS, OVERLAP = range(3)
LOSSES = {"hamming": HAMMING, "segments": SEGMENTS, "overlap": OVERLAP}


def segment_cost(kind, first, last, label, outside, y, begin, n_labels):
    """What a predicted segment [first, last) of a label adds to the loss.

    `y` holds the code of the truth from place `begin` on: the label of each token, plus
    `n_labels` where a segment begins. With counts of segments other than `outside` the
    losses are

    * hamming: tokens of a wrong label;
    * segments: |true| + |predicted| − 2·|both|;
    * overlap: |true| + |predicted| − 2·Σ (largest |both tokens| / |either| of the
      predicted segment with a true one of its label).

    |true| is left to the caller. Segments of an output are disjoint, so the overlaps
    with one true segment add up to 1 at most, and no loss is negative.
    """
    if kind == HAMMING:
        n_wrong = 0
        for t in range(first, last):
            if y[begin + t] % n_labels != label:
                n_wrong += 1
        return float(n_wrong)
    if label == outside:
        return 0.0
    length = y.shape[0]
    best = 0.0
    t = first
    while t < last:
        here = begin + t
        while y[here] < n_labels:  # the beginning of the true segment
            here -= 1
        end = here + 1
        while end < length and y[end] < n_labels:
            end += 1
        if y[here] - n_labels == label:
            both = min(end - begin, last) - max(here - begin, first)
            either = max(end - begin, last) - min(here - begin, first)
            share = both / either
            if kind == SEGMENTS and share < 1.0:
                share = 0.0
            best = max(best, share)
        t = end - begin
    return 1.0 - 2.0 * best


def count_segments(y, first, last, outside, n_labels):
    """Segments of a code in [first, last), but for those of one label."""
    n = 0
    for t in range(first, last):
        if y[t] >= n_labels and y[t] - n_labels != outside:
            n += 1
    return n
