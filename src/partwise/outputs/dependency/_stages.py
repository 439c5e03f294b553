"""The parts of a dependency parser: its features, its pruner and its labeller."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sklearn.base import clone

from partwise.certificate import Certificate
from partwise.features.arc_templates import (
    ARC_PRESETS,
    default_arc_templates,
    default_label_templates,
    default_pruner_templates,
    second_order_templates,
)
from partwise.features.arcs import ArcFeaturizer
from partwise.outputs.dependency.model import DependencyModel, encode_trees
from partwise.readers.table import Table
from partwise.structures.dependency import Arborescence

if TYPE_CHECKING:
    from partwise.outputs.dependency.estimator import DependencyParser

PRUNER_TOL = 0.3  # relative gap at which a pruner is good enough
LABELS = ".labels"  # added to the name of a checkpoint, for the second stage


def arc_featurizer(
    parser: DependencyParser, table: Table, *, labelled: bool
) -> ArcFeaturizer:
    """Features of arcs, and of labels on demand."""
    templates = parser.templates
    if isinstance(templates, str):  # a preset's name wins over a template
        templates = ARC_PRESETS.get(templates, templates)
    if templates is None:
        templates = default_arc_templates(table.columns, counts=parser.order == 1)
        if parser.order == 2:
            templates += second_order_templates(table.columns)
    return ArcFeaturizer(
        templates,
        label_templates(parser, table) if labelled else (),
        min_count=parser.min_count,
        hash_bits=parser.hash_bits,
    )


def label_templates(parser: DependencyParser, table: Table) -> Any:
    """What labels look at."""
    if parser.label_templates is None:
        return default_label_templates(table.columns)
    return parser.label_templates


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
        label_templates(parser, table),
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
    model = DependencyModel(featurizer, structure, names, state.model, info)
    return model, certificate
