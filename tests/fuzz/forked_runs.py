"""Mutants of model files, judged in forked processes.

A segmentation fault, a hang or too much memory of one of them is seen and counted, and
the others go on. Each mutant has a number, by which it can be made again.
"""

from __future__ import annotations

import contextlib
import json
import os
import random
import resource
import selectors
import signal
import sys
import time
import traceback
from collections import Counter
from pathlib import Path
from typing import Any, NamedTuple

from model_subjects import Misbehaviour, Subject

from partwise.checkpoint import CheckpointError
from partwise.model_file import ModelFileError

BATCH = 250  # mutants of one process
PATIENCE = 50  # how much longer than its processor time a mutant may wait
MEGABYTE = 1 << 20


class Limits(NamedTuple):
    """What one mutant may take."""

    seconds: int  # of the processor; waiting for other processes is no hang
    megabytes: int


class Worker(NamedTuple):
    """A forked process, and what it is at."""

    pid: int
    pipe: Any
    last: int  # the mutant after those it was given
    state: dict[str, Any]  # "at": mutant; "since": when it began; "rest": of a line


def judge(path: Path, subject: Subject, number: int, *, quiet: bool = True) -> str:
    """The outcome of one mutant: refused, used, or what went wrong."""
    rng = random.Random(number)
    _, content = subject.mutate(subject.content, rng)
    path.write_bytes(content)
    try:
        try:
            model = subject.load(path)
        except (ModelFileError, CheckpointError) as error:
            text = str(error)
            if "\n" in text or len(text) > len(str(path)) + 700:
                raise Misbehaviour("a refusal that is no sentence") from error
            return "refused"
        subject.use(path, model, rng)
    except Misbehaviour as error:
        return f"FAILED {error}"
    except BaseException as error:
        if not quiet:
            traceback.print_exc()
        frames = traceback.extract_tb(error.__traceback__)
        own = [f for f in frames if "partwise" in Path(f.filename).parts] or frames
        place = f"{Path(own[-1].filename).name}:{own[-1].lineno}"
        return f"FAILED {type(error).__name__} at {place}: {str(error)[:80]!r}"
    return "used"


def work(
    subjects: list[Subject], numbers: range, folder: Path, limits: Limits, out: int
) -> None:
    """Judge mutants and write a line before and after each; in a forked process."""
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    room = pages * resource.getpagesize() + 4 * limits.megabytes * MEGABYTE
    resource.setrlimit(resource.RLIMIT_AS, (room, room))
    before = _peak_megabytes()
    path = folder / f"mutant-{os.getpid()}.model"

    def tell(**values: Any) -> None:
        os.write(out, json.dumps(values).encode() + b"\n")

    for number in numbers:
        tell(begins=number)
        end = int(time.process_time()) + limits.seconds + 1
        resource.setrlimit(resource.RLIMIT_CPU, (end, resource.RLIM_INFINITY))
        subject = subjects[number % len(subjects)]
        outcome = judge(path, subject, number)
        grown = _peak_megabytes() - before
        is_heavy = grown > limits.megabytes
        if is_heavy:
            outcome = f"FAILED {grown} MB"
        tell(ends=number, outcome=outcome)
        if is_heavy:  # the peak says nothing about the mutants that follow
            break
    with contextlib.suppress(OSError):
        path.unlink()
        path.with_suffix(".again").unlink()


def _peak_megabytes() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10


class Fuzzer:
    """Keeps workers busy, notices their deaths, counts outcomes."""

    def __init__(
        self, subjects: list[Subject], folder: Path, limits: Limits, jobs: int
    ) -> None:
        self.subjects, self.folder, self.limits, self.jobs = (
            subjects, folder, limits, jobs,
        )  # fmt: skip
        self.counts: Counter[str] = Counter()
        self.failures: list[tuple[int, str]] = []
        self.workers: dict[int, Worker] = {}
        self.selector = selectors.DefaultSelector()

    def run(self, first: int, last: int) -> None:
        """All mutants with these numbers."""
        left = [
            range(begin, min(begin + BATCH, last))
            for begin in range(first, last, BATCH)
        ][::-1]
        while left or self.workers:
            while left and len(self.workers) < self.jobs:
                self._start(left.pop())
            for key, _ in self.selector.select(timeout=1.0):
                rest = self._read(self.workers[key.data])
                if rest:
                    left.append(rest)
            for worker in list(self.workers.values()):
                waited = time.monotonic() - worker.state["since"]
                if waited > PATIENCE * self.limits.seconds:
                    os.kill(worker.pid, signal.SIGKILL)  # its pipe ends, and is read

    def _start(self, numbers: range) -> None:
        reading, writing = os.pipe()
        sys.stdout.flush()
        pid = os.fork()
        if pid == 0:
            os.close(reading)
            nothing = os.open(os.devnull, os.O_RDWR)
            for stream in (1, 2):
                os.dup2(nothing, stream)
            try:
                work(self.subjects, numbers, self.folder, self.limits, writing)
            finally:
                os._exit(0)
        os.close(writing)
        state = {"at": None, "next": numbers[0], "since": time.monotonic(), "rest": b""}
        self.workers[pid] = Worker(pid, reading, numbers[-1] + 1, state)
        self.selector.register(reading, selectors.EVENT_READ, pid)

    def _read(self, worker: Worker) -> range | None:
        """Take in what a worker says; the mutants it left behind when it has ended."""
        state = worker.state
        data = os.read(worker.pipe, 1 << 16)
        *lines, state["rest"] = (state["rest"] + data).split(b"\n")
        for line in lines:
            document = json.loads(line)
            state["since"] = time.monotonic()
            if "begins" in document:
                state["at"] = document["begins"]
            else:
                self._count(document["ends"], document["outcome"])
                state["at"], state["next"] = None, document["ends"] + 1
        if data:
            return None
        self.selector.unregister(worker.pipe)
        os.close(worker.pipe)
        _, status = os.waitpid(worker.pid, 0)
        del self.workers[worker.pid]
        if state["at"] is not None:
            number = os.WTERMSIG(status)
            what = signal.Signals(number).name if number else "no outcome"
            if what in ("SIGXCPU", "SIGKILL"):
                what = f"more than {self.limits.seconds} s"
            self._count(state["at"], f"FAILED {what}")
            state["next"] = state["at"] + 1
        rest = range(state["next"], worker.last)
        return rest if len(rest) else None

    def _count(self, number: int, outcome: str) -> None:
        subject = self.subjects[number % len(self.subjects)]
        self.counts[outcome.split()[0]] += 1
        if self.counts.total() % 5000 == 0:
            print(f"{self.counts.total()} mutants", flush=True)
        if outcome.startswith("FAILED"):
            self.failures.append((number, f"{subject.name}: {outcome[7:]}"))


def warm(subjects: list[Subject], folder: Path) -> None:
    """Use each model, so that what compiles now is not compiled in every worker."""
    for subject in subjects:
        path = folder / "warm.model"
        path.write_bytes(subject.content)
        for seed in range(8):
            subject.use(path, subject.load(path), random.Random(seed))
