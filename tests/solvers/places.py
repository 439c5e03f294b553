"""A small problem with hidden parts, solved by enumeration."""

import numpy as np

from partwise.objective import Formulation, Objective
from partwise.testing.enumeration import Planes, minimum
from partwise.testing.toys import ToyPlaces, toy_places


def posed(n=40, seed=0, C=5.0, rescaling="margin", penalty="l1", **sizes):
    X, Y = toy_places(n, seed, **sizes)
    structure = ToyPlaces().setup(X, Y)
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
