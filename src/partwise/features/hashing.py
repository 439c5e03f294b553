"""Features without a vocabulary: hashes that are the same in every process."""

import hashlib
from collections.abc import Iterable, Sequence

import numpy as np

from partwise.features.arrays import Features
from partwise.features.templates import BOUNDARY, Template, View
from partwise.features.windows import gather_rows, neighbours
from partwise.readers.table import Table

# odd, with bits all over: 2**64 divided by the golden ratio
MULTIPLIER = np.uint64(0x9E3779B97F4A7C15)
HALF = np.uint64(32)


def hash_strings(strings: Sequence[str]) -> np.ndarray:
    """Hash strings; unlike Python's `hash`, without a salt.

    Returns
    -------
    uint64 array of shape (n_strings,)
    """
    digests = [
        hashlib.blake2b(s.encode("utf-8", "surrogatepass"), digest_size=8).digest()
        for s in strings
    ]
    return np.frombuffer(b"".join(digests), "<u8").astype(np.uint64)


def hash_view(view: View, table: Table) -> tuple[np.ndarray, np.ndarray]:
    """Hash the strings that a view has at all tokens, each distinct one once.

    Returns
    -------
    uint64 array of shape (n_tokens,)
    bool array of shape (n_tokens,)
        Which tokens have a string.
    """
    column = table.columns[view.column]
    used, strings = view.of_column(column)
    of_value = np.zeros(len(column.values), np.uint64)
    of_value[used] = hash_strings([string or "" for string in strings])
    known = np.zeros(len(column.values), bool)
    known[used] = [string is not None for string in strings]
    return of_value[column.codes], known[column.codes]


def hash_views(
    views: Iterable[View], table: Table
) -> tuple[dict[View, np.ndarray], dict[View, np.ndarray]]:
    """
    `hash_view` of several views, each with an entry for what is outside of sentences.

    The entry is the last one of each array, (n_tokens + 1,): see `neighbours`.
    """
    hashes, has_value = {}, {}
    for view in dict.fromkeys(views):
        of_token, known = hash_view(view, table)
        hashes[view] = np.append(of_token, hash_strings([BOUNDARY]))
        has_value[view] = np.append(known, True)
    return hashes, has_value


def hash_templates(
    templates: Sequence[Template], table: Table, n_features: int
) -> Features:
    """Hash the features of templates to columns.

    Each distinct string is hashed once; the hash of a conjunction mixes those of the
    template's name and of its strings.

    Parameters
    ----------
    templates : sequence of Template
    table : Table
    n_features : int
        A power of two.
    """
    terms = [term for template in templates for term in template.terms]
    near = neighbours(table.offset, {term.offset for term in terms})
    hashes, has_value = hash_views((term.view for term in terms), table)
    names = hash_strings([str(template) for template in templates])
    numbers = np.empty((table.n_tokens, len(templates)), np.int32)
    for i, template in enumerate(templates):
        mixed = np.full(table.n_tokens, names[i])
        present = np.ones(table.n_tokens, bool)
        for term in template.terms:
            place = near[term.offset]
            present &= has_value[term.view][place]
            mixed = (mixed ^ hashes[term.view][place]) * MULTIPLIER
            mixed ^= mixed >> HALF
        numbers[:, i] = np.where(present, mixed & np.uint64(n_features - 1), -1)
    return gather_rows(numbers, table.offset, n_features)
