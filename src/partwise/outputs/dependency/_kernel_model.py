"""A trained dependency parser with a kernel: hash functions, anchors, coefficients."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from partwise.features.arc_keys import ArcHasher
from partwise.features.sentences import sentence_table
from partwise.kernels.clusters import WordClusters
from partwise.objective import Formulation
from partwise.outputs.dependency.model import (
    DependencyModel,
    SupportTrees,
    encode_trees,
)
from partwise.protocol import Floats, Ints
from partwise.readers.table import Table
from partwise.readers.trees import DependencyTree
from partwise.scorers.kernel_index import IndexScorer, KernelIndex, TrainedScorer
from partwise.structures.dependency import Arborescence


class SupportSentence(NamedTuple):
    """A training sentence, or a key, and its share of the winner's lead."""

    row: int | None  # place in the training data; None for a key without a kernel
    words: list[str]  # of the sentence, or what the key stands for
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
            if own.row is not None:
                words = f"training sentence {own.row}: {words}"
            lines.append(f"  {own.share:+.4f}  {words}")
            for head, dep, share in own.arcs[:3]:
                lines.append(f"    {share:+.4f}  {names[head]} → {names[dep]}")
        return "\n".join(lines)


class KernelDependencyModel(DependencyModel):
    """
    A dependency parser whose arcs are scored through training sentences.

    Parameters
    ----------
    hasher : ArcHasher
    index : KernelIndex
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
        index: KernelIndex,
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

    def inputs(self, table: Table) -> Any:
        """What the kernel compares of these sentences; None without a kernel."""
        kernel, anchors = self.index.kernel, self.index.anchors
        if kernel is None or anchors is None:
            return None
        return table.select(list(anchors.inputs.columns))

    def problems(
        self, X: Any, n_jobs: int = 1, kept: Ints | None = None
    ) -> Iterator[Any]:
        """Packed sentences to parse; all heads are candidates, the `kept` ones too."""
        table = self.table(X)
        length = np.diff(table.offset)
        n_keys = length * (length + 1) * len(self.hasher.match)
        for rows in self.index.runs(table.offset, n_keys):
            some = table[rows]
            scorer = IndexScorer(self.index, self.inputs(some))
            keys = self.hasher.transform(some)
            yield self.structure.pack(keys, None, n_jobs=n_jobs, scorer=scorer)

    def training_problem(
        self, X: Any, y: Any, formulation: Formulation, n_jobs: int = 1
    ) -> Any:
        """The problem whose objective the certificate speaks of.

        Computes the Gram matrix anew; `expand` gives the model of `weights`. Raises
        `ForeignData` when X are not the sentences that the model was trained on.
        """
        table, index = self.table(X), self.index
        codes = encode_trees(y, table.offset, [])
        inputs, keys = self.inputs(table), self.hasher.transform(table)
        scorer = TrainedScorer(index, inputs, n_jobs)
        problem: Any = self.structure.pack(
            keys, codes, formulation, n_jobs=n_jobs, scorer=scorer
        )
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
        plain = x[:1] if isinstance(x, Table) else sentence_table([x])
        problem, table = next(self.problems(plain)), self.table(plain)
        found = problem.k_best(problem.expand(self.weights), 2)[0]
        best, score = found[0]
        second = found[1][0] if len(found) > 1 else None
        trees = [None if code is None else self._tree(code) for code in (best, second)]
        return TreeExplanation(
            words=table.strings(next(iter(table.columns)))[0],
            winner=trees[0],  # type: ignore[arg-type]
            runner_up=trees[1],
            score=float(score),
            lead=float(score - found[1][1]) if second is not None else np.inf,
            support=self._supporters(table, best, second, top),
        )

    def _supporters(
        self, table: Table, best: Ints, second: Ints | None, top: int
    ) -> list[SupportSentence]:
        """Anchors, or keys without them, with the largest shares of the lead."""
        keys, n = self.hasher.transform(table), len(best)
        sign: dict[int, float] = {}  # of an arc: ±1, or 0 where both trees have it
        for code, side in ((best, 1.0), (second, -1.0)):
            for d, head in enumerate([] if code is None else code.tolist()):
                sign[head * n + d] = sign.get(head * n + d, 0.0) + side
        parts = [part for part, side in sign.items() if side]
        shares: dict[Any, dict[tuple[int, int], float]] = {}
        for part, number, anchor, share in self.index.shares(
            self.inputs(table), keys, parts, self.weights
        ):
            arc = part // n, part % n + 1
            who: Any = anchor
            if self.index.anchors is None:
                who = self.hasher.describe(table, keys, part, number)
            own = shares.setdefault(who, {})
            own[arc] = own.get(arc, 0.0) + sign[part] * share
        totals = {who: sum(own.values()) for who, own in shares.items()}
        order = sorted(shares, key=lambda who: -abs(totals[who]))[:top]
        return [self._supporter(who, totals[who], shares[who]) for who in order]

    def _supporter(
        self, who: Any, total: float, arcs: dict[tuple[int, int], float]
    ) -> SupportSentence:
        told = sorted(arcs.items(), key=lambda item: -abs(item[1]))
        listed = [(head, dep, share) for (head, dep), share in told if share]
        anchors = self.index.anchors
        if anchors is None:
            return SupportSentence(None, [who], total, listed)
        first = next(iter(anchors.inputs.columns))
        (words,) = anchors.inputs[who].strings(first)
        return SupportSentence(int(anchors.row[who]), words, total, listed)

    def _tree(self, code: Ints) -> DependencyTree:
        return DependencyTree(code.tolist(), ["_"] * len(code))
