import json
from itertools import product

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.sparse import csr_matrix
from sklearn.metrics import (
    accuracy_score,
    average_precision_score,
    balanced_accuracy_score,
    f1_score,
    fbeta_score,
    precision_recall_curve,
    precision_score,
    recall_score,
    roc_auc_score,
    roc_curve,
)
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.svm import LinearSVC
from sklearn.utils.estimator_checks import check_estimator

from partwise import MeasureClassifier
from partwise.cli.app import run
from partwise.datasets import toy_points
from partwise.kernels import RBF, Nystroem, RandomFourier
from partwise.kernels.base import same_kernel
from partwise.outputs.measure.metrics import all_measures
from partwise.report.curves import precision_recall, roc
from partwise.structures.label_vector import LabelVector
from partwise.structures.label_vector.thresholds import best_threshold


def rare(n, seed=0):
    """One positive in ten, overlapping with the others."""
    rng = np.random.default_rng(seed)
    y = (np.arange(n) % 10 == 0).astype(int)
    X = rng.normal(size=(n, 5))
    X[:, :2] += 2.2 * y[:, None]
    return X, y


def test_scikit_learn_calls_it_a_classifier():
    check_estimator(MeasureClassifier(max_iter=50))


@pytest.mark.parametrize(
    "measure",
    ["f1", "fbeta", "prbep", "roc_auc", "precision_at_k", "recall_at_k", "error",
     "balanced_error", "average_precision"],
)  # fmt: skip
@pytest.mark.parametrize("matrix", [np.asarray, csr_matrix])
def test_every_measure_has_a_closed_gap(measure, matrix):
    X, y = rare(200)
    classifier = MeasureClassifier(measure=measure, beta=2.0, k=15).fit(matrix(X), y)
    assert classifier.certificate_.relative_gap <= 1e-3
    assert classifier.predict(matrix(X)).shape == y.shape
    plain = X @ classifier.coef_[0] + classifier.intercept_[0]
    assert np.allclose(classifier.decision_function(matrix(X)), plain)


def test_error_is_the_linear_svm():
    X, y = rare(150)
    C = 30.0
    ours = MeasureClassifier(measure="error", C=C, fit_intercept=False, tol=1e-6)
    ours.fit(X, y)
    peer = LinearSVC(
        loss="hinge", C=4 * C / len(X), fit_intercept=False, tol=1e-8, max_iter=10**6
    ).fit(X, y)
    assert np.allclose(2 * ours.coef_, peer.coef_, atol=2e-3)


def test_the_objective_of_svm_perf_on_numbers():
    """SVM-perf: losses in percent, a feature that is 1, and half our Ψ."""
    X, y = rare(8, seed=5)
    X, y = X[:, :2], np.array([1, -1, 1, -1, -1, -1, 1, -1])
    c = 0.03
    structure = LabelVector("f1")
    wide = np.hstack([X, np.ones((8, 1))])
    outputs = [np.array(o) for o in product((-1, 1), repeat=8) if tuple(o) != tuple(y)]
    delta = np.array([100 * structure.loss(y, o) for o in outputs])
    change = np.array([50 * wide.T @ (y - o) / 8 for o in outputs])
    actual = minimize(
        lambda z: 0.5 * z[:-1] @ z[:-1] + c * z[-1], np.append(np.zeros(3), 100.0),
        constraints={"type": "ineq", "fun": lambda z: z[-1] - delta + change @ z[:-1]},
        method="SLSQP", options={"ftol": 1e-12, "maxiter": 500},
    )  # fmt: skip
    ours = MeasureClassifier(measure="f1", C=25 * c, tol=1e-8).fit(X, y)
    assert actual.success
    assert 0.05 < actual.fun < 100 * c - 0.01  # neither end of the range of C
    assert 4 * ours.certificate_.primal == pytest.approx(actual.fun, rel=1e-5)
    weights = np.append(ours.coef_[0], ours.intercept_[0] + ours.threshold_)
    assert np.allclose(2 * weights, actual.x[:-1], atol=1e-3)


def test_roc_area_of_svm_perf_has_no_half():
    """SVM-perf: ½‖v‖² + c·100·(share of pairs with 1 > <v, x_i − x_j>, by hinges)."""
    X, y = rare(40, seed=3)
    c = 0.05
    pairs = (X[y == 1][:, None] - X[y != 1][None]).reshape(-1, X.shape[1])
    sign = np.where(np.arange(len(pairs)) % 2, 1, -1)
    svm = LinearSVC(
        loss="hinge", C=100 * c / len(pairs), fit_intercept=False, tol=1e-8,
        max_iter=1_000_000,
    ).fit(pairs * sign[:, None], sign)  # fmt: skip
    v = svm.coef_[0]
    value = 0.5 * v @ v + 100 * c * np.maximum(1 - pairs @ v, 0).mean()
    ours = MeasureClassifier(
        measure="roc_auc", C=100 * c, tol=1e-6, fit_intercept=False
    ).fit(X, y)
    assert ours.certificate_.primal == pytest.approx(value, rel=1e-4)
    assert np.allclose(ours.coef_[0], v, atol=1e-2)


def test_weights_of_rows_are_how_often_they_count():
    X, y = rare(60)
    times = np.random.default_rng(0).integers(0, 4, size=60)
    times[:11] = 1
    rows = np.repeat(np.arange(60), times)
    for measure in ("f1", "roc_auc"):
        weighted = MeasureClassifier(measure=measure).fit(X, y, sample_weight=times)
        repeated = MeasureClassifier(measure=measure).fit(X[rows], y[rows])
        assert np.array_equal(weighted.coef_, repeated.coef_)
        assert weighted.threshold_ == repeated.threshold_
    with pytest.raises(ValueError, match="this measure counts rows, so give whole"):
        MeasureClassifier().fit(X, y, sample_weight=np.full(60, 0.5))
    with pytest.raises(ValueError, match="numbers of at least zero"):
        MeasureClassifier().fit(X, y, sample_weight=np.where(times == 3, -1, times))


@pytest.mark.parametrize("kernel", [None, "linear"])
def test_error_with_weights_is_the_weighted_linear_svm(kernel):
    X, y = rare(150)
    weight = np.random.default_rng(0).uniform(0.0, 3.0, size=150)
    weight[:20] = 0.0
    settings = {"measure": "error", "fit_intercept": False, "tol": 1e-6}
    ours = MeasureClassifier(kernel=kernel, **settings)
    ours.fit(X, y, sample_weight=weight)  # by default C = Σ weight/4
    peer = LinearSVC(loss="hinge", fit_intercept=False, tol=1e-8, max_iter=10**6)
    peer.fit(X, y, sample_weight=weight)
    scores = ours.decision_function(X) + ours.threshold_
    assert np.allclose(2 * scores, peer.decision_function(X), atol=1e-2)


def test_balanced_error_with_weights():
    X, y = rare(150)
    weight = np.random.default_rng(0).uniform(0.0, 3.0, size=150)
    settings = {"measure": "balanced_error", "fit_intercept": False, "tol": 1e-6}
    C = 40.0
    ours = MeasureClassifier(C=C, **settings).fit(X, y, sample_weight=weight)
    # Δ = Σ cost·wrong, Ψ = Σ share·y·x: hinges 1 − 2·(share/cost)·y <w, x>
    total = np.array([weight[y == k].sum() for k in (0, 1)])
    cost, share = weight / total[y] / 2, weight / weight.sum()
    sign = np.where(y, 1, -1)
    margins = 2 * (share / cost * sign)[:, None] * X
    turn = np.where(np.arange(150) % 2, 1, -1)
    peer = LinearSVC(loss="hinge", fit_intercept=False, tol=1e-8, max_iter=10**6)
    peer.set_params(C=C).fit(turn[:, None] * margins, turn, sample_weight=cost)
    assert np.allclose(ours.coef_, peer.coef_, atol=1e-2)
    is_wrong = (ours.predict(X) != y) * weight
    errors = [is_wrong[y == k].sum() / total[k] for k in (0, 1)]
    actual = ours.score(X, y, sample_weight=weight)
    assert actual == pytest.approx(1 - np.mean(errors))
    # no other cut of the scores has a lower weighted error
    scores = ours.decision_function(X)
    for cut in np.quantile(scores, np.linspace(0, 1, 30)):
        other = ((scores > cut) != y) * weight
        assert np.mean([other[y == k].sum() / total[k] for k in (0, 1)]) >= np.mean(
            errors
        )


def test_whole_weights_of_errors_are_repeated_rows():
    X, y = rare(60)
    times = np.random.default_rng(0).integers(0, 4, size=60)
    times[:11] = 1
    rows = np.repeat(np.arange(60), times)
    settings = {"measure": "error", "tol": 1e-6}
    weighted = MeasureClassifier(**settings).fit(X, y, sample_weight=times)
    repeated = MeasureClassifier(**settings).fit(X[rows], y[rows])
    assert np.allclose(weighted.coef_, repeated.coef_, atol=2e-3)
    squared = MeasureClassifier(measure="error", penalty="l2")
    assert squared.fit(X, y, sample_weight=times).certificate_.relative_gap <= 1e-3
    with pytest.raises(ValueError, match="this measure counts rows"):
        squared.fit(X, y, sample_weight=times / 2)


def test_score_is_the_measure_that_was_trained():
    X, y = rare(300)
    X_new, y_new = rare(200, seed=1)
    weight = np.arange(200) % 3

    def best(scores, k):
        rows = np.argsort(-scores)[:k]
        return y_new[rows].sum()

    n_positive = y_new.sum()
    for settings, expected in (
        ({"measure": "f1"}, lambda p, s: f1_score(y_new, p)),
        ({"measure": "fbeta", "beta": 2.0}, lambda p, s: fbeta_score(y_new, p, beta=2)),
        ({"measure": "error"}, lambda p, s: accuracy_score(y_new, p)),
        ({"measure": "balanced_error"}, lambda p, s: balanced_accuracy_score(y_new, p)),
        ({"measure": "prbep"}, lambda p, s: best(s, n_positive) / n_positive),
        ({"measure": "precision_at_k", "k": 7}, lambda p, s: best(s, 7) / 7),
        ({"measure": "precision_at_k"}, lambda p, s: best(s, n_positive) / n_positive),
        ({"measure": "recall_at_k", "k": 7}, lambda p, s: best(s, 7) / n_positive),
        ({"measure": "roc_auc"}, lambda p, s: roc_auc_score(y_new, s)),
        (
            {"measure": "average_precision"},
            lambda p, s: average_precision_score(y_new, s),
        ),
        ({"measure": share_of_all}, lambda p, s: np.mean(p * y_new) / y_new.mean()),
    ):
        classifier = MeasureClassifier(**settings).fit(X, y)
        predicted = classifier.predict(X_new)
        scores = classifier.decision_function(X_new)
        value = classifier.score(X_new, y_new)
        assert value == pytest.approx(expected(predicted, scores)), settings
        repeated = classifier.score(
            np.repeat(X_new, weight, 0), np.repeat(y_new, weight)
        )
        assert classifier.score(X_new, y_new, weight) == pytest.approx(repeated)


def share_of_all(tp, fp, fn, tn):
    """Recall, minus nothing."""
    return tp / (tp + fn)


def test_grid_search_chooses_by_the_measure():
    X, y = rare(400)
    y = y ^ (np.random.default_rng(0).random(400) < 0.03)
    grid = {"C": [0.3, 30.0, 3000.0]}
    ours = GridSearchCV(MeasureClassifier(measure="roc_auc"), grid, cv=3).fit(X, y)
    named = GridSearchCV(
        MeasureClassifier(measure="roc_auc"), grid, cv=3, scoring="roc_auc"
    ).fit(X, y)
    for mine, theirs in zip(
        ours.cv_results_["mean_test_score"],
        named.cv_results_["mean_test_score"],
        strict=True,
    ):
        assert mine == pytest.approx(theirs)


@pytest.mark.parametrize("measure", ["roc_auc", "average_precision"])
def test_measures_of_orders_predict_as_many_positives_as_there_are(measure):
    X, y = rare(300)
    # a constant in the features, which cancels in Ψ, moves no label
    classifier = MeasureClassifier(measure=measure, C=300.0).fit(X + 3.0, y)
    assert classifier.predict(X + 3.0).sum() == y.sum()
    assert f1_score(y, classifier.predict(X + 3.0)) > 0.6
    scores = classifier.decision_function(X + 3.0) + classifier.threshold_
    assert np.allclose(scores, (X + 3.0) @ classifier.coef_[0])


def test_the_measure_is_what_gets_better():
    X, y = rare(3000)
    X_new, y_new = rare(3000, seed=1)
    f1, error = (
        MeasureClassifier(measure=measure, C=3000.0).fit(X, y)
        for measure in ("f1", "error")
    )
    assert np.linalg.norm(f1.coef_) > 1
    assert f1_score(y_new, f1.predict(X_new)) > 0.75
    # of the labels by sign, without tuned thresholds
    by_sign = [c.decision_function(X) + c.threshold_ > 0 for c in (f1, error)]
    assert f1_score(y, by_sign[0]) > f1_score(y, by_sign[1])


def test_thresholds_give_the_best_measure_of_all_cuts():
    rng = np.random.default_rng(3)
    for measure in ("f1", "error", "balanced_error"):
        y = np.where(rng.random(12) < 0.4, 1, -1)
        y[:2] = 1, -1
        scores = rng.integers(-3, 4, size=12).astype(float)
        structure = LabelVector(measure)
        cuts = [*(np.unique(scores) - 0.5), 99.0]
        losses = [structure.loss(y, np.where(scores > c, 1, -1)) for c in cuts]
        actual = np.where(scores > best_threshold(structure, y, scores), 1, -1)
        assert structure.loss(y, actual) == pytest.approx(min(losses))
    scores = rng.normal(size=12)
    actual = scores > best_threshold(LabelVector("prbep"), y, scores)
    assert actual.sum() == np.sum(y > 0)


def test_metrics_agree_with_scikit_learn():
    X, y = rare(120)
    scores = np.round(X[:, 0], 1)
    predicted = (scores > 0.5).astype(int)
    actual = all_measures(y, predicted, scores, LabelVector("fbeta", beta=0.5))
    expected = fbeta_score(y, predicted, beta=0.5)
    assert actual["f0.5"] == pytest.approx(expected)
    assert actual["error"] == pytest.approx(1 - accuracy_score(y, predicted))
    balanced = balanced_accuracy_score(y, predicted)
    assert actual["balanced_error"] == pytest.approx(1 - balanced)
    ranked = average_precision_score(y, scores)
    assert actual["average_precision"] == pytest.approx(ranked)
    assert actual["f1"] == pytest.approx(f1_score(y, predicted))
    assert actual["precision"] == pytest.approx(precision_score(y, predicted))
    assert actual["recall"] == pytest.approx(recall_score(y, predicted))
    assert actual["roc_auc"] == pytest.approx(roc_auc_score(y, scores))


def test_curves_agree_with_scikit_learn():
    X, y = rare(120)
    scores = np.round(X[:, 0], 1)  # ties
    false, true, _ = roc_curve(y, scores, drop_intermediate=False)
    assert np.allclose(np.array(roc(y, scores)).T, [false, true])
    precision, recall, _ = precision_recall_curve(y, scores)
    ours = np.array(precision_recall(y, scores)).T
    assert np.allclose(ours, [recall[-2::-1], precision[-2::-1]])


def test_a_function_of_the_table_is_a_measure():
    def jaccard(tp, fp, fn, tn):
        return tp / (tp + fp + fn) if tp + fp + fn > 0 else 0.0

    X, y = rare(100)
    classifier = MeasureClassifier(measure=jaccard).fit(X, y)
    assert classifier.certificate_.relative_gap <= 1e-3
    with pytest.raises(ValueError, match="cannot be kept in a file"):
        classifier.save("nowhere.model")


def test_files_labels_and_bad_input(tmp_path):
    X, y = toy_points(90)
    names = np.where(y == "red", "red", "other")
    classifier = MeasureClassifier(pos_label="other", measure="prbep").fit(X, names)
    assert classifier.classes_.tolist() == ["red", "other"]
    classifier.save(tmp_path / "m")
    again = MeasureClassifier.load(tmp_path / "m")
    assert np.array_equal(again.predict(X), classifier.predict(X))
    assert again.get_params()["measure"] == "prbep"
    assert "red" in str(again.explain(X[0], top=2))
    for bad, message in (
        ({"measure": "f2"}, "measure='f2'"),
        ({"pos_label": "blue"}, "pos_label='blue': y has other, red"),
        ({"k": 0}, "k=0"),
        ({"beta": -1.0}, "beta=-1.0"),
    ):
        with pytest.raises(ValueError, match=message):
            MeasureClassifier(**bad).fit(X, names)
    with pytest.raises(ValueError, match="binary"):
        MeasureClassifier().fit(X, y)
    with pytest.raises(ValueError, match="one class"):
        MeasureClassifier().fit(X, np.ones(90))


@pytest.mark.parametrize("measure", ["f1", "roc_auc", "average_precision"])
def test_kernels_and_random_features(measure, tmp_path):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(150, 2))
    y = (np.hypot(*X.T) < 0.6).astype(int)  # no line parts them
    settings = {"measure": measure, "C": 3000.0, "fit_intercept": False, "tol": 1e-4}
    bent = MeasureClassifier(**settings | {"kernel": "rbf:gamma=1"}).fit(X, y)
    assert roc_auc_score(y, bent.decision_function(X)) > 0.99
    # all rows as landmarks: the feature map of the kernel itself
    features = Nystroem("rbf:gamma=1", n_components=150, random_state=0)
    mapped = make_pipeline(features, MeasureClassifier(**settings)).fit(X, y)
    exact = mapped[-1].certificate_
    assert bent.certificate_.primal == pytest.approx(exact.primal, rel=1e-3)
    scores = mapped.decision_function(X) + mapped[-1].threshold_
    ours = bent.decision_function(X) + bent.threshold_
    assert np.corrcoef(scores, ours)[0, 1] > 0.999
    random = RandomFourier(gamma=1.0, n_components=600, random_state=0)
    near = make_pipeline(random, MeasureClassifier(**settings)).fit(X, y)
    assert near[-1].certificate_.primal == pytest.approx(exact.primal, rel=0.2)
    bent.save(tmp_path / "m")
    again = MeasureClassifier.load(tmp_path / "m")
    assert np.array_equal(again.decision_function(X), bent.decision_function(X))
    assert same_kernel(again.get_params()["kernel"], RBF(gamma=1.0))
    assert again.explain(X[0]).contributions[0].reason.startswith("row ")
    small = MeasureClassifier(**settings | {"kernel": "rbf:gamma=1", "budget": 20})
    small.fit(csr_matrix(X), y)
    assert small.coef_.shape[1] <= 20
    assert "on a budget of 20" in small.certificate_.note


def test_a_kernel_goes_on_with_its_last_model():
    X, y = rare(80)
    classifier = MeasureClassifier(kernel="rbf", warm_start=True, tol=1e-4).fit(X, y)
    first = classifier.certificate_.primal
    classifier.fit(X, y)
    assert classifier.certificate_.primal <= first * (1 + 1e-6)
    with pytest.raises(ValueError, match="another kernel"):
        classifier.set_params(kernel="linear").fit(X, y)
    with pytest.raises(ValueError, match="had a kernel"):
        classifier.set_params(kernel=None).fit(X, y)
    with pytest.raises(ValueError, match="budget= is for kernels"):
        MeasureClassifier(budget=3).fit(X, y)
    linear = MeasureClassifier(warm_start=True).fit(X, y)
    with pytest.raises(ValueError, match="which has 6 features, but X has 5"):
        linear.fit(X[:, :4], y)


def test_two_threads_give_the_same_bits():
    X, y = rare(300)
    one, two = (MeasureClassifier(n_jobs=n).fit(X, y) for n in (1, 2))
    assert np.array_equal(one.coef_, two.coef_)


def test_the_command_line(tmp_path, capsys):
    for name, seed in (("train", 0), ("new", 1)):
        X, y = rare(200, seed)
        rows = [
            f"{2 * label - 1} " + " ".join(f"{k + 1}:{v:.3f}" for k, v in enumerate(x))
            for x, label in zip(X, y, strict=True)
        ]
        (tmp_path / f"{name}.dat").write_text("\n".join(rows) + "\n")
    train, new, model = (tmp_path / n for n in ("train.dat", "new.dat", "m"))

    def ask(*arguments):
        assert run([*map(str, arguments), "--json"]) == 0
        return json.loads(capsys.readouterr().out)

    done = ask(
        "train", "measure", train, "--model", model, "--measure", "fbeta", "--beta", 2,
        "--dev", new, "--report", tmp_path / "r.html",
    )  # fmt: skip
    page = (tmp_path / "r.html").read_text()
    assert "precision against recall" in page and "true positives against" in page
    always = {
        "f1", "precision", "recall", "error", "balanced_error", "prbep", "roc_auc",
        "average_precision",
    }  # fmt: skip
    assert set(done["dev"]) == always | {"f2"} and ">f2<" in page
    assert ask("evaluate", model, new)["metrics"] == done["dev"]
    assert set(ask("predict", model, new)["labels"]) <= {-1, 1}
    assert ask("verify", model, train)["holds"]
    assert ask("inspect", model)["measure"] == "fbeta"
    assert ask("explain", model, new)["contributions"]
    settings = ["--measure", "recall_at_k", "--k", 25]
    done = ask("train", "measure", train, "--model", model, "--dev", new, *settings)
    assert set(done["dev"]) == always | {"recall@25"}
    rows = np.hstack([np.zeros((200, 1)), X.round(3)])  # svmlight's first column is 0
    assert done["dev"]["recall@25"] == MeasureClassifier.load(model).score(
        rows, 2 * y - 1
    )
    ask("train", "measure", train, "--model", model, "--kernel", "rbf")
    assert ask("verify", model, train)["holds"]
    assert ask("inspect", model)["kernel"]["kernel"] == "rbf.v1"
    assert ask("explain", model, new)["contributions"]
    assert len(ask("predict", model, new)["labels"]) == 200
    assert run(["predict", str(model), str(new), "--topk", "2"]) == 2
    options = ["--model", str(tmp_path / "x"), "--measure", "f3"]
    assert run(["train", "measure", str(train), *options]) == 2
    assert "--measure f3: choose from f1, fbeta" in capsys.readouterr().err
