"""The command line; one file per command.

Commands import numpy, models and reports when they run, so that help pages are fast.
"""

import gc
import sys
from collections.abc import Sequence
from typing import NoReturn

OBJECTS = 50_000  # new ones between two collections of garbage


def command() -> NoReturn:
    """Run the command line as a process of its own.

    Libraries bring some 300,000 objects that stay until the end. Python looks for
    garbage among them several times while they load, and again when it ends: together
    half a second of each command.
    """
    gc.set_threshold(OBJECTS, 20, 50)
    code = main()
    gc.freeze()
    sys.exit(code)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line; returns the exit code.

    0: done. 1: failed. 2: bad usage or bad input. 130: interrupted; a model that was
    being trained is kept, as good as it was.
    """
    try:
        from partwise.cli.app import run

        return run(arguments)
    except KeyboardInterrupt:  # while modules load
        return 130
