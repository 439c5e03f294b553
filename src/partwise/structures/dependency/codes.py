"""Dependency trees as users give them: checks, and codes for the structure."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from itertools import pairwise
from numbers import Integral
from typing import Any

import numpy as np

from partwise.parameters import SettingsError, worded_warning
from partwise.protocol import Floats, Ints
from partwise.readers.trees import DependencyTree, is_projective
from partwise.structures.dependency._oracles import NO_HEAD, NO_LABEL


def as_trees(y: Any) -> list[DependencyTree]:
    """Trees as users give them: pairs (heads, labels), or lists of heads alone.

    Heads and labels that are not known are None.

    Examples
    --------
    >>> as_trees([[2, 0], ([0], ["root"])])[0]
    DependencyTree(heads=[2, 0], labels=[None, None])
    """
    if y is None:
        raise ValueError("y is None; give a tree per sentence: its heads and labels")
    if isinstance(y, DependencyTree):
        raise ValueError("y is one tree; give a list of trees: [y]")
    trees = []
    for s, tree in enumerate(y):
        if all(head is None or isinstance(head, Integral) for head in tree):
            tree = tree, [None] * len(tree)
        if len(tree) != 2:
            raise ValueError(
                f"tree {s}: {tree!r:.60} is neither a pair (heads, labels) nor a list "
                "of heads"
            )
        trees.append(DependencyTree(*tree))
    return trees


def label_names(y: Sequence[DependencyTree]) -> list[str]:
    """Distinct labels of trees, in order, as far as they are known."""
    return sorted({name for _, row in y for name in row if name is not None})


def hidden_parts(y: Sequence[DependencyTree], labels: Sequence[str]) -> Any:
    """What is not known of all words, None in trees: a uint8 array (n_words,) of bits.

    `NO_HEAD` and, where there are labels, `NO_LABEL`; an empty array where all is
    known.
    """
    bits = [
        NO_HEAD * (head is None) + NO_LABEL * (bool(labels) and name is None)
        for heads, names in y
        for head, name in zip(heads, names, strict=True)
    ]
    return np.array(bits if any(bits) else [], np.uint8)


def encode_trees(y: Any, offset: Ints, labels: Sequence[str]) -> Ints:
    """Codes of all words, head · n_labels + label; the head itself without labels.

    What is not known, None, has the number 0; see `hidden_parts`.

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
            if labels and names[d] is not None:
                if names[d] not in number:
                    raise ValueError(
                        f"tree {s}, word {d + 1}: unknown label {names[d]!r}"
                    )
                label = number[names[d]]
            codes.append(int(head or 0) * size + label)
    return np.array(codes, np.int32)


def decode_trees(
    codes: Ints, offset: Ints, labels: Sequence[str]
) -> list[DependencyTree]:
    """Trees of the codes of all words; without labels, ``_`` stands for them."""
    size = max(len(labels), 1)
    heads, numbers = (codes // size).tolist(), (codes % size).tolist()
    names = [labels[k] for k in numbers] if labels else ["_"] * len(heads)
    return [
        DependencyTree(heads[a:b], names[a:b])
        for a, b in pairwise(np.asarray(offset).tolist())
    ]


def candidate_heads(
    marginals: Sequence[Floats], offset: Ints, k: int, known: Ints | None = None
) -> Ints:
    """The k most probable heads of each word, (n_words, k); −1 for none.

    Parameters
    ----------
    marginals : list of arrays (n + 1, n + 1)
        P(arc from h to d) of each sentence.
    offset : int array (n_sentences + 1,)
    k : int
    known : int array (n_words,), optional
        Heads that take the last place where they are not among the k; −1 for none.
    """
    heads = np.full((int(offset[-1]), k), -1, np.int32)
    for s, share in enumerate(marginals):
        words = slice(int(offset[s]), int(offset[s + 1]))
        order = np.argsort(-share[:, 1:], axis=0, kind="stable")[:k].T
        is_arc = order != np.arange(1, len(share))[:, None]
        heads[words, : order.shape[1]] = np.where(is_arc, order, -1)
    if known is not None:
        absent = (known >= 0) & ~(heads == np.asarray(known)[:, None]).any(axis=1)
        heads[absent, -1] = known[absent]
    return heads


def checked_trees(
    y: Any, offset: Ints, projective: bool, single_root: bool
) -> list[DependencyTree]:
    """Trees of these sentences that a parser of this kind can learn from."""
    trees = as_trees(y)
    check_trees(trees, offset)
    if single_root:
        refuse_many_roots(trees)
    if projective:
        warn_of_crossing(trees)
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


def check_tree(heads: Sequence[int | None], s: int) -> None:
    """Refuse heads that are outside the sentence or run in circles; None is unknown."""
    if any(head is not None and head < 0 for head in heads):
        raise ValueError(
            f"tree {s} has heads below 0; words count from 1 and the root is 0, add 1 "
            "to heads that count from 0"
        )
    n = len(heads)
    state = [0] * (n + 1)  # 1 while on the path, 2 when the root is known above
    state[0] = 2
    for d, head in enumerate(heads, 1):
        if head is not None and (not 0 <= head <= n or head == d):
            raise ValueError(
                f"tree {s}, word {d}: head {head!r} is not among 0…{n} without {d}"
            )
    for start in range(1, n + 1):
        path = []
        d = start
        while state[d] == 0:
            state[d] = 1
            path.append(d)
            d = int(heads[d - 1] or 0)
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


def warn_of_crossing(y: Sequence[DependencyTree]) -> None:
    """Say how many trees a projective parser could never predict."""
    whole = [heads for heads, _ in y if None not in heads]
    n_crossing = sum(not is_projective(heads) for heads in whole)
    if n_crossing:
        text = (
            f"{n_crossing:,} of {len(y):,} true trees have crossing arcs, which a "
            "projective parser never predicts; allow them by <projective=False>"
        )
        warnings.warn(worded_warning(UserWarning, text), stacklevel=4)


def known_heads(given: Sequence[Sequence[int | None] | None], offset: Ints) -> Ints:
    """Heads that a user gives for all words; −1 where there is none."""
    if len(given) != len(offset) - 1:
        raise ValueError(
            f"given has {len(given)} sentences where X has {len(offset) - 1}"
        )
    fixed = []
    for row, heads in enumerate(given):
        n = int(offset[row + 1] - offset[row])
        if heads is None:  # nothing is known of it
            heads = [None] * n
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
