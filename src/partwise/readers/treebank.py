"""Files of trees as one data set, which is written again with other trees."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from typing import NamedTuple

import numpy as np

from partwise.readers.conllu import ConlluDocument, read_conllu_document
from partwise.readers.source import ReaderError
from partwise.readers.table import Table
from partwise.readers.trees import DependencyTree


class Treebank(NamedTuple):
    """CoNLL-U files, and those of their sentences that are in the data."""

    documents: list[ConlluDocument]
    rows: np.ndarray  # numbers of the sentences over all documents, rising
    table: Table  # columns of their words
    trees: list[DependencyTree] | None  # None without trees

    @classmethod
    def read(
        cls,
        paths: Sequence[str],
        *,
        trees: bool = True,
        single_root: bool = True,
        max_length: int | None = None,
        partial: bool = False,
    ) -> Treebank:
        """
        Read several files; the table has the columns that all of them have.

        Parameters
        ----------
        paths : list of paths
        trees : bool
            Whether to read trees; a file without any is then refused.
        single_root, partial : bool
            As for `read_conllu`.
        max_length : int, optional
            Leave out longer sentences.
        """
        documents = [
            read_conllu_document(
                path, single_root=single_root, trees=trees, partial=partial
            )
            for path in paths
        ]
        tables = [document.table for document in documents]
        names = [n for n in tables[0].columns if all(n in t.columns for t in tables)]
        table = Table.concatenate([one.select(names) for one in tables])
        lengths = np.diff(table.offset).tolist()
        rows = np.array(short_rows(lengths, max_length, paths[0]))
        table = table if len(rows) == len(table) else table[rows]
        if not trees:
            return cls(documents, rows, table, None)
        truth: list[DependencyTree] = []
        for document in documents:
            if document.trees is None:
                raise ReaderError(
                    f"{document.name}: no trees, every HEAD is `_`; give a file with "
                    "HEAD and DEPREL"
                )
            truth += document.trees
        return cls(documents, rows, table, [truth[s] for s in rows.tolist()])

    def known_heads(self, left_out: Collection[int] = ()) -> list[list[int | None]]:
        """Heads that the files give, None where HEAD is `_`, or in rows left out."""
        heads = [row for document in self.documents for row in document.known_heads()]
        every = [heads[s] for s in self.rows.tolist()]
        for row in left_out:
            every[row] = [None] * len(every[row])
        return every

    def place(self, row: int) -> str:
        """File and line of the first word of a sentence of the data."""
        begin, number = 0, int(self.rows[row])
        for document in self.documents:
            if number < begin + len(document.table):
                return document.place_of(number - begin)
            begin += len(document.table)
        raise IndexError(f"row {row}")

    def fill(self, trees: Sequence[DependencyTree]) -> bytes:
        """The files with other trees of the sentences in the data."""
        parts: list[bytes] = []
        begin = at = 0
        for document in self.documents:
            if parts and not parts[-1].endswith((b"\n\n", b"\n\r\n")):
                parts.append(b"\n" if parts[-1].endswith(b"\n") else b"\n\n")
            end = begin + len(document.table)
            n = int((self.rows < end).sum()) - at
            rows = self.rows[at : at + n] - begin
            parts.append(document.fill(trees[at : at + n], rows=rows.tolist()))
            begin, at = end, at + n
        return b"".join(parts)


def short_rows(lengths: Iterable[int], most: int | None, path: str) -> list[int]:
    """Numbers of the sentences of at most so many words; refuses to leave none."""
    if most is not None and most < 1:
        raise ValueError(f"--max-length {most}: give a positive whole number")
    rows = [i for i, n in enumerate(lengths) if most is None or n <= most]
    if not rows and most is not None:
        raise ReaderError(
            f"{path}: no sentence of at most {most} words; raise --max-length"
        )
    return rows
