import json

import numpy as np
import pytest
from scipy.sparse import csr_matrix
from sklearn.base import clone
from sklearn.datasets import load_digits
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.svm import LinearSVC
from sklearn.utils.estimator_checks import check_estimator

from partwise import MulticlassClassifier, load
from partwise.cli.app import run
from partwise.datasets import toy_points

# as scikit-learn lists them for LinearSVC
EXPECTED = {
    f"check_sample_weight_equivalence_on_{kind}_data": "solved to a tolerance: fits "
    "with weights and with repeated rows agree in the objective, not to 1e-7"
    for kind in ("dense", "sparse")
}


def test_scikit_learn_calls_it_a_classifier():
    check_estimator(MulticlassClassifier(), expected_failed_checks=EXPECTED)


def crammer_singer(W, X, y, c):
    scores = X @ W.T
    each = np.arange(len(y))
    margins = 1.0 - (scores[each, y][:, None] - scores)
    margins[each, y] = 0.0
    return 0.5 * np.sum(W**2) + c * margins.max(axis=1).sum()


@pytest.mark.parametrize("matrix", [np.asarray, csr_matrix])
@pytest.mark.parametrize("n_jobs", [1, 2])
def test_the_optimum_of_liblinear(matrix, n_jobs):
    X, y = load_digits(return_X_y=True)
    X, y = X[:400] / 16, y[:400]
    c = 0.1
    peer = LinearSVC(
        multi_class="crammer_singer", C=c, fit_intercept=False, tol=1e-6,
        max_iter=100_000,
    ).fit(X, y)  # fmt: skip
    ours = MulticlassClassifier(
        C=c * len(X), fit_intercept=False, tol=1e-6, n_jobs=n_jobs
    ).fit(matrix(X), y)
    best = crammer_singer(peer.coef_, X, y, c)
    assert crammer_singer(ours.coef_, X, y, c) == pytest.approx(best, rel=1e-4)
    assert ours.certificate_.primal == pytest.approx(best, rel=1e-4)
    assert ours.certificate_.dual <= best * (1 + 1e-9)


def test_two_threads_give_the_same_bits():
    X, y = toy_points(200)
    one, two = (MulticlassClassifier(n_jobs=n).fit(X, y) for n in (1, 2))
    assert np.array_equal(one.coef_, two.coef_)


def test_log_loss_is_logistic_regression():
    X, y = toy_points(120)
    c = 0.5
    ours = MulticlassClassifier(C=c * len(X), loss="log", tol=1e-9, fit_intercept=False)
    ours.fit(X, y)
    peer = LogisticRegression(C=c, fit_intercept=False, tol=1e-10, max_iter=10_000)
    peer.fit(X, y)
    assert np.allclose(ours.predict_proba(X), peer.predict_proba(X), atol=1e-4)
    assert not hasattr(MulticlassClassifier(), "predict_proba")


@pytest.mark.parametrize("formulation", ["margin", "slack"])
@pytest.mark.parametrize("penalty", ["l1", "l2"])
def test_every_formulation_has_a_closed_gap(formulation, penalty):
    X, y = toy_points(60)
    classifier = MulticlassClassifier(
        C=20.0, formulation=formulation, penalty=penalty, tol=1e-4,
        cost={("red", "green"): 3.0},
    ).fit(X, y)  # fmt: skip
    assert classifier.certificate_.relative_gap <= 1e-4


def test_costs_and_weights_move_the_decision():
    X, y = toy_points(300)
    plain = MulticlassClassifier().fit(X, y)
    costly = MulticlassClassifier(cost={("red", "blue"): 10.0, ("red", "green"): 10.0})
    weighted = MulticlassClassifier(class_weight={"red": 10.0})
    for other in (costly, weighted):
        other.fit(X, y)
        assert np.sum(other.predict(X) == "red") > np.sum(plain.predict(X) == "red")
    with pytest.raises(ValueError, match="shape"):
        MulticlassClassifier(cost=np.ones((2, 2))).fit(X, y)


def test_weights_are_repetitions():
    X, y = toy_points(40)
    weight = 1.0 + np.arange(40) % 3
    weight[5] = 0.0
    again = np.repeat(np.arange(40), weight.astype(int))
    one = MulticlassClassifier(tol=1e-7).fit(X, y, sample_weight=weight)
    other = MulticlassClassifier(tol=1e-7).fit(X[again], y[again])
    assert one.certificate_.primal == pytest.approx(other.certificate_.primal, rel=1e-6)


@pytest.mark.parametrize("options", [{}, {"kernel": "rbf:gamma=0.3"}])
def test_files_keep_the_model(tmp_path, options):
    X, y = toy_points(60)
    classifier = MulticlassClassifier(C=30.0, **options).fit(X, y)
    path = tmp_path / "points.model"
    classifier.save(path, keep_dual=True)
    again = MulticlassClassifier.load(path)
    assert np.array_equal(again.decision_function(X), classifier.decision_function(X))
    assert again.certificate_ == classifier.certificate_
    assert again.get_params()["C"] == 30.0
    model = load(path)
    assert model.predict(X) == classifier.predict(X).tolist()
    assert len(model.support.alpha) == len(classifier.model_.support.alpha)
    assert str(again.explain(X[0], top=3)) == str(classifier.explain(X[0], top=3))


def test_a_single_class_is_said():
    X, _ = toy_points(10)
    with pytest.warns(UserWarning, match="y has one class, red; every prediction"):
        classifier = MulticlassClassifier().fit(X, ["red"] * 10)
    assert classifier.predict(X[:2]).tolist() == ["red", "red"]


def test_names_of_columns_go_with_the_weights():
    X, y = toy_points(30)
    classifier = MulticlassClassifier(tol=0.1).fit(X, y)
    assert classifier.feature_names_ == ["x0", "x1", "x2", "x3"]
    assert len(classifier.feature_names_) == classifier.coef_.shape[1]
    with pytest.raises(ValueError, match=r"x has 2 rows; give one of them"):
        classifier.explain(X[:2])
    with pytest.raises(AttributeError) as refused:
        classifier.predict_proba(X)
    assert "loss='log'" in str(refused.value.__cause__)


def test_explanations_of_a_row_are_aligned_and_have_no_positions():
    X, y = toy_points(30)
    long = np.array([f"a class called {label}" for label in y])
    lines = str(MulticlassClassifier(tol=0.1).fit(X, long).explain(X[0])).splitlines()
    heading, row = lines[:2]
    assert heading.index("runner-up") == row.index("a class", row.index("a class") + 1)
    assert lines[3].startswith(("  +", "  -")) and " at 0: " not in "\n".join(lines)
    assert any(" training row " in line for line in lines)
    assert not any("row/" in line for line in lines)


def test_a_kernel_that_is_linear_gives_the_linear_model():
    X, y = toy_points(60)
    settings = {"C": 20.0, "tol": 1e-7}
    linear = MulticlassClassifier(fit_intercept=False, **settings).fit(X, y)
    kernel = MulticlassClassifier(kernel="linear", **settings).fit(X, y)
    assert kernel.certificate_.primal == pytest.approx(linear.certificate_.primal)
    scores = kernel.decision_function(X)
    assert np.allclose(scores, linear.decision_function(X), atol=1e-3)


def test_kernels_bend_the_border():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 2))
    y = (np.sum(X**2, axis=1) > 1.4).astype(int) + (X[:, 0] > 1.5)
    linear = MulticlassClassifier().fit(X, y)
    bent = MulticlassClassifier(kernel="rbf:gamma=1", C=2000.0).fit(X, y)
    assert bent.score(X, y) > linear.score(X, y) + 0.1
    small = clone(bent).set_params(budget=30).fit(X, y)
    assert small.model_.scoring.index.n_anchors <= 30
    with pytest.raises(ValueError, match="budget= is for kernels"):
        MulticlassClassifier(budget=3).fit(X, y)


def test_warm_start_and_grid_search():
    X, y = toy_points(150)
    classifier = MulticlassClassifier(warm_start=True, tol=1e-5).fit(X, y)
    calls = classifier.certificate_.oracle_calls
    classifier.fit(X, y)
    assert classifier.certificate_.oracle_calls < calls
    search = GridSearchCV(MulticlassClassifier(), {"C": [1.0, 100.0]}, cv=3).fit(X, y)
    assert search.best_score_ > 0.7


def write_files(folder):
    for name, seed in (("train", 0), ("new", 1)):
        X, y = toy_points(90, random_state=seed)
        rows = [
            ",".join([*(f"{v:.4f}" for v in x), c]) for x, c in zip(X, y, strict=True)
        ]
        header = "a,b,c,d,colour"
        (folder / f"{name}.csv").write_text("\n".join([header, *rows]) + "\n")
        number = {"blue": 1, "green": 2, "red": 3}
        rows = [
            f"{number[c]} " + " ".join(f"{k + 1}:{v:.4f}" for k, v in enumerate(x))
            for x, c in zip(X, y, strict=True)
        ]
        (folder / f"{name}.dat").write_text("\n".join(rows) + "\n")


@pytest.mark.parametrize("suffix", ["csv", "dat"])
@pytest.mark.parametrize("options", [(), ("--kernel", "poly:degree=2")])
def test_the_command_line(tmp_path, capsys, suffix, options):
    write_files(tmp_path)
    train, new = tmp_path / f"train.{suffix}", tmp_path / f"new.{suffix}"
    model, report = tmp_path / "m.model", tmp_path / "r.html"

    def ask(*arguments):
        assert run([*map(str, arguments), "--json"]) == 0
        return json.loads(capsys.readouterr().out)

    done = ask(
        "train", "classify", train, "--model", model, "--dev", new, "--report", report,
        "--keep-dual", *options,
    )  # fmt: skip
    assert done["certificate"]["relative_gap"] <= 1e-3
    assert done["dev"]["accuracy"] > 0.7
    assert "By class" in report.read_text(encoding="utf-8")
    metrics = ask("evaluate", model, new)["metrics"]
    assert metrics["accuracy"] == pytest.approx(1 - metrics["error_rate"])
    labels = ask("predict", model, new)["labels"]
    ranked = ask("predict", model, new, "--topk", 2)["topk"]
    assert [row[0]["label"] for row in ranked] == labels
    assert ask("verify", model, train)["holds"]
    assert not ask_code("verify", model, new)
    capsys.readouterr()
    assert ask("inspect", model)["labels"]
    assert ask("explain", model, new, "--sentence", 2)["winner"] == [labels[2]]
    output = tmp_path / "out.txt"
    assert run(["predict", str(model), str(new), "--output", str(output)]) == 0
    assert output.read_text().split() == [str(label) for label in labels]


def ask_code(*arguments):
    return run([*map(str, arguments)]) == 0


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("a.csv", "1,2,x\n3,y\n", "a.csv:2: 2 cells where the first row has 3"),
        ("a.csv", "a,b,c\n1,2,x\n3,z,y\n", "a.csv:3: 'z' in column 'b'; all columns"),
        ("a.csv", "a,b,c\n1,2,x\n3,,y\n", "a.csv:3: nothing in column 'b'; all"),
        ("a.csv", "a,b,c\n1,2,x\n3,nan,y\n", "a.csv:3: 'nan' in column 'b'; all"),
        ("a.csv", "a,b,c\n1,2,x\n3,4,\n", "a.csv:3: no label; add it, or drop"),
        (
            "a.csv",
            "a;b;c\n1;2;x\n",
            "one column only, nothing besides the labels; say "
            "what stands between columns, as in --separator ';'",
        ),
        ("a.dat", "1 1:2\n2 2:nan\n", "a.dat:2: '2 2:nan' is no `target index:value"),
        ("a.csv", "", "no row in the file"),
        ("a.dat", "1 1:2\nx 2:3\n", "a.dat:2: 'x 2:3' is no `target index:value …`"),
        ("a.dat", "# nothing\n", "no line with a target"),
    ],
)
def test_bad_files_are_refused(tmp_path, capsys, name, text, message):
    path = tmp_path / name
    path.write_text(text)
    assert run(["train", "classify", str(path), "--model", str(tmp_path / "m")]) == 2
    assert message in capsys.readouterr().err
    assert not (tmp_path / "m").exists()


def test_columns_that_training_never_saw(tmp_path, capsys):
    write_files(tmp_path)
    model = tmp_path / "m.model"
    assert ask_code("train", "classify", tmp_path / "train.dat", "--model", model)
    (tmp_path / "wide.dat").write_text("1 1:0.5 99:3\n")
    assert ask_code("predict", model, tmp_path / "wide.dat")
    (tmp_path / "wide.csv").write_text("1,2,3,4,5,6,7\n")
    assert run(["predict", str(model), str(tmp_path / "wide.csv")]) == 2
    assert "7 columns of numbers where 5 were expected, or 6 with" in (
        capsys.readouterr().err
    )
