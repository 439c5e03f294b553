"""Files to objects: each reader returns the pair X, y of its task."""

from partwise.readers.arff import read_arff
from partwise.readers.brackets import (
    format_tree,
    parse_tree,
    read_brackets,
    write_brackets,
)
from partwise.readers.candidates import Candidates, read_candidates
from partwise.readers.columns import read_columns, write_columns
from partwise.readers.conllu import (
    ConlluDocument,
    read_conllu,
    read_conllu_document,
    write_conllu,
)
from partwise.readers.hierarchies import path_parents, read_parents
from partwise.readers.source import ReaderError
from partwise.readers.table import Column, Table
from partwise.readers.trees import (
    DependencyTree,
    PhraseTree,
    as_phrase_tree,
    is_projective,
    tagged_words,
)
from partwise.readers.vectors import read_vectors

__all__ = [
    "Candidates",
    "Column",
    "ConlluDocument",
    "DependencyTree",
    "PhraseTree",
    "ReaderError",
    "Table",
    "as_phrase_tree",
    "format_tree",
    "is_projective",
    "parse_tree",
    "path_parents",
    "read_arff",
    "read_brackets",
    "read_candidates",
    "read_columns",
    "read_conllu",
    "read_conllu_document",
    "read_parents",
    "read_vectors",
    "tagged_words",
    "write_brackets",
    "write_columns",
    "write_conllu",
]
