"""Say that kernels are being compiled, when they are."""

from __future__ import annotations

from typing import Any

from partwise.cli.output import say

_told = False


def announce_compilation() -> None:
    """Tell on stderr, once a process, when numba begins to compile.

    Numba's own event is exact: it comes after a look into the disk cache, so neither a
    stale cache nor an unforeseen type goes unmentioned.
    """
    from numba.core import event

    class Teller(event.Listener):
        def on_start(self, event: Any) -> None:
            global _told
            if not _told:
                _told = True
                say("compiling … (first run only)")

        def on_end(self, event: Any) -> None:
            pass

    if not _told and not any(
        type(one).__name__ == "Teller" for one in event._registered["numba:compile"]
    ):
        event.register("numba:compile", Teller())
