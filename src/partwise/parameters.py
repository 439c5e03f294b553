"""Parameters: constructor arguments by name, checks of their values, their errors.

As in scikit-learn, but without importing it.
"""

from __future__ import annotations

import inspect
import re
import sys
import warnings
from collections.abc import Callable, Collection, Iterable, Mapping
from difflib import get_close_matches
from numbers import Real
from types import UnionType
from typing import Any, Literal, Self, Union, get_args, get_origin

# <name=value>, <name=> or <name> in a message. A value may be a repr in angle brackets
# itself; what has no = must look like a parameter, not like <file> or <unk>.
LARGEST = sys.float_info.max
MENTION = re.compile(
    r"<([A-Za-z_]\w*)=((?:[^<>]|<[^<>]*>)*)>|<([a-z]+_[a-z_]+|C|eps|preset|template|tol)>"
)


def shortened(text: str) -> str:
    """A long message without its middle, which may quote a hostile file."""
    return text if len(text) <= 800 else f"{text[:400]} … {text[-300:]}"


class SettingsError(ValueError):
    """Parameters that do not go together, or a value that cannot be used.

    Parameters
    ----------
    text : str
        The message, with parameters in angle brackets, as in ``"raise <max_iter>"``,
        ``"give <kernel=>"`` or ``"use <single_root=False>"``, as Python writes them.
        ``str(error)`` shows them so; the command line, as options (`reworded`).

    Examples
    --------
    >>> error = SettingsError("<order=2> needs <loss='hinge'>")
    >>> str(error)
    "order=2 needs loss='hinge'"
    >>> reworded(error.text, lambda name, value: f"--{name} {value}")
    "--order 2 needs --loss 'hinge'"
    """

    def __init__(self, text: str) -> None:
        super().__init__(reworded(text, _python_mention))
        self.text = text


class ParameterError(SettingsError):
    """A parameter with a value that it cannot have.

    Parameters
    ----------
    name : str
    value : object
    remedy : str
        What to give instead; other parameters in angle brackets.

    Examples
    --------
    >>> str(ParameterError("tol", 0, "give a positive number"))
    'tol=0: give a positive number'
    """

    def __init__(self, name: str, value: Any, remedy: str) -> None:
        super().__init__(f"<{name}={value!r}>: {remedy}")
        self.name = name
        self.value = value
        self.remedy = remedy


def reworded(text: str, word: Callable[[str, str | None], str]) -> str:
    """A message with the words of a front end for each ``<name>`` or ``<name=value>``.

    Parameters
    ----------
    text : str
    word : callable
        From the name and the value as it is written in Python; None for ``<name>``,
        empty for ``<name=>``.
    """
    return MENTION.sub(
        lambda match: word(match[3] or match[1], None if match[3] else match[2]), text
    )


def _python_mention(name: str, value: str | None) -> str:
    return name if value is None else f"{name}={value}"


def worded_warning(category: type[Warning], text: str) -> Warning:
    """A warning whose message mentions parameters as `SettingsError` does."""
    warning = category(reworded(text, _python_mention))
    warning.text = text  # type: ignore[attr-defined]
    return warning


def choices_of(hint: Any) -> tuple[Any, ...]:
    """Values of a ``Literal`` type, None among them where it is optional; else ()."""
    if get_origin(hint) is Literal:
        return get_args(hint)
    options = get_args(hint) if get_origin(hint) in (Union, UnionType) else ()
    values = [value for option in options for value in choices_of(option)]
    if not values:
        return ()
    return (*values, None) if type(None) in options else tuple(values)


def check_choice(name: str, value: Any, choices: Collection[Any]) -> None:
    """Refuse a value that is none of the choices, naming the nearest one."""
    if value in choices:
        return
    named = {str(choice).lower(): choice for choice in choices}
    named |= {str(choice): choice for choice in choices}
    near = get_close_matches(str(value), named, n=1) or [str(value).lower()]
    hint = f"did you mean {named[near[0]]!r}? " if near[0] in named else ""
    listed = ", ".join(str(choice) for choice in choices if choice is not None)
    raise ParameterError(name, value, f"{hint}choose from {listed}")


def unknown_among(names: Iterable[Any], known: Collection[Any]) -> str:
    """What to say of the first name that is none of those known; empty if all are.

    Examples
    --------
    >>> unknown_among(["B-PER", "B-PERR"], ["B-LOC", "B-PER"])
    "'B-PERR' is no label of y; did you mean 'B-PER'?"
    """
    for name in names:
        if name not in known:
            listed = [str(other) for other in known]
            near = get_close_matches(str(name), listed, n=1)
            some = ", ".join(listed[:12]) + (", …" if len(listed) > 12 else "")
            hint = f"did you mean {near[0]!r}?" if near else f"there are {some}"
            return f"{name!r} is no label of y; {hint}"
    return ""


def warn_of_unknown(
    parameter: str, names: Iterable[Any], known: Collection[Any]
) -> None:
    """Warn of labels in a parameter that the data do not have.

    They may be absent from one part of the data only, as from a fold.
    """
    text = unknown_among(names, known)
    if text:
        text = f"<{parameter}=>: {text} (entries with it have no effect)"
        warnings.warn(worded_warning(UserWarning, text), stacklevel=level_of_caller())


def level_of_caller() -> int:
    """``stacklevel`` of a warning, for the line of the user's that called us."""
    frame, level = sys._getframe(1), 1
    while frame.f_back is not None:
        name = frame.f_globals.get("__name__", "")
        if not name.startswith(("partwise.", "sklearn.")):
            break
        frame, level = frame.f_back, level + 1
    return level


def look_up(name: str, value: Any, presets: Mapping[str, Any]) -> Any:
    """What a value stands for: a preset by its name, else itself.

    A single word that is nearly the name of a preset is refused with that name.
    """
    if value is not None and not isinstance(value, Iterable):
        listed = ", ".join(presets)
        raise ParameterError(name, value, f"give text, a list of lines, or {listed}")
    if not isinstance(value, str) or value in presets:
        return presets.get(value, value) if isinstance(value, str) else value
    if value.isidentifier() and get_close_matches(value, presets, n=1):
        check_choice(name, value, presets)
    return value


def check_positive(name: str, value: float | None) -> None:
    """Refuse a number that is not above zero, or is no float; None is fine."""
    if value is not None and not (isinstance(value, Real) and 0 < value < LARGEST):
        raise ParameterError(name, value, "give a positive number")


def check_not_negative(name: str, value: float) -> None:
    """Refuse a number below zero, or what is no number."""
    if not (isinstance(value, Real) and 0 <= value < LARGEST):
        raise ParameterError(name, value, "give 0 or a positive number")


def check_whole(name: str, value: int | None, least: int) -> None:
    """Refuse a whole number below the least one; None is fine."""
    if value is None:
        return
    if not isinstance(value, Real) or not (value >= least and value == int(value)):
        raise ParameterError(name, value, f"give a whole number from {least} on")


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
