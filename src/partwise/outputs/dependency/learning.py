"""How a dependency parser learns its parts: scoring, pruner and labeller."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sklearn.base import clone

from partwise.certificate import Certificate
from partwise.features.arc_keys import ArcHasher, default_match
from partwise.features.arc_templates import (
    chosen_arc_templates,
    default_label_templates,
    default_pruner_templates,
)
from partwise.features.arcs import ArcFeaturizer
from partwise.kernels.clusters import fit_clusters
from partwise.outputs.dependency.model import DependencyModel
from partwise.outputs.dependency.scoring import ArcFeatureScoring, ArcKeyScoring
from partwise.outputs.kernel_fit import (
    KernelFit,
    begin_features,
    read_kernel,
    sentence_inputs,
    uses_keys,
)
from partwise.outputs.scoring import FeatureFit, ScoringFit
from partwise.parameters import SettingsError
from partwise.protocol import CapabilityError
from partwise.readers.table import Table
from partwise.scorers.arcs import ArcScorer
from partwise.structures.dependency import Arborescence
from partwise.structures.dependency.codes import encode_trees

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
    if uses_keys(parser):
        return fit_keys(parser, table, last)
    return fit_features(parser, table, y, last)


def fit_features(
    parser: DependencyParser, table: Table, y: Any, last: DependencyModel | None
) -> FeatureFit:
    """Features of arcs, and of labels where they are predicted jointly."""
    if parser.clusters is not None:
        raise SettingsError("<clusters=> is for kernels; give <match=> or <kernel=>")
    begin_features(parser, last)
    if last is not None:
        featurizer = last.featurizer
    else:
        templates = chosen_arc_templates(parser.templates, table.columns, parser.order)
        is_joint = parser.labels == "joint"
        labels = _label_templates(parser, table) if is_joint else ()
        featurizer = _featurizer(parser, templates, labels, table, y)
    scorer = ArcScorer(1e9 * parser.arc_memory)
    parts = featurizer.transform(table)
    return FeatureFit(ArcFeatureScoring(featurizer), parts, scorer)


def _featurizer(
    parser: DependencyParser, templates: Any, labels: Any, table: Table, y: Any
) -> ArcFeaturizer:
    """A featurizer of arcs, fitted to the training sentences."""
    featurizer = ArcFeaturizer(
        templates, labels, min_count=parser.min_count, hash_bits=parser.hash_bits
    )
    return featurizer.fit(table, [heads for heads, _ in y])


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
    clusters = None
    if parser.clusters is not None:
        clusters = None if last is None else last.scoring.parameters().get("clusters")
        clusters = clusters or fit_clusters(parser.clusters, table)
        table = clusters.transform(table)
    kernel, options = read_kernel(parser, "float32")
    kernel, inputs = sentence_inputs(kernel, table, USUAL)
    if parser.templates is not None:
        raise SettingsError(
            "<templates=> make features of arcs, which a parser with <kernel=> or "
            "<match=> "
            "does not look at; leave them out"
        )
    hasher = ArcHasher(default_match(table) if parser.match is None else parser.match)
    if last is not None:
        last.scoring.check_start(kernel, hasher.match)
    return KernelFit(
        ArcKeyScoring, kernel, hasher, table, inputs, options, clusters=clusters,
        budget=parser.budget, over_budget=parser.over_budget, is_named=kernel is None,
    )  # fmt: skip


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
    featurizer = _featurizer(parser, "bias", _label_templates(parser, table), table, y)
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
