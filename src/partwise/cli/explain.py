"""`partwise explain`: why an example got its output."""

from __future__ import annotations

from typing import Annotated

import typer

from partwise.cli.data_files import open_task, reads_files
from partwise.cli.options import Files, Json, ModelPath
from partwise.outputs.task import FileOptions


@reads_files("columns", "separator", "comment")
def explain(
    model: ModelPath,
    data: Files,
    *,
    sentence: Annotated[
        int,
        typer.Option(
            metavar="N", help="Which sentence, row or other input, counting from 0."
        ),
    ] = 0,
    query: Annotated[
        str | None,
        typer.Option(
            metavar="QID", help="Of a ranking: the query whose first two rows to show."
        ),
    ] = None,
    top: Annotated[
        int, typer.Option(metavar="N", help="Number of reasons to show.")
    ] = 10,
    files: FileOptions,
    json: Json = False,
) -> int:
    """Compare the winning output with the runner-up, reason by reason.

    A model trained with --keep-dual also shows the training sentences that decide.

    Example: `partwise explain chunks.model test.txt --sentence 3`
    """
    from partwise.cli.output import in_singular, print_json, print_text

    if top < 1:
        raise ValueError(f"--top {top}: give a positive whole number")
    trained, task = open_task(model, data, files)
    examples = task.read(data, truth=False)
    count = in_singular(f"{examples.n_examples:,} {task.examples_name}")
    if not 0 <= sentence < examples.n_examples:
        raise ValueError(
            f"--sentence {sentence}: the data has {count}; give a number from "
            f"0 to {examples.n_examples - 1}"
        )
    document, text = task.explain(trained, examples, sentence, top, query)
    if json:
        which = {"sentence": sentence} if query is None else {"query": query}
        print_json({**which, **document})
    else:
        print_text(text)
    return 0
