"""What is trained is verified: all outputs, solvers and penalties, and kept duals."""

import numpy as np
import pytest

import frozen
from partwise import load
from partwise.cli.verify import checks_of, settings_of
from partwise.outputs.registry import task_class, tasks
from partwise.outputs.task import Data
from partwise.parameters import SettingsError
from partwise.structures.clustering.items import as_items
from partwise.structures.ranking.queries import by_query, stacked

OBJECTIVES = [
    {},
    {"penalty": "l2"},
    {"formulation": "slack"},
    {"formulation": "slack", "penalty": "l2"},
    {"formulation": "hard"},
    {"loss": "ramp"},
    {"loss": "log"},
]
N = 8
# models are as long as there are features, and rounds begin ten times by default
SMALL = {"depparse": {"hash_bits": 10}, "motif": {"restarts": 1}}


def penalty_of(settings):
    """The name that solvers know."""
    if "loss" in settings:
        return {"log": "log", "ramp": "l1"}[settings["loss"]]
    if settings.get("formulation") == "hard":
        return "hard"
    return settings.get("penalty", "l1")


def as_read(name, X, y, folder):
    """Toy data as a task reads them from files, and what its estimator takes."""
    data, arguments = Data(X, y, 0, None), {}
    if name == "align":  # which pairs count stands in the file
        frozen.write_data(folder, "train", N, 0)
        task = tasks()["align"].module("task").AlignTask()
        data = task.read([str(folder / "train.afa")], truth=True)
        X, y, arguments = data.X, data.y, task.fit_arguments(data)
    elif name == "rank":
        rows, grades, groups = stacked(X, y, None)
        data = Data(rows, grades, 0, (by_query(groups, len(grades))[1], None))
    elif name == "cluster":
        data = Data(as_items(X), y, 0, None)
    elif name == "motif":
        data = Data(X, np.asarray(y).astype(str), 0, None)
    return data, (X, y), arguments


def verified(model, data):
    """The claims of a file that do not hold."""
    kind = task_class(model)
    task = kind.__new__(kind)
    task.labels = list(map(str, model.labels))
    settings = settings_of(model, "model")
    return [c for c in checks_of(task, model, settings, data, 1, False) if not c.holds]


@pytest.mark.parametrize("name", list(tasks()))
@pytest.mark.filterwarnings("ignore")
def test_every_solver_of_every_output(name, tmp_path):
    output = tasks()[name]
    kind = getattr(output.module("estimator"), output.estimator)
    X, y = output.make_toy(N)
    data, inputs, arguments = as_read(name, X, y, tmp_path)
    fitted = set()
    for settings in OBJECTIVES:
        for solver in kind.abilities.solvers(penalty_of(settings)):
            parameters = {"max_iter": 3, **output.toy_settings, **SMALL.get(name, {})}
            estimator = kind(**parameters, **settings, solver=solver)
            try:
                estimator.fit(*inputs, **arguments)
            except SettingsError:  # what a structure cannot search
                continue
            for keep_dual in (False, True):
                path = tmp_path / "model"
                estimator.save(path, keep_dual=keep_dual)
                wrong = verified(load(path), data)
                assert not wrong, f"{settings} {solver} {keep_dual}: {wrong}"
            fitted.add(solver)
    assert {"bcfw", "one_slack", "perceptron"} <= fitted
