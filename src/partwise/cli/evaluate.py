"""`partwise evaluate`: a model's predictions against the truth of a file."""

from __future__ import annotations

from partwise.cli.options import (
    Columns,
    Comment,
    Encoding,
    Files,
    Jobs,
    Json,
    Label,
    MaxLength,
    ModelPath,
    Separator,
    threads,
)


def evaluate(
    model: ModelPath,
    data: Files,
    label: Label = None,
    columns: Columns = None,
    separator: Separator = None,
    comment: Comment = None,
    encoding: Encoding = None,
    max_length: MaxLength = None,
    jobs: Jobs = 1,
    json: Json = False,
) -> int:
    """Measure a model on data whose outputs are known.

    Labels that the model has never seen count as errors. The scores of parsers are
    those of udtools (dependencies) and of EVALB (phrases).

    Example: `partwise evaluate chunks.model test.txt`
    """
    from partwise.cli.output import metric_rows, print_json, print_table, say, tell
    from partwise.jit import announce_compilation
    from partwise.outputs.task import FileOptions, open_model

    announce_compilation(say)
    held, task = open_model(
        model, FileOptions(columns, label, separator, comment, max_length)
    )
    read = task.read(data, truth=True)
    found = task.answer(held, read, topk=1, given=None, n_jobs=threads(jobs))
    metrics = task.measure(read, found)
    details = task.details(held, read, found)
    for warning in details.warnings:
        say(f"warning: {warning}")
    if json:
        print_json({"metrics": metrics, "n_examples": read.n_examples, **details.json})
        return 0
    sizes = f"{read.n_examples:,} {task.examples_name}"
    if read.n_tokens != read.n_examples:
        sizes += f", {read.n_tokens:,} tokens"
    tell(sizes)
    print_table((), metric_rows(metrics))
    for title, header, rows in details.listings:
        tell(f"\n{title}" if title else "")
        print_table(header, rows)
    return 0
