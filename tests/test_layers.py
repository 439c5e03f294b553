"""Imports go one way; the arrows are those of the design.

readers → features → structures ─┐
                      scorers ── ├─ protocol → models → estimators → report · cli
                      solvers ───┘
"""

import ast
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

import partwise

ROOT = Path(partwise.__file__).parent

CONTRACT = {
    "bounds", "files", "protocol", "state", "objective", "certificate", "compiled",
    "threads", "vectors",
}  # fmt: skip
DATA = {"readers", "features"}
BELOW_ESTIMATORS = CONTRACT | DATA | {"scorers", "kernels", "structures", "solvers"}

# What a part of the package may import of the others; its own modules always.
MAY_IMPORT = {
    "bounds": set(),
    "files": set(),
    "objective": set(),
    "parameters": set(),
    "state": set(),
    "protocol": {"objective", "parameters", "state"},
    "certificate": {"objective", "protocol", "state", "threads"},
    "checkpoint": {"files", "objective", "protocol", "state"},
    "compiled": {"objective", "protocol"},
    "threads": set(),
    "vectors": set(),
    "readers": {"bounds", "files"},
    "features": {"bounds", "readers"},
    "kernels": CONTRACT | DATA,
    "scorers": CONTRACT | DATA | {"kernels"},
    "structures": CONTRACT | DATA | {"kernels", "scorers"},
    "solvers": CONTRACT,
    "metrics": {"readers"},
    "datasets": {"readers"},
    "models": BELOW_ESTIMATORS - {"solvers"},
    "model_file": CONTRACT | {"models", ""},  # "" is the version in __init__
    "report": {"certificate", "files", "metrics", "models", "readers"},
    # an estimator saves itself
    "estimators": BELOW_ESTIMATORS | {"checkpoint", "metrics", "models", "model_file"},
    "testing": BELOW_ESTIMATORS | {"datasets", "metrics", "models", "estimators"},
}
UNRESTRICTED = {"", "__main__", "cli"}

# Inside a function only, each for a reason.
LAZILY = {
    ("protocol", "structures"): "a user's structure is packed as a loop problem",
}

# Who may import a heavy or optional library, at module level or in a function.
LIBRARIES = {
    "sklearn": {"estimators", "testing"},
    "typer": {"cli"},
    "rich": {"cli", "datasets"},
    "jinja2": {"report"},
    "pooch": {"datasets"},
    "safetensors": {"model_file", "checkpoint"},
}
LIBRARIES_LAZILY = {"sklearn": {"datasets", "kernels"}}  # its pairwise kernels by name


class Import(NamedTuple):
    importer: str  # part of the package: a folder, or a module beside them
    place: str  # file and line
    imported: str  # full name
    is_lazy: bool  # inside a function, or for type checkers only


def part_of(module: str) -> str:
    return (module.split(".") + [""])[1]


def imports_of(path: Path) -> Iterator[Import]:
    relative = path.relative_to(ROOT)
    importer = "" if relative.name == "__init__.py" else relative.stem
    if len(relative.parts) > 1:
        importer = relative.parts[0]
    tree = ast.parse(path.read_text(encoding="utf-8"))
    lazy = set()
    for node in ast.walk(tree):
        is_typing = isinstance(node, ast.If) and "TYPE_CHECKING" in ast.dump(node.test)
        if is_typing or isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            lazy |= {id(inner) for inner in ast.walk(node)}
    for node in ast.walk(tree):
        place = f"{relative}:{getattr(node, 'lineno', 0)}"
        names = []
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{place}: relative import"
            names = [node.module or ""]
            if node.module == "partwise":  # from partwise import metrics
                names = [
                    "partwise"
                    if alias.name.startswith("__")
                    else f"partwise.{alias.name}"
                    for alias in node.names
                ]
        for name in names:
            yield Import(importer, place, name, id(node) in lazy)


IMPORTS = [found for path in sorted(ROOT.rglob("*.py")) for found in imports_of(path)]


def test_every_part_has_its_place():
    parts = {found.importer for found in IMPORTS}
    assert parts <= MAY_IMPORT.keys() | UNRESTRICTED


def test_the_arrows_point_one_way():
    wrong = []
    for found in IMPORTS:
        if found.imported.split(".")[0] != "partwise":
            continue
        importer, target = found.importer, part_of(found.imported)
        if importer in UNRESTRICTED or importer == target:
            continue
        excused = found.is_lazy and (importer, target) in LAZILY
        if target not in MAY_IMPORT[importer] and not excused:
            wrong.append(f"{found.place}: {importer} imports {found.imported}")
    assert not wrong, "\n".join(wrong)


def test_the_rules_themselves_have_no_cycle():
    def reached(part: str, path: tuple[str, ...] = ()) -> None:
        assert part not in path, " → ".join([*path, part])
        for other in MAY_IMPORT.get(part, ()):
            reached(other, (*path, part))

    for part in MAY_IMPORT:
        reached(part)


def test_structures_and_solvers_never_meet():
    for found in IMPORTS:
        pair = {found.importer, part_of(found.imported)}
        assert pair != {"structures", "solvers"}, found.place


def test_the_contract_needs_numpy_only():
    for found in IMPORTS:
        contract = {"bounds", "protocol", "objective", "certificate", "state"}
        if found.importer in contract | {"parameters"}:
            library = found.imported.split(".")[0]
            known = {"numpy", "partwise", "__future__"} | sys.stdlib_module_names
            assert library in known, found.place


@pytest.mark.parametrize("library", LIBRARIES)
def test_libraries_stay_in_their_corner(library):
    for found in IMPORTS:
        if found.imported.split(".")[0] == library:
            allowed = LIBRARIES[library]
            if found.is_lazy:
                allowed = allowed | LIBRARIES_LAZILY.get(library, set())
            assert found.importer in allowed, f"{found.place} imports {library}"
