"""Arguments and options that several commands share."""

import os
from typing import Annotated

import typer

Files = Annotated[
    list[str],
    typer.Argument(
        metavar="DATA...",
        help="Column files, one token per line; .gz and - (standard input) too.",
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


def threads(jobs: int) -> int:
    """Number of threads that ``--jobs`` means; negative counts from all cores."""
    if jobs == 0:
        raise ValueError("--jobs 0: give a number of threads, or -1 for all cores")
    return jobs if jobs > 0 else max(1, (os.cpu_count() or 1) + 1 + jobs)
