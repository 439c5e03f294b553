"""Say that kernels are being compiled, when they are."""

from __future__ import annotations

import os
from pathlib import Path

from partwise.cli.output import say


def announce_compilation(kernel: str) -> None:
    """Tell on stderr when the disk cache of numba does not hold this kernel yet.

    Parameters
    ----------
    kernel : str
        ``module.function``, as numba names the files of its cache.
    """
    if os.environ.get("NUMBA_DISABLE_JIT", "0") not in ("", "0"):
        return
    if not any(_cached(folder, kernel) for folder in _cache_folders()):
        say("compiling … (first run only)")


def _cache_folders() -> list[Path]:
    """Where numba looks: its variable, beside the sources, the user's cache."""
    package = Path(__file__).parents[1]
    chosen = os.environ.get("NUMBA_CACHE_DIR")
    if chosen:
        return [Path(chosen)]
    home = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache"))
    return [package / "structures", package / "solvers", home / "numba"]


def _cached(folder: Path, kernel: str) -> bool:
    return any(folder.glob(f"*/{kernel}-*.nbi"))
