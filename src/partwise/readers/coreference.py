r"""Coreference in the columns of CoNLL-2012.

A line has a token: document, part, number, word, other columns, and last the brackets
of mentions, ``(3`` where a mention of entity 3 begins, ``3)`` where it ends, ``(3)``
for a single word, joined by ``|``; ``-``, ``_`` or nothing without one. An empty line
ends a sentence; lines ``#begin document`` and ``#end document`` enclose a document.
Columns are separated by tabs, or by spaces. Entities with one mention are kept.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from partwise.readers.sink import write_bytes
from partwise.readers.source import ReaderError, Source, read_text_bytes

_BRACKET = re.compile(r"(\()?([^()|]+)(\))?")
WORD = 3  # its column


class CoreferenceDocument(NamedTuple):
    """A document with mentions, by their first words, longer ones first."""

    name: str
    words: list[str]
    sentence: list[int]  # of each word
    mentions: list[tuple[int, int]]  # first and last word
    entities: list[str]  # of each mention
    lines: list[str]  # of the file
    at: list[int]  # line of each word


def read_coreference(path: Source) -> list[CoreferenceDocument]:
    r"""
    Read documents with their mentions.

    Parameters
    ----------
    path : path, "-" or open binary file

    Examples
    --------
    >>> import io
    >>> text = b"#begin document (d); part 0\nd\t0\t0\tAnn\t(1)\nd\t0\t1\tsees\t-\n"
    >>> (document,) = read_coreference(io.BytesIO(text + b"d\t0\t2\ther\t(1)\n"))
    >>> document.mentions, document.entities
    ([(0, 0), (2, 2)], ['1', '1'])
    """
    source, data = read_text_bytes(path)
    documents: list[CoreferenceDocument] = []
    lines: list[str] = []
    first, name = 1, ""
    for number, line in enumerate(data.decode().splitlines(), 1):
        if line.startswith("#begin document") and any(map(str.strip, lines)):
            documents.append(_document(source, first, name, lines))
        if line.startswith("#begin document"):
            first, lines = number, []
            name = line.removeprefix("#begin document").strip().strip(";")
        lines.append(line)
    if any(line.strip() for line in lines):
        documents.append(_document(source, first, name, lines))
    if not documents:
        raise ReaderError(f"{source}: no document; give columns as in CoNLL-2012")
    return documents


def _document(
    source: str, first: int, name: str, lines: list[str]
) -> CoreferenceDocument:
    words: list[str] = []
    sentence: list[int] = []
    at: list[int] = []
    mentions: list[tuple[int, int, str]] = []
    opened: dict[str, list[int]] = {}
    n_sentences, is_open = 0, False
    for k, line in enumerate(lines):
        if line.startswith("#") or not line.strip():
            n_sentences += is_open
            is_open = False
            continue
        cells = _cells(line)
        where = f"{source}:{first + k}"
        if len(cells) <= WORD + 1:
            raise ReaderError(
                f"{where}: {len(cells)} column{'s'[: len(cells) > 1]}; give document, "
                "part, number, word and brackets"
            )
        here, is_open = len(words), True
        words.append(cells[WORD])
        sentence.append(n_sentences)
        at.append(k)
        if cells[-1].strip() in ("", "-", "_", "*"):
            continue
        for piece in cells[-1].strip().split("|"):
            match = _BRACKET.fullmatch(piece)
            if not match or not (match[1] or match[3]):
                raise ReaderError(
                    f"{where}: {piece!r} is no bracket; write (3, 3) or 3)"
                )
            if match[1]:
                opened.setdefault(match[2], []).append(here)
            if match[3]:
                if not opened.get(match[2]):
                    raise ReaderError(f"{where}: {piece!r} closes what is not open")
                mentions.append((opened[match[2]].pop(), here, match[2]))
    for entity, starts in opened.items():
        if starts:
            raise ReaderError(
                f"{source}:{first + at[starts[0]]}: the mention of entity {entity} "
                "that begins here has no end"
            )
    mentions.sort(key=lambda mention: (mention[0], -mention[1]))
    return CoreferenceDocument(
        name, words, sentence, [(a, z) for a, z, _ in mentions],
        [entity for _, _, entity in mentions], lines, at,
    )  # fmt: skip


def _cells(line: str) -> list[str]:
    return line.split("\t") if "\t" in line else line.split()


def write_coreference(
    path: Source, documents: Iterable[CoreferenceDocument], labels: Sequence[Any]
) -> None:
    """Write documents again with these clusters of their mentions."""
    written: list[str] = []
    for document, clusters in zip(documents, labels, strict=True):
        brackets: list[list[str]] = [[] for _ in document.words]
        pairs = list(zip(document.mentions, clusters, strict=True))
        for (a, z), label in pairs:
            brackets[a].append(f"({label})" if a == z else f"({label}")
        for (a, z), label in reversed(pairs):
            if a != z:
                brackets[z].append(f"{label})")
        lines = list(document.lines)
        for k, here in zip(document.at, brackets, strict=True):
            joint = "\t" if "\t" in lines[k] else " "
            cells = _cells(lines[k])
            lines[k] = joint.join([*cells[:-1], "|".join(here) or "-"])
        written += lines
    write_bytes(path, ("\n".join(written) + "\n").encode())
