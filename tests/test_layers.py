"""Imports go one way; the arrows are those of the design.

readers → features → kernels → scorers → structures ─┐
                                                     ├─→ outputs/<name>/ → command line
                               protocol.py → solvers ─┘   report

Within an output they go one way, too: model → file · explanation → estimator · task.
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
    "bounds", "files", "protocol", "state", "objective", "parameters", "certificate",
    "compiled", "jit",
    "threads", "vectors",
}  # fmt: skip
DATA = {"readers", "features"}
ENGINE = CONTRACT | DATA | {"scorers", "kernels", "structures"}
SETTINGS = {"parameters"}  # whoever refuses a parameter

# What a part of the package may import of the others; its own modules always.
MAY_IMPORT = {
    "bounds": set(),
    "files": set(),
    "jit": set(),
    "objective": SETTINGS,
    "parameters": set(),
    "state": set(),
    "protocol": {"objective", "parameters", "state"},
    "certificate": {"objective", "protocol", "state", "threads"},
    "checkpoint": {"files", "objective", "protocol", "state"} | SETTINGS,
    "compile_ahead": CONTRACT | {"solvers", "structures"},
    "compiled": {"jit", "objective", "protocol"},
    "threads": {"jit"} | SETTINGS,
    "vectors": set(),
    "lazy_names": set(),
    "readers": {"bounds", "files", "jit", "lazy_names"} | SETTINGS,
    "features": {"bounds", "jit", "lazy_names", "readers"} | SETTINGS,
    "kernels": CONTRACT | DATA,
    "scorers": CONTRACT | DATA | {"kernels"},
    "structures": CONTRACT | DATA | {"kernels", "scorers"},
    "solvers": CONTRACT,
    "metrics": {"readers"},
    "datasets": {"readers"},
    "report": {"certificate", "files", "metrics", "readers", "state"},
    "outputs.registry": set(),
    "model_file": CONTRACT | {"outputs.registry", ""},  # "" is the version in __init__
    "testing": ENGINE
    | {
        "solvers",
        "datasets",
        "metrics",
        "outputs",
        "outputs.registry",
        "compile_ahead",
    },
}
# What the modules of an output's folder may import, by the module's name; others are
# parts of the model
MODEL = ENGINE | {"outputs.registry"}
OUTPUT_MAY_IMPORT = {
    "estimator": MODEL
    | {"solvers", "checkpoint", "compile_ahead", "metrics", "model_file"},
    "task": MODEL | {"metrics", "report", "model_file"},
    "report": MODEL | {"metrics", "report"},
    "metrics": MODEL | {"metrics"},
}
# Shared modules, and those with other names, by the module whose rules they follow
LIKE = {
    **dict.fromkeys(
        (
            "learning",
            "saved_estimator",
            "kernel_fit",
            "row_estimator",
            "latent_estimator",
        ),
        "estimator",
    ),
    "row_task": "task",
    "tree_task": "task",
    "listings": "report",
    "progress": "estimator",
    "early_stop": "estimator",
}
UNRESTRICTED = {"", "__main__", "cli"}

# Inside a function only, each for a reason.
LAZILY = {
    ("protocol", "structures"): "a user's structure is packed as a loop problem",
    ("metrics", "outputs.registry"): "metrics of outputs are found by name",
    ("report", "outputs"): "types of models for type checkers",
    ("certificate", "report"): "notebooks show it",
    ("readers", "report"): "notebooks show trees and tables",
    ("outputs", "report"): "notebooks show explanations",
}

# Who may import a heavy or optional library, at module level or in a function.
LIBRARIES = {
    "sklearn": {"outputs", "testing"},
    "typer": {"cli"},
    "rich": {"cli", "datasets"},
    "jinja2": {"report"},
    "pooch": {"datasets"},
    "narwhals": {"readers"},
    "safetensors": {"model_file", "checkpoint"},
}
# its pairwise kernels by name, its reader of svmlight files
LIBRARIES_LAZILY = {"sklearn": {"datasets", "kernels", "readers"}}


class Import(NamedTuple):
    importer: str  # part of the package: a folder, or a module beside them
    place: str  # file and line
    imported: str  # full name
    is_lazy: bool  # inside a function, or for type checkers only


def part_of(module: str) -> str:
    if module == "partwise.outputs.registry":
        return "outputs.registry"
    return (module.split(".") + [""])[1]


def allowed_for(one: Import) -> set[str]:
    """What the importing module may import of other parts."""
    if one.importer != "outputs":
        return MAY_IMPORT[one.importer]
    name = Path(one.place.split(":")[0]).stem
    return OUTPUT_MAY_IMPORT.get(LIKE.get(name, name), MODEL)


def imports_of(path: Path) -> Iterator[Import]:
    relative = path.relative_to(ROOT)
    importer = "" if relative.name == "__init__.py" else relative.stem
    if len(relative.parts) > 1:
        importer = relative.parts[0]
    if relative.as_posix() == "outputs/registry.py":
        importer = "outputs.registry"
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


IMPORTS = [one for path in sorted(ROOT.rglob("*.py")) for one in imports_of(path)]


def test_every_part_has_its_place():
    parts = {one.importer for one in IMPORTS}
    assert parts <= MAY_IMPORT.keys() | UNRESTRICTED | {"outputs"}


def test_the_arrows_point_one_way():
    wrong = []
    for one in IMPORTS:
        if one.imported.split(".")[0] != "partwise":
            continue
        importer, target = one.importer, part_of(one.imported)
        if importer in UNRESTRICTED or importer == target:
            continue
        excused = one.is_lazy and (importer, target) in LAZILY
        if importer == "outputs.registry" and one.is_lazy:
            continue  # names for type checkers
        if target not in allowed_for(one) and not excused:
            wrong.append(f"{one.place}: {importer} imports {one.imported}")
    assert not wrong, "\n".join(wrong)


def test_the_rules_themselves_have_no_cycle():
    def reached(part: str, path: tuple[str, ...] = ()) -> None:
        assert part not in path, " → ".join([*path, part])
        for other in MAY_IMPORT.get(part, ()):
            reached(other, (*path, part))

    for part in MAY_IMPORT:
        reached(part)


def test_structures_and_solvers_never_meet():
    for one in IMPORTS:
        pair = {one.importer, part_of(one.imported)}
        assert pair != {"structures", "solvers"}, one.place


def test_the_contract_needs_numpy_only():
    for one in IMPORTS:
        contract = {"bounds", "protocol", "objective", "certificate", "state"}
        if one.importer in contract | {"parameters"}:
            library = one.imported.split(".")[0]
            known = {"numpy", "partwise", "__future__"} | sys.stdlib_module_names
            assert library in known, one.place


@pytest.mark.parametrize("library", LIBRARIES)
def test_libraries_stay_in_their_corner(library):
    for one in IMPORTS:
        if one.imported.split(".")[0] == library:
            allowed = LIBRARIES[library]
            if one.is_lazy:
                allowed = allowed | LIBRARIES_LAZILY.get(library, set())
            assert one.importer in allowed, f"{one.place} imports {library}"


def test_prediction_needs_no_scikit_learn():
    for one in IMPORTS:
        if one.importer == "outputs" and one.imported.startswith("sklearn"):
            name = Path(one.place.split(":")[0]).stem
            assert LIKE.get(name, name) == "estimator", one.place
