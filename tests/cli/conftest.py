import json
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import pytest

from partwise.cli import main
from partwise.datasets import toy_entities
from partwise.readers import Table, write_columns


class Finished(NamedTuple):
    code: int
    out: str
    err: str

    @property
    def json(self) -> dict:
        """Standard output as the one JSON object that it must be."""

        def refuse(constant):
            raise AssertionError(f"{constant} is not JSON")

        return json.loads(self.out, parse_constant=refuse)


def partwise_process(*arguments) -> Finished:
    command = [sys.executable, "-m", "partwise", *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, encoding="utf-8", check=False)
    return Finished(done.returncode, done.stdout, done.stderr)


@pytest.fixture(scope="session")
def process():
    """The command line in a process of its own."""
    return partwise_process


@pytest.fixture
def run(capfd):
    """The command line in this process, which spares two seconds of imports."""

    def run_here(*arguments) -> Finished:
        capfd.readouterr()
        code = main([str(argument) for argument in arguments])
        return Finished(code, *capfd.readouterr())

    return run_here


@pytest.fixture(scope="session")
def toys(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("toys")
    for name, n, seed in (("train", 60, 0), ("dev", 20, 1), ("ten", 10, 2)):
        X, y = toy_entities(n, random_state=seed)
        write_columns(folder / f"{name}.txt", Table.from_sequences(X), y)
    X, _ = toy_entities(10, random_state=2)
    write_columns(folder / "unlabelled.txt", Table.from_sequences(X))
    return folder


@pytest.fixture(scope="session")
def trained(toys) -> Finished:
    return partwise_process(
        "train", "tag", toys / "train.txt", "--model", toys / "toy.model",
        "--tol", "0.01", "--preset", "window", "--dev", toys / "dev.txt",
        "--report", toys / "toy.html", "--keep-dual", "--json",
    )  # fmt: skip


@pytest.fixture(scope="session")
def model(trained, toys) -> Path:
    assert trained.code == 0, trained.err
    return toys / "toy.model"
