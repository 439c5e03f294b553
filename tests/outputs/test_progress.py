"""What a fit tells while it runs, and what Ctrl-C leaves."""

import time

import numpy as np
import pytest
from sklearn.callback import ProgressBar
from sklearn.model_selection import GridSearchCV, cross_validate
from sklearn.pipeline import make_pipeline

from partwise import DependencyParser, MulticlassClassifier, SequenceTagger
from partwise.datasets import toy_dependencies, toy_entities
from partwise.outputs.early_stop import InterruptedFitWarning
from partwise.outputs.progress import share_of_work
from partwise.solvers.bcfw import BCFW
from partwise.state import State


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 3))
    return X, (X[:, 0] > 0).astype(int)


class Recorder:
    """Keeps what a callback is told; raises Ctrl-C after some iterations."""

    def __init__(self, interrupt_after=None):
        self.interrupt_after = interrupt_after
        self.tasks = []
        self.metadata = []
        self.units = []

    def setup(self, estimator, context):
        self.units.append(context.max_subtasks)

    def teardown(self, estimator, context):
        self.tasks.append("teardown")

    def on_fit_task_begin(self, estimator, context):
        pass

    def on_fit_task_end(self, estimator, context, *, metadata=None):
        self.tasks.append(context.task_name)
        if metadata:
            self.metadata.append(metadata)
            if metadata["iteration"] == self.interrupt_after:
                raise KeyboardInterrupt


def test_verbose_prints_where_training_stands(capsys):
    X, y = toy_entities(20, random_state=0)
    SequenceTagger(tol=0.01, verbose=2).fit(X, y)
    lines = capsys.readouterr().out.splitlines()
    lines = [line for line in lines if "compiling" not in line]
    assert lines[0].startswith("[SequenceTagger] iteration 1, objective ")
    for word in ("bound", "gap", "oracle calls", " s"):
        assert word in lines[-2]
    assert lines[-1] == "[SequenceTagger] converged"


def test_verbose_1_prints_a_line_a_second(capsys):
    X, y = toy_entities(20, random_state=0)
    began = time.perf_counter()
    tagger = SequenceTagger(tol=1e-6, verbose=1).fit(X, y)
    seconds = time.perf_counter() - began
    lines = capsys.readouterr().out.splitlines()
    lines = [line for line in lines if "iteration" in line]
    assert tagger.n_iter_ > 3
    assert len(lines) <= 2 + seconds
    assert f"iteration {tagger.n_iter_}," in lines[-1]


def test_quiet_by_default(capsys, rows):
    MulticlassClassifier().fit(*rows)
    assert capsys.readouterr().out == ""


def test_bars_count_the_estimated_work():
    X, y = toy_entities(20, random_state=0)
    recorder = Recorder()
    tagger = SequenceTagger(tol=1e-4).set_callbacks(recorder).fit(X, y)
    assert recorder.units == [100]
    assert recorder.tasks.count("iteration") == tagger.n_iter_
    assert recorder.tasks.count("share") == 99  # converged: all of it
    assert recorder.tasks[-3:] == ["iterations", "fit", "teardown"]
    first = recorder.tasks.index("share")
    between = recorder.tasks[first:].index("iteration")
    assert between < 99  # it moved before the end
    assert recorder.metadata[-1]["oracle_calls"] > 0


def test_work_is_estimated_by_the_nearest_end():
    solver = BCFW(tol=1e-4, max_iter=100, time_limit=10.0)
    state = State(None, primal=1.0, dual=0.99, n_iter=1, seconds=0.1)
    assert share_of_work(solver, state, 1.0) == pytest.approx(0.5)
    assert share_of_work(solver, state, np.nan) == pytest.approx(0.01)
    state.seconds = 8.0
    assert share_of_work(solver, state, 1.0) == pytest.approx(0.8)
    state.n_iter = 100
    assert share_of_work(solver, state, 1.0) == 1.0
    solver = BCFW(eps=0.01)
    state = State(None, violation=0.1, n_iter=1)
    assert share_of_work(solver, state, 1.0) == pytest.approx(0.5)


def test_scikit_learns_bar_runs_with_two_stages(capfd):
    X, y = toy_dependencies(10, random_state=0)
    bar = ProgressBar()
    DependencyParser(tol=0.1).set_callbacks(bar).fit(X, y)
    assert not bar._listener_handles  # every bar that was begun has ended
    assert "100%" in capfd.readouterr().out


def test_an_interrupted_fit_keeps_the_best_model(rows):
    X, y = rows
    model = MulticlassClassifier(tol=1e-12).set_callbacks(Recorder(2))
    with pytest.warns(InterruptedFitWarning, match="best until then"):
        model.fit(X, y)
    assert model.certificate_.stopped == "interrupted"
    assert model.certificate_.primal > 0
    assert model.predict(X).shape == y.shape


def test_an_interrupted_pipeline_keeps_the_best_model(rows):
    X, y = rows
    model = MulticlassClassifier(tol=1e-12).set_callbacks(Recorder(2))
    with pytest.warns(InterruptedFitWarning):
        pipeline = make_pipeline(model).fit(X, y)
    assert pipeline.predict(X).shape == y.shape


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_an_interrupted_search_stops(rows, n_jobs):
    X, y = rows
    model = MulticlassClassifier(tol=1e-12).set_callbacks(Recorder(2))
    search = GridSearchCV(model, {"C": [1.0, 2.0]}, cv=2, n_jobs=n_jobs)
    with pytest.raises(KeyboardInterrupt):
        search.fit(X, y)
    assert not hasattr(search, "best_estimator_")
    if n_jobs == 1:
        with pytest.raises(KeyboardInterrupt):
            cross_validate(model, X, y, cv=2)
