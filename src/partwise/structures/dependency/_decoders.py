"""Decoders as types: programs that call a decoder many times are written once.

`k_best_trees` and `tree_hull` edit arc scores and decode again. Which decoder that is
comes from the type of the tag, chosen at compile time (see `partwise.compiled`).
"""

from typing import NamedTuple

import numpy as np

from partwise.compiled import operation
from partwise.structures.dependency._grandparents import (
    GrandparentWork,
    eisner_grandparents,
)
from partwise.structures.dependency._programs import TreeWork, chu_liu_edmonds, eisner
from partwise.structures.dependency._second_order import SiblingWork, eisner_siblings


class FirstOrder(NamedTuple):
    """Arcs only: Eisner when projective, else Chu-Liu/Edmonds."""

    projective: bool
    single_root: bool
    work: TreeWork

    def decode_tree(decoder, score, n, heads):
        if decoder.projective:
            return eisner(score, n, decoder.single_root, decoder.work, heads)
        return chu_liu_edmonds(score, n, decoder.single_root, decoder.work, heads)


class Siblings(NamedTuple):
    """Arcs and adjacent siblings, projective."""

    row: np.ndarray  # (N, N)
    sibling: np.ndarray  # (A, N)
    single_root: bool
    work: SiblingWork

    def decode_tree(decoder, score, n, heads):
        return eisner_siblings(
            score,
            decoder.row,
            decoder.sibling,
            n,
            decoder.single_root,
            decoder.work,
            heads,
        )


class Grandparents(NamedTuple):
    """Arcs, grandparents and adjacent siblings, projective."""

    row: np.ndarray  # (N, N)
    sibling: np.ndarray  # (A, N) or (0, 0)
    grandparent: np.ndarray  # (A, N) or (0, 0)
    single_root: bool
    work: GrandparentWork

    def decode_tree(decoder, score, n, heads):
        return eisner_grandparents(
            score,
            decoder.row,
            decoder.sibling,
            decoder.grandparent,
            n,
            decoder.single_root,
            decoder.work,
            heads,
        )


@operation
def decode_tree(decoder, score, n, heads):
    """Write the best tree under arc scores; returns its score, or −inf if none."""
    return decoder.decode_tree(score, n, heads)
