"""Limits on what a data file may hold: a hostile one must not take all memory.

Each has a default and an environment variable that changes it; an error names both.

=============================== ============= ==================================
variable                        default       what may not be larger
=============================== ============= ==================================
PARTWISE_MAX_FILE_BYTES         1,073,741,824 text of a file, decompressed
PARTWISE_MAX_COMPRESSION        100           text per compressed byte, from
                                              2 MB on
PARTWISE_MAX_LINE_BYTES         67,108,864    a line
PARTWISE_MAX_TOKEN_BYTES        65,536        a word, or another field of a token
PARTWISE_MAX_SENTENCE_TOKENS    100,000       tokens of a sentence, letters of a
                                              sequence
PARTWISE_MAX_COLUMNS            16,777,216    columns of a matrix
=============================== ============= ==================================
"""

import os

from partwise.parameters import SettingsError, shortened

FILE_BYTES = "PARTWISE_MAX_FILE_BYTES"
COMPRESSION = "PARTWISE_MAX_COMPRESSION"
LINE_BYTES = "PARTWISE_MAX_LINE_BYTES"
TOKEN_BYTES = "PARTWISE_MAX_TOKEN_BYTES"
SENTENCE_TOKENS = "PARTWISE_MAX_SENTENCE_TOKENS"
COLUMNS = "PARTWISE_MAX_COLUMNS"
DEFAULTS = {
    FILE_BYTES: 1 << 30,
    COMPRESSION: 100,
    LINE_BYTES: 1 << 26,
    TOKEN_BYTES: 1 << 16,
    SENTENCE_TOKENS: 100_000,
    COLUMNS: 1 << 24,
}


class ReaderError(ValueError):
    """A data file cannot be read; the text names the file, the line and the remedy."""

    def __init__(self, text: str) -> None:
        super().__init__(shortened(text))


def limit(variable: str) -> int:
    """
    The value of a limit.

    Parameters
    ----------
    variable : str
        Name of the environment variable that may change it.

    Examples
    --------
    >>> limit("PARTWISE_MAX_TOKEN_BYTES")
    65536
    """
    text = os.environ.get(variable)
    if text is None:
        return DEFAULTS[variable]
    if not text.isdecimal() or not text.isascii() or not 0 < len(text) <= 18:
        raise SettingsError(f"{variable}={text[:40]}: give a positive whole number")
    return int(text)


def check_limit(size: int, variable: str, place: str, what: str) -> None:
    """Refuse what is larger than a limit, as in ``a line of 100 bytes``.

    Parameters
    ----------
    size : int
    variable : str
    place : str
        File and line.
    what : str
        With ``{}`` for the size.
    """
    most = limit(variable)
    if size > most:
        raise beyond(most, variable, f"{place}: {what.format(f'{size:,}')}")


def beyond(most: int, variable: str, what: str) -> ReaderError:
    """The error of something larger than a limit."""
    return ReaderError(
        f"{what}; {most:,} are allowed. If you trust the file, set {variable} to more"
    )


def check_lines(data: bytes, name: str) -> None:
    """Refuse a line that is too long, in a few steps for each stretch of that size."""
    most = limit(LINE_BYTES)
    begin = 0
    while begin + most < len(data):
        end = data.rfind(b"\n", begin, begin + most + 1)
        if end < 0:
            number = data.count(b"\n", 0, begin) + 1
            raise beyond(most, LINE_BYTES, f"{name}:{number}: a line of too many bytes")
        begin = end + 1
