"""How a dependency parser learns its parts: scoring, pruner and labeller."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sklearn.base import clone

from partwise.certificate import Certificate
from partwise.features.arc_keys import ArcHasher
from partwise.features.arc_templates import (
    ARC_PRESETS,
    default_arc_templates,
    default_label_templates,
    default_pruner_templates,
    second_order_templates,
)
from partwise.features.arcs import ArcFeaturizer
from partwise.kernels.clusters import WordClusters
from partwise.outputs.dependency.model import DependencyModel
from partwise.outputs.dependency.scoring import ArcFeatureScoring, ArcKeyScoring
from partwise.outputs.dependency.trees import encode_trees
from partwise.outputs.kernel_fit import (
    KernelFit,
    read_kernel,
    refuse_kernel_settings,
    sentence_inputs,
)
from partwise.outputs.scoring import FeatureFit, ScoringFit
from partwise.parameters import SettingsError
from partwise.protocol import CapabilityError
from partwise.readers.table import Table
from partwise.scorers.arcs import ArcScorer
from partwise.structures.dependency import Arborescence

if TYPE_CHECKING:
    from partwise.outputs.dependency.estimator import DependencyParser

PRUNER_TOL = 0.3  # relative gap at which a pruner is good enough
LABELS = ".labels"  # added to the name of a checkpoint, for the second stage
USUAL = ("form", "lemma", "upos", "xpos")  # what a kernel that names no column compares


def fit_scoring(
    parser: DependencyParser, table: Table, y: Any, last: DependencyModel | None
) -> ScoringFit:
    """
    Choose how arcs are scored, and prepare the training data for it.

    Parameters
    ----------
    parser : DependencyParser
        Its parameters; nonsense is refused before any work.
    table : Table
    y : list of trees
    last : DependencyModel or None
        The model that a warm start goes on with.
    """
    if parser.kernel is None and parser.match is None:
        return fit_features(parser, table, y, last)
    return fit_keys(parser, table, last)


def fit_features(
    parser: DependencyParser, table: Table, y: Any, last: DependencyModel | None
) -> FeatureFit:
    """Features of arcs, and of labels where they are predicted jointly."""
    if parser.clusters is not None:
        raise SettingsError("<clusters=> is for kernels; give <match=> or <kernel=>")
    refuse_kernel_settings(parser)
    if last is not None:
        last.scoring.check_start(None, None)
        featurizer = last.featurizer
    else:
        featurizer = _arc_featurizer(parser, table)
        featurizer.fit(table, [heads for heads, _ in y])
    scorer = ArcScorer(1e9 * parser.arc_memory)
    parts = featurizer.transform(table)
    return FeatureFit(ArcFeatureScoring(featurizer), parts, scorer)


def _arc_featurizer(parser: DependencyParser, table: Table) -> ArcFeaturizer:
    """The featurizer that the parameters describe."""
    templates = parser.templates
    if isinstance(templates, str):  # a preset's name wins over a template
        templates = ARC_PRESETS.get(templates, templates)
    if templates is None:
        templates = default_arc_templates(table.columns, counts=parser.order == 1)
        if parser.order == 2:
            templates += second_order_templates(table.columns)
    is_joint = parser.labels == "joint"
    return ArcFeaturizer(
        templates,
        _label_templates(parser, table) if is_joint else (),
        min_count=parser.min_count,
        hash_bits=parser.hash_bits,
    )


def _label_templates(parser: DependencyParser, table: Table) -> Any:
    """What labels look at."""
    if parser.label_templates is None:
        return default_label_templates(table.columns)
    return parser.label_templates


def fit_keys(
    parser: DependencyParser, table: Table, last: DependencyModel | None
) -> KernelFit:
    """Keys of arcs, and what a kernel compares of their sentences."""
    if parser.order != 1:
        raise CapabilityError("<order=2> has no kernel form; use <order=1>")
    clusters = _word_clusters(parser.clusters, table, last)
    if clusters is not None:
        table = clusters.transform(table)
    kernel, options = read_kernel(parser, "float32")
    kernel, inputs = sentence_inputs(kernel, table, USUAL)
    if parser.templates is not None:
        raise SettingsError(
            "<templates=> make features of arcs, which a parser with <kernel=> or "
            "<match=> "
            "does not look at; leave them out"
        )
    hasher = ArcHasher(_default_match(table) if parser.match is None else parser.match)
    if last is not None:
        last.scoring.check_start(kernel, hasher.match)
    return KernelFit(
        ArcKeyScoring, kernel, hasher, table, inputs, options, clusters=clusters,
        budget=parser.budget, over_budget=parser.over_budget, is_named=kernel is None,
    )  # fmt: skip


def _default_match(table: Table) -> str:
    """The thesis's choice: fine tags with their distance."""
    for column in ("xpos", "upos"):
        if column in table.columns and len(table.columns[column].values) > 1:
            return f"{column}+distance"
    return "form+direction"


def _word_clusters(
    chosen: Any, table: Table, last: DependencyModel | None
) -> WordClusters | None:
    """Clusters of the training words, or those of the last model."""
    if chosen is None:
        return None
    clusters = None if last is None else last.scoring.parameters().get("clusters")
    if clusters is not None:
        return clusters
    if not isinstance(chosen, WordClusters):
        column = "form" if "form" in table.columns else None
        chosen = WordClusters(n_clusters=chosen, column=column)
    if chosen.name in table.columns:
        raise SettingsError(
            f"<clusters=> makes a column {chosen.name!r}, which the sentences have "
            "already; leave it out"
        )
    return chosen.unfitted().fit(table)


# -------------------------------------------------------------------- other models


def fit_pruner(parser: DependencyParser, table: Table, y: Any) -> DependencyModel:
    """A small parser of first order, whose most probable heads are candidates."""
    bits = parser.hash_bits
    small = type(parser)(
        templates=default_pruner_templates(table.columns),
        hash_bits=None if bits is None else max(10, bits - 2),
        projective=parser.projective,
        single_root=parser.single_root,
        labels=None,
        tol=PRUNER_TOL,
        random_state=parser.random_state,
        n_jobs=parser.n_jobs,
    )
    model = small.fit(table, y).model_
    model.support = None
    return model


def fit_labeller(
    parser: DependencyParser,
    table: Table,
    y: Any,
    names: list[str],
    sample_weight: Any,
) -> tuple[DependencyModel, Certificate]:
    """A second model: the labels of true trees."""
    featurizer = ArcFeaturizer(
        "bias",
        _label_templates(parser, table),
        min_count=parser.min_count,
        hash_bits=parser.hash_bits,
    )
    featurizer.fit(table, [heads for heads, _ in y])
    structure = Arborescence(
        len(names), cost="las", normalized=parser.normalized, construction="given"
    )
    codes = encode_trees(y, table.offset, names)
    labeller = clone(parser).set_params(
        loss="hinge", formulation="margin", penalty="l1",
        solver="auto" if isinstance(parser.solver, str) else parser.solver,
        checkpoint=parser.checkpoint and f"{parser.checkpoint}{LABELS}",
    )  # fmt: skip
    problem = structure.pack(
        featurizer.transform(table), codes, n_jobs=labeller._n_jobs()
    )
    state, _ = labeller._solve(problem, sample_weight)
    certificate = labeller.certificate_
    info = {"certificate": certificate.to_dict()}
    scoring = ArcFeatureScoring(featurizer)
    model = DependencyModel(scoring, structure, names, state.model, info)
    return model, certificate
