"""Fill the cache of compiled code: what ``partwise compile`` does.

Each output of the registry is a few jobs: its estimator is fitted on its toy data with
all solvers, then with other settings. The first job compiles the sweeps of all solvers,
which serve every structure; the others, the kernels of their own data layout. So no two
processes compile the same function.
"""

from __future__ import annotations

import tempfile
import time
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import FIRST_COMPLETED, ProcessPoolExecutor, wait
from contextlib import suppress
from difflib import get_close_matches
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from scipy.sparse import csr_matrix

from partwise import compile_ahead
from partwise.outputs.registry import OUTPUTS, Output
from partwise.protocol import CapabilityError

SOLVERS = (
    "bcfw", "n_slack", "one_slack", "bundle", "perceptron", "mira", "pegasos", "hmm",
)  # fmt: skip


class Compiled(NamedTuple):
    """The cost of a job."""

    job: str
    functions: int
    seconds: float  # of the processor, inside the compiler
    slowest: list[tuple[float, str]]  # seconds without callees, function


def fit_output(output: Output, settings: Mapping[str, Any] | None = None) -> None:
    """An output on its toy data, and what predicts.

    Parameters
    ----------
    output : Output
    settings : mapping, optional
        Of a variant; by default the estimator's own, with all solvers.
    """
    kind = getattr(output.module("estimator"), output.estimator)
    X, y = output.make_toy(12)
    inputs = [X]
    if isinstance(X, np.ndarray):
        inputs.append(csr_matrix(X))
    elif isinstance(X[0], np.ndarray) and X[0].ndim == 2:
        inputs.append([csr_matrix(x) for x in X])
    needs = {"max_iter": 2, **output.toy_settings}
    for data in inputs:
        for solver in () if settings else SOLVERS:
            with suppress(ValueError):  # not for this output
                kind(**needs, solver=solver).fit(data, y)
        estimator = kind(**needs | dict(settings or {})).fit(data, y)
        estimator.predict(data)
        for name in ("predict_topk", "predict_marginals"):
            with suppress(AttributeError, CapabilityError):
                getattr(estimator, name)(X, *([2] if "topk" in name else []))
        one = data[0] if isinstance(data, list) else data[:1]
        estimator.explain(one)


def dense_chain() -> None:
    """Chains over pixels: dense rows."""
    from partwise.datasets import digit_strings
    from partwise.outputs.sequence.estimator import SequenceTagger

    X, y = digit_strings(12)
    for solver in SOLVERS:
        SequenceTagger(solver=solver, max_iter=2).fit(X, y)
    tagger = SequenceTagger(loss="log", max_iter=2).fit(X, y)
    tagger.predict(X)
    tagger.predict_topk(X, 2)
    tagger.predict_marginals(X)
    tagger.explain(X[0])


def selection() -> None:
    """Sets of parts with a compiled decoder, and Python structures beside it."""
    from numba import njit

    from partwise.outputs.custom.estimator import StructuredSVM
    from partwise.structures.parts import PartSelection

    @njit
    def best_part(scores, shape, selected):  # type: ignore[no-untyped-def]
        selected[np.argmax(scores)] = 1

    matrices: list[Callable[..., Any]] = [np.asarray, csr_matrix]
    for matrix in matrices:
        X = [(matrix(np.eye(3)), [3]), (matrix(np.ones((2, 3))), [2])]
        svm = StructuredSVM(PartSelection(decoder=best_part), max_iter=2)
        svm.fit(X, [[0], [1]]).predict(X)


def columns() -> None:
    """Column files, treebanks, templates and dicts."""
    from partwise.features import make_featurizer
    from partwise.readers import read_columns, read_conllu

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "words.txt"
        path.write_text("a DT O\nb NN B-X\n\nc NN O\n", encoding="utf-8")
        X, _ = read_columns(path)
        path.write_text("\t".join("1 a _ _ _ _ 0 root _ _".split()), encoding="utf-8")
        read_conllu(path)
    dicts = [[{"word": word} for word in row] for row in X.strings("word")]
    inputs: list[tuple[Any, Any]] = [(X, "word[-1..1]|pos"), (dicts, None)]
    for data, templates in inputs:
        for hash_bits in (None, 8):
            featurizer: Any = make_featurizer(data, templates, 1, hash_bits)
            featurizer.fit_transform(data)


def kernels() -> None:
    """Gram matrices of strings, trees and rows, in both precisions."""
    from partwise.kernels import Nystroem, RandomFourier, gram

    tree = ("S", (("N", ("a",)), ("V", ("b",))))
    inputs: list[tuple[str, Any]] = [
        ("ngram:n=3", ["ab", "a"]),
        ("exact_ngram:n=1", ["ab", "a"]),
        ("tree", [tree, tree]),
        ("linear", np.eye(2)),
        ("linear", csr_matrix(np.eye(2))),
    ]
    for kernel, X in inputs:
        for dtype in (np.float64, np.float32):
            gram(kernel, X, dtype=dtype)
        Nystroem(kernel).fit_transform(X)
    RandomFourier(n_components=2).fit_transform(csr_matrix(np.eye(2)))


class Job(NamedTuple):
    """Something to compile."""

    run: Callable[[], None]
    tasks: tuple[str, ...] = ()  # of ``partwise train`` that need it
    after: str = ""  # the job that compiles what both need


def jobs() -> dict[str, Job]:
    """All jobs by name: outputs in the order of the registry, then the rest."""
    made: dict[str, Job] = {}
    first = ""
    for output in OUTPUTS:
        if not output.toy:
            continue
        name = output.estimator
        tasks = () if output.task is None else output.task[:1]
        made[name] = Job(partial(fit_output, output), tasks, first)
        first = first or name  # its sweeps serve all
        for variant in output.variants:
            settings = ", ".join(f"{key}={value}" for key, value in variant.items())
            run = partial(fit_output, output, variant)
            made[f"{name}, {settings}"] = Job(run, tasks, name)
    return made | {
        "kernels": Job(kernels),
        "columns": Job(columns, ("tag", "depparse")),
        "dense_chain": Job(dense_chain, ("tag",), first),
        "selection": Job(selection, (), first),
    }


def jobs_of(tasks: Iterable[str]) -> list[str]:
    """Names of the jobs that tasks need; all without any."""
    wanted = set(tasks)
    known = sorted({name for job in jobs().values() for name in job.tasks})
    for task in wanted.difference(known):
        near = get_close_matches(task, known, n=1)
        hint = f"did you mean {near[0]!r}? Choose" if near else "choose"
        raise ValueError(f"unknown task {task!r}; {hint} from {', '.join(known)}")
    return [n for n, job in jobs().items() if not wanted or wanted & set(job.tasks)]


def run_job(name: str) -> Compiled:
    """Run one job in this process under the compiler's clock."""
    from numba.core import event

    class Clock(event.Listener):
        """Processor seconds per function, without those of its callees."""

        def __init__(self) -> None:
            self.open: list[tuple[float, list[float]]] = []
            self.functions: list[tuple[float, str]] = []

        def on_start(self, event: Any) -> None:
            self.open.append((time.process_time(), []))

        def on_end(self, event: Any) -> None:
            began, inner = self.open.pop()
            total = time.process_time() - began
            function = event.data["dispatcher"].py_func
            own_seconds = total - sum(inner)
            self.functions.append(
                (own_seconds, f"{function.__module__}.{function.__qualname__}")
            )
            if self.open:
                self.open[-1][1].append(total)

    clock = Clock()
    warnings.simplefilter("ignore")  # a few iterations converge nowhere
    with event.install_listener("numba:compile", clock):
        jobs()[name].run()
    seconds = sum(own_seconds for own_seconds, _ in clock.functions)
    slowest = sorted(clock.functions, reverse=True)[:3]
    return Compiled(name, len(clock.functions), seconds, slowest)


def compile_jobs(names: list[str], n_processes: int) -> Iterator[Compiled]:
    """Run jobs in processes of their own, and tell of each when it is done."""
    for solver in compile_ahead.SOLVERS:
        compile_ahead.claim(solver)  # no fit needs to begin with them any more
    after = {name: jobs()[name].after for name in names}
    waiting, done = list(names), set()
    with ProcessPoolExecutor(n_processes, get_context("spawn")) as pool:
        running: set[Any] = set()
        try:
            while waiting or running:
                ready = [
                    n for n in waiting if after[n] in done or after[n] not in names
                ]
                waiting = [name for name in waiting if name not in ready]
                running |= {pool.submit(run_job, name) for name in ready}
                ended, running = wait(running, return_when=FIRST_COMPLETED)
                for future in ended:
                    compiled = future.result()
                    done.add(compiled.job)
                    yield compiled
        finally:
            pool.shutdown(cancel_futures=True)
