"""Scores of the parts of outputs: features with weights, or keys with an index.

`Scoring` is the trained side: all that a model needs to score new inputs, to explain
its scores and to be kept in a file. `ScoringFit` is the learning side: the training
data of one fit, and how the solution becomes a model. Models, files, estimators and
tasks of an output use these two contracts, whichever kind they get.

`FeatureScoring` and `FeatureFit` are the linear kind; `kernel_scoring.py` and
`kernel_fit.py` hold the other one. `label_scoring.py`, `tree_scoring.py` and
`row_keys.py` add what labels, trees and rows need.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Protocol

import numpy as np

from partwise.bounds import (
    MAX_WEIGHT,
    Arrays,
    check_indices,
    check_rising,
    read_array,
    read_numbers,
    require,
)
from partwise.features import DenseFeatures, Features
from partwise.parameters import SettingsError
from partwise.protocol import Floats, Ints, Scorer

if TYPE_CHECKING:
    from partwise.certificate import Certificate
    from partwise.objective import Objective

State = tuple[dict[str, Any], Arrays]
Packable = tuple[Any, Scorer | None]  # what a structure packs: parts, and their scorer

MAX_WEIGHTS = 1 << 29  # 4 GB of memory; zeros take no room in the file
SPARSE_BYTES = 12  # of a weight with its place, where a weight alone takes 8

WARM = "warm_start=True goes on with the last model"


class Scoring(Protocol):
    """How a trained model scores the parts of its outputs.

    `X` is what the model predicts from: sequences, or a table of sentences. Weights are
    those of the model; the first of them, the coefficients, belong to the scoring, the
    others (transitions) to the structure.
    """

    prefix: ClassVar[str]  # of the kind of a model file: "" or "Kernel"
    featurizer: Any  # None for a model without features

    @property
    def takes(self) -> str:
        """Kind of the inputs: columns, dicts, arrays or arcs."""

    def batches(self, X: Any) -> Iterator[Packable]:
        """New inputs to pack, in batches that fit in memory."""

    def training(self, X: Any, n_jobs: int) -> Packable:
        """The training data to pack, as they were for training.

        Raises `ForeignData` if a kernel model's anchors are not in these data.
        """

    def parts_of(self, inputs: Any) -> Packable:
        """`ScoringFit.support_inputs`, all at once, to pack like new inputs."""

    def on(self, X: Any) -> ScoringFit:
        """A fit of the same kind to other data, for other models of these parts."""

    def check_start(self, kernel: Any, match: Any) -> None:
        """Refuse to start a fit with this kernel and `match` from such a model."""

    def parameters(self) -> dict[str, Any]:
        """Parameters of the estimator that follow from the scoring; none by default."""
        return {}

    def facts(self) -> dict[str, Any]:
        """Facts for `partwise inspect`."""

    def report_facts(self) -> list[tuple[str, str]]:
        """Facts for the head of a report; none by default."""
        return []

    def to_state(self, weights: Floats) -> State:
        """Settings and arrays for a model file, the weights among them."""


class ScoringFit(Protocol):
    """The training data of one fit, and how its solution becomes a model."""

    has_labels: ClassVar[bool]  # whether labels of arcs can be scored
    parts: Any  # what `Structure.pack` takes as X
    offset: Ints  # (n_sequences + 1,) first token of each sequence
    support_inputs: Any  # what a model keeps of the training data beside its dual

    def scorer(self, n_jobs: int) -> Scorer | None:
        """The scorer of the training problem; None for that of the structure."""

    def start(self, problem: Any, model: Any) -> Floats:
        """The last model in the layout of this problem, for a warm start.

        By default weights have the same meaning in both.
        """
        return problem.expand(model.weights)

    def within_budget(
        self,
        problem: Any,
        weights: Floats,
        objective: Objective,
        certificate: Certificate,
    ) -> tuple[Floats, Certificate]:
        """Weights that keep to the user's budget, and their certificate.

        By default there is no budget.
        """
        return weights, certificate

    def finish(self, problem: Any, weights: Floats) -> tuple[Any, Floats]:
        """The scoring of the trained model, and the weights that go with it."""


class FeatureScoring(Scoring):
    """
    Parts have features, and features have weights.

    Parameters
    ----------
    featurizer : fitted featurizer of `partwise.features`
    """

    prefix: ClassVar[str] = ""

    def __init__(self, featurizer: Any) -> None:
        self.featurizer = featurizer

    @property
    def takes(self) -> str:
        """Kind of the inputs: columns, dicts, arrays or arcs."""
        return self.featurizer.kind.partition(".")[0]

    @property
    def feature_names(self) -> list[str]:
        """Names of the features."""
        return self.featurizer.feature_names_

    def features(self, X: Any) -> Any:
        """Features of the parts of inputs."""
        return self.featurizer.transform(X)

    def batches(self, X: Any) -> Iterator[Packable]:
        """All inputs in one batch."""
        yield self.features(X), None

    def training(self, X: Any, n_jobs: int) -> Packable:
        """The features of the training data."""
        return self.features(X), None

    def parts_of(self, inputs: Any) -> Packable:
        """Their features; those of a support are features already."""
        if not isinstance(inputs, Features | DenseFeatures):
            inputs = self.features(inputs)
        return inputs, None

    def on(self, X: Any) -> FeatureFit:
        """The features of other data."""
        return FeatureFit(self, self.features(X))

    def check_start(self, kernel: Any, match: Any) -> None:
        """Refuse kernels and hash functions."""
        if kernel is not None or match is not None:
            raise SettingsError(
                f"{WARM}, which had no kernel; leave <kernel=> as it was"
            )

    def facts(self) -> dict[str, Any]:
        """The featurizer."""
        settings, _ = self.featurizer.state()
        return {"n_features": self.featurizer.n_features_, "featurizer": settings}

    def to_state(self, weights: Floats) -> State:
        """The featurizer; outputs add their weights."""
        settings, arrays = optional_state("featurizer", self.featurizer)
        return {"featurizer": settings}, arrays


@dataclass
class FeatureFit(ScoringFit):
    """The features of training data."""

    scoring: FeatureScoring
    parts: Any
    training_scorer: Scorer | None = None

    has_labels: ClassVar[bool] = True

    def __post_init__(self) -> None:
        self.offset = self.parts.offset
        self.support_inputs = self.parts

    def scorer(self, n_jobs: int) -> Scorer | None:
        """The scorer given for training, if any."""
        return self.training_scorer

    def finish(self, problem: Any, weights: Floats) -> tuple[Any, Floats]:
        """The weights as they are."""
        return self.scoring, weights


def optional_state(name: str, part: Any) -> tuple[dict[str, Any] | None, Arrays]:
    """State of a part of a model, its arrays under ``name/``; None for no part."""
    if part is None:
        return None, {}
    settings, arrays = part.state()
    return settings, prefixed(name, arrays)


def prefixed(name: str, arrays: Arrays) -> Arrays:
    """Arrays under ``name/``."""
    return {f"{name}/{key}": array for key, array in arrays.items()}


def sparse_weights(weights: Floats) -> Arrays:
    """The weights that are not zero, and their places."""
    if len(weights) >= MAX_WEIGHTS:
        raise ValueError(f"{len(weights)} weights are too many for a model file")
    place = np.flatnonzero(weights)
    return {
        "place": place.astype(np.int32),
        "weight": np.asarray(weights[place], np.float64),
    }


def weight_arrays(weights: Floats) -> Arrays:
    """The weights as the smaller of two forms: all, or those that are not zero."""
    n_others = np.count_nonzero(weights)
    if len(weights) < MAX_WEIGHTS and SPARSE_BYTES * n_others < 8 * len(weights):
        return sparse_weights(weights)
    return {"weights": np.asarray(weights, np.float64)}


def read_weights(arrays: Arrays, size: int) -> Floats:
    """All weights from the arrays of `weight_arrays`."""
    if "weights" in arrays or "place" not in arrays:
        return read_numbers(arrays, "weights", MAX_WEIGHT, size)
    return read_sparse_weights(arrays, size)


def read_sparse_weights(arrays: Arrays, size: int) -> Floats:
    """All weights from the arrays of `sparse_weights`."""
    require(size < MAX_WEIGHTS, f"{size} weights")
    place = read_array(arrays, "place", np.int32, None)
    check_indices(place, size, "the place of a weight")
    check_rising(place, "places of weights")
    weights = np.zeros(size)
    weights[place] = read_numbers(arrays, "weight", MAX_WEIGHT, len(place))
    return weights


class FixedScoring:
    """Features that a structure defines itself: nothing to choose.

    Parameters
    ----------
    structure : Structure
        After its `setup`.
    *names : str
        Its parameters that are facts.
    """

    prefix: ClassVar[str] = ""
    featurizer = None

    def __init__(self, structure: Any, *names: str) -> None:
        self.structure = structure
        self._facts = {name: getattr(structure, name) for name in names}

    def parameters(self) -> dict[str, Any]:
        """None besides those of the structure."""
        return {}

    def facts(self) -> dict[str, Any]:
        """Number of features, and facts of the structure."""
        return {"n_features": self.structure.n_psi_, **self._facts}

    def report_facts(self) -> list[tuple[str, str]]:
        """The same in words; the report counts features by itself."""
        return [(k.capitalize(), str(value)) for k, value in self._facts.items()]
