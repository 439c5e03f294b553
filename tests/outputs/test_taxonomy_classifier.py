import json

import numpy as np
import pytest
from scipy.sparse import csr_array
from sklearn.base import clone
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import check_estimator

from partwise import MulticlassClassifier, TaxonomyClassifier, load
from partwise.cli.app import run
from partwise.datasets import toy_taxonomy
from partwise.protocol import CapabilityError
from partwise.structures.taxonomy.measures import mean_loss, set_measures

# as for MulticlassClassifier
EXPECTED = {
    f"check_sample_weight_equivalence_on_{kind}_data": "solved to a tolerance: fits "
    "with weights and with repeated rows agree in the objective, not to 1e-7"
    for kind in ("dense", "sparse")
}


def test_scikit_learn_calls_it_a_classifier():
    check_estimator(TaxonomyClassifier(), expected_failed_checks=EXPECTED)


def test_without_parents_it_is_flat():
    X, y = toy_taxonomy(90)
    flat = MulticlassClassifier(C=20.0).fit(X, y)
    for options in ({}, {"parents": "/", "features": "class", "cost": "zero_one"}):
        ours = TaxonomyClassifier(C=20.0, **options).fit(X, y)
        assert np.array_equal(ours.coef_, flat.coef_)
        assert ours.certificate_.primal == flat.certificate_.primal


def test_weights_of_classes_are_sums_over_nodes():
    X, y = toy_taxonomy(120)
    classifier = TaxonomyClassifier(parents="/").fit(X, y)
    assert classifier.certificate_.relative_gap <= 1e-3
    scores = X @ classifier.coef_.T + classifier.intercept_
    np.testing.assert_allclose(classifier.decision_function(X), scores, atol=1e-9)
    number = {name: k for k, name in enumerate(classifier.nodes_)}
    for k, name in enumerate(classifier.classes_):
        steps = name.split("/")
        way = [number["/".join(steps[: n + 1])] for n in range(len(steps))]
        total = classifier.node_coef_[way].sum(axis=0)
        np.testing.assert_allclose(classifier.coef_[k], total)
    sparse = TaxonomyClassifier(parents="/").fit(csr_array(X), y)
    np.testing.assert_allclose(sparse.coef_, classifier.coef_, atol=0.02)


def test_the_tree_loss_of_new_rows_falls():
    # a mean over training sets: on single ones it rises, too
    X_new, y_new = toy_taxonomy(600, random_state=1000)
    losses = []
    for seed in range(10):
        X, y = toy_taxonomy(24, random_state=seed)
        for options in ({}, {"features": "class", "cost": "zero_one"}):
            model = TaxonomyClassifier(parents="/", **options).fit(X, y)
            nodes, predicted = model.model_.structure.nodes, model.predict(X_new)
            losses.append(mean_loss("tree", nodes, y_new.tolist(), predicted.tolist()))
    tree, flat = np.reshape(losses, (10, 2)).mean(axis=0)
    assert tree < flat - 0.02


def test_tables_lattices_and_other_classes():
    X, y = toy_taxonomy(60)
    parents = {name: name.rpartition("/")[0] for name in set(y)}
    parents |= {"animal/bird": ["animal", "flying"], "plant/tree": "plant"}
    parents |= {"plant/fern": "plant", "animal": None}
    lattice = TaxonomyClassifier(parents=parents).fit(X, y)
    assert "flying" in lattice.nodes_
    assert lattice.classes_.tolist() == sorted(set(y))
    every_leaf = clone(lattice).set_params(classes="leaves").fit(X, y)
    assert "plant/fern" in every_leaf.classes_
    assert "plant" not in every_leaf.classes_
    inner = clone(lattice).set_params(classes="nodes", cost="path").fit(X, y)
    assert "animal/bird" in inner.classes_
    # birds of unknown kind lie between owls and ducks
    X, y = X.copy(), y.copy()
    y[::12] = "animal/bird"
    centres = [X[y == f"animal/bird/{kind}"].mean(axis=0) for kind in ("owl", "duck")]
    X[::12] = (centres[0] + centres[1]) / 2
    stopped = clone(inner).set_params(C=1e4).fit(X, y).predict(X[::12])
    assert set(stopped) == {"animal/bird"}
    with pytest.raises(ValueError, match="no node"):
        TaxonomyClassifier(parents={"a": "b"}).fit(X, y)


def test_costs_by_name_and_by_dict():
    X, y = toy_taxonomy(60)
    pair = ("plant/moss", "animal/fish")
    given = TaxonomyClassifier(parents="/", cost={pair: 7.0}).fit(X, y)
    matrix = given.model_.structure.cost_matrix()
    a, b = (given.classes_.tolist().index(name) for name in pair)
    assert matrix[a, b] == 7.0 and matrix[b, a] == 1.0
    with pytest.raises(ValueError, match="choose tree"):
        TaxonomyClassifier(parents="/", cost="other").fit(X, y)


def test_in_pipelines_and_again():
    X, y = toy_taxonomy(90)
    classifier = make_pipeline(StandardScaler(), TaxonomyClassifier(parents="/"))
    assert cross_val_score(classifier, X, y, cv=3).mean() > 0.7
    warm = TaxonomyClassifier(parents="/", warm_start=True, tol=1e-4).fit(X, y)
    calls = warm.certificate_.oracle_calls
    assert warm.fit(X, y).certificate_.oracle_calls < calls


def texts_of_topics(n, seed):
    """Texts with common words, words of the topic's parent, and words of the topic."""
    rng = np.random.default_rng(seed)
    topics = ["animal/bird", "animal/fish", "plant/tree", "plant/moss"]
    texts, labels = [], []
    for k in range(n):
        topic = topics[k % 4]
        parent, leaf = topic.split("/")
        bags = [[f"{stem}{i}" for i in range(m)]
                for stem, m in (("the", 30), (parent, 12), (leaf, 12))]  # fmt: skip
        kinds = rng.choice(3, size=14, p=[0.6, 0.2, 0.2])
        texts.append(" ".join(str(rng.choice(bags[kind])) for kind in kinds))
        labels.append(topic)
    return texts, np.array(labels)


def test_texts_in_a_pipeline(tmp_path):
    texts, y = texts_of_topics(60, seed=0)
    new, y_new = texts_of_topics(200, seed=1)
    pipeline = make_pipeline(TfidfVectorizer(), TaxonomyClassifier(parents="/"))
    grid = {
        "tfidfvectorizer__ngram_range": [(1, 1), (1, 2)],
        "taxonomyclassifier__C": [6.0, 60.0],
    }
    search = GridSearchCV(pipeline, grid, cv=3).fit(texts, y)
    assert search.score(new, y_new) > 0.8
    vectoriser, classifier = search.best_estimator_
    assert classifier.n_features_in_ == len(vectoriser.get_feature_names_out())
    # words of the parent weigh most at the parent
    names = vectoriser.get_feature_names_out()
    weights = classifier.node_coef_[classifier.nodes_.index("animal")]
    heaviest = names[np.argsort(-weights)[:5]]
    assert np.mean([name.startswith("animal") for name in heaviest]) > 0.7
    classifier.save(tmp_path / "m")
    again = TaxonomyClassifier.load(tmp_path / "m")
    rows = vectoriser.transform(new)
    assert np.array_equal(again.predict(rows), search.predict(new))
    several = make_pipeline(
        TfidfVectorizer(), TaxonomyClassifier(parents="/", multiple=True, C=300.0)
    )
    several.fit(texts, [[label] for label in y])
    assert several.score(new, [[label] for label in y_new]) > 0.8


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"cost": np.ones((6, 6)) - np.eye(6)},
        {"features": "balanced"},
        {"kernel": "rbf:gamma=0.1"},
    ],
    ids=["linear", "matrix", "balanced", "kernel"],
)
def test_files_keep_the_model(tmp_path, options):
    X, y = toy_taxonomy(60)
    classifier = TaxonomyClassifier(parents="/", C=30.0, **options).fit(X, y)
    path = tmp_path / "t.model"
    classifier.save(path, keep_dual=True)
    again = TaxonomyClassifier.load(path)
    assert np.array_equal(again.decision_function(X), classifier.decision_function(X))
    assert again.nodes_ == classifier.nodes_
    assert load(path).predict(X) == classifier.predict(X).tolist()
    assert str(again.explain(X[0], top=3)) == str(classifier.explain(X[0], top=3))
    refitted = again.fit(X, y)
    assert refitted.certificate_.primal == pytest.approx(
        classifier.certificate_.primal, rel=1e-2
    )


def test_balanced_features_need_features():
    X, y = toy_taxonomy(30)
    with pytest.raises(CapabilityError, match="train on features"):
        TaxonomyClassifier(parents="/", features="balanced", kernel="rbf").fit(X, y)


def test_a_linear_kernel_gives_the_linear_model():
    X, y = toy_taxonomy(60)
    settings = {"parents": "/", "C": 20.0, "tol": 1e-6}
    linear = TaxonomyClassifier(fit_intercept=False, **settings).fit(X, y)
    kernel = TaxonomyClassifier(kernel="linear", **settings).fit(X, y)
    assert kernel.certificate_.primal == pytest.approx(
        linear.certificate_.primal, rel=1e-4
    )


# ------------------------------------------------------------- several classes


@pytest.mark.parametrize("leaves", ["optional", "mandatory"])
def test_several_classes(tmp_path, leaves):
    X, y = toy_taxonomy(150, multiple=True)
    X_new, y_new = toy_taxonomy(150, random_state=1, multiple=True)
    classifier = TaxonomyClassifier(
        parents="/", multiple=True, leaves=leaves, node_cost="siblings", C=300.0
    ).fit(X, y)
    assert classifier.certificate_.relative_gap <= 1e-3
    assert classifier.score(X_new, y_new) > 0.7
    predicted = classifier.predict(X_new)
    structure = classifier.model_.structure
    nodes = classifier.model_.predict_nodes(X_new)
    assert all(structure.is_valid(row) for row in nodes)
    np.testing.assert_array_equal(structure.closure(predicted), nodes)
    scores = classifier.decision_function(X_new)
    best = [structure.best(row) for row in scores]
    np.testing.assert_array_equal(best, nodes)
    path = tmp_path / "sets.model"
    classifier.save(path)
    again = TaxonomyClassifier.load(path)
    assert list(again.predict(X_new)) == list(predicted)
    assert again.leaves == leaves and again.multiple
    assert "none" in str(again.explain(X_new[0]))
    sparse = again.predict(csr_array(X_new))
    assert list(sparse) == list(predicted)


def test_several_classes_in_a_lattice(tmp_path):
    rng = np.random.default_rng(0)
    table = {"owl": ["bird", "hunter"], "shark": ["fish", "hunter"], "carp": "fish"}
    leaves = ["owl", "shark", "carp"]
    centres = rng.normal(size=(3, 6))
    has = rng.random((300, 3)) < 0.5
    X = has @ centres + 0.2 * rng.normal(size=(300, 6))
    y = [[leaf for leaf, is_there in zip(leaves, row, strict=True) if is_there]
         for row in has]  # fmt: skip
    classifier = TaxonomyClassifier(parents=table, multiple=True, C=3000.0)
    classifier.fit(X[:200], y[:200])
    assert classifier.certificate_.relative_gap <= 1e-3
    assert classifier.score(X[200:], y[200:]) > 0.95
    structure = classifier.model_.structure
    for row in classifier.model_.predict_nodes(X[200:]):
        assert structure.is_valid(row)
    classifier.save(tmp_path / "m")
    again = TaxonomyClassifier.load(tmp_path / "m")
    assert again.predict(X).tolist() == classifier.predict(X).tolist()
    # from the shell, with its report and a certificate of the file
    lines = [f"{'@'.join(row)},{','.join(map(str, x))}\n"
             for row, x in zip(y, X.round(3), strict=True) if row]  # fmt: skip
    pairs = "bird/owl,hunter/owl,hunter/shark,fish/shark,fish/carp"
    pairs += ",root/bird,root/hunter,root/fish"
    heading = f"@relation r\n@attribute class hierarchical {pairs}\n"
    heading += "".join(f"@attribute x{k} numeric\n" for k in range(6)) + "@data\n"
    data, model = str(tmp_path / "d.arff"), str(tmp_path / "n")
    (tmp_path / "d.arff").write_text(heading + "".join(lines))
    report = ["--report", str(tmp_path / "r.html"), "--dev", data]
    assert (
        run(["train", "taxonomy", data, "--multiple", "--model", model, *report]) == 0
    )
    assert "hunter" in (tmp_path / "r.html").read_text()
    assert run(["verify", model, data]) == 0


def test_several_classes_refuse_what_they_cannot_do():
    X, y = toy_taxonomy(20, multiple=True)
    with pytest.raises(ValueError, match="kernel= does not go with multiple=True"):
        TaxonomyClassifier(multiple=True, kernel="rbf").fit(X, y)
    one = TaxonomyClassifier(multiple=True).fit(X, ["a"] * 20)  # as [["a"], …]
    assert list(one.predict(X)) == [["a"]] * 20
    with pytest.raises(ValueError, match="no set of nodes"):
        TaxonomyClassifier(multiple=True, leaves="mandatory").fit(X, [[]] * 20)


def test_measures_of_sets():
    y, y_pred = np.array([[1, 1, 0], [1, 0, 0]]), np.array([[1, 0, 1], [1, 0, 0]])
    measures = set_measures(y, y_pred)
    assert measures["exact_match"] == 0.5
    assert measures["hamming_loss"] == pytest.approx(2 / 6)
    assert measures["hierarchical_f1"] == pytest.approx(2 * 2 / 6)


# -------------------------------------------------------------- command line


def write_arff(path, X, labels):
    lines = ["@relation toy", *(f"@attribute x{k} numeric" for k in range(X.shape[1]))]
    nodes = sorted({"/".join(name.split("/")[: k + 1]) for row in labels for name in row
                    for k in range(name.count("/") + 1)})  # fmt: skip
    lines += [f"@attribute class hierarchical {','.join(nodes)}", "@data"]
    for x, row in zip(X, labels, strict=True):
        lines.append(",".join([*(f"{v:.4f}" for v in x), "@".join(row)]))
    path.write_text("\n".join(lines) + "\n")


@pytest.mark.parametrize("multiple", [False, True])
def test_the_command_line_on_arff_files(tmp_path, capsys, multiple):
    for name, seed in (("train", 0), ("new", 1)):
        X, y = toy_taxonomy(90, random_state=seed, multiple=multiple)
        write_arff(tmp_path / f"{name}.arff", X, y if multiple else [[c] for c in y])
    train, new = tmp_path / "train.arff", tmp_path / "new.arff"
    model, report = tmp_path / "m.model", tmp_path / "r.html"

    def ask(*arguments):
        assert run([*map(str, arguments), "--json"]) == 0
        return json.loads(capsys.readouterr().out)

    options = ["--multiple", "--C", "200"] if multiple else []
    done = ask(
        "train", "taxonomy", train, "--model", model, "--dev", new, "--report", report,
        *options,
    )  # fmt: skip
    assert done["dev"]["hierarchical_f1"] > 0.7
    text = report.read_text(encoding="utf-8")
    assert "Errors in the taxonomy" in text and "animal" in text
    metrics = ask("evaluate", model, new)["metrics"]
    assert metrics == done["dev"]
    assert ("tree_loss" in metrics) != multiple
    labels = ask("predict", model, new)["labels"]
    assert isinstance(labels[0], list) == multiple
    assert ask("verify", model, train)["holds"]
    assert ask("inspect", model)["n_nodes"] == 10
    assert ask("explain", model, new)["winner"]
    output = tmp_path / "out.txt"
    assert run(["predict", str(model), str(new), "--output", str(output)]) == 0
    first = ["@".join(labels[0])] if multiple else [labels[0]]
    assert output.read_text().splitlines()[:1] == first


def test_the_command_line_with_a_table_of_parents(tmp_path, capsys):
    X, y = toy_taxonomy(60)
    rows = [",".join([*(f"{v:.4f}" for v in x), c]) for x, c in zip(X, y, strict=True)]
    data, table = tmp_path / "train.csv", tmp_path / "parents.txt"
    data.write_text("\n".join(rows) + "\n")
    table.write_text("".join(f"{c}\t{c.split('/')[0]}\n" for c in sorted(set(y))))
    for parents, n in ((str(table), 8), ("/", 10)):
        model = tmp_path / "m.model"
        command = ["train", "taxonomy", str(data), "--model", str(model)]
        assert run([*command, "--parents", parents, "--json"]) == 0
        capsys.readouterr()
        assert run(["inspect", str(model), "--json"]) == 0
        assert json.loads(capsys.readouterr().out)["n_nodes"] == n
    table.write_text("a\tb\n")
    assert run([*command, "--parents", str(table)]) == 2
    assert "no node 'animal/bird/duck'" in capsys.readouterr().err
