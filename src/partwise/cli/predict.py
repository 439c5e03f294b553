"""`partwise predict`: outputs for new data."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from partwise.cli.data_files import open_task, reads_files, refuse_overwriting
from partwise.cli.options import Files, Jobs, Json, ModelPath, threads
from partwise.outputs.task import FileOptions


@reads_files("columns", "separator", "comment", "max_length")
def predict(
    model: ModelPath,
    data: Files,
    *,
    output: Annotated[
        str,
        typer.Option(
            "--output", "-o", metavar="FILE", help="Where to write; - is stdout."
        ),
    ] = "-",
    topk: Annotated[
        int, typer.Option(metavar="K", help="Write the K best outputs.")
    ] = 1,
    given: Annotated[
        str | None,
        typer.Option(
            metavar="COLUMN",
            help="Column of labels to keep, HEAD for trees; _ where it is unknown.",
            show_default=False,
        ),
    ] = None,
    confidence: Annotated[
        bool,
        typer.Option("--confidence", metavar="", help="Tell how probable outputs are."),
    ] = False,
    marginals: Annotated[
        bool,
        typer.Option(
            "--marginals", metavar="", help="Tell how probable all parts are."
        ),
    ] = False,
    files: FileOptions,
    jobs: Jobs = 1,
    json: Json = False,
) -> int:
    """Write the file again with the model's predictions.

    A tagger appends a column; the file needs the columns of the training data, that of
    the labels may be absent. A dependency parser fills HEAD and DEPREL of CoNLL-U. A
    phrase-structure parser writes trees in brackets, for trees or for lines with a word
    and its tag. With --confidence a tagger appends two more columns, the probability of
    the label and that of all labels of the sentence; with --marginals one per label.
    For other models, probabilities are in the output of --json.

    Example: `partwise predict chunks.model new.txt --output tagged.txt`
    """
    from partwise.cli.output import in_singular, print_json, say
    from partwise.outputs.model import check_k

    check_k(topk, "topk")
    if given is not None and topk > 1:
        raise ValueError("--given and --topk do not go together; drop one of them")
    options = [
        f"--{name}"
        for name, is_asked in (("confidence", confidence), ("marginals", marginals))
        if is_asked
    ]
    if options and (given is not None or topk > 1):
        conflict = "--topk" if topk > 1 else "--given"
        raise ValueError(
            f"{options[0]} and {conflict} do not go together; drop one of them"
        )
    if output != "-":
        refuse_overwriting({"--output": output}, [model, *data])
    trained, task = open_task(model, data, files)
    for option in options:
        task.check_probabilities(option, trained, is_json=json and output == "-")
    examples = task.read(data, truth=False)
    answers = task.answer(
        trained, examples, topk=topk, given=given, n_jobs=threads(jobs)
    )
    for warning in answers.warnings:
        say(f"warning: {warning}")
    for option in options:
        answers = task.with_probabilities(
            option, trained, examples, answers, threads(jobs)
        )
    if options and not trained.has_probabilities:
        say(
            "note: the model was trained for a margin and is not calibrated; its "
            "numbers compare outputs, but are no probabilities (train with --loss log)"
        )
    if not json or output != "-":
        task.write(output, examples, answers, topk)
    if json:
        document: dict[str, Any] = {
            "n_examples": examples.n_examples,
            "n_tokens": examples.n_tokens,
            "output": None if output == "-" else output,
        }
        print_json(document | task.json_outputs(answers))
    elif output != "-":
        count = in_singular(f"{examples.n_examples:,} {task.examples_name}")
        say(f"{count} written to {output}")
    return 0
