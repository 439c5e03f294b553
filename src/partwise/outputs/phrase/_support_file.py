"""What a model file keeps of the support structures of a grammar, and their checks."""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from partwise.bounds import check_offsets, read_array, require
from partwise.features.vocabulary import read_strings, string_arrays
from partwise.outputs._support_file import plane_arrays, read_lengths, read_planes
from partwise.outputs.phrase.explanation import SupportPhrases
from partwise.protocol import Ints
from partwise.structures.phrase import Grammar

Arrays = dict[str, np.ndarray]


def support_arrays(grammar: Grammar, support: SupportPhrases) -> Arrays:
    """Arrays of a dual; trees are kept as the codes of their derivations."""
    codes = [grammar.encode(tree) for tree in support.trees]
    truth = [code for code in codes if code is not None]
    sizes = [len(code) for code in truth]
    words = [token for x in support.sentences for token in x]
    arrays: Arrays = {
        "offset": np.cumsum([0, *map(len, support.sentences)]).astype(np.int64),
        "truth_ptr": np.cumsum([0, *sizes]).astype(np.int64),
        "truth": np.concatenate([*truth, np.zeros(0, np.int32)]).astype(np.int32),
        **plane_arrays(support.cuts, support.alpha, support.rows),
    }
    arrays |= texts("words", [word for word, _ in words])
    return arrays | texts("tags", [tag for _, tag in words])


def texts(name: str, strings: list[str]) -> Arrays:
    """Strings under ``name/``."""
    return string_arrays(strings, f"{name}/text", f"{name}/offset")


def read_texts(arrays: Arrays, name: str) -> list[str]:
    """Strings out of the arrays of `texts`."""
    return read_strings(arrays, f"{name}/text", f"{name}/offset")


def support_from_arrays(grammar: Grammar, arrays: Arrays) -> SupportPhrases:
    """Rebuild a dual; whatever kernels could stumble over raises ValueError."""
    words, tags = (read_texts(arrays, name) for name in ("words", "tags"))
    require(len(words) == len(tags), "support words without tags")
    offset = read_array(arrays, "offset", np.int64, None)
    lengths = read_lengths(offset)
    require(len(words) == int(offset[-1]), "support words outside their sentences")
    tokens = list(zip(words, tags, strict=True))
    sentences = [tokens[a:b] for a, b in pairwise(offset.tolist())]

    truth = read_array(arrays, "truth", np.int32, None)
    ptr = read_array(arrays, "truth_ptr", np.int64, len(lengths) + 1)
    check_offsets(ptr, len(truth), "true trees")
    _check_codes(grammar, truth, ptr, lengths)
    trees = []
    for x, (a, b) in zip(sentences, pairwise(ptr.tolist()), strict=True):
        try:
            tree = grammar.tree(truth[a:b], x)
            code = grammar.encode(tree)
        except (IndexError, RecursionError):  # brackets that do not nest
            code = None
        known = code is not None and np.array_equal(code, truth[a:b])
        require(known, "a true tree that the grammar does not derive")
        trees.append(tree)

    room = 2 * grammar.code_room()
    cuts, alpha, rows = read_planes(arrays, lengths, lambda n: room * n)
    _check_codes(grammar, cuts.code, cuts.indptr, lengths[cuts.block])
    return SupportPhrases(sentences, trees, cuts, alpha, rows)


def _check_codes(grammar: Grammar, code: Ints, indptr: Ints, lengths: Ints) -> None:
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
