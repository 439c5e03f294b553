"""`partwise train TASK`: learn a model; one command for all outputs."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from partwise.cli.data_files import refuse_overwriting
from partwise.cli.options import threads
from partwise.cli.output import (
    certificate_lines,
    in_singular,
    metric_rows,
    print_json,
    print_table,
    say,
)
from partwise.cli.report import write_report
from partwise.outputs.task import Task

INTERRUPTED = 130  # the exit code of Ctrl-C, so that a script does not go on


@dataclass
class TrainingRequest:
    """Files and switches of ``partwise train``, besides the estimator's parameters."""

    data: Sequence[str]
    model: str
    dev: str | None
    report: str | None
    keep_dual: bool
    json: bool


def train_model(task: Task, estimator: Any, request: TrainingRequest) -> int:
    """Read, learn, save, evaluate, print; a signal ends training with a model.

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
        except ImportError:  # what a compiled module makes of a signal while it loads
            if not interruption.number:
                raise
            return interruption.code
    return interruption.code or code


class Laps:
    """Seconds of the parts of a training, without compilation, and what it took."""

    def __init__(self) -> None:
        self.began = self._last = time.perf_counter()
        self._parts: dict[str, float] = {}

    def end(self, name: str) -> None:
        """A part ends here; it began where the last one ended."""
        from partwise.jit import compile_seconds

        now = time.perf_counter()
        self._parts[name] = now - self._last - compile_seconds(self._last, now)
        self._last = now

    def move(self, name: str, other: str, seconds: float) -> None:
        """Seconds of one part that are a part of their own."""
        self._parts[name] -= seconds
        self._parts[other] = seconds

    def seconds(self) -> dict[str, float]:
        """All parts, compilation and the total, which is their sum."""
        from partwise.jit import compile_seconds

        parts = self._parts | {"compile": compile_seconds(self.began, self._last)}
        return parts | {"total": self._last - self.began}


def _train(
    task: Task, estimator: Any, request: TrainingRequest, interruption: Any
) -> int:
    from partwise.cli.progress import GapBar
    from partwise.jit import announce_compilation

    laps = Laps()
    estimator.check_parameters()
    if request.keep_dual and not estimator.keeps_dual:
        raise ValueError(
            f"--keep-dual: models of {type(estimator).__name__} have no support "
            "structures, and their files the bound alone; drop it"
        )
    refuse_overwriting(
        {
            "--model": request.model,
            "--checkpoint": estimator.checkpoint,
            "--report": request.report,
        },
        [*request.data, *([request.dev] if request.dev else []), *task.more_files],
    )
    announce_compilation(say)
    data = task.read(request.data, truth=True)
    dev = task.read_dev(request.dev) if request.dev else None
    laps.end("read")
    say(in_singular(task.describe(data)))

    bar = GapBar(estimator.tol, interruption.training_begins)
    estimator.set_callbacks(bar)
    estimator.fit(data.X, data.y, **task.fit_arguments(data))
    laps.end("features")
    laps.move("features", "solve", estimator.fit_seconds_)
    model = estimator.model_
    # the α of a perceptron are no dual
    has_dual = model.support is not None and estimator.certificate_.dual is not None
    if request.keep_dual and not has_dual:
        say(f"warning: {_why_no_dual(estimator)}")
    model.info["reader"] = task.reader_info()
    options = {"keep_dual": True} if request.keep_dual and has_dual else {}
    _save(estimator, request.model, **options)
    laps.end("save")
    document: dict[str, Any] = {
        "certificate": estimator.certificate_.to_dict(),
        "seconds": {},
        "n_examples": data.n_examples,
        "n_features": task.facts(model)["n_features"],
        "model": request.model,
    }
    evaluated = data if dev is None else dev
    if dev is not None or request.report:
        n_jobs = threads(estimator.n_jobs)
        bar.on_stage(f"predicting {request.dev or 'the training data'} …")
        answers = task.answer(model, evaluated, topk=1, given=None, n_jobs=n_jobs)
        if dev is not None:
            document["dev"] = task.measure(dev, answers)
        laps.end("evaluate")
        if request.report:
            bar.on_stage("writing the report …")
            write_report(
                task,
                estimator.described_model(),
                evaluated,
                answers,
                request.report,
                name=Path(request.model).name,
                caption=f"On {Path(request.dev).name}" if request.dev else "",
                trained_on=request.data,
            )
            laps.end("report")
    document["seconds"] = laps.seconds()
    _print_results(request, document)
    return INTERRUPTED if estimator.certificate_.stopped == "interrupted" else 0


def _save(estimator: Any, path: str, **options: bool) -> None:
    """Save a model; where its place cannot be written any more, as a temporary file."""
    from partwise.model_file import ModelFileError

    try:
        estimator.save(path, **options)
    except ModelFileError as error:
        if not isinstance(error.__cause__, OSError):
            raise
        folder = Path(tempfile.mkdtemp(prefix="partwise-"))
        try:
            estimator.save(folder / Path(path).name, **options)
        except ModelFileError:
            folder.rmdir()
            raise error from None
        place = folder / Path(path).name
        raise ModelFileError(f"{error}; now it is in {place}") from error


def _why_no_dual(estimator: Any) -> str:
    if getattr(estimator, "budget", None) is not None:
        return "the dual is that of the model without --budget, and is not kept"
    solver = type(estimator.solver_).__name__
    return f"{solver} has no dual per example to keep; bcfw has"


def _print_results(request: TrainingRequest, document: dict[str, Any]) -> None:
    if request.json:
        print_json(document)
        return
    for line in certificate_lines(document["certificate"]):
        print(line)
    seconds = document["seconds"]
    times = ", ".join(f"{name} {value:.2f}" for name, value in seconds.items())
    print(f"seconds       {times}")
    print(f"features      {document['n_features']:,}")
    if "dev" in document:
        print(f"on {request.dev}")
        print_table((), metric_rows(document["dev"]))
    say(f"model written to {request.model}")
    if request.report:
        say(f"report written to {request.report}")
