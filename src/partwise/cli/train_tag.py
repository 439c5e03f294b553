"""`partwise train tag`: learn a tagger from column files."""

from __future__ import annotations

from typing import Annotated

import typer

from partwise.cli import options as common
from partwise.cli.options import FeaturePanel


def train_tag(
    data: common.Files,
    model: common.ModelToWrite,
    C: common.Weight = None,
    formulation: common.FormulationName = "margin",
    penalty: common.PenaltyName = "l1",
    loss: common.LossName = "hinge",
    cost: Annotated[
        str,
        typer.Option(
            help="Errors count: hamming, normalized or zero_one.",
            rich_help_panel="Objective",
        ),
    ] = "hamming",
    preset: Annotated[
        str | None,
        typer.Option(
            help="Feature templates by name: window, chunk, ner, pos.",
            show_default=False,
            **FeaturePanel,
        ),
    ] = None,
    template: common.TemplateFile = None,
    min_count: common.MinCount = 1,
    hash_bits: common.HashBits = None,
    order: Annotated[
        int, typer.Option(help="Labels a transition looks back at.", **FeaturePanel)
    ] = 1,
    boundary: Annotated[
        bool,
        typer.Option("--boundary", help="Score first and last labels.", **FeaturePanel),
    ] = False,
    scheme: Annotated[
        str | None,
        typer.Option(
            help="Forbid what BIO, IOB1 or BIOES forbids.",
            show_default=False,
            **FeaturePanel,
        ),
    ] = None,
    kernel: Annotated[
        str | None,
        typer.Option(
            help="Compare tokens (poly:degree=2, rbf:gamma=0.1, …) or whole sentences "
            "(normalized(ngram), …) by a kernel.",
            show_default=False,
            **FeaturePanel,
        ),
    ] = None,
    match: Annotated[
        str | None,
        typer.Option(
            help="When labels are alike: label, type, label+word, …; several are "
            "separated by commas.",
            show_default=False,
            **FeaturePanel,
        ),
    ] = None,
    budget: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            help="Training tokens, or sentences, that a kernel model may keep.",
            show_default=False,
            **FeaturePanel,
        ),
    ] = None,
    over_budget: common.OverBudget = "project",
    gram_cache: common.GramCache = None,
    gram_dtype: common.GramDtype = None,
    solver: common.SolverName = "auto",
    tol: common.Tolerance = 1e-3,
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
    label: common.Label = None,
    columns: common.Columns = None,
    separator: common.Separator = None,
    comment: common.Comment = None,
    json: common.Json = False,
) -> int:
    """Learn a tagger from column files, one token per line.

    Ctrl-C ends training early: the best model so far is written with its gap, and the
    exit code is 130.

    Example: `partwise train tag train.txt --model chunks.model --dev dev.txt`
    """
    from partwise.cli.data import Layout
    from partwise.cli.train import (
        TrainingRequest,
        read_templates,
        refuse_choice,
        refuse_settings,
        train_model,
    )
    from partwise.features.templates import PRESETS, parse_templates
    from partwise.outputs.sequence.task import TagTask
    from partwise.scorers.budget import WAYS
    from partwise.structures.chain.tag_schemes import SCHEMES

    refuse_settings(
        C, hash_bits, min_count, tol, eps, solver, formulation, penalty, loss
    )
    refuse_choice("--cost", cost, ("hamming", "normalized", "zero_one"))
    if scheme is not None:
        refuse_choice("--scheme", scheme, tuple(SCHEMES))
    refuse_choice("--over-budget", over_budget, WAYS)
    if order not in (0, 1, 2):
        raise ValueError(f"--order {order}: choose 0, 1 or 2")
    if kernel is not None:
        from partwise.kernels.naming import parse_kernel

        parse_kernel(kernel)
    if match is not None:
        from partwise.features.label_keys import LabelHasher

        LabelHasher(match, [])  # refuses what it cannot read
    settings = {
        "C": C,
        "templates": read_templates(preset, template, PRESETS, parse_templates),
        "min_count": min_count,
        "hash_bits": hash_bits,
        "order": order,
        "boundary": boundary,
        "cost": cost,
        "scheme": scheme,
        "kernel": kernel,
        "match": match,
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
    task = TagTask(Layout.create(columns, label, separator, comment))
    return train_model(
        task, TrainingRequest(data, model, settings, dev, report, keep_dual, json)
    )
