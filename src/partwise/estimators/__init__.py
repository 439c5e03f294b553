"""Estimators with scikit-learn's interface; composition only."""

from partwise.estimators.dependency_parser import DependencyParser
from partwise.estimators.reranker import Reranker
from partwise.estimators.sequence_tagger import SequenceTagger
from partwise.estimators.structured_svm import StructuredSVM

__all__ = ["DependencyParser", "Reranker", "SequenceTagger", "StructuredSVM"]
