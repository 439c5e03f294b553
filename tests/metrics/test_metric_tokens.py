import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import (
    accuracy_score,
    confusion_matrix,
    f1_score,
    precision_recall_fscore_support,
)

from partwise.metrics import (
    METRICS,
    confusion,
    exact_match,
    label_report,
    macro_f1,
    token_accuracy,
    token_error,
)


def flat(y):
    return [label for labels in y for label in labels]


@st.composite
def labelled_pairs(draw):
    alphabet = draw(st.sampled_from([["N", "V", "D"], [0, 1, 2, -1]]))
    lengths = draw(st.lists(st.integers(0, 6), min_size=1, max_size=5))
    lengths[0] = max(lengths[0], 1)
    label = st.sampled_from(alphabet)
    return tuple(
        [draw(st.lists(label, min_size=n, max_size=n)) for n in lengths]
        for _ in range(2)
    )


@pytest.mark.filterwarnings("ignore:A single label was found")
@given(labelled_pairs())
def test_token_metrics_are_those_of_scikit_learn(pair):
    true, predicted = map(flat, pair)
    assert token_accuracy(*pair) == pytest.approx(accuracy_score(true, predicted))
    assert token_error(*pair) == pytest.approx(1 - token_accuracy(*pair))
    assert macro_f1(*pair) == pytest.approx(
        f1_score(true, predicted, average="macro", zero_division=0)
    )
    rows = label_report(*pair)
    theirs = precision_recall_fscore_support(true, predicted, zero_division=0)
    assert np.array([row[1:] for row in rows]) == pytest.approx(
        np.stack(theirs, axis=1)
    )
    labels, matrix = confusion(*pair)
    assert labels == [row.label for row in rows] == sorted({*true, *predicted})
    assert (matrix == confusion_matrix(true, predicted, labels=labels)).all()


@given(labelled_pairs())
def test_confusion_keeps_the_asked_labels_in_the_asked_order(pair):
    labels, full = confusion(*pair)
    some = labels[::-1][:2]
    subset, matrix = confusion(*pair, labels=some)
    rows = [labels.index(label) for label in some]
    assert subset == some
    assert (matrix == full[np.ix_(rows, rows)]).all()


def test_confusion_refuses_a_label_asked_twice():
    with pytest.raises(ValueError, match="twice"):
        confusion([["N"]], [["N"]], labels=["N", "N"])


def test_exact_match_counts_sequences():
    assert exact_match([[1, 2], [3], []], [[1, 2], [4], []]) == pytest.approx(2 / 3)


def test_ragged_object_arrays_are_scored():
    predicted = np.empty(2, dtype=object)
    predicted[:] = [np.array(["N", "V"]), np.array(["N"])]
    true = [["N", "N"], ["N"]]
    assert token_accuracy(true, predicted) == pytest.approx(2 / 3)
    assert exact_match(true, predicted) == 0.5


@pytest.mark.parametrize(
    "name", [name for name, m in METRICS.items() if m.output in ("labels", "any")]
)
def test_misfits_are_refused_by_every_metric(name):
    function = METRICS[name].function
    with pytest.raises(ValueError, match=r"sequence 1 .* 2 true .* 1 predicted"):
        function([["O"], ["O", "O"]], [["O"], ["O"]])
    with pytest.raises(ValueError, match=r"1 sequences .* 2"):
        function([["O"]], [["O"], ["O"]])
    with pytest.raises(ValueError, match=r"sequence 0 of y_true is 'B-PER'"):
        function(["B-PER"], [["O"]])
    with pytest.raises(ValueError, match=r"sequence 0 of y_pred is 3"):
        function([["O"]], [3])


@pytest.mark.parametrize("function", [token_accuracy, token_error, macro_f1])
def test_no_tokens_cannot_be_measured(function):
    with pytest.raises(ValueError, match="nothing to measure"):
        function([[]], [[]])


def test_strings_against_numbers_are_called_by_name():
    with pytest.raises(ValueError, match="int and str"):
        label_report([["1"]], [[1]])
