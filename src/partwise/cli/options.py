"""Arguments and options that several commands share."""

from typing import Annotated, Any

import typer

from partwise.cli.parameters import Option

_Features: dict[str, Any] = {"rich_help_panel": "Features and structure"}
_Results: dict[str, Any] = {"rich_help_panel": "Results"}

# how the parameters are typed that messages of the running command may mention
OPTIONS: dict[str, Option] = {
    "n_jobs": Option("--jobs"),
    "dtype": Option("--gram-dtype"),
    "cache_dir": Option("--gram-cache"),
    "templates": Option("--preset or --template"),
    "gram_options": Option("--gram-dtype and --gram-cache"),
    "preset": Option("--preset"),
    "template": Option("--template"),
    "names": Option("--columns"),
    "n_clusters": Option("--clusters"),
    "separator": Option("--separator"),
    "k": Option("--topk"),
}

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

FILE_OPTIONS = {
    "label": Label,
    "columns": Columns,
    "separator": Separator,
    "comment": Comment,
    "max_length": MaxLength,
}

# ------------------------------------------------------- training, whatever the task

ModelToWrite = Annotated[
    str, typer.Option("--model", "-m", metavar="FILE", help="Model to write.")
]
TemplateFile = Annotated[
    str | None,
    typer.Option(
        metavar="FILE",
        help="Feature templates of your own.",
        show_default=False,
        **_Features,
    ),
]
GramCache = Annotated[
    str | None,
    typer.Option(
        metavar="FOLDER",
        help="Keep the kernel's Gram matrix there, and find it again.",
        show_default=False,
        **_Features,
    ),
]
GramDtype = Annotated[
    str | None,
    typer.Option(
        help="Precision of the Gram matrix: float64, or float32 in half the room.",
        show_default=False,
        **_Features,
    ),
]
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


def threads(jobs: int) -> int:
    """Number of threads that ``--jobs`` means; negative counts from all cores."""
    if jobs == 0:
        raise ValueError("--jobs 0: give a number of threads, or -1 for all cores")
    from partwise.threads import resolve_jobs

    return resolve_jobs(jobs)
