"""Shares of arc features: one number per token, template and role."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
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

Shares = list[dict[str, np.ndarray]]  # of each template: role → (n_positions,)


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
            for _ in range(2):
                n = between_keys(self.offset, self.head, *shares, room)
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
        found = np.repeat(self.offset[:-1], np.diff(self.offset))
        innermost: dict[tuple[int, bool], int] = {}
        right = range(len(self.head))
        for order, is_left in ((right, False), (reversed(right), True)):
            for d in order:
                h = int(self.head[d])
                if h >= 0 and (h > d) == is_left:
                    found[d] = innermost.get((h, is_left), found[d])
                    innermost[h, is_left] = d
        return found


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
    shares: Shares = []
    for number, template in enumerate(templates):
        stride = len(templates)
        by_role: dict[str, Any] = {}
        for role, terms in template.parts or (("dep", ()),):
            share = np.full(len(places.is_root), 0 if by_role else number, np.int64)
            missing = np.zeros(len(share), bool)
            for term in terms:
                digit = codes[term.view][places.near[term.offset]]
                missing |= digit < 0
                share += digit * stride
                stride *= len(strings[term.view]) + 2
            by_role[role] = np.where(missing, MISSING, share)
        shares.append(by_role)
    return shares


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
    shares: Shares = []
    for template in templates:
        by_role = {}
        for role, part in template.parts or (("dep", ()),):
            mixed = np.full(len(places.is_root), hash_strings([f"{template} {role}"]))
            present = np.ones(len(mixed), bool)
            for term in part:
                near = places.near[term.offset]
                present &= has_value[term.view][near]
                mixed = (mixed ^ hashes[term.view][near]) * MULTIPLIER
                mixed ^= mixed >> HALF
            mixed = mixed * MULTIPLIER
            bits = ((mixed ^ (mixed >> HALF)) >> np.uint64(4)).astype(np.int64)
            by_role[role] = np.where(present, bits, MISSING)
        shares.append(by_role)
    return shares
