"""Packages whose names load on first use.

Help pages of the command line list what these packages read and make, and should not
wait for numpy.
"""

import sys
from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any


def lazy_names(
    package: str, names: Mapping[str, str]
) -> tuple[Callable[[str], Any], Callable[[], list[str]], list[str]]:
    """
    ``__getattr__``, ``__dir__`` and ``__all__`` of a package.

    Parameters
    ----------
    package : str
    names : mapping of str to str
        For each module of it the public names, separated by blanks.
    """
    modules = {name: module for module, text in names.items() for name in text.split()}

    def get(name: str) -> Any:
        if name not in modules:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        value = getattr(import_module(f"{package}.{modules[name]}"), name)
        setattr(sys.modules[package], name, value)
        return value

    def list_names() -> list[str]:
        return sorted([*vars(sys.modules[package]), *modules])

    return get, list_names, sorted(modules)
