"""The training data of parsers: features, or keys and the inputs of a kernel.

Invalid parameters of a parser are refused before any work. `last` is the model
that a warm start goes on with, or None.
"""

from __future__ import annotations

from typing import Any

from partwise.features._arc_compiled import ArcFeatures
from partwise.features.arc_keys import ArcHasher, default_match
from partwise.features.arc_templates import chosen_arc_templates, chosen_label_templates
from partwise.features.arcs import ArcFeaturizer
from partwise.features.phrase_keys import COLUMNS
from partwise.kernels.clusters import fit_clusters
from partwise.outputs.kernel_fit import (
    KernelFit,
    begin_features,
    fit_sentence_keys,
    uses_keys,
)
from partwise.outputs.scoring import FeatureFit, ScoringFit
from partwise.outputs.tree_scoring import (
    ArcFeatureScoring,
    ArcKeyScoring,
    PhraseFeatureScoring,
    PhraseKeyScoring,
    phrase_hasher,
)
from partwise.parameters import SettingsError
from partwise.protocol import CapabilityError
from partwise.readers.table import Table
from partwise.scorers.arcs import ArcScorer

USUAL = ("form", "lemma", "upos", "xpos")  # what a kernel that names no column compares
DEFAULT_MATCH = "rule, label+tag"  # of phrases


def fit_arcs(
    parser: Any, table: Table, y: Any, has_labels: bool, last: Any
) -> ScoringFit:
    """Choose how arcs, and labels with them, are scored, and prepare the data for it.

    Parameters
    ----------
    parser : DependencyParser
    table : Table
    y : list of DependencyTree
    has_labels : bool
        Whether there are labels to predict jointly.
    last : DependencyModel or None
    """
    if uses_keys(parser):
        return _fit_arc_keys(parser, table, last)
    if parser.clusters is not None:
        raise SettingsError("<clusters=> is for kernels; give <match=> or <kernel=>")
    begin_features(parser, last)
    if last is not None:
        featurizer = last.featurizer
        parts = featurizer.transform(table)
    else:
        templates = chosen_arc_templates(parser.templates, table, parser.order)
        labels: list[str] = []
        if parser.labels == "joint" and has_labels:
            labels = chosen_label_templates(parser.label_templates, table)
        featurizer, parts = fit_arc_featurizer(parser, templates, labels, table, y)
    scorer = ArcScorer(1e9 * parser.arc_memory)
    return FeatureFit(ArcFeatureScoring(featurizer), parts, scorer)


def fit_arc_featurizer(
    parser: Any, templates: Any, labels: Any, table: Table, y: Any
) -> tuple[ArcFeaturizer, ArcFeatures]:
    """A featurizer of arcs fitted to the training sentences, and their features."""
    featurizer = ArcFeaturizer(
        templates, labels, min_count=parser.min_count, hash_bits=parser.hash_bits
    )
    return featurizer, featurizer.fit_transform(table, [heads for heads, _ in y])


def _fit_arc_keys(parser: Any, table: Table, last: Any) -> KernelFit:
    """Keys of arcs, and what a kernel compares of their sentences."""
    if parser.order != 1:
        raise CapabilityError("<order=2> has no kernel form; use <order=1>")
    clusters = None
    if parser.clusters is not None:
        clusters = getattr(last and last.scoring, "clusters", None)
        clusters = clusters or fit_clusters(parser.clusters, table)
        table = clusters.transform(table)
    if parser.templates is not None:
        raise SettingsError(
            "<templates=> make features of arcs, which a parser with <kernel=> or "
            "<match=> "
            "does not look at; leave them out"
        )
    hasher = ArcHasher(default_match(table) if parser.match is None else parser.match)
    return fit_sentence_keys(
        ArcKeyScoring, parser, hasher, table, USUAL, last, clusters=clusters,
        is_named=parser.kernel is None,
    )  # fmt: skip


def fit_phrases(
    parser: Any, grammar: Any, sentences: list[Any], last: Any = None
) -> ScoringFit:
    """Choose how rules and brackets are scored, and prepare the data for it.

    Parameters
    ----------
    parser : ConstituencyParser
    grammar : Grammar
    sentences : list of lists of (word, tag)
        Those that are trained on.
    last : ConstituencyModel or None
    """
    if not uses_keys(parser):
        begin_features(parser, last)
        return PhraseFeatureScoring(grammar).on(sentences)
    hasher = phrase_hasher(parser.match or DEFAULT_MATCH, grammar)
    table = hasher.table(sentences)
    return fit_sentence_keys(PhraseKeyScoring, parser, hasher, table, COLUMNS, last)
