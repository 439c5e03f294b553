"""The examples in docstrings run, and the checks do not load numba."""

import doctest
import subprocess
import sys
from importlib import import_module

import pytest


@pytest.mark.parametrize(
    "name",
    [
        "structures.parts.loss",
        "structures.parts.selection",
        "testing",
        "testing.enumeration",
        "testing.solvers",
        "testing.structures",
    ],
)
def test_examples_in_docstrings(name):
    result = doctest.testmod(import_module(f"partwise.{name}"))
    assert result.attempted > 0 and result.failed == 0


def test_checks_of_python_structures_do_not_load_numba():
    code = (
        "import sys; from partwise.testing import check_structure; "
        "from partwise.structures.parts.selection import PartSelection; "
        "print('numba' in sys.modules)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "False"
