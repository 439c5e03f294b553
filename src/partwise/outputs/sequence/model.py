"""A trained tagger: scoring, chain, labels and weights.

It predicts and explains without scikit-learn, so the command line starts quickly;
`SequenceTagger` is this model plus learning.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Any, ClassVar

import numpy as np

from partwise.outputs.explanation import Contribution
from partwise.outputs.label_model import LabelModel
from partwise.outputs.sequence.span_probabilities import SpanTags, span_probabilities
from partwise.parameters import check_choice
from partwise.protocol import Ints
from partwise.readers.span_tags import spans
from partwise.structures.chain import Chain
from partwise.structures.chain.layout import Weights


class SequenceModel(LabelModel):
    """Predicts and explains label sequences.

    See `LabelModel`; after the coefficients of the scoring, `weights` has those of
    transitions and ends in the plain layout of `Chain.n_weights`.
    """

    structure: Chain
    name: ClassVar[str] = "SequenceModel"
    segments: ClassVar[bool] = False  # whether it scores whole segments

    @property
    def states(self) -> list[Any]:
        """The states of transitions, in the order of their rows and columns."""
        return self.labels

    def plain_primal(
        self, X: Any, codes: Ints, settings: dict[str, Any], objective: Any
    ) -> float:
        """The objective by plain Python; see `Task.plain_primal`."""
        from partwise.structures.chain.plain import plain_primal

        return plain_primal(self, X, codes, settings, objective)

    @property
    def n_coefficients(self) -> int:
        """Weights before those of transitions and ends."""
        return self.scoring.n_coefficients(self.structure.n_labels)

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

    def marginals(
        self, X: Any, *, of: str = "tokens", least: float = 1e-3, n_jobs: int = 1
    ) -> Any:
        """Probabilities of labels, transitions or spans; see `SequenceTagger`."""
        check_choice("of", of, ("tokens", "transitions", "spans"))
        if of == "tokens":
            return super().marginals(X, n_jobs=n_jobs)
        tags = SpanTags.create(self.labels) if of == "spans" else None
        answers: list[Any] = []
        for problem in self.problems(X, n_jobs):
            model = problem.expand(self.tempered_weights)
            node, _ = problem.marginals(model)
            first = node[problem.blocks.offset[:-1]]
            for row, steps in zip(first, problem.step_marginals(model), strict=True):
                if tags is None:
                    answers.append(steps.sum(axis=1))
                else:
                    answers.append(span_probabilities(tags, row, steps, least))
        return answers

    def truth_problems(
        self, X: Any, y: Any, n_jobs: int = 1, **settings: Any
    ) -> Iterator[Any]:
        """Packed sequences with their labels; errors name them."""
        return super().truth_problems(X, y, n_jobs, label_names=self.labels, **settings)

    def confidence(self, X: Any, *, of: str = "outputs", n_jobs: int = 1) -> Any:
        """P(prediction) as a whole, of its tokens or spans; see `SequenceTagger`."""
        check_choice("of", of, ("outputs", "tokens", "spans"))
        if of == "outputs":
            return super().confidence(X, n_jobs=n_jobs)
        labels = self.predict(X, n_jobs=n_jobs)
        tables = self.marginals(X, of=of, least=1e-12, n_jobs=n_jobs)
        pairs = zip(labels, tables, strict=True)
        if of == "spans":
            return [{s: table.get(s, 0.0) for s in spans(row)} for row, table in pairs]
        number = {label: k for k, label in enumerate(self.labels)}
        return [
            table[np.arange(len(row)), [number[label] for label in row]]
            for row, table in pairs
        ]

    def parts(self) -> Weights:
        """Weights by name; views."""
        parts = self.structure.layout.parts(self.weights[self.n_coefficients :], 0)
        emission = self.scoring.emission(self.weights, self.structure.n_labels)
        return parts._replace(emission=emission)

    def _structure_reasons(self, winner: Ints, runner: Ints) -> Iterator[Contribution]:
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
