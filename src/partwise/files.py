"""Files that are written whole or not at all."""

from __future__ import annotations

import contextlib
import os
import secrets
from pathlib import Path


def write_atomically(path: str | os.PathLike[str], data: bytes) -> None:
    """Write beside the place and move there, so that nobody sees half a file.

    Raises
    ------
    OSError
        The place cannot be written; nothing is left behind.
    """
    place = Path(path)
    draft = place.with_name(f".{place.name}.{os.getpid()}.{secrets.token_hex(4)}.part")
    try:
        with open(draft, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        os.replace(draft, place)
    finally:
        with contextlib.suppress(OSError):
            draft.unlink(missing_ok=True)
