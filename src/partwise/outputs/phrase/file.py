"""What a model file keeps of a `ConstituencyModel`, and the checks when it is read.

Two kinds of file hold one: ``ConstituencyModel`` with features,
``KernelConstituencyModel`` with keys and an index. The grammar's part is
`partwise.structures.phrase.file`.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np

from partwise.bounds import entry, read_array, require, under
from partwise.outputs._support_file import plane_arrays, read_lengths, read_planes
from partwise.outputs.phrase.explanation import SupportPhrases
from partwise.outputs.phrase.model import ConstituencyModel
from partwise.outputs.phrase.scoring import PhraseFeatureScoring, PhraseKeyScoring
from partwise.outputs.scoring import Arrays, State, prefixed
from partwise.structures.phrase import Grammar
from partwise.structures.phrase.file import (
    check_codes,
    grammar_from_state,
    grammar_state,
    optional_count,
    read_texts,
    texts,
    true_trees,
)


def to_state(model: ConstituencyModel) -> State:
    """Settings for JSON, and arrays."""
    settings, arrays = grammar_state(model.grammar)
    scoring, more = model.scoring.to_state(model.weights)
    settings |= scoring | {
        "wrapper": model.wrapper,
        "max_length": None if model.max_length is None else int(model.max_length),
        "support": model.support is not None,
    }
    arrays |= more
    if model.support is not None:
        arrays |= prefixed("support", _support_arrays(model.grammar, model.support))
    return settings, arrays


def from_state(
    settings: dict[str, Any], arrays: Arrays, info: dict[str, Any]
) -> ConstituencyModel:
    """Rebuild a model; whatever does not fit together raises ValueError."""
    grammar = grammar_from_state(settings, arrays)
    kind = PhraseKeyScoring if "index" in settings else PhraseFeatureScoring
    scoring, weights = kind.from_state(settings, arrays, grammar)
    wrapper = settings["wrapper"]
    require(wrapper is None or isinstance(wrapper, str), "a wrapper without a name")
    max_length = optional_count(settings, "max_length")
    support = None
    if entry(settings, "support", bool):
        support = _support_from_arrays(grammar, under("support/", arrays))
    return ConstituencyModel(
        scoring, grammar, weights, wrapper, max_length, info, support
    )


def _support_arrays(grammar: Grammar, support: SupportPhrases) -> Arrays:
    """Arrays of a dual; trees are kept as the codes of their derivations."""
    codes = [grammar.encode(tree) for tree in support.trees]
    truth = [code for code in codes if code is not None]
    words = [token for x in support.sentences for token in x]
    return {
        "offset": np.cumsum([0, *map(len, support.sentences)]).astype(np.int64),
        "truth_ptr": np.cumsum([0, *map(len, truth)]).astype(np.int64),
        "truth": np.concatenate([*truth, np.zeros(0, np.int32)]).astype(np.int32),
        **plane_arrays(support.cuts, support.alpha, support.rows),
        **texts("words", [word for word, _ in words]),
        **texts("tags", [tag for _, tag in words]),
    }


def _support_from_arrays(grammar: Grammar, arrays: Arrays) -> SupportPhrases:
    """Rebuild a dual; whatever compiled code could stumble over raises ValueError."""
    words, tags = (read_texts(arrays, name) for name in ("words", "tags"))
    require(len(words) == len(tags), "support words without tags")
    offset = read_array(arrays, "offset", np.int64, None)
    lengths = read_lengths(offset)
    require(len(words) == int(offset[-1]), "support words outside their sentences")
    tokens = list(zip(words, tags, strict=True))
    sentences = [tokens[a:b] for a, b in pairwise(offset.tolist())]
    trees = true_trees(grammar, arrays, sentences)
    room = 2 * grammar.code_room()
    cuts, alpha, rows = read_planes(arrays, lengths, lambda n: room * n)
    check_codes(grammar, cuts.code, cuts.indptr, lengths[cuts.block])
    return SupportPhrases(sentences, trees, cuts, alpha, rows)
