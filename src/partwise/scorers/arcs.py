"""The scorer of arcs: score of (head, dependent, label) from features made on the fly.

The operations below are what a structure over arcs asks of any scorer, in the manner of
`partwise.compiled`.
"""

from __future__ import annotations

from partwise.compiled import operation
from partwise.features._arc_kernels import N_VARIANTS, ArcFeatures
from partwise.protocol import Ints
from partwise.scorers._arc_rows import ArcRows, bind_rows


@operation
def score_arcs(rows, w, i, scores):
    """Scores of all arcs of sentence i into the buffers `scores`."""
    return rows.score_arcs(w, i, scores)


@operation
def dot_arc(rows, w, i, h, d):
    """Score of one arc, without its label."""
    return rows.dot_arc(w, i, h, d)


@operation
def add_arc(rows, w, i, h, d, coef):
    """Add coef times the features of one arc to w."""
    return rows.add_arc(w, i, h, d, coef)


@operation
def wipe_arc(rows, w, i, h, d):
    """Set the weights of one arc's features to zero."""
    return rows.wipe_arc(w, i, h, d)


@operation
def dot_label(rows, w, i, h, d, label):
    """Score of the label of one arc; 0 without labels."""
    return rows.dot_label(w, i, h, d, label)


@operation
def add_label(rows, w, i, h, d, label, coef):
    """Add coef times the features of the label of one arc to w."""
    return rows.add_label(w, i, h, d, label, coef)


@operation
def wipe_label(rows, w, i, h, d, label):
    """Set the weights of the features of an arc's label to zero."""
    return rows.wipe_label(w, i, h, d, label)


class ArcScorer:
    """Binds features of arcs, and of labelled arcs, to a tag for kernels.

    Examples
    --------
    >>> from partwise.features.arcs import ArcFeaturizer
    >>> featurizer = ArcFeaturizer("head.word|dep.word", hash_bits=4)
    >>> n_weights(ArcScorer().bind(featurizer.transform([["a", "b"]])))
    272
    """

    is_euclidean = True

    def bind(self, features: ArcFeatures, n_labels: int = 0) -> ArcRows:
        """Arcs with `n_labels` labels, or without (0)."""
        return bind_rows(features, n_labels)

    def n_weights(self, rows: ArcRows) -> int:
        """Length of a model."""
        return n_weights(rows)

    def local(self, rows: ArcRows, offset: Ints) -> ArcRows:
        """For inner products within a sentence: the rows themselves."""
        return rows


def n_weights(rows: ArcRows) -> int:
    """Length of a model."""
    n_rows, n_label_rows = rows.layout[3:5].tolist()
    return n_rows * N_VARIANTS + n_label_rows * 2 * rows.width
