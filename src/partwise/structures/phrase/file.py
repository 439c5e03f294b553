"""A grammar in a model file, and the checks when it is read.

The file holds the rules with their counts, not the tables of the charts: those are made
again by the code that reads a treebank, which only builds what fits together and
limits the memory that they take.
"""

from __future__ import annotations

from collections import Counter
from itertools import pairwise
from typing import Any

import numpy as np

from partwise.bounds import (
    MAX_WEIGHT,
    Arrays,
    check_indices,
    check_offsets,
    entry,
    read_array,
    read_numbers,
    require,
    under,
)
from partwise.features.spans import SpanFeatures
from partwise.features.vocabulary import read_texts, texts
from partwise.protocol import Ints, offsets_of
from partwise.readers.trees import PhraseTree, TaggedSentence
from partwise.structures.phrase._lexicon import UNKNOWN, Lexicon
from partwise.structures.phrase._rules import RuleCounts, Symbol
from partwise.structures.phrase.structure import Grammar

MAX_SYMBOLS = 20_000
MAX_CHILDREN = 5_000_000  # of all rules together
MAX_UNARY_STEPS = 8
PARAMETERS = {
    "vertical": int,
    "unary_steps": int,
    "lexical": bool,
    "features": str,
    "min_count": int,
    "cost": str,
    "exact_words": int,
}


def grammar_state(grammar: Grammar) -> tuple[dict[str, Any], Arrays]:
    """Settings for JSON, and arrays."""
    counts = grammar.counts_
    settings: dict[str, Any] = {
        name: kind(getattr(grammar, name)) for name, kind in PARAMETERS.items()
    }
    settings |= {
        "cost": grammar.delta.saved(),
        "horizontal": None if grammar.horizontal is None else int(grammar.horizontal),
        "n_shortened": int(counts.n_shortened),
        "tags": list(counts.tags),
        "symbols": [[label, *above] for label, above in counts.symbols],
    }
    arrays: Arrays = {}
    number = _numbers(counts)
    arrays["unary"] = np.array(
        [(number[a], number[b], n) for (a, b), n in counts.unary.items()], np.int64
    ).reshape(-1, 3)
    arrays["root"] = np.array(
        [(number[a], n) for a, n in counts.roots.items()], np.int64
    ).reshape(-1, 2)
    children = [[number[c] for c in below] for _, below in counts.branching]
    arrays["child_ptr"] = offsets_of([len(below) for below in children])
    arrays["child"] = np.array([c for below in children for c in below], np.int32)
    arrays["branching"] = np.array(
        [(number[a], n) for (a, _), n in counts.branching.items()], np.int64
    ).reshape(-1, 2)
    if grammar.lexical:
        lexicon = grammar.lexicon_
        arrays["seen"] = np.asarray(grammar.seen_, np.float64)
        for name, strings in (
            ("words", sorted(lexicon.words)),
            ("pair_words", [word for word, _ in lexicon.pairs]),
            ("pair_tags", [tag for _, tag in lexicon.pairs]),
        ):
            arrays |= texts(f"lexicon/{name}", strings)
    if grammar.spans_ is not None:
        spans = grammar.spans_.arrays()
        arrays |= {f"spans/{name}": array for name, array in spans.items()}
    return settings, arrays


def _numbers(counts: RuleCounts) -> dict[Any, int]:
    return {name: k for k, name in enumerate([*counts.symbols, *counts.tags])}


def grammar_from_state(settings: dict[str, Any], arrays: Arrays) -> Grammar:
    """Rebuild a grammar; invalid input raises ValueError."""
    grammar = Grammar(
        horizontal=optional_count(settings, "horizontal"),
        **{name: entry(settings, name, kind) for name, kind in PARAMETERS.items()},
    )
    require(grammar.unary_steps <= MAX_UNARY_STEPS, "chains that are too long")
    require(grammar.vertical <= 100, "labels with too many ancestors")
    grammar.validate()
    counts = _counts(settings, arrays)
    lexicon = Lexicon()
    if grammar.lexical:
        lexicon = _lexicon(under("lexicon/", arrays), counts)
    grammar.restore(counts, lexicon)
    if grammar.lexical:
        grammar.seen_ = read_numbers(arrays, "seen", MAX_WEIGHT, len(grammar.seen_))
    if grammar.features == "spans":
        spans = under("spans/", arrays)
        grammar.spans_ = SpanFeatures.from_arrays(spans, grammar.min_count)
    grammar.set_size()
    return grammar


def optional_count(settings: dict[str, Any], name: str) -> int | None:
    """A whole number of at least zero, or None."""
    if settings[name] is None:
        return None
    value = entry(settings, name, int)
    require(value >= 0, f"entry {name!r} is negative")
    return value


def _counts(settings: dict[str, Any], arrays: Arrays) -> RuleCounts:
    tags = entry(settings, "tags", list)
    rows = entry(settings, "symbols", list)
    require(0 < len(rows) <= MAX_SYMBOLS and len(tags) <= MAX_SYMBOLS, "symbols")
    require(all(isinstance(tag, str) for tag in tags), "tags that are no text")
    symbols: list[Symbol] = []
    for row in rows:
        good = isinstance(row, list) and row and all(isinstance(a, str) for a in row)
        require(bool(good), "a symbol without a name")
        symbols.append((row[0], tuple(row[1:])))
    counts = RuleCounts(
        tags={tag: k for k, tag in enumerate(tags)},
        symbols={symbol: k for k, symbol in enumerate(symbols)},
        n_shortened=entry(settings, "n_shortened", int),
    )
    require(len(counts.tags) == len(tags), "a tag that stands twice")
    require(len(counts.symbols) == len(symbols), "a symbol that stands twice")
    names: list[Any] = [*symbols, *tags]
    n = len(symbols)
    unary = read_array(arrays, "unary", np.int64, None, 3)
    check_indices(unary[:, 0], n, "the parent of a rule")
    check_indices(unary[:, 1], len(names), "the child of a rule")
    root = read_array(arrays, "root", np.int64, None, 2)
    check_indices(root[:, 0], n, "a root")
    require(len(root) > 0, "no root")
    branching = read_array(arrays, "branching", np.int64, None, 2)
    check_indices(branching[:, 0], n, "the parent of a rule")
    child = read_array(arrays, "child", np.int32, None)
    check_indices(child, len(names), "the child of a rule")
    require(len(child) <= MAX_CHILDREN, "too many rules")
    ptr = read_array(arrays, "child_ptr", np.int64, len(branching) + 1)
    check_offsets(ptr, len(child), "children of rules")
    require(bool((np.diff(ptr) >= 2).all()), "a branching with one child")
    for table in (unary[:, 2], root[:, 1], branching[:, 1]):
        require(not len(table) or int(table.min()) > 0, "a rule never seen")
    counts.unary = Counter({(names[a], names[b]): k for a, b, k in unary.tolist()})
    counts.roots = Counter({names[a]: k for a, k in root.tolist()})
    below = [tuple(names[c] for c in child[a:b]) for a, b in pairwise(ptr.tolist())]
    counts.branching = Counter(
        {(names[a], c): k for (a, k), c in zip(branching.tolist(), below, strict=True)}
    )
    sizes = (len(counts.unary), len(counts.roots), len(counts.branching))
    require(
        sizes == (len(unary), len(root), len(branching)), "a rule that stands twice"
    )
    return counts


def _lexicon(arrays: Arrays, counts: RuleCounts) -> Lexicon:
    words, tags = read_texts(arrays, "pair_words"), read_texts(arrays, "pair_tags")
    require(len(words) == len(tags), "words without tags")
    require(all(tag in counts.tags for tag in tags), "a word with an unknown tag")
    lexicon = Lexicon(read_texts(arrays, "words"), zip(words, tags, strict=True))
    require(len(set(lexicon.pairs)) == len(words), "a word that stands twice")
    known = all(word in lexicon.tags for word in lexicon.words)
    require(known and UNKNOWN in lexicon.tags, "a word without tags")
    return lexicon


def treebank_arrays(
    grammar: Grammar, sentences: list[TaggedSentence], trees: list[PhraseTree]
) -> Arrays:
    """Arrays of sentences with trees, kept as the codes of their derivations."""
    codes = [grammar.encode(tree) for tree in trees]
    truth = [code for code in codes if code is not None]
    words = [token for x in sentences for token in x]
    return {
        "offset": offsets_of([len(x) for x in sentences]),
        "truth_ptr": offsets_of([len(code) for code in truth]),
        "truth": np.concatenate([*truth, np.zeros(0, np.int32)]).astype(np.int32),
        **texts("words", [word for word, _ in words]),
        **texts("tags", [tag for _, tag in words]),
    }


def read_treebank(
    grammar: Grammar, arrays: Arrays
) -> tuple[list[TaggedSentence], list[PhraseTree], Ints]:
    """Sentences, their trees and offsets out of the arrays of `treebank_arrays`."""
    words, tags = (read_texts(arrays, name) for name in ("words", "tags"))
    require(len(words) == len(tags), "support words without tags")
    offset = read_array(arrays, "offset", np.int64, None)
    check_offsets(offset, len(words), "support sentences")
    tokens = list(zip(words, tags, strict=True))
    sentences = [tokens[a:b] for a, b in pairwise(offset.tolist())]
    return sentences, true_trees(grammar, arrays, sentences), offset


def true_trees(
    grammar: Grammar, arrays: Arrays, sentences: list[TaggedSentence]
) -> list[PhraseTree]:
    """Trees of these sentences from the codes of their derivations."""
    code = read_array(arrays, "truth", np.int32, None)
    ptr = read_array(arrays, "truth_ptr", np.int64, len(sentences) + 1)
    check_offsets(ptr, len(code), "true trees")
    check_codes(grammar, code, ptr, np.array([len(x) for x in sentences], np.int64))
    trees = []
    for x, (a, b) in zip(sentences, pairwise(ptr.tolist()), strict=True):
        try:
            tree = grammar.tree(code[a:b], x)
            again = grammar.encode(tree)
        except (IndexError, RecursionError):  # brackets that do not nest
            again = None
        is_derived = again is not None and np.array_equal(again, code[a:b])
        require(is_derived, "a true tree that the grammar does not derive")
        trees.append(tree)
    return trees


def check_codes(grammar: Grammar, code: Ints, indptr: Ints, lengths: Ints) -> None:
    """Refuse parts and cells that do not exist."""
    require(bool((np.diff(indptr) % 2 == 0).all()), "half a part of a tree")
    part, cell = code.reshape(-1, 2).T
    n = np.repeat(lengths, np.diff(indptr) // 2)
    tables = grammar.tables_
    n_parts = len(tables.chain_top) + tables.n_weights
    begin, end = cell // (n + 1), cell % (n + 1)
    is_span = (begin >= 0) & (begin < end)
    fits = (part == -1) | ((part >= 0) & (part < n_parts) & is_span)
    require(bool(fits.all()), "a part that the grammar does not have")
