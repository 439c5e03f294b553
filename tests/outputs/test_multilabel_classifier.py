import json

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn import metrics as reference
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import check_estimator

from partwise import MultilabelClassifier, load
from partwise.cli.app import run
from partwise.datasets import toy_label_sets
from partwise.metrics import metric
from partwise.outputs.multilabel.metrics import METRICS, all_measures
from partwise.protocol import CapabilityError
from partwise.structures.constraints import PartConstraint, at_most, implies

NO_SETS = "its y is one column of classes, not a 0/1 matrix"
EXPECTED = {
    "check_estimators_dtypes": NO_SETS,
    "check_sample_weights_pandas_series": NO_SETS,
    "check_sample_weights_not_an_array": NO_SETS,
    "check_sample_weights_shape": NO_SETS,
    "check_sample_weights_not_overwritten": NO_SETS,
    "check_classifier_data_not_an_array": NO_SETS,
    "check_classifiers_classes": NO_SETS,
    "check_classifiers_train": NO_SETS,
    "check_classifier_not_supporting_multiclass": NO_SETS,
    "check_fit2d_1feature": NO_SETS,
    "check_classifiers_one_label": NO_SETS,
    "check_classifiers_one_label_sample_weights": NO_SETS,
    "check_sample_weight_equivalence_on_dense_data": "stops at a duality gap",
    "check_sample_weight_equivalence_on_sparse_data": "stops at a duality gap",
}


@pytest.mark.filterwarnings("ignore")
def test_estimator_contract():
    check_estimator(MultilabelClassifier(), expected_failed_checks=EXPECTED)


@pytest.mark.parametrize("graph", ["independent", "tree", "full"])
@pytest.mark.parametrize("cost", ["hamming", "jaccard", "f1"])
def test_learns_sets(graph, cost):
    X, y = toy_label_sets(150)
    classifier = MultilabelClassifier(graph=graph, cost=cost, tol=1e-2).fit(X, y)
    predicted = classifier.predict(X)
    assert predicted.shape == y.shape and set(np.unique(predicted)) <= {0, 1}
    leads = classifier.decision_function(X)
    np.testing.assert_array_equal(leads > 0, predicted == 1)
    margin = classifier.margin(X)
    np.testing.assert_allclose(margin[:, 1], np.abs(leads).min(axis=1))
    assert classifier.score(X, y) == reference.accuracy_score(y, predicted) > 0.3
    assert classifier.certificate_.relative_gap <= 1e-2
    n_pairs = {"independent": 0, "tree": 4, "full": 10}[graph]
    assert len(classifier.pairs_) == len(classifier.pair_coef_) == n_pairs
    if graph == "independent":
        scores = X @ classifier.coef_.T + classifier.intercept_
        np.testing.assert_allclose(scores, leads, atol=1e-12)


def test_pairs_learn_what_goes_together():
    X, y = toy_label_sets(300)
    X_new, y_new = toy_label_sets(1000, random_state=1)
    single = MultilabelClassifier(C=300.0).fit(X, y)
    tree = MultilabelClassifier(C=300.0, graph="tree").fit(X, y)
    weight = {tuple(p): v for p, v in zip(tree.pairs_, tree.pair_coef_, strict=True)}
    assert weight[0, 1] > 0.5 and weight[2, 3] < -0.5
    assert tree.score(X_new, y_new) > single.score(X_new, y_new)


def test_constraints_of_predictions():
    X, y = toy_label_sets(120)
    classifier = MultilabelClassifier(graph="full", tol=1e-2)
    classifier.fit(X, y, label_names=list("abcde"))
    free = classifier.predict(X)
    bounded = classifier.predict(X, constraints=[at_most(2), implies("c", "d")])
    assert (bounded.sum(axis=1) <= 2).all() and (bounded[:, 2] <= bounded[:, 3]).all()
    is_fine = (free.sum(axis=1) <= 2) & (free[:, 2] <= free[:, 3])
    assert is_fine.any() and not is_fine.all()
    np.testing.assert_array_equal(bounded[is_fine], free[is_fine])
    with pytest.raises(ValueError, match=r"\('f',\) is no label; there are a, b"):
        classifier.predict(X, constraints=[at_most(1, ["f"])])
    with pytest.raises(ValueError, match="row 0: no set of labels satisfies"):
        classifier.predict(X, constraints=[PartConstraint([None], lower=6)])


def test_constraints_hold_for_new_rows():
    X, y = toy_label_sets(120)
    y = y * (np.cumsum(y, axis=1) <= 2)
    y[:, 0] |= y[:, 1]
    y[y.sum(axis=1) > 2] = 0
    classifier = MultilabelClassifier(
        max_labels=2, implications=[(1, 0)], graph="full", tol=1e-2
    ).fit(X, y)
    predicted = classifier.predict(toy_label_sets(300, random_state=1)[0])
    assert predicted.sum(axis=1).max() <= 2
    assert not (predicted[:, 1] > predicted[:, 0]).any()
    with pytest.raises(ValueError, match="max_labels=1 allows no more"):
        MultilabelClassifier(max_labels=1).fit(X, y)
    for wrong in ([("z", 0)], "1", "1>z"):
        with pytest.raises(ValueError, match=r"is no (pair of labels|label of y)"):
            MultilabelClassifier(implications=wrong).fit(X, y)


def test_kinds_of_matrices_agree():
    X, y = toy_label_sets(60)
    names = ["a", "b", "c", "d", "e"]
    frames = pd.DataFrame(X, columns=[f"f{k}" for k in range(6)])
    dense = MultilabelClassifier().fit(X, y)
    framed = MultilabelClassifier().fit(frames, pd.DataFrame(y, columns=names))
    assert framed.classes_.tolist() == names
    np.testing.assert_array_equal(framed.coef_, dense.coef_)
    rows = MultilabelClassifier(tol=1e-6).fit(sparse.csr_array(X), sparse.csr_array(y))
    exact = MultilabelClassifier(tol=1e-6).fit(X, y)
    np.testing.assert_allclose(rows.coef_, exact.coef_, atol=1e-2)
    weighted = MultilabelClassifier(tol=1e-6).fit(X, y, sample_weight=np.full(60, 2.0))
    assert weighted.certificate_.primal > exact.certificate_.primal
    pipeline = make_pipeline(StandardScaler(), MultilabelClassifier(tol=1e-2))
    assert cross_val_score(pipeline, X, y, cv=3).mean() > 0.1
    assert exact.explain(X[0]).contributions
    warm = MultilabelClassifier(warm_start=True, graph="tree").fit(X, y)
    calls = warm.certificate_.oracle_calls
    assert warm.fit(X, y).certificate_.oracle_calls < calls


def test_refusals():
    X, y = toy_label_sets(20)
    with pytest.raises(ValueError, match="give a 0/1 matrix"):
        MultilabelClassifier().fit(X, y[:, 0])
    with pytest.raises(ValueError, match="give a 0/1 matrix"):
        MultilabelClassifier().fit(X, 2 * y)
    with pytest.raises(ValueError, match="label_names has 2 names"):
        MultilabelClassifier().fit(X, y, label_names=["a", "b"])
    many = np.tile(y, 4)
    with pytest.raises(CapabilityError, match="graph='independent'"):
        MultilabelClassifier(graph="tree", cost="f1").fit(X, many)
    MultilabelClassifier(cost="f1", tol=0.1).fit(X, many)


def test_metrics_are_those_of_scikit_learn():
    rng = np.random.default_rng(0)
    y, y_hat = (rng.random((50, 6)) < 0.3).astype(int), rng.integers(0, 2, (50, 6))
    y[:3] = y_hat[:3] = 0
    y[:, 5] = y_hat[:, 5] = 0
    each = {"average": "samples", "zero_division": 1.0}
    expected = {
        "hamming_loss": reference.hamming_loss(y, y_hat),
        "jaccard": reference.jaccard_score(y, y_hat, **each),
        "example_f1": reference.f1_score(y, y_hat, **each),
        "micro_f1": reference.f1_score(y, y_hat, average="micro"),
        "macro_f1": reference.f1_score(y, y_hat, average="macro", zero_division=0),
        "exact_match": reference.accuracy_score(y, y_hat),
    }
    assert all_measures(y, y_hat) == pytest.approx(expected)
    names = ("hamming_loss", "jaccard", "example_f1", "micro_f1")  # the others mean
    # something else for sequences of labels, whose names they are
    assert all(metric(name) is METRICS[name] for name in names)
    assert metric("exact_match").function(y, y_hat) == expected["exact_match"]


# -------------------------------------------------------------------- the shell


def write_files(folder):
    X, y = toy_label_sets(80)
    names = [f"x{k}" for k in range(6)] + list("abcde")
    lines = [",".join(map(str, row)) for row in np.hstack([X, y]).tolist()]
    (folder / "t.csv").write_text("\n".join([",".join(names), *lines]) + "\n")
    plain = [",".join(map(str, row)) for row in X.tolist()]
    (folder / "plain.csv").write_text("\n".join([",".join(names[:6]), *plain]) + "\n")
    head = [f"@attribute {name} numeric" for name in names[:6]]
    head += [f"@attribute {name} {{0,1}}" for name in "abcde"]
    rows = [
        ",".join(map(str, [*x, *labels]))
        for x, labels in zip(X.tolist(), y.tolist(), strict=True)
    ]
    text = "\n".join(["@relation toy", *head, "@data", *rows])
    (folder / "t.arff").write_text(text + "\n")
    xml = "".join(f'<label name="{name}"></label>\n' for name in "abcde")
    (folder / "t.xml").write_text(f"<labels>\n{xml}</labels>\n")
    rows = [
        ",".join(str(k) for k in np.flatnonzero(labels))
        + "".join(f" {c}:{value}" for c, value in enumerate(x))
        for x, labels in zip(X.tolist(), y.tolist(), strict=True)
    ]
    (folder / "t.dat").write_text("\n".join(rows) + "\n")
    return X, y


def shell(command, capsys):
    code = run(command.split())
    out = capsys.readouterr().out
    assert code == 0, out
    return out


@pytest.mark.parametrize(
    ("file", "label"),
    [("t.csv", "a,b,c,d,e"), ("t.csv", "-5:"), ("t.arff", "t.xml"), ("t.dat", None)],
)
def test_commands(tmp_path, monkeypatch, capsys, file, label):
    monkeypatch.chdir(tmp_path)
    X, y = write_files(tmp_path)
    option = "" if label is None else f"--label {label}"
    shell(
        f"train multilabel {file} {option} --graph tree --model m --tol 0.01 "
        f"--dev {file} --report r.html",
        capsys,
    )
    stated = json.loads(shell(f"evaluate m {file} --json", capsys))
    classifier = MultilabelClassifier(graph="tree", tol=0.01).fit(X, y)
    names = list("01234" if label is None else "abcde")
    assert sorted(map(str, load("m").labels)) == names
    measures = stated["metrics"]
    expected = all_measures(y, classifier.predict(X))
    assert measures["exact_match"] == pytest.approx(expected["exact_match"], abs=0.1)
    assert "verified" in shell(f"verify m {file}", capsys)
    lines = shell(f"predict m {file}", capsys).splitlines()
    assert len(lines) == 80 and set("".join(lines)) <= {*names, ","}
    if file == "t.csv":
        assert shell("predict m plain.csv", capsys).splitlines() == lines
    assert "Labels" in (tmp_path / "r.html").read_text()
    shell("inspect m", capsys)
    shell(f"explain m {file}", capsys)


def test_implications_from_the_shell(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    write_files(tmp_path)
    text = (tmp_path / "t.dat").read_text().splitlines()
    subset = [line for line in text if "1" not in line.split(" ")[0].split(",")]
    (tmp_path / "s.dat").write_text("\n".join(subset + ["0,1 1:2"]) + "\n")
    shell("train multilabel s.dat --implications 1>0 --model m --tol 0.1", capsys)
    structure = load("m").structure
    a, b = (load("m").labels.index(label) for label in "10")
    assert np.array(structure.implications).tolist() == [[a, b]]
    assert run("train multilabel s.dat --implications 1 --model m".split()) != 0
