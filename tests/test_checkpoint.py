"""Checkpoints: the same bits after a resumption, and refusals of what is not ours."""

import errno

import numpy as np
import pytest

from partwise import checkpoint
from partwise.checkpoint import CheckpointError, FileCheckpoint
from partwise.features.arrays import as_features
from partwise.objective import Formulation, Objective
from partwise.protocol import CapabilityError
from partwise.solvers.bcfw import BCFW
from partwise.solvers.bundle import ProximalBundle
from partwise.solvers.cccp import CCCP
from partwise.solvers.generative import Generative
from partwise.solvers.lbfgs import LBFGS
from partwise.solvers.n_slack import NSlack
from partwise.solvers.one_slack import OneSlack
from partwise.solvers.online import MIRA, Pegasos, Perceptron
from partwise.solvers.sampled_cuts import SampledCuts
from partwise.structures.chain import Chain
from partwise.testing.toys import ToyPlaces, toy_classes, toy_places

SOLVERS = [
    BCFW(tol=1e-6),
    BCFW(tol=1e-5, averaging=True, batch=4),
    NSlack(tol=1e-6),
    OneSlack(tol=1e-5),
    OneSlack(tol=1e-5, pool=False),
    ProximalBundle(tol=1e-5),
    Perceptron(max_iter=8),
    MIRA(max_iter=8),
    Pegasos(max_iter=8, batch=7),
    SampledCuts(eps=1e-3, sample=10, max_iter=20),
    LBFGS(tol=1e-8),
]


def chain_problem(n=30, seed=0):
    rng = np.random.default_rng(seed)
    X = [rng.normal(size=(rng.integers(1, 6), 4)) for _ in range(n)]
    Y = [rng.integers(0, 3, size=len(x)) for x in X]
    return Chain(3).pack(as_features(X), np.concatenate(Y), Formulation())


def loop_problem(n=30, seed=0):
    structure, X, Y = toy_classes(seed, n=n)
    return structure.pack(X, Y, Formulation())


def hidden_labels(n=20, seed=0):
    """Sequences of which a third of the labels is not known."""
    rng = np.random.default_rng(seed)
    X = [rng.normal(size=(rng.integers(1, 6), 4)) for _ in range(n)]
    Y = np.concatenate([rng.integers(0, 3, size=len(x)) for x in X])
    Y[rng.random(len(Y)) < 0.3] = -1
    return Chain(3).pack(as_features(X), Y, Formulation(), may_hide=True)


def hidden_places(n=20, seed=0):
    """A user's structure whose truths have hidden parts."""
    X, Y = toy_places(n, seed)
    return ToyPlaces().setup(X, Y).pack(X, Y, Formulation())


def objective_of(solver, problem, C=50.0):
    return Objective.create(C, problem.n_blocks, solver.penalties[0])


class Killed(Exception):
    """What SIGKILL is to a process."""


class Mortal(FileCheckpoint):
    """Writes after each step, and dies after some of them."""

    def __init__(self, path, lives):
        super().__init__(path, every=1e-9)
        self.lives = lives

    def keep(self, solver, state):
        super().keep(solver, state)
        self.lives -= 1
        if self.lives == 0:
            raise Killed


@pytest.mark.parametrize("pose", [chain_problem, loop_problem])
@pytest.mark.parametrize("solver", SOLVERS, ids=str)
def test_a_resumed_run_has_the_bits_of_one_that_was_not_interrupted(
    solver, pose, tmp_path
):
    if isinstance(solver, LBFGS) and pose is loop_problem:
        pytest.skip("a loop has no likelihood")  # as `test_lbfgs.py` checks
    assert_resumes(solver, pose, tmp_path / "run.checkpoint")


@pytest.mark.parametrize("pose", [hidden_labels, hidden_places])
@pytest.mark.parametrize(
    "solver",
    [
        CCCP("bundle", tol=1e-5),
        CCCP("bcfw", tol=1e-5),
        CCCP("one_slack", tol=1e-5, first="random"),
        CCCP("n_slack", tol=1e-4, self_paced=True),
        CCCP("bundle", tol=1e-5, restarts=3),
        CCCP("bcfw", tol=1e-4, first="random", restarts=3),
    ],
    ids=str,
)
def test_rounds_over_hidden_parts_are_resumed(solver, pose, tmp_path):
    assert_resumes(solver, pose, tmp_path / "run.checkpoint")


@pytest.mark.parametrize("pose", [hidden_labels, hidden_places])
def test_restarts_are_resumed_between_runs_and_when_all_have_ended(pose, tmp_path):
    solver, problem = CCCP(tol=1e-5, restarts=4), pose()
    objective = objective_of(solver, problem)
    whole = solver.solve(problem, objective)
    place = FileCheckpoint(tmp_path / "run", every=1e-9)
    n_seen = []
    stop = iter([False] * 6 + [True])
    solver.solve(
        pose(), objective, checkpoint=place, callback=lambda _: next(stop, True)
    )
    problem = pose()
    again = solver.solve(
        problem, objective, checkpoint=place, callback=lambda _: n_seen.append(1)
    )
    assert again.model.tobytes() == whole.model.tobytes() and again.note == whole.note
    n_rounds = len(n_seen)
    finished = solver.solve(
        pose(), objective, checkpoint=place, callback=lambda _: n_seen.append(1)
    )
    assert len(n_seen) == n_rounds  # nothing is run again
    assert finished.model.tobytes() == whole.model.tobytes()
    assert [r.objective for r in finished.memo.rounds] == [
        r.objective for r in whole.memo.rounds
    ]


def assert_resumes(solver, pose, place):
    """Solve at once, and killed after every second step: the same bits."""
    problem = pose()
    objective = objective_of(solver, problem)
    whole = solver.solve(problem, objective)
    n_killed = 0
    while True:
        try:
            again = solver.solve(pose(), objective, checkpoint=Mortal(place, 2))
            break
        except Killed:
            n_killed += 1
    assert n_killed > 0
    assert again.model.tobytes() == whole.model.tobytes()
    assert (again.primal, again.dual) == (whole.primal, whole.dual)
    assert (again.n_iter, again.oracle_calls) == (whole.n_iter, whole.oracle_calls)
    assert (again.n_planes, again.stopped) == (whole.n_planes, whole.stopped)
    assert len(again.history) == len(whole.history)
    one, two = solver.support(whole), solver.support(again)
    if one is not None:
        assert one.alpha.tobytes() == two.alpha.tobytes()
        assert [str(y) for y in problem.outputs(one.cuts)] == [
            str(y) for y in problem.outputs(two.cuts)
        ]


def test_a_longer_limit_goes_on_where_the_shorter_one_ended(tmp_path):
    problem = chain_problem()
    objective = objective_of(BCFW(), problem)
    whole = BCFW(tol=1e-7, max_iter=9).solve(problem, objective)
    place = FileCheckpoint(tmp_path / "run")
    first = BCFW(tol=1e-7, max_iter=4).solve(problem, objective, checkpoint=place)
    assert first.stopped == "max_iter"
    second = BCFW(tol=1e-7, max_iter=9).solve(problem, objective, checkpoint=place)
    assert second.n_iter == whole.n_iter > 4
    assert second.model.tobytes() == whole.model.tobytes()


def test_a_finished_run_is_not_run_again(tmp_path):
    problem = chain_problem()
    objective = objective_of(BCFW(), problem)
    place = FileCheckpoint(tmp_path / "run", every=1e-9)
    first = BCFW().solve(problem, objective, checkpoint=place)
    calls = []
    problem.oracle = lambda *args: calls.append(args)
    again = BCFW().solve(problem, objective, checkpoint=place)
    assert not calls and again.stopped == "converged"
    assert again.model.tobytes() == first.model.tobytes()
    place.remove()
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize(
    ("change", "text"),
    [
        ({"problem": chain_problem(seed=1)}, "its data differ"),
        ({"C": 51.0}, "its weights or C differ"),
        ({"solver": BCFW(tol=1e-7)}, "its solver settings differ"),
        ({"solver": NSlack(tol=1e-6)}, "its solver settings differ"),
        ({"settings": {"order": 2}}, "its settings differ"),
    ],
)
def test_a_checkpoint_of_another_run_is_refused_with_the_reason(change, text, tmp_path):
    problem = chain_problem()
    place = tmp_path / "run"
    solver = BCFW(tol=1e-6)
    solver.solve(
        problem, objective_of(solver, problem), checkpoint=FileCheckpoint(place, 1e-9)
    )
    other = change.get("problem", problem)
    solver = change.get("solver", solver)
    subset = FileCheckpoint(place, settings=change.get("settings"))
    objective = objective_of(solver, other, change.get("C", 50.0))
    with pytest.raises(CheckpointError, match=text):
        solver.solve(other, objective, checkpoint=subset)


@pytest.mark.parametrize("data", [b"", b"\x00" * 100, b"{}", b"not safetensors" * 50])
def test_other_files_are_refused(data, tmp_path):
    place = tmp_path / "run"
    place.write_bytes(data)
    problem = chain_problem()
    with pytest.raises(CheckpointError, match="checkpoint"):
        BCFW().solve(
            problem, objective_of(BCFW(), problem), checkpoint=FileCheckpoint(place)
        )
    assert place.read_bytes() == data


def test_a_truncated_checkpoint_is_refused(tmp_path):
    problem = chain_problem()
    objective = objective_of(BCFW(), problem)
    place = tmp_path / "run"
    BCFW().solve(problem, objective, checkpoint=FileCheckpoint(place, 1e-9))
    whole = place.read_bytes()
    for size in (7, 20, len(whole) // 2, len(whole) - 1):
        place.write_bytes(whole[:size])
        with pytest.raises(CheckpointError):
            BCFW().solve(problem, objective, checkpoint=FileCheckpoint(place))


def test_what_cannot_be_kept_is_refused_before_any_work(tmp_path):
    problem = chain_problem()
    place = FileCheckpoint(tmp_path / "run")
    with pytest.raises(CapabilityError, match="Generative does not write checkpoints"):
        Generative().solve(problem, Objective.create(1.0, 30, "l1"), checkpoint=place)
    with pytest.raises(ValueError, match="checkpoint_every=0"):
        FileCheckpoint(tmp_path / "run", every=0)


def test_an_unwritable_place_is_named(tmp_path):
    problem = chain_problem()
    place = FileCheckpoint(tmp_path / "none" / "run", every=1e-9)
    with pytest.raises(CheckpointError, match="cannot be written"):
        BCFW().solve(problem, objective_of(BCFW(), problem), checkpoint=place)


def test_a_disk_that_becomes_full_does_not_end_the_run(tmp_path, monkeypatch):
    problem = chain_problem()
    objective = objective_of(BCFW(), problem)
    alone = BCFW(tol=1e-9, max_iter=6).solve(problem, objective)
    write, calls = checkpoint.write_atomically, []

    def write_once(path, data):
        calls.append(path)
        if len(calls) > 1:
            raise OSError(errno.ENOSPC, "No space left on device")
        write(path, data)

    monkeypatch.setattr(checkpoint, "write_atomically", write_once)
    with pytest.warns(UserWarning, match=r"No space left.*training goes on"):
        state = BCFW(tol=1e-9, max_iter=6).solve(
            problem, objective, checkpoint=FileCheckpoint(tmp_path / "c", 1e-9)
        )
    assert len(calls) > 2
    assert np.array_equal(state.model, alone.model)
    assert (tmp_path / "c").exists()
