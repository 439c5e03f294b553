"""Packed examples of multiclass classification: the `Problem` of `Multiclass`."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np

from partwise.objective import Formulation
from partwise.protocol import CapabilityError, Cuts, Floats, Ints
from partwise.structures._packed_compiled import gather_columns
from partwise.structures.digests import row_digests
from partwise.structures.multiclass import _compiled as compiled
from partwise.structures.multiclass._compiled import MulticlassBlocks, MulticlassWork
from partwise.structures.packed import ScoredProblem, aligned_zeros
from partwise.structures.row_structure import row_effort
from partwise.threads import run_sharded

MANY = 10_000  # examples, from which on neighbours are visited in runs
RUN = 450  # features of the examples of a run


class MulticlassProblem(ScoredProblem):
    """Packed examples with one class each.

    A model of this problem has padded rows and may number features in its own way;
    `compact` and `expand` convert from and to the plain layout (n_features, D), D the
    number of attributes, that is of classes by default.
    """

    def __init__(
        self,
        structure: Any,
        blocks: MulticlassBlocks,
        local: MulticlassBlocks | None,
        formulation: Formulation,
        n_jobs: int,
        scorer: Any,
        number: Ints | None = None,
    ) -> None:
        size, width = len(blocks.cost), blocks.width

        def new_work() -> MulticlassWork:
            return MulticlassWork(
                parts=aligned_zeros(1, width),
                scores=aligned_zeros(size),
                spare=aligned_zeros(size),
                alpha=aligned_zeros(size),
                target=aligned_zeros(size),
                chosen=np.zeros(size, np.int32),
            )

        def localise() -> tuple[MulticlassBlocks, int]:
            if local is None:
                raise CapabilityError("a problem without classes cannot be learned")
            rows: Any = local.rows
            return local, rows.n_features * width

        # Without losses, and without the exact step that `blocks` may have.
        plain = MulticlassBlocks(*blocks)._replace(
            cost=np.zeros((size, size)), b=np.zeros((size, size)),
            scale=np.ones((size, size)), is_hard=0,
        )  # fmt: skip
        super().__init__(
            structure,
            blocks,
            plain,
            offset=np.arange(len(blocks.y) + 1),
            length=lambda rows: rows.n_features * width,
            new_work=new_work,
            formulation=formulation,
            n_jobs=n_jobs,
            scorer=scorer,
            number=number,
            localise=localise,
        )
        self.run_length = self._run_length()
        self.n_attributes = int(blocks.attribute.max(initial=0)) + 1
        if scorer.is_euclidean:
            self.n_attributes = structure.attribute_matrix().shape[1]

    def _run_length(self) -> int:
        """Neighbours per run: about RUN numbers, where the data outgrow the cache.

        Tokens of CoNLL-2000 (14 features, 23 classes) take 230 ns each one after the
        other and 850 ns in random order; documents of 150 words hide the difference.
        """
        rows: Any = self.blocks.rows
        if self.n_blocks < MANY or not self.is_euclidean:
            return 1
        n_numbers = rows.x.size if hasattr(rows, "x") else len(rows.indices)
        return max(1, RUN * self.n_blocks // max(n_numbers, 1))

    def weights(self, model: Floats) -> Floats:
        """A model as a matrix (n_features, width), padding included; a view."""
        return model.reshape(-1, self.blocks.width)

    def compact(self, model: Floats) -> Floats:
        """A model in the plain layout, flat."""
        return self.weights(model)[self.number, : self.n_attributes].ravel()

    def expand(self, weights: Floats) -> Floats:
        """A model of this problem from the plain layout."""
        model = self.zero()
        plain = np.reshape(weights, (-1, self.n_attributes))
        self.weights(model)[self.number, : self.n_attributes] = plain
        return model

    def effort(self) -> Floats:
        """Features of each example."""
        return row_effort(self.blocks.rows, self.n_blocks)

    def keys(self) -> list[bytes] | None:
        """Digests of features, as the user numbers them, and classes."""
        if not self.is_euclidean:
            return None  # rows of a Gram matrix depend on all inputs
        each = np.arange(self.n_blocks + 1)
        return row_digests(self.blocks.rows, self.number, self.blocks.y, each)

    def outputs(self, cuts: Cuts) -> list[int]:
        """Classes of the cuts."""
        return cuts.code.tolist()

    # ------------------------------------------------------- all classes of all rows

    def scores(self, model: Floats) -> Floats:
        """Scores of all classes, shape (n, K)."""
        out = np.empty((self.n_blocks, len(self.blocks.cost)))

        def visit(work: Any, first: int, last: int) -> None:
            compiled.score_all(self.plain_blocks, work, model, first, last, out)

        self.visit_shards(self.n_blocks, visit)
        return out

    def decode(self, model: Floats) -> Ints:
        """The class of highest score of each row, the first of several, (n,)."""
        return np.argmax(self.scores(model), axis=1).astype(np.int32)

    def k_best(self, model: Floats, k: int) -> list[list[tuple[int, float]]]:
        """The k classes of highest score with their scores, for each row."""
        scores = self.scores(model)
        order = np.argsort(-scores, axis=1, kind="stable")[:, :k]
        best = np.take_along_axis(scores, order, axis=1)
        return [
            list(zip(classes, values, strict=True))
            for classes, values in zip(order.tolist(), best.tolist(), strict=True)
        ]

    def k_cuts(self, model: Floats, rows: Ints, k: int) -> Cuts:
        """The k most violated planes of each row, by loss-augmented scores."""
        if not self.formulation.is_additive:
            raise CapabilityError(
                "k > 1 needs <formulation='margin'> and <penalty='l1'>"
            )
        rows = np.asarray(rows, np.int64)
        work = self.borrow_work()
        scores = np.empty((self.n_blocks, len(self.blocks.cost)))
        for i in np.unique(rows):
            compiled.score_all(self.plain_blocks, work, model, i, i + 1, scores)
        self.return_work(work)
        y = self.blocks.y[rows]
        violation = self.blocks.b[y] + scores[rows] - scores[rows, y][:, None]
        order = np.argsort(-violation, axis=1, kind="stable")[:, :k]
        k = order.shape[1]
        violation = np.take_along_axis(violation, order, axis=1)
        b = np.take_along_axis(self.blocks.b[y], order, axis=1).ravel()
        return Cuts(
            np.repeat(rows, k), b, np.ones(len(b)), violation.ravel(),
            np.repeat(violation[:, 0], k), np.arange(len(b) + 1),
            order.ravel().astype(np.int32),
        )  # fmt: skip

    def marginals(self, model: Floats) -> tuple[Floats, Floats]:
        """P(class) under exp(score), shape (n, K), and log Z of each row, (n,)."""
        scores = self.scores(model)
        top = scores.max(axis=1)
        share = np.exp(scores - top[:, None])
        total = share.sum(axis=1)
        return share / total[:, None], top + np.log(total)

    def log_likelihood(self, model: Floats, weight: Floats) -> tuple[Floats, Floats]:
        """Loss log Z_i − <w, Ψ(x_i, y_i)> of each row, and Σ c_i (E[Ψ] − Ψ(x_i, y_i)).

        This is multinomial logistic regression.
        """
        columns = self._columns
        each, y = np.arange(self.n_blocks), self.blocks.y
        scores = self.scores(model)
        truth = scores[each, y]
        top = scores.max(axis=1)
        share = np.exp(scores - top[:, None])
        total = share.sum(axis=1)
        loss = (top - truth) + np.log(total)
        share *= (weight / total)[:, None]
        share[each, y] -= weight
        blocks = self.blocks
        mass = np.zeros((self.n_blocks, blocks.width))
        compiled.to_attributes(
            blocks.first, blocks.attribute, blocks.degree, share, mass
        )
        gradient = self.zero()
        into = self.weights(gradient)

        def work_on(first: int, last: int) -> None:
            gather_columns(*columns, first, last, mass, into)

        run_sharded(self.n_jobs, len(into), work_on, shard=1024)
        return loss, gradient

    @cached_property
    def _columns(self) -> Any:
        return self.scorer.columns(self.blocks.rows)
