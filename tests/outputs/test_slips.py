"""Slips that users make: each is named, with what to do instead."""

from itertools import pairwise

import numpy as np
import pytest

from partwise import (
    AssignmentMatcher,
    DependencyParser,
    DiverseSelector,
    GraphLabeler,
    MotifClassifier,
    MulticlassClassifier,
    MultilabelClassifier,
    Ranker,
    SequenceAligner,
    SequenceTagger,
    TaxonomyClassifier,
)
from partwise.datasets import (
    toy_alignments,
    toy_candidates,
    toy_dependencies,
    toy_entities,
    toy_graphs,
    toy_label_sets,
    toy_matchings,
    toy_motifs,
    toy_points,
    toy_queries,
    toy_taxonomy,
)
from partwise.structures.constraints import at_most

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


def refused(call, *arguments, **settings):
    with pytest.raises((TypeError, ValueError)) as caught:
        call(*arguments, **settings)
    return str(caught.value)


@pytest.fixture(scope="module")
def tagger():
    return SequenceTagger(tol=0.3, max_iter=5).fit(*toy_entities(30))


@pytest.fixture(scope="module")
def parser():
    return DependencyParser(tol=0.5, max_iter=5).fit(*toy_dependencies(20))


class Path:
    """What is read of a networkx graph."""

    def __init__(self, names):
        self.nodes = {name: {"x": [1.0, float(name == "b")]} for name in names}

    def edges(self, data):
        return [(a, b, {}) for a, b in pairwise(self.nodes)]


# ------------------------------------------------- labels that the data do not have


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"cost": {("B-PERR", "O"): 3.0}}, "cost=: 'B-PERR' is no label of y; did you"),
        ({"forbidden": [("B-PER", "ZZ")]}, "forbidden=: 'ZZ' is no label of y; there"),
    ],
)
def test_unknown_labels_of_taggers(settings, message):
    X, y = toy_entities(10)
    with pytest.warns(UserWarning, match=message) as recorded:
        SequenceTagger(max_iter=2, **settings).fit(X, y)
    assert recorded[0].filename == __file__


def test_unknown_labels_of_classifiers():
    X, y = toy_points(30)
    with pytest.warns(UserWarning, match=r"cost=: 'rde' is no label .*'red'\?"):
        classifier = MulticlassClassifier(
            cost={("rde", "blue"): 5.0, ("red", "blue"): 2.0}
        ).fit(X, y)
    number = {label: k for k, label in enumerate(classifier.classes_.tolist())}
    table = classifier.model_.structure.cost
    assert table[number["red"], number["blue"]] == 2.0 and table.sum() == 7.0
    message = refused(MulticlassClassifier(cost={"red": 5.0}).fit, X, y)
    assert "'red' is no pair of labels; give {(true, predicted): cost}" in message
    X, y = toy_label_sets(20)
    for implications in ([("x", "4")], ["x>4"], "x>4"):
        message = refused(MultilabelClassifier(implications=implications).fit, X, y)
        assert message == "implications=: 'x' is no label of y; there are 0, 1, 2, 3, 4"
    message = refused(MultilabelClassifier(implications=[("0", "1", "2")]).fit, X, y)
    assert "is no pair of labels; give a>b or (a, b)" in message


def test_taxonomies_without_a_tree():
    X, y = toy_taxonomy(30)
    message = refused(TaxonomyClassifier(parents="|").fit, X, y)
    assert message.startswith("parents='|': no class has it")
    with pytest.warns(UserWarning, match="parents= is not given: all classes are at"):
        TaxonomyClassifier(max_iter=2).fit(X, y)


def test_labels_of_other_nodes():
    graph = Path("abc")
    labels = {"a": "u", "b": "v", "c": "u"}
    labeler = GraphLabeler(max_iter=3)
    missing = {"a": "u", "b": "v"}
    assert "no label for node 'c'" in refused(labeler.fit, [graph], [missing])
    extra = labels | {"d": "u"}
    assert "graph 0 has no node 'd'" in refused(labeler.fit, [graph], [extra])
    with pytest.warns(UserWarning, match="class_weight=: 'w' is no label of y; there"):
        GraphLabeler(max_iter=3, class_weight={"w": 2.0}).fit([graph], [labels])
    message = refused(GraphLabeler(cost={("u", "v"): 2.0}).fit, [graph], [labels])
    assert message.endswith("or give a matrix")
    labeler.fit([graph] * 3, [labels] * 3)
    assert labeler.predict([graph], given=[{"b": "v"}])[0][1] == "v"


# ------------------------------------------------------------- data of other kinds


def test_queries():
    X, y = toy_queries(6)
    rows, grades = np.vstack(X), np.concatenate(y)
    groups = np.repeat(np.arange(6.0), [len(x) for x in X])
    groups[3] = np.nan
    assert "groups: row 3 has no query" in refused(
        Ranker().fit, rows, grades, groups=groups
    )
    texts = np.where(grades > grades.min(), "good", "bad")
    assert "is a text; give numbers" in refused(Ranker().fit, rows, texts)
    assert "a list of grades for each query" in refused(Ranker().fit, X, grades)
    assert "a list of grades for each query" in refused(Ranker().fit, X, y[:-1])


def test_letters_counts_and_selections():
    X, y = toy_motifs(10)
    classifier = MotifClassifier(length=4, max_iter=2, restarts=1).fit(X, y)
    message = refused(classifier.predict, ["ACGT", "MKVLW"])
    assert "sequence 1 has the letter 'L', which is no nucleotide" in message
    assert "no nucleotide" in refused(classifier.fit, ["MKVLW", *X[1:]], y)
    X, y = toy_candidates(4)
    most = max(map(len, X))
    message = refused(DiverseSelector(k=most).fit, X, y)
    assert message.startswith(f"k={most}: the largest candidate set has {most} docum")
    counts = [np.ones((4, 3)), np.array([[1.0, -2.0, 0.0]] * 4)]
    topics = [[["a"], ["b"], ["a"], ["b"]]] * 2
    message = refused(DiverseSelector(k=2).fit, counts, topics)
    assert message == "candidate set 1: a word count below 0; give numbers of words"


def test_sets_of_labels_as_lists():
    X, y = toy_label_sets(20)
    for labels in (
        [["a", "b"] if k % 2 else ["a"] for k in range(20)],
        [("a", "b")] * 20,
        [{"a"}] * 20,
    ):
        message = refused(MultilabelClassifier().fit, X, labels)
        assert "as MultiLabelBinarizer makes of lists" in message
    MultilabelClassifier(max_iter=2).fit(X, y.tolist())


@pytest.mark.parametrize("kind", [MulticlassClassifier, TaxonomyClassifier])
def test_rows_without_a_class(kind):
    X, y = toy_points(10)
    labels = [*y[:4], None, *y[5:]]
    assert "y: row 4 is None; leave out rows" in refused(kind().fit, X, labels)
    if kind is TaxonomyClassifier:
        sets = kind(multiple=True, parents="/")
        assert "y: row 4 is None; leave out rows" in refused(sets.fit, X, labels)


def test_constraints_that_are_none(parser):
    X, y = toy_label_sets(20)
    classifier = MultilabelClassifier(max_iter=2).fit(X, y)
    sentences, _ = toy_dependencies(2)
    for predict, inputs in ((classifier.predict, X[:2]), (parser.predict, sentences)):
        for wrong in ("x", ["x"], 3):
            message = refused(predict, inputs, constraints=wrong)
            assert "is no constraint; make them with partwise.structures" in message
        message = refused(predict, inputs, constraints=at_most(1))
        assert message == "constraints is one constraint; give a list: [constraint]"
    assert "is no constraint" in refused(classifier.predict, X, constraints=[len])


def test_given_labels(tagger):
    X, y = toy_entities(2)
    free = tagger.predict(X)
    assert tagger.predict(X, given=[None, None]).tolist() == free.tolist()
    mixed = tagger.predict(X, given=[None, y[1]])
    assert mixed[0] == free[0] and mixed[1] == y[1]
    message = refused(tagger.predict, X, given=["O", y[1]])
    assert message == "given: sequence 0 is 'O'; give a list of labels"
    message = refused(tagger.calibrate, X, [None, y[1]])
    assert message == "y: sequence 0 is None; give a list of labels"


def test_given_heads(parser):
    X, y = toy_dependencies(3)
    free = parser.predict(X)
    known = parser.predict(X, given=[None, y[1].heads, None])
    assert list(known[1].heads) == list(y[1].heads)
    assert known[0] == free[0] and known[2] == free[2]


# ------------------------------------------------------------------- what is meant


def test_metrics_of_an_output_are_listed():
    X, y = toy_alignments(4)
    message = refused(SequenceAligner(metric="foo").fit, X, y)
    choices = "choose from exact_match, homologue_accuracy, q, q4"
    assert message == f"unknown metric 'foo'; {choices}"
    message = refused(SequenceAligner(metric="las").fit, X, y)
    assert message == f"metric 'las' measures dependencies, not alignments; {choices}"


def test_heads_that_count_from_0():
    X, y = toy_dependencies(6)
    heads = [[head - 1 for head in tree.heads] for tree in y]
    message = refused(DependencyParser().fit, X, heads)
    assert "words count from 1 and the root is 0" in message


def test_heads_alone_are_scored_by_heads(parser):
    X, y = toy_dependencies(6)
    heads = [tree.heads for tree in y]
    trees = parser.predict(X)
    right = sum(
        a == b
        for tree, row in zip(trees, heads, strict=True)
        for a, b in zip(tree.heads, row, strict=True)
    )
    assert parser.score(X, heads) == pytest.approx(right / sum(map(len, heads)))
    assert right
    parser.set_params(metric="las")
    assert "metric='las': y has heads without labels" in refused(parser.score, X, heads)
    parser.set_params(metric=None)


def test_numbers_that_are_none_name_the_graph():
    X, y = toy_graphs(5)
    X[3] = (np.array(X[3][0], float), *X[3][1:])
    X[3][0][0] = np.nan
    assert refused(GraphLabeler().fit, X, y).startswith("graph 3: NaN")
    X, y = toy_matchings(5)
    X[2] = np.array(X[2], float)
    X[2][0, 0] = np.nan
    assert refused(AssignmentMatcher().fit, X, y).startswith("example 2: NaN")


def test_tokens_of_another_kind(tagger):
    message = refused(tagger.predict, [np.zeros((3, 4))])
    assert message.startswith("sequence 0, token 0: ") and "is no string" in message
    message = refused(tagger.predict, [[{"word": "a"}]])
    assert message.startswith("sequence 0, token 0: ") and "is no string" in message
    dicts = SequenceTagger(max_iter=2).fit([[{"a": 1}, {"b": 1}]] * 3, [["x", "y"]] * 3)
    message = refused(dicts.predict, [{"a": 1}, {"b": 1}])
    assert message.startswith("sequence 0 is a dict") and message.endswith(": [X]")


def test_names_of_settings():
    X, y = toy_entities(6)
    message = refused(SequenceTagger(scheme="IOB3").fit, X, y)
    assert message.endswith("choose from BIO, IOB1, IOB2, BIOES")
    X, y = toy_dependencies(6)
    message = refused(DependencyParser(templates="nre").fit, X, y)
    assert "presets mcdonald" in message


@pytest.mark.parametrize(
    "settings",
    [{"penalty": "l2"}, {"cost": "zero_one"}, {"formulation": "slack"}],
    ids=str,
)
def test_likelihood_has_no_margin(settings):
    ((name, value),) = settings.items()
    message = refused(SequenceTagger(loss="log", **settings).check_parameters)
    assert f"{name}='{value}' does not go with loss='log'" in message


def test_likelihood_has_no_losses_of_tokens():
    X, y = toy_entities(6)
    weight = [np.full(len(row), 2.0) for row in y]
    message = refused(SequenceTagger(loss="log").fit, X, y, token_weight=weight)
    assert "token_weight= does not go with loss='log'" in message
    X, y = toy_graphs(4)
    labeler = GraphLabeler(loss="log", class_weight="balanced")
    assert "class_weight= does not go with loss='log'" in refused(labeler.fit, X, y)


def test_bounds_of_rounds_are_not_below_0():
    X, y = toy_motifs(20)
    classifier = MotifClassifier(length=5, restarts=1, max_iter=3).fit(X, y)
    bounds = [point.dual for point in classifier.history_]
    assert min(bounds) >= 0.0 or not np.isfinite(min(bounds))
    assert classifier.certificate_.dual >= 0.0
