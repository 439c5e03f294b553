"""An output of another package, added as ARCHITECTURE.md says: a folder, a record."""

import json
import sys
from textwrap import dedent

import pytest

import partwise
from partwise.cli.app import run
from partwise.metrics import metric
from partwise.outputs.registry import OUTPUTS, Output, register

FILES = {
    "__init__.py": '"""Topics of lines of text."""\n',
    "model.py": '''
        """A trained classifier of lines."""

        import numpy as np

        from partwise.outputs.model import ScoredModel


        class LineModel(ScoredModel):
            """Predicts the topic of a line from its words."""

            def __init__(self, structure, words, labels, weights, info, support=None):
                self.structure, self.words, self.labels = structure, words, labels
                self.weights, self.info, self.support = weights, info, support

            kind = "LineModel"

            def matrix(self, X):
                number = {word: k for k, word in enumerate(self.words)}
                rows = np.zeros((len(X), len(self.words)))
                for row, line in zip(rows, X, strict=True):
                    for word in line.split():
                        if word in number:
                            row[number[word]] += 1.0
                return rows

            def problems(self, X, n_jobs=1):
                yield self.structure.pack(self.matrix(X), None, n_jobs=n_jobs)

            def training_problem(self, X, y, formulation, n_jobs=1):
                codes = [self.labels.index(label) for label in y]
                return self.structure.pack(self.matrix(X), codes, formulation)

            def predict(self, X, n_jobs=1):
                best = self.ranked(X, 1, n_jobs)
                return [self.labels[ranked[0][0]] for ranked in best]
        ''',
    "file.py": '''
        """What a model file keeps of it."""

        from line_output.model import LineModel

        from partwise.bounds import MAX_WEIGHT, entry, read_numbers
        from partwise.structures.multiclass import Multiclass


        def to_state(model):
            return {"words": model.words, "labels": model.labels}, {
                "weights": model.weights
            }


        def from_state(settings, arrays, info):
            words = entry(settings, "words", list)
            labels = entry(settings, "labels", list)
            size = len(words) * len(labels)
            weights = read_numbers(arrays, "weights", MAX_WEIGHT, size)
            return LineModel(Multiclass(len(labels)), words, labels, weights, info)
        ''',
    "estimator.py": '''
        """`LineClassifier`: topics of lines with scikit-learn's interface."""

        from __future__ import annotations

        from dataclasses import dataclass

        from line_output.model import LineModel

        from partwise.outputs.estimator import as_object_array
        from partwise.outputs.saved_estimator import SavedEstimator
        from partwise.structures.multiclass import Multiclass


        @dataclass(eq=False, repr=False, kw_only=True)
        class LineClassifier(SavedEstimator):
            """Learn the topics of lines.

            Parameters
            ----------
            min_count : int
                Leave out rarer words. They are few.
            """

            min_count: int = 1
            metric: str = "line_accuracy"

            model_class = LineModel

            def fit(self, X, y):
                self.check_parameters()
                counts = {}
                for line in X:
                    for word in line.split():
                        counts[word] = counts.get(word, 0) + 1
                words = sorted(w for w, n in counts.items() if n >= self.min_count)
                labels = sorted(set(y))
                structure = Multiclass(len(labels))
                model = LineModel(structure, words, labels, None, {})
                codes = [labels.index(label) for label in y]
                problem = structure.pack(
                    model.matrix(X), codes, self._formulation(), n_jobs=self._n_jobs()
                )
                state, _ = self._solve(problem)
                self._weighted = False
                model.weights = problem.compact(state.model)
                model.info = {"certificate": self.certificate_.to_dict()}
                self.model_ = model
                return self

            def predict(self, X):
                self._check_fitted()
                return as_object_array(self.model_.predict(X))

            @classmethod
            def _parameters_of(cls, model):
                return {}
        ''',
    "metrics.py": '''
        """Metrics of topics."""

        from partwise.metrics.registry import Metric


        def line_accuracy(y_true, y_pred):
            return sum(map(str.__eq__, y_true, y_pred)) / len(y_true)


        METRICS = {
            "line_accuracy": Metric("line_accuracy", line_accuracy, True, "right lines")
        }
        ''',
    "task.py": '''
        """The task `lines`: a topic, a tab and a text on each line of a file."""

        from partwise.outputs.task import Data, Details, Task


        class LineTask(Task):
            """Learn topics of lines.

            Example: `partwise train lines train.tsv --model lines.model`
            """

            title = "Lines"
            examples_name = "lines"

            @classmethod
            def for_training(cls, options, settings):
                return cls()

            @classmethod
            def of_model(cls, model, path, options):
                return cls()

            def read(self, paths, *, truth):
                texts = [open(path).read() for path in paths]
                lines = [line for text in texts for line in text.splitlines()]
                pairs = [line.split("\\t") for line in lines]
                X = [pair[-1] for pair in pairs]
                return Data(X, [p[0] for p in pairs] if truth else None, len(X), None)

            def describe(self, data):
                return f"{len(data.X)} lines"

            def reader_info(self):
                return {}

            def write(self, output, data, answers, topk):
                print("\\n".join(answers.best))

            def measure(self, data, answers):
                from line_output.metrics import line_accuracy

                return {"line_accuracy": line_accuracy(data.y, answers.best)}

            def details(self, model, data, answers):
                return Details([], {}, [])

            def report(self, model, data, answers, **common):
                raise NotImplementedError

            @classmethod
            def facts(cls, model):
                return {"n_features": len(model.words)}
        ''',
}


@pytest.fixture
def line_output(tmp_path, monkeypatch):
    folder = tmp_path / "line_output"
    folder.mkdir()
    for name, text in FILES.items():
        (folder / name).write_text(dedent(text).lstrip(), encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    before = list(OUTPUTS)
    register(
        Output(
            "line_output",
            "LineClassifier",
            {"LineModel.v1": "file"},
            task=("lines", "LineTask", "Topics of lines."),
            metrics=("line_accuracy",),
        )
    )
    yield
    OUTPUTS[:] = before
    vars(partwise).pop("LineClassifier", None)
    for name in [name for name in sys.modules if name.startswith("line_output")]:
        del sys.modules[name]


def write(path):
    rows = [
        "sport\tball goal team",
        "food\tbread salt",
        "sport\tgoal",
        "food\tsalt oil",
    ]
    path.write_text("\n".join(rows * 5) + "\n", encoding="utf-8")


def test_train_predict_evaluate_save_and_load(line_output, tmp_path, capsys):
    data, path = tmp_path / "train.tsv", tmp_path / "lines.model"
    write(data)

    def ask(*arguments):
        assert run([*map(str, arguments), "--json"]) == 0
        return json.loads(capsys.readouterr().out)

    done = ask("train", "lines", data, "--model", path, "--min-count", 2, "--dev", data)
    assert done["dev"] == {"line_accuracy": 1.0}
    assert done["certificate"]["relative_gap"] <= 1e-3
    assert ask("predict", path, data)["labels"][:2] == ["sport", "food"]
    assert ask("evaluate", path, data)["metrics"]["line_accuracy"] == 1.0
    assert ask("verify", path, data)["holds"]
    assert ask("inspect", path)["kind"] == "LineModel"
    estimator = partwise.LineClassifier.load(path)
    assert estimator.predict(["the team"])[0] == "sport"
    assert estimator.get_params()["min_count"] == 2
    estimator.save(tmp_path / "again.model")
    assert partwise.load(tmp_path / "again.model").predict(["oil"]) == ["food"]
    assert metric("line_accuracy").greater_is_better


def test_its_help_is_made_of_its_docstring(line_output, capsys):
    assert run(["train", "lines", "--help"]) == 0
    shown = " ".join(capsys.readouterr().out.split())
    assert "--min-count" in shown and "Leave out rarer words." in shown
    assert "Stop at this relative duality gap" in shown


def test_bad_values_are_worded_for_the_shell(line_output, tmp_path, capsys):
    write(tmp_path / "t.tsv")
    options = ["--model", str(tmp_path / "m"), "--tol", "0"]
    assert run(["train", "lines", str(tmp_path / "t.tsv"), *options]) == 2
    assert "--tol 0: give a positive number" in capsys.readouterr().err


def test_without_its_record_nothing_is_left():
    assert not hasattr(partwise, "LineClassifier")
