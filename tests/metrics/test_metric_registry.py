import pickle
import subprocess
import sys

import numpy as np
import pytest
from sklearn.base import BaseEstimator, clone
from sklearn.model_selection import GridSearchCV, cross_val_score

from partwise.metrics import METRICS, metric, scorer


class Constant(BaseEstimator):
    """Labels every token alike."""

    def __init__(self, label="O"):
        self.label = label

    def fit(self, X, y):
        return self

    def predict(self, X):
        labels = np.empty(len(X), dtype=object)
        labels[:] = [[self.label] * len(x) for x in X]
        return labels


X = [["Ann", "left"], ["she", "left", "Ann"]] * 3
Y = [["B-PER", "O"], ["O", "O", "B-PER"]] * 3
PHRASE = ("S", (("NP", (("PRP", ("it",)),)), ("VP", (("VBZ", ("works",)),))))
OUTPUTS = {
    "labels": [Y],
    "dependencies": [[([2, 0], ["nsubj", "root"])]],
    "phrases": [[PHRASE]],
}
OUTPUTS["any"] = [y for group in OUTPUTS.values() for y in group]


def test_every_metric_knows_its_name_and_direction():
    for name, entry in METRICS.items():
        assert entry.name == metric(name).name == name
        for y in OUTPUTS[entry.output]:
            best = entry.function(y, y)
            assert best == (1.0 if entry.greater_is_better else 0.0)
        assert entry.description


def test_unknown_metric_suggests_the_nearest():
    with pytest.raises(ValueError, match=r"'span_f2'; did you mean 'span_f1'\?") as e:
        metric("span_f2")
    assert all(name in str(e.value) for name in METRICS)
    with pytest.raises(ValueError, match="did you mean 'subtopic_loss'"):
        metric("subtopik_loss")  # of one output alone
    with pytest.raises(ValueError, match=r"unknown metric 'zzz'; choose from"):
        scorer("zzz")


def test_scorers_are_higher_for_better_models():
    assert scorer("token_accuracy")(Constant("O"), X, Y) == pytest.approx(0.6)
    assert scorer("token_error")(Constant("O"), X, Y) == pytest.approx(-0.4)


@pytest.mark.parametrize("name", METRICS)
def test_scorers_survive_pickle_and_clone(name):
    original = scorer(name)
    copy = pickle.loads(pickle.dumps(original))
    assert copy == original
    assert repr(copy) == f"scorer({name!r})"
    search = clone(GridSearchCV(Constant(), {}, scoring=original))
    assert search.scoring == original


def test_scorers_choose_the_right_model_in_a_grid_search():
    grid = {"label": ["B-PER", "O", "B-LOC"]}
    for name in ("token_accuracy", "token_error"):
        search = GridSearchCV(Constant(), grid, scoring=scorer(name), cv=2).fit(X, Y)
        assert search.best_params_ == {"label": "O"}
    scores = cross_val_score(Constant("B-PER"), X, Y, scoring=scorer("span_f1"), cv=3)
    assert scores == pytest.approx([2 * 2 / (5 + 2)] * 3)


def test_import_leaves_scikit_learn_alone():
    code = "import sys, partwise.metrics; assert 'sklearn' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True)
