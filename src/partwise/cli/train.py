"""`partwise train`: learn a model from data."""

from __future__ import annotations

from difflib import get_close_matches
from typing import Annotated, Any

import typer

from partwise.cli.options import (
    Columns,
    Comment,
    Files,
    Jobs,
    Json,
    Label,
    Separator,
)

TASKS = {"tag": "label sequences"}

Objective = {"rich_help_panel": "Objective"}
Features = {"rich_help_panel": "Features and structure"}
Solving = {"rich_help_panel": "Solver"}
Results = {"rich_help_panel": "Results"}


def train(
    task: Annotated[str, typer.Argument(help="What to learn: tag.", metavar="TASK")],
    data: Files,
    model: Annotated[
        str, typer.Option("--model", "-m", metavar="FILE", help="Model to write.")
    ],
    C: Annotated[
        float | None,
        typer.Option(
            "--C",
            help="Weight of the losses [default: sentences / 10].",
            show_default=False,
            **Objective,
        ),
    ] = None,
    formulation: Annotated[
        str, typer.Option(help="margin, slack or hard.", **Objective)
    ] = "margin",
    penalty: Annotated[str, typer.Option(help="l1 or l2.", **Objective)] = "l1",
    loss: Annotated[
        str, typer.Option(help="hinge (maximum margin) or log (CRF).", **Objective)
    ] = "hinge",
    cost: Annotated[
        str,
        typer.Option(
            help="Errors count: hamming, normalized or zero_one.", **Objective
        ),
    ] = "hamming",
    preset: Annotated[
        str | None,
        typer.Option(
            help="Feature templates by name: window, chunk, ner, pos.",
            show_default=False,
            **Features,
        ),
    ] = None,
    template: Annotated[
        str | None,
        typer.Option(
            metavar="FILE",
            help="Feature templates of your own.",
            show_default=False,
            **Features,
        ),
    ] = None,
    min_count: Annotated[
        int, typer.Option(help="Leave out rarer features.", **Features)
    ] = 1,
    hash_bits: Annotated[
        int | None,
        typer.Option(
            help="Hash features to 2^N columns.",
            metavar="N",
            show_default=False,
            **Features,
        ),
    ] = None,
    order: Annotated[
        int, typer.Option(help="Labels a transition looks back at.", **Features)
    ] = 1,
    boundary: Annotated[
        bool,
        typer.Option("--boundary", help="Score first and last labels.", **Features),
    ] = False,
    scheme: Annotated[
        str | None,
        typer.Option(
            help="Forbid what BIO, IOB1 or BIOES forbids.",
            show_default=False,
            **Features,
        ),
    ] = None,
    solver: Annotated[
        str, typer.Option(help="bcfw, one_slack, n_slack, lbfgs, hmm, …", **Solving)
    ] = "auto",
    tol: Annotated[
        float, typer.Option(help="Stop at this relative duality gap.", **Solving)
    ] = 1e-3,
    eps: Annotated[
        float | None,
        typer.Option(
            help="Stop at this constraint violation instead.",
            show_default=False,
            **Solving,
        ),
    ] = None,
    max_iter: Annotated[
        int | None,
        typer.Option(help="Most iterations.", show_default=False, **Solving),
    ] = None,
    time_limit: Annotated[
        float | None,
        typer.Option(help="Most seconds.", show_default=False, **Solving),
    ] = None,
    seed: Annotated[int, typer.Option(help="Random seed.", **Solving)] = 0,
    jobs: Jobs = 1,
    dev: Annotated[
        str | None,
        typer.Option(
            metavar="FILE",
            help="Evaluate on this file afterwards.",
            show_default=False,
            **Results,
        ),
    ] = None,
    report: Annotated[
        str | None,
        typer.Option(
            metavar="FILE",
            help="Write a report in HTML.",
            show_default=False,
            **Results,
        ),
    ] = None,
    keep_dual: Annotated[
        bool,
        typer.Option(
            "--keep-dual", help="Keep the proof of the dual for verify.", **Results
        ),
    ] = False,
    label: Label = None,
    columns: Columns = None,
    separator: Separator = None,
    comment: Comment = None,
    json: Json = False,
) -> int:
    """Learn a model, and prove how far it is from the optimum.

    Ctrl-C ends training early: the best model so far is written with its gap, and the
    exit code is 130.

    Example: `partwise train tag train.txt --model chunks.model --dev dev.txt`
    """  # fmt: skip
    if task not in TASKS:
        raise ValueError(f"unknown task {task!r}; the tasks are: {', '.join(TASKS)}")
    _refuse_numbers(C, hash_bits, min_count, tol, eps)
    from partwise.cli.data import Layout
    from partwise.cli.tagging import TrainingRequest, train_tagger

    templates = _templates(preset, template)
    _refuse_solver(solver)
    settings: dict[str, Any] = {
        "C": C,
        "templates": templates,
        "min_count": min_count,
        "hash_bits": hash_bits,
        "order": order,
        "boundary": boundary,
        "cost": cost,
        "scheme": scheme,
        "loss": loss,
        "formulation": formulation,
        "penalty": penalty,
        "solver": solver,
        "tol": tol,
        "eps": eps,
        "max_iter": max_iter,
        "time_limit": time_limit,
        "random_state": seed,
        "n_jobs": jobs,
    }
    layout = Layout.create(columns, label, separator, comment)
    return train_tagger(
        TrainingRequest(data, model, layout, settings, dev, report, keep_dual, json)
    )


def _refuse_numbers(
    C: float | None,
    hash_bits: int | None,
    min_count: int,
    tol: float,
    eps: float | None,
) -> None:
    """Refuse before any file is read what the estimator would refuse after it."""
    from partwise.features.vocabulary import check_settings
    from partwise.objective import Objective

    if C is not None:
        Objective.create(C, 1, "l1")
    check_settings(min_count, hash_bits)
    for name, value in (("--tol", tol), ("--eps", eps)):
        if value is not None and not value > 0:
            raise ValueError(f"{name} {value}: give a positive number")


def _refuse_solver(name: str) -> None:
    if name == "auto":
        return
    from partwise.solvers import solver_class

    try:
        solver_class(name)
    except ModuleNotFoundError:
        raise ValueError(f"solver {name!r} is not in this version yet") from None


def _templates(preset: str | None, path: str | None) -> str | None:
    """Text of the templates, or None for the default ones."""
    from partwise.features.templates import PRESETS, TemplateError, parse_templates

    if preset is not None and path is not None:
        raise ValueError("--preset and --template do not go together; drop one of them")
    if preset is not None and preset not in PRESETS:
        near = get_close_matches(preset, PRESETS, n=1)
        hint = f"did you mean {near[0]!r}? " if near else ""
        raise ValueError(
            f"unknown preset {preset!r}: {hint}choose from {', '.join(PRESETS)}"
        )
    if path is None:
        return None if preset is None else PRESETS[preset]
    from partwise.readers.source import read_text_bytes

    _, data = read_text_bytes(path)
    try:
        parse_templates(data.decode())
    except TemplateError as error:
        raise TemplateError(f"{path}: {error}") from error
    return data.decode()
