"""Dependency trees as users give them: checks, and codes for the structure."""

from __future__ import annotations

from collections.abc import Sequence
from numbers import Integral
from typing import Any

import numpy as np

from partwise.parameters import SettingsError
from partwise.protocol import Ints
from partwise.readers.trees import DependencyTree, is_projective


def encode_trees(y: Any, offset: Ints, labels: Sequence[str]) -> Ints:
    """Codes of all words, head · n_labels + label; the head itself without labels.

    Parameters
    ----------
    y : list of trees, pairs (heads, labels)
        As `check_trees` accepts them.
    offset : int array (n_sentences + 1,)
    labels : sequence of str
    """
    number = {label: k for k, label in enumerate(labels)}
    size = max(len(labels), 1)
    codes: list[int] = []
    for s, (heads, names) in enumerate(y):
        if labels and len(names) != offset[s + 1] - offset[s]:
            raise ValueError(f"tree {s} has {len(heads)} heads and {len(names)} labels")
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


def as_trees(y: Any) -> list[Any]:
    """
    Trees of which some may be heads alone: their labels become ``_``.

    Parameters
    ----------
    y : list of pairs (heads, labels), or of sequences of heads

    Examples
    --------
    >>> as_trees([[2, 0], ([0], ["root"])])
    [DependencyTree(heads=[2, 0], labels=['_', '_']), ([0], ['root'])]
    """
    if y is None:
        raise ValueError("y is None; give a tree per sentence: its heads and labels")
    trees = []
    for tree in y:
        heads = tree.tolist() if isinstance(tree, np.ndarray) else tree
        if isinstance(heads, list) and all(isinstance(h, Integral) for h in heads):
            tree = DependencyTree(heads, ["_"] * len(heads))
        trees.append(tree)
    return trees


def check_trees(y: Any, offset: Ints) -> None:
    """Refuse trees that do not belong to these sentences, or are none."""
    n = len(offset) - 1
    if len(y) != n:
        raise ValueError(f"y has {len(y)} trees where X has {n} sentences")
    for s, (heads, _) in enumerate(y):
        length = int(offset[s + 1] - offset[s])
        if len(heads) != length:
            raise ValueError(
                f"tree {s} has {len(heads)} heads where the sentence has {length} words"
            )
        check_tree(heads, s)


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


def refuse_many_roots(y: Any) -> None:
    """Refuse trees that a parser with a single root could never predict."""
    for s, (heads, _) in enumerate(y):
        if (n_roots := list(heads).count(0)) > 1:
            raise SettingsError(
                f"tree {s} has {n_roots} words below the root; use <single_root=False> "
                "for such treebanks"
            )


def known_heads(given: Sequence[Sequence[int | None]], offset: Ints) -> Ints:
    """Heads that a user gives for all words; −1 where there is none."""
    if len(given) != len(offset) - 1:
        raise ValueError(
            f"given has {len(given)} sentences where X has {len(offset) - 1}"
        )
    fixed = []
    for row, heads in enumerate(given):
        n = int(offset[row + 1] - offset[row])
        if len(heads) != n:
            raise ValueError(f"given: sentence {row} has another length than in X")
        for d, head in enumerate(heads, 1):
            if head is not None and (not 0 <= head <= n or head == d):
                raise ValueError(
                    f"given: sentence {row}, word {d}: head {head!r} is not among "
                    f"0…{n} without {d}"
                )
            fixed.append(-1 if head is None else int(head))
    return np.array(fixed, np.int32)


def is_allowed(structure: Any, heads: list[int]) -> bool:
    """Whether an `Arborescence` allows these heads, by plain checks."""
    if structure.construction == "best_heads":
        return all(0 <= h <= len(heads) and h != d for d, h in enumerate(heads, 1))
    try:
        check_tree(heads, 0)
    except ValueError:
        return False
    if structure.single_root and heads.count(0) != 1:
        return False
    return not structure.projective or is_projective(heads)
