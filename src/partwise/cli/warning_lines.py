"""Warnings at the shell: a line each, when they are raised, with names of options."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from partwise.cli.options import OPTIONS
from partwise.cli.output import say
from partwise.cli.parameters import in_options

SHOWN = (UserWarning, RuntimeWarning)


@contextmanager
def warning_lines() -> Iterator[None]:
    """Say warnings for users as ``warning: text``, without files and lines of code."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for category in SHOWN:
            warnings.simplefilter("default", category)
        warnings.showwarning = _show
        yield


def _show(message: Warning | str, *_: Any, **__: Any) -> None:
    text = getattr(message, "text", None)  # see `worded_warning`
    say(f"warning: {message if text is None else in_options(text, OPTIONS)}")
