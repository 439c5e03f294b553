"""Rules read off a treebank, and derivations of its trees.

A tree is ``(label, children)``; a tag has its word as only child. Reading makes three
kinds of rules out of the nodes of a tree:

* unary rules ``A → B``, B a label or a tag. A chain of them over one span names no
  label twice and has at most `unary_steps` steps; a longer chain does not fit.
* rules ``A → X₁ … X_m``, m ≥ 2, one weight each (``horizontal=None``); or, Markovised,
  one weight per step ``A: … X_{k−h} … X_{k−1} → X_k`` and one for the end.
* root rules: which symbol may be at the top.

With ``vertical=v`` a label is known together with the labels of its v − 1 nearest
ancestors: `symbols` are such pairs, brackets are known by the label alone.

Repeated labels in a chain, ``(NP (NP …))``, are read as one: what lies between the two
is dropped. Such trees are counted in `n_shortened`.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any, NamedTuple

from partwise.parameters import SettingsError

Symbol = tuple[str, tuple[str, ...]]  # label, labels of the nearest ancestors
MAX_CHAINS = 100_000
MAX_MEMORY = 1 << 24  # children in all states; one rule of 4096 children
WRAPPERS = ("", "TOP", "ROOT", "S1", "VROOT")  # of a whole tree; no brackets


class Node(NamedTuple):
    """A constituent over the words [begin, end): a chain over a branching or a tag."""

    chain: tuple[Symbol, ...]  # from the top, without the bottom
    bottom: Symbol | str  # a branching symbol, or a tag
    begin: int
    end: int
    children: tuple[Node, ...]  # at least two, or none under a tag
    word: str = ""  # under a tag

    @property
    def top(self) -> Symbol | str:
        """What the node is to its parent."""
        return self.chain[0] if self.chain else self.bottom


def is_tag(tree: tuple[str, tuple[Any, ...]]) -> bool:
    """Whether a tree is a tag over a word."""
    return isinstance(tree[1][0], str)


def unwrap(tree: tuple[str, tuple[Any, ...]]) -> tuple[str, tuple[Any, ...]]:
    """The tree below a wrapper such as ``(TOP …)`` with one constituent in it."""
    while tree[0] in WRAPPERS and len(tree[1]) == 1 and not is_tag(tree):
        tree = tree[1][0]
    return tree


def common_wrapper(trees: list[Any]) -> str | None:
    """The label around all trees, if it is one that is no bracket."""
    tops = {(label, len(children)) for label, children in trees}
    label, n_children = next(iter(tops))
    is_one = len(tops) == 1 and n_children == 1 and label in WRAPPERS
    return label if is_one and not isinstance(trees[0][1][0], str) else None


def derivation(tree: Any, vertical: int = 1) -> tuple[Node, bool]:
    """The tree in chains and branchings, and whether a repeated label was dropped."""
    shortened = False

    def walk(tree: Any, above: tuple[str, ...], begin: int) -> Node:
        nonlocal shortened
        chain: list[Symbol] = []
        while not is_tag(tree):
            label = tree[0]
            known = [one for one, _ in chain]
            if label in known:
                at = known.index(label)
                above = chain[at][1]
                del chain[at:]
                shortened = True
            chain.append((label, above))
            above = (label, *above)[: vertical - 1]
            if len(tree[1]) > 1:
                break
            tree = tree[1][0]
        if is_tag(tree):
            return Node(tuple(chain), tree[0], begin, begin + 1, (), tree[1][0])
        children = []
        at = begin
        for child in tree[1]:
            children.append(walk(child, above, at))
            at = children[-1].end
        return Node(tuple(chain[:-1]), chain[-1], begin, at, tuple(children))

    return walk(tree, (), 0), shortened


def nodes(root: Node) -> Iterator[Node]:
    """All nodes, parents first, from left to right."""
    stack = [root]
    while stack:
        node = stack.pop()
        yield node
        stack.extend(reversed(node.children))


def steps(node: Node) -> list[tuple[Symbol, Symbol | str]]:
    """Unary rules of a node's chain, from the top."""
    return list(pairwise((*node.chain, node.bottom)))  # type: ignore[arg-type]


@dataclass
class RuleCounts:
    """Rules of a treebank with their frequencies, in the order of first appearance."""

    tags: dict[str, int] = field(default_factory=dict)
    symbols: dict[Symbol, int] = field(default_factory=dict)
    unary: Counter[tuple[Symbol, Symbol | str]] = field(default_factory=Counter)
    branching: Counter[tuple[Symbol, tuple[Symbol | str, ...]]] = field(
        default_factory=Counter
    )
    roots: Counter[Symbol] = field(default_factory=Counter)
    n_shortened: int = 0

    @classmethod
    def read(
        cls, trees: Iterable[Any], *, vertical: int = 1, unary_steps: int = 3
    ) -> tuple[RuleCounts, list[Node | None]]:
        """Count the rules of the trees; also their derivations.

        A derivation is None where a chain is too long or the root is a bare tag; such
        a tree adds no rule.
        """
        counts = cls()
        roots: list[Node | None] = []
        for tree in trees:
            root, shortened = derivation(tree, vertical)
            long = any(len(node.chain) > unary_steps for node in nodes(root))
            if long or isinstance(root.top, str):
                roots.append(None)
                continue
            counts.n_shortened += shortened
            counts.add(root)
            roots.append(root)
        return counts, roots

    def add(self, root: Node) -> None:
        """Count the rules of one derivation."""
        assert not isinstance(root.top, str)
        self.roots[root.top] += 1
        for node in nodes(root):
            for symbol in node.chain:
                self.symbols.setdefault(symbol, len(self.symbols))
            self.unary.update(steps(node))
            if isinstance(node.bottom, str):
                self.tags.setdefault(node.bottom, len(self.tags))
            else:
                self.symbols.setdefault(node.bottom, len(self.symbols))
                children = tuple(child.top for child in node.children)
                self.branching[node.bottom, children] += 1


def all_chains(
    unary: Iterable[tuple[Any, Any]], unary_steps: int
) -> list[tuple[Any, ...]]:
    """Chains (top, …, bottom) of at most `unary_steps` unary rules, no label twice.

    Symbols are pairs whose first entry is the label; tags are anything else.
    """
    below: dict[Any, list[Any]] = {}
    for parent, child in unary:
        below.setdefault(parent, []).append(child)
    chains: list[tuple[Any, ...]] = []

    def extend(path: tuple[Any, ...], names: frozenset[str]) -> None:
        if len(chains) > MAX_CHAINS:
            raise SettingsError(
                f"more than {MAX_CHAINS} chains of unary rules; use a smaller "
                "<unary_steps>"
            )
        for child in below.get(path[-1], ()):
            if isinstance(child, tuple):
                if child[0] in names:
                    continue
                chains.append((*path, child))
                if len(path) < unary_steps:
                    extend((*path, child), names | {child[0]})
            else:
                chains.append((*path, child))

    for parent in below:
        extend((parent,), frozenset([parent[0]]))
    return chains


State = tuple[Any, ...]


class Automaton(NamedTuple):
    """How branchings are put together from left to right.

    A state holds the last of the children so far. Events are counted: a first
    child (`first`), a further child (`step`), the end (`done`). With
    ``horizontal=None`` states are prefixes shared by all parents and only the end has a
    weight, that of the whole rule; else a state belongs to a parent and each event has
    a weight.
    """

    first: Counter[tuple[Any, State, Any]]  # (child, state, weight's name or None)
    step: Counter[tuple[State, Any, State, Any]]
    done: Counter[tuple[State, Any, Any]]  # (state, parent, weight's name)

    @classmethod
    def build(
        cls, branching: Counter[tuple[Any, Any]], horizontal: int | None
    ) -> Automaton:
        """The automaton that accepts the given branchings."""
        # children so far are kept in each state: the square of the longest rules
        order = math.inf if horizontal is None else horizontal
        memory = sum(len(below) * min(len(below), order) for _, below in branching)
        if memory > MAX_MEMORY:
            raise SettingsError(
                f"rules whose children take {memory:.1e} places where {MAX_MEMORY} are "
                "allowed; leave out trees with very long rules, or use <horizontal=2>"
            )
        automaton = cls(Counter(), Counter(), Counter())
        for (parent, children), count in branching.items():
            for kind, event in path_of(parent, children, horizontal):
                getattr(automaton, kind)[event] += count
        return automaton


def path_of(
    parent: Any, children: Sequence[Any], horizontal: int | None
) -> Iterator[tuple[str, tuple[Any, ...]]]:
    """Events ("first" | "step" | "done", …) of one branching."""
    if horizontal is None:
        for k, child in enumerate(children):
            state = tuple(children[: k + 1])
            if k == 0:
                yield "first", (child, state, None)
            else:
                yield "step", (state[:-1], child, state, None)
        yield "done", (tuple(children), parent, ("rule", parent, tuple(children)))
        return

    def state_at(k: int) -> State:
        # whether there are two children by now: a branching has no fewer
        recent = tuple(children[max(0, k - horizontal) : k])
        return (parent, min(k, 2), recent)

    for k, child in enumerate(children):
        state = state_at(k + 1)
        if k == 0:
            yield "first", (child, state, ("first", parent, child))
        else:
            before = state_at(k)
            yield "step", (before, child, state, ("step", before, child))
    end = state_at(len(children))
    yield "done", (end, parent, ("done", end))


def nest(
    brackets: Sequence[tuple[str, int, int]], words: Sequence[tuple[str, str]]
) -> tuple[str, tuple[Any, ...]]:
    """The tree of brackets (label, begin, end), parents first, over (word, tag)."""
    at = 0

    def build() -> tuple[str, tuple[Any, ...]]:
        nonlocal at
        label, place, end = brackets[at]
        at += 1
        children: list[Any] = []
        while place < end:
            if (
                at < len(brackets)
                and brackets[at][1] == place
                and brackets[at][2] <= end
            ):
                place = brackets[at][2]
                children.append(build())
            else:
                word, tag = words[place]
                children.append((tag, (word,)))
                place += 1
        return label, tuple(children)

    return build()
