"""`ConstituencyParser` from treebank to file: what a user meets."""

import warnings

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.model_selection import cross_val_predict

from partwise.datasets import toy_treebank
from partwise.model_file import ModelFileError, load_model
from partwise.outputs.phrase.estimator import ConstituencyParser
from partwise.outputs.phrase.model import ConstituencyModel

X, y = toy_treebank(60, random_state=0)
SETTINGS = {"features": "rules", "tol": 0.05, "max_length": 12}


@pytest.fixture(scope="module")
def parser():
    return ConstituencyParser(features="spans", min_count=1, tol=0.05).fit(
        X[:40], y[:40]
    )


def test_parses_what_it_has_not_seen(parser):
    assert parser.certificate_.relative_gap <= 0.05
    assert parser.certificate_.exact_oracle
    assert parser.score(X[40:], y[40:]) > 0.9
    assert parser.n_failures_ == 0
    assert parser.n_unfit_ == 0


def test_predictions_are_trees_over_the_same_words(parser):
    trees = parser.predict(X[40:45])
    assert trees.shape == (5,)
    for tree, x in zip(trees, X[40:45], strict=True):
        stack, words = [tree], []
        while stack:
            label, children = stack.pop()
            if isinstance(children[0], str):
                words.append((children[0], label))
            else:
                stack.extend(reversed(children))
        assert words == list(x)


def test_top_trees_margins_and_explanations_agree(parser):
    top = parser.predict_topk(X[40:43], 3)
    margin = parser.margin(X[40:43])
    for i, actual in enumerate(top):
        assert actual[0][0] == parser.predict(X[40:43])[i]
        scores = [score for _, score in actual] + [-np.inf]
        assert scores == sorted(scores, reverse=True)
        assert margin[i] == pytest.approx([scores[0], scores[0] - scores[1]])
    several = next(x for x in X if len(parser.predict_topk([x], 2)[0]) == 2)
    explanation = parser.explain(several, top=5)
    assert explanation.lead == pytest.approx(parser.margin([several])[0, 1])
    assert len(explanation.contributions) <= 5
    assert "runner-up" in str(explanation)
    everything = parser.explain(several, top=10_000)
    assert sum(c.share for c in everything.contributions) == pytest.approx(
        explanation.lead
    )


def test_shares_of_rules_and_of_support_structures_add_up_to_the_lead(parser, tmp_path):
    several = next(x for x in X if len(parser.predict_topk([x], 2)[0]) == 2)
    explanation = parser.explain(several, top=1_000_000)
    assert len(explanation.support) > 1
    for shares in (explanation.contributions, explanation.support):
        assert sum(each.share for each in shares) == pytest.approx(explanation.lead)
    assert all(each.missed or each.made_up for each in explanation.support)
    assert f"training sentence {explanation.support[0].row}" in str(explanation)
    path = tmp_path / "dual.partwise"
    parser.save(path, keep_dual=True)
    assert ConstituencyParser.load(path).explain(several, top=1_000_000) == explanation
    parser.save(path)
    assert ConstituencyParser.load(path).explain(several).support == []


def test_relative_frequencies_add_up_to_one():
    parser = ConstituencyParser(solver="pcfg", max_length=12).fit(X[:40], y[:40])
    total = {}
    for rule, weight in parser.rule_weights_.items():
        parent = rule.split("→")[0].strip()
        total[parent] = total.get(parent, 0.0) + np.exp(weight)
    assert all(value == pytest.approx(1.0) for value in total.values())
    tables = parser.predict_marginals(X[40:41])
    assert tables[0].max() <= 1 + 1e-9


@pytest.mark.parametrize(
    "solver", ["n_slack", "one_slack", "bundle", "perceptron", "mira", "pegasos"]
)
def test_every_solver_trains_it(solver):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        parser = ConstituencyParser(solver=solver, max_iter=20, **SETTINGS)
        parser.fit(X[:30], y[:30])
    assert parser.score(X[40:], y[40:]) > 0.8


def test_conditional_likelihood():
    parser = ConstituencyParser(loss="log", C=10.0, **SETTINGS).fit(X[:30], y[:30])
    assert parser.certificate_.relative_gap <= 0.05
    assert parser.score(X[40:], y[40:]) > 0.8


@pytest.mark.parametrize(
    ("cost", "formulation", "penalty"),
    [("f1", "margin", "l1"), ("f1", "slack", "l2"), ("zero_one", "margin", "l2")],
)
def test_losses_of_the_paper(cost, formulation, penalty):
    parser = ConstituencyParser(
        cost=cost, formulation=formulation, penalty=penalty, **SETTINGS
    ).fit(X[:30], y[:30])
    assert parser.certificate_.relative_gap <= 0.05
    assert parser.score(X[40:], y[40:]) > 0.8


def test_failures_get_a_flat_tree_and_are_counted(parser):
    strange = [("?", "NN")] * 3 + [("!", "never seen")]
    short = ConstituencyParser(solver="pcfg", max_length=5).fit(X[:40], y[:40])
    long = max(X, key=len)
    nothing = [(".", "PUNCT"), (".", "PUNCT")]
    trees = short.predict([long, nothing, X[0]])
    assert short.n_failures_ == 2
    label, children = trees[0]
    assert list(children) == [(tag, (word,)) for word, tag in long]
    assert trees[1] == ("S", (("PUNCT", (".",)),) * 2)
    assert label == "S"
    assert parser.predict([strange])[0][1]  # an unknown tag stands for any


def test_sentences_without_words_get_the_root_label_alone(parser):
    trees = parser.predict([[], X[40], []])
    assert list(trees) == [("S", ()), parser.predict(X[40:41])[0], ("S", ())]
    assert parser.n_failures_ == parser.n_unknown_tags_ == 0
    assert trees[0]._repr_html_() is None
    assert len(parser.predict([])) == 0
    wrapped = [("TOP", (tree,)) for tree in y[:20]]
    whole = ConstituencyParser(solver="pcfg").fit(X[:20], wrapped)
    assert list(whole.predict([[]])) == [("TOP", ())]
    for ask in (parser.margin, lambda empty: parser.predict_topk(empty, 2)):
        with pytest.raises(ValueError, match="sentence 1 has no words; leave it out"):
            ask([X[0], []])


def test_unknown_tags_are_counted_and_give_each_tree_once(parser):
    strange = [(word, "?" if k < 3 else tag) for k, (word, tag) in enumerate(X[40])]
    parser.predict([strange])
    assert parser.n_unknown_tags_ == 3
    trees = [tree for tree, _ in parser.predict_topk([strange], 8)[0]]
    assert len(set(trees)) == len(trees)
    explanation = parser.explain(strange, top=1_000_000)
    if explanation.runner_up is not None:
        shares = sum(reason.share for reason in explanation.contributions)
        assert shares == pytest.approx(explanation.lead)
    parser.predict(X[40:])
    assert parser.n_unknown_tags_ == 0


def test_trees_of_one_word():
    noun, verb = ("NP", (("NN", ("ice",)),)), ("VP", (("VB", ("go",)),))
    words = [[("ice", "NN")], [("go", "VB")]]
    parser = ConstituencyParser(features="spans").fit(words * 3, [noun, verb] * 3)
    assert list(parser.predict(words)) == [noun, verb]
    bare = ("NN", ("ice",))
    with pytest.warns(UserWarning, match="1 of 3 trees"):
        parser.fit([*words, words[0]], [noun, verb, bare])
    with pytest.raises(ValueError, match="no rule"):
        ConstituencyParser().fit(words[:1], [bare])


def test_a_time_limit_ends_a_sweep_of_the_working_set():
    many, trees = [*X, *X], [*y, *y]
    parser = ConstituencyParser(
        features="rules", solver="n_slack", eps=0.01, time_limit=1e-9
    )
    with pytest.warns(UserWarning, match="stopped by time limit"):
        parser.fit(many, trees)
    assert parser.n_iter_ == 1
    assert parser.history_[0].oracle_calls < len(many)


def test_trees_outside_of_the_grammar_are_left_out_with_a_warning():
    deep = y[0]
    for label in ("A", "B", "C", "D", "E"):
        deep = (label, (deep,))
    parser = ConstituencyParser(**SETTINGS)
    with pytest.warns(UserWarning, match="1 of 31 trees"):
        parser.fit([*X[:30], X[0]], [*y[:30], deep])
    assert parser.n_unfit_ == 1


def test_nltk_trees_and_wrappers_are_understood():
    nltk = pytest.importorskip("nltk")

    def convert(tree):
        label, children = tree
        if isinstance(children[0], str):
            return nltk.Tree(label, list(children))
        return nltk.Tree(label, [convert(child) for child in children])

    wrapped = [nltk.Tree("TOP", [convert(tree)]) for tree in y[:30]]
    parser = ConstituencyParser(solver="pcfg").fit(X[:30], wrapped)
    assert parser.predict(X[:1])[0][0] == "TOP"
    assert "TOP" not in parser.classes_


def test_scikit_learn_can_clone_and_cross_validate():
    parser = ConstituencyParser(solver="pcfg", vertical=2)
    assert clone(parser).vertical == 2
    trees = cross_val_predict(parser, X[:20], y[:20], cv=2)
    assert trees.shape == (20,)


@pytest.mark.parametrize("lexical", [False, True])
def test_a_file_keeps_the_parser(tmp_path, lexical):
    path = tmp_path / "parser.partwise"
    parser = ConstituencyParser(
        features="spans", lexical=lexical, horizontal=1, vertical=2, max_iter=3, tol=0.5
    ).fit(X[:30], y[:30])
    parser.save(path)
    again = ConstituencyParser.load(path)
    assert again.get_params()["vertical"] == 2
    np.testing.assert_array_equal(again.model_.weights, parser.model_.weights)
    assert list(again.predict(X[40:])) == list(parser.predict(X[40:]))
    assert isinstance(load_model(path), ConstituencyModel)
    assert again.certificate_.primal == parser.certificate_.primal


@pytest.mark.parametrize(
    ("name", "change", "message"),
    [
        ("child", lambda a: a + 10_000, "child of a rule out of range"),
        ("unary", lambda a: a - 10_000, "out of range"),
        ("place", lambda a: a + (1 << 30), "place of a weight"),
        ("weight", lambda a: a * np.nan, "NaN, infinity"),
        ("child_ptr", lambda a: a * 0, "offsets"),
    ],
)
def test_hostile_files_are_refused(tmp_path, monkeypatch, name, change, message):
    from partwise.outputs.phrase import file

    path = tmp_path / "parser.partwise"
    parser = ConstituencyParser(solver="pcfg").fit(X[:30], y[:30])
    honest = file.to_state

    def hostile(model):
        settings, arrays = honest(model)
        arrays[name] = change(arrays[name])
        return settings, arrays

    monkeypatch.setattr(file, "to_state", hostile)
    monkeypatch.setattr("partwise.model_file.check_magnitude", lambda *_: None)
    parser.save(path)
    with pytest.raises(ModelFileError, match=message):
        load_model(path)


@pytest.mark.parametrize(
    ("name", "change", "message"),
    [
        ("code", lambda a: a + (1 << 20), "a part that the grammar does not have"),
        ("code", lambda a: np.where(a < 0, a, 0), "a part that the grammar does not"),
        ("truth", lambda a: a[::-1].copy(), "the grammar does not"),
        ("truth", lambda a: np.full_like(a, -1), "the grammar does not derive"),
        ("block", lambda a: a + 1000, "the block of a cut"),
        ("alpha", lambda a: a * np.inf, "NaN, infinity"),
    ],
)
def test_hostile_duals_are_refused(
    parser, tmp_path, monkeypatch, name, change, message
):
    from partwise.outputs.phrase import file

    path = tmp_path / "parser.partwise"
    honest = file.to_state

    def hostile(model):
        settings, arrays = honest(model)
        arrays[f"support/{name}"] = change(arrays[f"support/{name}"])
        return settings, arrays

    monkeypatch.setattr(file, "to_state", hostile)
    monkeypatch.setattr("partwise.model_file.check_magnitude", lambda *_: None)
    parser.save(path, keep_dual=True)
    with pytest.raises(ModelFileError, match=message):
        load_model(path)


def test_truncated_files_are_refused(parser, tmp_path):
    path = tmp_path / "parser.partwise"
    parser.save(path, keep_dual=True)
    whole = path.read_bytes()
    for size in (0, 7, 100, len(whole) // 2, len(whole) - 1):
        path.write_bytes(whole[:size])
        with pytest.raises(ModelFileError):
            load_model(path)


@pytest.mark.parametrize(
    ("bad_X", "bad_y", "message"),
    [
        (X[0], y[:1], "one sentence"),
        ([X[0]], y[1:2], "other words"),
        ([[]], y[:1], "no words"),
        ([["word"]], y[:1], "no \\(word, tag\\)"),
    ],
)
def test_bad_input_is_named(bad_X, bad_y, message):
    with pytest.raises(ValueError, match=message):
        ConstituencyParser().fit(bad_X, bad_y)
