"""Decoders as types: programs that call a decoder many times are written once.

`k_best_trees` edits arc scores and decodes again. Which decoder that is comes from the
type of the tag, chosen at compile time (see `partwise.compiled`).
"""

from typing import NamedTuple

from partwise.compiled import operation
from partwise.structures.dependency._eisner import eisner
from partwise.structures.dependency._programs import TreeWork, chu_liu_edmonds


class FirstOrder(NamedTuple):
    """Arcs only: Eisner when projective, else Chu-Liu/Edmonds."""

    projective: bool
    single_root: bool
    work: TreeWork

    def decode_tree(decoder, score, n, heads):
        if decoder.projective:
            return eisner(score, n, decoder.single_root, decoder.work, heads)
        return chu_liu_edmonds(score, n, decoder.single_root, decoder.work, heads)


@operation
def decode_tree(decoder, score, n, heads):
    """Write the best tree under arc scores; returns its score, or −inf if none."""
