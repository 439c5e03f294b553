"""`partwise report`: the page of a trained model on data whose outputs are known."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from partwise.cli.data_files import open_task, reads_files, refuse_overwriting
from partwise.cli.options import Files, Jobs, Json, ModelPath, threads
from partwise.outputs.task import Answers, Data, FileOptions, Task

SETTINGS = {
    "loss": "Loss",
    "formulation": "Formulation",
    "penalty": "Penalty",
    "cost": "Cost",
    "measure": "Measure",
    "order": "Order",
    "labels": "Labelling",
    "segments": "Segments",
    "scheme": "Scheme",
    "graph": "Graph",
    "decoder": "Decoder",
    "kernel": "Kernel",
    "match": "Hash functions",
    "min_count": "Least count of features",
    "hash_bits": "Hash bits",
    "tol": "Tolerance (relative gap)",
    "eps": "Tolerance (violation)",
    "time_limit": "Time limit (seconds)",
    "max_iter": "Most iterations",
}


@reads_files("label", "columns", "separator", "comment", "max_length")
def report(
    model: ModelPath,
    data: Files,
    *,
    output: Annotated[
        str, typer.Option("--output", "-o", metavar="FILE", help="Page to write.")
    ] = "report.html",
    files: FileOptions,
    jobs: Jobs = 1,
    json: Json = False,
) -> int:
    """Write a page: certificate, course of training, evaluation, errors, weights.

    It is the page of `train --report`, for a model that exists.

    Example: `partwise report chunks.model test.txt --output chunks.html`
    """
    from partwise.cli.output import print_json, say

    trained, task = open_task(model, data, files)
    refuse_overwriting({"--output": output}, [model, *data])
    examples = task.read(data, truth=True)
    answers = task.answer(trained, examples, topk=1, given=None, n_jobs=threads(jobs))
    names = ", ".join(Path(name).name for name in data)
    write_report(
        task,
        trained,
        examples,
        answers,
        output,
        name=Path(model).name,
        caption=f"On {names}",
    )
    if json:
        print_json({"report": output, "metrics": task.measure(examples, answers)})
    else:
        say(f"report written to {output}")
    return 0


def write_report(
    task: Task,
    model: Any,
    data: Data,
    answers: Answers,
    path: str,
    *,
    name: str,
    caption: str = "",
    trained_on: Sequence[str] = (),
) -> None:
    """
    Write the page of a model.

    Parameters
    ----------
    task : Task
    model : model
        With the `info` of a model file: settings, parameters, certificate, history.
    data, answers : Data, Answers
        What is evaluated.
    path : str
    name : str
        Of the model.
    caption : str
        What was evaluated; the training data by default.
    trained_on : sequence of str
        Training files, where they are known.
    """
    from partwise import __version__
    from partwise.certificate import Certificate
    from partwise.protocol import HistoryPoint
    from partwise.report import write
    from partwise.report.support import support_fact

    info = model.info
    settings, parameters = info.get("settings", {}), info.get("parameters", {})
    certificate = info.get("certificate")
    history = [HistoryPoint(*point) for point in info.get("history", ())]
    n_examples = settings.get("n_examples")
    facts = [("Data", ", ".join(trained_on))] if trained_on else []
    if n_examples is not None:
        facts += [("Examples", f"{n_examples:,}"), *support_fact(model, n_examples)]
    facts += [
        ("Features", f"{task.facts(model)['n_features']:,}"),
        *_with_templates(task.report_facts(model), model),
        *chosen_settings(parameters),
    ]
    if "C" in settings:
        facts += [("C", f"{settings['C']:g}"), ("Solver", settings["solver"])]
    if "random_state" in settings:
        facts.append(("Seed", str(settings["random_state"])))
    if history:
        facts.append(("Seconds", f"{history[-1].seconds:.2f}"))
    version = info.get("versions", {}).get("partwise", __version__)
    facts.append(("Partwise", version))
    page = task.report(
        model,
        data,
        answers,
        title=f"{task.title} {name}",
        caption=caption or "On the training data",
        facts=facts,
        certificate=None if certificate is None else Certificate.from_dict(certificate),
        history=history,
        tolerance=None if parameters.get("eps") is not None else parameters.get("tol"),
    )
    write(page, path)


def chosen_settings(parameters: dict[str, Any]) -> list[tuple[str, str]]:
    """The parameters of a training that say what was learned, as facts of a report."""
    return [
        (name, "yes" if value is True else f"{value}")
        for key, name in SETTINGS.items()
        if (value := parameters.get(key)) not in (None, False)
    ]


def _with_templates(facts: list[tuple[str, str]], model: Any) -> list[tuple[str, str]]:
    """Facts, and the templates of the features, if they are not among them."""
    templates = getattr(model.scoring.featurizer, "templates", None)
    if not templates or "Templates" in dict(facts):
        return facts
    return [*facts, ("Templates", ", ".join(map(str, templates)))]
