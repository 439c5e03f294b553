"""A trained tagger: featurizer, chain, labels and weights.

It predicts and explains without scikit-learn, so the command line starts quickly;
`SequenceTagger` is this model plus learning.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from partwise.objective import Formulation
from partwise.outputs.sequence.explanation import (
    Contribution,
    Explanation,
    SupportSequence,
)
from partwise.outputs.sequence.support import SupportSet
from partwise.protocol import Cuts, Floats, Ints, take
from partwise.structures.chain import Chain
from partwise.structures.chain.layout import Weights
from partwise.structures.chain.problem import ChainProblem


class SequenceModel:
    """A tagger without its teacher.

    Parameters
    ----------
    featurizer : fitted featurizer of `partwise.features`
    chain : Chain
    labels : list
        Label of each number, as the user knows it.
    weights : array (n_weights,)
        In the plain layout of `Chain.n_weights`.
    info : dict
        What a model file tells about itself: certificate, settings, history; JSON.
    support : SupportSet, optional
    """

    def __init__(
        self,
        featurizer: Any,
        chain: Chain,
        labels: Sequence[Any],
        weights: Floats,
        info: dict[str, Any] | None = None,
        support: SupportSet | None = None,
    ) -> None:
        self.featurizer = featurizer
        self.chain = chain
        self.labels = list(labels)
        self.weights = weights
        self.info = info or {}
        self.support = support

    @property
    def takes(self) -> str:
        """Kind of the sequences: columns, dicts or arrays."""
        return self.featurizer.kind.partition(".")[0]

    @property
    def n_coefficients(self) -> int:
        """Weights before those of transitions and ends."""
        return self.featurizer.n_features_ * self.chain.n_labels

    def problems(self, X: Any, n_jobs: int = 1) -> Iterator[ChainProblem]:
        """Packed sequences to decode: all at once, or in turn what fits in memory."""
        refuse_one_sequence(X)
        yield self.chain.pack(self.featurizer.transform(X), None, n_jobs=n_jobs)

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
        """
        features = self.featurizer.transform(X)
        return self.chain.pack(features, codes, formulation, n_jobs=n_jobs)

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
        if k < 1:
            raise ValueError(f"k={k!r}: give a positive whole number")
        return [
            [(self._name(codes), score) for codes, score in found]
            for problem in self.problems(X, n_jobs)
            for found in problem.k_best(problem.expand(self.weights), k)
        ]

    def margin(self, X: Any, *, n_jobs: int = 1) -> Floats:
        """Score of the best output and its lead over the second, (n_sequences, 2)."""
        rows = []
        for problem in self.problems(X, n_jobs):
            for found in problem.k_best(problem.expand(self.weights), 2):
                best = found[0][1]
                rows.append((best, best - found[1][1] if len(found) > 1 else np.inf))
        return np.array(rows)

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
        parts = self.chain.layout.parts(self.weights[self.n_coefficients :], 0)
        return parts._replace(emission=self._emission())

    def _emission(self) -> Floats:
        return self.weights[: self.n_coefficients].reshape(-1, self.chain.n_labels)

    def weights_by_label(self) -> Iterator[tuple[str, list[str], Floats]]:
        """For each label, the names of the features and their weights."""
        names = self.featurizer.feature_names_
        for label, weights in zip(self.labels, self.parts().emission.T, strict=True):
            yield str(label), names, weights

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
        problem = next(self.problems(X))
        found = problem.k_best(problem.expand(self.weights), 2)[0]
        winner, score = found[0]
        explanation = Explanation(tokens, self._name(winner), None, score, np.inf)
        if len(found) == 1:
            return explanation
        runner, second = found[1]
        explanation.runner_up = self._name(runner)
        explanation.lead = score - second
        reasons = [
            *self._token_reasons(X, winner, runner),
            *self._transition_reasons(winner, runner),
        ]
        explanation.contributions = sorted(reasons, key=lambda c: -abs(c.share))[:top]
        if self.support is not None and len(self.support.alpha):
            shares = self.support.alpha * self._support_margins(X, winner, runner)
            explanation.support = self._supporters(shares, top)
        return explanation

    def _token_reasons(
        self, X: Any, winner: Ints, runner: Ints
    ) -> Iterator[Contribution]:
        """Shares of single features at tokens with different labels."""
        features = self.featurizer.transform(X)
        emission = self.parts().emission
        names = self.featurizer.feature_names_
        for t in map(int, np.flatnonzero(winner != runner)):
            a, b = winner[t], runner[t]
            if hasattr(features, "indptr"):
                here = slice(features.indptr[t], features.indptr[t + 1])
                index = features.indices[here]
                value = features.data[here] if len(features.data) > 1 else 1.0
            else:
                index, value = np.arange(features.X.shape[1]), features.X[t]
            shares = value * (emission[index, a] - emission[index, b])
            for f, share in zip(index, shares, strict=True):
                yield Contribution(
                    t, names[f], self.labels[a], self.labels[b], float(share)
                )

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
        """<a, φ(winner) − φ(runner-up)> of all planes of the dual."""
        kept = self.support
        assert kept is not None
        here = self.chain.pack(self.featurizer.transform(X), winner)
        lead = here.compact(here.combine(one_cut(runner), np.ones(1)))
        training = self.chain.pack(kept.inputs, kept.y)
        return training.margins(training.expand(lead), kept.cuts)

    def _supporters(self, shares: Floats, top: int) -> list[SupportSequence]:
        """Planes with the largest share of the lead."""
        kept = self.support
        assert kept is not None
        best = np.argsort(-np.abs(shares))[:top]
        chosen = take(kept.cuts, best)
        outputs = np.split(chosen.code, chosen.indptr[1:-1])
        starts = kept.offset
        answers = []
        for k, output in zip(best, outputs, strict=True):
            block = kept.cuts.block[k]
            truth = kept.y[starts[block] : starts[block + 1]]
            answers.append(
                SupportSequence(
                    row=int(kept.rows[block]),
                    tokens=kept.tokens[block],
                    truth=self._name(truth),
                    output=self._name(output),
                    alpha=float(kept.alpha[k]),
                    share=float(shares[k]),
                )
            )
        return answers


def one_cut(output: Ints) -> Cuts:
    """The plane φ(truth) − φ(output) of the only example."""
    one, indptr = np.ones(1), np.array([0, len(output)])
    return Cuts(np.zeros(1, np.int64), one, one, one, one, indptr, output)


def refuse_one_sequence(X: Any) -> None:
    """Refuse a sequence where sequences are needed."""
    if isinstance(X, str) or (len(X) and isinstance(X[0], str)):
        raise ValueError("X is one sequence; give a list of sequences: [X]")
    if not len(X):
        raise ValueError("X has no sequence")
