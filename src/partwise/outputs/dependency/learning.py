"""The further models of a dependency parser: its pruner and its labeller."""

from __future__ import annotations

import warnings
from typing import Any

from sklearn.base import clone

from partwise.certificate import Certificate
from partwise.features.arc_templates import (
    chosen_label_templates,
    default_pruner_templates,
    telling_columns,
)
from partwise.outputs.dependency.model import DependencyModel
from partwise.outputs.progress import tell_stage
from partwise.outputs.tree_learning import fit_arc_featurizer
from partwise.outputs.tree_scoring import ArcFeatureScoring
from partwise.readers.table import Table
from partwise.structures.dependency import Arborescence
from partwise.structures.dependency.codes import encode_trees

PRUNER_TOL = 0.3  # relative gap at which a pruner is good enough
LABELS = ".labels"  # added to the name of a checkpoint, for the second stage


def fit_pruner(parser: Any, table: Table, y: Any) -> DependencyModel:
    """A small parser of first order, whose most probable heads are candidates."""
    tell_stage(parser, "pruner: a parser of first order, for candidate heads …")
    bits = parser.hash_bits
    pruner = type(parser)(
        templates=default_pruner_templates(telling_columns(table)),
        hash_bits=None if bits is None else max(10, bits - 2),
        projective=parser.projective,
        single_root=parser.single_root,
        labels=None,
        tol=PRUNER_TOL,
        random_state=parser.random_state,
        n_jobs=parser.n_jobs,
    )
    with warnings.catch_warnings():  # the parser itself says it
        warnings.filterwarnings("ignore", message=".*crossing arcs")
        model = pruner.fit(table, y).model_
    model.support = None
    return model


def fit_labeller(
    parser: Any, table: Table, y: Any, names: list[str], sample_weight: Any
) -> tuple[DependencyModel, Certificate]:
    """A second model: the labels of true trees."""
    templates = chosen_label_templates(parser.label_templates, table)
    featurizer, arcs = fit_arc_featurizer(parser, "bias", templates, table, y)
    structure = Arborescence(
        len(names), cost="las", normalized=parser.normalized, construction="given"
    )
    codes = encode_trees(y, table.offset, names)
    labeller = clone(parser).set_params(
        loss="hinge", formulation="margin", penalty="l1",
        solver="auto" if isinstance(parser.solver, str) else parser.solver,
        checkpoint=parser.checkpoint and f"{parser.checkpoint}{LABELS}",
    )  # fmt: skip
    problem = structure.pack(arcs, codes, n_jobs=labeller._n_jobs())
    state, _ = labeller._solve(problem, sample_weight)
    info = {"certificate": labeller.certificate_.to_dict()}
    scoring = ArcFeatureScoring(featurizer)
    model = DependencyModel(scoring, structure, names, state.model, info)
    return model, labeller.certificate_
