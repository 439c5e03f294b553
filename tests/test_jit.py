"""The cache of compiled code: keyed by content, and never in the way."""

import gc
import os
import re
import shutil
import subprocess
import sys
import time
import warnings
from pathlib import Path

import numba
import pytest
from numba.core import event

from partwise import jit

# compiles one small function, and tells what is kept and what it gives
PROGRAM = """
import numpy as np
from partwise import threads
from partwise.jit import cache_folder
print(threads.dot(1, np.arange(3.0), np.ones(3)), cache_folder())
"""


def run(**environment):
    return subprocess.run(
        [sys.executable, "-c", PROGRAM],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, **environment},
    )


@pytest.fixture
def package(tmp_path, monkeypatch):
    """A package of two files, of which one is compiled."""
    (tmp_path / "one.py").write_text("from partwise.compiled import kernel\n")
    (tmp_path / "two.py").write_text("import json\n")
    monkeypatch.setattr(jit, "PACKAGE", tmp_path)
    return tmp_path


def test_the_key_follows_the_content_of_compiled_files(package):
    key = jit.kernel_key.__wrapped__
    before = key()
    (package / "two.py").write_text("import json  # edited\n")
    assert key() == before
    os.utime(package / "one.py", (0, 0))
    assert key() == before
    (package / "one.py").write_text("from partwise.compiled import kernel  # edited\n")
    assert key() != before


def test_the_key_does_not_depend_on_the_place(package, tmp_path_factory, monkeypatch):
    before = jit.kernel_key.__wrapped__()
    other = tmp_path_factory.mktemp("other") / "package"
    shutil.copytree(package, other)
    monkeypatch.setattr(jit, "PACKAGE", other)
    assert jit.kernel_key.__wrapped__() == before


def test_all_kernels_are_in_the_key():
    """Whoever decorates a function is found by what it imports."""
    for path in jit.PACKAGE.rglob("*.py"):
        text = path.read_bytes()
        if re.search(rb"^@(kernel|njit|jitted|allocating)\b", text, re.MULTILINE):
            assert jit.COMPILED.search(text), path


def test_a_second_process_compiles_nothing(tmp_path):
    first = run(NUMBA_CACHE_DIR=str(tmp_path))
    files = {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*.nb?")}
    assert files
    second = run(NUMBA_CACHE_DIR=str(tmp_path))
    assert first.stdout == second.stdout
    assert files == {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*.nb?")}


@pytest.mark.parametrize("content", [b"", b"no pickle", None])
def test_damaged_files_are_compiled_anew(tmp_path, content):
    first = run(NUMBA_CACHE_DIR=str(tmp_path))
    for path in tmp_path.rglob("*.nb?"):
        path.write_bytes(path.read_bytes()[:-40] if content is None else content)
    second = run(NUMBA_CACHE_DIR=str(tmp_path))
    assert second.stdout == first.stdout
    assert second.stderr.count("RuntimeWarning: compiled code in") == 1
    third = run(NUMBA_CACHE_DIR=str(tmp_path))  # mended
    assert third.stdout == first.stdout


def test_a_folder_that_cannot_be_written(tmp_path):
    occupied = tmp_path / "file"
    occupied.write_text("")
    done = run(NUMBA_CACHE_DIR=str(occupied))
    assert done.stderr.count("RuntimeWarning: compiled code cannot be kept") == 1
    assert done.stdout.startswith("3.0 ")
    folder = done.stdout.split()[1]
    assert not Path(folder).exists()  # gone with the process


def test_old_versions_are_forgotten(tmp_path, monkeypatch):
    for age in range(6):
        folder = tmp_path / f"kernels-{age}"
        folder.mkdir()
        os.utime(folder, (1000 - age, 1000 - age))
    monkeypatch.setitem(vars(jit.config), "CACHE_DIR", str(tmp_path))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        newest = jit.cache_folder.__wrapped__()
    subset = sorted(path.name for path in tmp_path.iterdir())
    assert subset == sorted([newest.name, "kernels-0", "kernels-1", "kernels-2"])


def test_seconds_of_compilation_are_known():
    before = time.perf_counter()
    jit.njit()(lambda x: x + 1)(2)
    between = time.perf_counter()
    compiled = jit.compile_seconds(before, between)
    assert 0 < compiled <= between - before
    assert jit.compile_seconds(between, time.perf_counter()) == 0
    half = before + (between - before) / 2
    parts = jit.compile_seconds(before, half) + jit.compile_seconds(half, between)
    assert parts == pytest.approx(compiled)


def test_garbage_is_collected_as_before_after_a_compilation():
    before = gc.get_threshold()
    meanwhile = []

    @numba.extending.register_jitable
    def helper(x):
        return x + 1

    @numba.njit
    def function(x):
        return helper(x)

    class Listener(event.Listener):
        def on_start(self, event):
            meanwhile.append(gc.get_threshold()[0])

        def on_end(self, event):
            pass

    with event.install_listener("numba:compile", Listener()):
        assert function(1) == 2
        with pytest.raises(numba.TypingError):
            function(None)
    assert set(meanwhile) == {100_000}
    assert gc.get_threshold() == before


TWO_FUNCTIONS = """
import sys
import numba
from partwise import jit
jit.PATIENCE = float(sys.argv[1])
if len(sys.argv) > 2:
    jit.announce_compilation(lambda text: print("asked:", text))
numba.njit(lambda x: x + 1)(2)
numba.njit(lambda x: x + 2)(2)
"""


@pytest.mark.parametrize(
    ("patience", "asked", "out", "err"),
    [
        ("inf", False, "", ""),
        ("0", False, "", "compiling … (first run only)\n"),
        ("inf", True, "asked: compiling … (first run only)\n", ""),
    ],
)
def test_long_compilation_is_told_once(patience, asked, out, err):
    done = subprocess.run(
        [sys.executable, "-c", TWO_FUNCTIONS, patience, *(["asked"] if asked else [])],
        capture_output=True,
        text=True,
        check=True,
    )
    assert (done.stdout, done.stderr) == (out, err)
