"""The kernel scorer: parts by keys, inputs by a kernel.

The joint kernel of two inputs with their outputs is

    K((x, y), (x', y')) = Σ_{p ∈ y, p' ∈ y'} k(x_p, x'_p') Σ_h [h(p, x) = h(p', x')]

with an input kernel k and hash functions h of parts. The input x_p of a part is the
whole x (the atomic structural SVM, 003 sections 4.2 and 4.4.2), its own token (hidden
Markov SVMs, 002 eq. 7, where h is the label), or nothing: k = 1. What a model is, and
how it is kept, stands in `postings.py`; the trained one in `kernel_index.py`.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np

from partwise.features.arc_keys import ArcKeys
from partwise.features.label_keys import LabelKeys
from partwise.features.phrase_keys import PhraseKeys
from partwise.protocol import CapabilityError, Floats, Ints, Scorer
from partwise.scorers._kernel_rows import ArcSlots, PhraseSlots, TokenSlots
from partwise.scorers.postings import Postings, complete_keys, number_keys, number_slots
from partwise.threads import run_sharded

Keys = ArcKeys | LabelKeys | PhraseKeys
Slots = ArcSlots | TokenSlots | PhraseSlots


class KernelScorer(Scorer):
    """Scores parts through their keys.

    Parameters
    ----------
    gram : array (n_inputs, n_inputs), optional
        k of all inputs of the training data; symmetric, positive semidefinite. In
        single precision it takes half the memory; sums are double in any case. Without
        it k = 1: a model over keys alone, as hashed features are.
    by_token : bool
        Whether inputs are the tokens of sequences, instead of whole sequences.
    dtype : np.float64 or np.float32
        Without a Gram matrix, the precision that others have: sweeps compile for each.

    Examples
    --------
    >>> from partwise.features.arc_keys import ArcHasher
    >>> from partwise.features.label_keys import LabelHasher
    >>> keys = ArcHasher("word").transform([["a", "b"], ["a", "b", "c"]])
    >>> rows = KernelScorer(np.ones((2, 2))).bind(keys)
    >>> rows.postings.n_slots, len(rows.postings.begin) - 1
    (13, 9)
    >>> KernelScorer().bind(keys).postings.n_slots
    9
    >>> keys = LabelHasher("label", ["X", "Y"]).transform([["a", "b"], ["c"]])
    >>> KernelScorer(np.eye(3), by_token=True).bind(keys, 2).postings.n_slots
    6
    """

    is_euclidean = False

    def __init__(
        self, gram: Any = None, *, by_token: bool = False, dtype: Any = np.float64
    ) -> None:
        self.by_token = by_token and gram is not None
        self.dtype = dtype
        self.gram = None
        if gram is not None:
            values = np.asarray(gram)
            precision = np.float32 if values.dtype == np.float32 else np.float64
            self.gram = np.ascontiguousarray(values, precision)
            if self.gram.ndim != 2 or self.gram.shape[0] != self.gram.shape[1]:
                raise ValueError(
                    f"gram has shape {self.gram.shape}; give one row and one column "
                    "per training input"
                )

    def bind(self, parts: Keys, width: int = 0) -> Slots:
        """Parts of the training data with their slots.

        Parameters
        ----------
        parts : ArcKeys, LabelKeys or PhraseKeys
        width : int
            Of arcs, the number of labels, of which there must be none; of chains, the
            labels in a row of weights.
        """
        unit, n_inputs = input_of_parts(parts, by_token=self.by_token)
        if self.gram is None:
            unit[:] = 0  # all parts belong to one anchor
            return self._number(parts, unit, np.ones((n_inputs, 1), self.dtype), width)
        if len(self.gram) != n_inputs:
            what = "tokens" if self.by_token else "sequences"
            raise ValueError(f"gram has {len(self.gram)} rows for {n_inputs} {what}")
        return self._number(parts, unit, self.gram, width)

    def _number(self, keys: Keys, unit: Ints, gram: Any, width: int) -> Slots:
        """Slots of all parts, whose anchors are `unit`, (n_parts,)."""
        n_hashes = keys.key.shape[1]
        flat, unit = keys.key.ravel(), np.repeat(unit, n_hashes)
        order = np.argsort(flat, kind="stable")
        slot = np.empty(len(flat), np.int32)
        key, anchor = np.empty((2, len(flat)), np.int32)
        begin = np.empty(len(flat) + 1, np.int64)
        n_slots, n_keys = number_slots(order, flat, unit, slot, key, anchor, begin)
        postings = Postings(
            key[:n_slots].copy(), begin[: n_keys + 1].copy(), anchor[:n_slots].copy(),
            gram, n_slots,
        )  # fmt: skip
        return self._rows(keys, slot.reshape(keys.key.shape), postings, width)

    def _rows(self, keys: Keys, slot: Any, postings: Postings, width: int) -> Slots:
        if isinstance(keys, ArcKeys):
            if width:
                raise CapabilityError(
                    "a kernel scores arcs without labels; label the trees afterwards "
                    "(<construction='given'>)"
                )
            words = keys.offset - np.arange(len(keys.offset))
            return ArcSlots(words, keys.first, slot, postings, 0)
        if isinstance(keys, PhraseKeys):
            return PhraseSlots(
                keys.offset, keys.first, slot, postings, keys.n_rules, keys.n_labels
            )
        n_tokens = len(keys.token)
        row = np.arange(n_tokens)
        if not self.by_token:
            row = np.repeat(np.arange(len(keys.first) - 1), np.diff(keys.offset))
        return TokenSlots(
            keys.first, keys.token, row, slot, postings, keys.n_labels,
            keys.n_labels**2 if keys.has_pairs else 0, width,
            -(-2 * postings.n_slots // width),
        )  # fmt: skip

    def n_weights(self, rows: Slots) -> int:
        """Coefficients and scores."""
        return 2 * rows.postings.n_slots

    def local(self, rows: Slots, offset: Ints) -> Slots:
        """Slots numbered block by block, with room for the inputs of the longest block.

        Gram matrices of a pool use it: a model of one block stays in the cache.
        """
        slot, postings = rows.slot, rows.postings
        n_parts = len(slot)
        if isinstance(rows, TokenSlots) and self.by_token:
            length = np.diff(offset)
            n_places = int(length.max())
            place_of = np.arange(offset[-1]) - np.repeat(offset[:-1], length)
            place = np.repeat(place_of, rows.n_labels)
            gram = np.zeros((len(postings.gram), n_places), postings.gram.dtype)
            for a, b in pairwise(offset.tolist()):
                gram[a:b, : b - a] = postings.gram[a:b, a:b]
        else:
            n_places, place = 1, np.zeros(n_parts, np.int64)
            gram = postings.gram
            if gram.shape[1] > 1:
                gram = np.diagonal(gram)
            gram = np.ascontiguousarray(gram.reshape(-1, 1))
        n_keys = len(postings.begin) - 1
        room = np.full(n_keys, -1, np.int32), np.empty(n_keys, np.int32)
        local = np.empty_like(slot)
        most = number_keys(
            rows.first, slot, postings.key, place, n_places, *room, local
        )
        n_slots = most * n_places
        if n_slots >= 1 << 31:
            raise ValueError(
                f"a sequence of {n_places} tokens has {most} different keys, too many "
                "for its own table; split long sequences, or use fewer hash functions"
            )
        small = Postings(
            np.repeat(np.arange(most, dtype=np.int32), n_places),
            np.arange(most + 1) * n_places,
            np.tile(np.arange(n_places, dtype=np.int32), most),
            gram,
            n_slots,
        )
        if not isinstance(rows, TokenSlots):
            return rows._replace(slot=local, postings=small)
        n_features = -(-2 * n_slots // rows.width)
        return rows._replace(slot=local, postings=small, n_features=n_features)

    def columns(self, rows: Slots) -> Any:
        """Refuse: gradients of a log loss have a coefficient in every slot."""
        raise CapabilityError(
            "<loss='log'> and <solver='hmm'> have no kernel form here; use a margin, "
            "or an explicit approximation of the kernel (Nystroem, random Fourier "
            "features)"
        )

    def fill(
        self, rows: Slots, coefficients: Floats, model: Floats, n_jobs: int = 1
    ) -> None:
        """Write the coefficients of all slots, and the scores."""
        model[: rows.postings.n_slots] = coefficients
        self.complete(rows, model, n_jobs)

    def complete(self, rows: Slots, model: Floats, n_jobs: int = 1) -> None:
        """Compute the scores that belong to the coefficients, in place."""
        _, begin, anchor, gram, n_slots = rows.postings
        if self.gram is None:  # k = 1
            model[n_slots : 2 * n_slots] = model[:n_slots]
            return

        def work_on(first: int, last: int) -> None:
            complete_keys(begin, anchor, gram, model, n_slots, first, last)

        run_sharded(n_jobs, len(begin) - 1, work_on)


def input_of_parts(keys: Keys, *, by_token: bool) -> tuple[Ints, int]:
    """The input that each part belongs to, (n_parts,) int32, rising; and how many."""
    if not by_token:
        n = len(keys.first) - 1
        return np.repeat(np.arange(n, dtype=np.int32), np.diff(keys.first)), n
    if not isinstance(keys, LabelKeys) or keys.has_pairs:
        raise CapabilityError(
            "arcs, phrases and pairs of labels (bigram) have no single token that a "
            "kernel could compare; use a kernel on whole sequences, or for pairs "
            "transitions (<order=1>)"
        )
    n = len(keys.token)
    return np.repeat(np.arange(n, dtype=np.int32), keys.n_labels), n


def key_values(keys: Keys, rows: Slots) -> Ints:
    """The key of each slot, (n_slots,) int64, rising."""
    value = np.empty(rows.postings.n_slots, np.int64)
    has_key = rows.slot >= 0
    value[rows.slot[has_key]] = keys.key[has_key]
    return value


def coefficients_only(rows: Slots) -> Slots:
    """The same slots, whose scores are left alone."""
    postings = rows.postings
    still = postings._replace(begin=np.zeros_like(postings.begin))
    return rows._replace(postings=still)
