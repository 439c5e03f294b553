"""The part of a `ConstituencyModel` in a model file, and checks when it is read.

Two kinds of file hold one: ``ConstituencyModel`` with features,
``KernelConstituencyModel`` with keys and an index. The grammar's part is
`partwise.structures.phrase.file`.
"""

from __future__ import annotations

from typing import Any

from partwise.bounds import entry, require, under
from partwise.outputs.phrase.model import ConstituencyModel
from partwise.outputs.scoring import Arrays, State, prefixed
from partwise.outputs.support import SupportSet
from partwise.outputs.support_file import plane_arrays, read_lengths, read_planes
from partwise.outputs.tree_scoring import PhraseFeatureScoring, PhraseKeyScoring
from partwise.structures.phrase import Grammar
from partwise.structures.phrase.file import (
    check_codes,
    grammar_from_state,
    grammar_state,
    optional_count,
    read_treebank,
    treebank_arrays,
)


def to_state(model: ConstituencyModel) -> State:
    """Settings for JSON, and arrays."""
    settings, arrays = grammar_state(model.grammar)
    scoring, scoring_arrays = model.scoring.to_state(model.weights)
    support = model.support
    settings |= scoring | {
        "wrapper": model.wrapper,
        "max_length": None if model.max_length is None else int(model.max_length),
        "support": support is not None,
    }
    arrays |= scoring_arrays
    if support is not None:
        planes = plane_arrays(support.cuts, support.alpha, support.rows)
        truths = treebank_arrays(model.grammar, support.inputs, support.y)
        arrays |= prefixed("support", planes | truths)
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
        support = _support(grammar, under("support/", arrays))
    return ConstituencyModel(
        scoring, grammar, weights, wrapper, max_length, info, support
    )


def _support(grammar: Grammar, arrays: Arrays) -> SupportSet:
    """Rebuild a dual; whatever compiled code could stumble over raises ValueError."""
    sentences, trees, offset = read_treebank(grammar, arrays)
    lengths = read_lengths(offset)
    room = 2 * grammar.code_room()
    cuts, alpha, rows = read_planes(arrays, lengths, lambda n: room * n)
    check_codes(grammar, cuts.code, cuts.indptr, lengths[cuts.block])
    words = [[word for word, _ in x] for x in sentences]
    return SupportSet(sentences, trees, cuts, alpha, rows, words)
