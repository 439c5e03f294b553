"""Whether a matrix fits into memory or on disk, before hours of work."""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import Any

import numpy as np

from partwise.parameters import SettingsError

SHARE = 0.8  # of the free memory, when no limit is given


class GramTooLarge(SettingsError):
    """A Gram matrix does not fit; the text names remedies."""


def check_memory(shape: tuple[int, int], dtype: Any, limit: int | None) -> None:
    """Raise GramTooLarge when a matrix exceeds the limit, or four fifths of RAM."""
    size = shape[0] * shape[1] * np.dtype(dtype).itemsize
    if limit is not None:
        allowed, whose = limit, "memory_limit allows"
    else:
        free = free_memory()
        if free is None:
            return
        allowed, whose = int(SHARE * free), "are free for it"
    if size <= allowed:
        return
    remedies = []
    if np.dtype(dtype) == np.float64:
        half = " (half of that)" if size <= 2 * allowed else ""
        remedies.append(f"dtype='float32'{half}")
    remedies += [
        "cache_dir= to map the matrix from a file",
        "strips() to see it part by part",
        "Nystroem(kernel) to approximate it",
    ]
    raise GramTooLarge(
        f"a Gram matrix of {shape[0]} × {shape[1]} takes {_megabytes(size)} where "
        f"{_megabytes(allowed)} {whose}; use {', '.join(remedies[:-1])}, or "
        f"{remedies[-1]}"
    )


def check_disk(folder: Path, size: int) -> None:
    """Raise GramTooLarge when a folder has no room for a file."""
    free = shutil.disk_usage(folder).free
    if size > free:
        raise GramTooLarge(
            f"{folder}: a Gram matrix of {_megabytes(size)} where {_megabytes(free)} "
            "are free; give another cache_dir, or use Nystroem(kernel)"
        )


def free_memory() -> int | None:
    """Bytes that are free without swapping; None where the system does not say."""
    try:
        with open("/proc/meminfo", encoding="ascii") as lines:
            for line in lines:
                if line.startswith("MemAvailable:"):
                    return int(line.split()[1]) * 1024
    except OSError:
        pass
    try:
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, OSError, ValueError):
        return None


def _megabytes(size: int) -> str:
    return f"{size / 2**20:,.1f} MB"
