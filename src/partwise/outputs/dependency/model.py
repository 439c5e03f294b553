"""A trained dependency parser: scoring, structure, weights, without scikit-learn."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from partwise.features.sentences import sentence_table
from partwise.objective import Formulation
from partwise.outputs.explanation import Contribution, Explanation
from partwise.outputs.model import stepwise_shares
from partwise.outputs.scoring import Packable
from partwise.outputs.tree_explanation import SupportSentence, arc_reasons, written_arcs
from partwise.outputs.tree_model import TreeModel
from partwise.protocol import Floats, Ints, Latent, offers
from partwise.readers.table import Table
from partwise.readers.trees import DependencyTree
from partwise.structures.constraints import checked_constraints
from partwise.structures.dependency import Arborescence
from partwise.structures.dependency import codes as tree_codes
from partwise.structures.dependency.constrained import decode_within

if TYPE_CHECKING:
    from partwise.structures.dependency.constraints import Constraint


class DependencyModel(TreeModel):
    """Predicts and explains dependency trees.

    The scoring is an `ArcFeatureScoring` or `ArcKeyScoring`; labels are those of the
    structure, or of the labeller.
    """

    name: ClassVar[str] = "DependencyModel"
    structure: Arborescence
    labeller: DependencyModel | None = None  # labels trees of a parser without labels
    pruner: DependencyModel | None = None  # chooses candidate heads, for second order
    n_candidates: int = 10  # heads per word that it keeps

    @property
    def joint_labels(self) -> list[str]:
        """Labels of the structure itself; empty where a labeller adds them."""
        return [] if self.labeller is not None else self.labels

    # ------------------------------------------------------------------- problems

    def problems(
        self, X: Any, n_jobs: int = 1, known_heads: Ints | None = None
    ) -> Iterator[Any]:
        """Packed sentences to parse: all at once, or in turn what fits in memory."""
        table = sentence_table(X)
        for packable in self.scoring.batches(table):
            yield self.pack(table, packable, n_jobs=n_jobs, known_heads=known_heads)

    def training_problem(
        self, X: Any, y: Any, formulation: Formulation, n_jobs: int = 1
    ) -> Any:
        """The problem whose objective the certificate states.

        Raises `ForeignData` where the model can tell that it was not trained on X.
        """
        table, trees = sentence_table(X), tree_codes.as_trees(y)
        names = self.joint_labels
        tree_codes.check_trees(trees, table.offset)
        codes = tree_codes.encode_trees(trees, table.offset, names)
        problem = self.pack(
            table, self.scoring.training(table, n_jobs), codes, formulation, n_jobs,
            hidden=tree_codes.hidden_parts(trees, names),
        )  # fmt: skip
        if offers(problem, Latent):
            problem.complete(problem.expand(self.weights))
        return problem

    def pack(
        self,
        table: Table,
        packable: Packable,
        codes: Ints | None = None,
        formulation: Formulation | None = None,
        n_jobs: int = 1,
        known_heads: Ints | None = None,
        hidden: Any = None,
    ) -> Any:
        """Sentences with the candidate heads of their words, where there is a pruner.

        Parameters
        ----------
        table : Table
        packable : tuple
            Parts and scorer of its sentences.
        codes, formulation, n_jobs, hidden
            See `Arborescence.pack`.
        known : int array (n_words,), optional
            Heads that must be among the candidates; −1 for none.
        """
        parts, scorer = packable
        candidates = None
        if self.pruner is not None:
            if codes is not None:
                known_heads = codes // max(len(self.joint_labels), 1)
            marginals = self.pruner.marginals(table, n_jobs=n_jobs)
            candidates = tree_codes.candidate_heads(
                marginals, table.offset, self.n_candidates, known_heads
            )
        return self.structure.pack(
            parts, codes, formulation, n_jobs=n_jobs, scorer=scorer,
            candidates=candidates, hidden=hidden,
        )  # fmt: skip

    # ----------------------------------------------------------------- prediction

    def parse(
        self,
        X: Any,
        *,
        given: Sequence[Sequence[int | None]] | None = None,
        constraints: Iterable[Constraint] = (),
        n_jobs: int = 1,
    ) -> tuple[list[DependencyTree], np.ndarray]:
        """Trees, and which of them are trees: best heads may run in circles.

        Parameters
        ----------
        X : sentences
        given : list of lists, optional
            Heads that are known; None where they are not.
        constraints : iterable of PartConstraint, or functions of the number of words
            Linear constraints over arcs; see
            `partwise.structures.constraints`.
        n_jobs : int
        """
        if not len(X):
            return [], np.zeros(0, bool)
        table = sentence_table(X)
        heads = None if given is None else tree_codes.known_heads(given, table.offset)
        names = self.joint_labels
        linear_constraints = checked_constraints(constraints, with_functions=True)
        parsed, valid = [], []
        begin = row = 0
        for problem in self.problems(table, n_jobs, heads):
            end = begin + int(problem.blocks.offset[-1])
            known_heads = None if heads is None else heads[begin:end]
            weights = problem.expand(self.weights)
            codes, is_valid = decode_within(
                problem, weights, known_heads, linear_constraints, names, row
            )
            parsed.append(codes)
            valid.append(is_valid)
            begin, row = end, row + problem.n_blocks
        return self._trees(table, np.concatenate(parsed), n_jobs), np.concatenate(valid)

    def _trees(self, table: Table, codes: Ints, n_jobs: int = 1) -> list[Any]:
        """Trees of codes, with the labels of a second stage where there is one."""
        if self.labeller is not None:
            labeller = self.labeller
            truths = codes * labeller.structure.n_labels
            packable = next(labeller.scoring.batches(table))
            problem = labeller.pack(table, packable, truths, n_jobs=n_jobs)
            codes = problem.decode(labeller.weights)[0]
        return tree_codes.decode_trees(codes, table.offset, self.labels)

    def predict_topk(
        self, X: Any, k: int, *, n_jobs: int = 1
    ) -> list[list[tuple[DependencyTree, float]]]:
        """The k best trees of each sentence with their scores, best first.

        With log-probabilities, where the model `has_probabilities`.
        """
        if not len(X):
            return []
        table = sentence_table(X)
        ranking = self.ranked(
            table, k, n_jobs, as_log_probability=self.has_probabilities
        )
        return [
            [(self._trees(table[s], code)[0], score) for code, score in ranked]
            for s, ranked in enumerate(ranking)
        ]

    def confidences(self, X: Any, *, n_jobs: int = 1) -> list[Floats]:
        """P(predicted head) of each word, (n,) for each sentence."""
        return [
            row
            for problem in self.problems(X, n_jobs)
            for row in problem.confidences(problem.expand(self.tempered_weights))
        ]

    # ---------------------------------------------------------------- explanation

    def _first(self, X: Any) -> Table:
        return sentence_table(X)[:1]

    def _words(self, x: Table) -> list[str]:
        return x.strings(next(iter(x.columns)))[0]

    def _two_best(self, x: Table) -> list[tuple[Ints, float]]:
        return next(self.ranked(x, 2))

    def _compared(
        self, x: Table, codes: Sequence[Ints], score: float, lead: float
    ) -> Explanation:
        trees: list[Any] = [self._trees(x, code)[0] for code in codes]
        winner, runner_up = (*trees, None)[:2]
        other = None if runner_up is None else written_arcs(runner_up)
        words, drawn = self._words(x), (x, winner, runner_up)
        return Explanation(words, written_arcs(winner), other, score, lead, drawn=drawn)

    def _reasons(self, x: Table, codes: Sequence[Ints]) -> list[Contribution]:
        """Words that hang from another head, or by another label."""
        problem = self.pack(x, next(self.scoring.batches(x)), codes[0])
        weights = problem.expand(self.weights)
        changed, shares = stepwise_shares(problem, weights, codes[1])
        trees = [self._trees(x, code)[0] for code in codes]
        return arc_reasons(self._words(x), trees, changed, shares)

    def _supporters(
        self, x: Table, codes: Sequence[Ints], top: int
    ) -> list[SupportSentence]:
        """With a kernel, the training sentences, or keys, with their arcs."""
        return self.scoring.supporters(x, self.weights, codes, top)
