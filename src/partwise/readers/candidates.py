"""Candidate sets: the documents of queries with their subtopics."""

from __future__ import annotations

from typing import NamedTuple

from partwise.readers.source import ReaderError, Source, read_text_bytes


class Candidates(NamedTuple):
    """Candidate sets, in the order in which their queries appear."""

    X: list[list[str]]  # texts of the documents; the first line is the title
    y: list[list[list[str]]]  # subtopics of the documents
    queries: list[str]
    documents: list[list[str]]  # their names


def read_candidates(path: Source) -> Candidates:
    r"""
    Read lines ``query<tab>document<tab>subtopics<tab>title<tab>text``.

    Parameters
    ----------
    path : path, "-" or open binary file
        May be compressed by gzip. Subtopics are separated by spaces; there may be none.
        Lines that begin with # are comments.

    Examples
    --------
    >>> import io
    >>> lines = b"q1\td1\ts1 s2\tA title\tSome text\nq1\td2\t\tOther\tMore\n"
    >>> data = read_candidates(io.BytesIO(lines))
    >>> data.X, data.y
    ([['A title\nSome text', 'Other\nMore']], [[['s1', 's2'], []]])
    """
    name, data = read_text_bytes(path)
    sets: dict[str, tuple[list[str], list[list[str]], list[str]]] = {}
    for number, line in enumerate(data.decode().splitlines(), 1):
        if not line.strip() or line.startswith("#"):
            continue
        cells = line.split("\t")
        if len(cells) != 5:
            raise ReaderError(
                f"{name}:{number}: {len(cells)} column{'s'[: len(cells) > 1]}; write "
                "query, document, subtopics, title and text, separated by tabs"
            )
        query, document, subtopics, title, text = cells
        texts, topics, documents = sets.setdefault(query, ([], [], []))
        if document in documents:
            raise ReaderError(
                f"{name}:{number}: document {document[:40]!r} of query {query[:40]!r} "
                "stands twice; name each once"
            )
        texts.append(f"{title}\n{text}")
        topics.append(subtopics.split())
        documents.append(document)
    if not sets:
        raise ReaderError(f"{name}: no line with a document; give a file with some")
    X, y, documents_of = (list(column) for column in zip(*sets.values(), strict=True))
    return Candidates(X, y, list(sets), documents_of)
