"""Estimators with scikit-learn's interface; composition only."""

from partwise.estimators.sequence_tagger import SequenceTagger

__all__ = ["SequenceTagger"]
