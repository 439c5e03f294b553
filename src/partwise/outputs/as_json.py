"""Outputs of all kinds in the types of JSON."""

from __future__ import annotations

import json
import math
from typing import Any


def to_json(outputs: Any) -> str:
    """
    Write what `predict` returns as JSON, like ``partwise predict --json``.

    Parameters
    ----------
    outputs : array or list
        Of any estimator, also of `predict_topk` and `predict_marginals`; or anything
        with `to_dict`, such as certificates and explanations.

    Returns
    -------
    str
        Arrays and tuples are lists, dependency trees objects with ``heads`` and
        ``labels``, phrase-structure trees strings in brackets. NaN and infinities,
        which JSON does not have, are null.

    Examples
    --------
    >>> import numpy as np
    >>> from partwise.readers import DependencyTree, parse_tree
    >>> to_json([["B-PER", "O"], ["O"]])
    '[["B-PER", "O"], ["O"]]'
    >>> to_json([DependencyTree([2, 0], ["nsubj", "root"])])
    '[{"heads": [2, 0], "labels": ["nsubj", "root"]}]'
    >>> to_json([(parse_tree("(NP (NNS cats))"), np.float64(1.5))])
    '[["(NP (NNS cats))", 1.5]]'
    """
    return json.dumps(plain(outputs), ensure_ascii=False)


def plain(value: Any) -> Any:
    """A value in the types of JSON, see `to_json`."""
    if hasattr(value, "to_dict"):
        value = value.to_dict()
    elif hasattr(value, "tolist"):  # numpy's arrays and numbers
        value = value.tolist()
    if isinstance(value, float) and not math.isfinite(value):
        return None
    if hasattr(value, "heads"):  # DependencyTree, whose module help pages do not load
        return {"heads": plain(value.heads), "labels": plain(value.labels)}
    if _is_phrase_tree(value):
        from partwise.readers.brackets import format_tree

        return format_tree(value)
    if isinstance(value, dict):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, set | frozenset):
        return [plain(item) for item in sorted(value, key=str)]
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    return value


def _is_phrase_tree(value: Any) -> bool:
    is_pair = isinstance(value, tuple) and len(value) == 2
    return is_pair and isinstance(value[0], str) and isinstance(value[1], tuple)
