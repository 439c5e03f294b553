"""Where the bytes of a data file come from, and what is wrong with them."""

import gzip
import io
import os
import re
import stat
import sys
import zlib
from typing import Any, BinaryIO

from partwise.parameters import SettingsError
from partwise.readers.limits import (
    COMPRESSION,
    FILE_BYTES,
    ReaderError,
    beyond,
    check_limit,
    check_lines,
    limit,
)

Source = str | os.PathLike[str] | BinaryIO

GZIP_MAGIC = b"\x1f\x8b"
BYTE_ORDER_MARK = b"\xef\xbb\xbf"
CHUNK = 1 << 22
BOMB = 1 << 26  # what may be compressed as well as it likes
# an end of lines of old Macintosh files, or rubbish
_LONE_RETURN = re.compile(rb"\r(?![\r\n]|\Z)")


class ReaderSettingsError(ReaderError, SettingsError):
    """A data file that can be read with other settings of the reader."""


class MissingFileError(ReaderError, FileNotFoundError):
    """There is no such data file."""


def read_text_bytes(source: Source) -> tuple[str, bytes]:
    """
    Name and content of a text file, decompressed and known to be UTF-8.

    Parameters
    ----------
    source : path, "-" or open binary file
        "-" is standard input. Compression is told by the content, not by the name,
        so that a pipe may be compressed too.

    Returns
    -------
    name : str
        For messages.
    data : bytes
        Valid UTF-8 without NUL bytes and without a byte order mark. Carriage returns
        end lines where there is no other end, and else stand before line feeds alone.

    Raises
    ------
    ReaderError
        Truncated gzip, binary or not UTF-8, or beyond one of `partwise.readers.limits`;
        MissingFileError when there is no file.
    """
    name, data = _read_bytes(source)
    if data.startswith(GZIP_MAGIC):
        try:
            data = _decompress(name, data)
        except (EOFError, OSError, zlib.error) as error:
            raise ReaderError(
                f"{name}: damaged or truncated gzip file ({error}); copy it again"
            ) from error
    data = data.removeprefix(BYTE_ORDER_MARK)
    nul = data.find(b"\0")
    if nul >= 0:
        raise ReaderError(
            f"{name}:{_line_of(data, nul)}: NUL byte, so this is a binary or UTF-16 "
            "file; convert it to UTF-8 text"
        )
    try:
        data.decode()
    except UnicodeDecodeError as error:
        raise ReaderError(
            f"{name}:{_line_of(data, error.start)}: not UTF-8 (byte "
            f"0x{data[error.start]:02x}); convert it, for example with "
            "iconv -f latin1 -t utf8"
        ) from error
    if b"\r" in data:
        data = _line_feeds(name, data)
    check_lines(data, name)
    return name, data


def _decompress(name: str, data: bytes) -> bytes:
    """The text of a gzip file, within the limits."""
    most, ratio = limit(FILE_BYTES), limit(COMPRESSION)
    pieces, size = [], 0
    with gzip.GzipFile(fileobj=io.BytesIO(data)) as file:
        while piece := file.read(CHUNK):
            pieces.append(piece)
            size += len(piece)
            if size > most:
                what = f"{name}: the text has too many bytes when decompressed"
                raise beyond(most, FILE_BYTES, what)
            if size > BOMB and size > ratio * len(data):
                what = f"{name}: each compressed byte gives more than {ratio} of text"
                raise beyond(ratio, COMPRESSION, what)
    return b"".join(pieces)


def _line_feeds(name: str, data: bytes) -> bytes:
    if b"\n" not in data:
        return data.replace(b"\r", b"\n")
    lone = _LONE_RETURN.search(data)
    if lone:
        raise ReaderError(
            f"{name}:{_line_of(data, lone.start())}: a carriage return within a line; "
            "end all lines alike, for example with dos2unix"
        )
    return data


def _read_bytes(source: Source) -> tuple[str, bytes]:
    if isinstance(source, str) and source == "-":
        return "<stdin>", _read_all("<stdin>", sys.stdin.buffer)
    if not isinstance(source, str | os.PathLike):
        name = str(getattr(source, "name", "<file>"))
        return name, _read_all(name, source)
    name = os.fspath(source)
    try:
        with open(source, "rb") as file:
            known = os.fstat(file.fileno())
            if stat.S_ISREG(known.st_mode):
                check_limit(known.st_size, FILE_BYTES, name, "a file of {} bytes")
            return name, _read_all(name, file)
    except FileNotFoundError as error:
        raise MissingFileError(f"{name}: no such file; check the path") from error
    except OSError as error:
        raise ReaderError(f"{name}: cannot be read ({error.strerror})") from error


def _read_all(name: str, file: Any) -> bytes:
    """All bytes of a file, a pipe or a device that may never end."""
    most = limit(FILE_BYTES)
    pieces: list[bytes] = []
    size = 0
    while piece := file.read(CHUNK):
        if not isinstance(piece, bytes):
            raise ReaderError(f"{name}: opened as text; open it in mode 'rb'")
        pieces.append(piece)
        size += len(piece)
        if size > most:
            raise beyond(most, FILE_BYTES, f"{name}: too many bytes")
        if b"\0" in piece and not pieces[0].startswith(GZIP_MAGIC):
            break  # binary, and refused as such; it may be endless
    return b"".join(pieces)


def _line_of(data: bytes, position: int) -> int:
    return data.count(b"\n", 0, position) + 1
