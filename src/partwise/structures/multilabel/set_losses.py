"""Losses of a predicted set of labels, from the counts of its true and false ones."""

HAMMING, JACCARD, F1, ZERO_ONE = range(4)
LOSSES = {"hamming": HAMMING, "jaccard": JACCARD, "f1": F1, "zero_one": ZERO_ONE}


def set_loss(kind, n_true, tp, fp):
    """Δ of a set with so many true and false labels; also compiled, for kernels.

    Hamming: labels in which two sets differ. Jaccard: 1 − |both| / |either|. F1:
    1 − 2|both| / (|one| + |other|). Zero-one: 1 for another set. Two empty sets agree.

    Examples
    --------
    >>> [set_loss(kind, 3, 2, 1) for kind in (HAMMING, JACCARD, ZERO_ONE)]
    [2.0, 0.5, 1.0]
    """
    if tp == n_true and fp == 0:
        return 0.0
    if kind == HAMMING:
        return float(n_true - tp + fp)
    if kind == JACCARD:
        return 1.0 - tp / (n_true + fp)
    if kind == F1:
        return 1.0 - 2.0 * tp / (n_true + tp + fp)
    return 1.0
