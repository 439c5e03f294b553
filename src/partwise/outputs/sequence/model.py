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
from partwise.protocol import Ints
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
        """What transitions lead from and to, in their order."""
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
