"""Reports of parsers: the figures of the metrics, and the worst errors drawn."""

from pathlib import Path

import numpy as np
import pytest

from partwise import Certificate
from partwise.datasets import toy_dependencies, toy_treebank
from partwise.metrics import (
    evalb,
    las,
    measure_dependencies,
    measure_phrases,
    uas,
)
from partwise.model_file import load_model
from partwise.outputs.dependency.task import DependencyTask
from partwise.outputs.phrase.task import PhraseTask
from partwise.outputs.task import Answers, Data
from partwise.protocol import HistoryPoint
from partwise.readers import DependencyTree, parse_tree
from partwise.report import render

TRAINING = {
    "certificate": Certificate(2.0, 2.0, dual=1.9, data_bound=3.0, stopped="converged"),
    "history": [HistoryPoint(0.1, 3, np.inf, 0.5), HistoryPoint(0.2, 7, 2.0, 1.9)],
    "facts": [("C", "1")],
}  # fmt: skip
MODELS = Path(__file__).parents[1] / "data"


def report_of(task, name, X, y, y_pred, **answers):
    data = Data(X, y, sum(map(len, X)), None)
    answers = Answers(y_pred, **answers)
    model = load_model(MODELS / f"{name}.model")
    return task.report(model, data, answers, title="Toy", caption="dev", **TRAINING)


def test_a_dependency_parser():
    X, y = toy_dependencies(12)
    actual = [DependencyTree(list(t.heads), list(t.labels)) for t in y]
    actual[3].labels[0] = "obj"
    for i in range(len(actual[5].heads)):
        actual[5].labels[i] = "dep"
    words = X.strings("form")
    report = report_of(DependencyTask(), "dependency", X, y, actual)
    overall = report.metrics[0].values
    assert (overall["uas"], overall["las"]) == (1.0, las(y, actual))
    assert overall["non-projective, true"] == 0
    assert [table.caption for table in report.metrics] == [
        "dev", "By distance of the head", "By length of the sentence", "By relation",
    ]  # fmt: skip
    n = len(words[5])
    assert [d.caption for d in report.drawings] == [
        f"sentence 5: {n} of {n} words attached wrongly",
        f"sentence 3: 1 of {len(words[3])} words attached wrongly",
    ]
    assert sum(map(sum, report.confusion.matrix)) == X.n_tokens
    page = render(report)
    for text in ("Worst errors, drawn", "wrong-frame", "By relation", "Convergence"):
        assert text in page


def test_scores_of_relations_that_are_not_universal():
    y = [DependencyTree([2, 0], ["SBJ", "ROOT"])]
    assert measure_dependencies(y, y) == {
        "uas": 1.0, "las": 1.0, "exact_match": 1.0, "unlabelled_match": 1.0,
    }  # fmt: skip
    y = [DependencyTree([2, 0], ["nsubj:pass", "root"])]
    actual = [DependencyTree([2, 0], ["nsubj", "root"])]
    assert measure_dependencies(y, actual)["las_subtypes"] == 0.5
    assert uas(y, actual) == measure_dependencies(y, actual)["clas"] == 1.0


def test_a_phrase_structure_parser():
    y = [parse_tree("(S (NP (DT a) (NN b)) (VP (VB c)) (. .))")] * 3
    actual = [
        y[0],
        parse_tree("(S (VP (DT a) (NN b)) (VP (VB c)) (. .))"),
        None,
    ]
    X = [[("a", "DT"), ("b", "NN"), ("c", "VB"), (".", ".")]] * 3
    report = report_of(PhraseTask(), "phrase-rules", X, y, actual, n_failures=1)
    overall = report.metrics[0].values
    scores = evalb(y, actual)
    assert overall["labelled_f1"] == scores.f1 == pytest.approx(2 * 5 / 15)
    assert (overall["failures"], overall["exact_match"]) == (1, 1 / 3)
    assert report.metrics[2].rows == [("1-5", scores.f1, 1 / 3, 0.0, 3)]
    assert report.confusion.labels == ["NP", "S", "VP"]
    assert report.confusion.matrix == [[1, 0, 1], [0, 2, 0], [0, 0, 2]]
    assert [d.caption for d in report.drawings] == [
        "sentence 1: 2 phrases right, 1 wrong, 1 missed"
    ]
    assert "truth-frame" in render(report)


def test_a_perfect_parser_has_no_errors_to_draw():
    X, y = toy_treebank(5)
    report = report_of(PhraseTask(), "phrase-rules", X, y, y)
    assert not report.drawings and "Worst errors" not in render(report)
    assert measure_phrases(y, y)["labelled_f1_with_punctuation"] == 1.0
