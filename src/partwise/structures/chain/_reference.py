"""Plain-Python methods of a chain, on one example: the reference of the kernels.

Here x is a matrix (n_tokens, n_features), dense or CSR, and y a sequence of integers.
Nothing below is fast; `verify` and the tests rely on it being simple.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise, product
from typing import Any, Self

import numpy as np

from partwise.protocol import Floats
from partwise.structures.chain.layout import ChainLayout
from partwise.structures.chain.tag_schemes import Masks
from partwise.structures.losses import TWO_BEST, TokenLoss


class ChainReference:
    """Mixin with the four methods of a structure, and the optional ones."""

    n_labels: int
    order: int
    boundary: bool
    delta: TokenLoss
    layout: ChainLayout
    n_psi_: int
    n_features_: int

    def setup(self, X: Sequence[Any], Y: Sequence[Any]) -> Self:
        """Read the number of features."""
        self.n_features_ = X[0].shape[1]
        self.n_psi_ = self.layout.n_weights(self.n_features_)
        return self

    def masks(self) -> Masks:
        """Masks of transitions, starts and ends; see `Chain`."""
        raise NotImplementedError

    def joint_feature(self, x: Any, y: Sequence[int]) -> Floats:
        """Ψ(x, y): sums of rows by label, counts of runs of labels, both ends."""
        x = np.asarray(x.todense()) if hasattr(x, "todense") else np.asarray(x)
        psi = np.zeros(self.layout.n_weights(x.shape[1]))
        parts = self.layout.parts(psi, x.shape[1])
        for row, label in zip(x, y, strict=True):
            parts.emission[:, label] += row
        for run, counts in ((2, parts.bigram), (3, parts.trigram)):
            for t in range(run - 1, len(y) if counts.size else 0):
                counts[tuple(y[t - run + 1 : t + 1])] += 1
        if self.boundary:
            parts.start[y[0]] += 1
            parts.end[y[-1]] += 1
        return psi

    def loss(self, y: Sequence[int], y_hat: Sequence[int]) -> float:
        """Δ(y, ŷ) by the chosen cost."""
        return self.delta.loss(y, y_hat)

    def argmax(self, x: Any, w: Floats) -> list[int]:
        """The best labels, by dynamic programming over states."""
        return self._decode(x, w, np.zeros((x.shape[0], self.n_labels)))

    def loss_augmented_argmax(self, x: Any, y: Sequence[int], w: Floats) -> list[int]:
        """The best labels when each wrong token adds its loss."""
        if self.delta.search == TWO_BEST:
            return self._two_best_augmented(x, y, w)
        return self._decode(x, w, self.delta.costs(y, self.n_labels))

    def enumerate(self, x: Any) -> Iterator[list[int]]:
        """All sequences that the masks allow; exponential."""
        edges, starts, ends = self.masks()
        for y in product(range(self.n_labels), repeat=x.shape[0]):
            total = starts[y[0]] + ends[y[-1]]
            total += sum(edges[a, b] for a, b in pairwise(y))
            if total == 0:
                yield list(y)

    def two_best(self, x: Any, w: Floats) -> list[list[int]]:
        """The two best outputs, by enumeration."""
        score = {tuple(y): self.joint_feature(x, y) @ w for y in self.enumerate(x)}
        return [list(y) for y in sorted(score, key=lambda y: -score[y])[:2]]

    def frontier(
        self, x: Any, y: Sequence[int], w: Floats
    ) -> list[tuple[float, list[int]]]:
        """The best output for every loss, by enumeration."""
        best: dict[float, tuple[float, list[int]]] = {}
        for y_hat in self.enumerate(x):
            loss = self.loss(y, y_hat)
            score = float(self.joint_feature(x, y_hat) @ w)
            if loss not in best or score > best[loss][0]:
                best[loss] = (score, y_hat)
        return [(loss, y_hat) for loss, (_, y_hat) in sorted(best.items())]

    def _two_best_augmented(self, x: Any, y: Sequence[int], w: Floats) -> list[int]:
        first, *rest = self.two_best(x, w)
        if list(first) != list(y) or not rest:
            return first
        margin = (self.joint_feature(x, first) - self.joint_feature(x, rest[0])) @ w
        return rest[0] if margin < 1 else first

    def _decode(self, x: Any, w: Floats, extra: Floats) -> list[int]:
        """Viterbi over tuples of the last labels, in plain Python."""
        size = self.n_labels
        edges, starts, ends = self.masks()
        parts = self.layout.parts(w, self.n_features_)
        tables = [table for table in (parts.bigram, parts.trigram) if table.size]
        start, end = np.zeros(size), np.zeros(size)
        if self.boundary:
            start, end = parts.start, parts.end
        score = np.asarray(x @ parts.emission) + extra
        keep = max(self.order, 1)  # masks look back one label, whatever the order
        paths: dict[tuple[int, ...], tuple[float, list[int]]] = {
            (a,): (score[0, a] + start[a] + starts[a], [a]) for a in range(size)
        }
        for t in range(1, len(score)):
            step: dict[tuple[int, ...], tuple[float, list[int]]] = {}
            for state, (value, path) in paths.items():
                for a in range(size):
                    total = value + score[t, a] + edges[state[-1], a]
                    for table in tables:
                        if len(path) >= table.ndim - 1:
                            total += table[(*path[len(path) - table.ndim + 1 :], a)]
                    key = (*state, a)[-keep:]
                    if key not in step or total > step[key][0]:
                        step[key] = (total, [*path, a])
            paths = step
        best = max(paths.values(), key=lambda p: p[0] + end[p[1][-1]] + ends[p[1][-1]])
        return best[1]
