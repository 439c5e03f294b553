import numpy as np
import pytest

from partwise import Certificate
from partwise.features import Featurizer
from partwise.metrics import as_span_tags, measure_labels
from partwise.outputs.label_scoring import TokenFeatureScoring
from partwise.outputs.listings import telling_features
from partwise.outputs.sequence.model import SequenceModel
from partwise.outputs.sequence.report import sequence_sections
from partwise.outputs.sequence.task import TagTask
from partwise.outputs.task import Answers, Data
from partwise.protocol import HistoryPoint
from partwise.readers import Table
from partwise.readers.layout import Layout
from partwise.report import render
from partwise.structures.chain import Chain

TOKENS = [["Ann", "saw", "Rome"], ["Rome", "slept"]]
Y = [["B-PER", "O", "B-LOC"], ["B-LOC", "O"]]
PREDICTED = [["B-PER", "O", "B-PER"], ["B-PER", "B-LOC"]]


def small_model() -> SequenceModel:
    featurizer = Featurizer("word[0]").fit(Table.from_sequences(TOKENS))
    chain = Chain(3, cost=np.array([[0.0, 1, 1], [5, 0, 1], [1, 1, 0]]))
    weights = np.zeros(chain.n_weights(featurizer.n_features_))
    weights[:6] = [1.0, -2.0, 0.5, 0.0, 3.0, -0.25]
    return SequenceModel(
        TokenFeatureScoring(featurizer), chain, ["B-LOC", "B-PER", "O"], weights
    )


def test_a_report_shows_what_was_evaluated():
    certificate = Certificate(2.0, 2.0, dual=1.9, data_bound=3.0, stopped="converged")
    table = Table.from_sequences(TOKENS)
    report = TagTask(Layout()).report(
        small_model(),
        Data(table, Y, table.n_tokens, table),
        Answers(PREDICTED),
        title="Names",
        caption="On dev.txt",
        certificate=certificate,
        history=[HistoryPoint(0.1, 3, np.inf, 0.5), HistoryPoint(0.2, 7, 2.0, 1.9)],
        tolerance=0.1,
        facts=[("C", "1")],
    )
    assert [table.caption for table in report.metrics] == [
        "On dev.txt", "By span", "By label",
    ]  # fmt: skip
    assert report.metrics[0].values["token_accuracy"] == pytest.approx(0.4)
    assert report.confusion.labels == ["B-LOC", "B-PER", "O"]
    assert report.certificate.data_bound == 3.0
    page = render(report)
    for text in ("Names", "On dev.txt", "word[0]=Rome", "Ann"):
        assert text in page


def test_errors_come_by_falling_loss_of_the_chain():
    y, predicted = [["B-PER"], ["B-LOC", "O"]], [["B-LOC"], ["O", "B-LOC"]]
    tokens = [["Ann"], ["Rome", "fell"]]
    sections = sequence_sections(small_model(), tokens, y, predicted)
    assert [(error.loss, error.note) for error in sections["errors"]] == [
        (5.0, "sequence 0"),
        (2.0, "sequence 1"),
    ]


def test_telling_features_keep_their_sign():
    place, person, outside = telling_features(small_model(), 2)
    assert place.positive == [("word[0]=Rome", 1.0)] and not place.negative
    assert person.positive[0][1] == 3.0 and person.negative[0][1] == -2.0
    assert outside.name == "O"


def test_spans_are_measured_only_for_span_tags():
    assert "span_f1" in measure_labels(Y, PREDICTED)
    assert "span_f1" not in measure_labels([["N", "V"]], [["N", "N"]])
    assert "span_f1" not in measure_labels([["O", "O"]], [["O", "O"]])
    assert as_span_tags([["B-X"]], [["NN"]]) is None


def test_a_strange_true_label_is_a_span_that_nobody_finds():
    y, predicted = as_span_tags([["B-X", "WHO"]], [["B-X", "O"]])
    assert y == [["B-X", "S-WHO"]]
    assert measure_labels([["B-X", "WHO"]], predicted)["span_recall"] == 0.5
