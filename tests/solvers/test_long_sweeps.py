"""Long sweeps: the clock, progress and Ctrl-C inside them; moves of a block's own."""

import time
from pathlib import Path

import numpy as np
import pytest
from numba.core import config

from partwise.compiled import Reference, code_length
from partwise.features.arrays import as_features
from partwise.objective import Formulation, Objective
from partwise.protocol import State
from partwise.solvers import _pool_compiled as kernels
from partwise.solvers import suitable_solver
from partwise.solvers._cut_pool import BlockDual
from partwise.solvers.bcfw import BCFW
from partwise.solvers.bundle import ProximalBundle
from partwise.solvers.n_slack import NSlack
from partwise.solvers.one_slack import OneSlack
from partwise.solvers.online import MIRA, Pegasos, Perceptron
from partwise.structures.chain import Chain
from partwise.structures.chain._compiled import ChainBlocks
from partwise.structures.loop import LoopBlocks, LoopProblem
from partwise.testing.toys import ToyClasses, toy_classes
from partwise.threads import shards_by_effort

SOLVERS = [BCFW(), NSlack(), OneSlack(), Perceptron(), MIRA(), Pegasos(batch=4)]


class Slow(ToyClasses):
    """Takes two hundredths of a second per search."""

    def loss_augmented_argmax(self, x, y, w):
        time.sleep(0.02)
        return super().loss_augmented_argmax(x, y, w)

    def argmax(self, x, w):
        time.sleep(0.02)
        return super().argmax(x, w)


def posed(structure, n=100):
    _, X, Y = toy_classes(0, n=n)
    problem = LoopProblem(structure.setup(X, Y), X, Y, Formulation())
    return problem, Objective.create(100.0, n, "l1")


@pytest.mark.parametrize("solver", [BCFW, NSlack, OneSlack])
def test_a_time_limit_ends_a_sweep_that_takes_longer(solver):
    solver(max_iter=3).solve(*posed(ToyClasses()))  # compiles
    problem, objective = posed(Slow(), n=400)  # eight seconds a pass
    began = time.perf_counter()
    state = solver(time_limit=0.3).solve(problem, objective)
    assert state.stopped == "time limit"
    assert time.perf_counter() - began < 4.0
    assert state.dual >= 0.0 and np.isfinite(state.model).all()


@pytest.mark.parametrize("solver", SOLVERS, ids=str)
def test_progress_moves_within_a_sweep(solver):
    problem, objective = posed(Slow(), n=40)
    shares = []
    solver.set_params(max_iter=1).solve(
        problem, objective, pulse=lambda state: shares.append(state.share)
    )
    assert len({share for share in shares if 0 < share < 1}) >= 3
    assert all(0.0 <= share <= 1.0 for share in shares)


@pytest.mark.parametrize("solver", [BCFW, NSlack, OneSlack, ProximalBundle])
def test_ctrl_c_within_a_sweep_keeps_a_model(solver):
    class Pressed(ToyClasses):
        calls = 0

        def loss_augmented_argmax(self, x, y, w):
            Pressed.calls += 1
            if Pressed.calls == 170:
                raise KeyboardInterrupt
            return super().loss_augmented_argmax(x, y, w)

    problem, objective = posed(Pressed(), n=80)
    state = solver(tol=1e-9).solve(problem, objective)
    assert state.stopped == "interrupted"
    assert np.isfinite(state.model).all()


class OwnMoves(LoopBlocks):
    """Blocks that move in a way of their own: here, the usual one, counted."""

    visits = 0

    def ascend_block(self, *args):
        OwnMoves.visits += 1
        return kernels.ascend_block.__wrapped__(self, *args)


@pytest.mark.parametrize("solver", [BCFW(tol=1e-5, polish=0), NSlack(tol=1e-5)])
def test_a_block_may_have_a_move_of_its_own(solver):
    problem, objective = posed(ToyClasses(), n=30)
    usual = solver.solve(problem, objective)
    blocks = problem.blocks
    own = OwnMoves(problem.structure, blocks.X, blocks.Y, Formulation())
    problem.blocks = problem.local_blocks = own
    OwnMoves.visits = 0
    state = solver.solve(problem, objective)
    assert OwnMoves.visits >= 30
    assert state.model.tobytes() == usual.model.tobytes()


class OwnSteps(ChainBlocks):
    """Compiled blocks with a step of their own, which leaves a mark and no plane."""

    def ascend_block(
        blocks, local, work, pool, w, scratch, i, weight, cap, ridge, penalty, eps,
        steps, limit, fresh, slope, old, gaps, excess,
    ):  # fmt: skip
        gaps[i] = 7.0 + code_length(blocks, i)
        return False


def test_compiled_blocks_may_have_a_step_of_their_own():
    rng = np.random.default_rng(0)
    X = [rng.normal(size=(n, 2)) for n in (1, 3, 2)]
    chain = Chain(2, order=1)
    problem = chain.pack(as_features(X), rng.integers(0, 2, size=6), Formulation())
    fields = [getattr(problem.blocks, name) for name in ChainBlocks._fields]
    problem.blocks = Reference(OwnSteps(*fields))
    dual = BlockDual(problem, Objective.create(1.0, 3, "l1"), capacity=4)
    assert dual.sweep(np.arange(3), State(model=None)) == 0
    assert dual.gaps.tolist() == [8.0, 10.0, 9.0]
    folder = Path(config.CACHE_DIR)
    indices = [path.read_bytes() for path in folder.rglob("*.nbi")]
    assert indices and not any(b"OwnSteps" in index for index in indices)


def test_auto_asks_the_problem():
    one, objective = posed(ToyClasses(), n=1)
    assert suitable_solver(one, objective) == "bundle"
    assert suitable_solver(one, objective._replace(penalty="hard")) == "bcfw"
    many, objective = posed(ToyClasses(), n=5)
    assert suitable_solver(many, objective) == "bcfw"
    assert suitable_solver(many, objective._replace(penalty="log")) == "lbfgs"


def test_shards_follow_the_effort():
    effort = np.array([1.0] * 30 + [100.0] + [1.0] * 33)
    shards = shards_by_effort(effort)
    assert [first for first, _ in shards] == [0, *(last for _, last in shards[:-1])]
    assert shards[-1][1] == 64
    largest = max(effort[a:z].sum() for a, z in shards)
    assert largest <= 100 + 33 and len(shards) >= 2
    sixteen = shards_by_effort(np.full(16, 7.0))
    assert len(sixteen) == 8  # all cores have work in a batch of sixteen
    assert shards_by_effort(np.ones(1)) == [(0, 1)]
    assert shards_by_effort(np.zeros(0)) == []
    assert sum(z - a for a, z in shards_by_effort(np.ones(100_000))) == 100_000
