"""Say that kernels are being compiled, when they are."""

from __future__ import annotations

import os
from pathlib import Path

from partwise.cli.output import say

READING = ("_columns_kernels.scan_rows", "_columnar_kernels.look_up")
PREDICTING = (*READING, "_chain_batch.decode_rows")


def announce_compilation(*kernels: str) -> None:
    """Tell on stderr when the disk cache of numba lacks one of these kernels.

    Parameters
    ----------
    *kernels : str
        ``module.function``, as numba names the files of its cache.
    """
    if os.environ.get("NUMBA_DISABLE_JIT", "0") not in ("", "0"):
        return
    folders = _cache_folders()
    for kernel in kernels:
        if not any(_cached(folder, kernel) for folder in folders):
            say("compiling … (first run only)")
            return


def _cache_folders() -> list[Path]:
    """Where numba looks: its variable, beside the sources, the user's cache."""
    package = Path(__file__).parents[1]
    chosen = os.environ.get("NUMBA_CACHE_DIR")
    if chosen:
        return [Path(chosen)]
    home = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache"))
    parts = ("readers", "features", "structures", "solvers")
    return [*(package / part for part in parts), home / "numba"]


def _cached(folder: Path, kernel: str) -> bool:
    return any(folder.glob(f"*/{kernel}-*.nbi"))
