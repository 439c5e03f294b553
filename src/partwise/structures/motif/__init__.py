"""Motifs: whether a sequence has a hidden site, and where."""

from partwise.structures.motif.structure import Motif as Motif
from partwise.structures.motif.structure import Site as Site
