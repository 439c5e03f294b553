"""`partwise demo`: what structure is worth, on data that come with the package."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from partwise.cli.options import Json

if TYPE_CHECKING:
    from partwise.report import MetricTable, Picture, Report

MODELS: dict[Literal[0, 1], str] = {0: "independent", 1: "structured"}


@dataclass
class Task:
    """A problem of the demo."""

    name: str
    about: str
    train: tuple[Any, list[list[str]]]
    test: tuple[Any, list[list[str]]]
    settings: dict[str, Any] = field(default_factory=dict)


@dataclass
class Result:
    """The result of one model on a task."""

    task: Task
    model: str
    tagger: Any
    predicted: list[list[str]]
    metrics: dict[str, float]
    seconds: float  # of the whole fit, features included


def demo(
    output: Annotated[
        str, typer.Option("--output", "-o", metavar="FILE", help="Report to write.")
    ] = "partwise-demo.html",
    seed: Annotated[int, typer.Option(metavar="N", help="Random seed.")] = 0,
    quick: Annotated[
        bool, typer.Option("--quick", metavar="", help="Less data, for a first look.")
    ] = False,
    json: Json = False,
) -> int:
    """See what structure is worth: digit strings and entities, with certificates.

    Trains a chain and independent labels on handwritten digit strings and on entities
    of a toy grammar, compares them on new data, and writes a report with pictures.

    Example: `partwise demo`
    """
    from partwise.cli.output import print_json, say
    from partwise.jit import announce_compilation
    from partwise.model_file import refuse_unwritable
    from partwise.report import write

    if seed < 0:
        raise ValueError(f"--seed {seed}: give a whole number from 0 on")
    began = time.perf_counter()
    refuse_unwritable(output)
    tasks = make_tasks(seed, quick)
    announce_compilation(say)
    compile_for(tasks)
    results = []
    for task in tasks:
        say(f"{task.name}: {task.about}")
        results += [compare(task, order, seed) for order in MODELS]
    write(make_report(results, seed), output)
    if json:
        print_json(
            {
                "results": [as_dict(result) for result in results],
                "report": output,
                "seconds": time.perf_counter() - began,
            }
        )
        return 0
    print_results(results)
    say(f"report written to {output}")
    return 0


def make_tasks(seed: int, quick: bool) -> list[Task]:
    """Digit strings and entities, each with training and test data."""
    from scipy.sparse import csr_matrix

    from partwise.datasets import digit_strings, toy_entities

    n = 200 if quick else 400

    def digits(n: int, subset: str) -> tuple[list[Any], list[list[str]]]:
        X, y = digit_strings(n, subset=subset, random_state=seed)
        # as sparse rows they run on the kernels of the words: half the compilation
        return [csr_matrix(x) for x in X], y

    return [
        Task(
            "digits",
            f"{n} strings of blurred digits; what follows 3 is often 4",
            digits(n, "train"),
            digits(200, "test"),
        ),
        Task(
            "entities",
            f"{n} sentences in which Jordan may be a person or a place",
            toy_entities(n, random_state=2 * seed),
            toy_entities(200, random_state=2 * seed + 1),
            {"templates": "word[-1..0]"},
        ),
    ]


def compile_for(tasks: Sequence[Task]) -> None:
    """Train on next to nothing, so that no model is charged for the compilation."""
    import warnings

    from partwise.outputs.sequence.estimator import SequenceTagger

    for task in tasks:
        X, y = task.train
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of course it does not converge
            tagger = SequenceTagger(max_iter=1, **task.settings).fit(X[:2], y[:2])
        tagger.predict(X[:1])


def compare(task: Task, order: Literal[0, 1], seed: int) -> Result:
    """Train on a task with transitions (order 1) or without, and measure."""
    from partwise.metrics import measure_labels
    from partwise.outputs.sequence.estimator import SequenceTagger

    tagger = SequenceTagger(order=order, random_state=seed, **task.settings)
    began = time.perf_counter()
    tagger.fit(*task.train)
    seconds = time.perf_counter() - began
    X, y = task.test
    predicted = tagger.model_.predict(X)
    metrics = measure_labels(y, predicted)
    return Result(task, MODELS[order], tagger, predicted, metrics, seconds)


def as_dict(result: Result) -> dict[str, Any]:
    """For JSON."""
    return {
        "task": result.task.name,
        "model": result.model,
        "metrics": result.metrics,
        "certificate": result.tagger.certificate_.to_dict(),
        "n_train": len(result.task.train[1]),
        "n_test": len(result.task.test[1]),
        "seconds": result.seconds,
    }


def figures(result: Result) -> dict[str, float | None]:
    """The figures of a result in tables."""
    certificate = result.tagger.certificate_
    gap = certificate.relative_gap
    return {
        "token accuracy": result.metrics["token_accuracy"],
        "exact match": result.metrics["exact_match"],
        "span F1": result.metrics.get("span_f1"),
        "primal": certificate.primal,
        "dual": certificate.dual,
        "gap %": None if gap is None else 100 * gap,
        "seconds": result.seconds,
    }


FORMATS = {"primal": ".5g", "dual": ".5g", "gap %": ".2g", "seconds": ".2f"}


def print_results(results: Sequence[Result]) -> None:
    """A table, and how to read it."""
    from rich.console import Console
    from rich.table import Table

    table = Table(box=None, padding=(0, 2, 0, 0), pad_edge=False)
    for name in ("task", "model"):
        table.add_column(name, no_wrap=True)
    for name in figures(results[0]):
        title = name.replace(" ", "\n") if " " in name[4:] else name
        table.add_column(title, justify="right", no_wrap=True)
    for result in results:
        cells = [
            "–" if value is None else format(value, FORMATS.get(name, ".3f"))
            for name, value in figures(result).items()
        ]
        style = "bold" if result.model == "structured" else None
        table.add_row(result.task.name, result.model, *cells, style=style)
    console = Console(highlight=False)
    console.print()
    console.print(table)
    console.print(
        "\nMeasured on new data. The optimum of each training problem lies between "
        "dual and primal: no other weights could do better by more than the gap."
    )


# ------------------------------------------------------------------------ report


def make_report(results: Sequence[Result], seed: int) -> Report:
    """The digits in full, beside them the table, the entities' features and errors."""
    from partwise import __version__

    by_task: dict[str, list[Result]] = {}
    for result in results:
        by_task.setdefault(result.task.name, []).append(result)
    independent, digits = by_task["digits"]
    report = _report_of(digits)
    entities = _report_of(by_task["entities"][1])
    report.title = "What structure is worth"
    report.subtitle = (
        "Handwritten digit strings and named entities, read by a chain whose labels "
        "look at each other and by labels that do not. Certificate, convergence and "
        "confusion are those of the chain for digits."
    )
    report.metrics = [*map(_comparison, by_task.values()), report.metrics[-1]]
    report.metrics[-1].caption = "Digits by label"
    report.features = entities.features
    for group in report.features:
        group.name = f"entities: {group.name}"
    report.errors = entities.errors[:5]
    for error in report.errors:
        error.note = f"entities, {error.note}"
    report.pictures_title = "Digit strings"
    report.pictures_note = (
        "New strings as both models read them: those that the chain repairs most, and "
        "its worst one. At the end, what it learned about neighbours."
    )
    report.pictures = [*_strings(independent, digits), _transitions(digits.tagger)]
    report.facts = [
        *((name.capitalize(), by_task[name][0].task.about) for name in by_task),
        ("Test examples", f"{len(digits.task.test[1])} each, of other hands and seeds"),
        ("Solver", type(digits.tagger.solver_).__name__),
        ("Tolerance", f"{digits.tagger.tol:g}"),
        ("Seed", str(seed)),
        ("Partwise", __version__),
    ]
    return report


def _comparison(results: Sequence[Result]) -> MetricTable:
    """The models of one task, line by line."""
    from partwise.report import MetricTable

    names = [name for name, value in figures(results[0]).items() if value is not None]
    rows = [[r.model, *(figures(r)[name] for name in names)] for r in results]
    title = f"{results[0].task.name.capitalize()}, on new data"
    return MetricTable(title, {}, ("model", *names), rows)


def _report_of(result: Result) -> Report:
    from partwise.outputs.listings import telling_features
    from partwise.outputs.sequence.report import sequence_sections
    from partwise.readers.tokens import show_tokens
    from partwise.report import Report

    X, y = result.task.test
    tagger, tokens = result.tagger, [show_tokens(X, row) for row in range(len(y))]
    return Report(
        result.task.name,
        certificate=tagger.certificate_,
        history=tagger.history_,
        tolerance=tagger.tol,
        features=telling_features(tagger.model_, 5),
        **sequence_sections(tagger.model_, tokens, y, result.predicted),
    )


def _strings(independent: Result, structured: Result, n: int = 4) -> list[Picture]:
    """Strings that the chain repairs most, and one that it gets wrong."""
    from partwise.datasets import digit_images
    from partwise.report import Picture, draw_digits

    X, y = structured.task.test

    def wrong(result: Result, row: int) -> int:
        pairs = zip(y[row], result.predicted[row], strict=True)
        return sum(a != b for a, b in pairs)

    rows = range(len(y))
    repaired = sorted(rows, key=lambda i: wrong(structured, i) - wrong(independent, i))
    worst = max(rows, key=lambda i: wrong(structured, i))
    pictures = []
    for row in dict.fromkeys([*repaired[:n], worst]):
        images = digit_images(X[row].toarray())
        for result in (independent, structured):
            drawing = draw_digits(images, y[row], result.predicted[row])
            words = f"String {row}, {result.model} labels: {wrong(result, row)} wrong"
            pictures.append(Picture(words, drawing))
    return pictures


def _transitions(tagger: Any) -> Picture:
    """Weights of the transitions as squares: ink for, a hollow square against."""
    from partwise.report import Picture, svg

    weights, labels = tagger.transitions_, tagger.classes_
    most = abs(weights).max() or 1.0
    size, left = 26, 34
    shapes = []
    for k, label in enumerate(labels):
        middle = left + k * size + size / 2
        shapes.append(svg.text(middle, left - 10, str(label), "right", "middle"))
        shapes.append(svg.text(left - 12, middle + 4, str(label), "right", "end"))
        for j in range(len(labels)):
            side = (size - 4) * abs(float(weights[k, j]) / most) ** 0.5
            corner = {"x": left + j * size + (size - side) / 2,
                      "y": left + k * size + (size - side) / 2}  # fmt: skip
            ink = "currentColor" if weights[k, j] > 0 else "none"
            square = {"width": side, "height": side, "fill": ink, "rx": 2}
            border = {"stroke": "currentColor", "stroke-opacity": ".35"}
            shapes.append(svg.element("rect", {**corner, **square, **border}))
    width = left + len(labels) * size + 6
    words = (
        "Transitions the chain learned: from the digit at the left to the one above. "
        "Filled squares are likely steps (one up, three up), hollow ones unlikely"
    )
    drawing = svg.drawing(width, width, words, shapes, css="digits", standalone=True)
    return Picture(words, drawing)
