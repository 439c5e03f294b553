"""`partwise train TASK`: learn a model; the part that all tasks share."""

from __future__ import annotations

import time
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from partwise.cli.options import threads
from partwise.cli.output import (
    certificate_lines,
    metric_rows,
    print_json,
    print_table,
    say,
)
from partwise.cli.wording import as_typed, typed
from partwise.outputs.task import Data, Task

INTERRUPTED = 130  # what shells expect after Ctrl-C: a script shall not simply go on


@dataclass
class TrainingRequest:
    """What the user wants, besides the settings of the estimator."""

    data: Sequence[str]
    model: str
    settings: dict[str, Any]
    dev: str | None
    report: str | None
    keep_dual: bool
    json: bool


def train_model(task: Task, request: TrainingRequest) -> int:
    """Read, learn, save, evaluate, tell."""
    from partwise.cli.compiling import announce_compilation
    from partwise.cli.progress import GapBar
    from partwise.model_file import refuse_unwritable

    began = time.perf_counter()
    _refuse_numbers(request.settings)
    refuse_unwritable(request.model)
    if request.settings["checkpoint"]:
        refuse_unwritable(request.settings["checkpoint"])
    if request.report:
        refuse_unwritable(request.report)
    announce_compilation()
    data = task.read(request.data, truth=True)
    dev = task.read([request.dev], truth=True) if request.dev else None
    read = time.perf_counter() - began
    say(task.describe(data))

    estimator = task.make_estimator(request.settings)
    estimator.set_callbacks(GapBar(estimator.tol))
    fit_began = time.perf_counter()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        estimator.fit(data.X, data.y)
    fit = time.perf_counter() - fit_began
    for warning in caught:
        if issubclass(warning.category, UserWarning):
            say(f"warning: {as_typed(str(warning.message))}")
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
        "n_examples": len(data.X),
        "n_features": task.facts(model)["n_features"],
        "model": request.model,
    }
    evaluated = data if dev is None else dev
    if dev is not None or request.report:
        n_jobs = threads(estimator.n_jobs)
        found = task.answer(model, evaluated, topk=1, given=None, n_jobs=n_jobs)
        if dev is not None:
            answer["dev"] = task.measure(dev, found.best)
        if request.report:
            _write_report(task, request, estimator, evaluated, found.best)
    seconds["total"] = time.perf_counter() - began
    _tell(request, answer)
    return INTERRUPTED if estimator.certificate_.stopped == "interrupted" else 0


def _why_no_dual(estimator: Any) -> str:
    if getattr(estimator, "budget", None) is not None:
        return "the dual is that of the model without --budget, and is not kept"
    solver = type(estimator.solver_).__name__
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
    predicted: list[Any],
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
        predicted,
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


def _refuse_numbers(settings: dict[str, Any]) -> None:
    """Refuse before any file is read numbers that no estimator takes."""
    threads(settings["n_jobs"])
    for name, option, least in (
        ("max_iter", "--max-iter", 1),
        ("random_state", "--seed", 0),
    ):
        value = settings[name]
        if value is not None and value < least:
            raise ValueError(f"{option} {value}: give a whole number from {least} on")
    limit = settings["time_limit"]
    if limit is not None and not limit > 0:
        raise ValueError(f"{typed('--time-limit', limit)}: give a positive number")
    every = settings["checkpoint_every"]
    if not every > 0:
        raise ValueError(
            f"{typed('--checkpoint-every', every)}: give a positive number"
        )


def refuse_settings(
    C: float | None,
    hash_bits: int | None,
    min_count: int,
    tol: float,
    eps: float | None,
    solver: str,
    formulation: str,
    penalty: str,
    loss: str,
) -> None:
    """Refuse before any file is read what the estimator would refuse after it."""
    from partwise.features.vocabulary import check_settings
    from partwise.objective import Formulation, Objective

    if C is not None:
        Objective.create(C, 1, "l1")
    check_settings(min_count, hash_bits)
    for name, value in (("--tol", tol), ("--eps", eps)):
        if value is not None and not value > 0:
            raise ValueError(f"{typed(name, value)}: give a positive number")
    Formulation(formulation, penalty).validate()
    refuse_choice("--loss", loss, ("hinge", "log"))
    if solver != "auto":
        wanted = ("--penalty", penalty)
        if formulation == "hard":
            wanted = ("--formulation", "hard")
        if loss == "log":
            wanted = ("--loss", "log")
        _refuse_solver(solver, *wanted)


def _refuse_solver(solver: str, option: str, objective: str) -> None:
    """Refuse a solver that cannot train what another option asks for."""
    from partwise.solvers import SOLVERS, solver_class

    able = solver_class(solver).penalties
    if objective in able:
        return
    if able == ("log",):
        raise ValueError(
            f"--solver {solver} trains conditional likelihood alone; add --loss log, "
            "or leave the solver out"
        )
    others = [
        name
        for name in SOLVERS
        if objective in solver_class(name).penalties and not is_generative(name)
    ]
    raise ValueError(
        f"--solver {solver} does not go with {option} {objective}; choose "
        f"{', '.join(others)}, or leave the solver out"
    )


def is_generative(solver: str) -> bool:
    """Whether a solver only counts, for which a structure must know how."""
    from partwise.protocol import Generative
    from partwise.solvers import solver_class

    return solver != "auto" and Generative in solver_class(solver).needs


def refuse_choice(option: str, value: str, choices: Sequence[str]) -> None:
    """An error that names the nearest choice, unless `value` is one."""
    from difflib import get_close_matches

    if value in choices:
        return
    near = get_close_matches(value, choices, n=1)
    hint = f"did you mean {near[0]!r}? " if near else ""
    raise ValueError(f"{typed(option, value)}: {hint}choose from {', '.join(choices)}")


def read_templates(
    preset: str | None, path: str | None, presets: dict[str, str], parse: Any
) -> str | None:
    """Text of the templates, or None for the default ones; `parse` checks a file."""
    from partwise.features.templates import TemplateError

    if preset is not None and path is not None:
        raise ValueError("--preset and --template do not go together; drop one of them")
    if preset is not None:
        refuse_choice("--preset", preset, tuple(presets))
        return presets[preset]
    if path is None:
        return None
    from partwise.readers.source import read_text_bytes

    _, data = read_text_bytes(path)
    try:
        parse(data.decode())
    except TemplateError as error:
        raise TemplateError(f"{path}: {error}") from error
    return data.decode()
