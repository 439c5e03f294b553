"""`partwise train depparse`: learn a dependency parser from CoNLL-U files."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from partwise.cli import options as common
from partwise.cli.options import FeaturePanel

if TYPE_CHECKING:
    from partwise.kernels.clusters import WordClusters

HASH_BITS = 20


def train_depparse(
    data: common.Files,
    model: common.ModelToWrite,
    C: Annotated[
        float | None,
        typer.Option(
            "--C",
            help="Weight of the losses [default: sentences / 50].",
            show_default=False,
            rich_help_panel="Objective",
        ),
    ] = None,
    formulation: common.FormulationName = "margin",
    penalty: common.PenaltyName = "l1",
    loss: common.LossName = "hinge",
    cost: Annotated[
        str,
        typer.Option(
            help="A wrong label at the right head costs: uas (0), las (1) or a share.",
            rich_help_panel="Objective",
        ),
    ] = "las",
    normalized: Annotated[
        bool,
        typer.Option(
            "--normalized",
            help="Divide the loss by the words of the sentence.",
            rich_help_panel="Objective",
        ),
    ] = False,
    preset: Annotated[
        str | None,
        typer.Option(
            help="Arc templates by name: mcdonald, mcdonald_counts.",
            show_default=False,
            **FeaturePanel,
        ),
    ] = None,
    template: common.TemplateFile = None,
    min_count: common.MinCount = 1,
    hash_bits: Annotated[
        int,
        typer.Option(
            help="Hash features to 2^N rows; 0 keeps their names, slower.",
            metavar="N",
            **FeaturePanel,
        ),
    ] = HASH_BITS,
    order: Annotated[
        int,
        typer.Option(
            help="2 also scores siblings and grandparents, slower.", **FeaturePanel
        ),
    ] = 1,
    candidates: Annotated[
        int,
        typer.Option(
            metavar="N", help="Heads per word that order 2 tries.", **FeaturePanel
        ),
    ] = 10,
    projective: Annotated[
        bool,
        typer.Option(
            "--projective/--non-projective",
            help="Whether arcs may cross.",
            **FeaturePanel,
        ),
    ] = True,
    many_roots: Annotated[
        bool,
        typer.Option(
            "--many-roots",
            help="Allow several words below the root, as in CoNLL-X.",
            **FeaturePanel,
        ),
    ] = False,
    labels: Annotated[
        str,
        typer.Option(
            help="Relations: joint, second_stage (after the tree) or none.",
            **FeaturePanel,
        ),
    ] = "joint",
    construction: Annotated[
        str,
        typer.Option(help="exact, or best_heads of single words.", **FeaturePanel),
    ] = "exact",
    kernel: Annotated[
        str | None,
        typer.Option(
            help="Compare sentences by a kernel: normalized(annotated), bow, …",
            show_default=False,
            **FeaturePanel,
        ),
    ] = None,
    match: Annotated[
        str | None,
        typer.Option(
            help="When arcs of two sentences match: xpos+distance, form+direction, …",
            show_default=False,
            **FeaturePanel,
        ),
    ] = None,
    clusters: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            help="Group words by their neighbours, a column `cluster` for --match.",
            show_default=False,
            **FeaturePanel,
        ),
    ] = None,
    vectors: Annotated[
        str | None,
        typer.Option(
            metavar="FILE",
            help="Word vectors that --clusters groups: text of word2vec or GloVe.",
            show_default=False,
            **FeaturePanel,
        ),
    ] = None,
    budget: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            help="Training sentences that a kernel model may keep.",
            show_default=False,
            **FeaturePanel,
        ),
    ] = None,
    over_budget: common.OverBudget = "project",
    gram_cache: common.GramCache = None,
    gram_dtype: common.GramDtype = None,
    max_length: common.MaxLength = None,
    solver: common.SolverName = "auto",
    tol: common.Tolerance = 0.2,
    eps: common.Epsilon = None,
    max_iter: common.MaxIter = None,
    time_limit: common.TimeLimit = None,
    checkpoint: common.Checkpoint = None,
    checkpoint_every: common.CheckpointEvery = 60.0,
    seed: common.Seed = 0,
    jobs: common.Jobs = 1,
    dev: common.DevFile = None,
    report: common.ReportFile = None,
    keep_dual: common.KeepDual = False,
    json: common.Json = False,
) -> int:
    """Learn a dependency parser from CoNLL-U or CoNLL-X files.

    Ctrl-C ends training early: the best model so far is written with its gap, and the
    exit code is 130.

    Example: `partwise train depparse train.conllu --model ud.model --dev dev.conllu`
    """
    from partwise.cli.train import (
        TrainingRequest,
        is_generative,
        read_templates,
        refuse_choice,
        refuse_settings,
        train_model,
    )
    from partwise.features.arc_templates import ARC_PRESETS, parse_arc_templates
    from partwise.outputs.dependency.task import DependencyTask
    from partwise.scorers.budget import WAYS

    bits = hash_bits or None
    if bits is not None and min_count > 1:
        raise ValueError(
            f"--min-count {min_count}: hashed features are not counted; add "
            "--hash-bits 0, which keeps their names"
        )
    refuse_settings(C, bits, min_count, tol, eps, solver, formulation, penalty, loss)
    if is_generative(solver):
        raise ValueError(
            f"--solver {solver}: dependency trees have no generative model; leave the "
            "solver out"
        )
    refuse_choice("--labels", labels, ("joint", "second_stage", "none"))
    refuse_choice("--construction", construction, ("exact", "best_heads"))
    refuse_choice("--over-budget", over_budget, WAYS)
    if order not in (1, 2):
        raise ValueError(f"--order {order}: choose 1 or 2")
    if candidates < 1:
        raise ValueError(f"--candidates {candidates}: give a positive whole number")
    settings = {
        "C": C,
        "templates": read_templates(preset, template, ARC_PRESETS, parse_arc_templates),
        "min_count": min_count,
        "hash_bits": bits,
        "order": order,
        "n_candidates": candidates,
        "projective": projective,
        "labels": None if labels == "none" else labels,
        "cost": _cost(cost),
        "normalized": normalized,
        "construction": construction,
        "kernel": kernel,
        "match": match,
        "clusters": _clusters(clusters, vectors),
        "budget": budget,
        "over_budget": over_budget,
        "gram_options": common.gram_options(kernel, gram_cache, gram_dtype),
        "loss": loss,
        "formulation": formulation,
        "penalty": penalty,
        "solver": solver,
        "tol": tol,
        "eps": eps,
        "max_iter": max_iter,
        "time_limit": time_limit,
        "checkpoint": checkpoint,
        "checkpoint_every": checkpoint_every,
        "random_state": seed,
        "n_jobs": jobs,
    }
    _check_kernel(kernel, match)
    task = DependencyTask(single_root=not many_roots, max_length=max_length)
    return train_model(
        task, TrainingRequest(data, model, settings, dev, report, keep_dual, json)
    )


def _check_kernel(kernel: str | None, match: str | None) -> None:
    """Refuse names of kernels and hash functions that there are not."""
    from partwise.features.arc_keys import ArcHasher
    from partwise.kernels.naming import parse_kernel

    if kernel is not None:
        parse_kernel(kernel)
    if match is not None:
        ArcHasher(match)


def _clusters(n_clusters: int | None, vectors: str | None) -> int | WordClusters | None:
    """How many clusters of words, and of which vectors."""
    from partwise.kernels.clusters import WordClusters

    if vectors is None:
        return n_clusters
    if n_clusters is None:
        raise ValueError(f"--vectors {vectors}: give --clusters, too; how many groups?")
    return WordClusters(n_clusters, column="form", vectors=vectors)


def _cost(text: str) -> str | float:
    """Name or share of the loss of a wrong label."""
    if text in ("uas", "las"):
        return text
    try:
        share = float(text)
    except ValueError:
        share = -1.0
    if not 0 <= share <= 1:
        raise ValueError(f"--cost {text}: choose uas, las or a number from 0 to 1")
    return share
