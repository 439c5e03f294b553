"""What a model file keeps of a `SegmentModel`, and the checks when it is read."""

from __future__ import annotations

from typing import Any

import numpy as np

from partwise.bounds import entry, require, under
from partwise.features import featurizer_from_state
from partwise.features.segments import SegmentFeaturizer
from partwise.outputs.labels import labels_from_state
from partwise.outputs.scoring import Arrays, State, optional_state, read_weights
from partwise.outputs.segments.model import SegmentModel, SegmentScoring
from partwise.outputs.support_file import support_from_state, support_state
from partwise.protocol import Ints
from partwise.structures.segments.segment_losses import LOSSES
from partwise.structures.segments.structure import Segments
from partwise.structures.segments.tags import tag_segments, tag_types

MAX_LONGEST = 10**4  # kernels want tables of tokens × lengths × types


def to_state(model: SegmentModel) -> State:
    """Settings for JSON, and arrays."""
    structure = model.structure
    settings: dict[str, Any] = {
        "labels": model.labels,
        "longest": structure.lengths().tolist(),
        "cost": structure.cost,
    }
    labels_from_state(settings)
    scoring, arrays = model.scoring.to_state(model.weights)
    settings["spans"], span_arrays = optional_state("spans", model.scoring.spans)
    support, planes = support_state(model.support)
    return settings | scoring | support, arrays | span_arrays | planes


def from_state(
    settings: dict[str, Any], arrays: Arrays, info: dict[str, Any]
) -> SegmentModel:
    """Rebuild a model; whatever does not fit together raises ValueError."""
    labels = labels_from_state(settings)
    types = tag_types(labels)
    cost = entry(settings, "cost", str)
    require(cost in LOSSES, f"cost {cost!r}")
    longest = entry(settings, "longest", list)
    fits = len(longest) == len(types.types) and all(
        type(n) is int and 0 < n <= (MAX_LONGEST if inside >= 0 else 1)
        for n, inside in zip(longest, types.inside.tolist(), strict=True)
    )
    require(fits, "lengths of segments")
    structure = tag_segments(labels, longest, cost)
    state = entry(settings, "featurizer", dict)
    featurizer = featurizer_from_state(state, under("featurizer/", arrays))
    spans = None
    if settings.get("spans") is not None:
        state = entry(settings, "spans", dict)
        spans = SegmentFeaturizer.from_state(state, under("spans/", arrays))
        require(featurizer.kind.startswith("columns"), "spans of other inputs")
    n_spans = 0 if spans is None else spans.n_features_
    size = structure.n_weights(featurizer.n_features_, n_spans)
    weights = read_weights(arrays, size)
    support = support_from_state(settings, arrays, featurizer, len(labels))
    if support is not None:
        is_kind = (spans is None) == hasattr(support.inputs, "n_features")
        require(is_kind, "support of other features")
        for codes, offset in (
            (support.y, support.offset),
            (support.cuts.code, support.cuts.indptr),
        ):
            require(_are_possible(structure, codes, offset), "impossible segments")
    scoring = SegmentScoring(featurizer, spans, structure, types.types)
    return SegmentModel(scoring, structure, labels, weights, info, support)


def _are_possible(structure: Segments, codes: Ints, offset: Ints) -> bool:
    """Whether all segments have a beginning, and are not too long: kernels trust it."""
    if not np.array_equal(structure.repaired(codes, offset), codes):
        return False
    label_of, begins = structure.meanings()
    first = np.flatnonzero(begins[codes])
    length = np.diff(np.append(first, len(codes)))
    return bool((length <= structure.lengths()[label_of[codes[first]]]).all())
