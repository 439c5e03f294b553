"""`constraints.txt` pins what the project needs, within what it allows."""

import re
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[1]


def version(text):
    return tuple(map(int, re.findall(r"\d+", text)))


def test_every_dependency_is_pinned_within_its_range():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    groups = project["dependency-groups"]
    needed = [*project["project"]["dependencies"], *groups["test"], *groups["lint"]]
    lines = (ROOT / "constraints.txt").read_text(encoding="utf-8").splitlines()
    pinned = dict(
        line.lower().split("==") for line in lines if not line.startswith("#")
    )
    for requirement in needed:
        name, least = requirement.lower().split(">=")
        assert name in pinned, f"constraints.txt lacks {name}"
        assert version(pinned[name]) >= version(least), requirement
