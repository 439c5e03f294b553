"""A grammar as flat arrays: what the charts of `_cky_programs.py` run on.

Symbols are numbered before tags: a *terminal-or-symbol* number below `n_symbols` is a
symbol, the others are tags. Branchings are put together from left to right by states
(see `Automaton`): the first child opens a state, each further child is an edge to the
next state, and at the end the state becomes the parent. States are the intermediate
symbols of a left binarisation; prefixes shared by all parents keep them few, and the
weight of a rule is added once per cell instead of once per split.

Weights are numbered: unary rules, then those of branchings (whole rules, or events of
the Markov process), then roots, then words with their tags. Number `n_weights` stands
for no weight.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from partwise.parameters import SettingsError
from partwise.protocol import offsets_of
from partwise.structures.phrase._rules import Automaton, RuleCounts, all_chains

MAX_STATE_TAGS = 1 << 26  # places of the table from states and tags to edges


class GrammarTables(NamedTuple):
    """Arrays of one grammar; S = n_symbols + n_tags, Q states, E edges, C chains."""

    n_symbols: int
    n_tags: int
    n_labels: int
    n_weights: int  # of rules, roots and words; features of spans come after them
    label: np.ndarray  # (n_symbols,) int32 bracket label of a symbol
    # first children: symbol → states, and back
    first_ptr: np.ndarray  # (S + 1,) int64
    first_state: np.ndarray  # int32
    first_weight: np.ndarray  # int32
    opened_ptr: np.ndarray  # (Q + 1,) int64
    opened_by: np.ndarray  # int32
    opened_weight: np.ndarray  # int32
    # further children: edges of symbols are grouped by source state, then those of tags
    edge_ptr: np.ndarray  # (Q + 1,) int64, symbols only
    edge_from: np.ndarray  # (E,) int32
    edge_child: np.ndarray  # (E,) int32
    edge_to: np.ndarray  # (E,) int32
    edge_weight: np.ndarray  # (E,) int32
    tag_edge: np.ndarray  # (Q, n_tags) int32 number of the edge, −1 without
    into_ptr: np.ndarray  # (Q + 1,) int64, edges by target
    into: np.ndarray  # (E,) int32
    is_open: np.ndarray  # (Q,) uint8, whether a state has edges
    # ends: state → parents
    done_ptr: np.ndarray  # (Q + 1,) int64
    done_symbol: np.ndarray  # int32
    done_weight: np.ndarray  # int32
    # chains by bottom
    chain_ptr: np.ndarray  # (S + 1,) int64
    chain_top: np.ndarray  # (C,) int32
    chain_bottom: np.ndarray  # (C,) int32
    chain_step: np.ndarray  # (C + 1,) int64 into the next two
    chain_rule: np.ndarray  # int32 weight of each unary rule
    chain_label: np.ndarray  # int32 bracket label of its parent
    root_weight: np.ndarray  # (n_symbols,) int32, −1 where no root
    weight_label: np.ndarray  # (n_weights,) int32 label whose bracket ends here, or −1
    # labels of the brackets of parts, as codes number them: chains, then weights
    part_ptr: np.ndarray  # (C + n_weights + 1,) int64
    part_label: np.ndarray  # int32


def pointers(keys: np.ndarray, size: int) -> np.ndarray:
    """Offsets of groups of sorted keys below `size`, shape (size + 1,)."""
    counts = np.bincount(keys, minlength=size)
    return offsets_of(counts)


def _columns(rows: Sequence[tuple[int, ...]], width: int) -> list[np.ndarray]:
    table = np.array(rows, np.int64).reshape(-1, width)
    return [np.ascontiguousarray(column) for column in table.T]


class NumberedEvents(NamedTuple):
    """The events of an `Automaton` by numbers, and the weights of a grammar."""

    first: list[tuple[int, int, int]]  # child, state, weight
    edges: list[tuple[bool, int, int, int, int]]  # is a tag, source, child, target, w.
    done: list[tuple[int, int, int]]  # state, parent, weight
    root_weight: np.ndarray  # (n_symbols,) int32, −1 where no root
    names: dict[tuple[Any, ...], int]  # of the weights
    seen: list[float]  # how often
    n_states: int


def number_events(
    counts: RuleCounts, horizontal: int | None, lexicon: Sequence[tuple[str, str]]
) -> NumberedEvents:
    """Number states and weights in the order of their first appearance, events sorted.

    An event without a weight has the number −1.
    """
    symbols, number = counts.symbols, numbering(counts)
    names: dict[tuple[Any, ...], int] = {}
    seen: list[float] = []
    states: dict[Any, int] = {}

    def weigh(name: tuple[Any, ...] | None, count: float) -> int:
        if name is None:
            return -1
        if name not in names:
            names[name] = len(names)
            seen.append(0.0)
        seen[names[name]] += count
        return names[name]

    for (parent, child), count in counts.unary.items():
        weigh(("unary", parent, child), count)
    automaton = Automaton.build(counts.branching, horizontal)
    first, edges, done = [], [], []
    for (child, state, name), count in automaton.first.items():
        q = states.setdefault(state, len(states))
        first.append((number(child), q, weigh(name, count)))
    for (source, child, target, name), count in automaton.step.items():
        q = states.setdefault(source, len(states))
        z = states.setdefault(target, len(states))
        is_tag = number(child) >= len(symbols)
        edges.append((is_tag, q, number(child), z, weigh(name, count)))
    for (state, parent, name), count in automaton.done.items():
        q = states.setdefault(state, len(states))
        done.append((q, symbols[parent], weigh(name, count)))
    root_weight = np.full(len(symbols), -1, np.int32)
    for symbol, count in counts.roots.items():
        root_weight[symbols[symbol]] = weigh(("root", symbol), count)
    for word, tag in lexicon:
        weigh(("word", tag, word), 0.0)
    return NumberedEvents(
        sorted(first), sorted(edges), sorted(done), root_weight, names, seen,
        len(states),
    )  # fmt: skip


def numbering(counts: RuleCounts) -> Callable[[Any], int]:
    """The number of a symbol or tag."""
    symbols, tags = counts.symbols, counts.tags
    n_symbols = len(symbols)
    return lambda x: symbols[x] if isinstance(x, tuple) else n_symbols + tags[x]


def chain_fields(
    counts: RuleCounts,
    unary_steps: int,
    names: dict[tuple[Any, ...], int],
    label: Sequence[int],
) -> dict[str, np.ndarray]:
    """The fields of `GrammarTables` on chains, sorted by bottom, then length."""
    symbols, number = counts.symbols, numbering(counts)
    chains = sorted(
        all_chains(counts.unary, unary_steps), key=lambda c: (number(c[-1]), len(c))
    )
    bottoms = np.array([number(chain[-1]) for chain in chains], np.int64)
    rules = [names["unary", *step] for chain in chains for step in pairwise(chain)]
    labels = [label[symbols[s]] for chain in chains for s in chain[:-1]]
    return {
        "chain_ptr": pointers(bottoms, len(symbols) + len(counts.tags)),
        "chain_top": np.array([symbols[c[0]] for c in chains], np.int32),
        "chain_bottom": bottoms.astype(np.int32),
        "chain_step": offsets_of([len(c) - 1 for c in chains]),
        "chain_rule": np.array(rules, np.int32),
        "chain_label": np.array(labels, np.int32),
    }


def build_tables(
    counts: RuleCounts,
    *,
    horizontal: int | None,
    unary_steps: int,
    lexicon: Sequence[tuple[str, str]] = (),
) -> tuple[GrammarTables, list[tuple[Any, ...]], np.ndarray]:
    """Tables, the names of the weights, and how often each was seen.

    Parameters
    ----------
    counts : RuleCounts
    horizontal : int or None
    unary_steps : int
    lexicon : sequence of (word class, tag)
        Empty for a grammar over given tags.
    """
    n_symbols, n_tags = len(counts.symbols), len(counts.tags)
    labels: dict[str, int] = {}
    label = [labels.setdefault(symbol[0], len(labels)) for symbol in counts.symbols]
    events = number_events(counts, horizontal, lexicon)
    names, n_states = events.names, events.n_states
    n_weights, n_all = len(names), n_symbols + n_tags
    if n_states * n_tags > MAX_STATE_TAGS:
        raise SettingsError(
            f"{n_states} states of rules times {n_tags} tags are more than "
            f"{MAX_STATE_TAGS}; use <horizontal=2>, which shares states"
        )
    opener, opened, open_weight = _columns(events.first, 3)
    is_tag, begins, edge_child, ends, edge_weight = _columns(events.edges, 5)
    done_state, done_symbol, done_weight = _columns(events.done, 3)
    n_plain = int(np.sum(is_tag == 0))  # edges of symbols, which come first
    tag_edge = np.full((n_states, n_tags), -1, np.int32)
    tag_edge[begins[n_plain:], edge_child[n_plain:] - n_symbols] = np.arange(
        n_plain, len(events.edges)
    )
    into = np.argsort(ends, kind="stable")
    by_state = np.argsort(opened, kind="stable")
    is_open = np.zeros(n_states, np.uint8)
    is_open[begins] = 1
    weight_label = np.full(n_weights, -1, np.int32)
    weight_label[done_weight] = np.array(label, np.int32)[done_symbol]
    chains = chain_fields(counts, unary_steps, names, label)
    n_steps = np.diff(chains["chain_step"])
    has_label = weight_label >= 0
    tables = GrammarTables(
        n_symbols=n_symbols,
        n_tags=n_tags,
        n_labels=len(labels),
        n_weights=n_weights,
        label=np.array(label, np.int32),
        first_ptr=pointers(opener, n_all),
        first_state=opened.astype(np.int32),
        first_weight=_or_none(open_weight, n_weights),
        opened_ptr=pointers(opened, n_states),
        opened_by=opener[by_state].astype(np.int32),
        opened_weight=_or_none(open_weight, n_weights)[by_state],
        edge_ptr=pointers(begins[:n_plain], n_states),
        edge_from=begins.astype(np.int32),
        edge_child=edge_child.astype(np.int32),
        edge_to=ends.astype(np.int32),
        edge_weight=_or_none(edge_weight, n_weights),
        tag_edge=tag_edge,
        into_ptr=pointers(ends, n_states),
        into=into.astype(np.int32),
        is_open=is_open,
        done_ptr=pointers(done_state, n_states),
        done_symbol=done_symbol.astype(np.int32),
        done_weight=done_weight.astype(np.int32),
        root_weight=events.root_weight,
        weight_label=weight_label,
        part_ptr=offsets_of(np.append(n_steps, has_label)),
        part_label=np.append(chains["chain_label"], weight_label[has_label]),
        **chains,
    )
    return tables, list(names), np.array(events.seen)


def _or_none(weight: np.ndarray, none: int) -> np.ndarray:
    """Numbers of weights with `none` for −1."""
    return np.where(weight < 0, none, weight).astype(np.int32)
