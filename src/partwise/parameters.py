"""Constructor arguments as parameters, as in scikit-learn but without importing it."""

from __future__ import annotations

import inspect
from typing import Any, Self


class Parameters:
    """`get_params` and `set_params`, so scikit-learn can clone and grid-search us.

    Duck typing keeps scikit-learn out of structures and solvers (its import costs
    more than a second), yet ``clone``, ``solver__tol`` and grids work.
    """

    @classmethod
    def _names(cls) -> list[str]:
        # a class without an __init__ of its own shows object's (self, *args, **kwargs)
        starred = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
        parameters = inspect.signature(cls.__init__).parameters.values()
        return [
            p.name for p in parameters if p.name != "self" and p.kind not in starred
        ]

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Constructor arguments by name; nested ones as ``outer__inner``."""
        values = {name: getattr(self, name) for name in self._names()}
        if deep:
            for name, value in list(values.items()):
                if hasattr(value, "get_params") and not isinstance(value, type):
                    nested = value.get_params(deep=True)
                    values |= {f"{name}__{key}": v for key, v in nested.items()}
        return values

    def set_params(self, **params: Any) -> Self:
        """Set constructor arguments by name, ``outer__inner`` for nested ones."""
        for key, value in params.items():
            name, _, inner = key.partition("__")
            if name not in self._names():
                raise ValueError(
                    f"{type(self).__name__} has no parameter {name!r}; "
                    f"choose from {', '.join(self._names())}"
                )
            if inner:
                getattr(self, name).set_params(**{inner: value})
            else:
                setattr(self, name, value)
        return self

    def __repr__(self) -> str:
        shown = ", ".join(f"{k}={v!r}" for k, v in self.get_params(deep=False).items())
        return f"{type(self).__name__}({shown})"
