"""Runs that are killed and go on: the same bits, and what checkpoints cost.

    python benchmarks/checkpoints.py [--runs 50] [--seed 0]

Trains a tagger in a process of its own with a checkpoint every tenth of a second, kills
it (SIGKILL) at random moments until a run reaches its end, and compares the weights and
the certificate with those of a run that was never killed. Exits with 1 on a difference.
"""

import argparse
import os
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

PROGRAM = """
import sys
import warnings
from partwise import SequenceTagger
from partwise.datasets import toy_entities

warnings.simplefilter("ignore")
X, y = toy_entities(1500, random_state=0)
place, every, out = sys.argv[1], float(sys.argv[2]), sys.argv[3]
tagger = SequenceTagger(
    C=3000.0, tol=1e-5, solver=sys.argv[4], max_iter=400,
    checkpoint=place or None, checkpoint_every=every,
)
print("begin", flush=True)
tagger.fit(X, y)
print(tagger.fit_seconds_)
tagger.save(out)
"""


def start(place, every, out, solver):
    """A training process that has said that it begins."""
    command = [sys.executable, "-c", PROGRAM, str(place), str(every), str(out), solver]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    process.stdout.readline()
    return process


def result(path):
    """Weights and bounds of a model file."""
    from partwise.model_file import load_model

    model = load_model(path)
    known = model.info["certificate"]
    return model.weights, (known["primal"], known["dual"], known["oracle_calls"])


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=50)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--solver", default="bcfw")
    options = parser.parse_args()
    rng = np.random.default_rng(options.seed)
    with tempfile.TemporaryDirectory() as folder:
        place, out = Path(folder) / "run.checkpoint", Path(folder) / "model"
        for _ in range(2):  # the first one compiles
            seconds = float(start("", 60, out, options.solver).communicate()[0])
        weights, bounds = result(out)
        kept = float(start(place, 60, out, options.solver).communicate()[0])
        print(f"{seconds:.2f} s without, {kept:.2f} s with a checkpoint per minute")
        n_kills = n_wrong = 0
        for run in range(options.runs):
            out.unlink()
            while True:
                process = start(place, 0.1, out, options.solver)
                time.sleep(rng.uniform(0.2, 1.2) * seconds)
                if process.poll() is not None:
                    break
                os.kill(process.pid, signal.SIGKILL)
                process.wait()
                n_kills += 1
                if out.exists():
                    break
            found, known = result(out)
            if found.tobytes() != weights.tobytes() or known != bounds:
                n_wrong += 1
                print(f"run {run}: {known} where {bounds} is right")
            if place.exists():
                n_wrong += 1
                print(f"run {run}: its checkpoint was left behind")
                place.unlink()
            if (run + 1) % 10 == 0 or run + 1 == options.runs:
                counts = f"{n_kills} kills, {n_wrong} differences"
                print(f"{run + 1} runs, {counts}", flush=True)
    return 1 if n_wrong else 0


if __name__ == "__main__":
    sys.exit(main())
