"""ARCHITECTURE.md names files that exist, and all outputs and structures."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "src" / "partwise"
TEXT = (ROOT / "ARCHITECTURE.md").read_text()
MAP = TEXT.split("## Map")[1].split("## The walk")[0]


def named_files():
    """Paths of the map; a name without a folder is in that of the name before."""
    for row in MAP.splitlines():
        folder = ""
        cell = row.split("|")[1] if row.startswith("| `") else ""
        for name in re.findall(r"`([^`]+)`", cell):
            if "<" not in name:
                folder = name.rpartition("/")[0] if "/" in name else folder
                yield name if "/" in name else f"{folder}/{name}".lstrip("/")


@pytest.mark.parametrize("name", sorted(set(named_files())))
def test_files_of_the_map_exist(name):
    assert list(PACKAGE.glob(name.rstrip("/"))), name


@pytest.mark.parametrize("folder", ["structures", "outputs"])
def test_every_folder_is_in_the_map(folder):
    (row,) = (row for row in MAP.splitlines() if row.startswith(f"| `{folder}/<name>/"))
    folders = {
        path.parent.name
        for path in (PACKAGE / folder).glob("*/__init__.py")
        if path.parent.name != "losses"  # has a line of its own
    }
    assert folders == set(re.findall(r"`(\w+)`", row)) & folders


def test_files_of_the_tests_exist():
    for name in set(re.findall(r"`(tests/[\w/]+\.py)`", TEXT)):
        assert (ROOT / name).is_file(), name
