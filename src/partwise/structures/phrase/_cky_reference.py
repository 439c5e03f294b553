"""Plain-Python methods of a grammar, on one sentence: the reference of the kernels.

Here x is a list of (word, tag) and y a tree. Nothing below is fast or uses states,
charts and codes; `verify` and the tests rely on it being simple.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import Any

import numpy as np

from partwise.protocol import Floats
from partwise.readers.trees import as_phrase_tree
from partwise.structures.losses import Bracketing, Loss
from partwise.structures.phrase._rules import (
    Node,
    all_chains,
    derivation,
    nodes,
    path_of,
    steps,
    unwrap,
)


class GrammarReference:
    """Mixin with the four methods of a structure, and the optional ones."""

    horizontal: int | None
    vertical: int
    unary_steps: int
    lexical: bool
    delta: Loss
    counts_: Any
    lexicon_: Any
    number_: dict[Any, int]
    labels_: list[str]
    spans_: Any
    n_psi_: int

    def _root(self, y: Any) -> Node:
        return derivation(unwrap(as_phrase_tree(y)), self.vertical)[0]

    def _brackets(self, y: Any) -> set[tuple[str, int, int]]:
        brackets = set()
        for node in nodes(self._root(y)):
            labels = [label for label, _ in node.chain]
            if not isinstance(node.bottom, str):
                labels.append(node.bottom[0])
            brackets |= {(label, node.begin, node.end) for label in labels}
        return brackets

    def _weights(self, y: Any) -> list[int]:
        """Numbers of the rules of a tree, with repetitions."""
        root = self._root(y)
        numbers = [self.number_["root", root.top]]
        for node in nodes(root):
            numbers += [self.number_["unary", a, b] for a, b in steps(node)]
            if isinstance(node.bottom, str):
                if self.lexical:
                    name = self.lexicon_.name(node.word)
                    numbers.append(self.number_["word", node.bottom, name])
                continue
            tops = [child.top for child in node.children]
            for _, event in path_of(node.bottom, tops, self.horizontal):
                if event[-1] is not None:
                    numbers.append(self.number_[event[-1]])
        return numbers

    def joint_feature(self, x: Any, y: Any) -> Floats:
        """Ψ(x, y): how often each rule, and each feature of a bracket, occurs."""
        psi = np.zeros(self.n_psi_)
        np.add.at(psi, self._weights(y), 1.0)
        if self.spans_ is None:
            return psi
        rows = self.spans_.rows_of(self.columns_of([x])[0])
        offset = self.n_psi_ - self.spans_.n_rows_ * len(self.labels_)
        table = psi[offset:].reshape(-1, len(self.labels_))
        for label, i, j in self._brackets(y):
            table[rows(i, j), self.labels_.index(label)] += 1.0
        return psi

    def columns_of(self, sentences: Any) -> Any:
        raise NotImplementedError

    def loss(self, y: Any, y_hat: Any) -> float:
        """Δ(y, ŷ) by the chosen cost."""
        return self.delta.loss(self._bracketing(y), self._bracketing(y_hat))

    def _bracketing(self, y: Any) -> Bracketing:
        return Bracketing(self._root(y), frozenset(self._brackets(y)))

    def enumerate(self, x: Any) -> Iterator[Any]:
        """All trees of a sentence; exponential."""
        counts = self.counts_
        accepted: dict[str, set[Any]] = {"first": set(), "step": set(), "done": set()}
        for parent, children in counts.branching:
            for kind, event in path_of(parent, children, self.horizontal):
                accepted[kind].add(event)
        chains: dict[Any, list[Any]] = {}
        for chain in all_chains(counts.unary, self.unary_steps):
            chains.setdefault(chain[0], []).append(chain)

        def tags(i: int) -> list[str]:
            word, tag = x[i]
            if self.lexical:
                return list(self.lexicon_.tags[self.lexicon_.name(word)])
            return [tag] if tag in counts.tags else list(counts.tags)

        def leaf(i: int, tag: str) -> Any:
            return (tag if self.lexical else x[i][1], (x[i][0],))

        @cache
        def trees(symbol: Any, i: int, j: int) -> list[Any]:
            """Trees whose top is the symbol, chains included."""
            if isinstance(symbol, str):
                fits = j == i + 1 and symbol in tags(i)
                return [leaf(i, symbol)] if fits else []
            listed = [(symbol[0], children) for children in bodies(symbol, i, j)]
            for chain in chains.get(symbol, ()):
                bottom = chain[-1]
                below = trees(bottom, i, j) if isinstance(bottom, str) else [
                    (bottom[0], children) for children in bodies(bottom, i, j)
                ]  # fmt: skip
                for tree in below:
                    for label, _ in reversed(chain[:-1]):
                        tree = (label, (tree,))
                    listed.append(tree)
            return listed

        @cache
        def bodies(parent: Any, i: int, j: int) -> list[Any]:
            """Sequences of two or more subtrees below a branching symbol."""
            listed: list[Any] = []
            children_of = [*counts.symbols, *counts.tags]

            def extend(done: tuple[Any, ...], names: tuple[Any, ...], at: int) -> None:
                if at == j:
                    events = list(path_of(parent, names, self.horizontal))
                    ends = len(names) > 1 and all(e in accepted[k] for k, e in events)
                    if ends:
                        listed.append(done)
                    return
                for child in children_of:
                    events = list(path_of(parent, (*names, child), self.horizontal))
                    if not all(e in accepted[k] for k, e in events[:-1]):
                        continue
                    for end in range(at + 1, j + (at > i)):
                        for tree in trees(child, at, end):
                            extend((*done, tree), (*names, child), end)

            extend((), (), i)
            return listed

        for symbol in counts.roots:
            yield from trees(symbol, 0, len(x))

    def argmax(self, x: Any, w: Floats) -> Any:
        """The best tree, by enumeration."""
        return max(self.enumerate(x), key=lambda y: self.joint_feature(x, y) @ w)

    def loss_augmented_argmax(self, x: Any, y: Any, w: Floats) -> Any:
        """The best tree with its loss added, by enumeration."""
        return max(
            self.enumerate(x),
            key=lambda o: self.loss(y, o) + self.joint_feature(x, o) @ w,
        )

    def two_best(self, x: Any, w: Floats) -> list[Any]:
        """The two best trees, by enumeration."""
        score = {y: self.joint_feature(x, y) @ w for y in self.enumerate(x)}
        return sorted(score, key=lambda y: -score[y])[:2]

    def frontier(self, x: Any, y: Any, w: Floats) -> list[tuple[float, Any]]:
        """The best tree for every loss > 0, by enumeration."""
        best: dict[float, tuple[float, Any]] = {}
        for y_hat in self.enumerate(x):
            loss = self.loss(y, y_hat)
            score = float(self.joint_feature(x, y_hat) @ w)
            if loss > 0 and (loss not in best or score > best[loss][0]):
                best[loss] = (score, y_hat)
        return [(loss, y_hat) for loss, (_, y_hat) in sorted(best.items())]
