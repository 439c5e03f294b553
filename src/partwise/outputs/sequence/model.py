"""A trained tagger: scoring, chain, labels and weights.

It predicts and explains without scikit-learn, so the command line starts quickly;
`SequenceTagger` is this model plus learning.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Any, ClassVar

import numpy as np

from partwise.objective import Formulation
from partwise.outputs.explanation import (
    Contribution,
    Explanation,
    SupportSequence,
)
from partwise.outputs.model import ScoredModel, one_cut
from partwise.outputs.sequence.scoring import LabelScoring
from partwise.outputs.sequence.support import SupportSet
from partwise.protocol import Floats, Ints, take
from partwise.structures.chain import Chain
from partwise.structures.chain.layout import Weights
from partwise.structures.chain.problem import ChainProblem


class SequenceModel(ScoredModel):
    """Predicts and explains label sequences.

    Parameters
    ----------
    scoring : TokenFeatureScoring or TokenKeyScoring
        How labels of tokens are scored.
    chain : Chain
    labels : list
        Label of each number, as the user knows it.
    weights : array (n_weights,)
        Coefficients of the scoring, then transitions and ends in the plain layout of
        `Chain.n_weights`.
    info : dict
        What a model file says about itself: certificate, settings, history; JSON.
    support : SupportSet, optional
    """

    name: ClassVar[str] = "SequenceModel"

    def __init__(
        self,
        scoring: LabelScoring,
        chain: Chain,
        labels: Sequence[Any],
        weights: Floats,
        info: dict[str, Any] | None = None,
        support: SupportSet | None = None,
    ) -> None:
        self.scoring = scoring
        self.structure = chain
        self.labels = list(labels)
        self.weights = weights
        self.info = info or {}
        self.support = support

    @property
    def takes(self) -> str:
        """Kind of the sequences: columns, dicts or arrays."""
        return self.scoring.takes

    @property
    def n_coefficients(self) -> int:
        """Weights before those of transitions and ends."""
        return self.scoring.n_coefficients(self.structure.n_labels)

    def problems(self, X: Any, n_jobs: int = 1) -> Iterator[ChainProblem]:
        """Packed sequences to decode: all at once, or in turn what fits in memory."""
        refuse_one_sequence(X)
        if not len(X):
            return
        for parts, scorer in self.scoring.batches(X):
            yield self.structure.pack(parts, None, n_jobs=n_jobs, scorer=scorer)

    def training_problem(
        self, X: Any, codes: Ints, formulation: Formulation, n_jobs: int = 1
    ) -> ChainProblem:
        """The problem whose objective the certificate speaks of.

        Parameters
        ----------
        X : sequences
        codes : int array (n_tokens,)
            Numbers of the true labels.
        formulation : Formulation
        n_jobs : int

        Raises
        ------
        ForeignData
            The model can tell that it was not trained on these sequences.
        """
        parts, scorer = self.scoring.training(X, n_jobs)
        return self.structure.pack(
            parts, codes, formulation, n_jobs=n_jobs, scorer=scorer
        )

    def _name(self, codes: Ints) -> list[Any]:
        return [self.labels[c] for c in codes]

    def predict(
        self, X: Any, *, given: Sequence[Sequence[Any]] | None = None, n_jobs: int = 1
    ) -> list[list[Any]]:
        """Best labels of each sequence.

        Parameters
        ----------
        X : sequences, as the featurizer takes them
        given : list of lists, optional
            Labels that are known; None where they are not.
        n_jobs : int
        """
        if given is not None and len(given) != len(X):
            raise ValueError(f"given has {len(given)} sequences where X has {len(X)}")
        answers: list[list[Any]] = []
        for problem in self.problems(X, n_jobs):
            offset = problem.blocks.offset
            fixed = None if given is None else self._fix(given, len(answers), offset)
            codes, value = problem.decode(problem.expand(self.weights), fixed)
            if not np.isfinite(value).all():
                row = len(answers) + int(np.flatnonzero(~np.isfinite(value))[0])
                raise ValueError(
                    f"sequence {row}: no output is possible under the constraints and "
                    "the given labels"
                )
            names = self._name(codes)
            answers += [names[a:b] for a, b in pairwise(offset)]
        return answers

    def _fix(self, given: Sequence[Sequence[Any]], first: int, offset: Ints) -> Ints:
        """Numbers of the given labels of the sequences from `first` on."""
        number = {label: k for k, label in enumerate(self.labels)} | {None: -1}
        fixed = []
        for row, length in enumerate(np.diff(offset), first):
            if len(given[row]) != length:
                raise ValueError(f"given: sequence {row} has another length than in X")
            for label in given[row]:
                if label not in number:
                    raise ValueError(
                        f"given: sequence {row} has label {label!r}, which the model "
                        "does not know"
                    )
                fixed.append(number[label])
        return np.array(fixed, np.int32)

    def predict_topk(
        self, X: Any, k: int, *, n_jobs: int = 1
    ) -> list[list[tuple[list[Any], float]]]:
        """The k best outputs of each sequence with their scores, best first."""
        return [
            [(self._name(codes), score) for codes, score in ranked]
            for ranked in self.ranked(X, k, n_jobs)
        ]

    def marginals(self, X: Any, *, n_jobs: int = 1) -> list[Floats]:
        """P(label at token) ∝ exp(score), (n_tokens, L) for each sequence.

        They are probabilities of the model when it was trained with ``loss="log"``.
        """
        answers: list[Floats] = []
        for problem in self.problems(X, n_jobs):
            node, _ = problem.marginals(problem.expand(self.weights))
            answers += np.split(node, problem.blocks.offset[1:-1])
        return answers

    def parts(self) -> Weights:
        """Weights by name; views."""
        parts = self.structure.layout.parts(self.weights[self.n_coefficients :], 0)
        emission = self.scoring.emission(self.weights, self.structure.n_labels)
        return parts._replace(emission=emission)

    def weights_by_label(self) -> Iterator[tuple[str, list[str], Floats]]:
        """For each label, or key, the names of features or anchors, and weights."""
        return self.scoring.heaviest(self.weights, self.labels)

    def explain(self, X: Any, *, tokens: list[str], top: int = 10) -> Explanation:
        """Why the best output of one sequence beat the second best.

        Parameters
        ----------
        X : one sequence, in a list or table of length one
        tokens : list of str
            How to show them.
        top : int
            Number of reasons and of support structures.
        """
        ranked = next(self.ranked(X, 2))
        winner, score = ranked[0]
        explanation = Explanation(tokens, self._name(winner), None, score, np.inf)
        if len(ranked) == 1:
            return explanation
        runner, second = ranked[1]
        explanation.runner_up = self._name(runner)
        explanation.lead = score - second
        reasons = [
            *self._part_reasons(X, (winner, runner)),
            *self._transition_reasons(winner, runner),
        ]
        explanation.contributions = sorted(reasons, key=lambda c: -abs(c.share))[:top]
        if self.support is not None and len(self.support.alpha):
            shares = self.support.alpha * self._support_margins(X, winner, runner)
            explanation.support = self._supporters(shares, top)
        return explanation

    def _part_reasons(
        self, X: Any, outputs: tuple[Ints, Ints]
    ) -> Iterator[Contribution]:
        """Shares of features, or anchors, where labels differ."""
        return self.scoring.reasons(X, self.weights, self.labels, outputs)

    def _transition_reasons(self, winner: Ints, runner: Ints) -> Iterator[Contribution]:
        """Shares of runs of labels, and of labels at both ends."""
        parts = self.parts()
        for table, run in ((parts.bigram, 2), (parts.trigram, 3)):
            for t in range(run - 1, len(winner)) if table.size else ():
                a, b = (y[t - run + 1 : t + 1] for y in (winner, runner))
                if (a != b).any():
                    first, second = (
                        "→".join(map(str, self._name(run_))) for run_ in (a, b)
                    )
                    share = float(table[tuple(a)] - table[tuple(b)])
                    yield Contribution(t, "transition", first, second, share)
        for table, t, what in ((parts.start, 0, "start"), (parts.end, -1, "end")):
            if table.size and winner[t] != runner[t]:
                a, b = winner[t], runner[t]
                share = float(table[a] - table[b])
                place = t % len(winner)
                yield Contribution(place, what, self.labels[a], self.labels[b], share)

    def _support_margins(self, X: Any, winner: Ints, runner: Ints) -> Floats:
        """<a, φ(winner) − φ(runner-up)> of all planes of the dual.

        φ(winner) − φ(runner-up) is a model on one sequence. It scores the sequences of
        the planes as a trained model scores new ones.
        """
        support = self.support
        assert support is not None
        fit = self.scoring.on(X)
        here = self.structure.pack(fit.parts, winner, scorer=fit.scorer(1))
        lead = here.compact(here.combine(one_cut(runner), np.ones(1)))
        scoring, weights = fit.finish(here, lead)
        parts, scorer = scoring.parts_of(support.inputs)
        training = self.structure.pack(parts, support.y, scorer=scorer)
        return training.margins(training.expand(weights), support.cuts)

    def _supporters(self, shares: Floats, top: int) -> list[SupportSequence]:
        """Planes with the largest share of the lead."""
        support = self.support
        assert support is not None
        best = np.argsort(-np.abs(shares))[:top]
        chosen = take(support.cuts, best)
        outputs = np.split(chosen.code, chosen.indptr[1:-1])
        starts = support.offset
        answers = []
        for k, output in zip(best, outputs, strict=True):
            block = support.cuts.block[k]
            truth = support.y[starts[block] : starts[block + 1]]
            answers.append(
                SupportSequence(
                    row=int(support.rows[block]),
                    tokens=support.tokens[block],
                    truth=self._name(truth),
                    output=self._name(output),
                    alpha=float(support.alpha[k]),
                    share=float(shares[k]),
                )
            )
        return answers


def refuse_one_sequence(X: Any) -> None:
    """Refuse a sequence where sequences are needed."""
    if isinstance(X, str) or (len(X) and isinstance(X[0], str)):
        raise ValueError("X is one sequence; give a list of sequences: [X]")
