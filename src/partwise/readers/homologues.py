"""Tables of candidates: which sequence is the homologue of another, among decoys."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import compress
from typing import Any, NamedTuple

import numpy as np

from partwise.readers.fasta import aligned_rows, places_of, read_families, without_gaps
from partwise.readers.sink import write_bytes
from partwise.readers.source import ReaderError, Source, read_text_bytes

NAMES = ("query", "candidate")
MATCH = "match"
ROWS = ("query_row", "candidate_row")


class CandidateLists(NamedTuple):
    """Queries with their candidates, as `SequenceAligner` takes them, and the truth.

    An item of `y` is (number of the homologue, its alignment), or the number alone
    where the alignment is not known.
    """

    X: list[tuple[str, list[str]]]
    y: list[Any]
    names: list[tuple[str, list[str]]]

    @property
    def measures(self) -> tuple[str, ...]:
        """Names of the metrics."""
        return ("homologue_accuracy",)

    @property
    def core(self) -> None:
        """All pairs of alignments count."""

    @property
    def families(self) -> list[str]:
        """There are none."""
        return []

    @property
    def n_letters(self) -> int:
        """Of all sequences."""
        return sum(len(a) + sum(map(len, others)) for a, others in self.X)

    def reference(self) -> list[Any]:
        """The homologues, as metrics compare them with predictions."""
        return [y if isinstance(y, tuple) else (y, None) for y in self.y]

    def describe(self) -> str:
        """Sizes in a line."""
        n_known = sum(isinstance(y, tuple) for y in self.y)
        n_candidates = sum(len(others) for _, others in self.X)
        return (
            f"{len(self.X):,} queries with {n_candidates:,} candidates, "
            f"{n_known:,} homologues with alignment"
        )

    def limited_to(self, max_length: int) -> CandidateLists:
        """Those without a longer sequence."""
        fits = [max(map(len, [a, *others])) <= max_length for a, others in self.X]
        columns: Any = [list(compress(column, fits)) for column in self]
        return CandidateLists(*columns)

    def write(self, path: Source, outputs: Iterable[Iterable[Any]]) -> None:
        """
        Write a table as `read_homologues` reads it.

        Parameters
        ----------
        path : path, "-" or open binary file
        outputs : list of lists of (number of a candidate, its alignment)
            Of each query, the best first, which becomes its homologue. Candidates that
            are not among them follow.
        """
        lines = ["\t".join([*NAMES, MATCH, *ROWS])]
        for (query, names), (a, others), ranked in zip(
            self.names, self.X, outputs, strict=True
        ):
            rows = {k: aligned_rows(a, others[k], pairs) for k, pairs in ranked}
            best = next(iter(rows), None)
            for k in [*rows, *(k for k in range(len(names)) if k not in rows)]:
                shown = rows[k] if k == best else ("", "")
                lines.append("\t".join([query, names[k], str(int(k == best)), *shown]))
        write_bytes(path, ("\n".join(lines) + "\n").encode())


def is_candidate_table(path: Source) -> bool:
    """Whether the first line of a file names the columns query and candidate."""
    _, data = read_text_bytes(path)
    return tuple(data.decode().split("\n", 1)[0].rstrip("\r").split("\t")[:2]) == NAMES


def read_homologues(
    path: Source, sequences: Mapping[str, str], *, truth: bool = True
) -> CandidateLists:
    r"""
    Read lines ``query<tab>candidate<tab>match<tab>query_row<tab>candidate_row``.

    Parameters
    ----------
    path : path, "-" or open binary file
        The first line names the columns. ``match`` is 1 for the homologue of a query
        and 0 for decoys. The last two columns may be absent, and are empty but for
        homologues of known alignment: both sequences with their gaps.
    sequences : dict
        Letters by name, see `named_sequences`.
    truth : bool
        Without, ``match`` and what follows is not looked at, and `y` is empty.

    Examples
    --------
    >>> import io
    >>> table = b"query\tcandidate\tmatch\tquery_row\tcandidate_row\n"
    >>> table += b"q\td\t0\t\t\nq\th\t1\tMKV\tM-V\n"
    >>> lists = read_homologues(io.BytesIO(table), {"q": "MKV", "h": "MV", "d": "VM"})
    >>> lists.X[0], lists.y[0][0], lists.y[0][1].tolist()
    (('MKV', ['VM', 'MV']), 1, [[0, 0], [2, 1]])
    """
    source, data = read_text_bytes(path)
    header, *lines = data.decode().splitlines() or [""]
    columns = header.split("\t")
    wanted = [*NAMES, MATCH] if truth else list(NAMES)
    is_known = columns in (list(NAMES), [*NAMES, MATCH], [*NAMES, MATCH, *ROWS])
    if not is_known or columns[: len(wanted)] != wanted:
        raise ReaderError(
            f"{source}:1: the first line must name the columns query, candidate, "
            "match, and query_row and candidate_row if alignments are known"
        )
    queries: dict[str, _Query] = {}
    for number, line in enumerate(lines, 2):
        if not line.strip():
            continue
        where = f"{source}:{number}"
        cells = line.split("\t")
        if len(cells) != len(columns):
            raise ReaderError(
                f"{where}: {len(cells)} cells where the header has {len(columns)}"
            )
        query = queries.setdefault(cells[0], _Query(number, [], []))
        if cells[1] in query.candidates:
            raise ReaderError(f"{where}: the candidate stands twice; write it once")
        letters = [_letters(sequences, name, where) for name in cells[:2]]
        if truth:
            query.add_truth(cells[2], cells[3:], letters, where)
        query.candidates.append(cells[1])
    if not queries:
        raise ReaderError(f"{source}: a header without lines; give candidates")
    for name, query in queries.items():
        if truth and (not query.truth or len(query.candidates) < 2):
            lacks = "decoy" if query.truth else "homologue"
            raise ReaderError(
                f"{source}:{query.line}: {name!r} has no {lacks}; give one, or leave "
                "the query out"
            )
    return CandidateLists(
        [
            (sequences[name], [sequences[other] for other in query.candidates])
            for name, query in queries.items()
        ],
        [query.truth[0] for query in queries.values() if truth],
        [(name, query.candidates) for name, query in queries.items()],
    )


class _Query(NamedTuple):
    line: int  # where it stands first
    candidates: list[str]
    truth: list[Any]  # none or one

    def add_truth(
        self, match: str, rows: Sequence[str], letters: Sequence[str], where: str
    ) -> None:
        """Of the next candidate."""
        if match not in ("0", "1"):
            raise ReaderError(f"{where}: match {match[:20]!r}: give 0 or 1")
        is_aligned = any(rows)
        if match == "0":
            if is_aligned:
                raise ReaderError(
                    f"{where}: an alignment of a decoy; leave its rows empty"
                )
            return
        if self.truth:
            raise ReaderError(f"{where}: the query has a second homologue; give one")
        chosen = len(self.candidates)
        if not is_aligned:
            self.truth.append(chosen)
            return
        for name, row, text in zip(ROWS, rows, letters, strict=True):
            if without_gaps(row).upper() != text:
                raise ReaderError(
                    f"{where}: {name} is of another sequence; give the letters of the "
                    "FASTA file, and - for gaps"
                )
        if len(rows[0]) != len(rows[1]):
            raise ReaderError(
                f"{where}: rows of {len(rows[0])} and {len(rows[1])} columns; give an "
                "alignment"
            )
        places = np.stack([places_of(row) for row in rows], axis=1)
        self.truth.append((chosen, places[(places >= 0).all(axis=1)]))


def named_sequences(paths: Sequence[str]) -> dict[str, str]:
    """
    Letters of all sequences of FASTA files, by name and by ``family/name``.

    A name that several different sequences have stands for none of them.
    """
    known: dict[str, str] = {}
    shared: set[str] = set()
    for path in paths:
        for family in read_families(path):
            for record in family.records:
                text = without_gaps(record.sequence)
                keys = [record.name]
                if family.name:
                    keys.append(f"{family.name}/{record.name}")
                for key in keys:
                    if known.setdefault(key, text) != text:
                        shared.add(key)
    return {key: text for key, text in known.items() if key not in shared}


def _letters(sequences: Mapping[str, str], name: str, where: str) -> str:
    if name not in sequences:
        raise ReaderError(
            f"{where}: no sequence {name[:40]!r}, or several different ones; give a "
            "FASTA file with it, and write family/name where families share names"
        )
    return sequences[name]
