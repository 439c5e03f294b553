"""The convolution kernel on phrase trees.

A fragment is a connected part of a tree with more than one node that has, for each
node in it, either all children or none. The feature of fragment f is
√(decay^size(f)) times its number of occurrences, with the number of productions as
size, so k(x, x') = Σ C(n, n') over pairs of nodes, with

    C(n, n') = 0                                    if their productions differ
    C(n, n') = decay · Π_j (1 + C(n_j, n'_j))       over the children that are no words

(Collins and Duffy, Convolution Kernels for Natural Language, NIPS 2001.) Only pairs of
nodes with equal productions are visited: those of each tree are sorted.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from partwise.kernels.base import Bound, Kernel, Real, Rows
from partwise.kernels.checks import check_real
from partwise.kernels.forests import WORD, Forest, encode_trees
from partwise.kernels.inputs import TREES
from partwise.protocol import Floats


class ConvolutionTree(Kernel):
    """Number of common fragments of two phrase trees, large ones weighted down.

    Parameters
    ----------
    decay : float in (0, 1]
        Weight of each production of a fragment. Near 1, a tree resembles hardly
        anything but itself.

    Examples
    --------
    >>> cat = ("NP", (("DT", ("the",)), ("NN", ("cat",))))
    >>> dog = ("NP", (("DT", ("the",)), ("NN", ("dog",))))
    >>> ConvolutionTree(decay=1.0)([cat, dog])
    array([[6., 3.],
           [3., 6.]])
    """

    inputs = TREES

    def __init__(self, decay: float = 0.4) -> None:
        self.decay = decay

    def check(self) -> None:
        """Raise ValueError when the decay has no meaning."""
        check_real("decay", self.decay, 0, 1, above=True)

    def bind(self, X: Sequence[Any], Y: Sequence[Any] | None = None) -> Bound:
        """Number the productions of both sets of trees."""
        self.check()
        return BoundTrees(self.decay, X, Y)


class BoundTrees(Bound):
    """Trees as sorted productions."""

    def __init__(self, decay: float, X: Sequence[Any], Y: Sequence[Any] | None) -> None:
        if not len(X):
            raise ValueError("no trees")
        numbers: dict[tuple[Any, ...], int] = {}
        self.decay = float(decay)
        self.x = _sort_productions(encode_trees(X), numbers)
        self.y = self.x if Y is None else _sort_productions(encode_trees(Y), numbers)
        self.n_rows = len(self.x.node_ptr) - 1
        self.n_cols = len(self.y.node_ptr) - 1
        self.is_symmetric = Y is None

    def block(
        self, rows: Rows = None, cols: Rows = None, dtype: Real = np.float64
    ) -> np.ndarray:
        """Always in double precision: the values span many orders of magnitude."""
        from partwise.kernels._tree_compiled import tree_block

        rows, cols = self.shape_of(rows, cols)
        out = np.empty((len(rows), len(cols)))
        tree_block(self.x, rows, self.y, cols, self.decay, out)
        return out

    def row_diagonal(self) -> Floats:
        """k(x, x) of each row."""
        return self._diagonal(self.x)

    def column_diagonal(self) -> Floats:
        """k(y, y) of each column."""
        return self._diagonal(self.y)

    def _diagonal(self, trees: Any) -> Floats:
        from partwise.kernels._tree_compiled import tree_diagonal

        out = np.empty(len(trees.node_ptr) - 1)
        tree_diagonal(trees, self.decay, out)
        return out

    def row_work(self) -> Floats:
        """Nodes of each tree."""
        return np.diff(self.x.node_ptr).astype(float)

    def column_work(self) -> Floats:
        """Nodes of each tree."""
        return np.diff(self.y.node_ptr).astype(float)

    def content(self) -> Iterator[Any]:
        """Productions by number: equality is all that counts."""
        yield from (self.x.node_ptr, self.x.kind_ptr, self.x.kind, self.x.by_kind)
        yield from (self.x.child_ptr, self.x.child)
        if not self.is_symmetric:
            yield from (self.y.node_ptr, self.y.kind_ptr, self.y.kind, self.y.by_kind)
            yield from (self.y.child_ptr, self.y.child)


def _sort_productions(forest: Forest, numbers: dict[tuple[Any, ...], int]) -> Any:
    """Arrays of `TreeArrays`; productions are numbered by first appearance."""
    from partwise.kernels._tree_compiled import TreeArrays

    n_trees = len(forest.offset) - 1
    is_inner = forest.arity != WORD
    before = np.append(0, np.cumsum(is_inner))  # inner nodes before each node
    node_ptr = before[forest.offset]
    production, child_ptr, child = _productions(forest, before, numbers)
    tree = np.repeat(np.arange(n_trees), np.diff(node_ptr))
    order = np.lexsort((production, tree))
    kinds, place = np.unique(
        np.stack([tree[order], production[order]]), axis=1, return_index=True
    )
    kind_ptr = np.searchsorted(kinds[0], np.arange(n_trees + 1))
    within = np.repeat(np.arange(kinds.shape[1]), np.diff(place, append=len(order)))
    kind_of = np.empty(len(order), np.int32)
    kind_of[order] = within - kind_ptr[tree[order]]
    return TreeArrays(
        node_ptr.astype(np.int64),
        kind_of,
        child_ptr,
        child,
        kind_ptr.astype(np.int64),
        kinds[1].astype(np.int32),
        np.append(place, len(order)).astype(np.int64),
        (order - node_ptr[tree[order]]).astype(np.int32),
    )


def _productions(
    forest: Forest, before: np.ndarray, numbers: dict[tuple[Any, ...], int]
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Production of each inner node, and its inner children, in pre-order."""
    strings = forest.strings
    symbol, arity = forest.symbol.tolist(), forest.arity.tolist()
    numbers_backwards: list[int] = []
    children_of: list[list[int]] = []
    for t in range(len(forest.offset) - 1):
        first = before[forest.offset[t]]
        stack: list[int] = []
        # reversed pre-order: the children of a node are on top of the stack
        for i in range(forest.offset[t + 1] - 1, forest.offset[t] - 1, -1):
            if arity[i] != WORD:
                cut = len(stack) - arity[i]
                children = stack[cut:][::-1]
                del stack[cut:]
                key = [strings[symbol[i]]]
                inner = []
                for j in children:
                    key += [strings[symbol[j]], arity[j] == WORD]
                    if arity[j] != WORD:
                        inner.append(int(before[j] - first))
                children_of.append(inner)
                number = numbers.setdefault(tuple(key), len(numbers))
                numbers_backwards.append(number)
            stack.append(i)
    # the loop ran backwards within each tree
    node_ptr = before[forest.offset]
    tree = np.repeat(np.arange(len(node_ptr) - 1), np.diff(node_ptr))
    turned = node_ptr[tree] + node_ptr[tree + 1] - 1 - np.arange(len(tree))
    production = np.array(numbers_backwards, np.int64)[turned]
    lists = [children_of[k] for k in turned]
    child_ptr = np.append(0, np.cumsum([len(inner) for inner in lists]))
    child = np.array([j for inner in lists for j in inner], np.int32)
    return production, child_ptr.astype(np.int64), child
