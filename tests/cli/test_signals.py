"""Signals, a closed terminal and full disks: training goes on, or saves its model."""

import contextlib
import os
import signal
import subprocess
import sys
import threading
import time

import pytest

from partwise.cli import main, train
from partwise.model_file import load_model
from partwise.objective import Objective
from partwise.protocol import is_solving
from partwise.solvers.bcfw import BCFW
from partwise.testing.toys import toy_classes


def start(toys, path, **streams):
    command = [
        sys.executable, "-m", "partwise", "train", "tag", toys / "train.txt",
        "--model", path, "--tol", "1e-15", "--max-iter", "10000000", "--C", "1e6",
    ]  # fmt: skip
    settings = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE} | streams
    settings["preexec_fn"] = listen
    return subprocess.Popen(list(map(str, command)), **settings)


def listen():
    """Undo what nohup, or a shell in the background, has the tests ignore."""
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGHUP, signal.SIG_DFL)


@pytest.mark.parametrize(
    "numbers",
    [[signal.SIGTERM], [signal.SIGHUP], [signal.SIGINT] * 3],
    ids=["term", "hup", "ctrl-c three times"],
)
def test_a_signal_saves_the_model(toys, tmp_path, numbers):
    path = tmp_path / "m"
    process = start(toys, path)
    lines = (line for line in process.stderr if line.startswith(b"iteration"))
    next(lines), next(lines)  # the first iteration, and one some time later
    for number in numbers:
        process.send_signal(number)
        time.sleep(0.002)
    process.communicate(timeout=60)
    assert process.returncode == 128 + numbers[-1]
    assert load_model(path).info["certificate"]["stopped"] == "interrupted"
    assert os.listdir(tmp_path) == ["m"]


def test_nobody_listens(toys, tmp_path):
    path = tmp_path / "m"
    command = [sys.executable, "-m", "partwise", "train", "tag", toys / "train.txt"]
    command += ["--model", path, "--max-iter", "3"]
    text = " ".join(f"'{word}'" for word in command)
    done = subprocess.run(["sh", "-c", f"{text} >/dev/full 2>&-"], check=False)
    assert done.returncode == 1
    assert load_model(path)


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="no full device here")
def test_a_model_without_room_is_kept_among_temporary_files(toys, tmp_path):
    done = subprocess.run(
        [sys.executable, "-m", "partwise", "train", "tag", toys / "train.txt",
         "--model", "/dev/full", "--max-iter", "3"],
        env={**os.environ, "TMPDIR": str(tmp_path)}, capture_output=True, text=True,
    )  # fmt: skip
    assert done.returncode == 2
    (subset,) = tmp_path.glob("partwise-*/full")
    message = " ".join(done.stderr.split())
    assert "No space left on device); choose another place" in message
    assert message.endswith(f"now it is in {subset}")
    assert load_model(subset)


def test_loops_of_solvers_tell_whether_they_answer_signals():
    structure, X, y = toy_classes()
    problem, seen = structure.pack(X, y), []
    objective = Objective.create(1.0, problem.n_blocks, "l1")

    def look(state):
        seen.append(is_solving())
        thread = threading.Thread(target=lambda: seen.append(is_solving()))
        thread.start()
        thread.join()

    BCFW(max_iter=1).solve(problem, objective, callback=look)
    # a run at its limit no longer answers, and other threads never did
    assert seen == [False, False] and not is_solving()
    seen.clear()
    BCFW(max_iter=2, tol=1e-12).solve(problem, objective, callback=look)
    assert seen == [True, False, False, False] and not is_solving()

    def fail(state):
        raise RuntimeError

    with pytest.raises(RuntimeError):
        BCFW(max_iter=2, tol=1e-12).solve(problem, objective, callback=fail)
    assert not is_solving()


def test_ctrl_c_while_modules_load_prints_nothing(monkeypatch, capsys):
    class Loading:
        def __getattr__(self, name):
            raise KeyboardInterrupt

    monkeypatch.setitem(sys.modules, "partwise.cli.app", Loading())
    assert main(["--version"]) == 130
    assert capsys.readouterr() == ("", "")


def test_an_import_that_a_signal_breaks_is_an_interruption(monkeypatch):
    def fail(*_):
        raise ImportError("a module is missing")

    def broken(task, estimator, request, interruption):
        with contextlib.suppress(KeyboardInterrupt):
            signal.raise_signal(signal.SIGTERM)
        raise ImportError("a compiled module failed to import")

    monkeypatch.setattr(train, "_train", broken)
    assert train.train_model(None, None, None) == 128 + signal.SIGTERM
    monkeypatch.setattr(train, "_train", fail)
    with pytest.raises(ImportError, match="missing"):
        train.train_model(None, None, None)
