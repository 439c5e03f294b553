"""Label sequences: a chain of order 0, 1 or 2.

An output is one label per token. Its parts are (token, label), each run of two labels
(order 1 and 2) and of three (order 2), and optionally the labels at both ends:

    <w, φ(x, y)> = Σ_t <w[:, y_t], x_t> + Σ_t T[y_{t−1}, y_t] + …

`Chain` holds the settings and the plain-Python reference of its methods; `ChainProblem`
runs whole batches in numba behind the same contract.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from partwise.bounds import MAX_FEATURE, check_magnitude
from partwise.compiled import plain_array
from partwise.features.arrays import as_features
from partwise.objective import Formulation
from partwise.parameters import SettingsError
from partwise.protocol import CapabilityError, Floats, Ints, Scorer, Structure
from partwise.scorers.linear import LinearScorer
from partwise.structures.chain._compiled import ChainBlocks
from partwise.structures.chain._reference import ChainReference
from partwise.structures.chain._searches import search_by
from partwise.structures.chain._truth import check_allowed, check_labels, known_costs
from partwise.structures.chain.layout import ChainLayout
from partwise.structures.chain.problem import (
    ChainProblem,
    LatentChainProblem,
    padded,
)
from partwise.structures.chain.tag_schemes import Masks
from partwise.structures.kernel_problem import with_kernel
from partwise.structures.losses import FRONTIER, TWO_BEST, TokenCosts, TokenLoss
from partwise.structures.losses.tokens import token_loss


class Chain(ChainReference, Structure):
    """Label sequences with scores on tokens and on runs of labels.

    Parameters
    ----------
    n_labels : int
        Labels are the integers below it.
    order : {0, 1, 2}
        Labels that a label's score may look back at. Order 2 has the transitions of
        order 1 as well.
    boundary : bool
        Whether the first and the last label have scores of their own.
    cost : {"hamming", "normalized", "zero_one"}, array (L, L) or TokenLoss
        The loss: number of wrong tokens, share of wrong tokens, 1 for any wrong
        sequence, the cost of predicting the column's label for the row's, or an object
        of `partwise.structures.losses`.
    transitions, starts, ends : bool arrays (L, L), (L,), (L,), optional
        False forbids a transition, a first and a last label.

    Examples
    --------
    >>> chain = Chain(2, cost="normalized")
    >>> chain.loss([0, 1, 1, 0], [0, 1, 0, 0])
    0.25
    """

    def __init__(
        self,
        n_labels: int,
        order: int = 1,
        boundary: bool = False,
        cost: Any = "hamming",
        transitions: Any = None,
        starts: Any = None,
        ends: Any = None,
    ) -> None:
        self.n_labels = n_labels
        self.order = order
        self.boundary = boundary
        self.cost = cost
        self.transitions = transitions
        self.starts = starts
        self.ends = ends

    @property
    def layout(self) -> ChainLayout:  # type: ignore[override]
        """Where the weights of a model stand."""
        return ChainLayout(self.n_labels, self.order, self.boundary)

    def n_weights(self, n_features: int) -> int:
        """Length of a model over that many features."""
        return self.layout.n_weights(n_features)

    def cost_matrix(self) -> Floats:
        """Costs at a single token, shape (L, L), in the row of the true label."""
        return self.delta.matrix(self.n_labels)

    @property
    def delta(self) -> TokenLoss:  # type: ignore[override]
        """The loss Δ that `cost` stands for."""
        return token_loss(self.cost)

    def masks(self) -> Masks:
        """0 where a transition, first or last label is allowed, −inf elsewhere."""
        size = self.n_labels
        masks = {}
        for name in Masks._fields:
            shape = (size, size) if name == "transitions" else (size,)
            given = getattr(self, name)
            allowed = np.ones(shape, bool) if given is None else np.asarray(given, bool)
            if allowed.shape != shape:
                raise ValueError(f"{name} has shape {allowed.shape}, expected {shape}")
            masks[name] = np.where(allowed, 0.0, -np.inf)
        return Masks(**masks)

    def allows(self, y: Any) -> bool:
        """Whether the masks allow an output, an array of labels."""
        edges, starts, ends = self.masks()
        is_forbidden = starts[y[0]] or ends[y[-1]]
        return not (is_forbidden or edges[y[:-1], y[1:]].any())

    def facts(self) -> dict[str, Any]:
        """Its settings, for `inspect`."""
        return {
            "chain": {
                "order": self.order,
                "boundary": self.boundary,
                "cost": self.cost if isinstance(self.cost, str) else "matrix",
                "constrained": self.transitions is not None,
            }
        }

    def n_outputs(self, n: int) -> int:
        """Number of label sequences of n tokens, |Y|, forbidden ones left out.

        Examples
        --------
        >>> Chain(16).n_outputs(9) == 16**9
        True
        """
        transitions, starts, ends = (mask == 0 for mask in self.masks())
        if not n:
            return 1
        # whole numbers of Python: they do not overflow
        count = [int(allowed) for allowed in starts]
        for _ in range(n - 1):
            count = [
                sum(c for c, allowed in zip(count, column, strict=True) if allowed)
                for column in transitions.T
            ]
        return sum(c for c, allowed in zip(count, ends, strict=True) if allowed)

    def pack(
        self,
        X: Any,
        Y: Any,
        formulation: Formulation | None = None,
        *,
        n_jobs: int = 1,
        token_weight: Any = None,
        scorer: Scorer | None = None,
        label_names: Sequence[Any] | None = None,
        may_hide: bool = False,
    ) -> ChainProblem:
        """Lay sequences out for a solver.

        Parameters
        ----------
        X : Features, DenseFeatures, or list of matrices (tokens × features)
            Rows of all tokens with the offsets of the sequences; `LabelKeys` with a
            `KernelScorer`.
        Y : int array (n_tokens,), or one per matrix; None to predict only
        formulation : Formulation
        n_jobs : int
        token_weight : array (n_tokens,), optional
            Factor of each token's loss.
        scorer : Scorer, optional
            How rows are scored; `LinearScorer` by default.
        label_names : sequence, optional
            Labels in the user's own form, for error messages.
        may_hide : bool
            Whether −1 in `Y` stands for a label that is not known; the problem is then
            `Latent`. By default −1 is refused like any other label outside the
            alphabet: only callers that complete labels can train such a problem.
        """
        formulation = (formulation or Formulation()).validate()
        if not hasattr(X, "offset"):
            X = as_features(X)
            Y = None if Y is None else np.concatenate([np.asarray(y) for y in Y])
        if self.order not in (0, 1, 2):
            raise SettingsError(f"<order={self.order!r}>: choose 0, 1 or 2")
        offset = plain_array(X.offset, np.int64)
        if (offset[1:] <= offset[:-1]).any():
            raise ValueError("X has a sequence without tokens; leave it out")
        y = self._checked_labels(Y, offset, label_names, may_hide)
        is_hidden = y < 0
        weight = _checked_weights(token_weight, len(y))
        edges, starts, ends = self.masks()
        delta = self.delta
        known, step = y, int(token_weight is not None)
        if is_hidden.any():  # they cost nothing, and begin with the most frequent label
            costs = known_costs(delta, y, offset, self.n_labels)
            weight, step = np.where(is_hidden, 0.0, weight), 1
            counts = np.bincount(y[~is_hidden], minlength=1)
            y = np.where(is_hidden, np.argmax(counts), y).astype(np.int32)
        else:
            costs = delta.pack(y, offset, self.n_labels)
        oracle = self._oracle(formulation, costs, weight)
        extra = padded(self.n_labels) - self.n_labels
        scorer = scorer or LinearScorer()
        rows = scorer.bind(X, padded(self.n_labels))
        number = None
        if Y is not None:  # learning visits the rows many times: worth a renumbering
            rows, number = scorer.ordered(rows)
        blocks = ChainBlocks(
            rows=rows,
            offset=offset,
            y=y,
            cost=np.pad(costs.table, ((0, 0), (0, extra))),
            cost_row=plain_array(costs.row, np.int32),
            unit=costs.unit,
            token_weight=weight,
            weight_step=step,
            forbid_edge=np.pad(edges, (0, extra), constant_values=-np.inf),
            forbid_start=np.pad(starts, (0, extra), constant_values=-np.inf),
            forbid_end=np.pad(ends, (0, extra), constant_values=-np.inf),
            order=self.order,
            boundary=int(self.boundary),
            oracle=oracle,
            search=search_by(oracle),
            rule=formulation.rule,
            zero_one=int(delta.search == TWO_BEST),
        )
        if is_hidden.any():
            return self._pack_latent(blocks, formulation, n_jobs, scorer, number, known)
        kind = with_kernel(ChainProblem, scorer)
        return kind(self, blocks, formulation, n_jobs, scorer, number)

    def _checked_labels(
        self, Y: Any, offset: Ints, names: Sequence[Any] | None, may_hide: bool
    ) -> Ints:
        """True labels of all tokens as kernels read them; zeros without any."""
        n_tokens = int(offset[-1])
        if Y is None:
            return np.zeros(n_tokens, np.int32)
        if np.shape(Y) != (n_tokens,):
            raise ValueError(f"Y has {len(Y)} labels where X has {n_tokens} tokens")
        check_labels(np.asarray(Y), offset, self.n_labels, may_hide)
        y: Ints = plain_array(Y, np.int32)
        if (y >= 0).all():
            check_allowed(y, offset, self.masks(), names)
        return y

    def _pack_latent(
        self,
        blocks: ChainBlocks,
        formulation: Formulation,
        n_jobs: int,
        scorer: Scorer,
        number: Ints | None,
        known: Ints,
    ) -> LatentChainProblem:
        """The problem with hidden labels, completed at the zero model."""
        if not scorer.is_euclidean:
            raise CapabilityError(
                "hidden labels are completed by weights of features, not of a kernel; "
                "leave the kernel out, or the sequences that lack labels"
            )
        problem = LatentChainProblem(
            self, blocks, formulation, n_jobs, scorer, number, known
        )
        _, value = problem.decode(problem.zero(), known)
        if np.isneginf(value).any():
            raise ValueError(
                f"sequence {int(np.argmin(value))} has labels that no sequence which "
                "the constraints allow can have; repair them or drop the constraint"
            )
        if any(table.min() < 0 for table in self.masks()):
            problem.complete(problem.zero())  # an allowed output
        return problem

    def decode(self, X: Any, w: Floats) -> list[Any]:
        """The best labels of each sequence."""
        problem = self.pack(X, None)
        code, _ = problem.decode(problem.expand(w))
        return np.split(code, problem.blocks.offset[1:-1])

    def _oracle(
        self, formulation: Formulation, costs: TokenCosts, weight: Floats
    ) -> int:
        search = self.delta.search_under(formulation)
        if search == TWO_BEST:
            # two-best assumes one output without loss, the truth
            is_free = costs.has_free_errors() or not weight.all()
            return FRONTIER if is_free else TWO_BEST
        if search == FRONTIER and not (costs.is_whole() and (weight % 1 == 0).all()):
            raise CapabilityError(
                f"{formulation.rescaling} rescaling with penalty "
                f"{formulation.penalty!r} needs losses that are whole numbers, because "
                "its oracle runs over every value of the loss; round cost and "
                "<token_weight>, or use <formulation='margin'> with <penalty='l1'>"
            )
        return search


def _checked_weights(token_weight: Any, n_tokens: int) -> Floats:
    """Weights of the losses of tokens, (n_tokens,); without any, one for all."""
    if token_weight is None:
        return np.ones(1)
    weight: Floats = plain_array(token_weight, np.float64)
    check_magnitude(weight, MAX_FEATURE, "token_weight")
    if weight.shape != (n_tokens,) or (weight <= 0).any():
        raise ValueError("token_weight: give one positive number per token")
    return weight
