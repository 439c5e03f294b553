"""A trained reranker: kernel, anchors, and the weight of the base score."""

from __future__ import annotations

from collections.abc import Sequence
from numbers import Real
from typing import Any

import numpy as np

from partwise.bounds import (
    MAX_FEATURE,
    MAX_WEIGHT,
    check_indices,
    check_magnitude,
    read_array,
    read_numbers,
)
from partwise.features.dicts import DictFeaturizer
from partwise.kernels.base import Kernel
from partwise.kernels.gram import strips
from partwise.kernels.inputs import Objects
from partwise.kernels.naming import from_dict
from partwise.models._file_checks import entry, require, under
from partwise.protocol import Floats

Ranked = list[tuple[Any, float]]

MAX_ANCHORS = 10_000_000


class RerankerModel:
    """
    Scores of candidates: Σ_a β_a k(c, a) + base_weight·(base score of c).

    Parameters
    ----------
    kernel : Kernel
        On candidates, or on rows of their features.
    anchors : inputs of the kernel
        Candidates of the training data that carry weight.
    beta : array (n_anchors,)
    place : int64 array (n_anchors, 2)
        Example of the training data, and candidate in its list.
    base_weight : float
    featurizer : DictFeaturizer or None
        Makes rows of features.
    features : callable or None
        Features of a candidate, a dict; the user's code, which no file keeps.
    info : dict
    """

    def __init__(
        self,
        kernel: Kernel,
        anchors: Any,
        beta: Floats,
        place: np.ndarray,
        base_weight: float,
        featurizer: DictFeaturizer | None = None,
        features: Any = None,
        info: dict[str, Any] | None = None,
    ) -> None:
        self.kernel = kernel
        self.anchors = anchors
        self.weights = beta
        self.place = place
        self.base_weight = base_weight
        self.featurizer = featurizer
        self.features = features
        self.info = info or {}

    def inputs(self, lists: Sequence[Ranked]) -> Any:
        """Candidates as the kernel takes them."""
        if self.featurizer is None:
            return [candidate for ranked in lists for candidate, _ in ranked]
        if self.features is None:
            raise ValueError("give features=, the function the model was trained with")
        return self.featurizer.transform(describe(lists, self.features))

    def scores(self, lists: Sequence[Ranked], n_jobs: int = 1) -> list[Floats]:
        """Scores of the candidates of each example."""
        check_lists(lists)
        ends = np.cumsum([len(ranked) for ranked in lists])
        total = np.array([base for ranked in lists for _, base in ranked], float)
        total *= self.base_weight
        if len(self.weights):
            inputs = self.inputs(lists)
            for rows, values in strips(
                self.kernel, inputs, self.anchors, n_jobs=n_jobs
            ):
                total[rows] += np.sum(values * self.weights, axis=1)
        return np.split(total, ends[:-1])

    def rank(self, lists: Sequence[Ranked], n_jobs: int = 1) -> list[Ranked]:
        """Candidates with their scores, best first; equal ones in the given order."""
        answers = []
        for ranked, scores in zip(lists, self.scores(lists, n_jobs), strict=True):
            order = np.argsort(-scores, kind="stable")
            answers.append([(ranked[k][0], float(scores[k])) for k in order])
        return answers


def check_lists(lists: Sequence[Ranked]) -> None:
    """Refuse what is no list of (candidate, score) pairs, by its place."""
    if not len(lists):
        raise ValueError("X has no example")
    for row, ranked in enumerate(lists):
        if not len(ranked):
            raise ValueError(f"X: example {row} has no candidates; leave it out")
        for pair in ranked:
            if not isinstance(pair, tuple) or len(pair) != 2:
                raise ValueError(
                    f"X: example {row} has {pair!r:.60} where a pair (candidate, score "
                    "of the base model) is needed"
                )
            if not isinstance(pair[1], Real):
                raise ValueError(
                    f"X: example {row} has {pair!r:.60} where a pair (candidate, "
                    "score) is needed; give lists of candidates, or base="
                )
            if not abs(pair[1]) <= MAX_FEATURE:
                raise ValueError(
                    f"X: example {row} has a candidate of score {pair[1]}; scores are "
                    f"numbers within ±{MAX_FEATURE:g}"
                )


def describe(lists: Sequence[Ranked], features: Any) -> list[list[Any]]:
    """Features of all candidates, as a featurizer of dicts takes them."""
    return [[features(candidate) for candidate, _ in ranked] for ranked in lists]


def to_state(model: RerankerModel) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """Settings and arrays for a model file."""
    packed = model.kernel.input_family().pack(model.anchors)
    arrays = {f"anchors/{name}": array for name, array in packed.items()}
    arrays |= {"weights": model.weights, "place": model.place.ravel()}
    settings: dict[str, Any] = {
        "kernel": model.kernel.to_dict(),
        "base_weight": float(model.base_weight),
        "featurizer": None,
    }
    if model.featurizer is not None:
        settings["featurizer"], own = model.featurizer.state()
        arrays |= {f"featurizer/{name}": array for name, array in own.items()}
    return settings, arrays


def from_state(
    settings: dict[str, Any], arrays: dict[str, np.ndarray], info: dict[str, Any]
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
        info=info,
    )  # fmt: skip
