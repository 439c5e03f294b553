"""Matchings of the items of two sides."""

from partwise.structures.matching.structure import CandidatePairs as CandidatePairs
from partwise.structures.matching.structure import Matching as Matching
