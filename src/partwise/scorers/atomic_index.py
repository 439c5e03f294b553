"""The index of a trained atomic model: which training sentences speak for which key.

A trained model is a sparse matrix key × anchor: the coefficients that are not zero, by
key, and within a key by anchor. New sentences are scored by products of its rows with
columns of kernel values (003 section 4.4.2), and the kernel is evaluated only between
a sentence and the anchors that share a key with it or its neighbours in a batch.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from partwise.features.arc_keys import ArcKeys
from partwise.kernels.base import Kernel
from partwise.kernels.gram import gram
from partwise.kernels.inputs import Objects
from partwise.protocol import Floats, Ints
from partwise.readers.table import Table
from partwise.scorers._atomic_rows import AtomicRows, mark_anchors, weigh_keys
from partwise.scorers.atomic import AtomicScorer

BATCH = 1024  # sentences; a batch repeats k(a, a) of its anchors, and holds its values
COLUMNS = ("form", "lemma", "upos", "xpos")


def kernel_columns(kernel: Kernel, table: Table) -> list[str]:
    """
    Columns that a kernel compares: form, lemma and tags, and those that it names.

    Parameters
    ----------
    kernel : Kernel
    table : Table

    Returns
    -------
    list of str
        The first column of the table when it has none of the usual ones; all of them
        for a user's function, which may look at any.

    Examples
    --------
    >>> from partwise.kernels import BagOfWords
    >>> table = Table.from_sequences([[("a", "X", "7")]], ["form", "upos", "cluster"])
    >>> kernel_columns(BagOfWords(columns=("cluster",)), table)
    ['form', 'upos', 'cluster']
    """
    if isinstance(kernel.input_family(), Objects):
        return list(table.columns)
    named: list[str] = []
    for name, value in kernel.get_params(deep=True).items():
        if name.split("__")[-1] in ("column", "columns") and value is not None:
            named += [value] if isinstance(value, str) else list(value)
    for name in named:
        if name not in table.columns:
            raise ValueError(
                f"the kernel compares a column {name!r}; there are "
                f"{', '.join(table.columns)}"
            )
    usual = [name for name in COLUMNS if name in table.columns]
    return list(dict.fromkeys(usual + named)) or list(table.columns)[:1]


class AtomicIndex(NamedTuple):
    """Keys with their postings; the coefficients of the postings are kept apart."""

    key: np.ndarray  # (n_keys,) int64, rising
    begin: np.ndarray  # (n_keys + 1,) int64 first posting of each key
    anchor: np.ndarray  # (n_postings,) int32
    kernel: Kernel | None  # None: k = 1, and there is one anchor
    table: Table  # sentences of the anchors
    row: np.ndarray  # (n_anchors,) int64 their place in the training data

    @classmethod
    def create(
        cls, kernel: Kernel | None, table: Table, keys: ArcKeys, rows: AtomicRows,
        beta: Floats,
    ) -> tuple[AtomicIndex, Floats]:  # fmt: skip
        """
        Keep what carries weight.

        Parameters
        ----------
        kernel : Kernel or None
        table : Table
            The training sentences.
        keys : ArcKeys
            Of these sentences.
        rows : AtomicRows
            As `AtomicScorer.bind` gave them.
        beta : array (n_slots,)

        Returns
        -------
        AtomicIndex
        array (n_postings,)
            Their coefficients.
        """
        held = np.flatnonzero(beta)
        value = key_values(keys, rows)[held]
        distinct, count = np.unique(value, return_counts=True)  # slots rise with keys
        row, anchor = np.unique(rows.anchor[held], return_inverse=True)
        if not len(row):  # a table needs a sentence
            row = np.zeros(1, np.int64)
        names = list(table.columns) if kernel is None else kernel_columns(kernel, table)
        index = cls(
            distinct,
            np.append(0, np.cumsum(count)).astype(np.int64),
            anchor.astype(np.int32).reshape(-1),
            kernel,
            table[row].select(names),
            row.astype(np.int64),
        )
        return index, np.array(beta[held])

    def slots(self, keys: ArcKeys, rows: AtomicRows) -> Ints:
        """
        Slots of the postings among those of the training data.

        Parameters
        ----------
        keys, rows : ArcKeys, AtomicRows
            Of the training sentences.

        Returns
        -------
        int64 array (n_postings,)

        Raises
        ------
        ValueError
            These are not the sentences that the model was trained on.
        """
        known = key_values(keys, rows)[rows.begin[:-1]]  # rising, as slots are
        n = len(keys.first) - 1
        rank = np.repeat(np.searchsorted(known, self.key), np.diff(self.begin))
        row = self.row if self.kernel is not None else np.zeros_like(self.row)
        wanted = rank * n + row[self.anchor]
        there = rows.key.astype(np.int64) * n + rows.anchor
        at = np.searchsorted(there, wanted)
        inside = np.minimum(at, len(there) - 1)
        is_same = there[inside] == wanted
        is_same &= known[rows.key[inside]] == np.repeat(self.key, np.diff(self.begin))
        if not is_same.all():
            bad = int(self.row[self.anchor[int(np.argmin(is_same))]])
            raise ValueError(
                f"sentence {bad} is not the one that the model was trained on"
            )
        return at

    def weigh(
        self, table: Table, keys: ArcKeys, rows: AtomicRows, beta: Floats, n_jobs: int
    ) -> Floats:
        """Scores of all slots of new sentences, (n_slots,)."""
        value = key_values(keys, rows)
        out = np.zeros(rows.n_slots)
        order = np.argsort(rows.anchor, kind="stable")
        ends = np.searchsorted(rows.anchor[order], np.arange(len(table) + 1))
        for first in range(0, len(table), BATCH):
            last = min(first + BATCH, len(table))
            slots = order[ends[first] : ends[last]]
            values, column = self._values(table[first:last], value[slots], n_jobs)
            found = np.empty(len(slots))
            weigh_keys(
                value[slots], self.key, self.begin, self.anchor, beta,
                rows.anchor[slots] - first, column, values, found,
            )  # fmt: skip
            out[slots] = found
        return out

    def _values(self, table: Table, keys: Ints, n_jobs: int) -> tuple[Any, Ints]:
        """Kernel values of these sentences and, by anchor, the column they stand in."""
        n_anchors = len(self.table)
        if self.kernel is None:
            return np.ones((len(table), 1), np.float32), np.zeros(n_anchors, np.int32)
        is_needed = np.zeros(n_anchors, np.uint8)
        mark_anchors(keys, self.key, self.begin, self.anchor, is_needed)
        needed = np.flatnonzero(is_needed)
        column = np.zeros(n_anchors, np.int32)
        column[needed] = np.arange(len(needed))
        if not len(needed):
            return np.zeros((len(table), 1), np.float32), column
        names = list(self.table.columns)
        values = gram(
            self.kernel, table.select(names), self.table[needed], dtype=np.float32,
            n_jobs=n_jobs,
        )  # fmt: skip
        return np.ascontiguousarray(values, np.float32), column


class IndexScorer(AtomicScorer):
    """
    Scores new sentences by the index of a trained model.

    Each sentence has slots of its own, and none of them is an anchor: a model of these
    sentences has no coefficients, only scores.

    Parameters
    ----------
    index : AtomicIndex
    table : Table
        The new sentences.
    """

    def __init__(self, index: AtomicIndex, table: Table) -> None:
        super().__init__()
        self.index = index
        self.table = table

    def bind(self, keys: ArcKeys, n_labels: int = 0) -> AtomicRows:
        """Arcs of these sentences with their slots."""
        self.keys = keys
        n = len(keys.first) - 1
        rows = self._number(keys, np.zeros((n, 1), np.float32), by_sentence=True)
        return self.coefficients_only(rows)

    def local(self, rows: AtomicRows) -> AtomicRows:
        """For inner products within a sentence, of which there are none."""
        return rows

    def fill(
        self, rows: AtomicRows, coefficients: Floats, model: Floats, n_jobs: int = 1
    ) -> None:
        """Write the scores of the slots, from the coefficients of the postings."""
        scores = self.index.weigh(self.table, self.keys, rows, coefficients, n_jobs)
        model[rows.n_slots :] = scores


def key_values(keys: ArcKeys, rows: AtomicRows) -> Ints:
    """The key of each slot, (n_slots,) int64."""
    value = np.empty(rows.n_slots, np.int64)
    has_key = rows.slot >= 0
    value[rows.slot[has_key]] = keys.key[has_key]
    return value
