"""The task `tag`: from column files to a certified tagger."""

from __future__ import annotations

import time
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from partwise.cli.data import Layout, find_column, read_tables, split_label
from partwise.cli.options import threads
from partwise.cli.output import certificate_lines, print_json, print_table, say

if TYPE_CHECKING:
    from partwise.readers import Table

INTERRUPTED = 130  # what shells expect after Ctrl-C: a script shall not simply go on


@dataclass
class TrainingRequest:
    """What the user wants, besides the settings of the estimator."""

    data: Sequence[str]
    model: str
    layout: Layout
    settings: dict[str, Any]
    dev: str | None
    report: str | None
    keep_dual: bool
    json: bool


def read_labelled(
    paths: Sequence[str], layout: Layout
) -> tuple[Table, list[list[str]], Layout]:
    """X, y, and the layout with its names filled in."""
    table = read_tables(paths, layout)
    label = find_column(table, layout.label, paths)
    X, y = split_label(table, label, paths)
    known = Layout(list(table.columns), label, layout.separator, layout.comment)
    return X, y, known


def measure(y: list[list[str]], y_pred: list[list[Any]]) -> dict[str, float]:
    """All metrics that these labels have."""
    from partwise.report.sequences import measure as measure_all

    return measure_all(y, [[str(label) for label in row] for row in y_pred])


def train_tagger(request: TrainingRequest) -> int:
    """Read, learn, save, evaluate, tell."""
    from partwise.cli.compiling import READING, announce_compilation
    from partwise.cli.progress import GapBar
    from partwise.model_file import refuse_unwritable

    began = time.perf_counter()
    announce_compilation(*READING, *_kernels(request.settings))
    refuse_unwritable(request.model)
    if request.report:
        refuse_unwritable(request.report)
    X, y, layout = read_labelled(request.data, request.layout)
    dev = read_labelled([request.dev], layout) if request.dev else None
    read = time.perf_counter() - began
    n_labels = len({label for row in y for label in row})
    say(f"{len(X):,} sentences, {X.n_tokens:,} tokens, {n_labels} labels")

    from partwise.estimators import SequenceTagger

    tagger = SequenceTagger(**request.settings)
    tagger.set_callbacks(GapBar(tagger.tol))
    fit_began = time.perf_counter()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        tagger.fit(X, y)
    fit = time.perf_counter() - fit_began
    for warning in caught:
        if issubclass(warning.category, UserWarning):
            say(f"warning: {warning.message}")
    if request.keep_dual and tagger.model_.support is None:
        solver = type(tagger.solver_).__name__
        say(f"warning: {solver} has no dual per sentence to keep; bcfw has")
    tagger.model_.info["reader"] = layout.to_dict()
    tagger.save(request.model, keep_dual=request.keep_dual)
    seconds = {
        "read": read,
        "features": fit - tagger.fit_seconds_,
        "solve": tagger.fit_seconds_,
    }
    predicted = None
    if dev is not None:
        predicted = tagger.model_.predict(dev[0], n_jobs=threads(tagger.n_jobs))
    answer: dict[str, Any] = {
        "certificate": tagger.certificate_.to_dict(),
        "seconds": seconds,
        "n_examples": len(X),
        "n_features": tagger.n_features_in_,
        "model": request.model,
    }
    if dev is not None and predicted is not None:
        answer["dev"] = measure(dev[1], predicted)
    if request.report:
        evaluated = (X, y) if dev is None else dev[:2]
        _write_report(request, tagger, *evaluated, predicted)
    seconds["total"] = time.perf_counter() - began
    _tell(request, answer)
    return INTERRUPTED if tagger.certificate_.stopped == "interrupted" else 0


def _kernels(settings: dict[str, Any]) -> list[str]:
    """The kernels that take longest to compile."""
    if settings["loss"] == "log":
        return ["_chain_batch.sum_rows"]
    longest = ["packed._find_rows"]
    if settings["solver"] in ("auto", "bcfw"):
        longest.append("_pool_kernels.sweep")
    return longest


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
        rows = [(name, f"{value:.4f}") for name, value in answer["dev"].items()]
        print_table((), rows)
    say(f"model written to {request.model}")
    if request.report:
        say(f"report written to {request.report}")


def _write_report(
    request: TrainingRequest,
    tagger: Any,
    X: Table,
    y: list[list[str]],
    predicted: list[list[Any]] | None,
) -> None:
    from partwise import __version__
    from partwise.report import write
    from partwise.report.sequences import sequence_report

    assert request.report is not None
    model = tagger.model_
    if predicted is None:
        predicted = model.predict(X, n_jobs=threads(tagger.n_jobs))
    facts = [
        ("Data", ", ".join(request.data)),
        ("Examples", f"{len(tagger.objective_.weight):,}"),
        ("Features", f"{tagger.n_features_in_:,}"),
        ("Labels", str(len(model.labels))),
        ("C", f"{float(tagger.objective_.weight.sum()):g}"),
        ("Solver", type(tagger.solver_).__name__),
        ("Seed", str(tagger.random_state)),
        ("Seconds", f"{tagger.fit_seconds_:.2f}"),
        ("Partwise", __version__),
    ]
    report = sequence_report(
        model,
        title=f"Tagger {Path(request.model).name}",
        caption=f"On {Path(request.dev).name}"
        if request.dev
        else "On the training data",
        facts=facts,
        certificate=tagger.certificate_.to_dict(),
        history=tagger.history_,
        tolerance=None if tagger.eps is not None else tagger.tol,
        tokens=X.strings(next(iter(X.columns))),
        y=y,
        y_pred=[[str(label) for label in row] for row in predicted],
    )
    write(report, request.report)
