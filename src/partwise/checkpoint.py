"""Checkpoints: a run of a solver in a file, which is resumed with the same bits.

A checkpoint is a safetensors file: the arrays of the state and of the solver's memo,
and a JSON document with everything else. It holds digests of the data, the objective
and the settings; one of another run is refused. It is written beside its place and
moved there, so that a run killed at any moment leaves the last whole one.

A checkpoint is the memory of a run, down to tables that kernels follow unchecked. A
digest of the whole content, the seal, refuses a file that was damaged or edited before
anything of it is used. It is no signature: it does not prove who wrote the file.
"""

from __future__ import annotations

import hashlib
import json
import warnings
from collections.abc import Mapping
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

from partwise.files import write_atomically
from partwise.parameters import SettingsError
from partwise.protocol import HistoryPoint, Objective, Problem, Solver, State

FORMAT = "partwise checkpoint 2"
LIMITS = ("max_iter", "time_limit")  # settings that a resumed run may change
RESUMABLE = ("max_iter", "time limit", "callback")
NUMBERS = (
    "primal", "found", "dual", "estimate", "violation", "violation_found", "n_iter",
    "oracle_calls", "n_planes", "seconds",
)  # fmt: skip


class CheckpointError(ValueError):
    """A checkpoint cannot be read, or belongs to another run."""


class FileCheckpoint:
    """A checkpoint in a file.

    Parameters
    ----------
    path : path
    every : float
        Seconds between two writings.
    settings : mapping, optional
        Settings beyond those of the solver that a resumed run must share.

    Examples
    --------
    >>> from partwise.checkpoint import FileCheckpoint
    >>> FileCheckpoint("run.checkpoint", every=30.0).every
    30.0
    """

    def __init__(
        self,
        path: str | PathLike[str],
        every: float = 60.0,
        settings: Mapping[str, Any] | None = None,
    ) -> None:
        if not every > 0:
            raise SettingsError(f"<checkpoint_every={every!r}>: give a positive number")
        self.path = Path(path)
        self.every = every
        self.settings = dict(settings or {})
        self._problem: Problem | None = None
        self._identity: dict[str, str] = {}
        self._written = 0.0  # seconds of the run at the last writing

    def resume(
        self, solver: Solver, problem: Problem, objective: Objective
    ) -> State | None:
        """The state kept in the file, None when there is no file."""
        self._problem = problem
        self._identity = identity(solver, problem, objective, self.settings)
        if type(solver).export is Solver.export:
            solver.export(State(None))  # raises its refusal before any work
        if not self.path.exists():
            return None
        if not self.path.is_file():
            raise CheckpointError(f"{self.path} is no regular file; give another place")
        tree = read_tree(self.path)
        self._refuse_other(tree.get("identity"))
        try:
            problem.import_codes(tree["codes"])
            state = State(model=tree["model"])
            for name in NUMBERS:
                setattr(state, name, tree["numbers"][name])
            state.history = [HistoryPoint(*row) for row in tree["history"].tolist()]
            state.stopped, state.note = tree["stopped"], tree["note"]
            state.memo = solver.restore(problem, objective, tree["memo"])
        except (KeyError, TypeError, IndexError, AttributeError) as error:
            raise CheckpointError(
                f"{self.path}: damaged checkpoint ({error}); delete it to start afresh"
            ) from error
        self._written = state.seconds
        return state

    def keep(self, solver: Solver, state: State) -> None:
        """Write the state when it is time to, or when a limit has stopped the run."""
        is_limit = state.stopped in RESUMABLE
        if not is_limit and (
            state.stopped is not None or state.seconds - self._written < self.every
        ):
            return
        self._write(solver, state, stopped=None)

    def end(self, solver: Solver, state: State) -> None:
        """Write the result of a long run, so that a later stage need not repeat it."""
        if state.stopped not in (*RESUMABLE, "interrupted") and (
            self._written > 0 or state.seconds >= self.every
        ):
            self._write(solver, state, stopped=state.stopped)

    def remove(self) -> None:
        """Delete the file, once its result is safe elsewhere."""
        self.path.unlink(missing_ok=True)

    def _write(self, solver: Solver, state: State, stopped: str | None) -> None:
        assert self._problem is not None
        tree = {
            "identity": self._identity,
            "codes": self._problem.export_codes(),
            "model": state.model,
            "numbers": {name: getattr(state, name) for name in NUMBERS},
            "history": np.array(state.history, np.float64).reshape(-1, 5),
            "stopped": stopped,
            "note": state.note,
            "memo": solver.export(state),
        }
        is_first, self._written = not self._written, state.seconds
        try:
            write_tree(self.path, tree)
        except CheckpointError as error:
            if is_first:
                raise
            # a disk that has become full is no reason to give up hours of training
            text = f"{error}; training goes on, the last checkpoint stays"
            warnings.warn(text, UserWarning, stacklevel=2)

    def _refuse_other(self, stored: Any) -> None:
        for name, value in self._identity.items():
            if not isinstance(stored, dict) or stored.get(name) != value:
                raise CheckpointError(
                    f"{self.path} is a checkpoint of another run: its {name} differ; "
                    "delete it, or give another file"
                )


def identity(
    solver: Solver, problem: Problem, objective: Objective, settings: Mapping[str, Any]
) -> dict[str, str]:
    """Digests of what a resumed run must share, by name."""

    def digest(*parts: bytes) -> str:
        return hashlib.blake2b(b"\0".join(parts), digest_size=16).hexdigest()

    chosen = {
        name: value
        for name, value in solver.get_params(deep=False).items()
        if name not in LIMITS
    }
    named = repr((type(solver).__name__, sorted(chosen.items())))
    weight = np.ascontiguousarray(objective.weight, np.float64).tobytes()
    return {
        "data": digest(problem.digest()),
        "weights or C": digest(objective.penalty.encode(), weight),
        "solver settings": digest(named.encode()),
        "settings": digest(repr(sorted(settings.items())).encode()),
    }


# ------------------------------------------------------------------- trees of arrays


def write_tree(path: Path, tree: dict[str, Any]) -> None:
    """Write nested dicts and lists of arrays, numbers, strings and None."""
    from safetensors.numpy import save

    arrays: dict[str, np.ndarray] = {}

    def flat(value: Any) -> Any:
        if isinstance(value, np.ndarray):
            name = f"a{len(arrays)}"
            arrays[name] = np.ascontiguousarray(value)
            return {"@": name}
        if isinstance(value, dict):
            return {str(key): flat(inner) for key, inner in value.items()}
        if isinstance(value, list | tuple):
            return [flat(inner) for inner in value]
        if isinstance(value, np.generic):
            return value.item()
        return value

    document = json.dumps({"format": FORMAT, "tree": flat(tree)})
    described = {"partwise": document, "seal": _seal(document, arrays)}
    try:
        write_atomically(path, save(arrays, described))
    except OSError as error:
        raise CheckpointError(
            f"{path}: the checkpoint cannot be written ({error.strerror}); choose "
            "another place"
        ) from error


def read_tree(path: Path) -> dict[str, Any]:
    """What `write_tree` wrote."""
    from safetensors import SafetensorError, safe_open

    try:
        with safe_open(path, framework="numpy") as file:
            described = file.metadata() or {}
            arrays = {name: file.get_tensor(name) for name in file.keys()}
    except (SafetensorError, OSError, ValueError, TypeError, AttributeError) as error:
        raise CheckpointError(
            f"{path}: cannot be read as a checkpoint ({str(error)[:200]!a}); "
            "delete it to start afresh"
        ) from error
    text = described.get("partwise", "")
    if not text.startswith(f'{{"format": "{FORMAT}"'):
        raise CheckpointError(
            f"{path} is no checkpoint of this version; give another file"
        )
    if described.get("seal") != _seal(text, arrays):
        raise CheckpointError(f"{path}: damaged checkpoint; delete it to start afresh")

    def deep(value: Any) -> Any:
        if isinstance(value, dict):
            if value.keys() == {"@"}:
                return arrays[value["@"]]
            return {key: deep(inner) for key, inner in value.items()}
        if isinstance(value, list):
            return [deep(inner) for inner in value]
        return value

    tree: dict[str, Any] = deep(json.loads(text)["tree"])
    return tree


def _seal(document: str, arrays: Mapping[str, np.ndarray]) -> str:
    """A digest of all that a checkpoint holds."""
    digest = hashlib.blake2b(document.encode(), digest_size=16)
    for name in sorted(arrays):
        array = arrays[name]
        digest.update(repr((name, array.dtype.str, array.shape)).encode())
        digest.update(np.ascontiguousarray(array).data)
    return digest.hexdigest()
