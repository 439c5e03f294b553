"""Files that are written whole or not at all."""

from __future__ import annotations

import contextlib
import os
import secrets
import shutil
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

if sys.platform != "win32":
    import fcntl

NAME_LENGTH = 40  # of a file's name in that of its draft


@contextlib.contextmanager
def replacing(path: str | os.PathLike[str]) -> Iterator[Path]:
    """The name of a draft beside a file, which takes the file's place on success.

    Several processes may write the same file at once; the last one wins. A symbolic
    link stays, and the file that it points to is replaced. What is no regular file (a
    pipe, a device) is never replaced: the draft is written into it. Drafts that killed
    processes left behind are removed.

    Raises
    ------
    OSError
        The place cannot be written; the error names the file that was asked for, and
        no draft is left behind.
    """
    try:
        place = Path(os.path.realpath(path))
        if _is_special(path):
            with tempfile.TemporaryDirectory() as folder:
                draft = Path(folder) / "draft"
                yield draft
                with open(draft, "rb") as source, open(path, "wb") as target:
                    shutil.copyfileobj(source, target)
            return
        _remove_stale_drafts(place)
        draft, lock = _new_draft(place)
        try:
            yield draft
            with open(draft, "rb") as file:
                os.fsync(file.fileno())
            os.replace(draft, place)
            _sync_folder(place.parent)
        finally:
            os.close(lock)
            with contextlib.suppress(OSError):
                draft.unlink(missing_ok=True)
    except OSError as error:
        raise OSError(error.errno, error.strerror, os.fspath(path)) from error


def write_atomically(path: str | os.PathLike[str], data: bytes) -> None:
    """Write a draft and move it to its place, so that no reader sees half a file.

    Raises
    ------
    OSError
        The place cannot be written; nothing is left behind.
    """
    with replacing(path) as draft, open(draft, "wb") as file:
        file.write(data)


def refuse_folder_or_unwritable(path: str | os.PathLike[str]) -> None:
    """Raise now the OSError that `replacing` would raise later."""
    place = Path(os.path.realpath(path))
    if place.is_dir():
        raise IsADirectoryError(f"{path} is a folder")
    if _is_special(path):
        if not os.access(path, os.W_OK):
            raise PermissionError(13, "Permission denied", os.fspath(path))
        return
    draft, lock = _new_draft(place)
    os.close(lock)
    draft.unlink()


def _is_special(path: str | os.PathLike[str]) -> bool:
    """Whether it is a pipe or a device.

    Not by the real path: that of /dev/stdout, where it is a pipe, names no file.
    """
    place = Path(path)
    return place.exists() and not place.is_file() and not place.is_dir()


def _new_draft(place: Path) -> tuple[Path, int]:
    """A new file beside a place, and a descriptor with the lock of its writer."""
    while True:
        name = f".{place.name[:NAME_LENGTH]}.{os.getpid()}.{secrets.token_hex(4)}.part"
        draft = place.with_name(name)
        lock = os.open(draft, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o666)
        if sys.platform == "win32":
            return draft, lock
        with contextlib.suppress(OSError):  # some file systems have no locks
            fcntl.flock(lock, fcntl.LOCK_EX)
        if draft.exists():
            return draft, lock
        os.close(lock)  # taken for a stale one before it had its lock


def _remove_stale_drafts(place: Path) -> None:
    """Remove drafts without a writer: the lock of a killed process is gone."""
    if sys.platform == "win32":
        return
    begin = f".{place.name[:NAME_LENGTH]}."
    with contextlib.suppress(OSError):
        for entry in list(os.scandir(place.parent)):
            if not entry.name.startswith(begin) or not entry.name.endswith(".part"):
                continue
            with contextlib.suppress(OSError):
                lock = os.open(entry.path, os.O_RDWR | os.O_NOFOLLOW | os.O_NONBLOCK)
                try:
                    fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    os.unlink(entry.path)
                finally:
                    os.close(lock)


def _sync_folder(folder: Path) -> None:
    """Make a new name outlast a power failure, where the system can."""
    with contextlib.suppress(OSError):
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
