"""Writing of results: a file appears whole or not at all."""

import gzip
import os
import sys
from pathlib import Path

from partwise.files import write_atomically
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
    write_atomically(place, data)
