"""Structured prediction with maximum margin.

Names load on first use: ``import partwise`` itself imports neither numba nor
scikit-learn. Those of estimators and structures are in `partwise.outputs.registry`.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from partwise.outputs.registry import public_names

__version__ = "0.1.0"

_OTHERS = {
    "Certificate": "partwise.certificate",
    "Formulation": "partwise.objective",
    "InterruptedFitWarning": "partwise.outputs.early_stop",
    "Structure": "partwise.protocol",
    "load_model": "partwise.model_file",
    "to_json": "partwise.outputs.as_json",
}
_MODULES = (
    "datasets", "features", "kernels", "metrics", "readers", "report", "testing",
)  # fmt: skip

if TYPE_CHECKING:
    from partwise import datasets, features, kernels, metrics, readers, report, testing
    from partwise.certificate import Certificate
    from partwise.model_file import load_model
    from partwise.model_file import load_model as load
    from partwise.objective import Formulation
    from partwise.outputs.as_json import to_json
    from partwise.outputs.early_stop import InterruptedFitWarning
    from partwise.outputs.public_names import *
    from partwise.protocol import Structure


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        return import_module(f"partwise.{name}")
    wanted = "load_model" if name == "load" else name
    modules = public_names() | _OTHERS
    if wanted not in modules:
        raise AttributeError(
            f"module 'partwise' has no attribute {name!r}{_near(name)}"
        )
    value = getattr(import_module(modules[wanted]), wanted)
    globals()[name] = value
    return value


def _near(name: str) -> str:
    """The public name that was probably meant."""
    if name.startswith("_"):  # Python looks many of these up without needing one
        return ""
    from difflib import get_close_matches

    near = get_close_matches(name, __dir__(), n=1)
    return f"; did you mean {near[0]!r}?" if near else ""


def __dir__() -> list[str]:
    return sorted([*public_names(), *_OTHERS, *_MODULES, "__version__", "load"])


__all__ = __dir__()
