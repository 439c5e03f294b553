"""The part of a reranker in a model file, and the checks when it is read."""

from __future__ import annotations

from typing import Any

import numpy as np

from partwise.bounds import (
    MAX_WEIGHT,
    check_indices,
    check_magnitude,
    entry,
    read_array,
    read_numbers,
    require,
    under,
)
from partwise.features.dicts import DictFeaturizer
from partwise.kernels.inputs import Objects
from partwise.kernels.naming import from_dict
from partwise.outputs.reranking.model import RerankerModel
from partwise.outputs.scoring import Arrays, State, optional_state, prefixed
from partwise.structures.candidates import Ballot

MAX_ANCHORS = 10_000_000
MAX_VOTES = 1 << 40  # of one model: their sum stays a whole number


def to_state(model: RerankerModel) -> State:
    """Settings and arrays for a model file."""
    arrays = prefixed("anchors", model.kernel.input_family().pack(model.anchors))
    arrays |= {"weights": model.weights, "place": model.place.ravel()}
    if model.ballot is not None:
        named = model.ballot._asdict().items()
        arrays |= {f"votes/{name}": array.ravel() for name, array in named}
    featurizer, featurizer_arrays = optional_state("featurizer", model.featurizer)
    settings = {
        "kernel": model.kernel.to_dict(),
        "base_weight": float(model.base_weight),
        "featurizer": featurizer,
    }
    return settings, arrays | featurizer_arrays


def from_state(
    settings: dict[str, Any], arrays: Arrays, info: dict[str, Any]
) -> RerankerModel:
    """The model of a file; raises ValueError for what `to_state` cannot have made."""
    kernel = from_dict(settings["kernel"])
    family = kernel.input_family()
    require(not isinstance(family, Objects), "a kernel that is a user's function")
    base_weight = entry(settings, "base_weight", float)
    check_magnitude(np.array(base_weight), MAX_WEIGHT, "the weight of the base score")
    weights = read_numbers(arrays, "weights", MAX_WEIGHT)
    require(len(weights) <= MAX_ANCHORS, f"{len(weights)} anchors")
    place = read_array(arrays, "place", np.int64, 2 * len(weights))
    check_indices(place, np.iinfo(np.int64).max, "the place of an anchor")
    anchors = family.unpack(under("anchors/", arrays))
    n_anchors = family.count(anchors)
    require(n_anchors == len(weights), "another number of anchors than of weights")
    featurizer = None
    if settings["featurizer"] is not None:
        featurizer = DictFeaturizer.from_state(
            entry(settings, "featurizer", dict), under("featurizer/", arrays)
        )
        width = getattr(anchors, "n_features", None)
        require(width == featurizer.n_features_, "anchors of another width")
    return RerankerModel(
        kernel, anchors, weights, place.reshape(-1, 2), base_weight, featurizer,
        info=info, ballot=read_ballot(arrays, n_anchors),
    )  # fmt: skip


def read_ballot(arrays: Arrays, n_anchors: int) -> Ballot | None:
    """The votes of a file, where it has any."""
    if "votes/n_votes" not in arrays:
        return None
    count = read_array(arrays, "votes/n_votes", np.int64)
    require(0 < len(count) <= MAX_ANCHORS, f"{len(count)} models that vote")
    check_indices(count, MAX_VOTES, "votes: a number")
    step = read_array(arrays, "votes/step", np.int64, 2 * (len(count) - 1))
    check_indices(step, n_anchors, "votes: an anchor")
    base = read_numbers(arrays, "votes/base", MAX_WEIGHT, len(count) - 1)
    return Ballot(step.reshape(-1, 2), base, count)
