"""Column files of the command line: names of columns, and which has the labels."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from partwise.readers.limits import ReaderError

if TYPE_CHECKING:
    from partwise.readers import Table

UNKNOWN = "_"


@dataclass
class Layout:
    """Columns and separators of files; a model file keeps those of its training."""

    columns: list[str] | None = None  # of the whole file, the label's included
    label: str | None = None  # a name, or a number as text; None is the last column
    separator: str | None = None
    comment: str | None = None
    unknown: str = UNKNOWN  # stands for a label that is not known; "" for nothing

    @classmethod
    def create(
        cls,
        columns: str | None,
        label: str | None,
        separator: str | None,
        comment: str | None,
        unknown: str | None = None,
        default: Layout | None = None,
    ) -> Layout:
        """From the options of a command, with those of the training for the rest."""
        known = default or cls()
        names = known.columns
        if columns is not None:
            names = [name.strip() for name in columns.split(",")]
        if separator is not None and separator in ("tab", "\\t"):
            separator = "\t"
        return cls(
            names,
            known.label if label is None else label,
            known.separator if separator is None else separator,
            known.comment if comment is None else comment,
            known.unknown if unknown is None else unknown,
        )

    @classmethod
    def of_model(cls, model: Any) -> Layout:
        """As the training data were read; the plain layout by default."""
        saved = model.info.get("reader", {})
        columns = saved.get("columns")
        if not isinstance(columns, list) or not all(
            isinstance(name, str) for name in columns
        ):
            columns = None
        others = {
            name: saved[name] if isinstance(saved.get(name), str) else None
            for name in ("label", "separator", "comment")
        }
        # earlier versions took the mark for a label
        unknown = "" if UNKNOWN in map(str, model.labels) else UNKNOWN
        if isinstance(saved.get("unknown"), str):
            unknown = saved["unknown"]
        return cls(columns, unknown=unknown, **others)

    def to_dict(self) -> dict[str, Any]:
        """For the model file."""
        return dict(vars(self))


def read_tables(paths: Sequence[str], layout: Layout) -> Table:
    """All columns of all files, one after the other, under the names of the layout.

    Files may lack the label column if the layout has its name.
    """
    from partwise.readers import Table, read_columns

    tables: list[Table] = []
    for path in paths:
        table, _ = read_columns(
            path, label=None, separator=layout.separator, comment=layout.comment
        )
        names = list(table.columns)
        if layout.columns is not None:
            names = _names_for(path, len(names), layout)
        table = Table(dict(zip(names, table.columns.values(), strict=True)),
                      table.offset)  # fmt: skip
        if tables and names != list(tables[0].columns):
            raise ReaderError(
                f"{path}: {len(names)} column{'s'[: len(names) > 1]} where {paths[0]} "
                f"has {len(tables[0].columns)}; give files of one layout"
            )
        tables.append(table)
    return tables[0] if len(tables) == 1 else Table.concatenate(tables)


def _names_for(path: str, width: int, layout: Layout) -> list[str]:
    names = list(layout.columns or [])
    if len(set(names)) < len(names) or "" in names:
        raise ReaderError(f"--columns {','.join(names)}: give different names")
    if width == len(names):
        return names
    others = [name for name in names if name != layout.label]
    if width == len(others) < len(names):
        return others
    raise ReaderError(
        f"{path}: {width} column{'s' if width != 1 else ''} where {', '.join(names)} "
        "were expected; name those of this file with --columns"
    )


def find_column(table: Table, wanted: str | None, paths: Sequence[str]) -> str:
    """Name of a column given by name or number; the last one by default."""
    from partwise.readers.fields import column_number

    names = list(table.columns)
    if wanted is None:
        return names[-1]
    return names[column_number(paths[0], names, wanted)]


def split_label(
    table: Table, label: str, paths: Sequence[str]
) -> tuple[Table, list[list[str]]]:
    """The columns without the labels, and the labels as they stand there."""
    others = [name for name in table.columns if name != label]
    if not others:
        raise ReaderError(
            f"{paths[0]}: one column only, nothing besides the labels; add a column of "
            "words before it, or say what stands between columns, as in --separator ,"
        )
    return table.select(others), table.strings(label)
