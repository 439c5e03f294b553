"""Latent fits: restarts at the same time, with checkpoints, and starts of users."""

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


def test_motifs_begin_at_known_places():
    X, y, positions = planted_motifs(60, noise=0.2, random_state=4)
    settings = {"length": 8, "order": 0, "restarts": 1, "max_iter": 1}
    known = MotifClassifier(**settings).fit(X, y, completions=positions)
    again = MotifClassifier(**settings).fit(X, y, weights=known.coef_)
    blind = MotifClassifier(**settings, seeds=0).fit(X, y)
    has_motif = y == 1
    rights = [
        (each.positions(X) == positions)[has_motif].mean()
        for each in (known, again, blind)
    ]
    assert min(rights[:2]) > 0.8 > 0.3 > rights[2]
    wrong = positions.copy()
    wrong[np.flatnonzero(has_motif)[0]] = 53
    for settings, message in (
        ({"completions": wrong}, "place 53 of sequence"),
        ({"completions": positions[:9]}, "9 places for 60 sequences"),
        ({"weights": np.ones(3)}, "give 36 finite numbers"),
        ({"weights": known.coef_, "completions": positions}, "not both"),
    ):
        with pytest.raises(ValueError, match=message):
            MotifClassifier(length=8, order=0).fit(X, y, **settings)


def test_clusterers_begin_at_known_links():
    X, y = toy_clusters(12)
    last = [np.zeros(len(pairs), bool) for _, pairs, _ in X]
    for chosen, (_, pairs, _), labels in zip(last, X, y, strict=True):
        seen = set()  # each item with the first of its cluster
        for k, (a, b) in enumerate(np.asarray(pairs).tolist()):
            first = int(np.flatnonzero(labels == labels[b])[0])
            chosen[k] = a == first and labels[a] == labels[b] and b not in seen
            seen |= {b} if chosen[k] else set()
    given = SupervisedClusterer(max_iter=1).fit(X, y, completions=last)
    plain = SupervisedClusterer(max_iter=1).fit(X, y)
    assert given.certificate_.primal != plain.certificate_.primal
    weights = np.append(plain.coef_, plain.intercept_)
    warm = SupervisedClusterer(max_iter=1).fit(X, y, weights=weights)
    assert warm.certificate_.primal <= plain.certificate_.primal * (1 + 1e-9)
    last[3][:] = True
    with pytest.raises(ValueError, match="completions of document 3: give a bool"):
        SupervisedClusterer().fit(X, y, completions=last)


def test_rankers_begin_at_given_orders_or_weights():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(120, 4))
    y = (X[:, 0] + rng.normal(size=120) > 0.8).astype(int)
    settings = {"measure": "precision_at_k", "k": 2, "max_iter": 1, "C": 20.0}
    groups = np.arange(120) // 12
    latent = Ranker(latent=True, **settings)
    by_score = latent.fit(X, y, groups, completions=X[:, 0]).coef_
    by_weights = latent.fit(X, y, groups, weights=[1.0, 0, 0, 0]).coef_
    against = latent.fit(X, y, groups, completions=-X[:, 0]).coef_
    assert by_score[0] > against[0] and by_weights[0] > against[0]
    with pytest.raises(ValueError, match="latent=True"):
        Ranker(**settings).fit(X, y, groups, weights=[1.0, 0, 0, 0])
