"""`partwise predict`: labels for a column file."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from partwise.cli.options import (
    Columns,
    Comment,
    Files,
    Jobs,
    Json,
    ModelPath,
    Separator,
    threads,
)

UNKNOWN = "_"  # a token without a known label in the column of --given
ABSENT = "-"  # a sentence has fewer than k labellings


def predict(
    model: ModelPath,
    data: Files,
    output: Annotated[
        str,
        typer.Option(
            "--output", "-o", metavar="FILE", help="Where to write; - is stdout."
        ),
    ] = "-",
    topk: Annotated[
        int, typer.Option(metavar="K", help="Append the K best labellings.")
    ] = 1,
    given: Annotated[
        str | None,
        typer.Option(
            metavar="COLUMN",
            help="Column of labels to keep; _ where the label is unknown.",
            show_default=False,
        ),
    ] = None,
    columns: Columns = None,
    separator: Separator = None,
    comment: Comment = None,
    jobs: Jobs = 1,
    json: Json = False,
) -> int:
    """Append predicted labels to a column file.

    The file needs the columns of the training data; that of the labels may be absent.

    Example: `partwise predict chunks.model new.txt --output tagged.txt`
    """
    from partwise.cli.compiling import PREDICTING, announce_compilation
    from partwise.cli.data import Layout, find_column, load_tagger, read_tables
    from partwise.cli.output import print_json, say

    if topk < 1:
        raise ValueError(f"--topk {topk}: give a positive whole number")
    if given is not None and topk > 1:
        raise ValueError("--given and --topk do not go together; drop one of them")
    announce_compilation(*PREDICTING)
    tagger = load_tagger(model)
    layout = Layout.create(columns, None, separator, comment, Layout.of_model(tagger))
    table = read_tables(data, layout)
    ranked: list[list[tuple[list[Any], float]]] = []
    if topk > 1:
        ranked = tagger.predict_topk(table, topk, n_jobs=threads(jobs))
        labels = [found[0][0] for found in ranked]
    else:
        known = None
        if given is not None:
            known = _known(tagger, table.strings(find_column(table, given, data)))
        labels = tagger.predict(table, given=known, n_jobs=threads(jobs))
    if not json or output != "-":
        _write(output, table, labels, ranked, topk, layout.separator or " ")
    if json:
        answer: dict[str, Any] = {
            "n_examples": len(table),
            "n_tokens": table.n_tokens,
            "output": None if output == "-" else output,
            "labels": labels,
        }
        if topk > 1:
            answer["topk"] = [
                [{"labels": names, "score": score} for names, score in found]
                for found in ranked
            ]
        print_json(answer)
    elif output != "-":
        say(f"{len(table)} sentences labelled in {output}")
    return 0


def _known(model: Any, column: list[list[str]]) -> list[list[Any]]:
    """Labels as the model knows them, None where the file has `UNKNOWN`."""
    names: dict[str, Any] = {str(label): label for label in model.labels}
    names.setdefault(UNKNOWN, None)
    return [[names.get(text, text) for text in row] for row in column]


def _write(
    output: str,
    table: Any,
    labels: list[list[Any]],
    ranked: list[list[tuple[list[Any], float]]],
    topk: int,
    separator: str,
) -> None:
    from partwise.readers import Table, write_columns
    from partwise.readers.table import encode

    columns = dict(table.columns)
    for k in range(topk - 1):  # the last of the K goes the way of a single one
        flat: list[Any] = []
        for found in ranked:
            length = len(found[0][0])
            flat += found[k][0] if k < len(found) else [ABSENT] * length
        columns[f"rank {k + 1}"] = encode(map(str, flat))
    if topk > 1:
        labels = [
            found[topk - 1][0] if topk <= len(found) else [ABSENT] * len(found[0][0])
            for found in ranked
        ]
    write_columns(output, Table(columns, table.offset), labels, separator=separator)
