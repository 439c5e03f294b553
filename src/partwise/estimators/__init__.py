"""Estimators with scikit-learn's interface; composition only."""

from partwise.estimators.constituency_parser import ConstituencyParser
from partwise.estimators.dependency_parser import DependencyParser
from partwise.estimators.reranker import Reranker
from partwise.estimators.sequence_tagger import SequenceTagger
from partwise.estimators.structured_svm import StructuredSVM

__all__ = [
    "ConstituencyParser",
    "DependencyParser",
    "Reranker",
    "SequenceTagger",
    "StructuredSVM",
]
