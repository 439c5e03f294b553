import time
import warnings

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from seqeval.metrics import (
    f1_score,
    precision_score,
    recall_score,
)
from seqeval.metrics.sequence_labeling import (
    get_entities,
    precision_recall_fscore_support,
)

from partwise.metrics import (
    span_f1,
    span_precision,
    span_recall,
    span_report,
    spans,
)

TAGS = ["O", *(p + t for p in "BIES" for t in ("", "-A", "-B", "-A-B", "-"))]
tag_lists = st.lists(st.sampled_from(TAGS), max_size=12)


@st.composite
def tagged_pairs(draw):
    pairs = draw(
        st.lists(
            st.integers(0, 10).flatmap(
                lambda n: st.tuples(
                    *[st.lists(st.sampled_from(TAGS), min_size=n, max_size=n)] * 2
                )
            ),
            min_size=1,
            max_size=5,
        )
    )
    return [true for true, _ in pairs], [predicted for _, predicted in pairs]


@given(tag_lists)
def test_spans_are_those_of_seqeval_in_any_tag_soup(labels):
    theirs = [(type_, start, last + 1) for type_, start, last in get_entities(labels)]
    assert spans(labels) == theirs


@given(tagged_pairs())
def test_scores_are_those_of_seqeval_in_any_tag_soup(pair):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        theirs = [score(*pair) for score in (precision_score, recall_score, f1_score)]
        per_type = precision_recall_fscore_support(*pair, average=None)
    ours = [score(*pair) for score in (span_precision, span_recall, span_f1)]
    assert ours == pytest.approx(theirs)
    rows = span_report(*pair)
    assert [row.type for row in rows] == sorted(
        {span.type for labels in pair[0] + pair[1] for span in spans(labels)}
    )
    assert np.array([row[1:] for row in rows]).reshape(-1, 4) == pytest.approx(
        np.stack(per_type, axis=1)
    )


def test_a_span_cuts_its_tokens_out_of_the_sequence():
    (span,) = spans(["O", "B-PER", "I-PER", "O"])
    words = ["in", "Ann", "Lee", "went"]
    assert words[span.start : span.end] == ["Ann", "Lee"]


@pytest.mark.parametrize(
    "labels",
    [
        ["B-A", "I-A", "O", "B-A", "B-B"],
        ["I-A", "I-A", "O", "I-A", "I-B"],
        ["B-A", "E-A", "O", "S-A", "S-B"],
        ["B-A", "L-A", "O", "U-A", "U-B"],
        ["B-A", "E-A", "O", "S-A", "B-B"],
    ],
    ids=["BIO", "IOB1", "BIOES", "BILOU", "mixed"],
)
def test_all_schemes_say_the_same(labels):
    assert spans(labels) == [("A", 0, 2), ("A", 3, 4), ("B", 4, 5)]


def test_bmes_and_bilou_adjacent_spans_stay_apart():
    assert spans(["U-A", "U-A"]) == [("A", 0, 1), ("A", 1, 2)]
    assert spans(["B-A", "M-A", "E-A", "B-A"]) == [("A", 0, 3), ("A", 3, 4)]


@pytest.mark.parametrize("label", ["NOUN", "BORN", "", "o", 3, "X-PER"])
def test_what_is_not_a_span_tag_is_refused(label):
    with pytest.raises(ValueError, match=r"not a span tag.*token_accuracy"):
        span_f1([["O", label]], [["O", "O"]])


def test_a_span_must_match_in_its_own_sequence():
    assert span_f1([["B-A"], ["O"]], [["O"], ["B-A"]]) == 0.0


def test_numpy_sequences_are_read_like_lists():
    true = np.empty(1, dtype=object)
    true[0] = np.array(["B-A", "I-A"])
    assert span_f1(true, [["B-A", "I-A"]]) == 1.0


def test_fifty_thousand_tokens_are_quick():
    rng = np.random.default_rng(0)
    tags = ["O", "B-A", "I-A", "B-B", "I-B"]
    y_true, y_pred = (
        [rng.choice(tags, size=25).tolist() for _ in range(2000)] for _ in range(2)
    )
    # The best of three, in this process's own time: others may hold the core.
    seconds = []
    for _ in range(3):
        begin = time.process_time()
        span_f1(y_true, y_pred)
        seconds.append(time.process_time() - begin)
    assert min(seconds) < 0.3
