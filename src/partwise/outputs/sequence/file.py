"""The part of a `SequenceModel` in a model file, and the checks when it is read.

``SequenceModel`` has features, ``KernelSequenceModel`` keys and an index.
"""

from __future__ import annotations

from typing import Any

from partwise.outputs.label_scoring import TokenFeatureScoring, TokenKeyScoring
from partwise.outputs.labels import labels_from_state
from partwise.outputs.scoring import Arrays, State
from partwise.outputs.sequence.model import SequenceModel
from partwise.outputs.support_file import support_from_state, support_state
from partwise.structures.chain.file import chain_from_state, chain_state


def to_state(model: SequenceModel) -> State:
    """Settings for JSON, and arrays."""
    labels_from_state({"labels": model.labels})  # refuses what no file can hold
    chain, arrays = chain_state(model.structure)
    scoring, scoring_arrays = model.scoring.to_state(model.weights)
    support, planes = support_state(model.support)
    settings = {"labels": model.labels, **chain, **scoring, **support}
    return settings, arrays | scoring_arrays | planes


def from_state(
    settings: dict[str, Any], arrays: Arrays, info: dict[str, Any]
) -> SequenceModel:
    """Rebuild a model; whatever does not fit together raises ValueError."""
    labels = labels_from_state(settings)
    chain = chain_from_state(settings, arrays, len(labels))
    kind = TokenKeyScoring if "index" in settings else TokenFeatureScoring
    scoring, weights = kind.from_state(settings, arrays, chain, labels)
    featurizer = scoring.featurizer
    support = support_from_state(settings, arrays, featurizer, len(labels))
    return SequenceModel(scoring, chain, labels, weights, info, support)
