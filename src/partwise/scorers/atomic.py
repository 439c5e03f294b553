"""The scorer of the atomic structural SVM: arcs by keys, sentences by a kernel.

The joint kernel of two sentences with their trees is

    K((x, y), (x', y')) = k(x, x') · Σ_{p ∈ y, p' ∈ y'} Σ_h [h(p, x) = h(p', x')]

with an input kernel k and hash functions h of arcs (003 sections 4.2 and 4.4.2). What a
model is, and how it is kept, stands in `_atomic_rows.py`.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from partwise.features.arc_keys import ArcKeys
from partwise.protocol import CapabilityError, Floats, Ints
from partwise.scorers._atomic_rows import (
    AtomicRows,
    complete_keys,
    number_locally,
    number_slots,
)
from partwise.threads import run_sharded, sum_products


class AtomicScorer:
    """Scores arcs through their keys.

    Parameters
    ----------
    gram : array (n_sentences, n_sentences), optional
        k of all training sentences; symmetric, positive semidefinite. Kept in single
        precision. Without it k = 1: a model over keys alone, as hashed features are.

    Examples
    --------
    >>> from partwise.features.arc_keys import ArcHasher
    >>> keys = ArcHasher("word").transform([["a", "b"], ["a", "b", "c"]])
    >>> rows = AtomicScorer(np.ones((2, 2))).bind(keys)
    >>> rows.n_slots, len(rows.begin) - 1
    (13, 9)
    >>> AtomicScorer().bind(keys).n_slots
    9
    """

    is_euclidean = False
    kept: Ints | None = None  # slots that coefficients are given of; all by default

    def __init__(self, gram: Any = None) -> None:
        self.gram = None
        if gram is not None:
            self.gram = np.ascontiguousarray(gram, np.float32)
            if self.gram.ndim != 2 or self.gram.shape[0] != self.gram.shape[1]:
                raise ValueError(
                    f"gram has shape {self.gram.shape}; give one row and one column "
                    "per training sentence"
                )

    def bind(self, keys: ArcKeys, n_labels: int = 0) -> AtomicRows:
        """Arcs of these sentences with their slots."""
        if n_labels:
            raise CapabilityError(
                "a kernel scores arcs without labels; label the trees afterwards "
                "(construction='given')"
            )
        n = len(keys.first) - 1
        gram = np.ones((n, 1), np.float32) if self.gram is None else self.gram
        if len(gram) != n:
            raise ValueError(f"gram has {len(gram)} rows for {n} sentences")
        return self._number(keys, gram, by_sentence=self.gram is not None)

    def _number(self, keys: ArcKeys, gram: Any, *, by_sentence: bool) -> AtomicRows:
        """Slots of all arcs; without `by_sentence` a key has one for all sentences."""
        n = len(keys.first) - 1
        flat = keys.key.ravel()
        sentence = np.repeat(
            np.arange(n, dtype=np.int32), np.diff(keys.first) * keys.key.shape[1]
        )
        order = np.argsort(flat, kind="stable")
        slot = np.empty(len(flat), np.int32)
        key, anchor = np.empty((2, len(flat)), np.int32)
        begin = np.empty(len(flat) + 1, np.int64)
        n_slots, n_keys = number_slots(
            order, flat, sentence, by_sentence, slot, key, anchor, begin
        )
        return AtomicRows(
            offset=keys.offset - np.arange(n + 1),
            first=keys.first,
            slot=slot.reshape(keys.key.shape),
            key=key[:n_slots].copy(),
            begin=begin[: n_keys + 1].copy(),
            anchor=anchor[:n_slots].copy(),
            gram=gram,
            n_slots=n_slots,
            width=0,
        )

    def n_weights(self, rows: AtomicRows) -> int:
        """Length of a model: coefficients and scores."""
        return 2 * rows.n_slots

    def local(self, rows: AtomicRows) -> AtomicRows:
        """Slots numbered sentence by sentence; within one, k(x, x) is a factor."""
        local = np.empty_like(rows.slot)
        room = np.full(rows.n_slots, -1, np.int32), np.empty(rows.n_slots, np.int32)
        n_slots = number_locally(rows.first, rows.slot, *room, local)
        n = len(rows.gram)
        own = rows.gram[:, 0] if rows.gram.shape[1] == 1 else np.diagonal(rows.gram)
        return rows._replace(
            slot=local,
            key=np.arange(n_slots, dtype=np.int32),
            begin=np.arange(n_slots + 1),
            anchor=np.zeros(n_slots, np.int32),
            gram=np.ascontiguousarray(own.reshape(n, 1)),
            n_slots=n_slots,
        )

    def coefficients_only(self, rows: AtomicRows) -> AtomicRows:
        """The same slots, whose scores are left alone."""
        return rows._replace(begin=np.zeros_like(rows.begin))

    def fill(
        self, rows: AtomicRows, coefficients: Floats, model: Floats, n_jobs: int = 1
    ) -> None:
        """Write the model of these coefficients, of all slots or of those kept."""
        slots: Any = slice(rows.n_slots) if self.kept is None else self.kept
        model[slots] = coefficients
        self.complete(rows, model, n_jobs)

    def complete(self, rows: AtomicRows, model: Floats, n_jobs: int = 1) -> None:
        """Compute the scores that belong to the coefficients, in place."""
        if rows.gram.shape[1] == 1:  # every key has one slot, and k = 1
            model[rows.n_slots :] = model[: rows.n_slots]
            return

        def work_on(first: int, last: int) -> None:
            complete_keys(
                rows.begin, rows.anchor, rows.gram, model, rows.n_slots, first, last
            )

        run_sharded(n_jobs, len(rows.begin) - 1, work_on)

    def dot(self, rows: AtomicRows, one: Floats, other: Floats) -> float:
        """<one, other> = Σ_s β[s]·v'[s]."""
        return float(sum_products(one[: rows.n_slots], other[rows.n_slots :]))
