r"""Sequences and alignments: FASTA and aligned FASTA.

An aligned FASTA file holds one alignment, or several: a line ``# family NAME`` opens
each. Rows have one length; ``-`` and ``.`` are gaps. Which columns of an alignment are
its core, the part that evaluations count, is said by a row ``>=core`` of 0 and 1, or by
capital letters (small ones lie outside), as in BAliBASE.

The parsers are our own: the formats need a few lines each, and Biopython, which a user
would have to install for them, knows neither families nor cores. It is an oracle in the
tests.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np

from partwise.readers.sink import write_bytes
from partwise.readers.source import ReaderError, Source, read_text_bytes

GAPS = "-."
CORE = "=core"
LINE = 60  # letters of a line that is written
_SEQUENCE = re.compile(r"[^\s>#;\d]*")
_FAMILY = re.compile(r"#\s*family\s+(\S.*)")


class FastaRecord(NamedTuple):
    """A sequence with its name, the first word of the title line."""

    name: str
    sequence: str


class Family(NamedTuple):
    """Sequences that belong together, aligned where they have one length."""

    name: str
    records: list[FastaRecord]
    core: np.ndarray | None = None  # (n_columns,) bool; None where nothing was said

    @property
    def is_aligned(self) -> bool:
        """Whether all rows have one length."""
        return len({len(record.sequence) for record in self.records}) == 1


class AlignedPairs(NamedTuple):
    """Pairs of sequences, as `SequenceAligner` takes them, and their true alignments.

    `core` has an entry per pair of tokens of `y`: whether evaluations count it.
    """

    X: list[tuple[str, str]]
    y: list[np.ndarray]  # (k, 2) int each
    core: list[np.ndarray]  # (k,) bool each
    names: list[tuple[str, str, str]]  # family and names of both sequences

    @property
    def measures(self) -> tuple[str, ...]:
        """Names of the metrics."""
        return ("q", "q4")

    @property
    def families(self) -> list[str]:
        """The family of each pair."""
        return [family for family, _, _ in self.names]

    @property
    def n_letters(self) -> int:
        """Of all pairs."""
        return sum(len(a) + len(b) for a, b in self.X)

    def reference(self) -> list[np.ndarray]:
        """The pairs of tokens that count."""
        return [y[core] for y, core in zip(self.y, self.core, strict=True)]

    def describe(self) -> str:
        """Sizes in a line."""
        return (
            f"{len(self.X):,} pairs of {len(set(self.families)):,} families, "
            f"{sum(map(len, self.y)):,} aligned residues"
        )

    def write(self, path: Source, alignments: Iterable[Iterable[Any]]) -> None:
        """Write a family of two rows for each of several alignments of each pair."""
        families = []
        for (family, *names), (a, b), ranked in zip(
            self.names, self.X, alignments, strict=True
        ):
            for alignment in ranked:
                rows = zip(names, aligned_rows(a, b, alignment), strict=True)
                records = [FastaRecord(*row) for row in rows]
                families.append(Family(family or "-", records))
        write_families(path, families)


def read_fasta(path: Source) -> list[FastaRecord]:
    r"""
    Read sequences without gaps.

    Parameters
    ----------
    path : path, "-" or open binary file
        May be compressed by gzip.

    Returns
    -------
    list of FastaRecord
        Letters as they stand, gaps left out.

    Examples
    --------
    >>> import io
    >>> read_fasta(io.BytesIO(b">one a title\nMK-V\nLL\n"))
    [FastaRecord(name='one', sequence='MKVLL')]
    """
    return [
        FastaRecord(record.name, without_gaps(record.sequence))
        for family in read_families(path)
        for record in family.records
    ]


def read_families(path: Source) -> list[Family]:
    r"""
    Read the alignments, or groups of sequences, of a FASTA file.

    Parameters
    ----------
    path : path, "-" or open binary file

    Returns
    -------
    list of Family
        Letters are capital; gaps are ``-``. A file without ``# family`` lines is one
        family without a name.

    Examples
    --------
    >>> import io
    >>> (family,) = read_families(io.BytesIO(b">a\nMKv-\n>b\nMRi.\n"))
    >>> family.records[1].sequence, family.core.tolist()
    ('MRI-', [True, True, False, False])
    """
    source, data = read_text_bytes(path)
    families = []
    for name, line, rows in _families(source, data.decode().splitlines()):
        records = [row for row in rows if row[1].name != CORE]
        if not records:
            raise ReaderError(f"{source}:{line}: family {name!r} has no sequences")
        texts = [record.sequence for _, record in records]
        is_aligned = len(set(map(len, texts))) == 1
        core = None
        for number, record in rows:
            if record.name == CORE:
                core = _core_row(source, number, record.sequence, len(texts[0]))
        has_cases = any(t != t.upper() for t in texts) and any(
            t != t.lower() for t in texts
        )
        if core is None and has_cases and is_aligned:
            letters = np.array([list(text) for text in texts])
            is_small = np.char.islower(letters).any(axis=0)
            is_large = np.char.isupper(letters).any(axis=0)
            core = np.logical_and(is_large, np.logical_not(is_small))
        plain = [FastaRecord(r.name, _plain(r.sequence)) for _, r in records]
        families.append(Family(name, plain, core))
    if not families:
        raise ReaderError(f"{source}: no sequence; a FASTA file has lines `>name`")
    return families


def aligned_pairs(
    families: Iterable[Family],
    source: str = "",
    *,
    truth: bool = True,
    max_length: int | None = None,
) -> AlignedPairs:
    """
    All pairs of rows of each family, in the order of the rows.

    Parameters
    ----------
    families : iterable of Family
    source : str
        Name of the file, for messages.
    truth : bool
        Without, sequences need not be aligned, and `y` and `core` are empty.
    max_length : int, optional
        Pairs with a longer sequence are left out.

    Returns
    -------
    AlignedPairs
        A sequence that is in many pairs is one object.
    """
    pairs = AlignedPairs([], [], [], [])
    for family in families:
        where = f"{source}: family {family.name or '1'!r}"
        if len(family.records) < 2:
            raise ReaderError(f"{where} has one sequence; give two or more")
        if truth and not family.is_aligned:
            raise ReaderError(
                f"{where} has rows of different lengths; give an alignment, or use "
                "`partwise predict` to make one"
            )
        texts = [without_gaps(record.sequence) for record in family.records]
        for record, text in zip(family.records, texts, strict=True):
            if truth and not text:
                raise ReaderError(f"{where}: sequence {record.name!r} has no letters")
        places = [places_of(record.sequence) for record in family.records]
        for i, j in combinations(range(len(texts)), 2):
            if max_length and max(len(texts[i]), len(texts[j])) > max_length:
                continue
            one, other = family.records[i].name, family.records[j].name
            pairs.names.append((family.name, one, other))
            pairs.X.append((texts[i], texts[j]))
            if truth:
                both = (places[i] >= 0) & (places[j] >= 0)
                pairs.y.append(np.stack([places[i][both], places[j][both]], axis=1))
                core = np.ones(len(both), bool) if family.core is None else family.core
                pairs.core.append(core[both])
    return pairs


def aligned_rows(a: str, b: str, pairs: Any) -> tuple[str, str]:
    """
    Both sequences with gaps, column by column.

    Parameters
    ----------
    a, b : str
    pairs : int array (k, 2)

    Examples
    --------
    >>> aligned_rows("MKV", "MV", [(0, 0), (2, 1)])
    ('MKV', 'M-V')
    """
    rows: tuple[list[str], list[str]] = ([], [])
    i = j = 0
    for i_next, j_next in [
        *np.asarray(pairs).reshape(-1, 2).tolist(),
        (len(a), len(b)),
    ]:
        rows[0].append(a[i:i_next] + "-" * (j_next - j))
        rows[1].append("-" * (i_next - i) + b[j:j_next])
        rows[0].append(a[i_next : i_next + 1])
        rows[1].append(b[j_next : j_next + 1])
        i, j = i_next + 1, j_next + 1
    return "".join(rows[0]), "".join(rows[1])


def write_fasta(path: Source, records: Iterable[FastaRecord]) -> None:
    """Write sequences, or the rows of one alignment."""
    write_bytes(path, _text(records).encode())


def write_families(path: Source, families: Iterable[Family]) -> None:
    """
    Write alignments as `read_families` reads them.

    Parameters
    ----------
    path : path, "-" or open binary file
    families : iterable of Family
    """
    blocks = []
    for family in families:
        records = list(family.records)
        if family.core is not None:
            text = "".join("01"[bool(value)] for value in family.core)
            records.append(FastaRecord(CORE, text))
        blocks.append(f"# family {family.name}\n{_text(records)}")
    write_bytes(path, "\n".join(blocks).encode())


def without_gaps(row: str) -> str:
    """The letters of a row alone."""
    return row.replace("-", "").replace(".", "")


def places_of(row: str) -> np.ndarray:
    """Number of the letter in each column of a row, −1 at gaps."""
    is_letter = np.array([c not in GAPS for c in row], bool)
    return np.where(is_letter, np.cumsum(is_letter) - 1, -1)


# ------------------------------------------------------------------------ the details


def _families(
    source: str, lines: Sequence[str]
) -> Iterator[tuple[str, int, list[tuple[int, FastaRecord]]]]:
    """Name, line and rows (with the lines of their titles) of each family."""
    name, begin = "", 1
    rows: list[tuple[int, str, list[str]]] = []

    def finished() -> list[tuple[int, FastaRecord]]:
        for number, title, parts in rows:
            if not parts:
                raise ReaderError(f"{source}:{number}: sequence {title!r} is empty")
        return [(n, FastaRecord(t, "".join(parts))) for n, t, parts in rows]

    for number, line in enumerate(lines, 1):
        text = line.strip()
        opening = _FAMILY.fullmatch(text)
        if opening:
            if rows or name:
                yield name, begin, finished()
            name, begin, rows = opening[1], number, []
        elif text.startswith(">"):
            title = text[1:].split()
            if not title:
                raise ReaderError(f"{source}:{number}: no name; write `>name`")
            rows.append((number, title[0], []))
        elif not text or text.startswith(("#", ";")):
            continue
        elif not rows:
            raise ReaderError(
                f"{source}:{number}: {text[:40]!r} before the first `>name`; this is "
                "no FASTA file"
            )
        elif rows[-1][1] != CORE and not _SEQUENCE.fullmatch(text.replace(" ", "")):
            raise ReaderError(
                f"{source}:{number}: {text[:40]!r} is no sequence; give letters, and - "
                "for gaps"
            )
        else:
            rows[-1][2].append(text.replace(" ", ""))
    if rows or name:
        yield name, begin, finished()


def _core_row(source: str, number: int, text: str, length: int) -> np.ndarray:
    if set(text) - set("01") or len(text) != length:
        raise ReaderError(
            f"{source}:{number}: the row {CORE} needs 0 or 1 for each of the {length} "
            "columns"
        )
    return np.array([c == "1" for c in text])


def _plain(row: str) -> str:
    return row.upper().replace(".", "-")


def _text(records: Iterable[FastaRecord]) -> str:
    lines = []
    for name, sequence in records:
        lines.append(f">{name}")
        lines += [sequence[k : k + LINE] for k in range(0, len(sequence), LINE)]
    return "\n".join(lines) + "\n"
