"""Trained models: what prediction needs and a model file holds, no learning."""

from partwise.models.sequence import Explanation, SequenceModel, SupportSet

__all__ = ["Explanation", "SequenceModel", "SupportSet"]
