"""Columns that annotate sequences: tables with a line per token."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from partwise.readers.fasta import AlignedPairs, aligned_pairs, read_families
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


def annotated(pairs: AlignedPairs, annotations: Annotations) -> list[Any]:
    """
    Pairs of sequences with their columns, an object per sequence.

    Parameters
    ----------
    pairs : AlignedPairs
    annotations : dict
        As `read_annotations` returns it; the first column must have the letters.
        Without any, sequences stay strings.
    """
    if not annotations:
        return pairs.X
    known: dict[tuple[str, str], dict[str, Any]] = {}

    def columns(family: str, name: str, text: str) -> dict[str, Any]:
        if (family, name) not in known:
            table = annotations.get(f"{family}/{name}", annotations.get(name))
            if table is None:
                raise ReaderError(
                    f"no annotations of {name!r}, family {family!r}; add its lines"
                )
            if "".join(next(iter(table.values()))).upper() != text:
                raise ReaderError(
                    f"annotations of {name!r} are of another sequence; their first "
                    "column must have the letters of the FASTA file"
                )
            known[family, name] = table
        return known[family, name]

    return [
        (columns(family, one, a), columns(family, other, b))
        for (family, one, other), (a, b) in zip(pairs.names, pairs.X, strict=True)
    ]


def read_aligned(
    paths: Sequence[str],
    annotations: Annotations,
    *,
    truth: bool = True,
    max_length: int | None = None,
) -> tuple[list[Any], AlignedPairs]:
    """
    All pairs of each family of aligned FASTA files, with annotations of others.

    Parameters
    ----------
    paths : list of str
        Files that end in .tsv or .tsv.gz annotate sequences.
    annotations : dict
        Of sequences; those of the files are added, and stay known.
    truth, max_length
        See `aligned_pairs`.

    Returns
    -------
    list of pairs of sequences, annotated
    AlignedPairs
    """
    tables = [path for path in paths if path.endswith((".tsv", ".tsv.gz"))]
    for path in tables:
        annotations |= read_annotations(path)
    all_pairs: Any = AlignedPairs([], [], [], [])
    for path in paths:
        if path not in tables:
            pairs = aligned_pairs(
                read_families(path), path, truth=truth, max_length=max_length
            )
            for column, more in zip(all_pairs, pairs, strict=True):
                column += more
    if not all_pairs.X:
        raise ReaderError(
            f"{paths[0]}: no pair of sequences to align; give aligned FASTA, or raise "
            "--max-length"
        )
    return annotated(all_pairs, annotations), all_pairs


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
