"""A trained dependency parser with a kernel: hash functions, anchors, coefficients."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from partwise.features.arc_keys import ArcHasher
from partwise.features.sentences import sentence_table
from partwise.kernels.clusters import WordClusters
from partwise.kernels.gram import gram
from partwise.models.dependency import DependencyModel, SupportTrees, encode_trees
from partwise.objective import Formulation
from partwise.protocol import Floats, Ints
from partwise.readers.table import Table
from partwise.readers.trees import DependencyTree
from partwise.scorers.atomic import AtomicScorer
from partwise.scorers.atomic_index import AtomicIndex, IndexScorer, kernel_columns
from partwise.structures.arborescence import Arborescence


class SupportSentence(NamedTuple):
    """A training sentence and its share of the winner's lead."""

    row: int  # place in the training data
    words: list[str]
    share: float
    arcs: list[tuple[int, int, float]]  # (head, dependent, share), largest first


@dataclass
class TreeExplanation:
    """Why a tree won against the second best one."""

    words: list[str]
    winner: DependencyTree
    runner_up: DependencyTree | None
    score: float
    lead: float
    support: list[SupportSentence]

    def __str__(self) -> str:
        names = ["ROOT", *self.words]
        other = self.runner_up or self.winner
        lines = [f"{'word':20} {'head':20} runner-up"]
        for word, a, b in zip(self.words, self.winner[0], other[0], strict=True):
            lines.append(
                f"{word[:20]:20} {names[a][:20]:20} {'' if a == b else names[b]}"
            )
        lines.append(
            f"score {self.score:.4f}, ahead of the runner-up by {self.lead:.4f}"
        )
        for own in self.support:
            words = " ".join(own.words)
            lines.append(f"  {own.share:+.4f}  training sentence {own.row}: {words}")
            for head, dep, share in own.arcs[:3]:
                lines.append(f"    {share:+.4f}  {names[head]} → {names[dep]}")
        return "\n".join(lines)


class KernelDependencyModel(DependencyModel):
    """
    A dependency parser whose arcs are scored through training sentences.

    Parameters
    ----------
    hasher : ArcHasher
    index : AtomicIndex
    structure : Arborescence
    weights : array (n_postings,)
        Coefficients of the postings of the index.
    info : dict
    support : SupportTrees, optional
    labeller : DependencyModel, optional
    clusters : WordClusters, optional
        Adds a column that hash functions and kernel may look at.
    """

    def __init__(
        self,
        hasher: ArcHasher,
        index: AtomicIndex,
        structure: Arborescence,
        weights: Floats,
        info: dict[str, Any] | None = None,
        support: SupportTrees | None = None,
        labeller: DependencyModel | None = None,
        clusters: WordClusters | None = None,
    ) -> None:
        super().__init__(None, structure, [], weights, info, support, labeller)  # type: ignore[arg-type]
        self.hasher = hasher
        self.index = index
        self.clusters = clusters

    def table(self, X: Any) -> Table:
        """Sentences with all columns that the model looks at."""
        table = sentence_table(X)
        return table if self.clusters is None else self.clusters.transform(table)

    def problem(self, X: Any, n_jobs: int = 1, kept: Ints | None = None) -> Any:
        """Packed sentences to parse; all heads are candidates, the `kept` ones too."""
        table = self.table(X)
        keys = self.hasher.transform(table)
        scorer = IndexScorer(self.index, table)
        return self.structure.pack(keys, None, n_jobs=n_jobs, scorer=scorer)

    def training_problem(
        self, X: Any, y: Any, formulation: Formulation, n_jobs: int = 1
    ) -> Any:
        """The problem whose objective the certificate speaks of.

        Computes the Gram matrix anew; `expand` gives the model of `weights`.
        """
        table = self.table(X)
        codes = encode_trees(y, table.offset, [])
        kernel, values = self.index.kernel, None
        if kernel is not None:
            inputs = table.select(kernel_columns(kernel, table))
            values = gram(kernel, inputs, dtype=np.float32, n_jobs=n_jobs)
        keys = self.hasher.transform(table)
        scorer = AtomicScorer(values)
        problem: Any = self.structure.pack(
            keys, codes, formulation, n_jobs=n_jobs, scorer=scorer
        )
        scorer.kept = self.index.slots(keys, problem.blocks.rows)
        return problem

    # ---------------------------------------------------------------- explanation

    def explain(self, x: Any, top: int = 5) -> TreeExplanation:
        """
        Which training sentences carried the decision.

        Parameters
        ----------
        x : one sentence, or a table whose first one is explained
        top : int
            Sentences to show.

        Returns
        -------
        TreeExplanation
            The score of an arc is a sum over training sentences; each one's share of
            the lead of the best tree over the second is told, and which arcs it speaks
            for (positive) or against.
        """
        table = x[:1] if isinstance(x, Table) else sentence_table([x])
        problem, table = self.problem(table), self.table(table)
        found = problem.k_best(problem.expand(self.weights), 2)[0]
        best, score = found[0]
        second = found[1][0] if len(found) > 1 else None
        shares = self._shares(table, best, 1.0)
        if second is not None:
            shares += self._shares(table, second, -1.0)
        totals = np.zeros(len(self.index.table))
        for anchor, _, _, share in shares:
            totals[anchor] += share
        order = np.argsort(-np.abs(totals), kind="stable")[:top]
        words = self.index.table.strings(next(iter(self.index.table.columns)))
        support = []
        for a in order.tolist():
            if totals[a] == 0.0:
                break
            arcs: dict[tuple[int, int], float] = {}
            for anchor, head, dep, share in shares:
                if anchor == a:
                    arcs[head, dep] = arcs.get((head, dep), 0.0) + share
            told = sorted(arcs.items(), key=lambda item: -abs(item[1]))
            support.append(
                SupportSentence(
                    int(self.index.row[a]),
                    words[a],
                    float(totals[a]),
                    [(head, dep, share) for (head, dep), share in told if share],
                )
            )
        trees = [None if code is None else self._tree(code) for code in (best, second)]
        return TreeExplanation(
            words=table.strings(next(iter(table.columns)))[0],
            winner=trees[0],  # type: ignore[arg-type]
            runner_up=trees[1],
            score=float(score),
            lead=float(score - found[1][1]) if second is not None else np.inf,
            support=support,
        )

    def _tree(self, code: Ints) -> DependencyTree:
        return DependencyTree(code.tolist(), ["_"] * len(code))

    def _shares(
        self, table: Any, code: Ints, sign: float
    ) -> list[tuple[int, int, int, float]]:
        """(anchor, head, dependent, share) of each posting that an arc meets."""
        keys = self.hasher.transform(table)
        n = len(code)
        values, column = self.index._values(table, keys.key.ravel(), 1)
        found = []
        for d, head in enumerate(code.tolist()):
            for key in keys.key[head * n + d]:
                at = int(np.searchsorted(self.index.key, key))
                if at == len(self.index.key) or self.index.key[at] != key:
                    continue
                for s in range(self.index.begin[at], self.index.begin[at + 1]):
                    anchor = int(self.index.anchor[s])
                    value = float(values[0, column[anchor]])
                    share = sign * float(self.weights[s]) * value
                    found.append((anchor, head, d + 1, share))
        return found
