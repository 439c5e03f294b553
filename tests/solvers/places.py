"""A small problem with hidden parts, solved by enumeration."""

import numpy as np

from partwise.objective import Formulation, Objective
from partwise.testing.enumeration import EnumeratedStructure, Planes, minimum


class Places(EnumeratedStructure):
    """A class is observed; the row of the input that shows it is hidden."""

    def setup(self, X, Y):
        self.n_psi_ = 2 * X[0].shape[1]
        return self

    def enumerate(self, x):
        return [(label, row) for label in range(2) for row in range(len(x))]

    def joint_feature(self, x, y):
        label, row = y
        psi = np.zeros((2, x.shape[1]))
        psi[label] = x[row]
        return psi.ravel()

    def loss(self, y, y_hat):
        return float(y[0] != y_hat[0])

    def complete(self, x, y, w):
        rows = [(y[0], row) for row in range(len(x))]
        return max(rows, key=lambda output: self.score(x, output, w))


def examples(n=40, seed=0, n_rows=3, n_features=4):
    rng = np.random.default_rng(seed)
    Y = [(int(label), None) for label in rng.integers(0, 2, size=n)]
    X = [rng.normal(size=(n_rows, n_features)) for _ in Y]
    for x, (label, _) in zip(X, Y, strict=True):
        x[rng.integers(n_rows)] += 2.0 * np.eye(n_features)[label]
    return X, Y


def posed(n=40, seed=0, C=5.0, rescaling="margin", penalty="l1", **sizes):
    X, Y = examples(n, seed, **sizes)
    structure = Places().setup(X, Y)
    problem = structure.pack(X, Y, Formulation(rescaling, penalty))
    kind = "hard" if rescaling == "hard" else penalty
    return problem, Objective.create(C * n, n, kind)


def optimum(problem, objective):
    """The convex problem with the present completions, by enumeration."""
    structure, block, loss, delta = problem.structure, [], [], []
    for i, x in enumerate(problem.blocks.X):
        truth = structure.joint_feature(x, problem.completed[i])
        for y_hat in structure.enumerate(x):
            psi = structure.joint_feature(x, y_hat)
            if (psi != truth).any():
                block.append(i)
                loss.append(structure.loss(problem.blocks.Y[i], y_hat))
                delta.append(truth - psi)
    planes = [problem.formulation.plane(value) for value in loss]
    b, scale = np.array(planes).T
    losses, delta = np.array(loss), np.array(delta)
    return minimum(Planes(np.array(block), losses, b, scale, delta), objective)
