"""A trained tagger: scoring, chain, labels and weights, without scikit-learn."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Any, ClassVar

import numpy as np

from partwise.outputs.explanation import Contribution
from partwise.outputs.label_model import LabelModel
from partwise.outputs.labels import encode_labels
from partwise.parameters import check_choice
from partwise.protocol import Ints
from partwise.readers.span_tags import spans
from partwise.structures.chain import Chain
from partwise.structures.chain.layout import Weights
from partwise.structures.chain.span_probabilities import SpanTags, span_probabilities


class SequenceModel(LabelModel):
    """Predicts and explains label sequences.

    See `LabelModel`; after the coefficients of the scoring, `weights` has those of
    transitions and ends in the plain layout of `Chain.n_weights`.
    """

    structure: Chain
    name: ClassVar[str] = "SequenceModel"
    packing: ClassVar[dict[str, Any]] = {"may_hide": True}
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
            offset, first, known = problem.blocks.offset, len(answers), None
            if given is not None:
                labels = given[first : first + problem.n_blocks]
                known = encode_labels(labels, offset, self.labels, "given", first)
            codes, value = problem.decode(problem.expand(self.weights), known)
            if not np.isfinite(value).all():
                row = first + int(np.argmin(np.isfinite(value)))
                raise ValueError(
                    f"sequence {row}: no output is possible under the constraints and "
                    "the given labels"
                )
            names = self._name(codes)
            answers += [names[a:b] for a, b in pairwise(offset)]
        return answers

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

    def transitions(self) -> list[list[float | None]]:
        """Weights of pairs of states, from row to column; None where one is forbidden.

        None at all with order 0.
        """
        table = self.parts().bigram.astype(object)
        table[self.structure.masks()[0][: len(table)] < 0] = None
        return table.tolist()

    def _structure_reasons(self, winner: Ints, runner: Ints) -> Iterator[Contribution]:
        """Shares of runs of labels, and of labels at both ends."""
        parts = self.parts()
        for table, length in ((parts.bigram, 2), (parts.trigram, 3)):
            for t in range(length - 1, len(winner)) if table.size else ():
                runs = [y[t - length + 1 : t + 1] for y in (winner, runner)]
                if (runs[0] != runs[1]).any():
                    a, b = ("→".join(map(str, self._name(run))) for run in runs)
                    share = float(table[tuple(runs[0])] - table[tuple(runs[1])])
                    yield Contribution(t, "transition", a, b, share)
        ends = (parts.start, 0, "start"), (parts.end, len(winner) - 1, "end")
        for table, t, what in ends:
            if table.size and winner[t] != runner[t]:
                a, b = self.labels[winner[t]], self.labels[runner[t]]
                share = float(table[winner[t]] - table[runner[t]])
                yield Contribution(t, what, a, b, share)
