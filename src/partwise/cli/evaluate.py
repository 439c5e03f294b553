"""`partwise evaluate`: a model's predictions against the truth of a file."""

from __future__ import annotations

from partwise.cli.data_files import opened, reads_files
from partwise.cli.options import Files, Jobs, Json, ModelPath, threads
from partwise.outputs.task import FileOptions


@reads_files("label", "columns", "separator", "comment", "max_length")
def evaluate(
    model: ModelPath,
    data: Files,
    *,
    files: FileOptions,
    jobs: Jobs = 1,
    json: Json = False,
) -> int:
    """Measure a model on data whose outputs are known.

    Labels that the model has never seen count as errors. The scores of parsers are
    those of udtools (dependencies) and of EVALB (phrases).

    Example: `partwise evaluate chunks.model test.txt`
    """
    from partwise.cli.output import (
        metric_rows,
        print_json,
        print_table,
        print_text,
        say,
    )

    loaded, task = opened(model, data, files)
    read = task.read(data, truth=True)
    answers = task.answer(loaded, read, topk=1, given=None, n_jobs=threads(jobs))
    metrics = task.measure(read, answers)
    details = task.details(loaded, read, answers)
    for warning in details.warnings:
        say(f"warning: {warning}")
    if json:
        print_json({"metrics": metrics, "n_examples": read.n_examples, **details.json})
        return 0
    sizes = f"{read.n_examples:,} {task.examples_name}"
    if read.n_tokens != read.n_examples:
        sizes += f", {read.n_tokens:,} {task.tokens_name}"
    print_text(sizes)
    print_table((), metric_rows(metrics))
    for title, header, rows in details.listings:
        print_text(f"\n{title}" if title else "")
        print_table(header, rows)
    return 0
