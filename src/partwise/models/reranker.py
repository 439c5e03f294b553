"""A trained reranker: kernel, anchors, and the weight of the base score."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from numbers import Real
from typing import Any

import numpy as np

from partwise.features.dicts import DictFeaturizer
from partwise.kernels.base import Kernel
from partwise.kernels.gram import strips
from partwise.kernels.inputs import Objects
from partwise.kernels.naming import from_dict
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
            if not np.isfinite(pair[1]):
                raise ValueError(f"X: example {row} has a candidate of score {pair[1]}")


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
    settings: Mapping[str, Any], arrays: Mapping[str, np.ndarray], info: dict[str, Any]
) -> RerankerModel:
    """The model of a file; raises ValueError for what `to_state` cannot have made."""

    def under(prefix: str) -> dict[str, np.ndarray]:
        return {
            name.removeprefix(prefix): array
            for name, array in arrays.items()
            if name.startswith(prefix)
        }

    kernel = from_dict(settings["kernel"])
    family = kernel.input_family()
    if isinstance(family, Objects):
        raise ValueError("a kernel that is a user's function")
    base_weight = settings["base_weight"]
    if type(base_weight) is not float or not np.isfinite(base_weight):
        raise ValueError("the weight of the base score is no number")
    weights, place = arrays["weights"], arrays["place"]
    if weights.ndim != 1 or weights.dtype != np.float64 or len(weights) > MAX_ANCHORS:
        raise ValueError("the weights must be one row of float64 numbers")
    if not np.isfinite(weights).all():
        raise ValueError("the weights have NaN or infinity")
    if place.dtype != np.int64 or place.shape != (2 * len(weights),):
        raise ValueError("anchors without a place")
    if (place < 0).any():
        raise ValueError("an anchor at a negative place")
    anchors = family.unpack(under("anchors/"))
    if family.count(anchors) != len(weights):
        raise ValueError("another number of anchors than of weights")
    featurizer = None
    if settings["featurizer"] is not None:
        featurizer = DictFeaturizer.from_state(
            settings["featurizer"], under("featurizer/")
        )
        if getattr(anchors, "n_features", None) != featurizer.n_features_:
            raise ValueError("anchors of another width than their features")
    return RerankerModel(
        kernel, anchors, weights, place.reshape(-1, 2), base_weight, featurizer,
        info=info,
    )  # fmt: skip
