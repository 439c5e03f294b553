"""The base class of models that label tokens; a row of a matrix is a token, too."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, ClassVar

import numpy as np

from partwise.objective import Formulation
from partwise.outputs.explanation import Contribution, Explanation, SupportSequence
from partwise.outputs.labels import encode_labels
from partwise.outputs.model import LabelledModel, one_cut
from partwise.protocol import Floats, Ints, Latent, offers


class LabelModel(LabelledModel):
    """Scores and explains labels of tokens.

    The scoring is a `TokenFeatureScoring` or `TokenKeyScoring`, the structure a `Chain`
    or `Multiclass`; weights are the coefficients of the scoring, then those of the
    structure. Support structures are a `SupportSet`.
    """

    packing: ClassVar[dict[str, Any]] = {}  # settings of training problems

    @property
    def takes(self) -> str:
        """Kind of the sequences: columns, dicts or arrays."""
        return self.scoring.takes

    def problems(self, X: Any, n_jobs: int = 1) -> Iterator[Any]:
        """Packed sequences to decode: all at once, or in turn what fits in memory."""
        _refuse_one_sequence(X)
        if not len(X):
            return
        for parts, scorer in self.scoring.batches(X):
            yield self.structure.pack(parts, None, n_jobs=n_jobs, scorer=scorer)

    def truth_problems(
        self, X: Any, y: Any, n_jobs: int = 1, **settings: Any
    ) -> Iterator[Any]:
        """Packed sequences with their labels; hidden ones (None) are refused."""
        n = X.shape[0] if hasattr(X, "shape") else len(X)
        if len(y) != n:
            raise ValueError(f"y has {len(y)} sequences where X has {n}")
        first = 0
        for parts, scorer in self.scoring.batches(X) if n else ():
            last = first + len(parts.offset) - 1
            known = y[first:last]
            codes = encode_labels(known, parts.offset, self.labels, first=first)
            yield self.structure.pack(
                parts, codes, n_jobs=n_jobs, scorer=scorer, **settings
            )
            first = last

    def training_problem(
        self, X: Any, codes: Any, formulation: Formulation, n_jobs: int = 1
    ) -> Any:
        """The problem whose objective the certificate states.

        Parameters
        ----------
        X : sequences
        codes : int array (n_tokens,)
            Numbers of the true labels, −1 for those that are not known.
        formulation : Formulation
        n_jobs : int

        Raises
        ------
        ForeignData
            The anchors of a kernel model are not in these sequences.
        """
        parts, scorer = self.scoring.training(X, n_jobs)
        problem = self.structure.pack(
            parts, codes, formulation, n_jobs=n_jobs, scorer=scorer, **self.packing
        )
        if offers(problem, Latent):
            problem.complete(problem.expand(self.weights))
        return problem

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
        ranked = self.two_best(X)
        if not ranked:
            raise ValueError(
                "no output is possible for this sequence under the constraints"
            )
        winner, score = ranked[0]
        if len(ranked) == 1:
            return Explanation(tokens, self._name(winner), None, score, np.inf)
        runner, second = ranked[1]
        reasons = [
            *self._part_reasons(X, (winner, runner)),
            *self._structure_reasons(winner, runner),
        ]
        outputs = [self._name(winner), self._name(runner)]
        explanation = Explanation.compare(
            tokens, outputs, (score, second), reasons, top
        )
        if self.support is not None and len(self.support.alpha):
            shares = self.support.alpha * self._support_margins(X, winner, runner)
            explanation.support = self._supporters(shares, top)
        return explanation

    def two_best(self, X: Any) -> list[tuple[Ints, float]]:
        """Winner and runner-up of one sequence, if there is one, with their scores."""
        return next(self.ranked(X, 2))

    def _part_reasons(
        self, X: Any, outputs: tuple[Ints, Ints]
    ) -> Iterator[Contribution]:
        """Shares of features, or anchors, where labels differ."""
        return self.scoring.reasons(X, self.weights, self.labels, outputs)

    def _structure_reasons(self, winner: Ints, runner: Ints) -> Iterator[Contribution]:
        """Shares of what the structure itself scores; nothing by default."""
        return iter(())

    def _support_margins(self, X: Any, winner: Ints, runner: Ints) -> Floats:
        """<a, φ(winner) − φ(runner-up)> of all planes of the dual.

        φ(winner) − φ(runner-up) is a model on one sequence. It scores the sequences of
        the planes as a trained model scores new ones.
        """
        support = self.support
        assert support is not None
        fit = self.scoring.on(X)
        example = self.structure.pack(fit.parts, winner, scorer=fit.scorer(1))
        lead = example.compact(example.combine(one_cut(runner), np.ones(1)))
        scoring, weights = fit.finish(example, lead)
        parts, scorer = scoring.parts_of(support.inputs)
        training = self.structure.pack(parts, support.y, scorer=scorer)
        return training.margins(training.expand(weights), support.cuts)

    def _supporters(self, shares: Floats, top: int) -> list[SupportSequence]:
        """Planes with the largest share of the lead."""
        support = self.support
        assert support is not None
        supporters = []
        for k in np.argsort(-np.abs(shares))[:top]:
            block = support.cuts.block[k]
            supporters.append(
                SupportSequence(
                    row=int(support.rows[block]),
                    tokens=support.tokens[block],
                    truth=self._name(support.truth(block)),
                    output=self._name(support.output(k)),
                    alpha=float(support.alpha[k]),
                    share=float(shares[k]),
                )
            )
        return supporters


def _refuse_one_sequence(X: Any) -> None:
    """Refuse a sequence where sequences are needed."""
    if isinstance(X, str):
        raise ValueError("X is one string; give lists of words: [X.split()]")
    if len(X) and isinstance(X[0], str):
        raise ValueError("X is one sequence; give a list of sequences: [X]")
