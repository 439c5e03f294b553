"""Pairs of sequences and their true alignments as arrays, checked."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from partwise.bounds import check_list
from partwise.protocol import Floats, Ints, offsets_of
from partwise.structures.alignment.layout import Layout


class Bank(NamedTuple):
    """Sequences of one side, end to end; one that many pairs have is kept once."""

    codes: Ints  # (n_tokens, n_columns)
    values: Floats  # (n_tokens, n_values)
    offset: Ints  # (n_sequences + 1,)


class Examples(NamedTuple):
    """Which sequences each example aligns, its truth, and what is masked."""

    a: Bank
    b: Bank
    pair_a: Ints  # (n_pairs,)
    pair_b: Ints
    pair_first: Ints  # (n_blocks + 1,)
    pair_offset: Ints  # (n_pairs + 1,) tokens of a of each pair
    chosen: Ints  # (n_blocks,) place of the true candidate in the user's list
    offset: Ints  # (n_blocks + 1,) tokens of a of each example
    y: Ints  # (offset[-1],) true partners, −1 for none
    hidden: Ints  # examples whose homologue has an unknown alignment
    counted: Ints  # (offset[-1],) uint8
    unit: Floats  # (n_blocks,)
    forbid_first: Ints
    forbid: Ints
    given_first: Ints
    given: Ints

    @classmethod
    def read(
        cls,
        layout: Layout,
        X: Sequence[Any],
        Y: Sequence[Any] | None,
        *,
        decoys: bool = False,
        core: Sequence[Any] | None = None,
        forbidden: Sequence[Any] | None = None,
        given: Sequence[Any] | None = None,
    ) -> Examples:
        """Check and lay out; see `Alignment.pack`."""
        check_sizes(X, Y=Y, core=core, forbidden=forbidden, given=given)
        chosen = np.zeros(len(X), np.int64)
        truths: list[Any] = [None] * len(X) if Y is None else list(Y)
        hidden = np.flatnonzero([Y is not None and is_hidden(y) for y in truths])
        banks = (_Collector(layout, 0), _Collector(layout, 1))
        pair_a: list[int] = []
        pair_b: list[int] = []
        first = [0]
        for i, (a, b) in enumerate(X):
            candidates = [b]
            if decoys:
                candidates, truths[i], chosen[i] = _candidates(i, b, truths[i])
            names = [f"X[{i}]: a", f"X[{i}]: b"]
            if decoys:
                names[1:] = [f"X[{i}]: candidate {k}" for k in range(len(candidates))]
            one = banks[0].add(a, names[0])
            others = list(map(banks[1].add, candidates, names[1:]))
            pair_a += [one] * len(others)
            pair_b += others
            if Y is not None:
                sizes = [banks[0].lengths[one]] + [banks[1].lengths[k] for k in others]
                if 0 in sizes:
                    name = names[sizes.index(0)]
                    raise ValueError(f"{name} has no tokens; leave the example out")
            first.append(len(pair_a))
        n = np.array([banks[0].lengths[k] for k in pair_a], np.int64)
        m = np.array([banks[1].lengths[k] for k in pair_b], np.int64)
        n_true, m_true = n[first[:-1]], m[first[:-1]]
        pair_offset, offset = offsets_of(n), offsets_of(n_true)
        y, counted, unit = _read_truths(truths, n_true, m_true, offset, decoys, core)
        if decoys:
            n_candidates = np.diff(first)
            forbidden, given = (
                _masks_of_candidates(masks, n_candidates, chosen, name)
                for masks, name in ((forbidden, "forbidden"), (given, "given"))
            )

        def where(pair: int) -> str:
            example = int(np.searchsorted(first, pair, "right")) - 1
            return f"[{example}], a candidate" if decoys else f"[{pair}]"

        forbid_first, forbid = _read_forbidden(forbidden, n, m, pair_offset, where)
        given_first, fixed = _read_given(given, n, m, forbidden, where)
        return cls(
            banks[0].bank(), banks[1].bank(), np.array(pair_a, np.int64),
            np.array(pair_b, np.int64), np.array(first, np.int64), pair_offset, chosen,
            offset, y, hidden, counted, unit, forbid_first, forbid, given_first, fixed,
        )  # fmt: skip


def check_sizes(X: Sequence[Any], **others: Sequence[Any] | None) -> None:
    """Refuse what has not one item for each of the examples, or none of these."""
    check_list(X, "pairs of sequences")
    if not len(X):
        raise ValueError("X is empty: give at least one pair of sequences")
    for name, other in others.items():
        if other is not None and len(other) != len(X):
            raise ValueError(f"{name} has {len(other)} items where X has {len(X)}")


class _Collector:
    """Sequences of one side as they come, each object once."""

    def __init__(self, layout: Layout, side: int) -> None:
        self.layout, self.side = layout, side
        self.numbers: dict[int, int] = {}
        self.objects: list[Any] = []  # alive, so that no other has the same id
        self.read: list[tuple[Ints, Floats]] = []
        self.lengths: list[int] = []

    def add(self, x: Any, what: str) -> int:
        """Number of a sequence."""
        number = self.numbers.get(id(x))
        if number is None:
            number = self.numbers[id(x)] = len(self.read)
            self.objects.append(x)
            self.read.append(self.layout.read(x, self.side, what))
            self.lengths.append(len(self.read[-1][0]))
        return number

    def bank(self) -> Bank:
        """All of them."""
        return Bank(
            np.concatenate([codes for codes, _ in self.read]),
            np.concatenate([values for _, values in self.read]),
            offsets_of(self.lengths),
        )


def check_pairs(pairs: Any, n: int, m: int, what: str) -> Ints:
    """Pairs (k, 2) that rise in both columns and stay within the sequences."""
    tokens = np.asarray(pairs)
    if tokens.size == 0:
        return np.zeros((0, 2), np.int64)
    if tokens.ndim != 2 or tokens.shape[1] != 2 or tokens.dtype.kind not in "iu":
        raise ValueError(f"{what}: give pairs of token numbers, shape (k, 2)")
    if (tokens < 0).any() or (tokens >= (n, m)).any():
        raise ValueError(
            f"{what}: a pair lies outside of the sequences of {n} and {m} tokens"
        )
    if (tokens[1:] <= tokens[:-1]).any():
        raise ValueError(
            f"{what}: pairs must rise in both sequences; order them, and leave out "
            "those that cross"
        )
    return tokens


def _candidates(i: int, b: Any, truth: Any) -> tuple[list[Any], Any, int]:
    """Candidates with the true one first, its alignment, and where it was."""
    candidates = list(b)
    if truth is None:
        return candidates, None, 0
    if not is_hidden(truth) and not (isinstance(truth, tuple) and len(truth) == 2):
        raise ValueError(
            f"Y[{i}]: give (number of the homologue, its alignment), or the number "
            "alone where the alignment is not known"
        )
    number, pairs = truth if isinstance(truth, tuple) else (truth, None)
    chosen = int(number)
    if not 0 <= chosen < len(candidates):
        raise ValueError(
            f"Y[{i}]: candidate {chosen} where there are {len(candidates)}"
        )
    if len(candidates) < 2:
        raise ValueError(f"X[{i}] has no decoys; leave the example out")
    return [candidates.pop(chosen), *candidates], pairs, chosen


def hidden_truths(y: Sequence[Any], *, decoys: bool) -> Any:
    """Which truths are homologues of unknown alignment; refuses what is no truth."""
    for i, truth in enumerate(y):
        if truth is None or (isinstance(truth, int | np.integer) and not decoys):
            lacks = "names no homologue" if decoys else "has no alignment"
            raise ValueError(f"y[{i}] {lacks}; give it, or leave X[{i}] out")
    return np.array([is_hidden(truth) for truth in y])


def is_hidden(truth: Any) -> bool:
    """Whether a truth is a homologue of unknown alignment: k, or (k, None)."""
    if isinstance(truth, tuple) and len(truth) == 2:
        return truth[1] is None and truth[0] is not None
    return isinstance(truth, int | np.integer)


def _read_truths(
    truths: Sequence[Any],
    n: Ints,
    m: Ints,
    offset: Ints,
    decoys: bool,
    core: Sequence[Any] | None,
) -> tuple[Ints, Ints, Floats]:
    """Partners of all tokens of a, which tokens count, the loss of one lost pair."""
    y = np.full(offset[-1], -1, np.int32)
    counted = np.zeros(offset[-1], np.uint8)
    unit = np.zeros(len(truths))
    for i, truth in enumerate(truths):
        if truth is None:
            continue
        pairs = check_pairs(truth, n[i], m[i], f"Y[{i}]")
        y[offset[i] + pairs[:, 0]] = pairs[:, 1]
        is_core = np.full(len(pairs), not decoys)  # their loss counts no pairs
        if core is not None:
            is_core = np.asarray(core[i], bool)
            if is_core.shape != (len(pairs),):
                raise ValueError(f"core[{i}]: give True or False per pair of Y")
        counted[offset[i] + pairs[is_core, 0]] = 1
        if is_core.any():
            unit[i] = 1.0 / is_core.sum()
    return y, counted, unit


def _masks_of_candidates(
    masks: Sequence[Any] | None, sizes: Ints, chosen: Ints, name: str
) -> list[Any] | None:
    """Pairs of each candidate of all examples, in the order of `_candidates`."""
    if masks is None:
        return None
    ordered = []
    for i, (mask, size, first) in enumerate(zip(masks, sizes, chosen, strict=True)):
        if not isinstance(mask, list | tuple) or len(mask) != size:
            raise ValueError(
                f"{name}[{i}]: give a list of pairs for each of the {size} candidates, "
                "None for one without"
            )
        items = [() if pairs is None else pairs for pairs in mask]
        ordered += [items.pop(first), *items]
    return ordered


def _read_forbidden(
    forbidden: Sequence[Any] | None,
    n: Ints,
    m: Ints,
    offset: Ints,
    where: Callable[[int], str],
) -> tuple[Ints, Ints]:
    if forbidden is None:
        return np.zeros(1, np.int64), np.zeros(0, np.int32)
    tokens, columns = [], []
    for i, mask in enumerate(forbidden):
        pairs = np.asarray(mask, np.int64).reshape(-1, 2)
        if (pairs < 0).any() or (pairs >= (n[i], m[i])).any():
            raise ValueError(
                f"forbidden{where(i)}: a pair lies outside of the sequences"
            )
        tokens.append(offset[i] + pairs[:, 0])
        columns.append(pairs[:, 1])
    token, column = np.concatenate(tokens), np.concatenate(columns)
    order = np.argsort(token, kind="stable")
    first = np.searchsorted(token[order], np.arange(offset[-1] + 1))
    return first.astype(np.int64), column[order].astype(np.int32)


def _read_given(
    given: Sequence[Any] | None,
    n: Ints,
    m: Ints,
    forbidden: Sequence[Any] | None,
    where: Callable[[int], str],
) -> tuple[Ints, Ints]:
    if given is None:
        return np.zeros(len(n) + 1, np.int64), np.zeros((0, 2), np.int32)
    fixed = [
        check_pairs(pairs, n[i], m[i], f"given{where(i)}")
        for i, pairs in enumerate(given)
    ]
    if forbidden is not None:
        for i, pairs in enumerate(fixed):
            mask = np.asarray(forbidden[i], np.int64).reshape(-1, 2)
            masked = {tuple(pair) for pair in mask.tolist()}
            if masked & {tuple(pair) for pair in pairs.tolist()}:
                raise ValueError(f"given{where(i)}: a pair is forbidden, too")
    first = offsets_of([len(pairs) for pairs in fixed])
    return first, np.concatenate(fixed).astype(np.int32)
