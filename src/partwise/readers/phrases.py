"""Lists of phrases, one on each line."""

from __future__ import annotations

from partwise.readers.source import ReaderError, Source, read_text_bytes


def read_phrases(path: Source) -> list[str]:
    r"""
    Read a list of phrases: one on each line, tokens separated by blanks.

    Empty lines, and lines that begin with #, count for nothing.

    Examples
    --------
    >>> import io
    >>> read_phrases(io.BytesIO(b"New York\n# and\nParis\n"))
    ['New York', 'Paris']
    """
    name, data = read_text_bytes(path)
    lines = (line.strip() for line in data.decode().splitlines())
    phrases = [line for line in lines if line and not line.startswith("#")]
    if not phrases:
        raise ReaderError(f"{name}: no phrase in the file")
    return phrases
