"""`partwise train TASK`: learn a model; one command for all outputs."""

from __future__ import annotations

import time
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from partwise.cli.options import OPTIONS, threads
from partwise.cli.output import (
    certificate_lines,
    metric_rows,
    print_json,
    print_table,
    say,
)
from partwise.cli.parameters import in_options
from partwise.outputs.task import Answers, Data, Task

INTERRUPTED = 130  # what shells expect after Ctrl-C: a script shall not simply go on


@dataclass
class TrainingRequest:
    """What the user wants, besides the parameters of the estimator."""

    data: Sequence[str]
    model: str
    dev: str | None
    report: str | None
    keep_dual: bool
    json: bool


def train_model(task: Task, estimator: Any, request: TrainingRequest) -> int:
    """Read, learn, save, evaluate, print; signals end training, and lose no model.

    Parameters
    ----------
    task : Task
    estimator : StructuredEstimator
        Not fitted; its parameters are checked before any file is read.
    request : TrainingRequest
    """
    from partwise.cli.interruption import Interruption

    with Interruption() as interruption:
        try:
            code = _train(task, estimator, request, interruption)
        except KeyboardInterrupt:
            return interruption.code or INTERRUPTED
    return interruption.code or code


def _train(
    task: Task, estimator: Any, request: TrainingRequest, interruption: Any
) -> int:
    from partwise.cli.progress import GapBar
    from partwise.jit import announce_compilation
    from partwise.model_file import refuse_unwritable

    began = time.perf_counter()
    estimator.check_parameters()
    for path in (request.model, estimator.checkpoint, request.report):
        if path:
            refuse_unwritable(path)
    announce_compilation(say)
    data = task.read(request.data, truth=True)
    dev = task.read_dev(request.dev) if request.dev else None
    read = time.perf_counter() - began
    say(task.describe(data))

    estimator.set_callbacks(GapBar(estimator.tol, interruption.training_begins))
    fit_began = time.perf_counter()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        estimator.fit(data.X, data.y, **task.fit_arguments(data))
    fit = time.perf_counter() - fit_began
    for warning in caught:
        if issubclass(warning.category, UserWarning):
            text = getattr(warning.message, "text", None)
            message = (
                str(warning.message) if text is None else in_options(text, OPTIONS)
            )
            say(f"warning: {message}")
    model = estimator.model_
    has_dual = (
        getattr(model, "support", None) is not None
        and estimator.certificate_.dual is not None  # a perceptron's α bound nothing
    )
    if request.keep_dual and not has_dual:
        say(f"warning: {_why_no_dual(estimator)}")
    model.info["reader"] = task.reader_info()
    if request.keep_dual and has_dual:
        estimator.save(request.model, keep_dual=True)
    else:
        estimator.save(request.model)
    seconds = {
        "read": read,
        "features": fit - estimator.fit_seconds_,
        "solve": estimator.fit_seconds_,
    }
    answer: dict[str, Any] = {
        "certificate": estimator.certificate_.to_dict(),
        "seconds": seconds,
        "n_examples": data.n_examples,
        "n_features": task.facts(model)["n_features"],
        "model": request.model,
    }
    evaluated = data if dev is None else dev
    if dev is not None or request.report:
        n_jobs = threads(estimator.n_jobs)
        found = task.answer(model, evaluated, topk=1, given=None, n_jobs=n_jobs)
        if dev is not None:
            answer["dev"] = task.measure(dev, found)
        if request.report:
            _write_report(task, request, estimator, evaluated, found)
    seconds["total"] = time.perf_counter() - began
    _tell(request, answer)
    return INTERRUPTED if estimator.certificate_.stopped == "interrupted" else 0


def _why_no_dual(estimator: Any) -> str:
    if getattr(estimator, "budget", None) is not None:
        return "the dual is that of the model without --budget, and is not kept"
    solver = type(estimator.solver_).__name__
    if estimator.certificate_.dual is not None and solver == "BCFW":
        return f"{type(estimator).__name__} keeps no dual; its file has the bound alone"
    return f"{solver} has no dual per sentence to keep; bcfw has"


def _tell(request: TrainingRequest, answer: dict[str, Any]) -> None:
    if request.json:
        print_json(answer)
        return
    for line in certificate_lines(answer["certificate"]):
        print(line)
    seconds = answer["seconds"]
    parts = ", ".join(f"{name} {value:.2f}" for name, value in seconds.items())
    print(f"seconds       {parts}")
    print(f"features      {answer['n_features']:,}")
    if "dev" in answer:
        print(f"on {request.dev}")
        print_table((), metric_rows(answer["dev"]))
    say(f"model written to {request.model}")
    if request.report:
        say(f"report written to {request.report}")


def _write_report(
    task: Task,
    request: TrainingRequest,
    estimator: Any,
    data: Data,
    answers: Answers,
) -> None:
    from partwise import __version__
    from partwise.report import write
    from partwise.report.support import support_fact

    assert request.report is not None
    n_examples = len(estimator.objective_.weight)
    model = estimator.model_
    caption = "On the training data"
    if request.dev:
        caption = f"On {Path(request.dev).name}"
    report = task.report(
        model,
        data,
        answers,
        title=f"{task.title} {Path(request.model).name}",
        caption=caption,
        facts=[
            ("Data", ", ".join(request.data)),
            ("Examples", f"{n_examples:,}"),
            *support_fact(model, n_examples),
            ("Features", f"{task.facts(model)['n_features']:,}"),
            *task.report_facts(model),
            ("C", f"{float(estimator.objective_.weight.sum()):g}"),
            ("Solver", type(estimator.solver_).__name__),
            ("Seed", str(estimator.random_state)),
            ("Seconds", f"{estimator.fit_seconds_:.2f}"),
            ("Partwise", __version__),
        ],
        certificate=estimator.certificate_.to_dict(),
        history=estimator.history_,
        tolerance=None if estimator.eps is not None else estimator.tol,
    )
    write(report, request.report)
