"""A second process that compiles what all structures share, in the first fit.

Numba compiles one function at a time in a process. Of the functions that a first fit
needs two fifths are loops of solvers, which are the same for every structure. A second
process compiles them on another core, into the cache on disk, while the fit compiles
the operations of its structure; when the fit comes to a loop it finds it there. It
compiles it itself where the other process has not come to its end, so nothing depends
on this.
"""

from __future__ import annotations

import atexit
import os
import subprocess
import sys
import warnings
from contextlib import suppress
from pathlib import Path

from partwise.compiled import is_compiled
from partwise.jit import cache_folder, kernel_key
from partwise.protocol import Problem, Solver
from partwise.threads import resolve_jobs

SOLVERS = ("bcfw", "n_slack", "one_slack", "bundle")


def claim(solver: str) -> bool:
    """Whether nobody has begun to compile the loops of a solver.

    Parameters
    ----------
    solver : str
        One of `SOLVERS`. It counts as begun from now on.
    """
    folder = cache_folder()
    if folder.name != f"kernels-{kernel_key()}":
        return False  # a folder of this process alone, because no other can be written
    with suppress(OSError):
        place = folder / f"ahead-{solver}"
        os.close(os.open(place, os.O_CREAT | os.O_EXCL | os.O_WRONLY))
        return True
    return False


def compile_ahead(solver: str) -> subprocess.Popen[bytes] | None:
    """Compile the loops of a solver in a second process, if nobody has begun to.

    Parameters
    ----------
    solver : str
        A name; those without loops of their own over planes are passed over.

    Returns
    -------
    process : Popen or None
        It ends by itself, and with this process at the latest.
    """
    # a program with Python inside, which would be started instead, has another name
    is_python = Path(sys.executable or "").name.lower().startswith("python")
    if solver not in SOLVERS or resolve_jobs(-1) < 2 or not is_python:
        return None
    if not claim(solver):
        return None
    # -P: a file of the working directory may have the name of a module
    paths = [str(Path(__file__).parents[1]), os.environ.get("PYTHONPATH")]
    with suppress(OSError):
        process = subprocess.Popen(
            [sys.executable, "-P", "-m", __name__, solver],
            env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, paths))},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        atexit.register(_end, process)
        return process
    return None


def compile_ahead_of(solver: Solver, problem: Problem) -> None:
    """Compile the loops of a solver that will run on a problem of arrays."""
    if solver.loops is not None and is_compiled(problem.blocks):
        compile_ahead(solver.loops)


def _end(process: subprocess.Popen[bytes]) -> None:
    process.terminate()
    process.wait()


def compile_loops(solver: str) -> None:
    """Train on four signs that no weights explain until all loops have been used."""
    from partwise.protocol import Objective
    from partwise.solvers import make_solver
    from partwise.structures.sign_example import pack_signs

    problem = pack_signs(
        [[1.0, 0.5], [1.0, -0.3], [-0.2, 1.0], [0.9, 0.4]], [0, 1, 1, 1]
    )
    objective = Objective.create(1e4, problem.n_blocks, "l1")
    make_solver(solver, {"max_iter": 60, "tol": 1e-9}).solve(problem, objective)


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    compile_loops(sys.argv[1])
