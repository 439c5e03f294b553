"""Arguments and options that several commands share."""

from typing import Annotated, Any

import typer

from partwise.cli.parameters import Option

_Features: dict[str, Any] = {"rich_help_panel": "Features and structure"}
_Kernels: dict[str, Any] = {"rich_help_panel": "Kernels"}
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
    "encoding": Option("--encoding"),
    "k": Option("--topk"),
    "topk": Option("--topk"),  # whatever `k` is in another command
    "to": Option("--to"),
}


def _optional(metavar: str | None, text: str, **more: Any) -> Any:
    """An option that has no default to show."""
    return typer.Option(metavar=metavar, help=text, show_default=False, **more)


Files = Annotated[
    list[str],
    typer.Argument(
        metavar="DATA",
        help="Files of the task, also .gz and - (standard input).",
        show_default=False,
    ),
]
ModelPath = Annotated[
    str, typer.Argument(metavar="MODEL", help="Model file.", show_default=False)
]
Json = Annotated[
    bool,
    typer.Option(
        "--json", metavar="", help="Print one JSON object; messages go to stderr."
    ),
]
Jobs = Annotated[int, typer.Option(metavar="N", help="Threads; -1 uses all cores.")]
Label = Annotated[
    str | None,
    _optional(
        "COLUMN", "Column of the labels, by name or number; the last by default."
    ),
]
Columns = Annotated[
    str | None, _optional("NAMES", "Names of all columns, as in word,pos,label.")
]
Separator = Annotated[
    str | None,
    _optional(
        "CHAR", "Character between columns, tab for tabs; white space by default."
    ),
]
Comment = Annotated[str | None, _optional("PREFIX", "Leave out lines that begin so.")]


def _set_encoding(context: typer.Context, name: str | None) -> str | None:
    if name is not None:
        from partwise.readers import text_encoding

        context.with_resource(text_encoding(name))  # until the end of the command
    return name


Encoding = Annotated[
    str | None,
    _optional(
        "NAME",
        "Encoding of the data, as in latin-1; utf-8 by default, and for all output.",
        callback=_set_encoding,
    ),
]
MaxLength = Annotated[int | None, _optional("N", "Leave out longer examples.")]
Background = Annotated[
    str | None,
    _optional(
        "FILE",
        "More sequences without the motif, FASTA or a table, of weight "
        "--background-weight each.",
    ),
]
Window = Annotated[
    int | None,
    _optional("N", "Link mentions that are at most so many apart; 20 by default."),
]
Templates = Annotated[
    str | None,
    _optional(
        "NAMES",
        "Features of pairs, of words,pronouns,names,articles,agreement,positions,"
        "sentences,mentions; all by default.",
    ),
]
Unknown = Annotated[
    str | None,
    _optional(
        "TEXT",
        "What stands for a label that is not known, _ by default; '' for nothing.",
    ),
]

FILE_OPTIONS = {
    "label": Label,
    "columns": Columns,
    "separator": Separator,
    "comment": Comment,
    "max_length": MaxLength,
    "unknown": Unknown,
    "background": Background,
    "window": Window,
    "templates": Templates,
}

# ------------------------------------------------------- training, whatever the task

ModelToWrite = Annotated[
    str, typer.Option("--model", "-m", metavar="FILE", help="Model to write.")
]
TemplateFile = Annotated[
    str | None, _optional("FILE", "Feature templates of your own.", **_Features)
]
GramCache = Annotated[
    str | None,
    _optional(
        "FOLDER", "Keep the kernel's Gram matrix there, and find it again.", **_Kernels
    ),
]
GramDtype = Annotated[
    str | None,
    _optional(
        "NAME",
        "Precision of the Gram matrix: float64, or float32 in half the room.",
        **_Kernels,
    ),
]
DevFile = Annotated[
    str | None, _optional("FILE", "Evaluate on this file afterwards.", **_Results)
]
ReportFile = Annotated[
    str | None, _optional("FILE", "Write a report in HTML.", **_Results)
]
KeepDual = Annotated[
    bool,
    typer.Option(
        "--keep-dual",
        metavar="",
        help="Keep the proof of the dual for verify.",
        **_Results,
    ),
]


def threads(jobs: int) -> int:
    """Number of threads that ``--jobs`` means; negative counts from all cores."""
    if jobs == 0:
        raise ValueError("--jobs 0: give a number of threads, or -1 for all cores")
    from partwise.threads import resolve_jobs

    return resolve_jobs(jobs)
