"""Columns that annotate sequences: tables with a line per token."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from partwise.readers.fasta import AlignedPairs, aligned_pairs, read_families
from partwise.readers.homologues import (
    CandidateLists,
    is_candidate_table,
    named_sequences,
    read_homologues,
)
from partwise.readers.sink import write_bytes
from partwise.readers.source import ReaderError, Source, read_text_bytes

REAL = ":real"  # ends the names of columns of numbers, in files
Annotations = dict[str, dict[str, Any]]


def read_annotations(path: Source) -> Annotations:
    r"""
    Read columns that annotate sequences, a line per token.

    Parameters
    ----------
    path : path, "-" or open binary file
        A table separated by tabs whose first line names the columns. The first column
        is the name of the sequence, or ``family/name``; the second its letters. Where
        the name of a column ends in ``:real``, its cells hold one or more numbers,
        separated by spaces.

    Returns
    -------
    dict
        For each sequence its columns, lists of one string per token, or real arrays
        (n, width).

    Examples
    --------
    >>> import io
    >>> table = b"name\tresidue\tstructure\ns1\tM\tH\ns1\tK\tE\n"
    >>> read_annotations(io.BytesIO(table))
    {'s1': {'residue': ['M', 'K'], 'structure': ['H', 'E']}}
    >>> table = b"name\tresidue\tprofile:real\ns1\tM\t0.5 1\ns1\tK\t-2 0\n"
    >>> read_annotations(io.BytesIO(table))["s1"]["profile"].tolist()
    [[0.5, 1.0], [-2.0, 0.0]]
    """
    source, data = read_text_bytes(path)
    lines = data.decode().splitlines()
    header = lines[0].split("\t") if lines else []
    if len(header) < 2 or len(set(header)) < len(header) or not all(header):
        raise ReaderError(
            f"{source}:1: no header; name the columns, as in `name<TAB>residue"
            "<TAB>structure`"
        )
    names = [name.removesuffix(REAL) for name in header[1:]]
    is_real = [name.endswith(REAL) for name in header[1:]]
    if is_real[0] or len(set(names)) < len(names) or not all(names):
        raise ReaderError(
            f"{source}:1: the second column has the letters of sequences, and columns "
            f"have different names, without {REAL!r}, too; rename them"
        )
    widths: dict[str, int] = {}  # numbers per cell
    annotations: Annotations = {}
    for number, line in enumerate(lines[1:], 2):
        if not line.strip():
            continue
        cells = line.split("\t")
        if len(cells) != len(header):
            raise ReaderError(
                f"{source}:{number}: {len(cells)} cells where the header has "
                f"{len(header)}; give one per column"
            )
        if cells[0] not in annotations:
            annotations[cells[0]] = {name: [] for name in names}
        for name, cell, numeric in zip(names, cells[1:], is_real, strict=True):
            value = _numbers(cell, f"{source}:{number}: {name}") if numeric else cell
            if numeric and len(value) != widths.setdefault(name, len(value)):
                raise ReaderError(
                    f"{source}:{number}: {name}: {len(value)} numbers where the lines "
                    f"before have {widths[name]}"
                )
            annotations[cells[0]][name].append(value)
    if not annotations:
        raise ReaderError(f"{source}: a header without lines; give annotations")
    for columns in annotations.values():
        for name in widths:
            columns[name] = np.array(columns[name], np.float64)
    return annotations


def _numbers(cell: str, where: str) -> list[float]:
    """Numbers of a cell, separated by spaces."""
    try:
        numbers = [float(text) for text in cell.split()]
    except ValueError:
        numbers = []
    if not numbers or not all(map(math.isfinite, numbers)):
        raise ReaderError(
            f"{where}: {cell[:20]!r}: give finite numbers, separated by spaces"
        )
    return numbers


def annotated(data: AlignedPairs | CandidateLists, annotations: Annotations) -> Any:
    """
    Examples with the columns of their sequences, an object per sequence.

    Parameters
    ----------
    data : AlignedPairs or CandidateLists
    annotations : dict
        As `read_annotations` returns it; the first column must have the letters.
        Without any, sequences stay strings.
    """
    if not annotations:
        return data.X

    known: dict[str, dict[str, Any]] = {}

    def columns(name: str, short: str, text: str) -> dict[str, Any]:
        if name not in known:
            table = annotations.get(name, annotations.get(short))
            if table is None:
                raise ReaderError(f"no annotations of {name!r}; add its lines")
            if "".join(next(iter(table.values()))).upper() != text:
                raise ReaderError(
                    f"annotations of {name!r} are of another sequence; their first "
                    "column must have the letters of the FASTA file"
                )
            known[name] = table
        return known[name]

    def of_candidate(name: str, text: str) -> dict[str, Any]:
        return columns(name, name.partition("/")[2], text)

    if isinstance(data, CandidateLists):
        return [
            (of_candidate(query, a), list(map(of_candidate, others, texts)))
            for (query, others), (a, texts) in zip(data.names, data.X, strict=True)
        ]
    return [
        (
            columns(f"{family}/{one}".lstrip("/"), one, a),
            columns(f"{family}/{other}".lstrip("/"), other, b),
        )
        for (family, one, other), (a, b) in zip(data.names, data.X, strict=True)
    ]


def read_alignments(
    paths: Sequence[str],
    annotations: Annotations,
    *,
    truth: bool = True,
    max_length: int | None = None,
) -> tuple[list[Any], AlignedPairs | CandidateLists]:
    """
    All pairs of each family of aligned FASTA files, or lists of candidates.

    Parameters
    ----------
    paths : list of str
        FASTA files, and tables, which end in .tsv or .tsv.gz: of candidates, if their
        first line names the columns query and candidate, else of annotations.
    annotations : dict
        Of sequences; those of the files are added, and stay known.
    truth, max_length
        See `aligned_pairs`. Queries with a longer sequence are left out.

    Returns
    -------
    list of examples, annotated
    AlignedPairs or CandidateLists
    """
    tables = [path for path in paths if path.endswith((".tsv", ".tsv.gz"))]
    lists = [path for path in tables if is_candidate_table(path)]
    sequences = [path for path in paths if path not in tables]
    for path in tables:
        if path not in lists:
            annotations |= read_annotations(path)
    data: Any = CandidateLists([], [], []) if lists else AlignedPairs([], [], [], [])
    if lists:
        known = named_sequences(sequences)
        parts: Any = (read_homologues(path, known, truth=truth) for path in lists)
    else:
        parts = (
            aligned_pairs(read_families(path), path, truth=truth, max_length=max_length)
            for path in sequences
        )
    for part in parts:
        for column, more in zip(data, part, strict=True):
            column += more
    if lists and max_length:
        data = data.limited_to(max_length)
    if not data.X:
        raise ReaderError(
            f"{paths[0]}: no pair of sequences to align; give aligned FASTA, or raise "
            "--max-length"
        )
    return annotated(data, annotations), data


def write_annotations(path: Source, sequences: Annotations) -> None:
    """Write columns as `read_annotations` reads them."""
    first = next(iter(sequences.values()))
    titles = [name + REAL * _is_real(column) for name, column in first.items()]
    lines = ["\t".join(["name", *titles])]
    for name, columns in sequences.items():
        for cells in zip(*(columns[column] for column in first), strict=True):
            lines.append("\t".join([name, *map(_cell, cells)]))
    write_bytes(path, ("\n".join(lines) + "\n").encode())


def _is_real(column: Any) -> bool:
    return isinstance(column, np.ndarray) and column.dtype.kind in "fiu"


def _cell(value: Any) -> str:
    is_vector = isinstance(value, np.ndarray)
    return " ".join(map(repr, value.tolist())) if is_vector else str(value)
