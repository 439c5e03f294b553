"""The featurizer that fits the data, and that of a model file."""

from collections.abc import Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from typing import Any

import numpy as np

from partwise.features.arrays import ArrayFeaturizer
from partwise.features.columnar import Featurizer, as_table
from partwise.features.dicts import DictFeaturizer
from partwise.features.templates import PRESETS
from partwise.features.word_vectors import VectorFeaturizer
from partwise.parameters import SettingsError
from partwise.readers.refusals import refuse_single
from partwise.readers.table import Table

AnyFeaturizer = Featurizer | VectorFeaturizer | DictFeaturizer | ArrayFeaturizer


def make_featurizer(
    X: Table | Sequence[Any],
    templates: str | Iterable[str] | None = None,
    min_count: int = 1,
    hash_bits: int | None = None,
    vectors: Any = None,
) -> AnyFeaturizer:
    """Choose the featurizer that fits the data; it still has to be fitted.

    Parameters
    ----------
    X : Table or sequence of sequences
        What a token is decides: a string or a tuple of strings (columns word, pos,
        c2, …), a dict or a list of strings (features), a row of an array or of a
        sparse matrix.
    templates : str or iterable of str, optional
        For columns; by default those of `default_templates`.
    min_count : int
        Features that occur less often in training are left out.
    hash_bits : int, optional
        Hash features to ``2**hash_bits`` columns.
    vectors : path, dict or pair, optional
        Word vectors beside the templates; see `VectorFeaturizer`.

    Examples
    --------
    >>> type(make_featurizer([["the", "cat"]])).__name__
    'Featurizer'
    >>> type(make_featurizer([[{"w": "the"}]])).__name__
    'DictFeaturizer'
    """
    if not hasattr(X, "__len__") or isinstance(X, str | Mapping):
        raise TypeError(
            f"X is of type {type(X).__name__}; give a Table or a list of sequences"
        )
    refuse_single(X)
    if not len(X):
        raise ValueError("X has no sequences; give at least one")
    kind = kind_of(X)
    if kind == "columns":
        if templates is None:
            first = X if isinstance(X, Table) else as_table(X[:1])
            templates = default_templates(first.columns)
        plain = Featurizer(templates, min_count=min_count, hash_bits=hash_bits)
        return plain if vectors is None else VectorFeaturizer(plain, vectors)
    if vectors is not None:
        raise SettingsError(
            f"<vectors=> need columns of words, but the tokens are {kind}; put the "
            "numbers into them, or give a Table or tuples of strings"
        )
    if templates is not None:
        raise SettingsError(
            f"<templates=> need columns, but the tokens are {kind}; give a Table or "
            "tuples of strings"
        )
    if kind == "dicts":
        return DictFeaturizer(min_count=min_count, hash_bits=hash_bits)
    if min_count != 1 or hash_bits is not None:
        raise SettingsError(
            "<min_count=> and <hash_bits=> need named features, not arrays"
        )
    return ArrayFeaturizer()


def default_templates(columns: Iterable[str]) -> str:
    """Templates for tables of which nothing is known but the columns.

    Returns
    -------
    str
        The preset ``chunk`` for words with tags, ``pos`` for words, else a window of
        two on each side of every column.
    """
    names = list(columns)
    if "word" in names:
        return PRESETS["chunk" if "pos" in names else "pos"]
    return "\n".join(f"{name}[-2..2]" for name in names)


def featurizer_from_state(
    meta: Mapping[str, Any], arrays: Mapping[str, np.ndarray]
) -> AnyFeaturizer:
    """Rebuild the featurizer of a model file.

    Parameters
    ----------
    meta : mapping
    arrays : mapping of str to array
        Both as `state` gave them.

    Raises
    ------
    ValueError
        Not a state, or a damaged one.
    """
    kinds: list[type[AnyFeaturizer]] = [
        Featurizer, VectorFeaturizer, DictFeaturizer, ArrayFeaturizer,
    ]  # fmt: skip
    for featurizer in kinds:
        if meta.get("kind") == featurizer.kind:
            return featurizer.from_state(meta, arrays)
    raise ValueError(f"damaged featurizer state: unknown kind {meta.get('kind')!r}")


def kind_of(X: Table | Sequence[Any]) -> str:
    """The kind of the tokens, from the first of them."""
    if isinstance(X, Table) or isinstance(X[0], Table):
        return "columns"
    sequence = X[0]
    if hasattr(sequence, "tocsr"):
        return "arrays"
    if isinstance(sequence, np.ndarray) and sequence.dtype.kind in "fiub":
        return "arrays"
    if isinstance(sequence, str) or not hasattr(sequence, "__len__"):
        raise TypeError(
            f"sequence 0 is of type {type(sequence).__name__}; give a list of tokens"
        )
    if not len(sequence):
        raise ValueError("sequence 0 has no tokens; leave it out")
    token = sequence[0]
    if isinstance(token, str) or (isinstance(token, tuple) and _is_strings(token)):
        return "columns"
    if isinstance(token, Mapping | AbstractSet):
        return "dicts"
    if isinstance(token, list) and _is_strings(token):
        return "dicts"
    if isinstance(token, list | tuple | np.ndarray):
        return "arrays"
    raise TypeError(
        f"the first token is {token!r:.40}, of type {type(token).__name__}; tokens are "
        "strings, tuples of strings, dicts, lists of strings or rows of numbers"
    )


def _is_strings(token: Sequence[Any]) -> bool:
    return all(isinstance(item, str) for item in token)
