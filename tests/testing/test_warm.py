"""What is compiled ahead: jobs of tasks, and their order."""

import pytest

from partwise.outputs.registry import tasks
from partwise.testing import warm


def test_every_task_has_jobs_and_all_jobs_run_by_default():
    everything = warm.jobs_of(())
    assert everything == list(warm.jobs())
    for name, output in tasks().items():
        assert output.estimator in warm.jobs_of([name])
    assert "SequenceTagger, loss=log" in warm.jobs_of(["tag"])
    assert "SequenceTagger" not in warm.jobs_of(["depparse"])


def test_unknown_tasks_are_refused():
    with pytest.raises(ValueError, match="unknown task 'tagg'; did you mean 'tag'"):
        warm.jobs_of(["depparse", "tagg"])


def test_jobs_wait_for_those_whose_code_they_share(monkeypatch):
    order = []

    class Future:
        def __init__(self, name):
            self.name = name

        def result(self):
            order.append(self.name)
            return warm.Compiled(self.name, 1, 0.0, [])

    class Pool:
        def __init__(self, *_):
            pass

        def __enter__(self):
            return self

        def __exit__(self, *_):
            pass

        def submit(self, _, name):
            return Future(name)

        def shutdown(self, **_):
            pass

    monkeypatch.setattr(warm, "ProcessPoolExecutor", Pool)
    monkeypatch.setattr(warm, "wait", lambda running, **_: (running, set()))
    names = warm.jobs_of(())
    assert [done.job for done in warm.compile_jobs(names, 2)] == order
    assert sorted(order) == sorted(names)
    place = {name: k for k, name in enumerate(order)}
    for name, job in warm.jobs().items():
        assert not job.after or place[job.after] < place[name]


def test_a_job_runs_in_a_process_of_its_own():
    (done,) = warm.compile_jobs(["columns"], 1)
    assert done.job == "columns"
