"""How the scoring of a phrase-structure parser is learned."""

from __future__ import annotations

from typing import Any

from partwise.features.phrase_keys import COLUMNS
from partwise.outputs.kernel_fit import (
    KernelFit,
    begin_features,
    read_kernel,
    sentence_inputs,
    uses_keys,
)
from partwise.outputs.phrase.scoring import (
    PhraseFeatureScoring,
    PhraseKeyScoring,
    phrase_hasher,
)
from partwise.outputs.scoring import ScoringFit
from partwise.structures.phrase import Grammar

DEFAULT_MATCH = "rule, label+tag"


def fit_scoring(
    parser: Any, grammar: Grammar, sentences: list[Any], last: Any = None
) -> ScoringFit:
    """
    Choose how rules and brackets are scored, and prepare the training data for it.

    Parameters
    ----------
    parser : ConstituencyParser
        Its parameters; nonsense is refused before any work.
    grammar : Grammar
    sentences : list of lists of (word, tag)
        Those that are trained on.
    last : ConstituencyModel or None
        The model that a warm start goes on with.
    """
    if not uses_keys(parser):
        begin_features(parser, last)
        return PhraseFeatureScoring(grammar).on(sentences)
    kernel, options = read_kernel(parser, "float32")
    hasher = phrase_hasher(parser.match or DEFAULT_MATCH, grammar)
    table = hasher.table(sentences)
    kernel, inputs = sentence_inputs(kernel, table, COLUMNS)
    if last is not None:
        last.scoring.check_start(kernel, hasher.match)
    return KernelFit(
        PhraseKeyScoring, kernel, hasher, table, inputs, options, budget=parser.budget,
        over_budget=parser.over_budget,
    )  # fmt: skip
