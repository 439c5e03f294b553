"""Sequences with classes: FASTA, and tables separated by tabs."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from typing import Any, NamedTuple

from partwise.readers.fasta import read_fasta
from partwise.readers.sink import write_bytes
from partwise.readers.source import ReaderError, Source, read_text_bytes

# letters of nucleotides, and of sets of them
NUCLEOTIDES = re.compile(r"[ACGTUNRYSWKMBDHVX*-]*", re.IGNORECASE)


class LabelledSequences(NamedTuple):
    """Sequences of a file."""

    X: list[str]
    y: list[str] | None  # None without the truth
    names: list[str]


def read_sequences(path: Source, *, truth: bool = True) -> LabelledSequences:
    r"""
    Read sequences and their classes.

    Parameters
    ----------
    path : path, "-" or open binary file
        FASTA, where the class of all sequences is the name of the file without its
        endings (``bound.fa``); or lines ``class<TAB>…<TAB>sequence``, the name in the
        second of three or more columns. A first line without letters of nucleotides
        at its end is a header.
    truth : bool
        Whether classes are asked for; without, a line may be a sequence alone.

    Examples
    --------
    >>> import io
    >>> read_sequences(io.BytesIO(b"+\tp1\tacgt\n-\tn1\ttttt\n"))
    LabelledSequences(X=['ACGT', 'TTTT'], y=['+', '-'], names=['p1', 'n1'])
    """
    source, data = read_text_bytes(path)
    if data.lstrip().startswith(b">"):
        return _from_fasta(source, data, truth)
    sequences = LabelledSequences([], [], [])
    assert sequences.y is not None
    for number, line in enumerate(data.decode().splitlines(), 1):
        if not line.strip():
            continue
        cells = [cell.strip() for cell in line.split("\t")]
        if not NUCLEOTIDES.fullmatch(cells[-1]):
            if number == 1:
                continue
            raise ReaderError(
                f"{source}:{number}: {cells[-1][:30]!r} is no sequence of nucleotides; "
                "put the sequence into the last column, separated by tabs"
            )
        if truth and len(cells) < 2:
            raise ReaderError(
                f"{source}:{number}: no class; write `class<TAB>sequence`"
            )
        sequences.X.append(cells[-1].upper())
        sequences.y.append(cells[0])
        sequences.names.append(cells[1] if len(cells) > 2 else f"{len(sequences.X)}")
    if not sequences.X:
        raise ReaderError(f"{source}: no sequences; give FASTA, or lines with tabs")
    return sequences if truth else sequences._replace(y=None)


def write_sites(
    path: Source, names: Sequence[str], labels: Sequence[Any], sites: Sequence[Any]
) -> None:
    """Write lines with name, class, place from 0, strand and score of windows.

    Parameters
    ----------
    path : path, "-" or open binary file
    names, labels : lists
        Of the sequences.
    sites : list of (Site, score)
    """
    lines = ["name\tclass\tposition\tstrand\tscore"]
    for name, label, (site, score) in zip(names, labels, sites, strict=True):
        place = "" if site.position is None else site.position
        cells = (name, label, place, "+-"[site.strand < 0], f"{score:.6g}")
        lines.append("\t".join(map(str, cells)))
    write_bytes(path, ("\n".join(lines) + "\n").encode())


def _from_fasta(source: str, data: bytes, truth: bool) -> LabelledSequences:
    import io

    try:
        records = read_fasta(io.BytesIO(data))
    except ReaderError as error:
        text = str(error)
        raise ReaderError(text.replace(text.split(":")[0], source, 1)) from error
    for record in records:
        if not NUCLEOTIDES.fullmatch(record.sequence):
            raise ReaderError(
                f"{source}: sequence {record.name!r} has letters that are no "
                "nucleotides"
            )
    label = os.path.basename(source).split(".")[0]
    return LabelledSequences(
        [record.sequence for record in records],
        [label] * len(records) if truth else None,
        [record.name for record in records],
    )
