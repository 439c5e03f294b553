"""What trained models share."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, ClassVar

import numpy as np

from partwise.protocol import Cuts, Floats, Ints


class WeightedModel:
    """Weights, and how parts of outputs are scored by them.

    Parameters
    ----------
    scoring : Scoring
        Of the output; see `partwise.outputs.scoring`.
    structure : Structure
    labels : list
        Label of each number, as the user knows it; empty where there are none.
    weights : array (n_weights,)
    info : dict
        What a model file says about itself: certificate, settings, history; JSON.
    support : SupportSet or the like, optional
        The support structures of the dual.
    """

    name: ClassVar[str]  # of the kind of its model file, with features

    def __init__(
        self,
        scoring: Any,
        structure: Any,
        labels: Sequence[Any],
        weights: Floats,
        info: dict[str, Any] | None = None,
        support: Any = None,
    ) -> None:
        self.scoring = scoring
        self.structure = structure
        self.labels = list(labels)
        self.weights = weights
        self.info = info or {}
        self.support = support

    @property
    def kind(self) -> str:
        """Name of the kind of its model file, without the version."""
        return f"{self.scoring.prefix}{self.name}"

    @property
    def featurizer(self) -> Any:
        """Makes the features of parts; None where the model looks at none."""
        return self.scoring.featurizer

    def weights_by_label(self) -> Iterator[tuple[str, list[str], Floats]]:
        """For each label, the names of features and their weights."""
        return iter(())


class ScoredModel(WeightedModel):
    """A structure whose outputs are decoded from the scores of their parts."""

    def problems(self, X: Any, n_jobs: int = 1) -> Iterator[Any]:
        """Packed inputs to decode: all at once, or in turn what fits in memory."""
        raise NotImplementedError

    def ranked(
        self, X: Any, k: int, n_jobs: int = 1
    ) -> Iterator[list[tuple[Ints, float]]]:
        """Codes of the k best outputs of each example with their scores, best first."""
        if k < 1:
            raise ValueError(f"k={k!r}: give a positive whole number")
        for problem in self.problems(X, n_jobs):
            yield from problem.k_best(problem.expand(self.weights), k)

    def margin(self, X: Any, *, n_jobs: int = 1) -> Floats:
        """Score of the best output and its lead over the second, (n_examples, 2).

        −inf and 0 where there is no output.
        """
        rows = []
        for ranked in self.ranked(X, 2, n_jobs):
            scores = [score for _, score in ranked]
            lead = scores[0] - scores[1] if len(scores) > 1 else np.inf
            rows.append((scores[0], lead) if scores else (-np.inf, 0.0))
        return np.reshape(np.array(rows), (-1, 2))


class LabelledModel(ScoredModel):
    """Outputs are labels of tokens or nodes, known by their numbers."""

    def _name(self, codes: Ints) -> list[Any]:
        return [self.labels[c] for c in codes]

    def predict_topk(
        self, X: Any, k: int, *, n_jobs: int = 1
    ) -> list[list[tuple[Any, float]]]:
        """The k best outputs of each example with their scores, best first."""
        return [
            [(self._name(codes), score) for codes, score in ranked]
            for ranked in self.ranked(X, k, n_jobs)
        ]

    def marginals(self, X: Any, *, n_jobs: int = 1) -> Any:
        """P(label at token or node) ∝ exp(score), (n, n_labels) for each example.

        They are probabilities of the model when it was trained with ``loss="log"``.
        """
        answers: list[Floats] = []
        for problem in self.problems(X, n_jobs):
            node, _ = problem.marginals(problem.expand(self.weights))
            answers += np.split(node, problem.blocks.offset[1:-1])
        return answers


def one_cut(output: Ints) -> Cuts:
    """The plane φ(truth) − φ(output) of the only example."""
    one, indptr = np.ones(1), np.array([0, len(output)])
    return Cuts(np.zeros(1, np.int64), one, one, one, one, indptr, output)


def stepwise_shares(problem: Any, model: Floats, other: Ints) -> tuple[Ints, Floats]:
    """Where another output of the only example differs from its truth, and what of it.

    The truth becomes the other one token after the other. What a step costs is the
    share of its token in the lead, so the shares add up to it, whatever the parts are.

    Parameters
    ----------
    problem : PackedProblem
        Of one example, whose codes have a number for each token.
    model : array (n_weights,)
        Of the problem.
    other : int array (n_tokens,)

    Returns
    -------
    changed : int array (m,)
        Tokens.
    shares : array (m,)
    """
    truth = problem.blocks.y
    changed = np.flatnonzero(truth != other)
    stages = np.tile(truth, (len(changed), 1))
    for k, t in enumerate(changed):
        stages[k:, t] = other[t]
    one, indptr = np.ones(len(changed)), np.arange(len(changed) + 1) * len(truth)
    block = np.zeros(len(changed), np.int64)
    code: Ints = stages.ravel().astype(np.int32)
    leads = problem.margins(model, Cuts(block, one, one, one, one, indptr, code))
    return changed, np.diff(leads, prepend=0.0)
