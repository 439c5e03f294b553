"""A trained tagger: featurizer, chain, labels and weights.

It predicts and explains without scikit-learn, so the command line starts quickly;
`SequenceTagger` is this model plus learning.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from partwise.features.arrays import DenseFeatures
from partwise.models.explanation import Contribution, Explanation, SupportSequence
from partwise.protocol import Cuts, Floats, Ints, Support, take
from partwise.structures.chain import Chain
from partwise.structures.chain_problem import ChainProblem, Weights


class SupportSet(NamedTuple):
    """Support structures with the training sequences they belong to."""

    features: Any  # Features or DenseFeatures of those sequences
    y: Ints  # (n_tokens,) their true labels
    cuts: Cuts  # blocks are numbered as in `features`
    alpha: Floats  # (m,)
    rows: Ints  # (n_sequences,) their place in the training data
    tokens: list[list[str]]  # to show them

    @classmethod
    def create(
        cls, features: Any, y: Ints, support: Support, tokens: Any
    ) -> SupportSet:
        """Keep only the sequences that carry dual mass.

        Parameters
        ----------
        features : Features or DenseFeatures
            Of the training data.
        y : int array (n_tokens,)
        support : Support
        tokens : callable
            Row number to the list of strings to show.
        """
        rows, block = np.unique(support.cuts.block, return_inverse=True)
        kept, token_rows = take_sequences(features, rows)
        cuts = support.cuts._replace(block=block.astype(np.int64))
        shown = [tokens(int(i)) for i in rows]
        return cls(kept, np.asarray(y)[token_rows], cuts, support.alpha, rows, shown)


def take_sequences(features: Any, rows: Ints) -> tuple[Any, Ints]:
    """The chosen sequences of `features`, and the numbers of their tokens."""
    length = np.diff(features.offset)[rows]
    offset = np.concatenate([[0], np.cumsum(length)]).astype(np.int64)
    begin = np.repeat(features.offset[rows] - offset[:-1], length)
    tokens = begin + np.arange(offset[-1])
    if not hasattr(features, "indptr"):
        return features._replace(X=features.X[tokens], offset=offset), tokens
    size = np.diff(features.indptr)[tokens]
    indptr = np.concatenate([[0], np.cumsum(size)]).astype(np.int64)
    picked = np.repeat(features.indptr[tokens] - indptr[:-1], size)
    picked = picked + np.arange(indptr[-1])
    data = features.data
    if len(data) == len(features.indices) and len(data) > 1:
        data = data[picked]
    indices = features.indices[picked]
    return features._replace(
        indptr=indptr, indices=indices, data=data, offset=offset
    ), tokens


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

    def problems(self, X: Any, n_jobs: int = 1) -> Iterator[ChainProblem]:
        """Packed sequences to decode: all at once, or in turn what fits in memory."""
        if isinstance(X, str) or (len(X) and isinstance(X[0], str)):
            raise ValueError("X is one sequence; give a list of sequences: [X]")
        if not len(X):
            raise ValueError("X has no sequence")
        if hasattr(self.featurizer, "batches"):
            batches = self.featurizer.batches(X, n_jobs)
        else:
            batches = iter([self.featurizer.transform(X)])
        for features in batches:
            yield self.chain.pack(features, None, n_jobs=n_jobs)

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
        model = self.weights
        size = self.chain.n_labels
        at = self.featurizer.n_features_ * size
        emission = model[:at].reshape(-1, size)
        tail = model[at:]
        runs = []
        for run, order in ((2, 1), (3, 2)):
            length = size**run if self.chain.order >= order else 0
            runs.append(tail[:length].reshape(-1, *(size,) * (run - 1)))
            tail = tail[length:]
        half = size if self.chain.boundary else 0
        return Weights(emission, runs[0], runs[1], tail[:half], tail[half:])

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
        features = self.featurizer.transform(X)
        problem = self.chain.pack(features, None)
        found = problem.k_best(problem.expand(self.weights), 2)[0]
        winner, score = found[0]
        explanation = Explanation(tokens, self._name(winner), None, score, np.inf)
        if len(found) == 1:
            return explanation
        runner, second = found[1]
        explanation.runner_up = self._name(runner)
        explanation.lead = score - second
        reasons = self._reasons(features, winner, runner)
        explanation.contributions = sorted(reasons, key=lambda c: -abs(c.share))[:top]
        if self.support is not None:
            explanation.support = self._support_for(X, features, winner, runner, top)
        return explanation

    def _reasons(self, features: Any, winner: Ints, runner: Ints) -> list[Contribution]:
        parts = self.parts()
        names = self.featurizer.feature_names_
        reasons = []
        for t in map(int, np.flatnonzero(winner != runner)):
            a, b = winner[t], runner[t]
            if hasattr(features, "indptr"):
                here = slice(features.indptr[t], features.indptr[t + 1])
                index = features.indices[here]
                value = features.data[here] if len(features.data) > 1 else 1.0
            else:
                index, value = np.arange(features.X.shape[1]), features.X[t]
            shares = value * (parts.emission[index, a] - parts.emission[index, b])
            for f, share in zip(index, shares, strict=True):
                reasons.append(
                    Contribution(
                        t, names[f], self.labels[a], self.labels[b], float(share)
                    )
                )
        for table, run in ((parts.bigram, 2), (parts.trigram, 3)):
            for t in range(run - 1, len(winner)) if table.size else ():
                a, b = (y[t - run + 1 : t + 1] for y in (winner, runner))
                if (a != b).any():
                    first, second = (
                        "→".join(map(str, self._name(run_))) for run_ in (a, b)
                    )
                    share = float(table[tuple(a)] - table[tuple(b)])
                    reasons.append(Contribution(t, "transition", first, second, share))
        for table, t, what in ((parts.start, 0, "start"), (parts.end, -1, "end")):
            if table.size and winner[t] != runner[t]:
                a, b = winner[t], runner[t]
                share = float(table[a] - table[b])
                place = t % len(winner)
                reasons.append(
                    Contribution(place, what, self.labels[a], self.labels[b], share)
                )
        return reasons

    def _support_for(
        self, X: Any, features: Any, winner: Ints, runner: Ints, top: int
    ) -> list[SupportSequence]:
        """Planes whose α a has the largest part in <w, φ(winner) − φ(runner-up)>."""
        kept = self.support
        assert kept is not None
        theirs = kept.features
        if hasattr(self.featurizer, "anchors"):
            # the same inner products: tokens of x as features, each its own row
            base = self.featurizer.base.transform(X)
            values = self.featurizer.between(theirs, base)
            features = DenseFeatures(np.eye(len(winner)), features.offset)
            theirs = DenseFeatures(values, theirs.offset)
        here = self.chain.pack(features, winner)
        offset = here.blocks.offset
        one, zero = np.ones(1), np.zeros(1, np.int64)
        lead = here.combine(Cuts(zero, one, one, one, one, offset, runner), one)
        training = self.chain.pack(theirs, kept.y)
        lead = training.expand(here.compact(lead))
        shares = kept.alpha * training.margins(lead, kept.cuts)
        best = np.argsort(-np.abs(shares))[:top]
        chosen = take(kept.cuts, best)
        starts = kept.features.offset
        answers = []
        for k, output in zip(best, training.outputs(chosen), strict=True):
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
