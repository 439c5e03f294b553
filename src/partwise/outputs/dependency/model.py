"""A trained dependency parser: scoring, structure, labels and weights.

It predicts and explains without scikit-learn, so the command line starts quickly;
`DependencyParser` is this model plus learning.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from partwise.features.sentences import sentence_table
from partwise.objective import Formulation
from partwise.outputs.dependency.explanation import explain_tree
from partwise.outputs.dependency.scoring import ArcScoring
from partwise.outputs.explanation import Explanation
from partwise.outputs.model import ScoredModel
from partwise.outputs.scoring import Packable
from partwise.outputs.support import SupportSet
from partwise.protocol import Floats, Ints
from partwise.readers.table import Table
from partwise.readers.trees import DependencyTree
from partwise.structures.dependency import Arborescence
from partwise.structures.dependency.codes import check_trees, encode_trees, known_heads

if TYPE_CHECKING:
    from partwise.structures.dependency.constraints import Constraint


class DependencyModel(ScoredModel):
    """Predicts and explains dependency trees.

    Parameters
    ----------
    scoring : ArcFeatureScoring or ArcKeyScoring
        How arcs are scored.
    structure : Arborescence
    labels : list of str
        Label of each number, of trees whose labels are predicted with them; else empty.
    weights : array (n_weights,)
    info : dict
        What a model file says about itself: certificate, settings, history; JSON.
    support : SupportSet, optional
    labeller : DependencyModel, optional
        Gives labels to the trees of a parser without them.
    pruner : DependencyModel, optional
        Chooses the candidate heads of a parser with second-order parts.
    n_candidates : int
        Heads per word that the pruner keeps.
    """

    name: ClassVar[str] = "DependencyModel"

    def __init__(
        self,
        scoring: ArcScoring,
        structure: Arborescence,
        labels: Sequence[str],
        weights: Floats,
        info: dict[str, Any] | None = None,
        support: SupportSet | None = None,
        labeller: DependencyModel | None = None,
        pruner: DependencyModel | None = None,
        n_candidates: int = 10,
    ) -> None:
        self.scoring = scoring
        self.structure = structure
        self.joint_labels = list(labels)
        self.weights = weights
        self.info = info or {}
        self.support = support
        self.labeller = labeller
        self.pruner = pruner
        self.n_candidates = n_candidates

    @property
    def labels(self) -> list[str]:  # type: ignore[override]
        """Labels that predictions may have."""
        return self.labeller.joint_labels if self.labeller else self.joint_labels

    # ------------------------------------------------------------------- problems

    def problems(
        self, X: Any, n_jobs: int = 1, known: Ints | None = None
    ) -> Iterator[Any]:
        """Packed sentences to parse: all at once, or in turn what fits in memory.

        Parameters
        ----------
        X : sentences
        n_jobs : int
        known : int array (n_words,), optional
            Heads that must be among the candidates; −1 for none.
        """
        table = sentence_table(X)
        for packable in self.scoring.batches(table):
            yield self._pack(table, packable, None, None, n_jobs, known)

    def training_problem(
        self, X: Any, y: Any, formulation: Formulation, n_jobs: int = 1
    ) -> Any:
        """The problem whose objective the certificate speaks of.

        Raises `ForeignData` where the model can tell that it was not trained on X.
        """
        table = sentence_table(X)
        check_trees(y, table.offset)
        codes = encode_trees(y, table.offset, self.joint_labels)
        packable = self.scoring.training(table, n_jobs)
        return self._pack(table, packable, codes, formulation, n_jobs)

    def problem_of(self, table: Table, codes: Ints) -> Any:
        """A new sentence with a tree, to compare others with it."""
        packable = next(self.scoring.batches(table))
        return self._pack(table, packable, codes, None, 1)

    def _pack(
        self,
        table: Table,
        packable: Packable,
        codes: Ints | None,
        formulation: Formulation | None,
        n_jobs: int,
        known: Ints | None = None,
    ) -> Any:
        parts, scorer = packable
        candidates = None
        if self.pruner is not None:
            if codes is not None:
                known = codes // max(len(self.joint_labels), 1)
            candidates = self.pruner.candidates(table, self.n_candidates, n_jobs, known)
        return self.structure.pack(
            parts, codes, formulation, n_jobs=n_jobs, scorer=scorer,
            candidates=candidates,
        )  # fmt: skip

    def candidates(
        self, table: Table, k: int, n_jobs: int = 1, known: Ints | None = None
    ) -> Ints:
        """The k most probable heads of each word, (n_words, k); −1 for none.

        A known head takes the last place where it is not among them.
        """
        heads = np.full((int(table.offset[-1]), k), -1, np.int32)
        for s, share in enumerate(self.marginals(table, n_jobs=n_jobs)):
            words = slice(int(table.offset[s]), int(table.offset[s + 1]))
            order = np.argsort(-share[:, 1:], axis=0, kind="stable")[:k].T
            is_arc = order != np.arange(1, len(share))[:, None]
            heads[words, : order.shape[1]] = np.where(is_arc, order, -1)
        if known is not None:
            absent = (known >= 0) & ~(heads == np.asarray(known)[:, None]).any(axis=1)
            heads[absent, -1] = known[absent]
        return heads

    # ----------------------------------------------------------------- prediction

    def predict(
        self,
        X: Any,
        *,
        given: Sequence[Sequence[int | None]] | None = None,
        constraints: Iterable[Constraint] = (),
        n_jobs: int = 1,
    ) -> list[DependencyTree]:
        """The best tree of each sentence.

        Parameters
        ----------
        X : sentences
        given : list of lists, optional
            Heads that are known; None where they are not.
        constraints : iterable of ArcConstraint, or functions of the number of words
            Linear constraints over arcs; see
            `partwise.structures.dependency.constraints`.
        n_jobs : int
        """
        return self.parse(X, given=given, constraints=constraints, n_jobs=n_jobs)[0]

    def parse(
        self,
        X: Any,
        *,
        given: Sequence[Sequence[int | None]] | None = None,
        constraints: Iterable[Constraint] = (),
        n_jobs: int = 1,
    ) -> tuple[list[DependencyTree], np.ndarray]:
        """Trees, and which of them are trees: best heads may run in circles."""
        if not len(X):
            return [], np.zeros(0, bool)
        table = sentence_table(X)
        fixed = None if given is None else known_heads(given, table.offset)
        rules = list(constraints)
        parsed, valid = [], []
        begin = row = 0
        for problem in self.problems(table, n_jobs, fixed):
            end = begin + int(problem.blocks.offset[-1])
            known = None if fixed is None else fixed[begin:end]
            weights = problem.expand(self.weights)
            codes, value, is_valid = problem.decode(weights, known)
            if not np.isfinite(value).all():
                row += int(np.flatnonzero(~np.isfinite(value))[0])
                raise ValueError(
                    f"sentence {row}: no tree has the given heads; check for circles, "
                    "crossing arcs and several roots"
                )
            if rules:
                from partwise.structures.dependency.constrained import satisfy

                codes = satisfy(
                    problem, weights, codes, rules, self.joint_labels, known
                )
            parsed.append(codes)
            valid.append(is_valid)
            begin, row = end, row + len(value)
        codes, is_valid = np.concatenate(parsed), np.concatenate(valid)
        if self.labeller is not None:
            heads = codes
            codes = self.labeller.label(table, heads, n_jobs)
        return self.trees(codes, table.offset), is_valid

    def label(self, table: Table, heads: Ints, n_jobs: int = 1) -> Ints:
        """Codes of the best labels of given heads; for a labeller."""
        parts, scorer = next(self.scoring.batches(table))
        codes = heads * self.structure.n_labels
        problem = self.structure.pack(parts, codes, n_jobs=n_jobs, scorer=scorer)
        return problem.decode(self.weights)[0]

    def trees(self, codes: Ints, offset: Ints) -> list[DependencyTree]:
        """Codes of words as trees."""
        names = self.labels
        size = max(len(names), 1)
        heads, numbers = (codes // size).tolist(), (codes % size).tolist()
        labels = [names[k] for k in numbers] if names else ["_"] * len(heads)
        return [
            DependencyTree(heads[a:b], labels[a:b])
            for a, b in pairwise(np.asarray(offset).tolist())
        ]

    def predict_topk(
        self, X: Any, k: int, *, n_jobs: int = 1
    ) -> list[list[tuple[DependencyTree, float]]]:
        """The k best trees of each sentence with their scores, best first.

        With log-probabilities, where the model `has_probabilities`.
        """
        if not len(X):
            return []
        table = sentence_table(X)
        answers = []
        ranking = self.ranked(
            table, k, n_jobs, as_log_probability=self.has_probabilities
        )
        for s, ranked in enumerate(ranking):
            trees = []
            for code, score in ranked:
                if self.labeller is not None:
                    code = self.labeller.label(table[s], code)
                trees.append((self.trees(code, np.array([0, len(code)]))[0], score))
            answers.append(trees)
        return answers

    def marginals(self, X: Any, *, n_jobs: int = 1) -> list[Floats]:
        """P(arc from h to d) ∝ exp(score/T), (n + 1, n + 1) for each sentence.

        They are probabilities where the model `has_probabilities`: a margin is none.
        """
        return [
            table
            for problem in self.problems(X, n_jobs)
            for table in problem.marginals(problem.expand(self.tempered_weights))[0]
        ]

    def confidences(self, X: Any, *, n_jobs: int = 1) -> list[Floats]:
        """P(predicted head) of each word, (n,) for each sentence."""
        answers = []
        for problem in self.problems(X, n_jobs):
            weights = problem.expand(self.tempered_weights)
            codes, *_ = problem.decode(weights)
            heads = codes // problem.blocks.n_labels
            tables, _ = problem.marginals(weights)
            rows = np.split(heads, problem.blocks.offset[1:-1])
            answers += [
                table[row, np.arange(1, len(row) + 1)]
                for table, row in zip(tables, rows, strict=True)
            ]
        return answers

    def explain(self, X: Any, *, top: int = 10) -> Explanation:
        """Why the best tree of the first sentence won; see `explain_tree`."""
        return explain_tree(self, X, top=top)
