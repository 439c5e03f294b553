"""A trained dependency parser: featurizer, structure, labels and weights.

It predicts and explains without scikit-learn, so the command line starts quickly;
`DependencyParser` is this model plus learning.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from partwise.features.arcs import ArcFeaturizer
from partwise.features.sentences import sentence_table
from partwise.objective import Formulation
from partwise.protocol import Cuts, Floats, Ints, Support
from partwise.readers.table import Table
from partwise.readers.trees import DependencyTree
from partwise.structures.dependency import Arborescence

if TYPE_CHECKING:
    from partwise.structures.dependency.constraints import Constraint


class SupportTrees(NamedTuple):
    """Support structures with the training sentences they belong to."""

    table: Table  # those sentences
    y: Ints  # (n_words,) their true codes
    cuts: Cuts  # blocks are numbered as in `table`
    alpha: Floats  # (m,)
    rows: Ints  # (n_sentences,) their place in the training data

    @classmethod
    def create(cls, table: Table, y: Ints, support: Support) -> SupportTrees:
        """Keep only the sentences that carry dual mass."""
        rows, block = np.unique(support.cuts.block, return_inverse=True)
        cuts = support.cuts._replace(block=block.astype(np.int64))
        codes = np.split(np.asarray(y), table.offset[1:-1])
        kept = [codes[i] for i in rows] or [np.zeros(0, np.int32)]
        return cls(table[rows], np.concatenate(kept), cuts, support.alpha, rows)


class DependencyModel:
    """A dependency parser without its teacher.

    Parameters
    ----------
    featurizer : ArcFeaturizer
    structure : Arborescence
    labels : list of str
        Label of each number; empty for trees without labels.
    weights : array (n_weights,)
    info : dict
        What a model file tells about itself: certificate, settings, history; JSON.
    support : SupportTrees, optional
    labeller : DependencyModel, optional
        Gives labels to the trees of a parser without them.
    pruner : DependencyModel, optional
        Chooses the candidate heads of a parser with second-order parts.
    n_candidates : int
        Heads per word that the pruner keeps.
    """

    def __init__(
        self,
        featurizer: ArcFeaturizer,
        structure: Arborescence,
        labels: Sequence[str],
        weights: Floats,
        info: dict[str, Any] | None = None,
        support: SupportTrees | None = None,
        labeller: DependencyModel | None = None,
        pruner: DependencyModel | None = None,
        n_candidates: int = 10,
    ) -> None:
        self.featurizer = featurizer
        self.structure = structure
        self.own_labels = list(labels)
        self.weights = weights
        self.info = info or {}
        self.support = support
        self.labeller = labeller
        self.pruner = pruner
        self.n_candidates = n_candidates

    @property
    def labels(self) -> list[str]:
        """Labels that predictions may have."""
        return self.labeller.own_labels if self.labeller else self.own_labels

    # ------------------------------------------------------------------- problems

    def problems(
        self, X: Any, n_jobs: int = 1, kept: Ints | None = None
    ) -> Iterator[Any]:
        """Packed sentences to parse: all at once, or in turn what fits in memory.

        Parameters
        ----------
        X : sentences
        n_jobs : int
        kept : int array (n_words,), optional
            Heads that must be among the candidates; −1 for none.
        """
        yield self._pack(sentence_table(X), None, None, n_jobs, kept)

    def training_problem(
        self, X: Any, y: Any, formulation: Formulation, n_jobs: int = 1
    ) -> Any:
        """The problem whose objective the certificate speaks of."""
        table = sentence_table(X)
        codes = encode_trees(y, table.offset, self.own_labels)
        heads = codes // max(len(self.own_labels), 1)
        return self._pack(table, codes, formulation, n_jobs, heads)

    def _pack(
        self,
        table: Table,
        codes: Ints | None,
        formulation: Formulation | None,
        n_jobs: int,
        kept: Ints | None,
    ) -> Any:
        candidates = None
        if self.pruner is not None:
            candidates = self.pruner.candidates(table, self.n_candidates, n_jobs, kept)
        return self.structure.pack(
            self.featurizer.transform(table), codes, formulation, n_jobs=n_jobs,
            candidates=candidates,
        )  # fmt: skip

    def candidates(
        self, table: Table, k: int, n_jobs: int = 1, kept: Ints | None = None
    ) -> Ints:
        """The k most probable heads of each word, (n_words, k); −1 for none.

        A head to be kept takes the last place where it is not among them.
        """
        found = np.full((int(table.offset[-1]), k), -1, np.int32)
        for s, own in enumerate(self.marginals(table, n_jobs=n_jobs)):
            words = slice(int(table.offset[s]), int(table.offset[s + 1]))
            order = np.argsort(-own[:, 1:], axis=0, kind="stable")[:k].T
            is_arc = order != np.arange(1, len(own))[:, None]
            found[words, : order.shape[1]] = np.where(is_arc, order, -1)
        if kept is not None:
            absent = (kept >= 0) & ~(found == np.asarray(kept)[:, None]).any(axis=1)
            found[absent, -1] = kept[absent]
        return found

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
        table = sentence_table(X)
        fixed = None if given is None else _fix(given, table.offset)
        rules = list(constraints)
        found, valid = [], []
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
                from partwise.outputs.dependency.constrained import satisfy

                codes = satisfy(problem, weights, codes, rules, self.own_labels, known)
            found.append(codes)
            valid.append(is_valid)
            begin, row = end, row + len(value)
        codes, is_valid = np.concatenate(found), np.concatenate(valid)
        if self.labeller is not None:
            heads = codes
            codes = self.labeller.name(table, heads, n_jobs)
        return self.trees(codes, table.offset), is_valid

    def name(self, table: Table, heads: Ints, n_jobs: int = 1) -> Ints:
        """Codes of the best labels of given heads; for a labeller."""
        features = self.featurizer.transform(table)
        size = self.structure.n_labels
        problem = self.structure.pack(features, heads * size, n_jobs=n_jobs)
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
        """The k best trees of each sentence with their scores, best first."""
        if k < 1:
            raise ValueError(f"k={k!r}: give a positive whole number")
        table = sentence_table(X)
        answers = []
        ranked = (
            found
            for problem in self.problems(table, n_jobs)
            for found in problem.k_best(problem.expand(self.weights), k)
        )
        for s, found in enumerate(ranked):
            own = []
            for code, score in found:
                if self.labeller is not None:
                    code = self.labeller.name(table[s], code)
                own.append((self.trees(code, np.array([0, len(code)]))[0], score))
            answers.append(own)
        return answers

    def margin(self, X: Any, *, n_jobs: int = 1) -> Floats:
        """Score of the best tree and its lead over the second, (n_sentences, 2)."""
        rows = []
        for problem in self.problems(X, n_jobs):
            for found in problem.k_best(problem.expand(self.weights), 2):
                best = found[0][1]
                rows.append((best, best - found[1][1] if len(found) > 1 else np.inf))
        return np.array(rows)

    def marginals(self, X: Any, *, n_jobs: int = 1) -> list[Floats]:
        """P(arc from h to d) ∝ exp(score), (n + 1, n + 1) for each sentence.

        They are probabilities of the model when it was trained with ``loss="log"``.
        """
        return [
            table
            for problem in self.problems(X, n_jobs)
            for table in problem.marginals(problem.expand(self.weights))[0]
        ]

    def confidences(self, X: Any, *, n_jobs: int = 1) -> list[Floats]:
        """P(predicted head) of each word, (n,) for each sentence."""
        answers = []
        for problem in self.problems(X, n_jobs):
            weights = problem.expand(self.weights)
            codes, *_ = problem.decode(weights)
            heads = codes // problem.blocks.n_labels
            tables, _ = problem.marginals(weights)
            rows = np.split(heads, problem.blocks.offset[1:-1])
            answers += [
                table[own, np.arange(1, len(own) + 1)]
                for table, own in zip(tables, rows, strict=True)
            ]
        return answers


def _fix(given: Sequence[Sequence[int | None]], offset: Ints) -> Ints:
    """Known heads of all words; −1 where there is none."""
    if len(given) != len(offset) - 1:
        raise ValueError(
            f"given has {len(given)} sentences where X has {len(offset) - 1}"
        )
    fixed = []
    for row, known in enumerate(given):
        n = int(offset[row + 1] - offset[row])
        if len(known) != n:
            raise ValueError(f"given: sentence {row} has another length than in X")
        for d, head in enumerate(known, 1):
            if head is not None and (not 0 <= head <= n or head == d):
                raise ValueError(
                    f"given: sentence {row}, word {d}: head {head!r} is not among "
                    f"0…{n} without {d}"
                )
            fixed.append(-1 if head is None else int(head))
    return np.array(fixed, np.int32)


def encode_trees(y: Any, offset: Ints, labels: Sequence[str]) -> Ints:
    """Codes of all words, head · n_labels + label; the head itself without labels.

    Parameters
    ----------
    y : list of trees, pairs (heads, labels)
    offset : int array (n_sentences + 1,)
    labels : sequence of str
    """
    n = len(offset) - 1
    if len(y) != n:
        raise ValueError(f"y has {len(y)} trees where X has {n} sentences")
    number = {label: k for k, label in enumerate(labels)}
    size = max(len(labels), 1)
    codes: list[int] = []
    for s, (heads, names) in enumerate(y):
        length = int(offset[s + 1] - offset[s])
        if len(heads) != length or (labels and len(names) != length):
            raise ValueError(
                f"tree {s} has {len(heads)} heads where the sentence has {length} words"
            )
        check_tree(heads, s)
        for d, head in enumerate(heads):
            label = 0
            if labels:
                if names[d] not in number:
                    raise ValueError(
                        f"tree {s}, word {d + 1}: unknown label {names[d]!r}"
                    )
                label = number[names[d]]
            codes.append(int(head) * size + label)
    return np.array(codes, np.int32)


def check_tree(heads: Sequence[int], s: int) -> None:
    """Refuse heads that are outside the sentence or run in circles."""
    n = len(heads)
    state = [0] * (n + 1)  # 1 while on the path, 2 when the root is known above
    state[0] = 2
    for d, head in enumerate(heads, 1):
        if not 0 <= head <= n or head == d:
            raise ValueError(
                f"tree {s}, word {d}: head {head!r} is not among 0…{n} without {d}"
            )
    for start in range(1, n + 1):
        path = []
        d = start
        while state[d] == 0:
            state[d] = 1
            path.append(d)
            d = int(heads[d - 1])
        if state[d] == 1:
            raise ValueError(f"tree {s}, word {d}: its heads run in a circle")
        for d in path:
            state[d] = 2
