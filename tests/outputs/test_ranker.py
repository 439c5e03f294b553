import json

import numpy as np
import pytest
import pytrec_eval
from scipy.sparse import csr_matrix
from sklearn.base import clone
from sklearn.metrics import (
    average_precision_score,
    ndcg_score,
    precision_recall_curve,
)
from sklearn.svm import LinearSVC

from partwise import Ranker, Ranking
from partwise.certificate import certify
from partwise.cli.app import run
from partwise.metrics.rankings import query_measures, ranked_queries
from partwise.outputs.ranking.estimator import first_weights
from partwise.outputs.ranking.metrics import all_measures
from partwise.report.curves import mean_precision

MEASURES = (
    "swapped_pairs", "average_precision", "reciprocal_rank", "ndcg", "precision_at_k",
)  # fmt: skip


def queries(n=12, size=9, seed=0, noise=0.3):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n * size, 4))
    quality = X[:, 0] - 0.5 * X[:, 1] + noise * rng.normal(size=len(X))
    return X, np.digitize(quality, [0.5, 1.3]), np.arange(len(X)) // size


@pytest.mark.parametrize("measure", MEASURES)
@pytest.mark.parametrize("matrix", [np.asarray, csr_matrix])
def test_every_measure_learns_to_rank(measure, matrix):
    X, y, groups = queries()
    ranker = Ranker(measure=measure, k=5).fit(matrix(X), y, groups=groups)
    assert ranker.certificate_.relative_gap <= 1e-3
    new = queries(seed=1)
    assert ranker.score(*new) > 0.8 if measure != "precision_at_k" else 0.4
    assert np.allclose(ranker.predict(matrix(X)), X @ ranker.coef_)


def test_swapped_pairs_are_a_classifier_of_differences():
    X, y, groups = queries(n=1, size=8)
    y = (y > 0).astype(int)
    C = 20.0
    ours = Ranker(C=C, tol=1e-7).fit(X, y, groups=groups)
    pairs = np.array([a - b for a in X[y == 1] for b in X[y == 0]])
    both, sign = np.vstack([pairs, -pairs]), np.repeat([1, -1], len(pairs))
    # ξ = mean over pairs of max(0, 1 − <w, x_i − x_j>)
    peer = LinearSVC(
        loss="hinge", C=C / len(pairs) / 2, fit_intercept=False, tol=1e-9,
        max_iter=10**6,
    ).fit(both, sign)  # fmt: skip
    assert np.allclose(ours.coef_, peer.coef_[0], atol=2e-3)


def test_metrics_agree_with_scikit_learn():
    X, y, groups = queries()
    scores = X[:, 0]
    actual = all_measures(y, scores, np.arange(13) * 9)
    each = [(y[groups == q], scores[groups == q]) for q in range(12)]
    gains = [ndcg_score([2.0**g - 1], [s], k=10) for g, s in each]
    precision = [average_precision_score(g > 0, s) for g, s in each]
    assert actual["ndcg@10"] == pytest.approx(np.mean(gains))
    assert actual["map"] == pytest.approx(np.mean(precision))


def test_metrics_agree_with_trec_eval():
    X, y, groups = queries(n=15, size=12, seed=3)
    y[groups == 4] = 0  # a query without relevant rows counts zero
    scores = X[:, 0] + 0.01 * np.arange(len(y))  # no ties, which trec_eval breaks by id
    names = [f"row{r}" for r in range(len(y))]
    # its NDCG has the grades as gains
    truth, ranking = (
        {
            str(q): {names[r]: make(values[r]) for r in np.flatnonzero(groups == q)}
            for q in range(15)
        }
        for values, make in ((2**y - 1, int), (scores, float))
    )
    peer = pytrec_eval.RelevanceEvaluator(
        truth, {"map", "recip_rank", "ndcg_cut.10", "P.1,3,5,10"}
    ).evaluate(ranking)
    actual = all_measures(y, scores, np.arange(16) * 12)
    for ours, theirs in {
        "map": "map", "mrr": "recip_rank", "ndcg@10": "ndcg_cut_10", "p@1": "P_1",
        "p@3": "P_3", "p@5": "P_5", "p@10": "P_10",
    }.items():  # fmt: skip
        mean = np.mean([values[theirs] for values in peer.values()])
        assert actual[ours] == pytest.approx(mean)


def test_precision_at_a_recall_is_the_largest_from_there_on():
    X, y, groups = queries(n=15, size=12, seed=3)
    y[groups == 4] = 0
    expected = np.zeros(11)
    for q in set(range(15)) - {4}:
        rows = groups == q
        precision, recall, _ = precision_recall_curve(y[rows] > 0, X[rows, 0])
        for k in range(11):
            expected[k] += precision[:-1][recall[:-1] >= k / 10 - 1e-9].max() / 15
    ranked = ranked_queries(y, X[:, 0], np.arange(16) * 12)
    actual = np.array(mean_precision(ranked))
    assert np.allclose(actual, np.transpose([np.arange(11) / 10, expected]))


def test_swapped_pairs_are_counted_one_by_one():
    rng = np.random.default_rng(0)
    _, y, groups = queries(n=6)
    y = y * 1.0
    y[groups == 2] = 1.0  # no pairs
    scores = rng.integers(0, 4, size=len(y))
    expected = []
    for q in range(6):
        g, s = y[groups == q], scores[groups == q]
        pairs = [(i, j) for i in range(9) for j in range(9) if g[i] > g[j]]
        wrong = [float(s[i] < s[j]) + 0.5 * float(s[i] == s[j]) for i, j in pairs]
        expected.append(np.mean(wrong) if pairs else 0.0)
    actual = query_measures(y, scores, np.arange(7) * 9)["swapped_pairs"]
    assert np.allclose(actual, expected)


@pytest.mark.parametrize(
    ("settings", "of_query"),
    [
        ({}, lambda g, s, r: 1 - Ranking().loss(g, s)),
        ({"loss": "log"}, lambda g, s, r: 1 - Ranking().loss(g, s)),
        (
            {"measure": "average_precision"},
            lambda g, s, r: average_precision_score(g > 0, s) if g.any() else 0.0,
        ),
        (
            {"measure": "reciprocal_rank"},
            lambda g, s, r: 1 / (1 + np.argmax(g[r] > 0)) if g.any() else 0.0,
        ),
        (
            {"measure": "precision_at_k", "k": 4},
            lambda g, s, r: np.mean(g[r[:4]] > 0),
        ),
        ({"measure": "ndcg", "k": 3},
         lambda g, s, r: ndcg_score([2.0**g - 1], [s], k=3)),
        ({"measure": "ndcg"}, lambda g, s, r: ndcg_score([2.0**g - 1], [s])),
        ({"measure": "ndcg_pairs", "k": 2},
         lambda g, s, r: ndcg_score([2.0**g - 1], [s], k=2)),
    ],
)  # fmt: skip
def test_score_is_the_measure_that_was_trained(settings, of_query):
    X, y, groups = queries(noise=2.0)
    new_X, new_y, _ = queries(noise=2.0, seed=1)
    ranker = Ranker(**settings).fit(X, y, groups=groups)
    scores = ranker.predict(new_X)
    each = []
    for q in range(12):
        g, s = new_y[groups == q], scores[groups == q]
        each.append(of_query(g, s, np.argsort(-s)))
    assert ranker.score(new_X, new_y, groups=groups) == pytest.approx(np.mean(each))
    assert len(set(each)) > 2  # the data tell measures apart


def test_weights_of_places_are_chosen(tmp_path):
    X, y, groups = queries()
    settings = {"measure": "ndcg", "k": 3, "C": 60.0}
    given = Ranker(place_weights=[3.0, 2.0, 0.5], **settings).fit(X, y, groups=groups)
    assert given.certificate_.relative_gap <= 1e-3
    plain = Ranker(**settings).fit(X, y, groups=groups)
    assert not np.allclose(given.coef_, plain.coef_, atol=1e-3)
    same = Ranker(place_weights=lambda r: [3.0, 2.0, 0.5][r - 1], **settings)
    same.fit(X, y, groups=groups)
    assert np.array_equal(same.coef_, given.coef_)
    # the discounts themselves, found by assignment instead of by sorting
    discounts = Ranker(place_weights=lambda r: 1 / np.log2(1 + r), **settings)
    discounts.fit(X, y, groups=groups)
    assert discounts.certificate_.primal == pytest.approx(
        plain.certificate_.primal, rel=2e-3
    )
    same.save(tmp_path / "m")
    again = Ranker.load(tmp_path / "m")
    assert again.get_params()["place_weights"] == [3.0, 2.0, 0.5]
    with pytest.raises(ValueError, match="weighs pairs; leave place_weights= out"):
        Ranker(place_weights=[1.0]).fit(X, y, groups=groups)
    for bad in ([1.0, 2.0, 3.0], [1.0, 0.5]):
        with pytest.raises(ValueError, match="do not rise for 3 places"):
            Ranker(place_weights=bad, **settings).fit(X, y, groups=groups)
    endless = Ranker(measure="ndcg", place_weights=lambda r: 1 / r)
    with pytest.raises(ValueError, match="a function cannot be kept"):
        endless.fit(X, y, groups=groups).save(tmp_path / "m")


def test_lists_and_groups_in_any_order_are_the_same():
    X, y, groups = queries()
    one = Ranker().fit(X, y, groups=groups)
    lists = [X[groups == q] for q in range(12)], [y[groups == q] for q in range(12)]
    assert np.array_equal(Ranker().fit(*lists).coef_, one.coef_)
    assert np.array_equal(np.concatenate(one.predict(lists[0])), one.predict(X))
    order = np.random.default_rng(0).permutation(len(y))
    other = Ranker().fit(X[order], y[order], groups=groups[order])
    assert other.certificate_.primal == pytest.approx(one.certificate_.primal, rel=2e-3)
    two = Ranker(n_jobs=2).fit(X, y, groups=groups)
    assert np.array_equal(two.coef_, one.coef_)


def test_files_and_bad_input(tmp_path):
    X, y, groups = queries()
    ranker = Ranker(measure="ndcg", k=3).fit(X, y, groups=groups)
    ranker.save(tmp_path / "m")
    again = Ranker.load(tmp_path / "m")
    assert np.array_equal(again.predict(X), ranker.predict(X))
    assert again.get_params()["k"] == 3
    for bad, message in (
        ({"measure": "map"}, "measure='map': choose from"),
        ({"measure": "precision_at_k"}, "needs k="),
        ({"k": 0}, "k=0"),
    ):
        with pytest.raises(ValueError, match=message):
            Ranker(**bad).fit(X, y, groups=groups)
    with pytest.raises(ValueError, match="groups has shape"):
        Ranker().fit(X, y, groups=groups[:5])


def test_the_command_line(tmp_path, capsys):
    for name, seed in (("train", 0), ("new", 1)):
        lines = [
            f"{grade} qid:{q} " + " ".join(f"{k}:{v:.3f}" for k, v in enumerate(x, 1))
            for x, grade, q in zip(*queries(seed=seed), strict=True)
        ]
        (tmp_path / f"{name}.dat").write_text("\n".join(lines) + "\n")
    train, new, model = (tmp_path / n for n in ("train.dat", "new.dat", "m"))

    def ask(*arguments):
        assert run([*map(str, arguments), "--json"]) == 0
        return json.loads(capsys.readouterr().out)

    done = ask(
        "train", "rank", train, "--model", model, "--measure", "ndcg", "--dev", new,
        "--report", tmp_path / "r.html",
    )  # fmt: skip
    assert "average precision against queries" in (tmp_path / "r.html").read_text()
    assert done["dev"]["ndcg@10"] > 0.8
    assert {"ndcg", "swapped_pairs", "mrr"} < set(done["dev"])
    assert ask("evaluate", model, new)["metrics"] == done["dev"]
    told = ask("explain", model, new, "--query", 3)
    X, _, _ = queries(seed=1)
    scores = Ranker.load(model).predict(np.hstack([np.zeros((108, 1)), X.round(3)]))
    best, second = 27 + np.argsort(-scores[27:36])[:2]
    assert (told["winner"], told["runner_up"]) == ([f"row {best}"], [f"row {second}"])
    assert run(["explain", str(model), str(new), "--query", "99"]) == 2
    assert "--query 99: the data has no qid:99" in capsys.readouterr().err
    settings = ["--measure", "precision_at_k", "--k", 7]
    done = ask("train", "rank", train, "--model", model, "--dev", new, *settings)
    assert "p@7" in done["dev"]
    ask("train", "rank", train, "--model", model, "--measure", "ndcg")
    assert len(ask("predict", model, new)["scores"]) == 108
    assert ask("verify", model, train)["holds"]
    assert ask("inspect", model)["measure"] == "ndcg"
    (tmp_path / "plain.dat").write_text("1 1:2\n")
    bad = ["train", "rank", str(tmp_path / "plain.dat"), "--model", str(model)]
    assert run(bad) == 2
    assert "no qid" in capsys.readouterr().err


def noisy_queries(n=30, signal=1.0, seed=0):
    rng = np.random.default_rng(seed)
    X = [rng.normal(size=(12, 4)) for _ in range(n)]
    y = [(signal * x[:, 0] + rng.normal(size=12) > 0.8).astype(int) for x in X]
    return X, y


def test_latent_precision_at_k_goes_on_from_a_classifier():
    X, y = noisy_queries()
    ranker = Ranker(measure="precision_at_k", k=3, latent=True, C=300.0).fit(X, y)
    objectives = [done.objective for done in ranker.rounds_]
    assert len(objectives) > 1
    assert objectives == sorted(objectives, reverse=True)
    assert ranker.certificate_.is_local
    primal = [point.primal for point in ranker.history_]
    assert primal == sorted(primal, reverse=True)
    rows, grades = np.vstack(X), np.concatenate(y)
    offset = np.arange(0, len(rows) + 1, 12)
    first = first_weights(rows, grades, offset)
    problem = ranker.model_.training_problem(rows, grades, offset)
    at_start = problem.expand(first)
    problem.complete(at_start)
    begun = certify(problem, ranker.objective_, at_start).primal
    assert ranker.certificate_.primal <= begun * (1 + 1e-9)


def test_random_relevant_rows_as_a_start_give_zero_weights():
    """The remark of the paper, where a classifier as a start finds what there is.

    A quarter of the relevant rows can be told from the others; random ones are mostly
    of the rest.
    """
    rng = np.random.default_rng(0)
    X, y = [], []
    for _ in range(30):
        x, grades = rng.normal(size=(40, 5)), np.arange(40) < 20
        x[:20, 0] -= 1.0
        x[:5, 0] += 6.0
        order = rng.permutation(40)
        X.append(x[order])
        y.append(grades[order].astype(float))
    ranker = Ranker(measure="precision_at_k", k=3, latent=True, C=3.0)
    scores = rng.random(1200)
    from_random = clone(ranker).fit(X, y, completions=scores)
    from_classifier = clone(ranker).fit(X, y)
    assert not from_random.coef_.any()
    assert from_random.certificate_.primal == pytest.approx(3.0)  # C times the loss 1
    assert from_classifier.certificate_.primal < 0.2
    assert from_classifier.coef_[0] > 0.3


def test_latent_rankers_survive_files(tmp_path):
    X, y = noisy_queries(10)
    ranker = Ranker(measure="precision_at_k", k=2, latent=True).fit(X, y)
    ranker.save(tmp_path / "m")
    assert Ranker.load(tmp_path / "m").latent
    with pytest.raises(ValueError, match="does not depend on the order of equal rows"):
        Ranker(latent=True).fit(X, y)


def test_cross_entropy_of_first_places():
    rng = np.random.default_rng(2)
    X = [rng.normal(size=(n, 3)) for n in (1, 4, 2)]
    y = [rng.integers(0, 3, size=len(x)).astype(float) for x in X]
    problem = Ranking().setup(X, y).pack(X, y)
    weight, w = np.array([0.5, 2.0, 1.0]), rng.normal(size=3)
    loss, gradient = problem.log_likelihood(problem.expand(w), weight)
    for x, grades, value in zip(X, y, loss, strict=True):
        p = np.exp(x @ w) / np.exp(x @ w).sum()
        q = np.exp(grades) / np.exp(grades).sum()
        assert value == pytest.approx(-(q * np.log(p)).sum())
    for k, slope in enumerate(problem.compact(gradient)):
        values = []
        for step in (1e-6, -1e-6):
            moved = w.copy()
            moved[k] += step
            losses, _ = problem.log_likelihood(problem.expand(moved), weight)
            values.append(float(weight @ losses))
        assert slope == pytest.approx((values[0] - values[1]) / 2e-6, abs=1e-5)
    large, _ = problem.log_likelihood(problem.expand(1e6 * w), weight)
    assert np.isfinite(large).all()


def test_listnet_ranks(tmp_path):
    X, y, groups = queries()
    ranker = Ranker(loss="log").fit(X, y, groups=groups)
    assert ranker.certificate_.relative_gap <= 1e-3
    assert ranker.score(*queries(seed=1)) > 0.8
    ranker.save(tmp_path / "m")
    again = Ranker.load(tmp_path / "m")
    assert again.loss == "log" and (again.predict(X) == ranker.predict(X)).all()
    with pytest.raises(ValueError, match="no hidden orders"):
        Ranker(measure="ndcg", latent=True, loss="log").fit(X, y, groups=groups)
