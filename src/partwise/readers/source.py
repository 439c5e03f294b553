"""Where the bytes of a data file come from, and what is wrong with them."""

import gzip
import os
import sys
import zlib
from typing import BinaryIO

from partwise.parameters import SettingsError

Source = str | os.PathLike[str] | BinaryIO

GZIP_MAGIC = b"\x1f\x8b"
BYTE_ORDER_MARK = b"\xef\xbb\xbf"


class ReaderError(ValueError):
    """A data file cannot be read; the text names the file, the line and the remedy."""


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
        Valid UTF-8 without NUL bytes and without a byte order mark.

    Raises
    ------
    ReaderError
        Truncated gzip, binary or not UTF-8; MissingFileError when there is no file.
    """
    name, data = _read_bytes(source)
    if data.startswith(GZIP_MAGIC):
        try:
            data = gzip.decompress(data)
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
    return name, data


def _read_bytes(source: Source) -> tuple[str, bytes]:
    if isinstance(source, str) and source == "-":
        return "<stdin>", sys.stdin.buffer.read()
    if not isinstance(source, str | os.PathLike):
        name = str(getattr(source, "name", "<file>"))
        data = source.read()
        if not isinstance(data, bytes):
            raise ReaderError(f"{name}: opened as text; open it in mode 'rb'")
        return name, data
    name = os.fspath(source)
    try:
        with open(source, "rb") as file:
            return name, file.read()
    except FileNotFoundError as error:
        raise MissingFileError(f"{name}: no such file; check the path") from error
    except OSError as error:
        raise ReaderError(f"{name}: cannot be read ({error.strerror})") from error


def _line_of(data: bytes, position: int) -> int:
    return data.count(b"\n", 0, position) + 1
