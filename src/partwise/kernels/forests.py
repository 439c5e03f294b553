"""Phrase trees as arrays: the nodes of all trees in pre-order."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from partwise.bounds import check_indices, check_offsets, read_array
from partwise.features.vocabulary import read_strings, string_arrays

WORD = -1  # arity of a leaf


class Forest(NamedTuple):
    """Trees; node i has the label ``strings[symbol[i]]`` and `arity` children.

    Examples
    --------
    >>> forest = encode_trees([("NP", (("DT", ("the",)), ("NN", ("cat",))))])
    >>> [forest.strings[s] for s in forest.symbol], forest.arity.tolist()
    (['NP', 'DT', 'the', 'NN', 'cat'], [2, 1, -1, 1, -1])
    >>> forest.decode()
    [('NP', (('DT', ('the',)), ('NN', ('cat',))))]
    """

    strings: list[str]
    symbol: np.ndarray  # (n_nodes,) int32
    arity: np.ndarray  # (n_nodes,) int32; WORD for a word
    offset: np.ndarray  # (n_trees + 1,) int64, nodes of each tree

    def decode(self) -> list[Any]:
        """Trees as pairs (label, children); words are strings."""
        trees = []
        symbol, arity = self.symbol.tolist(), self.arity.tolist()
        for t in range(len(self.offset) - 1):
            # in reversed pre-order a node finds its children on top of the stack
            stack: list[Any] = []
            for i in range(self.offset[t + 1] - 1, self.offset[t] - 1, -1):
                label = self.strings[symbol[i]]
                if arity[i] == WORD:
                    stack.append(label)
                else:
                    cut = len(stack) - arity[i]
                    children = tuple(reversed(stack[cut:]))
                    del stack[cut:]
                    stack.append((label, children))
            trees.append(stack[0])
        return trees

    def pack(self) -> dict[str, np.ndarray]:
        """Flat arrays for a model file."""
        return {
            **string_arrays(self.strings),
            "symbol": self.symbol,
            "arity": self.arity,
            "offset": self.offset,
        }

    @classmethod
    def unpack(cls, arrays: Mapping[str, np.ndarray]) -> Forest:
        """A forest from `pack`; invalid input raises ValueError."""
        strings = read_strings(arrays)
        symbol = read_array(arrays, "symbol", np.int32)
        arity = read_array(arrays, "arity", np.int32)
        offset = read_array(arrays, "offset", np.int64)
        check_offsets(offset, len(symbol), "trees")
        if len(arity) != len(symbol) or np.any(arity < WORD):
            raise ValueError("damaged trees: their sizes do not agree")
        check_indices(symbol, len(strings), "the label of a tree")
        for t in range(len(offset) - 1):
            _check_shape(t, arity[offset[t] : offset[t + 1]])
        return cls(strings, symbol, arity, offset)


def encode_trees(trees: Sequence[Any]) -> Forest:
    """Bring trees into arrays.

    Parameters
    ----------
    trees : sequence of (label, children), or of nltk.Tree
        A child that is a string is a word.
    """
    numbers: dict[str, int] = {}
    symbol: list[int] = []
    arity: list[int] = []
    offset = [0]
    for t, tree in enumerate(trees):
        if isinstance(tree, str):
            raise ValueError(f"tree {t} is a string; give a pair (label, children)")
        stack = [tree]
        while stack:
            node = stack.pop()
            if isinstance(node, str):
                label, count = node, WORD
            else:
                label, children = _label_and_children(t, node)
                count = len(children)
                stack += reversed(children)
            symbol.append(numbers.setdefault(label, len(numbers)))
            arity.append(count)
        offset.append(len(symbol))
    return Forest(
        list(numbers),
        np.array(symbol, np.int32),
        np.array(arity, np.int32),
        np.array(offset, np.int64),
    )


def _label_and_children(t: int, node: Any) -> tuple[str, Sequence[Any]]:
    label: Any
    children: Any
    if isinstance(node, list) and hasattr(node, "label"):  # nltk.Tree
        label, children = node.label(), node
    elif isinstance(node, tuple | list) and len(node) == 2:
        label, children = node
    else:
        label = children = None
    if not isinstance(label, str) or not isinstance(children, list | tuple):
        text = repr(node)
        raise ValueError(
            f"tree {t}: {text[:60]} where a word or a pair (label, children) is needed"
        )
    return label, children


def _check_shape(t: int, arity: np.ndarray) -> None:
    """Raise ValueError unless the arities are those of one tree in pre-order."""
    # nodes still expected after each node; zero at the end and not before
    expected = 1 + np.cumsum(np.where(arity == WORD, 0, arity).astype(np.int64) - 1)
    if not len(arity) or arity[0] == WORD or expected[-1] != 0:
        raise ValueError(f"damaged trees: tree {t} is no tree")
    if np.any(expected[:-1] <= 0):
        raise ValueError(f"damaged trees: tree {t} is no tree")
