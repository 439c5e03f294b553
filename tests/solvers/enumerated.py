"""Small problems whose every output can be listed, and their optimum by Clarabel."""

import clarabel
import numpy as np
from scipy import sparse

from partwise.objective import Formulation, Objective
from partwise.protocol import Structure


class Classes(Structure):
    """One of three classes; wrong ones cost 1, 2 or 3."""

    def __init__(self, n_classes=3):
        self.n_classes = n_classes

    def setup(self, X, Y):
        self.n_psi_ = self.n_classes * len(X[0])
        return self

    def joint_feature(self, x, y):
        return np.arange(y * len(x), (y + 1) * len(x)), np.asarray(x)

    def loss(self, y, y_hat):
        return float(abs(y - y_hat) + (y > y_hat))

    def scores(self, x, w):
        return np.sum(w.reshape(self.n_classes, -1) * x, axis=1)

    def argmax(self, x, w):
        return int(np.argmax(self.scores(x, w)))

    def loss_augmented_argmax(self, x, y, w):
        loss = [self.loss(y, v) for v in range(self.n_classes)]
        return int(np.argmax(self.scores(x, w) + loss))

    def frontier(self, x, y, w):
        return [(self.loss(y, v), v) for v in range(self.n_classes) if v != y]


def small_problem(rescaling="margin", penalty="l1", *, n=12, d=4, seed=0, noise=1.0):
    """A packed problem of n examples; noise 0 is separable with a wide margin."""
    rng = np.random.default_rng(seed)
    Y = rng.integers(3, size=n).tolist()
    X = 2.0 * np.eye(3, d)[Y] + noise * rng.normal(size=(n, d))
    structure = Classes().setup(X, Y)
    return structure.pack(X, Y, Formulation(rescaling, penalty))


def all_planes(problem):
    """(block, b, a) of every wrong output."""
    blocks, structure = problem.blocks, problem.structure
    rows = []
    for i, y in enumerate(blocks.Y):
        for v in range(structure.n_classes):
            if v == y:
                continue
            b, scale = problem.formulation.plane(structure.loss(y, v))
            a = problem.zero()
            code = np.array([blocks.place(i, v)], np.int32)
            blocks.push(a, i, code, scale)
            rows.append((i, b, a))
    block, b, a = zip(*rows, strict=True)
    return np.array(block), np.array(b), np.array(a)


def weights(problem, C=5.0):
    """An objective with unequal weights, as sample weights give."""
    v = np.linspace(1.0, 2.0, problem.n_blocks)
    return Objective.create(C, problem.n_blocks, problem.formulation.penalty, v)


def solve_qp(P, q, A, bound, n_equal=0):
    """min ½xᵀPx + qx with Ax ≤ bound, the first rows with equality."""
    cones = [clarabel.NonnegativeConeT(len(bound) - n_equal)]
    if n_equal:
        cones.insert(0, clarabel.ZeroConeT(n_equal))
    P, A = sparse.csc_matrix(np.triu(P)), sparse.csc_matrix(A)
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    for tol in (1e-12, 1e-10, 1e-8):  # it cannot always reach the first
        settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = tol
        solution = clarabel.DefaultSolver(P, q, A, bound, cones, settings).solve()
        if solution.status == clarabel.SolverStatus.Solved:
            return np.array(solution.x), solution.obj_val
    raise RuntimeError(f"Clarabel: {solution.status}")


def optimum(problem, objective):
    """The smallest primal value, from the program with one row per output."""
    block, b, a = all_planes(problem)
    n, d = problem.n_blocks, a.shape[1]
    curvature, linear = np.ones(d + n), np.zeros(d + n)
    if objective.penalty == "l1":
        curvature[d:], linear[d:] = 0.0, objective.weight
    else:
        curvature[d:] = objective.weight
    rows = np.hstack([-a, -np.eye(n)[block]])
    rows = np.vstack([rows, np.hstack([np.zeros((n, d)), -np.eye(n)])])
    bound = np.concatenate([-b, np.zeros(n)])
    return solve_qp(np.diag(curvature), linear, rows, bound)[1]


def check_bracket(solver, problem, objective, best):
    """Solve; at each step the lower bound is below the optimum, the value above."""

    def check(state):
        assert state.dual <= best * (1 + 1e-9)
        assert state.primal >= best * (1 - 1e-9)

    return solver.solve(problem, objective, callback=check)
