"""What all outputs promise, for each record of the registry and its variants."""

import pytest

from partwise.outputs.registry import OUTPUTS
from partwise.testing import OutputError, check_output

CASES = [
    pytest.param(output, dict(settings), id=f"{output.estimator} {dict(settings)}")
    for output in OUTPUTS
    if output.toy
    for settings in ({}, *output.variants)
]


@pytest.mark.parametrize(("output", "settings"), CASES)
@pytest.mark.filterwarnings("ignore:.*stopped by max_iter")
def test_output(output, settings):
    check_output(output, **settings)


def test_every_task_has_a_toy():
    assert not [o.estimator for o in OUTPUTS if o.task is not None and not o.toy]


def test_a_fault_is_named(monkeypatch):
    from partwise import MulticlassClassifier

    (output,) = [o for o in OUTPUTS if o.estimator == "MulticlassClassifier"]
    monkeypatch.setattr(
        MulticlassClassifier, "fit", lambda self, X, y: setattr(self, "model_", 0)
    )
    with pytest.raises(OutputError, match=r"MulticlassClassifier: does not hold"):
        check_output(output)
