r"""Substitution matrices in the text format of NCBI, which other aligners read, too."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from partwise.bounds import MAX_FEATURE
from partwise.readers.sink import write_bytes
from partwise.readers.source import (
    MissingFileError,
    ReaderError,
    Source,
    read_text_bytes,
)


class SubstitutionMatrix(NamedTuple):
    """Scores of a letter of a (row) beside a letter of b (column)."""

    rows: str
    columns: str
    scores: np.ndarray  # (n_rows, n_columns)

    def score(self, a: str, b: str) -> float:
        """Score of one pair of letters; those without a score have 0."""
        i, j = self.rows.find(a), self.columns.find(b)
        return float(self.scores[i, j]) if a and b and min(i, j) >= 0 else 0.0


def as_matrix(given: Source | SubstitutionMatrix) -> SubstitutionMatrix:
    """A matrix itself, or that of a file."""
    return given if isinstance(given, SubstitutionMatrix) else read_matrix(given)


def read_matrix(path: Source) -> SubstitutionMatrix:
    r"""
    Read a substitution matrix.

    Parameters
    ----------
    path : path, "-" or open binary file
        Lines with ``#`` are comments; then the letters of the columns, then for each
        row its letter and its scores.

    Returns
    -------
    SubstitutionMatrix

    Examples
    --------
    >>> import io
    >>> matrix = read_matrix(io.BytesIO(b"# tiny\n   A  C\nA  4 -1\nC -1  9\n"))
    >>> matrix.score("C", "C"), matrix.score("A", "C"), matrix.score("A", "X")
    (9.0, -1.0, 0.0)
    """
    try:
        source, data = read_text_bytes(path)
    except MissingFileError as error:
        raise MissingFileError(
            f"{path}: no such file; give the path of a substitution matrix (NCBI's "
            "file server has BLOSUM62 and others in blast/matrices)"
        ) from error
    columns: str | None = None
    rows: list[str] = []
    scores: list[list[float]] = []
    for number, line in enumerate(data.decode().splitlines(), 1):
        words = line.split()
        if not words or words[0].startswith("#"):
            continue
        if columns is None:
            columns = _letters(source, number, words)
            continue
        try:
            values = [float(word) for word in words[1:]]
        except ValueError as error:
            raise ReaderError(f"{source}:{number}: {error}; give numbers") from None
        if len(values) != len(columns) or not all(
            abs(value) <= MAX_FEATURE for value in values
        ):
            raise ReaderError(
                f"{source}:{number}: a row is a letter and {len(columns)} numbers, one "
                "for each column"
            )
        rows.append(words[0])
        scores.append(values)
    if columns is None or not rows:
        raise ReaderError(
            f"{source}: no substitution matrix; give letters in the first line, and a "
            "row of numbers for each"
        )
    return SubstitutionMatrix(
        _letters(source, 1, rows), columns, np.array(scores, np.float64)
    )


def write_matrix(
    path: Source, matrix: SubstitutionMatrix, comment: str = "", decimals: int = 4
) -> None:
    r"""
    Write a substitution matrix.

    Parameters
    ----------
    path : path, "-" or open binary file
    matrix : SubstitutionMatrix
    comment : str
        Lines that go before it, each after ``#``.
    decimals : int
        Digits of scores; 0 for the whole numbers that some programs insist on.

    Examples
    --------
    >>> import io
    >>> file = io.BytesIO()
    >>> write_matrix(file, SubstitutionMatrix("A", "AC", np.array([[4.0, -1]])), "x", 0)
    >>> print(file.getvalue().decode(), end="")
    # x
        A   C
    A   4  -1
    """
    write_bytes(path, as_text(matrix, comment, decimals).encode())


def as_text(matrix: SubstitutionMatrix, comment: str = "", decimals: int = 4) -> str:
    """The text that `write_matrix` writes."""
    cells = [[f"{value:.{decimals}f}" for value in row] for row in matrix.scores]
    width = max(3, *(len(cell) for row in cells for cell in row))
    lines = [f"# {line}" for line in comment.splitlines()]
    lines.append(" " + "".join(f" {letter:>{width}}" for letter in matrix.columns))
    for letter, row in zip(matrix.rows, cells, strict=True):
        lines.append(letter + "".join(f" {cell:>{width}}" for cell in row))
    return "\n".join(lines) + "\n"


def _letters(source: str, number: int, words: list[str]) -> str:
    if any(len(word) != 1 for word in words) or len(set(words)) < len(words):
        raise ReaderError(
            f"{source}:{number}: {' '.join(words)[:40]!r} are no letters; give "
            "different single letters"
        )
    return "".join(words)
