"""Graphs with labelled nodes, one JSON object on each line."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from typing import Any, NamedTuple

from partwise.readers.sink import write_bytes
from partwise.readers.source import ReaderError, Source, read_text_bytes


class Graphs(NamedTuple):
    """Graphs of a file."""

    X: list[Any]  # (nodes, edges), (…, edge features) or (…, edge features, types)
    y: list[Any]  # lists of labels; None where a graph has none
    objects: list[dict[str, Any]]  # the lines as they were


def read_graphs(path: Source) -> Graphs:
    """
    Read graphs, one JSON object on each line.

    ``nodes`` lists the features of the nodes: numbers, as many for each node; or names
    of features; or objects of names and values. ``edges`` lists pairs of numbers of
    nodes, from 0 on. Optional are ``edge_features``, a list like `nodes`, and
    ``labels``, a string or whole number for each node, null where it is not known, and
    ``types``, a string for each node, where types of nodes have labels of their own.
    Other entries are kept when predictions are written.

    Parameters
    ----------
    path : path, "-" or open binary file
        May be compressed by gzip.

    Examples
    --------
    >>> import io
    >>> line = b'{"nodes": [[1, 0], [0, 1]], "edges": [[0, 1]], "labels": ["a", "b"]}'
    >>> data = read_graphs(io.BytesIO(line))
    >>> data.X, data.y
    ([([[1, 0], [0, 1]], [[0, 1]])], [['a', 'b']])
    """
    name, data = read_text_bytes(path)
    X, y, objects = [], [], []
    for number, line in enumerate(data.decode().splitlines(), 1):
        if not line.strip():
            continue
        try:
            graph = json.loads(line)
        except (ValueError, RecursionError) as error:
            raise ReaderError(
                f"{name}:{number}: no JSON ({error}); write a graph on each line, as "
                'in {"nodes": […], "edges": […]}'
            ) from None
        try:
            X.append(_graph(graph))
            y.append(_labels(graph))
        except (ValueError, RecursionError) as error:
            raise ReaderError(f"{name}:{number}: {error}") from None
        objects.append(graph)
    if not objects:
        raise ReaderError(f"{name}: no line with a graph; give a file with some")
    return Graphs(X, y, objects)


def read_graph_files(paths: Sequence[Source], *, truth: bool) -> Graphs:
    """The graphs of several files; with `truth` all of them must have labels."""
    files = [read_graphs(path) for path in paths]
    for path, file in zip(paths, files, strict=True):
        sizes = [len(x[0]) for x in file.X]
        if truth and 0 in sizes:
            raise ReaderError(
                f"{path}: graph {sizes.index(0) + 1} has no nodes; leave it out"
            )
        if truth and None in file.y:
            raise ReaderError(
                f'{path}: graph {file.y.index(None) + 1} has no "labels"; add them'
            )
    return Graphs(*([one for file in files for one in file[k]] for k in range(3)))


def write_graphs(
    path: str,
    objects: Sequence[dict[str, Any]],
    labels: Sequence[Any],
    ranked: Sequence[Any] = (),
) -> None:
    """
    Write graphs with labels, as `read_graphs` reads them.

    Parameters
    ----------
    path : str
        "-" is standard output.
    objects : list of dict
        Entries of the graphs besides their labels, as in `Graphs`.
    labels : list of lists
    ranked : list of lists of (labels, score), optional
        Several labellings of each graph, for the entry ``topk``.
    """
    lines = [
        {**entries, "labels": row} for entries, row in zip(objects, labels, strict=True)
    ]
    for line, several in zip(lines, ranked, strict=False):
        line["topk"] = [{"labels": y, "score": score} for y, score in several]
    texts = [json.dumps(line, ensure_ascii=False) + "\n" for line in lines]
    write_bytes(path, "".join(texts).encode())


def _graph(graph: Any) -> tuple[Any, ...]:
    if not isinstance(graph, dict):
        raise ValueError('no graph; write {"nodes": […], "edges": […]}')
    nodes, edges = graph.get("nodes"), graph.get("edges")
    if not isinstance(nodes, list):
        raise ValueError(
            '"nodes" must be a list with the features of each node, as in '
            '"nodes": [[1, 0], [0, 1]]'
        )
    _check_features(nodes, "nodes")
    if not isinstance(edges, list):
        raise ValueError('"edges" must be a list of pairs of nodes')
    for k, edge in enumerate(edges):
        is_pair = isinstance(edge, list) and len(edge) == 2
        is_pair = is_pair and all(type(v) is int and 0 <= v < len(nodes) for v in edge)
        if not is_pair or edge[0] == edge[1]:
            raise ValueError(
                f'"edges": {edge!r:.40} (number {k}) is no pair of different nodes '
                f"below {len(nodes)}"
            )
    described, types = graph.get("edge_features"), graph.get("types")
    if described is not None:
        if not isinstance(described, list) or len(described) != len(edges):
            raise ValueError(f'"edge_features" must be a list of {len(edges)} rows')
        _check_features(described, "edge_features")
    if types is None:
        return (nodes, edges) if described is None else (nodes, edges, described)
    fits = isinstance(types, list) and all(isinstance(one, str) for one in types)
    if not fits or len(types) != len(nodes):
        raise ValueError(f'"types" must be a list of {len(nodes)} strings')
    return nodes, edges, described, types


def _check_features(rows: list[Any], what: str) -> None:
    kinds = {_kind(row) for row in rows}
    if "" in kinds or len(kinds) > 1:
        raise ValueError(
            f'"{what}": rows must be all lists of numbers of one length, all lists of '
            "names, or all objects"
        )


def _kind(row: Any) -> str:
    """The kind of a row of features; empty if it is invalid."""
    if isinstance(row, dict):
        values = row.values()
        fits = all(isinstance(v, str) or _is_number(v) for v in values)
        return "names" if fits else ""
    if not isinstance(row, list):
        return ""
    if row and all(isinstance(item, str) for item in row):
        return "names"
    return f"{len(row)} numbers" if row and all(map(_is_number, row)) else ""


def _is_number(value: Any) -> bool:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return False
    try:
        return math.isfinite(value)
    except OverflowError:
        return False


def _labels(graph: dict[str, Any]) -> list[Any] | None:
    labels = graph.get("labels")
    if labels is None:
        return None
    n = len(graph["nodes"])
    if not isinstance(labels, list) or len(labels) != n:
        raise ValueError(f'"labels" must be a list of {n} labels, one for each node')
    for label in labels:
        if label is not None and type(label) not in (str, int):
            raise ValueError(f"label {label!r:.40} is no string and no whole number")
    return labels
