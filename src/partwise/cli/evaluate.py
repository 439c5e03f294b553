"""`partwise evaluate`: a model's predictions against the truth of a file."""

from __future__ import annotations

from partwise.cli.data_files import open_task, reads_files
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
        in_singular,
        metric_rows,
        print_json,
        print_table,
        print_text,
        say,
    )

    trained, task = open_task(model, data, files)
    examples = task.read(data, truth=True)
    answers = task.answer(trained, examples, topk=1, given=None, n_jobs=threads(jobs))
    metrics = task.measure(examples, answers)
    details = task.details(trained, examples, answers)
    for warning in details.warnings:
        say(f"warning: {warning}")
    if json:
        document = {"metrics": metrics, "n_examples": examples.n_examples}
        print_json(document | details.json)
        return 0
    sizes = f"{examples.n_examples:,} {task.examples_name}"
    if examples.n_tokens != examples.n_examples:
        sizes += f", {examples.n_tokens:,} {task.tokens_name}"
    print_text(in_singular(sizes))
    print_table((), metric_rows(metrics))
    for title, header, rows in details.listings:
        print_text(f"\n{title}" if title else "")
        print_table(header, rows)
    return 0
