"""`help` of an estimator needs no other page."""

import re

import pytest

from partwise.outputs.estimator import StructuredEstimator
from partwise.outputs.registry import OUTPUTS


@pytest.mark.parametrize("output", OUTPUTS, ids=lambda output: output.estimator)
def test_every_parameter_is_described(output):
    kind = getattr(output.module("estimator"), output.estimator)
    section = kind.__doc__.partition("Parameters\n----------\n")[2]
    section = re.split(r"\n\n[A-Z]\w+\n-+\n", section)[0]
    described = [
        name
        for line in section.splitlines()
        if " : " in line and not line.startswith(" ")
        for name in line.partition(" : ")[0].split(", ")
    ]
    assert sorted(described) == sorted(set(described))
    assert set(kind._get_param_names()) == set(described)
    assert "See `StructuredEstimator`" not in kind.__doc__
    assert "See `KernelParameters`" not in kind.__doc__


def test_notes_on_common_parameters_stay_with_them():
    class Own(StructuredEstimator):
        """Learn something.

        Parameters
        ----------
        depth : int
            Of trees.
        tol, loss
            See `StructuredEstimator`; there is no ``loss="log"``.

        Attributes
        ----------
        coef_ : array
        """

    text = Own.__doc__
    assert text.index("depth : int") < text.index("tol : float") < text.index("loss : ")
    loss = text[text.index("loss : ") : text.index("C : float")]
    assert 'There is no ``loss="log"``.' in loss
    assert "Maximum margin" in loss
    assert text.count("verbose : int") == 1
    assert text.index("verbose : int") < text.index("Attributes\n----------\n")
