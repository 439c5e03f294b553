"""Tables of parents: from paths, and from files."""

from __future__ import annotations

from collections.abc import Iterable

from partwise.readers.source import ReaderError, Source, read_text_bytes


def path_parents(
    paths: Iterable[str], separator: str = "/"
) -> dict[str, tuple[str, ...]]:
    """
    The table of parents of nodes that are named by their paths.

    Examples
    --------
    >>> path_parents(["a/b", "c"])
    {'a': (), 'a/b': ('a',), 'c': ()}
    """
    table: dict[str, tuple[str, ...]] = {}
    for path in paths:
        steps = path.split(separator)
        for n in range(1, len(steps) + 1):
            up = (separator.join(steps[: n - 1]),) if n > 1 else ()
            table.setdefault(separator.join(steps[:n]), up)
    return table


def read_parents(path: Source) -> dict[str, tuple[str, ...]]:
    r"""
    Read a table of parents: on each line a node, a tab, and a parent.

    Parameters
    ----------
    path : path, "-" or open binary file
        A node with several parents stands on several lines, one at the top alone on
        its line. Lines that begin with # are comments.

    Examples
    --------
    >>> import io
    >>> read_parents(io.BytesIO(b"cat\tanimal\nanimal\n"))
    {'cat': ('animal',), 'animal': ()}
    """
    name, data = read_text_bytes(path)
    table: dict[str, tuple[str, ...]] = {}
    for number, line in enumerate(data.decode().splitlines(), 1):
        cells = [cell.strip() for cell in line.split("\t")]
        if cells == [""] or line.startswith("#"):
            continue
        if len(cells) > 2 or not all(cells):
            raise ReaderError(f"{name}:{number}: write `node<tab>parent`, or a node")
        table[cells[0]] = table.get(cells[0], ()) + tuple(cells[1:])
    if not table:
        raise ReaderError(f"{name}: no node in the file")
    return table
