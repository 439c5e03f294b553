"""Items to cluster, with candidate links between them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from partwise.bounds import check_list
from partwise.parameters import ParameterError


class Items(NamedTuple):
    """Items to cluster, with candidate links."""

    n_items: int
    pairs: Any  # (m, 2) int, items of each link
    features: Any  # (m, n_features), dense or CSR

    @classmethod
    def checked(cls, n_items: int, pairs: Any, features: Any) -> Items:
        """Items whose links and features fit together; else ValueError."""
        ends = np.asarray(pairs)
        if ends.size and ends.dtype.kind not in "iu":
            raise ValueError("pairs are not whole numbers")
        ends = ends.astype(np.int64).reshape(-1, 2)
        if not sparse.issparse(features):
            features = np.asarray(features, np.float64)
            if features.ndim != 2:
                features = features.reshape(len(ends), -1 if len(ends) else 0)
            if not np.isfinite(features).all():
                raise ValueError("features have NaN or infinity")
        n_rows = features.shape[0]
        if n_rows != len(ends):
            raise ValueError(f"{len(ends)} pairs and {n_rows} rows of features")
        if len(ends) and (ends.min() < 0 or ends.max() >= n_items):
            raise ValueError(f"a pair names an item outside 0…{n_items - 1}")
        return cls(n_items, ends, features)

    @classmethod
    def all_pairs(
        cls, items: Sequence[Any], features: Callable[[Any, Any], Any]
    ) -> Items:
        """All pairs of a list of items, by a function of two of them.

        Examples
        --------
        >>> Items.all_pairs([1.0, 4.0, 6.0], lambda a, b: [b - a]).features.ravel()
        array([3., 5., 2.])
        """
        pairs = list(combinations(range(len(items)), 2))
        rows = [np.asarray(features(items[a], items[b]), float) for a, b in pairs]
        table = np.array(rows) if rows else np.zeros((0, 1))
        return cls.checked(len(items), pairs, table)


def as_items(X: Sequence[Any], pair_features: Any = None) -> list[Items]:
    """Documents as users give them: (n_items, pairs, features), or lists of items.

    `pair_features` is the function of two items that lists need.
    """
    check_list(X, "documents")
    if pair_features is not None:
        if not callable(pair_features):
            raise ParameterError(
                "pair_features", pair_features, "give a function of two items"
            )
        return [Items.all_pairs(each, pair_features) for each in X]
    documents = []
    for i, x in enumerate(X):
        try:
            n_items, pairs, features = x
            documents.append(Items.checked(int(n_items), pairs, features))
        except (TypeError, ValueError) as error:
            raise ValueError(
                f"document {i}: {error}; give (n_items, pairs, features), or "
                "pair_features= and lists of items"
            ) from error
    return documents
