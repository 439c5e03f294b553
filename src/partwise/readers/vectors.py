"""Word vectors: text of word2vec, GloVe or fastText, dicts, or words and a matrix."""

import gzip
import math
import os
import zlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import nullcontext
from typing import Any, BinaryIO

import numpy as np

from partwise.readers.fields import is_number
from partwise.readers.limits import COMPRESSION, LINE_BYTES, beyond, check_limit, limit
from partwise.readers.source import (
    BOMB,
    BYTE_ORDER_MARK,
    GZIP_MAGIC,
    MissingFileError,
    ReaderError,
)

MAX_DIMENSIONS = 10_000
LARGEST = 1e15  # whose square, summed over all dimensions, single precision still holds


def read_vectors(
    path: str | os.PathLike[str] | BinaryIO,
) -> tuple[list[str], np.ndarray]:
    r"""
    Read word vectors in the text format of word2vec or GloVe.

    Lines are read one by one, so that a file may be larger than the memory that its
    text would take.

    Parameters
    ----------
    path : path, or open binary file
        UTF-8, gzip is recognised by its content. The first line may hold the number
        of words and of dimensions. Words may hold spaces. Of a word that stands several
        times the first vector counts.

    Returns
    -------
    words : list of str
    vectors : float32 array (n_words, n_dimensions)

    Raises
    ------
    ReaderError
        The text names the file, the line and the remedy.

    Examples
    --------
    >>> import io
    >>> read_vectors(io.BytesIO(b"2 3\ncat 1 0 0.5\ndog 1 0.1 0.5\n"))
    (['cat', 'dog'], array([[1. , 0. , 0.5],
           [1. , 0.1, 0.5]], dtype=float32))
    """
    name = str(getattr(path, "name", "<file>"))
    if isinstance(path, str | os.PathLike):
        name = os.fspath(path)
    n_lines = declared = size = 0
    vectors: dict[str, np.ndarray] = {}
    for number, line in _lines(path, name):
        place = f"{name}:{number}"
        fields = line.replace(b"\t", b" ").rstrip(b" \r\n").split(b" ")
        if fields == [b""]:
            continue
        if number == 1 and len(fields) == 2 and all(f.isdigit() for f in fields):
            declared, size = int(fields[0][:18]), int(fields[1][:18])
            _check_size(place, size)
            continue
        if size == 0:
            size = _trailing_numbers(fields)
            _check_size(place, size)
        n_lines += 1
        word, vector = _parse(place, fields, size)
        vectors.setdefault(word, vector)
    if not vectors:
        raise ReaderError(f"{name}: no word vectors; give a word and numbers per line")
    if declared and declared != n_lines:
        raise ReaderError(
            f"{name}:1: the first line promises {declared} words, the file has "
            f"{n_lines}; copy it again, or correct the line"
        )
    return list(vectors), np.stack(list(vectors.values()))


def as_vectors(vectors: Any) -> tuple[list[str], np.ndarray]:
    """
    Words and their vectors from what a user has.

    Parameters
    ----------
    vectors : dict, pair or path
        Word to vector; (words, matrix); or a file that `read_vectors` reads. Of a word
        that stands several times the first vector counts.

    Returns
    -------
    words : list of str
    matrix : float32 array (n_words, n_dimensions)

    Examples
    --------
    >>> as_vectors({"cat": [1, 0], "dog": [1, 0.5]})
    (['cat', 'dog'], array([[1. , 0. ],
           [1. , 0.5]], dtype=float32))
    """
    if isinstance(vectors, str | os.PathLike):
        return read_vectors(vectors)
    if isinstance(vectors, Mapping):
        words: list[Any] = list(vectors)
        rows: Any = list(vectors.values())
        sizes = [np.size(row) for row in rows]
        for word, size in zip(words, sizes, strict=True):
            if size != sizes[0]:
                raise ValueError(
                    f"vectors=: {word!r:.80} has {size} numbers, {words[0]!r:.80} has "
                    f"{sizes[0]}; give all words as many"
                )
    elif isinstance(vectors, Sequence) and len(vectors) == 2:
        words, rows = list(vectors[0]), vectors[1]
    else:
        raise ValueError(
            f"vectors= is of type {type(vectors).__name__}; give a dict of word to "
            "vector, a pair (words, matrix), or a file"
        )
    try:
        matrix = np.asarray(rows, np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError(f"vectors= must hold numbers: {error}") from None
    if matrix.ndim != 2 or len(matrix) != len(words) or not matrix.size:
        raise ValueError(
            f"vectors= has {len(words)} words and numbers of shape {matrix.shape}; "
            "give one vector per word"
        )
    if matrix.shape[1] > MAX_DIMENSIONS:
        raise ValueError(
            f"vectors= have {matrix.shape[1]} dimensions; {MAX_DIMENSIONS} are possible"
        )
    _check_words(words, matrix)
    first = list(
        dict(zip(reversed(words), range(len(words))[::-1], strict=True)).values()
    )
    first.sort()
    return [words[i] for i in first], matrix[first].astype(np.float32)


def _check_words(words: list[Any], matrix: np.ndarray) -> None:
    for word in words:
        if not isinstance(word, str) or not word.strip():
            raise ValueError(f"vectors=: {word!r:.80} is no word; give strings")
    bad = np.flatnonzero(~(np.abs(matrix) <= LARGEST).all(axis=1))
    if len(bad):
        raise ValueError(
            f"vectors=: the vector of {words[bad[0]]!r:.80} holds a number that is not "
            f"finite or above {LARGEST:g}; leave the word out"
        )


def _parse(place: str, fields: list[bytes], size: int) -> tuple[str, np.ndarray]:
    n_numbers = len(fields) - 1
    if n_numbers > size and is_number(fields[-size - 1]):
        n_numbers = _trailing_numbers(fields)  # one too many, not a word with spaces
    elif n_numbers > size:
        n_numbers = size
    if n_numbers != size:
        raise ReaderError(
            f"{place}: {n_numbers} numbers where {size} belong; the line is damaged or "
            "cut short"
        )
    try:
        word = b" ".join(fields[:-size]).decode()
    except UnicodeDecodeError as error:
        raise ReaderError(
            f"{place}: not UTF-8; convert it, for example with iconv -f latin1 -t utf8 "
            "(binary word2vec files must be saved as text)"
        ) from error
    if not word.strip():
        raise ReaderError(f"{place}: no word before the numbers; leave the line out")
    numbers = []
    for field in fields[-size:]:
        value = float(field) if is_number(field) else math.nan
        if not abs(value) <= LARGEST:
            shown = field[:20].decode(errors="replace")
            raise ReaderError(
                f"{place}: {shown!r} where a number of at most {LARGEST:g} belongs; "
                "correct the line"
            )
        numbers.append(value)
    return word, np.array(numbers, np.float32)


def _check_size(place: str, size: int) -> None:
    if not 1 <= size <= MAX_DIMENSIONS:
        raise ReaderError(
            f"{place}: {size} dimensions where 1 to {MAX_DIMENSIONS} are possible; "
            "give a word and its numbers per line, as word2vec and GloVe do"
        )


def _trailing_numbers(fields: list[bytes]) -> int:
    """How many fields from the end are numbers; the first is a word in any case."""
    n = 0
    while n < len(fields) - 1 and is_number(fields[-n - 1]):
        n += 1
    return n


def _lines(
    path: str | os.PathLike[str] | BinaryIO, name: str
) -> Iterator[tuple[int, bytes]]:
    """Lines with their numbers, decompressed."""
    file: Any = nullcontext(path)
    try:
        if isinstance(path, str | os.PathLike):
            file = open(path, "rb")
    except FileNotFoundError as error:
        raise MissingFileError(f"{name}: no such file; check the path") from error
    except OSError as error:
        raise ReaderError(f"{name}: cannot be read ({error.strerror})") from error
    number = 0
    with file as opened:
        try:
            begin = opened.tell()
            most, ratio, size = limit(LINE_BYTES), limit(COMPRESSION), 0
            lines: Any = opened
            line = opened.readline(most + 1)
            if not isinstance(line, bytes):
                raise ReaderError(f"{name}: opened as text; open it in mode 'rb'")
            is_compressed = line.startswith(GZIP_MAGIC)
            if is_compressed:
                opened.seek(begin)
                lines = gzip.GzipFile(fileobj=opened)
                line = lines.readline(most + 1)
            line = line.removeprefix(BYTE_ORDER_MARK)
            while line:
                number += 1
                what = "a line of {} bytes or more"
                check_limit(len(line), LINE_BYTES, f"{name}:{number}", what)
                size += len(line)
                if is_compressed and size > max(BOMB, ratio * opened.tell()):
                    what = f"{name}: each compressed byte gives more than {ratio}"
                    raise beyond(ratio, COMPRESSION, what)
                yield number, line
                line = lines.readline(most + 1)
        except (EOFError, zlib.error, gzip.BadGzipFile) as error:
            raise ReaderError(
                f"{name}:{number + 1}: damaged or truncated gzip file ({error}); copy "
                "it again"
            ) from error
        except OSError as error:
            raise ReaderError(f"{name}: cannot be read ({error.strerror})") from error
