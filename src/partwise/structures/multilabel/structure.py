"""A set of labels for each example."""

from __future__ import annotations

from itertools import product
from typing import Any, Self

import numpy as np

from partwise.compiled import plain_array
from partwise.objective import MARGIN, Formulation
from partwise.parameters import SettingsError, check_choice, check_whole
from partwise.protocol import CapabilityError, Floats, Ints
from partwise.scorers.linear import LinearScorer
from partwise.structures._packed_compiled import squares_of_rows
from partwise.structures.multilabel._compiled import LabelBlocks
from partwise.structures.multilabel._label_step import LabelwiseBlocks
from partwise.structures.multilabel._searches import BRANCH, EACH, LIST, SWEEP, TREE
from partwise.structures.multilabel.graphs import forest
from partwise.structures.multilabel.problem import MultilabelProblem
from partwise.structures.multilabel.set_losses import LOSSES, set_loss
from partwise.structures.row_structure import (
    RowStructure,
    example_rows,
    padded,
    row_vector,
)

MOST_LISTED = 14  # labels, of which all sets are listed where no other search is exact
MOST_PLAIN = 20  # labels, of which the plain methods list all sets


class Multilabel(RowStructure):
    """Sets of labels: Ψ(x, S) has Φ(x) for each label in S, and a 1 for each pair in S.

    The score of a set is Σ_{k ∈ S} <w_k, x> + Σ_{pairs jk ⊆ S} v_jk. An output is a 0/1
    vector over labels.

    Parameters
    ----------
    n_labels : int
    pairs : array (E, 2)
        Labels that have a score together; see `graphs.label_pairs`.
    cost : {"hamming", "jaccard", "f1", "zero_one"}
        The loss: number of wrong labels; 1 less the Jaccard index, or F1, of two sets;
        1 for another set.
    max_labels : int or None
        Labels of a set at most.
    implications : sequence of (int, int)
        Pairs (a, b): a set with label a has label b.
    search_nodes : int
        After so many nodes branch and bound stops, with a bound.

    Notes
    -----
    Exact searches, and what they serve (`_searches.py`):

    ============ ======================== ============================================
    pairs        constraints              Hamming, margin, L1    other losses, slack, L2
    ============ ======================== ============================================
    none         none, `max_labels`       each label on its own  sweep over counts
    a forest     none                     from leaves to roots   list, up to 14 labels
    any          any                      branch and bound       list, up to 14 labels
    ============ ======================== ============================================

    Without pairs and constraints, Hamming loss with margin rescaling and an L1 penalty
    is one linear machine per label, C/n being liblinear's C; visits of Frank-Wolfe are
    then exact steps over all labels (`_label_step.py`).

    Examples
    --------
    >>> structure = Multilabel(3, pairs=[(0, 1)], implications=[(2, 0)])
    >>> structure.best(np.array([-1.0, -1.0, 0.5]), np.array([2.5]))
    array([1, 1, 1], dtype=int32)
    >>> structure.is_valid([0, 1, 1])
    False
    """

    def __init__(
        self,
        n_labels: int,
        pairs: Any = (),
        cost: str = "hamming",
        max_labels: int | None = None,
        implications: Any = (),
        search_nodes: int = 10_000,
    ) -> None:
        self.n_labels = n_labels
        self.pairs = pairs
        self.cost = cost
        self.max_labels = max_labels
        self.implications = implications
        self.search_nodes = search_nodes

    # ------------------------------------------------------------------- settings

    def pair_array(self) -> Ints:
        """Pairs of labels, (E, 2) int32, checked."""
        return self._number_pairs(self.pairs, "pairs")

    def needs(self) -> np.ndarray:
        """Whether the row's label implies the column's, by others, too, (K, K)."""
        table = np.zeros((self.n_labels, self.n_labels), bool)
        implications = self._number_pairs(self.implications, "implications")
        table[implications[:, 0], implications[:, 1]] = True
        for k in range(self.n_labels):  # Warshall's closure
            table |= np.outer(table[:, k], table[k])
        np.fill_diagonal(table, False)
        return table

    def most(self) -> int:
        """Labels of a set at most."""
        return self.n_labels if self.max_labels is None else self.max_labels

    def check(self) -> None:
        """Refuse settings that mean nothing."""
        check_choice("cost", self.cost, LOSSES)
        check_whole("n_labels", self.n_labels, 1)
        check_whole("max_labels", self.max_labels, 1)
        check_whole("search_nodes", self.search_nodes, 1)
        pairs = np.sort(self.pair_array(), axis=1)
        if len(np.unique(pairs, axis=0)) < len(pairs):
            raise ValueError("pairs: a pair of labels stands there twice")
        self.needs()

    def _number_pairs(self, given: Any, name: str) -> Ints:
        if given is None or len(given) == 0:
            return np.zeros((0, 2), np.int32)
        pairs = np.asarray(given)
        if pairs.ndim != 2 or pairs.shape[1] != 2 or pairs.dtype.kind not in "iu":
            raise ValueError(f"{name}: give pairs of numbers of labels")
        if (pairs < 0).any() or (pairs >= self.n_labels).any():
            raise ValueError(f"{name}: labels are 0 to {self.n_labels - 1}")
        if (pairs[:, 0] == pairs[:, 1]).any():
            raise ValueError(f"{name}: a label with itself; give two labels")
        return plain_array(pairs, np.int32)

    def is_valid(self, y: Any) -> bool:
        """Whether a set keeps the constraints."""
        y = np.asarray(y)
        is_closed = not (self.needs() & (y[:, None] > y[None, :])).any()
        return bool(y.sum() <= self.most()) and is_closed

    # ----------------------------------------------------------- the four methods

    def setup(self, X: Any, Y: Any) -> Self:
        """Number of features."""
        self.check()
        n_features = X.shape[1] if hasattr(X, "shape") else np.size(X[0])
        self.n_psi_ = n_features * self.n_labels + len(self.pair_array())
        return self

    def joint_feature(self, x: Any, y: Any) -> Floats:
        """Ψ(x, S), shape (n_features · K + E,)."""
        y, pairs = np.asarray(y, np.float64), self.pair_array()
        both = y[pairs[:, 0]] * y[pairs[:, 1]]
        return np.concatenate([np.outer(row_vector(x), y).ravel(), both])

    def loss(self, y: Any, y_hat: Any) -> float:
        """Δ of two sets."""
        y, y_hat = np.asarray(y), np.asarray(y_hat)
        counts = int(y.sum()), int((y & y_hat).sum()), int((y_hat > y).sum())
        return set_loss(LOSSES[self.cost], *counts)

    def argmax(self, x: Any, w: Floats) -> Ints:
        """The set of highest score."""
        return self.best(*self._scores(x, w))

    def loss_augmented_argmax(self, x: Any, y: Any, w: Floats) -> Ints:
        """The set of highest score plus loss."""
        score, pair = self._scores(x, w)
        return max(
            self.enumerate(x),
            key=lambda one: self._total(one, score, pair) + self.loss(y, one),
        )

    def frontier(self, x: Any, y: Any, w: Floats) -> list[tuple[float, Ints]]:
        """The best set for every loss."""
        score, pair = self._scores(x, w)
        best: dict[float, Ints] = {}
        for one in self.enumerate(x):
            loss = self.loss(y, one)
            total = self._total(one, score, pair)
            if loss not in best or total > self._total(best[loss], score, pair):
                best[loss] = one
        return list(best.items())

    def best(self, score: Floats, pair: Floats) -> Ints:
        """The valid set of highest score, from those of labels and pairs."""
        sets = self.enumerate(None)
        return max(sets, key=lambda one: self._total(one, score, pair))

    def enumerate(self, x: Any) -> list[Ints]:
        """All valid sets; for few labels."""
        if self.n_labels > MOST_PLAIN:
            raise CapabilityError(
                f"all sets of {self.n_labels} labels are too many for plain methods; "
                "use `pack`, whose searches are others"
            )
        listed = product((0, 1), repeat=self.n_labels)
        return [np.array(y, np.int32) for y in listed if self.is_valid(y)]

    def _scores(self, x: Any, w: Floats) -> tuple[Floats, Floats]:
        vector, w = row_vector(x), np.asarray(w)
        size = len(vector) * self.n_labels
        return vector @ w[:size].reshape(len(vector), self.n_labels), w[size:]

    def _total(self, y: Ints, score: Floats, pair: Floats) -> float:
        pairs = self.pair_array()
        both = y[pairs[:, 0]] * y[pairs[:, 1]]
        return float(score[y == 1].sum() + (pair * both).sum())

    # ------------------------------------------------------------------- batches

    def searches(self, formulation: Formulation) -> tuple[int, int]:
        """Numbers of the searches with the loss and without it; or a refusal."""
        has_needs, size = bool(self.needs().any()), self.n_labels
        pairs = self.pair_array()
        is_apart = not len(pairs) and not has_needs
        plain = EACH if is_apart else BRANCH
        if not has_needs and self.most() >= size and len(pairs):
            plain = BRANCH if forest(pairs, size) is None else TREE
        if formulation.is_additive and self.cost == "hamming":
            return plain, plain
        if is_apart:
            return SWEEP, plain
        if size <= MOST_LISTED:
            return LIST, plain
        what = "pairs" if len(pairs) else "implications"
        raise CapabilityError(
            f"with {what} of {size} labels no exact `frontier` is known for "
            f"<cost={self.cost!r}> under {formulation.rescaling} rescaling with "
            f"penalty {formulation.penalty!r}: use <cost='hamming'> with "
            "<formulation='margin'> and <penalty='l1'>, leave them out "
            f"(<graph='independent'>), or keep to {MOST_LISTED} labels"
        )

    def pack_rows(
        self, X: Any, Y: Any, formulation: Formulation, n_jobs: int, scorer: Any
    ) -> MultilabelProblem:
        """The problem of these rows; Y has 0 or 1 for each label, (n, K)."""
        self.check()
        features: Any = example_rows(X)
        n, size = len(features.offset) - 1, self.n_labels
        pairs, needs = self.pair_array(), self.needs()
        scorer = scorer or LinearScorer()
        width = padded(size)
        rows = scorer.bind(features, width)
        y: Ints = np.zeros((n, size), np.int32)
        number = None
        search, plain = self.searches(formulation if Y is not None else Formulation())
        if Y is not None:
            y = self._check_sets(Y, n)
            rows, number = scorer.ordered(rows)
        else:
            search = plain
        none = np.zeros(0, np.int32)
        order, parent, link = forest(pairs, size) or (none, none, none)
        blocks = LabelBlocks(
            rows=rows, y=y, pairs=pairs, order=order, parent=parent, link=link,
            needs=needs, has_needs=int(needs.any()), most=int(self.most()),
            search=search, limit=int(self.search_nodes), kind=LOSSES[self.cost],
            rule=formulation.rule, has_loss=1, square=np.zeros(0), width=width,
        )  # fmt: skip
        plain_blocks = blocks._replace(search=plain, rule=MARGIN, has_loss=0)
        is_free = search == EACH and self.most() >= size
        if Y is not None and is_free:
            local = scorer.local(rows, features.offset)
            square = np.empty(n)
            squares_of_rows(local, np.zeros(local.n_features * width), width, square)
            blocks = LabelwiseBlocks(*blocks._replace(square=square))
        return MultilabelProblem(
            self, blocks, plain_blocks, features.offset, formulation, n_jobs, scorer,
            number,
        )  # fmt: skip

    def _check_sets(self, Y: Any, n: int) -> Ints:
        y = np.asarray(Y)
        if y.shape != (n, self.n_labels):
            raise ValueError(
                f"Y has shape {y.shape}; give 0 or 1 for each of {n} rows and "
                f"{self.n_labels} labels"
            )
        wrong = np.flatnonzero(~np.isin(y, (0, 1)).all(axis=1))
        if len(wrong):
            raise ValueError(f"Y[{wrong[0]}] holds more than 0 and 1")
        y = plain_array(y, np.int32)
        wrong = np.flatnonzero(y.sum(axis=1) > self.most())
        if len(wrong):
            raise SettingsError(
                f"Y[{wrong[0]}] has {y[wrong[0]].sum()} labels; "
                f"<max_labels={self.max_labels}> allows no more"
            )
        for a, b in np.argwhere(self.needs()):
            wrong = np.flatnonzero(y[:, a] > y[:, b])
            if len(wrong):
                raise SettingsError(
                    f"Y[{wrong[0]}] has label {a} without label {b}, which "
                    "<implications=> ask for; correct one of them"
                )
        return y

    def decode(self, X: Any, w: Floats) -> Any:
        """The best set of each row, (n, K)."""
        problem = self.pack(X, None)
        return problem.decode(problem.expand(w))
