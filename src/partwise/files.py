"""Files that are written whole or not at all."""

from __future__ import annotations

import contextlib
import os
import secrets
from collections.abc import Iterator
from pathlib import Path


@contextlib.contextmanager
def replacing(path: str | os.PathLike[str]) -> Iterator[Path]:
    """The name of a draft beside a file, which takes the file's place on success.

    Several processes may write the same file at once; the last one wins.

    Raises
    ------
    OSError
        The place cannot be written; the error names the file that was asked for, and
        no draft is left behind.
    """
    place = Path(path)
    name = f".{place.name[:40]}.{os.getpid()}.{secrets.token_hex(4)}.part"
    draft = place.with_name(name)
    try:
        yield draft
        os.replace(draft, place)
    except OSError as error:
        raise OSError(error.errno, error.strerror, str(place)) from error
    finally:
        with contextlib.suppress(OSError):
            draft.unlink(missing_ok=True)


def write_atomically(path: str | os.PathLike[str], data: bytes) -> None:
    """Write beside the place and move there, so that nobody sees half a file.

    Raises
    ------
    OSError
        The place cannot be written; nothing is left behind.
    """
    with replacing(path) as draft, open(draft, "wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())
