"""Checks of settings: one wording for values of users and of files."""

import math
from collections.abc import Sequence
from numbers import Integral, Real
from typing import Any

from partwise.parameters import SettingsError


def check_whole(name: str, value: Any, low: int = 1, high: int = 1000) -> int:
    """Return a whole number between `low` and `high`, or raise ValueError."""
    is_whole = isinstance(value, Integral) and not isinstance(value, bool)
    if not is_whole or not low <= value <= high:
        raise SettingsError(
            f"<{name}={_short(value)}>: give a whole number from {low} to {high}"
        )
    return int(value)


def check_real(
    name: str,
    value: Any,
    low: float = 0.0,
    high: float = math.inf,
    *,
    above: bool = False,
) -> float:
    """Return a finite number in [low, high], or in (low, high] when `above` is set."""
    is_real = isinstance(value, Real) and not isinstance(value, bool)
    number = float(value) if is_real else math.nan
    inside = low < number <= high if above else low <= number <= high
    if not inside or not math.isfinite(number):
        least = f"above {low:g}" if above else f"of at least {low:g}"
        most = f" and at most {high:g}" if math.isfinite(high) else ""
        raise SettingsError(f"<{name}={_short(value)}>: give a number {least}{most}")
    return number


def check_names(name: str, value: Any) -> tuple[str, ...] | None:
    """Return names of columns, or None; one string is one name."""
    if value is None:
        return None
    names = (value,) if isinstance(value, str) else value
    if (
        not isinstance(names, Sequence)
        or not names
        or not all(isinstance(item, str) and item for item in names)
        or len(set(names)) < len(names)
    ):
        raise SettingsError(
            f"<{name}={_short(value)}>: give different names of columns, or None"
        )
    return tuple(names)


def check_weights(name: str, value: Any) -> tuple[float, ...] | None:
    """Return weights that are not negative and not all zero, or None."""
    if value is None:
        return None
    if isinstance(value, Real) and not isinstance(value, bool):
        value = (value,)
    if isinstance(value, str) or not hasattr(value, "__len__") or not len(value):
        raise SettingsError(
            f"<{name}={_short(value)}>: give one number per column, or None"
        )
    weights = tuple(check_real(name, item) for item in value)
    if not any(weights):
        raise SettingsError(f"<{name}={_short(value)}>: one weight must be above zero")
    return weights


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 80 else f"{text[:77]}..."
