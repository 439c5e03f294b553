"""Where the bytes of a result go: a file appears whole or not at all."""

import gzip
import os
import sys
from pathlib import Path

from partwise.readers.source import Source


def write_bytes(path: Source, data: bytes) -> None:
    """
    Write a file beside its place, then move it there.

    Parameters
    ----------
    path : path, "-" or open binary file
        "-" is standard output; a name that ends in ``.gz`` is compressed.
    data : bytes
    """
    if isinstance(path, str) and path == "-":
        sys.stdout.buffer.write(data)
        sys.stdout.buffer.flush()
        return
    if not isinstance(path, str | os.PathLike):
        path.write(data)
        return
    place = Path(path)
    if place.suffix == ".gz":
        data = gzip.compress(data, 6, mtime=0)
    draft = place.with_name(f".{place.name}.{os.getpid()}.part")
    try:
        draft.write_bytes(data)
        os.replace(draft, place)
    except OSError as error:
        # in the name of the file that was asked for
        raise OSError(error.errno, error.strerror, str(place)) from error
    finally:
        draft.unlink(missing_ok=True)
