"""Shares of arc features: one number per token, template and role."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from partwise.features.arc_templates import ROOT, ArcTemplate
from partwise.features.hashing import HALF, MULTIPLIER, hash_strings, hash_view
from partwise.features.templates import BOUNDARY, View
from partwise.features.windows import neighbours
from partwise.readers.table import Table

# The roles whose shares add up to a key, in the order of their tables.
FAMILIES = {
    "head": ("head",),
    "dep": ("dep",),
    "pair": ("head", "dep"),
    "between": ("head", "between", "dep"),
    "sib": ("head", "sib", "dep"),
    "grand": ("grand", "head", "dep"),
}

# Families whose shares stay as they are, in this order; the others are looked up once.
SUMS = [(False, family) for family in ("pair", "between", "sib", "grand")]
SUMS.append((True, "pair"))
SINGLES = [(is_label, role) for is_label in (False, True) for role in ("head", "dep")]

PIECE = 1 << 15  # positions at a time, so that columns of shares stay in the cache

# template, role, first position, shares of this one and some positions after it
Shares = Iterator[tuple[int, str, int, np.ndarray]]


class Places(NamedTuple):
    """Positions of tokens when each sentence begins with its root."""

    offset: np.ndarray  # (n_sentences + 1,) int64
    is_root: np.ndarray  # (n_positions,) bool
    near: dict[int, np.ndarray]  # position so far away; −1 outside

    @classmethod
    def of_table(cls, table: Table, reach: Sequence[int]) -> Places:
        """Positions of a table's tokens."""
        offset = np.append(0, np.cumsum(np.diff(table.offset) + 1))
        is_root = np.zeros(offset[-1], bool)
        is_root[offset[:-1]] = True
        return cls(offset, is_root, neighbours(offset, reach))

    def near_piece(self, first: int) -> dict[int, np.ndarray]:
        """`near` of `PIECE` positions from `first` on."""
        return {far: at[first : first + PIECE] for far, at in self.near.items()}

    @staticmethod
    def of_trees(offset: np.ndarray, heads: Sequence[Sequence[int | None]]) -> TrueArcs:
        """The arcs of given trees, as far as they are known."""
        head = np.full(offset[-1], -1, np.int64)
        for s, sentence_heads in enumerate(heads):
            begin = int(offset[s])
            places = [-1 if h is None else begin + int(h) for h in sentence_heads]
            head[begin + 1 : offset[s + 1]] = places
        return TrueArcs(offset, head)

    def spread(self, values: np.ndarray, root: Any, outside: Any) -> np.ndarray:
        """Values of tokens as values of positions, and that of the outside last."""
        full = np.full(len(self.is_root) + 1, outside)
        full[:-1][self.is_root] = root
        full[:-1][~self.is_root] = values
        return full


class TrueArcs:
    """Arcs of trees, by the position of each head; −1 at roots and for unknown ones."""

    def __init__(self, offset: np.ndarray, head: np.ndarray) -> None:
        self.offset = offset
        self.head = head
        self.dep = np.flatnonzero(head >= 0)

    def keys(self, family: str, shares: tuple[np.ndarray, ...]) -> np.ndarray:
        """Keys of the features that these arcs have; −1 for none."""
        from partwise.features._arc_compiled import between_keys

        dep, head = self.dep, self.head[self.dep]
        if family == "between":
            room = np.empty(0, np.int64)
            tables = [np.ascontiguousarray(share) for share in shares]
            for _ in range(2):
                n = between_keys(self.offset, self.head, *tables, room)
                room = np.empty(n, np.int64) if n > len(room) else room
            return room
        if family == "head":
            return shares[0][head]
        if family == "dep":
            return shares[0][dep]
        if family == "pair":
            return shares[0][head] + shares[1][dep]
        if family == "sib":
            places = (head, self.siblings()[dep], dep)
        else:
            places = (self.head[head], head, dep)
        total = sum(share[place] for share, place in zip(shares, places, strict=True))
        absent = np.any([place < 0 for place in places], axis=0)
        return np.where(absent[:, None], -1, total)

    def siblings(self) -> np.ndarray:
        """The next dependent of the same head towards it, (n_positions,); or the root.

        The root is no dependent: it stands for "none".
        """
        sibling = np.repeat(self.offset[:-1], np.diff(self.offset))
        innermost: dict[tuple[int, bool], int] = {}
        right = range(len(self.head))
        for order, is_left in ((right, False), (reversed(right), True)):
            for d in order:
                h = int(self.head[d])
                if h >= 0 and (h > d) == is_left:
                    sibling[d] = innermost.get((h, is_left), sibling[d])
                    innermost[h, is_left] = d
        return sibling


def code_shares(
    templates: Sequence[ArcTemplate],
    table: Table,
    places: Places,
    strings: Mapping[View, Mapping[str, int]],
) -> Shares:
    """Digits of exact keys; the number of the template is the last digit."""
    from partwise.features._arc_compiled import MISSING

    codes = {}
    for view, known in strings.items():
        column = table.columns[view.column]
        used, values = view.of_column(column)
        code = np.empty(len(column.values), np.int64)
        code[used] = [-1 if v is None else known.get(v, -1) for v in values]
        codes[view] = places.spread(code[column.codes], len(known) + 1, len(known))
    for first in range(0, len(places.is_root), PIECE):
        near = places.near_piece(first)
        for number, template in enumerate(templates):
            last_digit, stride = number, len(templates)
            for role, terms in template.parts or (("dep", ()),):
                share = np.full(len(near[0]), last_digit, np.int64)
                missing = np.zeros(len(share), bool)
                for term in terms:
                    digit = codes[term.view][near[term.offset]]
                    missing |= digit < 0
                    share += digit * stride
                    stride *= len(strings[term.view]) + 2
                yield number, role, first, np.where(missing, MISSING, share)
                last_digit = 0  # once, whatever the number of roles


def hash_shares(
    templates: Sequence[ArcTemplate], table: Table, places: Places
) -> Shares:
    """Sixty bits of a hash of the template, the role and the role's strings."""
    from partwise.features._arc_compiled import MISSING

    boundary, root = hash_strings([BOUNDARY, ROOT])
    hashes, has_value = {}, {}
    terms = [term for t in templates for _, part in t.parts for term in part]
    for view in {term.view for term in terms}:
        of_token, known = hash_view(view, table)
        hashes[view] = places.spread(of_token, root, boundary)
        has_value[view] = places.spread(known, True, True)
    parts = [
        (number, role, part, hash_strings([f"{template} {role}"]))
        for number, template in enumerate(templates)
        for role, part in template.parts or (("dep", ()),)
    ]
    for first in range(0, len(places.is_root), PIECE):
        near = places.near_piece(first)
        for number, role, part, seed in parts:
            mixed = np.full(len(near[0]), seed)
            present = np.ones(len(mixed), bool)
            for term in part:
                place = near[term.offset]
                present &= has_value[term.view][place]
                mixed = (mixed ^ hashes[term.view][place]) * MULTIPLIER
                mixed ^= mixed >> HALF
            mixed = mixed * MULTIPLIER
            bits = ((mixed ^ (mixed >> HALF)) >> np.uint64(4)).astype(np.int64)
            yield number, role, first, np.where(present, bits, MISSING)


class Tables(NamedTuple):
    """Shares of all positions, in the place where they stay: they fill memory."""

    offset: np.ndarray  # (n_sentences + 1,) int64, the first position of each
    sums: np.ndarray  # (n_positions, ·) int64, of the families in `SUMS`
    # (is of labels, family) → a table (n_positions, n_templates) for each of its roles;
    # those of `SUMS` are columns of `sums`
    by_family: dict[tuple[bool, str], tuple[np.ndarray, ...]]

    @classmethod
    def create(
        cls,
        places: Places,
        templates: Sequence[ArcTemplate],
        label_templates: Sequence[ArcTemplate],
        shares: Shares,
    ) -> Tables:
        """Tables of the shares of the templates of arcs, then of those of labels."""
        members: dict[tuple[bool, str], list[int]] = {key: [] for key in SUMS + SINGLES}
        for number, template in enumerate([*templates, *label_templates]):
            members[number >= len(templates), template.family].append(number)
        for (is_label, _), numbers in members.items():
            if not is_label:  # features that count come last
                numbers.sort(key=lambda number: templates[number].is_counted)
        width = sum(len(members[key]) * len(FAMILIES[key[1]]) for key in SUMS)
        sums = np.zeros((len(places.is_root), width), np.int64)
        by_family = {
            (is_label, family): tuple(sums[:, :0] for _ in roles)
            for is_label in (False, True)
            for family, roles in FAMILIES.items()
        }
        column_of: dict[tuple[int, str], np.ndarray] = {}
        first = 0
        for key, numbers in members.items():
            size, by_role = len(numbers), []
            for role in FAMILIES[key[1]]:
                if key in SUMS:
                    by_role.append(sums[:, first : first + size])
                    first += size
                else:
                    by_role.append(np.zeros((len(sums), size), np.int64))
                for column, number in enumerate(numbers):
                    column_of[number, role] = by_role[-1][:, column]
            by_family[key] = tuple(by_role)
        for number, role, begin, values in shares:
            column_of[number, role][begin : begin + len(values)] = values
        return cls(places.offset, sums, by_family)
