"""Rerankers: the tree kernel among candidates, features, files."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.model_selection import cross_val_score

from partwise import Reranker
from partwise.datasets import toy_entities, toy_treebank
from partwise.kernels import Linear
from partwise.metrics import labelled_f1
from partwise.model_file import ModelFileError, load_model, save_model
from partwise.models import reranker as reranker_file
from partwise.objective import Formulation, Objective
from partwise.solvers import make_solver
from partwise.structures.candidates import CandidateProblem

KERNEL = "normalized(tree:decay=0.5)"


def f1(truth, candidate):
    return labelled_f1([truth], [candidate])


def relabelled(tree, rng, rate):
    """A tree with some phrases under other names."""
    label, children = tree
    if all(isinstance(child, str) for child in children):
        return tree
    if rng.uniform() < rate:
        label = str(rng.choice(["NP", "VP", "PP", "S"]))
    return label, tuple(relabelled(child, rng, rate) for child in children)


@pytest.fixture(scope="module")
def trees():
    """True trees among wrong ones; the base score prefers a wrong one half the time."""
    _, truths = toy_treebank(60, random_state=0)
    rng = np.random.default_rng(0)
    X = []
    for truth in truths:
        found = [truth, *(relabelled(truth, rng, 0.4) for _ in range(5))]
        ranked = [
            (tree, float(rng.normal(0.5 * (k == 0)))) for k, tree in enumerate(found)
        ]
        X.append([ranked[k] for k in rng.permutation(len(ranked))])
    return X, truths


@pytest.fixture(scope="module")
def fitted(trees):
    X, y = trees
    return Reranker(KERNEL, metric=f1, C=40.0).fit(X[:40], y[:40])


def base_quality(X, y):
    best = [max(ranked, key=lambda pair: pair[1])[0] for ranked in X]
    return np.mean([f1(t, b) for t, b in zip(y, best, strict=True)])


def test_it_beats_the_base_model(fitted, trees):
    X, y = trees
    assert fitted.certificate_.relative_gap <= 1e-3
    assert fitted.score(X[40:], y[40:]) > base_quality(X[40:], y[40:]) + 0.1


def test_the_perceptron_of_collins_and_duffy(trees):
    X, y = trees
    reranker = Reranker(KERNEL, metric=f1, solver="perceptron", max_iter=10)
    reranker.fit(X[:40], y[:40])
    assert reranker.score(X[40:], y[40:]) > base_quality(X[40:], y[40:]) + 0.1


def test_rankings_margins_and_reasons(fitted, trees):
    X, _ = trees
    top = fitted.predict_topk(X[40:], 2)
    assert all(a[1] >= b[1] for a, b in top)
    told = fitted.explain(X[40], top=10**6)
    shares = sum(share for *_, share in told.anchors)
    assert shares + told.base == pytest.approx(told.lead)
    np.testing.assert_allclose(fitted.margin(X[40:41])[0, 1], told.lead)
    example, place, _ = told.anchors[0]
    assert X[example][place]


def test_cross_validation_and_clone(trees):
    X, y = trees
    again = clone(Reranker(KERNEL, metric=f1, C=20.0, tol=0.05))
    assert cross_val_score(again, X, y, cv=2).mean() > 0.5


def test_threads_do_not_show(fitted, trees):
    X, y = trees
    other = clone(fitted).set_params(n_jobs=2).fit(X[:40], y[:40])
    np.testing.assert_array_equal(other.model_.weights, fitted.model_.weights)
    np.testing.assert_array_equal(other.margin(X), fitted.margin(X))


def labels_of(tree):
    label, children = tree
    found = {
        f"{label}→{' '.join(c if isinstance(c, str) else c[0] for c in children)}": 1
    }
    for child in children:
        if not isinstance(child, str):
            for name, count in labels_of(child).items():
                found[name] = found.get(name, 0) + count
    return found


def test_features_instead_of_a_kernel(trees, tmp_path):
    X, y = trees
    reranker = Reranker(features=labels_of, metric=f1, C=40.0).fit(X[:40], y[:40])
    assert reranker.score(X[40:], y[40:]) > base_quality(X[40:], y[40:]) + 0.1
    reranker.save(tmp_path / "r.model")
    with pytest.raises(ValueError, match="features="):
        Reranker.load(tmp_path / "r.model")
    again = Reranker.load(tmp_path / "r.model", features=labels_of)
    assert again.predict(X).tolist() == reranker.predict(X).tolist()


def test_candidates_of_a_base_model(trees, tmp_path):
    class Base:
        """As a tagger proposes: outputs with scores, best first."""

        def predict_topk(self, X, k):
            return [sorted(ranked, key=lambda p: -p[1])[:k] for ranked in X]

    X, y = trees
    reranker = Reranker(KERNEL, base=Base(), n_candidates=4, metric=f1, C=40.0)
    reranker.fit(X[:40], y[:40])
    assert len(reranker.predict_topk(X[40:], 10)[0]) == 4
    reranker.save(tmp_path / "r.model")
    again = Reranker.load(tmp_path / "r.model", base=Base())
    assert list(again.predict(X)) == list(reranker.predict(X))
    assert again.n_candidates == 4
    assert reranker.score(X[40:], y[40:]) > base_quality(X[40:], y[40:])


def test_inputs_without_candidates(trees):
    """A grammar may not derive a sentence: left out of training, then as it says."""

    class Base:
        def predict_topk(self, X, k):
            return [[] if len(ranked) % 2 else ranked[:k] for ranked in X]

        def predict(self, X):
            return [flat for _ in X]

    flat = ("S", ("nothing",))
    X, y = trees
    X = [ranked if row % 3 else ranked[:5] for row, ranked in enumerate(X)]
    reranker = Reranker(KERNEL, base=Base(), metric=f1, C=40.0)
    weight = np.ones(40)
    assert reranker.fit(X[:40], y[:40], sample_weight=weight).n_left_out_ == 14
    plain = Reranker(KERNEL, metric=f1, C=40.0)
    held = [row for row in range(40) if row % 3]
    plain.fit([X[row] for row in held], [y[row] for row in held])
    np.testing.assert_allclose(reranker.model_.weights, plain.model_.weights)
    found = reranker.predict(X[40:])
    assert [tree == flat for tree in found] == [r % 3 == 0 for r in range(40, 60)]
    with pytest.raises(ValueError, match="no candidate for any example"):
        reranker.fit([X[0]], [y[0]])


def test_labellings_by_a_string_kernel():
    _, y = toy_entities(30, random_state=1)
    rng = np.random.default_rng(0)
    lists = []
    for labels in y:
        wrong = [str(rng.choice(["O", "I-PER"])) for _ in labels]
        lists.append([(labels, 0.0), (wrong, 0.2)])
    reranker = Reranker("normalized(ngram:n=3)", C=30.0).fit(lists[:20], y[:20])
    assert reranker.score(lists[20:], y[20:]) > 0.8


CASES = [("margin", "l1"), ("margin", "l2"), ("slack", "l1"), ("hard", "l1")]


@pytest.mark.parametrize(("rescaling", "penalty"), CASES)
def test_the_problem_against_its_planes(rescaling, penalty):
    """Solvers agree on the optimum, and the oracle on what listing all planes says."""
    rng = np.random.default_rng(4)
    rows = rng.normal(size=(24, 30))
    offset = np.arange(0, 25, 4)
    quality = np.round(rng.uniform(size=24), 1)
    formulation = Formulation(rescaling, penalty)
    problem = CandidateProblem(rows @ rows.T, offset, quality, formulation)
    name = "hard" if rescaling == "hard" else penalty
    objective = Objective.create(2.0, 6, name)
    found = {
        solver: make_solver(solver, {"tol": 1e-7}).solve(problem, objective)
        for solver in ("n_slack", "bcfw", *(["one_slack"] if name != "hard" else []))
    }
    values = [state.primal for state in found.values()]
    np.testing.assert_allclose(values, values[0], rtol=1e-6)
    model = found["n_slack"].model
    w = rows.T @ problem.compact(model)
    assert problem.dot(model, model) == pytest.approx(w @ w)
    slack = []
    for i in range(6):
        here = np.arange(offset[i], offset[i + 1])
        truth = here[np.argmax(quality[here])]
        largest = -np.inf
        for c in here:
            loss = quality[truth] - quality[c]
            if loss > 0:
                b, scale = formulation.plane(loss)
                largest = max(largest, b - scale * (w @ (rows[truth] - rows[c])))
        slack.append(largest)
    np.testing.assert_allclose(problem.oracle(model).violation, slack, atol=1e-9)


def test_a_file_brings_the_model_back(fitted, trees, tmp_path):
    X, _ = trees
    fitted.save(tmp_path / "r.model")
    again = Reranker.load(tmp_path / "r.model")
    np.testing.assert_array_equal(again.margin(X), fitted.margin(X))
    assert again.certificate_ == fitted.certificate_
    told, kept = again.get_params(deep=False), fitted.get_params(deep=False)
    given = {"kernel": 0, "metric": 0}  # a function is not kept
    assert {**told, **given} == {**kept, **given}


@pytest.mark.parametrize(
    "spoil",
    [
        lambda s, a: a.update(weights=a["weights"][:-1]),
        lambda s, a: a.update(weights=a["weights"] * np.nan),
        lambda s, a: a.update(place=a["place"] - 100),
        lambda s, a: a.update(place=a["place"][:-1]),
        lambda s, a: a.pop("place"),
        lambda s, a: s.update(kernel={"kernel": "no_such.v1"}),
        lambda s, a: s.update(kernel=Linear().to_dict()),
        lambda s, a: s.update(base_weight="much"),
        lambda s, a: s.update(featurizer={"kind": "dicts.v1"}),
        lambda s, a: s.pop("kernel"),
    ],
)
def test_hostile_files_are_refused(fitted, tmp_path, monkeypatch, spoil):
    def write(model):
        settings, arrays = to_state(model)
        spoil(settings, arrays)
        return settings, arrays

    to_state = reranker_file.to_state
    monkeypatch.setattr(reranker_file, "to_state", write)
    monkeypatch.setattr("partwise.model_file.check_magnitude", lambda *_: None)
    save_model(fitted.model_, tmp_path / "bad.model")
    with pytest.raises(ModelFileError, match="damaged"):
        load_model(tmp_path / "bad.model")


@pytest.mark.parametrize(
    ("X", "y", "words"),
    [
        ([], [], "no example"),
        ([[]], ["a"], "no candidates"),
        ([["a", "b"]], ["a"], "pair"),
        ([[("a", np.nan)]], ["a"], "score nan"),
        ([[("a", 0.0)]], [], "1 examples and y 0"),
    ],
)
def test_bad_input_is_named(X, y, words):
    with pytest.raises(ValueError, match=words):
        Reranker("ngram").fit(X, y)


def test_a_kernel_or_features_must_be_given():
    with pytest.raises(ValueError, match="give kernel="):
        Reranker().fit([[("a", 0.0)]], ["a"])
    with pytest.raises(ValueError, match="rows of numbers"):
        Reranker("tree", features=dict).fit([[("a", 0.0)]], ["a"])
