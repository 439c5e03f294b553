"""Sequences cut into labelled segments: semi-Markov chains."""

from partwise.structures.segments.structure import Segments as Segments
