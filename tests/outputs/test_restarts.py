"""Restarts of latent fits: at the same time, and with checkpoints."""

import numpy as np
import pytest

from partwise import (
    GraphLabeler,
    MotifClassifier,
    Ranker,
    SequenceTagger,
    SupervisedClusterer,
)
from partwise.datasets import (
    planted_motifs,
    toy_clusters,
    toy_entities,
    toy_graphs,
)
from partwise.protocol import Forking, offers
from partwise.solvers.cccp import CCCP


def hidden_half(y):
    rng = np.random.default_rng(0)
    return [[a if rng.random() < 0.5 else None for a in row] for row in y]


def motifs(**settings):
    X, y, _ = planted_motifs(40, random_state=1)
    return MotifClassifier(length=8, order=0, restarts=3, **settings).fit(X, y)


def clusters(**settings):
    return SupervisedClusterer(restarts=3, **settings).fit(*toy_clusters(12))


def ranker(**settings):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(120, 4))
    y = (X[:, 0] + rng.normal(size=120) > 0.8).astype(int)
    estimator = Ranker(
        measure="precision_at_k", k=3, latent=True, solver=CCCP(restarts=3), **settings
    )
    return estimator.fit(X, y, groups=np.arange(120) // 12)


def tagger(**settings):
    X, y = toy_entities(20, random_state=3)
    estimator = SequenceTagger(solver=CCCP(restarts=3, tol=0.01), **settings)
    return estimator.fit(X, hidden_half(y))


def graphs(**settings):
    X, y = toy_graphs(12, random_state=0)
    estimator = GraphLabeler(solver=CCCP(restarts=3, tol=0.01), **settings)
    return estimator.fit(X, hidden_half(y))


@pytest.mark.parametrize("fit", [motifs, clusters, ranker, tagger, graphs])
def test_runs_at_the_same_time_have_the_bits_of_runs_in_turn(
    fit, monkeypatch, tmp_path
):
    forks = []

    def solve(self, problem, *args, inner=CCCP.solve, **reporting):
        if self.restarts > 1:
            forks.append(offers(problem, Forking))
        return inner(self, problem, *args, **reporting)

    monkeypatch.setattr(CCCP, "solve", solve)
    one, two = fit(n_jobs=1), fit(n_jobs=2)
    third = fit(checkpoint=tmp_path / "run", checkpoint_every=1e-9)
    assert forks == [True] * 3
    for other in (two, third):
        np.testing.assert_array_equal(one.coef_, other.coef_)
        assert one.certificate_.note == other.certificate_.note
        assert one.certificate_.primal == other.certificate_.primal
    assert "best of 3 runs with objectives" in one.certificate_.note
    assert not (tmp_path / "run").exists()  # deleted at the end of a fit
