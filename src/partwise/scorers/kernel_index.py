"""The index of a trained kernel model: which anchors have which key.

A trained model is a sparse matrix key × anchor: the coefficients that are not zero, by
key, and within a key by anchor. New inputs are scored by products of its rows with
columns of kernel values (003 section 4.4.2), and the kernel is evaluated only with
anchors that share a key with them. Anchors are whole sequences or single tokens.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from partwise.kernels.base import Kernel
from partwise.kernels.gram import gram
from partwise.kernels.positive import refuse_indefinite
from partwise.protocol import Floats, Ints, offsets_of
from partwise.scorers.anchors import Anchors, ForeignData
from partwise.scorers.kernel import (
    KernelScorer,
    Keys,
    Slots,
    coefficients_only,
    input_of_parts,
    key_values,
)
from partwise.scorers.postings import mark_anchors, weigh_keys
from partwise.threads import run_sharded

BATCH = 1 << 23  # kernel values, and keys, that are held at once: 64 MB each


class KernelIndex(NamedTuple):
    """Keys with their postings; the coefficients of the postings are kept apart."""

    key: np.ndarray  # (n_keys,) int64, rising
    begin: np.ndarray  # (n_keys + 1,) int64 first posting of each key
    anchor: np.ndarray  # (n_postings,) int32
    kernel: Kernel | None  # None: k = 1, and all postings have anchor 0
    by_token: bool  # whether inputs of the kernel are single tokens
    anchors: Anchors | None  # None without a kernel
    names: list[str]  # of the keys; or empty, with a kernel
    dtype: str  # precision of kernel values, float64 or float32

    @property
    def n_anchors(self) -> int:
        """Inputs that are kept."""
        return 0 if self.anchors is None else len(self.anchors.row)

    @classmethod
    def create(
        cls,
        kernel: Kernel | None,
        inputs: Any,
        keys: Keys,
        rows: Slots,
        beta: Floats,
        *,
        by_token: bool,
        offset: Ints,
        words: Any,
        describe: Any,
        dtype: str,
    ) -> tuple[KernelIndex, Floats]:
        """The index of the coefficients that are not zero.

        Parameters
        ----------
        kernel : Kernel or None
        inputs : inputs of the kernel
            Of the training data.
        keys : ArcKeys or LabelKeys
        rows : ArcSlots or TokenSlots
            As `KernelScorer.bind` gave them.
        beta : array (n_slots,)
        by_token : bool
        offset : int array (n_sequences + 1,)
            Tokens of the training data.
        words : callable
            From the number of a sequence to its tokens as text.
        describe : callable or None
            From (part, hash function) to what its key stands for; None with a kernel,
            whose many keys need no names.
        dtype : str

        Returns
        -------
        KernelIndex
        array (n_postings,)
            Their coefficients.
        """
        nonzero = np.flatnonzero(beta)
        value = key_values(keys, rows)[nonzero]
        distinct, count = np.unique(value, return_counts=True)
        begin = offsets_of(count)
        coefficients = np.array(beta[nonzero])
        names: list[str] = []
        if describe is not None:
            parts, hashes = _examples(rows, nonzero[begin[:-1]])
            both = zip(parts.tolist(), hashes.tolist(), strict=True)
            names = [describe(p, h) for p, h in both]
        if kernel is None:
            single = np.zeros(len(nonzero), np.int32)
            index = cls(distinct, begin, single, None, False, None, names, dtype)
            return index, coefficients
        place, anchor = np.unique(rows.postings.anchor[nonzero], return_inverse=True)
        if not len(place):
            place = np.zeros(1, np.int64)  # a table needs a sequence
        row: Ints = place
        token: Ints = np.zeros(0, np.int64)
        shown: list[str] = []
        if by_token:
            row = np.searchsorted(offset, place, side="right") - 1
            token = place - np.asarray(offset)[row]
            sequences = {int(i): words(int(i)) for i in np.unique(row)}
            both = zip(row.tolist(), token.tolist(), strict=True)
            shown = [sequences[i][t] for i, t in both]
        anchors = Anchors(
            kernel.input_family().select(inputs, place), row.astype(np.int64),
            token.astype(np.int64), shown,
        )  # fmt: skip
        number = anchor.astype(np.int32).reshape(-1)
        index = cls(distinct, begin, number, kernel, by_token, anchors, names, dtype)
        return index, coefficients

    def gram(self, inputs: Any, n_jobs: int = 1) -> Any:
        """Kernel values of all pairs of inputs; None without a kernel."""
        if self.kernel is None:
            return None
        return gram(self.kernel, inputs, dtype=self.dtype, n_jobs=n_jobs)

    def slots(self, inputs: Any, keys: Keys, rows: Slots, offset: Ints) -> Ints:
        """Slots of the postings among those of the training data.

        Parameters
        ----------
        inputs, keys, rows, offset
            Of the training data, as for `create`.

        Returns
        -------
        int64 array (n_postings,)

        Raises
        ------
        ForeignData
            These are not the data that the model was trained on.
        """
        place: Ints = np.zeros(1, np.int64)
        if self.anchors is not None and self.kernel is not None:
            place = self.anchors.places(offset)
            family = self.kernel.input_family()
            is_same = family.same(self.anchors.inputs, family.select(inputs, place))
            if not is_same.all():
                k = int(np.argmin(is_same))
                raise ForeignData(
                    f"{self.anchors.name(k)} differs from that anchor of the model"
                )
        known = key_values(keys, rows)[rows.postings.begin[:-1]]  # rising
        n = rows.postings.gram.shape[1]
        repeated = np.repeat(self.key, np.diff(self.begin))
        wanted = np.searchsorted(known, repeated) * n + place[self.anchor]
        there = rows.postings.key.astype(np.int64) * n + rows.postings.anchor
        if len(wanted) and not len(there):
            raise ForeignData("no part has a key")
        at = np.searchsorted(there, wanted)
        inside = np.minimum(at, len(there) - 1)
        is_known = there[inside] == wanted
        is_known &= known[rows.postings.key[inside]] == repeated
        if not is_known.all():
            k = int(np.argmin(is_known))
            key = int(np.searchsorted(self.begin, k, side="right")) - 1
            if self.anchors is None:
                raise ForeignData(f"no part has {self.names[key]}, as in training")
            name = self.anchors.name(int(self.anchor[k]))
            raise ForeignData(f"{name} has no part that it had in training")
        return at

    def values(self, inputs: Any, keys: Ints, n_jobs: int) -> tuple[Any, Ints]:
        """Kernel values of inputs with the anchors that these keys have.

        Returns
        -------
        array (n_inputs, n_columns)
            At least one column.
        int32 array (n_anchors,)
            The column of each anchor.
        """
        if self.kernel is None or self.anchors is None:
            return np.ones((1, 1), self.dtype), np.zeros(1, np.int32)
        is_needed = np.zeros(self.n_anchors, np.uint8)
        mark_anchors(keys, self.key, self.begin, self.anchor, is_needed)
        needed = np.flatnonzero(is_needed)
        column = np.zeros(self.n_anchors, np.int32)
        column[needed] = np.arange(len(needed))
        family = self.kernel.input_family()
        if not len(needed):
            return np.zeros((family.count(inputs), 1), self.dtype), column
        block = gram(
            self.kernel, inputs, family.select(self.anchors.inputs, needed),
            dtype=self.dtype, n_jobs=n_jobs,
        )  # fmt: skip
        return np.ascontiguousarray(block, self.dtype), column

    def weigh(
        self, inputs: Any, keys: Keys, rows: Slots, beta: Floats, n_jobs: int
    ) -> Floats:
        """Scores of all slots of new inputs, (n_slots,)."""
        value = key_values(keys, rows)
        values, column = self.values(inputs, value, n_jobs)
        row = rows.postings.anchor if self.kernel is not None else np.zeros_like(value)
        row = np.ascontiguousarray(row, np.int32)
        out = np.empty(len(value))

        def work_on(first: int, last: int) -> None:
            weigh_keys(
                value, self.key, self.begin, self.anchor, beta, row, column, values,
                first, last, out,
            )  # fmt: skip

        run_sharded(n_jobs, len(value), work_on, shard=4096)
        return out

    def shares(
        self, inputs: Any, keys: Keys, parts: Sequence[int], beta: Floats
    ) -> Iterator[tuple[int, int, int, float]]:
        """What the score of each part is made of.

        Yields
        ------
        part, hash function, anchor, share
            Scores are the sums of their shares.
        """
        values, column = self.values(inputs, keys.key.ravel(), 1)
        unit, _ = input_of_parts(keys, by_token=self.by_token)
        for part in parts:
            row = int(unit[part]) if self.kernel is not None else 0
            for number, key in enumerate(keys.key[part].tolist()):
                at = int(np.searchsorted(self.key, key))
                if key < 0 or at == len(self.key) or self.key[at] != key:
                    continue
                for s in range(self.begin[at], self.begin[at + 1]):
                    anchor = int(self.anchor[s])
                    share = float(beta[s]) * float(values[row, column[anchor]])
                    yield part, number, anchor, share

    def runs(self, offset: Ints, parts_of: Ints) -> Iterator[slice]:
        """Consecutive sequences whose keys and kernel values fit in a batch.

        Parameters
        ----------
        offset : int array (n_sequences + 1,)
        parts_of : int array (n_sequences,)
            Keys of each sequence.
        """
        length = np.diff(offset) if self.by_token else np.ones(len(offset) - 1, int)
        cost = np.maximum(length * max(1, self.n_anchors), parts_of)
        ends = np.cumsum(cost)
        first = 0
        while first < len(cost):
            room = BATCH + (ends[first - 1] if first else 0)
            last = max(first + 1, int(np.searchsorted(ends, room, side="right")))
            yield slice(first, last)
            first = last


def _examples(rows: Slots, slots: Ints) -> tuple[Ints, Ints]:
    """A part and a hash function that have each of these slots."""
    flat = rows.slot.ravel()
    entry = np.flatnonzero(flat >= 0)
    example = np.zeros(rows.postings.n_slots, np.int64)
    example[flat[entry][::-1]] = entry[::-1]  # the first one stays
    part, number = np.divmod(example[slots], rows.slot.shape[1])
    return part, number


class IndexScorer(KernelScorer):
    """Scores new inputs by the index of a trained model.

    Each input has slots of its own, and none of them is an anchor: a model of these
    inputs has no coefficients, only scores.

    Parameters
    ----------
    index : KernelIndex
    inputs : inputs of the kernel
        Of the new data; None without a kernel.
    """

    def __init__(self, index: KernelIndex, inputs: Any) -> None:
        super().__init__(dtype=np.dtype(index.dtype).type)
        self.by_token = index.by_token
        self.index = index
        self.inputs = inputs

    def bind(self, parts: Keys, width: int = 0) -> Slots:
        """Parts of these inputs with their slots."""
        self.keys = parts
        unit, n_inputs = input_of_parts(parts, by_token=self.by_token)
        if self.index.kernel is None:
            unit[:] = 0  # equal keys have equal scores everywhere
        rows = self._number(parts, unit, np.zeros((n_inputs, 1), self.dtype), width)
        return coefficients_only(rows)

    def local(self, rows: Slots, offset: Ints) -> Slots:
        """For inner products within a block, of which there are none."""
        return rows

    def fill(
        self, rows: Slots, coefficients: Floats, model: Floats, n_jobs: int = 1
    ) -> None:
        """Write the scores of the slots, from the coefficients of the postings."""
        n_slots = rows.postings.n_slots
        scores = self.index.weigh(self.inputs, self.keys, rows, coefficients, n_jobs)
        model[n_slots : 2 * n_slots] = scores


class TrainedScorer(KernelScorer):
    """Scores the training data of a model again, by its index.

    The Gram matrix is computed anew. A model has coefficients for the postings of the
    index only; the slots of all other parts are zero.

    Parameters
    ----------
    index : KernelIndex
    inputs : inputs of the kernel
        Of the training data; None without a kernel.
    n_jobs : int

    Raises
    ------
    ValueError
        The kernel is not positive semidefinite, so certificates would be invalid.
    """

    def __init__(self, index: KernelIndex, inputs: Any, n_jobs: int = 1) -> None:
        values = index.gram(inputs, n_jobs)
        if index.kernel is not None:
            refuse_indefinite(index.kernel, values)
        dtype = np.dtype(index.dtype).type
        super().__init__(values, by_token=index.by_token, dtype=dtype)
        self.index = index
        self.inputs = inputs

    def bind(self, parts: Keys, width: int = 0) -> Slots:
        """Parts with their slots; raises `ForeignData` for other data."""
        rows = super().bind(parts, width)
        offset = parts.token_offset
        self.slots = self.index.slots(self.inputs, parts, rows, offset)
        return rows

    def fill(
        self, rows: Slots, coefficients: Floats, model: Floats, n_jobs: int = 1
    ) -> None:
        """Write the coefficients of the postings, and the scores of all slots."""
        model[self.slots] = coefficients
        self.complete(rows, model, n_jobs)
