"""Loops of solvers are compiled by a second process while a first fit goes on."""

import json
import os
import subprocess
import sys

import numpy as np
import pytest
from numba.core import config
from sklearn.svm import LinearSVC

from partwise import compile_ahead, jit
from partwise.objective import Objective
from partwise.solvers import make_solver
from partwise.structures.sign_example import pack_signs

needs_compiler = pytest.mark.skipif(config.DISABLE_JIT, reason="numba is switched off")

# names and signatures of all functions of solvers that a program makes numba load
LISTING = """
import json, sys, types
import numba

def listed():
    for name, module in list(sys.modules.items()):
        if name.startswith(("partwise.solvers", "partwise.threads")):
            for function in vars(module).values():
                compiled = getattr(function, "compiled", function)
                if isinstance(compiled, numba.core.dispatcher.Dispatcher):
                    for signature in compiled.signatures:
                        yield f"{compiled.py_func.__qualname__} {signature}"
"""
FIT = """
from partwise import SequenceTagger
from partwise.datasets import toy_entities
SequenceTagger().fit(*toy_entities(10))
print(json.dumps(sorted(set(listed()))))
"""
LOOPS = """
from partwise.compile_ahead import compile_loops
compile_loops("bcfw")
print(json.dumps(sorted(set(listed()))))
"""


def functions_of(program):
    printed = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", LISTING + program],
        capture_output=True, text=True, check=True,
    ).stdout  # fmt: skip
    return set(json.loads(printed))


@needs_compiler
def test_what_a_tagger_needs_of_its_solver_is_compiled_ahead():
    needed, compiled = functions_of(FIT), functions_of(LOOPS)
    assert {"sweep", "polish", "maximise"} <= {name.split()[0] for name in needed}
    missing = {name.split()[0] for name in needed - compiled}
    assert missing <= {"add_sparse"}, missing


@pytest.mark.parametrize("solver", compile_ahead.SOLVERS)
def test_the_smallest_structure_has_the_optimum_of_a_linear_svm(solver):
    rng = np.random.default_rng(0)
    x = rng.normal(size=(30, 3))
    y = (x[:, 0] + rng.normal(size=30) > 0).astype(int)
    problem = pack_signs(x, y)
    state = make_solver(solver, {"tol": 1e-6, "max_iter": 5000}).solve(
        problem, Objective.create(60.0, 30, "l1")
    )
    svm = LinearSVC(C=2.0, loss="hinge", fit_intercept=False, tol=1e-8, max_iter=10**6)
    svm.fit(x, y)
    assert problem.compact(state.model) == pytest.approx(svm.coef_[0], abs=2e-3)


def test_loops_are_claimed_once(tmp_path, monkeypatch):
    folder = tmp_path / f"kernels-{jit.kernel_key()}"
    folder.mkdir()
    monkeypatch.setattr(compile_ahead, "cache_folder", lambda: folder)
    assert compile_ahead.claim("bcfw") and not compile_ahead.claim("bcfw")
    assert compile_ahead.compile_ahead("bcfw") is None
    assert compile_ahead.compile_ahead("perceptron") is None  # it has none


def test_a_cache_of_this_process_alone_is_not_filled_by_another(tmp_path, monkeypatch):
    monkeypatch.setattr(compile_ahead, "cache_folder", lambda: tmp_path)
    assert not compile_ahead.claim("bcfw")
    assert os.listdir(tmp_path) == []


def test_programs_with_python_inside_are_not_started(tmp_path, monkeypatch):
    folder = tmp_path / f"kernels-{jit.kernel_key()}"
    folder.mkdir()
    monkeypatch.setattr(compile_ahead, "cache_folder", lambda: folder)
    monkeypatch.setattr(compile_ahead, "resolve_jobs", lambda n: 2)
    for program in ("/opt/editor/editor", "", None):
        monkeypatch.setattr(sys, "executable", program)
        assert compile_ahead.compile_ahead("bcfw") is None
    assert compile_ahead.claim("bcfw")  # nobody has begun


@needs_compiler
def test_the_second_process_fills_the_cache(tmp_path, monkeypatch):
    folder = tmp_path / f"kernels-{jit.kernel_key()}"
    folder.mkdir()
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path))
    monkeypatch.setattr(compile_ahead, "cache_folder", lambda: folder)
    monkeypatch.setattr(compile_ahead, "resolve_jobs", lambda n: 2)
    # of the working directory nothing is imported
    (tmp_path / "random.py").write_text("raise SystemExit(3)")
    monkeypatch.chdir(tmp_path)
    process = compile_ahead.compile_ahead("one_slack")
    assert process is not None and process.wait(timeout=300) == 0
    assert list(folder.glob("**/*maximise*.nbc"))
