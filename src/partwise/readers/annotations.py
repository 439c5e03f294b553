"""Columns that annotate sequences: tables with a line per token."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from partwise.readers.fasta import AlignedPairs, aligned_pairs, read_families
from partwise.readers.sink import write_bytes
from partwise.readers.source import ReaderError, Source, read_text_bytes


def read_annotations(path: Source) -> dict[str, dict[str, list[str]]]:
    r"""
    Read columns that annotate sequences, a line per token.

    Parameters
    ----------
    path : path, "-" or open binary file
        A table separated by tabs whose first line names the columns. The first column
        is the name of the sequence, or ``family/name``; the second its letters.

    Returns
    -------
    dict
        For each sequence its columns, lists of one string per token.

    Examples
    --------
    >>> import io
    >>> table = b"name\tresidue\tstructure\ns1\tM\tH\ns1\tK\tE\n"
    >>> read_annotations(io.BytesIO(table))
    {'s1': {'residue': ['M', 'K'], 'structure': ['H', 'E']}}
    """
    source, data = read_text_bytes(path)
    lines = data.decode().splitlines()
    header = lines[0].split("\t") if lines else []
    if len(header) < 2 or len(set(header)) < len(header) or not all(header):
        raise ReaderError(
            f"{source}:1: no header; name the columns, as in `name<TAB>residue"
            "<TAB>structure`"
        )
    annotations: dict[str, dict[str, list[str]]] = {}
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
            annotations[cells[0]] = {name: [] for name in header[1:]}
        for name, cell in zip(header[1:], cells[1:], strict=True):
            annotations[cells[0]][name].append(cell)
    if not annotations:
        raise ReaderError(f"{source}: a header without lines; give annotations")
    return annotations


def annotated(
    pairs: AlignedPairs, annotations: dict[str, dict[str, list[str]]]
) -> list[Any]:
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
    known: dict[tuple[str, str], dict[str, list[str]]] = {}

    def columns(family: str, name: str, text: str) -> dict[str, list[str]]:
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
    annotations: dict[str, dict[str, list[str]]],
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


def write_annotations(path: Source, sequences: dict[str, dict[str, Any]]) -> None:
    """Write columns as `read_annotations` reads them."""
    names = list(next(iter(sequences.values())))
    lines = ["\t".join(["name", *names])]
    for name, columns in sequences.items():
        for cells in zip(*(columns[column] for column in names), strict=True):
            lines.append("\t".join([name, *map(str, cells)]))
    write_bytes(path, ("\n".join(lines) + "\n").encode())
