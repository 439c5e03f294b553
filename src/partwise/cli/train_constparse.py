"""`partwise train constparse`: learn a phrase-structure parser from bracket files."""

from __future__ import annotations

from typing import Annotated

import typer

from partwise.cli import options as common
from partwise.cli.options import FeaturePanel

COSTS = ("brackets", "f1", "zero_one")


def train_constparse(
    data: common.Files,
    model: common.ModelToWrite,
    C: Annotated[
        float | None,
        typer.Option(
            "--C",
            help="Weight of the losses [default: sentences / 50, or / 2 for losses "
            "of at most 1 and for rules alone].",
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
            help="Errors count: brackets, f1 (1 − F1) or zero_one.",
            rich_help_panel="Objective",
        ),
    ] = "brackets",
    features: Annotated[
        str,
        typer.Option(
            help="spans: words and tags around brackets; or rules alone.",
            **FeaturePanel,
        ),
    ] = "spans",
    min_count: common.MinCount = 2,
    horizontal: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            help="Children remember N siblings [default: rules as seen].",
            show_default=False,
            **FeaturePanel,
        ),
    ] = None,
    vertical: Annotated[
        int,
        typer.Option(
            metavar="N", help="Labels with N - 1 ancestors each.", **FeaturePanel
        ),
    ] = 1,
    unary_steps: Annotated[
        int,
        typer.Option(metavar="N", help="Longest chain of unary rules.", **FeaturePanel),
    ] = 3,
    words: Annotated[
        bool,
        typer.Option("--words", help="Parse words, without tags.", **FeaturePanel),
    ] = False,
    max_length: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            help="Longer sentences give rules only, and are not parsed later.",
            show_default=False,
            **FeaturePanel,
        ),
    ] = None,
    solver: Annotated[
        str,
        typer.Option(
            help="bcfw, one_slack, n_slack, lbfgs, pcfg (frequencies), …",
            rich_help_panel="Solver",
        ),
    ] = "auto",
    tol: common.Tolerance = 0.05,
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
    """Learn a phrase-structure parser from files of Penn brackets.

    Traces, functions and indices are removed from the trees. Ctrl-C ends training
    early: the best model so far is written with its gap, and the exit code is 130.

    Example: `partwise train constparse train.mrg --model wsj.model --dev dev.mrg`
    """
    from partwise.cli.train import (
        TrainingRequest,
        refuse_choice,
        refuse_settings,
        train_model,
    )
    from partwise.outputs.phrase.task import PhraseTask

    refuse_settings(C, None, min_count, tol, eps, solver, formulation, penalty, loss)
    refuse_choice("--cost", cost, COSTS)
    refuse_choice("--features", features, ("spans", "rules"))
    for name, value, least in (
        ("--horizontal", horizontal, 0),
        ("--vertical", vertical, 1),
        ("--unary-steps", unary_steps, 1),
        ("--max-length", max_length, 1),
    ):
        if value is not None and value < least:
            raise ValueError(f"{name} {value}: give a whole number from {least} on")
    settings = {
        "C": C,
        "horizontal": horizontal,
        "vertical": vertical,
        "unary_steps": unary_steps,
        "lexical": words,
        "features": features,
        "min_count": min_count,
        "cost": cost,
        "max_length": max_length,
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
    return train_model(
        PhraseTask(),
        TrainingRequest(data, model, settings, dev, report, keep_dual, json),
    )
