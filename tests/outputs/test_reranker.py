"""Rerankers: the tree kernel among candidates, features, files."""

from itertools import pairwise

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.model_selection import cross_val_score

from partwise import Reranker, SequenceTagger
from partwise.datasets import toy_entities, toy_treebank
from partwise.kernels import Linear
from partwise.kernels.gram import gram
from partwise.kernels.naming import as_kernel
from partwise.metrics import labelled_f1
from partwise.model_file import ModelFileError, load_model, save_model
from partwise.objective import Formulation, Objective
from partwise.outputs.reranking import file as reranker_file
from partwise.outputs.reranking import model as reranker_model
from partwise.solvers import make_solver
from partwise.solvers.online import VotedPerceptron
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
        actual = [truth, *(relabelled(truth, rng, 0.4) for _ in range(5))]
        ranked = [
            (tree, float(rng.normal(0.5 * (k == 0)))) for k, tree in enumerate(actual)
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


def models_of_a_perceptron(table, offset, quality, epochs):
    """β of the perceptron after each visit, and the average; numpy alone."""
    best = [a + np.argmax(quality[a:b]) for a, b in pairwise(offset)]
    rng, beta, models = np.random.default_rng(0), np.zeros(len(table)), []
    for _ in range(epochs):
        before = beta
        for i in rng.permutation(len(offset) - 1):
            here = np.arange(offset[i], offset[i + 1])
            scores = table @ beta
            chosen = here[np.argmin(scores[best[i]] - scores[here])]
            if quality[chosen] < quality[best[i]]:
                beta = beta.copy()
                beta[best[i]] += 1
                beta[chosen] -= 1
            models.append(beta)
        if beta is before:
            break  # an epoch without a mistake
    return models


@pytest.mark.parametrize("base_scale", [0.0, 0.7])
def test_votes_are_those_of_all_models_one_by_one(trees, base_scale):
    X, y = trees
    settings = {"metric": f1, "max_iter": 3, "base_scale": base_scale}
    reranker = Reranker(KERNEL, solver="voted_perceptron", **settings)
    reranker.fit(X[:40], y[:40])
    lists, new = X[:40], X[40:]
    candidates = [c for ranked in lists for c, _ in ranked]
    base = base_scale * np.array([s for ranked in lists for _, s in ranked])
    table = gram(as_kernel(KERNEL), candidates) + base[:, None] * base
    offset = np.append(0, np.cumsum([len(ranked) for ranked in lists]))
    quality = reranker._quality(lists, y[:40])
    models = models_of_a_perceptron(table, offset, quality, 3)
    n_compared = 0
    for ranked, (order, shares) in zip(new, reranker.model_.orders(new), strict=True):
        values = gram(as_kernel(KERNEL), [c for c, _ in ranked], candidates)
        values += base_scale * np.array([s for _, s in ranked])[:, None] * base
        scores = values @ np.array(models).T
        lead = -np.diff(-np.sort(-scores, axis=0)[:2], axis=0)[0]
        if (lead[np.any(models, axis=1)] < 1e-9).any():
            continue  # rounding decides
        n_compared += 1
        choice = np.argmax(scores, axis=0)
        wanted = np.bincount(choice, minlength=len(ranked)) / len(models)
        np.testing.assert_allclose(shares, wanted, atol=1e-12)
        assert shares[order[0]] == shares.max()
    assert n_compared >= 5
    assert reranker.score(new, y[40:]) > base_quality(new, y[40:]) + 0.1


def test_the_average_of_voting_models_is_the_averaged_perceptron(trees):
    X, y = trees
    settings = {"metric": f1, "max_iter": 1}
    voted = Reranker(KERNEL, solver="voted_perceptron", **settings).fit(X, y)
    averaged = Reranker(KERNEL, solver="perceptron", **settings).fit(X, y)
    ballot, model = voted.model_.ballot, voted.model_
    share = 1 - np.cumsum(ballot.n_votes)[:-1] / ballot.n_votes.sum()
    beta = np.zeros(len(model.weights))
    np.add.at(beta, ballot.step[:, 0], share)
    np.add.at(beta, ballot.step[:, 1], -share)
    np.testing.assert_allclose(model.weights, beta, atol=1e-12)
    lists = [X[:1], X[1:3], X]
    for part in lists:
        for one, other in zip(
            model.scores(part), averaged.model_.scores(part), strict=True
        ):
            np.testing.assert_allclose(one, other, atol=1e-10)


def test_votes_are_kept_in_files_and_reasons_speak_of_their_winner(trees, tmp_path):
    X, y = trees
    solver = VotedPerceptron(max_iter=2)
    reranker = Reranker(KERNEL, metric=f1, solver=solver).fit(X[:20], y[:20])
    reranker.save(tmp_path / "r.model")
    again = Reranker.load(tmp_path / "r.model")
    assert again.predict_topk(X, 3).tolist() == reranker.predict_topk(X, 3).tolist()
    explanation = again.explain(X[30])
    assert explanation.winner == again.predict(X[30:31])[0]
    settings, arrays = reranker_file.to_state(reranker.model_)
    arrays["votes/step"] = arrays["votes/step"] + 10**6
    with pytest.raises(ValueError, match="votes: an anchor out of range"):
        reranker_file.from_state(settings, arrays, {})


def test_a_perceptron_without_mistakes_lets_the_zero_model_vote():
    X = [[("a", 0.0), ("b", 0.0)]]
    settings = {"features": lambda c: {c: 1.0}, "solver": "voted_perceptron"}
    reranker = Reranker(metric=lambda t, c: float(t == c), **settings).fit(X, ["a"])
    assert reranker.predict_topk(X, 2)[0] == [("a", 1.0), ("b", 0.0)]


def test_votes_do_not_depend_on_the_pieces_they_are_counted_in(trees, monkeypatch):
    X, y = trees
    settings = {"metric": f1, "max_iter": 2}
    reranker = Reranker(KERNEL, solver="voted_perceptron", **settings)
    reranker.fit(X[:20], y[:20])
    whole = reranker.margin(X)
    monkeypatch.setattr(reranker_model, "TABLE", 1)
    np.testing.assert_array_equal(reranker.margin(X), whole)


def test_taggers_refuse_a_vote():
    X, y = toy_entities(5)
    with pytest.raises(ValueError, match="one search per model"):
        SequenceTagger(solver="voted_perceptron").fit(X, y)


def test_rankings_margins_and_reasons(fitted, trees):
    X, _ = trees
    top = fitted.predict_topk(X[40:], 2)
    assert all(a[1] >= b[1] for a, b in top)
    explanation = fitted.explain(X[40], top=10**6)
    shares = sum(share for *_, share in explanation.anchors)
    assert shares + explanation.base == pytest.approx(explanation.lead)
    np.testing.assert_allclose(fitted.margin(X[40:41])[0, 1], explanation.lead)
    example, place, _ = explanation.anchors[0]
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
    actual = {
        f"{label}→{' '.join(c if isinstance(c, str) else c[0] for c in children)}": 1
    }
    for child in children:
        if not isinstance(child, str):
            for name, count in labels_of(child).items():
                actual[name] = actual.get(name, 0) + count
    return actual


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
    subset = [row for row in range(40) if row % 3]
    plain.fit([X[row] for row in subset], [y[row] for row in subset])
    np.testing.assert_allclose(reranker.model_.weights, plain.model_.weights)
    predicted = reranker.predict(X[40:])
    assert [tree == flat for tree in predicted] == [r % 3 == 0 for r in range(40, 60)]
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
    actual = {
        solver: make_solver(solver, {"tol": 1e-7}).solve(problem, objective)
        for solver in ("n_slack", "bcfw", *(["one_slack"] if name != "hard" else []))
    }
    values = [state.primal for state in actual.values()]
    np.testing.assert_allclose(values, values[0], rtol=1e-6)
    model = actual["n_slack"].model
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
    values, subset = again.get_params(deep=False), fitted.get_params(deep=False)
    given = {"kernel": 0, "metric": 0}  # a function is not kept
    assert {**values, **given} == {**subset, **given}


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
