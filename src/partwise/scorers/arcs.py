"""The scorer of arcs: score of (head, dependent, label) from features made on the fly.

The operations below are what a structure over arcs asks of any scorer, in the manner of
`partwise.compiled`.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from partwise.compiled import operation, optional_operation
from partwise.features._arc_compiled import N_VARIANTS, ArcFeatures
from partwise.protocol import Ints, Scorer
from partwise.scorers._arc_candidates import bind_candidates
from partwise.scorers._arc_lists import list_arcs
from partwise.scorers._arc_rows import bind_rows
from partwise.scorers._stored_arcs import StoredRows, bind_lists, bind_local
from partwise.scorers._stored_parts import (
    StoredParts,
    bind_local_parts,
    bind_parts,
)


@operation
def score_arcs(rows, w, i, scores):
    """Scores of all arcs of sentence i into the buffers `scores`."""


@optional_operation
def knows_all(rows):
    """Whether `score_arcs` scores every arc, and forbids none."""
    return True


@operation
def dot_arc(rows, w, i, h, d):
    """Score of one arc, without its label."""


@operation
def add_arc(rows, w, i, h, d, coef):
    """Add coef times the features of one arc to w."""


@operation
def wipe_arc(rows, w, i, h, d):
    """Set the weights of one arc's features to zero."""


@operation
def dot_label(rows, w, i, h, d, label):
    """Score of the label of one arc; 0 without labels."""


@operation
def add_label(rows, w, i, h, d, label, coef):
    """Add coef times the features of the label of one arc to w."""


@operation
def wipe_label(rows, w, i, h, d, label):
    """Set the weights of the features of an arc's label to zero."""


class ArcScorer(Scorer):
    """Binds features of arcs, and of labelled arcs, to a tag for kernels.

    Parameters
    ----------
    memory : float
        Bytes for lists of the rows of all arcs (`_arc_lists.py`), which make training
        several times faster. Where they take more, and with 0, the rows are found anew
        whenever an arc is scored.

    Examples
    --------
    >>> from partwise.features.arcs import ArcFeaturizer
    >>> featurizer = ArcFeaturizer("head.word|dep.word", hash_bits=4)
    >>> n_weights(ArcScorer().bind(featurizer.transform([["a", "b"]])))
    272
    """

    is_euclidean = True

    def __init__(self, memory: float = 0.0) -> None:
        self.memory = memory

    def bind(
        self, parts: ArcFeatures, width: int = 0, heads: Ints | None = None
    ) -> Any:
        """Arcs with `width` labels, or without (0).

        With candidate `heads`, (n_words, K) int32 and −1 for none, also their siblings
        and grandparents.
        """
        lists = list_arcs(parts, self.memory, heads) if self.memory > 0 else None
        if heads is None:
            if lists is None:
                return bind_rows(parts, width)
            return bind_lists(parts, lists, width)
        if lists is None:
            return bind_candidates(parts, width, heads)
        return bind_parts(parts, lists, width, heads)

    def n_weights(self, rows: Any) -> int:
        """Length of a model."""
        return n_weights(rows)

    def local(self, rows: Any, offset: Ints) -> Any:
        """For inner products within a sentence: with a small model, if listed."""
        if isinstance(rows, StoredParts):
            return bind_local_parts(rows)
        return bind_local(rows) if isinstance(rows, StoredRows) else rows


def n_weights(rows: Any) -> int:
    """Length of a model."""
    n_table = 0
    rows = _arcs_of(rows)
    if isinstance(rows, StoredRows):
        n_rows, n_label_rows = len(rows.used), len(rows.label_used)
        n_table = rows.n_table
    else:
        n_rows, n_label_rows = rows.layout[3:5].tolist()
    return n_table + n_rows * N_VARIANTS + n_label_rows * 2 * rows.width


def _arcs_of(rows: Any) -> Any:
    """The rows of arcs alone."""
    return rows.arcs if isinstance(rows, StoredParts) else rows


def all_weights(rows: Any, features: ArcFeatures, model: Any) -> Any:
    """A model with a row of weights for every row of the featurizer."""
    rows = _arcs_of(rows)
    if not isinstance(rows, StoredRows):
        return model
    width = 2 * rows.width
    middle = features.n_rows * N_VARIANTS
    weights = np.zeros(middle + features.n_label_rows * width)
    for whole, part, used, size in _tables(rows, features, weights, model):
        whole.reshape(-1, size)[used] = part.reshape(-1, size)
    return weights


def used_weights(rows: Any, features: ArcFeatures, weights: Any) -> Any:
    """The inverse of `all_weights`; weights of rows without an arc are left out."""
    rows = _arcs_of(rows)
    if not isinstance(rows, StoredRows):
        return weights
    model = np.zeros(n_weights(rows))
    for whole, part, used, size in _tables(rows, features, weights, model):
        part.reshape(-1, size)[:] = whole.reshape(-1, size)[used]
    return model


def _tables(
    rows: StoredRows, features: ArcFeatures, weights: Any, model: Any
) -> list[tuple[Any, Any, Any, int]]:
    """Weights of arcs and of labels: all, those in use, their rows, the rows' size."""
    middle, n_used = features.n_rows * N_VARIANTS, len(rows.used) * N_VARIANTS
    tables = [(weights[:middle], model[:n_used], rows.used, N_VARIANTS)]
    if rows.width > 0:
        labels = weights[middle:], model[n_used:], rows.label_used, 2 * rows.width
        tables.append(labels)
    return tables
