"""Dependency trees: an arborescence over the words of a sentence, below a root.

An output has a head, and a label when there are labels, for every word; the arcs form
a tree below the root, node 0. Its parts are the labelled arcs:

    <w, φ(x, y)> = Σ_d <w, φ(x, h_d → d)> + <w, φ(x, h_d → d, label_d)>

`Arborescence` holds the settings and the plain-Python reference of its methods;
`ArborescenceProblem` runs whole batches in numba behind the same contract.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import product
from math import comb
from typing import Any, Self

import numpy as np

from partwise.features._arc_compiled import N_VARIANTS, ArcFeatures
from partwise.features.arc_reference import arc_rows, label_rows
from partwise.objective import Formulation
from partwise.parameters import SettingsError, check_choice
from partwise.protocol import CapabilityError, Floats, Ints, Scorer, offsets_of
from partwise.scorers._likely_heads import likely_heads
from partwise.scorers._stored_arcs import StoredRows
from partwise.scorers.arcs import ArcScorer, n_weights
from partwise.structures.dependency._compiled import ArcBlocks
from partwise.structures.dependency._reference import all_trees
from partwise.structures.dependency._searches import (
    BEST_HEADS,
    GIVEN,
    PROJECTIVE,
    TREE,
    decode_by,
    search_by,
)
from partwise.structures.dependency._second_order_compiled import (
    SecondOrderBlocks,
    decode_parts_by,
)
from partwise.structures.dependency.first_order_problem import (
    ArborescenceProblem,
)
from partwise.structures.dependency.partly_known import LatentTreeProblem, known_words
from partwise.structures.dependency.second_order_problem import SecondOrderProblem
from partwise.structures.kernel_problem import with_kernel
from partwise.structures.losses import ADDITIVE, FRONTIER, TWO_BEST, ArcLoss
from partwise.structures.losses.arcs import arc_loss
from partwise.structures.packed import PackedStructure

CONSTRUCTIONS = ("exact", "best_heads", "given")


class Arborescence(PackedStructure):
    """Dependency trees with scores on labelled arcs.

    An example x is the `ArcFeatures` of one sentence; an output is one integer per
    word, head · n_labels + label (the head itself without labels).

    Parameters
    ----------
    n_labels : int
        0 for arcs without labels.
    projective : bool
        Whether arcs must not cross.
    single_root : bool
        Whether exactly one word hangs from the root.
    cost : {"uas", "las"}, float or ArcLoss
        The loss counts wrong heads; a wrong label at the right head costs nothing
        ("uas"), as much as a wrong head ("las"), or this share of it.
    normalized : bool
        Divide the loss by the number of words; an `ArcLoss` decides that itself.
    construction : {"exact", "best_heads", "given"}
        The best tree; the best head of each word, tree or not; or labels of the true
        heads only, for a labeller that comes after a parser.

    Examples
    --------
    >>> tree = Arborescence(n_labels=3, cost=0.5)
    >>> tree.loss([2 * 3 + 1, 0], [2 * 3 + 2, 0]), tree.loss([6, 0], [0, 3])
    (0.5, 2.0)
    """

    def __init__(
        self,
        n_labels: int = 0,
        projective: bool = False,
        single_root: bool = False,
        cost: Any = "uas",
        normalized: bool = False,
        construction: str = "exact",
    ) -> None:
        self.n_labels = n_labels
        self.projective = projective
        self.single_root = single_root
        self.cost = cost
        self.normalized = normalized
        self.construction = construction

    # ------------------------------------------------------------------ settings

    @property
    def delta(self) -> ArcLoss:
        """The loss Δ that `cost` stands for."""
        return arc_loss(self.cost, self.normalized)

    def kind(self) -> int:
        """Which heads are allowed together, as kernels number it."""
        check_choice("construction", self.construction, CONSTRUCTIONS)
        if self.construction == "exact":
            return PROJECTIVE if self.projective else TREE
        if self.projective or self.single_root:
            raise SettingsError(
                f"<construction={self.construction!r}> cannot promise "
                "<projective=True> or "
                "<single_root=True>; use <construction='exact'>"
            )
        return BEST_HEADS if self.construction == "best_heads" else GIVEN

    def n_outputs(self, n: int) -> int:
        """Number of trees over n words, |Y|, with their labels.

        Examples
        --------
        >>> tree = Arborescence(projective=True, single_root=True)
        >>> [tree.n_outputs(n) for n in (2, 3)]
        [2, 7]
        """
        kind = self.kind()
        if not n or kind == GIVEN:
            trees = 1
        elif kind == BEST_HEADS:
            trees = n**n
        elif kind == TREE:  # Cayley's formula
            trees = n ** (n - 1) if self.single_root else (n + 1) ** (n - 1)
        elif self.single_root:
            trees = comb(3 * n - 2, n - 1) // n
        else:
            trees = comb(3 * n, n) // (2 * n + 1)
        return trees * max(self.n_labels, 1) ** n

    # ----------------------------------------------------------- one example at a time

    def setup(self, X: Any, Y: Any) -> Self:
        """Read the number of weights off the first example."""
        self.n_psi_ = n_weights(ArcScorer().bind(X[0], self.n_labels))
        return self

    def joint_feature(self, x: ArcFeatures, y: Any) -> tuple[Ints, Floats]:
        """Ψ(x, y) as (indices, values); plain Python."""
        size = max(self.n_labels, 1)
        width = ArcScorer().bind(x, self.n_labels).width
        places: list[int] = []
        for t, code in enumerate(np.asarray(y).tolist()):
            h, label = divmod(code, size)
            for row, v in arc_rows(x, h, t + 1):
                places += [row * N_VARIANTS, row * N_VARIANTS + v]
            if width:
                start = x.n_rows * N_VARIANTS + label + (h > t + 1) * width
                places += [start + 2 * width * r for r in label_rows(x, h, t + 1)]
        return np.array(places, np.int64), np.ones(len(places))

    def loss(self, y: Any, y_hat: Any) -> float:
        """Δ(y, ŷ)."""
        size = max(self.n_labels, 1)
        return self.delta.loss(np.divmod(y, size), np.divmod(y_hat, size))

    def enumerate(self, x: ArcFeatures) -> Iterator[Ints]:
        """All outputs, for sentences of a few words."""
        n = int(x.offset[1]) - 1
        size = max(self.n_labels, 1)
        heads: Any = all_trees(
            n, projective=self.projective, single_root=self.single_root
        )
        if self.construction == "best_heads":
            options = [[h for h in range(n + 1) if h != d] for d in range(1, n + 1)]
            heads = product(*options)
        for tree in heads:
            for labels in product(range(size), repeat=n):
                yield np.array(tree) * size + np.array(labels)

    # ----------------------------------------------------------------------- batches

    def pack(
        self,
        X: Any,
        Y: Any,
        formulation: Formulation | None = None,
        *,
        n_jobs: int = 1,
        scorer: Scorer | None = None,
        candidates: Ints | None = None,
        hidden: Any = None,
    ) -> ArborescenceProblem | SecondOrderProblem:
        """Lay sentences out for a solver.

        Parameters
        ----------
        X : ArcFeatures, or a list of them; ArcKeys with a `KernelScorer`
        Y : int array (n_words,) of codes, or one per item; None to predict only
        formulation : Formulation
        n_jobs : int
        scorer : Scorer, optional
            How arcs are scored; `ArcScorer` by default.
        candidates : int array (n_words, K), optional
            Heads that a word may have, −1 for none: trees then also score the siblings
            and grandparents that the templates of X name. The true heads must be among
            them.
        hidden : uint8 array (n_words,), optional
            What `Y` does not know, see `hidden_parts`; the problem is then `Latent`.
        """
        formulation = (formulation or Formulation()).validate()
        if not hasattr(X, "offset"):
            X = join_features(X)
            Y = None if Y is None else np.concatenate([np.asarray(y) for y in Y])
        offset = X.offset - np.arange(len(X.offset))
        n_words = int(offset[-1])
        y = np.zeros(n_words, np.int32) if Y is None else np.asarray(Y, np.int32)
        if y.shape != (n_words,):
            raise ValueError(f"Y has {len(y)} codes where X has {n_words} words")
        size = max(self.n_labels, 1)
        longest = np.repeat(np.diff(offset), np.diff(offset))
        if (y < 0).any() or (y // size > longest).any():
            raise ValueError("Y: a head is outside its sentence")
        delta = self.delta
        hidden = np.asarray([] if hidden is None else hidden, np.uint8)
        unit = delta.unit(np.diff(offset))
        scorer = scorer or ArcScorer()
        construction = self.kind()
        if len(hidden):
            self._check_hidden(formulation, scorer, candidates)
            unit = delta.unit(known_words(hidden, offset, self.n_labels))
        if construction == GIVEN and not self.n_labels:
            raise SettingsError("<construction='given'> needs labels")
        if candidates is not None:
            problem: Any = self._pack_parts(
                X, offset, y, unit, formulation, n_jobs, scorer, candidates
            )
            problem.features = X
            return problem
        oracle = self._oracle(formulation, construction)
        rows = scorer.bind(X, self.n_labels)
        is_fixed = Y is not None and not len(hidden)
        if isinstance(rows, StoredRows) and oracle == ADDITIVE and is_fixed:
            rows = rows._replace(heads=likely_heads(rows, y // size))
        blocks = ArcBlocks(
            rows=rows,
            offset=np.ascontiguousarray(offset, np.int64),
            y=np.ascontiguousarray(y),
            unit=unit,
            label_cost=float(delta.label_cost),
            n_labels=size,
            construction=construction,
            single_root=int(self.single_root),
            decode=decode_by(construction),
            oracle=oracle,
            search=search_by(oracle),
            rule=formulation.rule,
            hidden=hidden,
        )
        kind = with_kernel(ArborescenceProblem, scorer)
        if len(hidden):
            kind = LatentTreeProblem
        problem = kind(self, blocks, formulation, n_jobs, scorer)
        problem.features = X
        return problem

    def _pack_parts(
        self,
        X: ArcFeatures,
        offset: Ints,
        y: Ints,
        unit: Floats,
        formulation: Formulation,
        n_jobs: int,
        scorer: Any,
        candidates: Ints,
    ) -> SecondOrderProblem:
        """The problem with second-order parts."""
        if not formulation.is_additive or self.construction != "exact":
            raise CapabilityError(
                "second-order parts have no `frontier`: use <formulation='margin'>, "
                "<penalty='l1'> and <construction='exact'>"
            )
        blocks = SecondOrderBlocks(
            rows=scorer.bind(X, self.n_labels, candidates),
            offset=np.ascontiguousarray(offset, np.int64),
            y=np.ascontiguousarray(y),
            unit=unit,
            label_cost=float(self.delta.label_cost),
            n_labels=max(self.n_labels, 1),
            construction=self.kind(),
            single_root=int(self.single_root),
            decode=decode_parts_by(self.projective, X.n_grand > 0),
            is_narrow=0,
            hidden=np.zeros(0, np.uint8),
        )
        return SecondOrderProblem(
            self, blocks, formulation, n_jobs, scorer, X.n_grand > 0
        )

    def _check_hidden(
        self, formulation: Formulation, scorer: Any, candidates: Any
    ) -> None:
        """Refuse what cannot learn from trees that are partly known."""
        if candidates is not None or not scorer.is_euclidean:
            raise CapabilityError(
                "hidden parts of trees are completed by features of single arcs; use "
                "<order=1> without a kernel, or leave out trees that lack parts"
            )
        is_search = self.delta.search_under(formulation) == ADDITIVE
        if not is_search or self.construction == "given":
            raise CapabilityError(
                "trees with hidden parts need <formulation='margin'>, <penalty='l1'> "
                "and labels that are predicted with the heads"
            )

    def decode(self, X: Any, w: Floats) -> list[Any]:
        """The best codes of each sentence."""
        problem = self.pack(X, None)
        code, *_ = problem.decode(np.asarray(w, np.float64))
        return np.split(code, problem.blocks.offset[1:-1])

    def _oracle(self, formulation: Formulation, construction: int) -> int:
        search = self.delta.search_under(formulation)
        if search == TWO_BEST and construction in (BEST_HEADS, GIVEN):
            raise CapabilityError(
                "a hard margin needs the two best trees, a `frontier` of outputs "
                "that only <construction='exact'> has"
            )
        if search == FRONTIER and construction != PROJECTIVE:
            raise CapabilityError(
                f"{formulation.rescaling} rescaling with penalty "
                f"{formulation.penalty!r} needs `frontier`, the best tree of every "
                "loss, which only projective trees have; use <projective=True>, or "
                "<formulation='margin'> with <penalty='l1'>"
            )
        if search == FRONTIER and self.n_labels:
            self.delta.steps()
        return search


def join_features(items: Sequence[ArcFeatures]) -> ArcFeatures:
    """Sentences of one featurizer after each other."""
    if not len(items):
        raise ValueError("no sentences")
    lengths = np.concatenate([np.diff(item.offset) for item in items])
    return items[0]._replace(
        offset=offsets_of(lengths),
        single=np.concatenate([item.single for item in items]),
        shares=np.concatenate([item.shares for item in items]),
    )
