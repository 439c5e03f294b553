"""Chains against peers: python-crfsuite's likelihood, and the max-margin Markov net."""

import clarabel
import numpy as np
import pycrfsuite
import pytest
from scipy import sparse

from partwise import SequenceTagger
from partwise.datasets import toy_entities
from partwise.features.arrays import as_features
from partwise.objective import Formulation, Objective
from partwise.solvers.bcfw import BCFW
from partwise.structures.chain import Chain


def test_log_loss_has_the_optimum_of_crfsuite(tmp_path):
    """C/n = 1/(2·c2): the same objective, hence the same transition weights."""
    X, y = toy_entities(40, random_state=1)
    items = [[{"w": word, "t": tag} for word, tag in sentence] for sentence in X]
    c2 = 0.5
    trainer = pycrfsuite.Trainer(
        "lbfgs",
        {"c1": 0.0, "c2": c2, "epsilon": 1e-9, "delta": 1e-12, "period": 50,
         "feature.possible_states": True, "feature.possible_transitions": True},
        verbose=False,
    )  # fmt: skip
    for item, labels in zip(items, y, strict=True):
        trainer.append(item, labels)
    trainer.train(str(tmp_path / "peer"))
    peer = pycrfsuite.Tagger()
    peer.open(str(tmp_path / "peer"))
    ours = SequenceTagger(len(X) / (2 * c2), loss="log", tol=1e-8).fit(items, y)
    loss = trainer.logparser.last_iteration["loss"]
    assert ours.certificate_.primal * 2 * c2 == pytest.approx(loss, rel=1e-4)
    weights = peer.info().transitions
    for i, a in enumerate(ours.classes_):
        for j, b in enumerate(ours.classes_):
            expected = weights.get((a, b), 0.0)
            assert ours.transitions_[i, j] == pytest.approx(expected, abs=2e-3)


def markov_net_optimum(X, Y, n_labels, C):
    """The M³N dual over the marginal polytope (Taskar et al. 2004), by Clarabel.

    Variables are node and edge marginals of each sequence, scaled by C/n:
    maximise Σ μ·Δ − ½‖Σ_i φ(y_i)·C/n − Σ μ φ‖² subject to local consistency, which is
    exact for chains.
    """
    n, n_features = len(X), X[0].shape[1]
    size = n_features * n_labels + n_labels**2
    columns, gain, rows, right = [], [], [], []
    truth = np.zeros(size)

    def variable(vector, loss):
        columns.append(vector)
        gain.append(loss)
        return len(columns) - 1

    for x, y in zip(X, Y, strict=True):
        nodes, edges = [], []
        for t, row in enumerate(x):
            here = []
            for label in range(n_labels):
                vector = np.zeros(size)
                emission = vector[: n_features * n_labels].reshape(-1, n_labels)
                emission[:, label] = row
                here.append(variable(vector, float(label != y[t])))
                if label == y[t]:
                    truth += C / n * vector
            nodes.append(here)
            if t > 0:
                table = []
                for a in range(n_labels):
                    for b in range(n_labels):
                        vector = np.zeros(size)
                        vector[n_features * n_labels + a * n_labels + b] = 1.0
                        table.append(variable(vector, 0.0))
                        if (a, b) == (y[t - 1], y[t]):
                            truth += C / n * vector
                edges.append(np.reshape(table, (n_labels, n_labels)))
        rows.append(dict.fromkeys(nodes[0], 1.0))
        right.append(C / n)
        for t, table in enumerate(edges, 1):
            for label in range(n_labels):
                into = dict.fromkeys(map(int, table[:, label]), 1.0)
                rows.append(into | {nodes[t][label]: -1.0})
                out = dict.fromkeys(map(int, table[label]), 1.0)
                rows.append(out | {nodes[t - 1][label]: -1.0})
                right += [0.0, 0.0]
    A = np.array(columns).T  # (size, n_variables)
    m = A.shape[1]
    equal = np.zeros((len(rows), m))
    for r, row in enumerate(rows):
        equal[r, list(row)] = list(row.values())
    solver = clarabel.DefaultSolver(
        sparse.csc_matrix(np.triu(A.T @ A)),
        -np.array(gain) - A.T @ truth,
        sparse.csc_matrix(np.vstack([equal, -np.eye(m)])),
        np.concatenate([right, np.zeros(m)]),
        [clarabel.ZeroConeT(len(rows)), clarabel.NonnegativeConeT(m)],
        _quiet(),
    )
    return -solver.solve().obj_val - 0.5 * truth @ truth


def _quiet():
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    return settings


@pytest.mark.parametrize("seed", [0, 1])
def test_optimum_is_that_of_the_max_margin_markov_network(seed):
    rng = np.random.default_rng(seed)
    X = [rng.normal(size=(n, 3)) for n in (4, 3, 5, 2)]
    Y = [rng.integers(0, 3, size=len(x)) for x in X]
    problem = Chain(3).pack(as_features(X), np.concatenate(Y), Formulation())
    state = BCFW(tol=1e-8).solve(problem, Objective.create(4.0, 4, "l1"))
    expected = markov_net_optimum(X, Y, 3, 4.0)
    assert state.primal == pytest.approx(expected, rel=1e-6)
