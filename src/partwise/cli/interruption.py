"""Signals during training: the model so far is saved, also after several signals."""

from __future__ import annotations

import signal
import threading
from types import FrameType
from typing import Any, Self

from partwise.cli.output import say
from partwise.protocol import is_solving

NAMES = ("SIGINT", "SIGTERM", "SIGHUP")


class Interruption:
    """Ctrl-C, SIGTERM and SIGHUP end a solver's loop; afterwards they wait.

    Before training and in the loop of a solver a signal raises KeyboardInterrupt, which
    the loop answers with the best model so far. While that is certified and saved,
    further signals are noted only.

    Attributes
    ----------
    number : int
        The last signal; 0 where there was none.
    """

    def __init__(self) -> None:
        self.number = 0
        self._has_begun = False
        self._before: dict[int, Any] = {}

    def __enter__(self) -> Self:
        if threading.current_thread() is threading.main_thread():
            for number in (getattr(signal, n) for n in NAMES if n in dir(signal)):
                if signal.getsignal(number) is not signal.SIG_IGN:  # as nohup sets it
                    self._before[number] = signal.signal(number, self._receive)
        return self

    def __exit__(self, *_: object) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)

    @property
    def code(self) -> int:
        """The exit code that shells expect after the signal; 0 without one."""
        return 128 + self.number if self.number else 0

    def training_begins(self) -> None:
        """Note that there is a model to save."""
        self._has_begun = True

    def _receive(self, number: int, _: FrameType | None) -> None:
        self.number = number
        if not self._has_begun or is_solving():
            raise KeyboardInterrupt
        say("the model is being saved; please wait")
