"""What is loaded when: imports are part of the speed that users feel."""

import subprocess
import sys
import tomllib
from importlib.util import find_spec
from pathlib import Path

import pytest

import partwise
from partwise.outputs.registry import public_names

HEAVY = ("numba", "sklearn", "scipy", "typer", "rich", "safetensors")


def modules_after(code: str) -> set[str]:
    script = f"{code}\nimport sys\nprint(' '.join(sys.modules))"
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    return set(done.stdout.splitlines()[-1].split())


def test_importing_the_package_loads_nothing_heavy():
    loaded = modules_after("import partwise; dir(partwise)")
    assert not loaded.intersection(HEAVY)


def test_metrics_readers_and_the_command_line_load_without_numba():
    loaded = modules_after(
        "import partwise.metrics, partwise.readers, partwise.cli.app"
    )
    assert not loaded.intersection({"numba", "sklearn", "scipy"})


def test_public_names_are_there():
    missing = [
        name
        for name, module in (public_names() | partwise._OTHERS).items()
        if find_spec(module) is None or not hasattr(partwise, name)
    ]
    assert not missing
    assert partwise.load is partwise.load_model
    assert partwise.metrics.token_accuracy([["a"]], [["a"]]) == 1.0
    assert set(partwise.__all__) == set(dir(partwise))
    assert {*public_names(), *partwise._MODULES} <= set(partwise.__all__)


def test_unknown_names_are_attribute_errors():
    with pytest.raises(AttributeError, match="SequenceTager"):
        _ = partwise.SequenceTager


def test_the_version_is_that_of_the_project():
    project = Path(__file__).parents[1] / "pyproject.toml"
    text = project.read_text(encoding="utf-8")
    assert tomllib.loads(text)["project"]["version"] == partwise.__version__
