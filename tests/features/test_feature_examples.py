"""The examples in the docstrings of readers and features run."""

import doctest
from importlib import import_module

import pytest


@pytest.mark.parametrize(
    "name",
    [
        "readers.columns",
        "readers.table",
        "features.choice",
        "features.arrays",
        "features.columnar",
        "features.dicts",
        "features.templates",
        "features.word_vectors",
    ],
)
def test_examples(name):
    result = doctest.testmod(import_module(f"partwise.{name}"))
    assert result.attempted > 0
    assert result.failed == 0
