"""`DependencyParser`: learning, prediction, scikit-learn's manners, files."""

import itertools
import pickle

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, cross_validate

from partwise.datasets import toy_dependencies
from partwise.metrics import las, scorer, uas
from partwise.model_file import ModelFileError
from partwise.outputs.dependency.estimator import DependencyParser
from partwise.protocol import CapabilityError
from partwise.readers import DependencyTree, is_projective
from partwise.structures.constraints import PartConstraint
from partwise.structures.dependency.constraints import (
    InfeasibleTreeError,
    at_most_per_head,
)

X, Y = toy_dependencies(60, random_state=1)
SMALL = {"hash_bits": 12, "tol": 0.2}


@pytest.fixture(scope="module")
def parser():
    return DependencyParser(**SMALL).fit(X[:40], Y[:40])


@pytest.fixture(scope="module")
def second_order():
    return DependencyParser(order=2, n_candidates=4, **SMALL).fit(X[:40], Y[:40])


def test_learns_trees_and_certifies(parser):
    predicted = parser.predict(X[40:])
    assert predicted.shape == (20,) and isinstance(predicted[0], DependencyTree)
    assert parser.score(X[40:], Y[40:]) > 0.8
    assert parser.certificate_.relative_gap <= 0.2
    assert set(parser.classes_) == {label for tree in Y[:40] for label in tree.labels}


@pytest.mark.parametrize("match", [None, "upos+distance"])
def test_a_parser_without_labels_is_scored_by_its_heads(match, tmp_path):
    parser = DependencyParser(labels=None, match=match, **SMALL).fit(X[:40], Y[:40])
    assert set(parser.predict(X[40:])[0].labels) == {"_"}
    assert parser.score(X[40:], Y[40:]) == uas(Y[40:], parser.predict(X[40:])) > 0.5
    parser.save(tmp_path / "m.model")
    again = DependencyParser.load(tmp_path / "m.model")
    assert again.metric is None
    assert again.score(X[40:], Y[40:]) == parser.score(X[40:], Y[40:])
    assert parser.set_params(metric="las").score(X[40:], Y[40:]) == 0.0


def test_a_parser_with_labels_is_scored_by_them(parser):
    predicted = parser.predict(X[40:])
    assert parser.metric is None
    assert (
        parser.score(X[40:], Y[40:]) == las(Y[40:], predicted) < uas(Y[40:], predicted)
    )
    named = clone(parser).set_params(metric="uas", labels="second_stage")
    named.fit(X[:20], Y[:20])
    predicted = named.predict(X[40:])
    assert named.score(X[40:], Y[40:]) == uas(Y[40:], predicted)
    named.set_params(metric=None)
    assert named.score(X[40:], Y[40:]) == las(Y[40:], predicted)


def test_grid_search_cross_validation_and_clone():
    search = GridSearchCV(DependencyParser(**SMALL), {"C": [0.1, 5.0]}, cv=2)
    search.fit(X[:20], Y[:20])
    assert search.best_params_["C"] == 5.0
    again = clone(search.best_estimator_)
    assert again.get_params() == search.best_estimator_.get_params()
    assert not hasattr(again, "model_")
    scores = cross_validate(again, X[:20], Y[:20], cv=2, scoring=scorer("uas"))
    assert len(scores["test_score"]) == 2 and scores["test_score"].min() > 0.3


@pytest.mark.parametrize(
    "params",
    [
        {"solver": "n_slack"},
        {"solver": "one_slack"},
        {"solver": "bundle"},
        {"penalty": "l2"},
        {"formulation": "slack"},
        {"projective": False},
        {"loss": "log", "tol": 0.02},
        {"labels": "second_stage"},
        {"labels": None},
        {"construction": "best_heads"},
    ],
    ids=str,
)
def test_each_way_to_learn_ends_within_its_tolerance(params):
    settings = {**SMALL, "C": 2.0, **params}
    parser = DependencyParser(**settings).fit(X[:15], Y[:15])
    assert parser.certificate_.relative_gap <= settings["tol"]
    assert uas(Y[:15], list(parser.predict(X[:15]))) > 0.8


@pytest.mark.parametrize("solver", ["perceptron", "mira", "pegasos"])
def test_online_solvers_learn(solver):
    parser = DependencyParser(hash_bits=12, solver=solver, max_iter=8)
    parser.fit(X[:30], Y[:30])
    assert parser.score(X[40:], Y[40:]) > 0.6


def test_several_trees_in_order(parser, second_order):
    for one in (parser, second_order):
        for predicted, best in zip(
            one.predict_topk(X[40:45], 4), one.predict(X[40:45]), strict=True
        ):
            scores = [score for _, score in predicted]
            assert scores == sorted(scores, reverse=True)
            assert predicted[0][0] == best
            trees = {(tuple(t.heads), tuple(t.labels)) for t, _ in predicted}
            assert len(trees) == 4
    lead = second_order.margin(X[40:45])[:, 1]
    assert (lead >= 0).all()


def test_probabilities_of_heads(parser, second_order):
    for table, own in zip(
        parser.predict_marginals(X[:3]), parser.confidences(X[:3]), strict=True
    ):
        np.testing.assert_allclose(table[:, 1:].sum(axis=0), 1.0)
        assert (own > 0).all() and (own <= 1 + 1e-12).all()
    with pytest.raises(CapabilityError, match="order=1"):
        second_order.predict_marginals(X[:3])


def test_given_heads_are_kept(parser, second_order):
    for one in (parser, second_order):
        free = one.predict(X[40:41])[0].heads
        given = [[None] * len(free)]
        given[0][0] = 0 if free[0] else 2
        assert one.predict(X[40:41], given=given)[0].heads[0] == given[0][0]
    with pytest.raises(ValueError, match="sentence 0"):
        parser.predict(X[40:41], given=[[1] * len(free)])


def best_allowed(parser, x, allows):
    """The highest score of a tree that a test lets pass, by trying all."""
    n_words = len(x)
    ranked = parser.predict_topk([x], 20_000)[0]
    assert len(ranked) < 20_000, f"too many trees of {n_words} words"
    return next(score for tree, score in ranked if allows(tree))


@pytest.mark.parametrize("order", [1, 2])
def test_constraints_give_the_best_tree_that_satisfies_them(order):
    trees = [
        DependencyTree([2, 0], ["a", "r"]),
        DependencyTree([0, 1, 1], ["r", "a", "a"]),
        DependencyTree([2, 0, 2], ["b", "r", "a"]),
    ]
    words = ["xy", "yxx", "xyx"]
    rows = [[{"form": c, "upos": c.upper()} for c in text] for text in words]
    parser = DependencyParser(hash_bits=10, order=order, n_candidates=3, tol=0.05, C=9)
    parser.fit(rows, trees)
    for x, tree in zip(rows, trees, strict=True):
        assert parser.predict([x])[0] == tree
        constraints = [at_most_per_head("a", 1), PartConstraint([(0, None)], upper=1)]

        def allows(tree):
            arcs = list(zip(*tree, strict=True))
            return tree.heads.count(0) <= 1 and all(
                arcs.count((h, "a")) <= 1 for h in range(1, len(arcs) + 1)
            )

        score = best_allowed(parser, x, allows)
        predicted = parser.predict([x], constraints=constraints)[0]
        assert allows(predicted)
        # margins that are met exactly leave ties, up to what an integer program sees
        ranked = parser.predict_topk([x], 20_000)[0]
        assert predicted in [own for own, s in ranked if s > score - 1e-6]
    with pytest.raises(InfeasibleTreeError, match="sentence 0"):
        parser.predict(rows[:1], constraints=[PartConstraint([(0, None)], upper=0)])
    with pytest.raises(ValueError, match="unknown label"):
        parser.predict(rows[:1], constraints=[at_most_per_head("subject")])


def test_kinds_of_trees():
    one_root = DependencyParser(**SMALL).fit(X[:20], Y[:20])
    assert all(tree.heads.count(0) == 1 for tree in one_root.predict(X))
    flat = [DependencyTree([0] * len(heads), labels) for heads, labels in Y[:20]]
    roots = DependencyParser(single_root=False, **SMALL).fit(X[:20], flat)
    assert all(set(tree.heads) == {0} for tree in roots.predict(X[:20]))
    assert all(is_projective(tree.heads) for tree in one_root.predict(X))
    heads = DependencyParser(construction="best_heads", **SMALL).fit(X[:20], Y[:20])
    assert 0 < heads.valid_share(X) <= 1


def test_warm_start_continues():
    parser = DependencyParser(**SMALL, solver="perceptron", max_iter=2, warm_start=True)
    parser.fit(X[:20], Y[:20])
    names = parser.model_.labels
    parser.fit(X[:20], Y[:20])
    assert parser.model_.labels == names


@pytest.mark.parametrize("labels", ["joint", "second_stage", None])
@pytest.mark.parametrize("order", [1, 2])
def test_save_load_and_pickle(labels, order, tmp_path):
    parser = DependencyParser(labels=labels, order=order, n_candidates=4, **SMALL)
    parser.fit(X[:20], Y[:20])
    parser.save(tmp_path / "m.model", keep_dual=True)
    for again in (
        DependencyParser.load(tmp_path / "m.model"),
        pickle.loads(pickle.dumps(parser)),
    ):
        assert list(again.predict(X[40:])) == list(parser.predict(X[40:]))
        assert again.certificate_ == parser.certificate_
        assert again.order == order and again.labels == labels


def test_damaged_files_are_refused(parser, tmp_path):
    parser.save(tmp_path / "m.model")
    whole = (tmp_path / "m.model").read_bytes()
    rng = np.random.default_rng(0)
    (tmp_path / "bad.model").write_bytes(whole[: len(whole) // 2])
    with pytest.raises(ModelFileError, match=r"bad\.model"):
        DependencyParser.load(tmp_path / "bad.model")
    for place in rng.integers(8, 3000, size=25):
        bad = bytearray(whole)
        bad[place] ^= 1 << rng.integers(8)
        (tmp_path / "bad.model").write_bytes(bytes(bad))
        try:  # a changed bit may leave a sound file; what must not happen is a crash
            DependencyParser.load(tmp_path / "bad.model").predict(X[:2])
        except ValueError as error:
            assert str(error)


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"labels": "all"}, "labels='all'"),
        ({"order": 3}, "order=3"),
        ({"order": 2, "loss": "log"}, "order=2"),
        ({"loss": "squared"}, "loss='squared'"),
        ({"cost": 2}, "cost=2"),
        ({"construction": "greedy"}, "construction='greedy'"),
        ({"templates": "head.colour"}, "colour"),
        ({"C": -1.0}, "C"),
        ({"metric": "beauty"}, "beauty"),
        ({"formulation": "slack", "projective": False}, "projective=True"),
    ],
)
def test_bad_parameters_are_named_in_fit(params, message):
    with pytest.raises(ValueError, match=message):
        DependencyParser(**{**SMALL, **params}).fit(X[:4], Y[:4])


def test_bad_trees_are_named():
    fit = DependencyParser(**SMALL).fit
    good = [list(Y[0].heads), list(Y[0].labels)]
    circle = [2, 1, *good[0][2:]]
    outside = [99, *good[0][1:]]
    for heads, text in ((circle, "circle"), (outside, "99"), (good[0][:-1], "heads")):
        with pytest.raises(ValueError, match=text):
            fit(X[:1], [(heads, good[1])])
    with pytest.raises(ValueError, match="single_root=False"):
        fit(X[:1], [([0] * len(good[0]), good[1])])
    with pytest.raises(ValueError, match="1 trees where X has 2"):
        fit(X[:2], Y[:1])


def test_weights_of_sentences_matter():
    """Two contradicting sentences: the heavier one wins."""
    rows = [[{"form": c, "upos": c} for c in "ab"]] * 2
    trees = [DependencyTree([0, 1], ["r", "x"]), DependencyTree([2, 0], ["x", "r"])]
    for weights in itertools.permutations((1.0, 5.0)):
        parser = DependencyParser(hash_bits=8, tol=0.01, C=10)
        parser.fit(rows, trees, sample_weight=weights)
        assert parser.predict(rows[:1])[0] == trees[int(np.argmax(weights))]


@pytest.mark.parametrize("memory", [-1, float("inf"), float("nan"), "a", None])
def test_a_limit_of_memory_is_a_number(memory):
    with pytest.raises(ValueError, match="give 0 or a positive number"):
        DependencyParser(arc_memory=memory).fit(X[:5], Y[:5])
