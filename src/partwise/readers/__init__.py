"""Files to objects: each reader returns the pair X, y of its task."""

from partwise.readers.columns import read_columns, write_columns
from partwise.readers.source import ReaderError
from partwise.readers.table import Column, Table

__all__ = ["Column", "ReaderError", "Table", "read_columns", "write_columns"]
