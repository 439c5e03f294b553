"""Arguments and options that several commands share."""

from typing import Annotated, Any

import typer

_Objective: dict[str, Any] = {"rich_help_panel": "Objective"}
FeaturePanel: dict[str, Any] = {"rich_help_panel": "Features and structure"}
_Solving: dict[str, Any] = {"rich_help_panel": "Solver"}
_Results: dict[str, Any] = {"rich_help_panel": "Results"}

Files = Annotated[
    list[str],
    typer.Argument(
        metavar="DATA...",
        help="Files of the task, also .gz and - (standard input).",
        show_default=False,
    ),
]
ModelPath = Annotated[
    str, typer.Argument(metavar="MODEL", help="Model file.", show_default=False)
]
Json = Annotated[
    bool, typer.Option("--json", help="Print one JSON object; messages go to stderr.")
]
Jobs = Annotated[int, typer.Option(help="Threads; -1 uses all cores.")]
Label = Annotated[
    str | None,
    typer.Option(
        metavar="COLUMN",
        help="Column of the labels, by name or number; the last by default.",
        show_default=False,
    ),
]
Columns = Annotated[
    str | None,
    typer.Option(
        metavar="NAMES",
        help="Names of all columns, as in word,pos,label.",
        show_default=False,
    ),
]
Separator = Annotated[
    str | None,
    typer.Option(
        metavar="CHAR",
        help="Character between columns, tab for tabs; white space by default.",
        show_default=False,
    ),
]
Comment = Annotated[
    str | None,
    typer.Option(
        metavar="PREFIX",
        help="Leave out lines that begin so.",
        show_default=False,
    ),
]
MaxLength = Annotated[
    int | None,
    typer.Option(metavar="N", help="Leave out longer sentences.", show_default=False),
]

# ------------------------------------------------------- training, whatever the task

ModelToWrite = Annotated[
    str, typer.Option("--model", "-m", metavar="FILE", help="Model to write.")
]
Weight = Annotated[
    float | None,
    typer.Option(
        "--C",
        help="Weight of the losses [default: sentences / 10].",
        show_default=False,
        **_Objective,
    ),
]
FormulationName = Annotated[
    str, typer.Option(help="margin, slack or hard.", **_Objective)
]
PenaltyName = Annotated[str, typer.Option(help="l1 or l2.", **_Objective)]
LossName = Annotated[
    str, typer.Option(help="hinge (maximum margin) or log (CRF).", **_Objective)
]
Preset = Annotated[
    str | None,
    typer.Option(help="Feature templates by name.", show_default=False, **FeaturePanel),
]
TemplateFile = Annotated[
    str | None,
    typer.Option(
        metavar="FILE",
        help="Feature templates of your own.",
        show_default=False,
        **FeaturePanel,
    ),
]
MinCount = Annotated[
    int, typer.Option(help="Leave out rarer features.", **FeaturePanel)
]
HashBits = Annotated[
    int | None,
    typer.Option(
        help="Hash features to 2^N columns.",
        metavar="N",
        show_default=False,
        **FeaturePanel,
    ),
]
GramCache = Annotated[
    str | None,
    typer.Option(
        metavar="FOLDER",
        help="Keep the kernel's Gram matrix there, and find it again.",
        show_default=False,
        **FeaturePanel,
    ),
]
GramDtype = Annotated[
    str | None,
    typer.Option(
        help="Precision of the Gram matrix: float64, or float32 in half the room.",
        show_default=False,
        **FeaturePanel,
    ),
]
OverBudget = Annotated[
    str,
    typer.Option(help="How the others go: project, merge or drop.", **FeaturePanel),
]
SolverName = Annotated[
    str, typer.Option(help="bcfw, one_slack, n_slack, mira, lbfgs, …", **_Solving)
]
Tolerance = Annotated[
    float, typer.Option(help="Stop at this relative duality gap.", **_Solving)
]
Epsilon = Annotated[
    float | None,
    typer.Option(
        help="Stop at this constraint violation instead.",
        show_default=False,
        **_Solving,
    ),
]
MaxIter = Annotated[
    int | None, typer.Option(help="Most iterations.", show_default=False, **_Solving)
]
TimeLimit = Annotated[
    float | None, typer.Option(help="Most seconds.", show_default=False, **_Solving)
]
Checkpoint = Annotated[
    str | None,
    typer.Option(
        metavar="FILE",
        help="Keep training there; called again, a run that was stopped goes on.",
        show_default=False,
        **_Solving,
    ),
]
CheckpointEvery = Annotated[
    float, typer.Option(metavar="SECONDS", help="How often it is kept.", **_Solving)
]
Seed = Annotated[int, typer.Option(help="Random seed.", **_Solving)]
DevFile = Annotated[
    str | None,
    typer.Option(
        metavar="FILE",
        help="Evaluate on this file afterwards.",
        show_default=False,
        **_Results,
    ),
]
ReportFile = Annotated[
    str | None,
    typer.Option(
        metavar="FILE", help="Write a report in HTML.", show_default=False, **_Results
    ),
]
KeepDual = Annotated[
    bool,
    typer.Option(
        "--keep-dual", help="Keep the proof of the dual for verify.", **_Results
    ),
]


def gram_options(
    kernel: str | None, cache: str | None, dtype: str | None = None
) -> dict[str, Any] | None:
    """What estimators take as ``gram_options``; refuses it without a kernel."""
    if kernel is None:
        for option, value in (("--gram-cache", cache), ("--gram-dtype", dtype)):
            if value is not None:
                raise ValueError(f"{option} {value}: it is for kernels, give --kernel")
        return None
    from partwise.cli.progress import GramTeller

    chosen: dict[str, Any] = {"progress": GramTeller()}
    if dtype is not None:
        if dtype not in ("float64", "float32"):
            raise ValueError(f"--gram-dtype {dtype}: choose float64 or float32")
        chosen["dtype"] = dtype
    if cache is not None:
        chosen["cache_dir"] = cache
    return chosen


def threads(jobs: int) -> int:
    """Number of threads that ``--jobs`` means; negative counts from all cores."""
    if jobs == 0:
        raise ValueError("--jobs 0: give a number of threads, or -1 for all cores")
    from partwise.threads import resolve_jobs

    return resolve_jobs(jobs)
