"""The command line; one file per command.

Commands import numpy, models and reports when they run, so that help pages are fast.
"""

from collections.abc import Sequence


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
