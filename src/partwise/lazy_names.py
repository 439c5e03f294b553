"""Packages whose names load on first use.

Help pages of the command line list what these packages read and make, and should not
wait for numpy. The names are those of the package's stub, which type checkers read.
"""

import ast
import sys
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any


def lazy_names(package: str) -> tuple[Callable[[str], Any], Callable[[], Any], Any]:
    """``__getattr__``, ``__dir__`` and ``__all__`` of a package.

    Its ``__init__.pyi`` imports each public name from the module that has it.
    """
    stub = Path(str(sys.modules[package].__file__)).with_suffix(".pyi")
    modules = {
        alias.name: statement.module
        for statement in ast.parse(stub.read_text(encoding="utf-8")).body
        if isinstance(statement, ast.ImportFrom) and statement.module
        for alias in statement.names
    }

    def get(name: str) -> Any:
        if name not in modules:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        value = getattr(import_module(modules[name]), name)
        setattr(sys.modules[package], name, value)
        return value

    def list_names() -> list[str]:
        return sorted([*vars(sys.modules[package]), *modules])

    return get, list_names, sorted(modules)
