"""Reading of text files: decompression, encoding, limits, errors."""

import codecs
import gzip
import io
import os
import re
import stat
import sys
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
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
# What may be compressed as well as it likes: a few megabytes only, for the objects of a
# text of short items take up to fifty times its bytes.
BOMB = 1 << 21
# an end of lines of old Macintosh files, or a damaged file
_LONE_RETURN = re.compile(rb"\r(?![\r\n]|\Z)")


_encoding: ContextVar[str] = ContextVar("encoding", default="utf-8")


@contextmanager
def text_encoding(name: str = "utf-8") -> Iterator[None]:
    """
    Read text files in another encoding, with any reader.

    Parameters
    ----------
    name : str
        As Python knows it: ``"latin-1"``, ``"cp1252"``, ``"utf-16"``, ….

    Examples
    --------
    >>> import io
    >>> from partwise.readers import read_columns, text_encoding
    >>> file = io.BytesIO("Zürich B-LOC".encode("latin-1"))
    >>> with text_encoding("latin-1"):
    ...     X, y = read_columns(file)
    >>> X.strings("word")
    [['Zürich']]
    """
    try:
        codec = codecs.lookup(name)
    except (LookupError, ValueError):
        codec = None
    if codec is None or not getattr(codec, "_is_text_encoding", True):
        raise SettingsError(
            f"<encoding={name[:40]!r}> is unknown; give one such as latin-1, cp1252, "
            "utf-16 or shift_jis"
        )
    before = _encoding.set(codec.name)
    try:
        yield
    finally:
        _encoding.reset(before)


class ReaderSettingsError(ReaderError, SettingsError):
    """A data file that can be read with other settings of the reader."""


class MissingFileError(ReaderError, FileNotFoundError):
    """There is no such data file."""


def read_text_bytes(source: Source) -> tuple[str, bytes]:
    """
    Name and content of a text file, decompressed, as UTF-8.

    The file is UTF-8 itself, or in the encoding of `text_encoding`.

    Parameters
    ----------
    source : path, "-" or open binary file
        "-" is standard input. Compression is recognised by the content, not by the
        name, so that a pipe may be compressed too.

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
    if is_model(data):
        raise ReaderError(
            f"{name}: is a model file where data are needed; give a file of data"
        )
    if data.startswith(GZIP_MAGIC):
        try:
            data = _decompress(name, data)
        except (EOFError, OSError, zlib.error) as error:
            raise ReaderError(
                f"{name}: damaged or truncated gzip file ({error}); copy it again"
            ) from error
    data = _as_utf8(name, data).removeprefix(BYTE_ORDER_MARK)
    nul = data.find(b"\0")
    if nul >= 0:
        raise ReaderError(
            f"{name}:{_line_of(data, nul)}: NUL byte, so this is a binary file, or "
            "text that is not UTF-8; say which, as in --encoding utf-16, or in "
            "Python text_encoding('utf-16')"
        )
    if b"\r" in data:
        data = _line_feeds(name, data)
    check_lines(data, name)
    return name, data


def is_model(first: bytes) -> bool:
    """Whether a file that begins so is a model: the size of a header, and the header.

    No text does: it has no NUL bytes.
    """
    return first[6:9] == b"\0\0{"


def _as_utf8(name: str, data: bytes) -> bytes:
    """Text in the encoding of `text_encoding` as UTF-8; checked."""
    encoding, likely = _encoding.get(), "latin-1"
    try:
        return data.decode(encoding).encode()
    except UnicodeDecodeError as error:
        place = f"{name}:{_line_of(data, error.start)}"
        what = f"not {encoding.upper()} (byte 0x{data[error.start]:02x})"
        if data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
            likely = "utf-16"
    except UnicodeEncodeError:  # half of a character: of UTF-7, for example
        place, what = name, f"not {encoding.upper()}"
    raise ReaderError(
        f"{place}: {what}; say which encoding it is, as in --encoding {likely}, or in "
        f"Python text_encoding({likely!r})"
    )


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
        if not hasattr(source, "read"):
            raise TypeError(
                f"{source!r:.40} is no file; give a path, '-' or an open binary file"
            )
        name = str(getattr(source, "name", "<file>"))
        return name, _read_all(name, source)
    name = os.fspath(source) or "''"
    try:
        with open(source, "rb") as file:
            known = os.fstat(file.fileno())
            if stat.S_ISREG(known.st_mode):
                check_limit(known.st_size, FILE_BYTES, name, "a file of {} bytes")
            return name, _read_all(name, file)
    except FileNotFoundError as error:
        raise MissingFileError(f"{name}: no such file; check the path") from error
    except IsADirectoryError as error:
        raise ReaderError(f"{name}: is a folder; give a file, or several") from error
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
        is_utf8 = _encoding.get() == "utf-8"
        if is_utf8 and b"\0" in piece and not pieces[0].startswith(GZIP_MAGIC):
            break  # binary, and refused as such; it may be endless
    return b"".join(pieces)


def _line_of(data: bytes, position: int) -> int:
    return data.count(b"\n", 0, position) + 1
