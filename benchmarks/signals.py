"""Signals at random moments of a training: the model so far, or nothing, never half.

    python benchmarks/signals.py [--signals 100] [--seed 0]

Trains a tagger by the command line in a process of its own, and sends it SIGINT,
SIGTERM or SIGHUP, up to three in a row, at a random moment between the start of Python
and the end of the run. Afterwards there must be a model that loads and predicts, or
none; no other file; no traceback of the package (Python's own start has one); and an
exit code that tells the signal. Once training has begun there must be a model. Prints
what was counted and every failure; exits with 1 on one.
"""

import argparse
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

import numpy as np

from partwise.datasets import toy_entities
from partwise.model_file import load_model
from partwise.readers import Table, write_columns

SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
SECONDS = 3.0  # of training
STOPPED = ("interrupted", "time limit")


def listen():
    """Undo what nohup, or a shell in the background, has processes ignore."""
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGHUP, signal.SIG_DFL)


def start(train, folder):
    """A training process that writes its messages into a file."""
    command = [
        sys.executable, "-m", "partwise", "train", "tag", train,
        "--model", folder / "model", "--C", "1e6", "--tol", "1e-15",
        "--max-iter", "10000000", "--time-limit", SECONDS,
    ]  # fmt: skip
    with open(folder.with_suffix(".txt"), "wb") as messages:
        return subprocess.Popen(
            list(map(str, command)), stdout=messages, stderr=messages, preexec_fn=listen
        )


def faults_of(code, number, folder, messages, X):
    """What is wrong after a run that was sent a signal; `number` is the last one."""
    has_traceback = "Traceback" in messages and "partwise" in messages
    if has_traceback or "please report" in messages:
        yield "a traceback"
    files = sorted(path.name for path in folder.iterdir())
    if files not in ([], ["model"]):
        yield f"files {files}"
    # negative, or 1 by an interrupted start of Python: before ours was loaded
    is_early = not messages or "partwise" not in messages
    if code not in (0, 128 + number, -number) and not (code == 1 and is_early):
        yield f"exit code {code} after signal {number}"
    if not files:
        if "iteration 1" in messages:
            yield "no model, although training had begun"
        if code == 0:
            yield "exit code 0 without a model"
        return
    model = load_model(folder / "model")
    if model.info["certificate"]["stopped"] not in STOPPED:
        yield f"stopped by {model.info['certificate']['stopped']}"
    sizes = np.diff(X.offset).tolist()
    if [len(labels) for labels in model.predict(X)] != sizes:
        yield "another number of labels"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--signals", type=int, default=100, help="runs with signals")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    rng, counts, n_failures = np.random.default_rng(options.seed), Counter(), 0
    with tempfile.TemporaryDirectory() as place:
        train = Path(place) / "train.txt"
        X, y = toy_entities(300, random_state=0)
        table = Table.from_sequences(X)
        write_columns(train, table, y)
        for k in range(-2, options.signals):  # the first compiles, the second is timed
            folder = Path(place) / f"run{k}"
            folder.mkdir()
            began = time.perf_counter()
            process = start(train, folder)
            if k < 0:
                process.wait()
                whole = time.perf_counter() - began
                continue
            moment = float(rng.uniform(0.0, 1.05 * whole))
            number = SIGNALS[rng.integers(len(SIGNALS))]
            time.sleep(moment)
            for _ in range(rng.integers(1, 4)):
                process.send_signal(number)
                time.sleep(float(rng.uniform(0.0, 0.05)))
            try:
                code = process.wait(timeout=60)
            except subprocess.TimeoutExpired:
                process.kill()
                code = process.wait()
            messages = folder.with_suffix(".txt").read_text(errors="replace")
            kind = "with" if (folder / "model").exists() else "without"
            counts[f"exit code {code} {kind} model"] += 1
            faults = list(faults_of(code, int(number), folder, messages, table[:5]))
            n_failures += bool(faults)
            if faults:
                where = f"run {k}, {number.name} at {moment:.3f} of {whole:.3f} s"
                print(f"{where}: {'; '.join(faults)}\n{messages[-3000:]}", flush=True)
            if (k + 1) % 20 == 0 or k + 1 == options.signals:
                told = ", ".join(f"{outcome}: {n}" for outcome, n in counts.items())
                print(f"{k + 1} runs with signals, {n_failures} failures", flush=True)
                print(f"  {told}", flush=True)
    return 1 if n_failures else 0


if __name__ == "__main__":
    sys.exit(main())
