"""Support structures in a model file: planes of the dual and their examples."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import Any

import numpy as np

from partwise.bounds import (
    MAX_FEATURE,
    MAX_WEIGHT,
    check_indices,
    check_offsets,
    check_rising,
    check_rows,
    entry,
    read_array,
    read_numbers,
    require,
    under,
)
from partwise.features import DenseFeatures, Features
from partwise.features.sentences import shown_words
from partwise.features.vocabulary import read_strings, string_arrays
from partwise.kernels.inputs import SEQUENCES
from partwise.outputs.scoring import Arrays, prefixed
from partwise.outputs.support import SupportSet
from partwise.protocol import Cuts, Floats, Ints
from partwise.readers.table import Table


def plane_arrays(cuts: Cuts, alpha: Floats, rows: Ints) -> Arrays:
    """Arrays of planes with their α, and of the training rows they belong to."""
    return {
        "rows": np.asarray(rows, np.int64),
        "alpha": alpha,
        "block": np.asarray(cuts.block, np.int64),
        "b": cuts.b,
        "scale": cuts.scale,
        "code": np.asarray(cuts.code, np.int32),
    }


def read_lengths(offset: np.ndarray) -> Ints:
    """Tokens of each support sequence, from checked offsets."""
    check_offsets(offset, int(offset[-1]) if len(offset) else 0, "support sequences")
    lengths = np.diff(offset)
    require(bool((lengths > 0).all()), "an empty support sequence")
    return lengths


def read_planes(
    arrays: Arrays, lengths: Ints, code_length: Callable[[Ints], Ints]
) -> tuple[Cuts, Floats, Ints]:
    """
    Rebuild planes; what their codes may hold is checked by the caller.

    Parameters
    ----------
    arrays : dict
        As `plane_arrays` gave them.
    lengths : int array (n_sequences,)
    code_length : callable
        Length of a code, from that of its sequence.

    Returns
    -------
    cuts : Cuts
    alpha : array (m,)
    rows : int64 array (n_sequences,)
    """
    rows = read_array(arrays, "rows", np.int64, len(lengths))
    check_indices(rows, np.iinfo(np.int64).max, "a training row")
    check_rising(rows, "training rows")
    alpha = read_numbers(arrays, "alpha", MAX_WEIGHT)
    m = len(alpha)
    block = read_array(arrays, "block", np.int64, m)
    check_indices(block, len(lengths), "the block of a cut")
    b, scale = (read_numbers(arrays, name, MAX_WEIGHT, m) for name in ("b", "scale"))
    indptr = np.append(0, np.cumsum(code_length(lengths[block]))).astype(np.int64)
    code: Any = read_array(arrays, "code", np.int32, int(indptr[-1]))
    zero = np.zeros(m)
    return Cuts(block, b, scale, zero, zero, indptr, code), alpha, rows


# ------------------------------------------------------------- models over labels


def support_state(support: SupportSet | None) -> tuple[dict[str, Any], Arrays]:
    """Whether a model over labels has a dual, and the arrays of it."""
    if support is None or not len(support.alpha):
        return {"support": False}, {}
    arrays: Arrays = {
        "offset": np.asarray(support.offset, np.int64),
        **string_arrays([t for row in support.tokens for t in row]),
        **_sequence_arrays(support),
    }
    return {"support": True}, prefixed("support", arrays)


def support_from_state(
    settings: dict[str, Any], arrays: Arrays, featurizer: Any, n_labels: int
) -> SupportSet | None:
    """The dual of a model over so many labels; None for none."""
    if not entry(settings, "support", bool):
        return None
    arrays = under("support/", arrays)
    offset = read_array(arrays, "offset", np.int64, None)
    lengths = read_lengths(offset)
    n_tokens = int(offset[-1])
    inputs: Any
    if "table/offset" in arrays:
        inputs = SEQUENCES.unpack(under("table/", arrays))
        require(np.array_equal(inputs.offset, offset), "support of other lengths")
    else:
        require(featurizer is not None, "support sequences without content")
        inputs = _features(arrays, offset, featurizer.n_features_)
    y = read_array(arrays, "y", np.int32, n_tokens)
    check_indices(y, n_labels, "a true label")
    cuts, alpha, rows = read_planes(arrays, lengths, lambda n: n)
    check_indices(cuts.code, n_labels, "a label of a cut")
    strings = read_strings(arrays, n=n_tokens)
    tokens = [strings[a:b] for a, b in pairwise(offset.tolist())]
    return SupportSet(inputs, y, cuts, alpha, rows, tokens)


def _sequence_arrays(support: SupportSet) -> Arrays:
    """Planes, true labels and inputs."""
    return {
        "y": np.asarray(support.y, np.int32),
        **plane_arrays(support.cuts, support.alpha, support.rows),
        **_input_arrays(support.inputs),
    }


def _input_arrays(inputs: Any) -> Arrays:
    """Arrays of the sequences of a support: a table, or features."""
    if isinstance(inputs, Table):
        return prefixed("table", SEQUENCES.pack(inputs))
    if isinstance(inputs, DenseFeatures):
        return {"X": inputs.X}
    if isinstance(inputs, Features):
        names = ("indptr", "indices", "data")
        return {name: getattr(inputs, name) for name in names}
    raise ValueError(
        "support structures of sequences that are neither tables nor features cannot "
        "be kept in a file; leave keep_dual out"
    )


# ------------------------------------------------------- models over trees of words


def sentence_support_state(
    support: SupportSet | None,
) -> tuple[dict[str, bool], Arrays]:
    """Whether a model has a dual over sentences of a table, and its arrays."""
    if support is None or not len(support.alpha):
        return {"support": False}, {}
    return {"support": True}, prefixed("support", _sequence_arrays(support))


def sentence_support_from_state(
    settings: dict[str, Any], arrays: Arrays, check: Callable[[Ints, Ints], None]
) -> SupportSet | None:
    """
    Rebuild a dual; None for none.

    Parameters
    ----------
    settings, arrays : dict
        As `sentence_support_state` gave them.
    check : callable
        Refuses codes of all words of sentences, given the lengths of these.
    """
    if not entry(settings, "support", bool):
        return None
    arrays = under("support/", arrays)
    table = SEQUENCES.unpack(under("table/", arrays))
    lengths = read_lengths(table.offset)
    cuts, alpha, rows = read_planes(arrays, lengths, lambda n: n)
    y = read_array(arrays, "y", np.int32, table.n_tokens)
    check(y, lengths)
    check(cuts.code, lengths[cuts.block])
    return SupportSet(table, y, cuts, alpha, rows, shown_words(table))


def _features(
    arrays: Arrays, offset: np.ndarray, n_features: int
) -> Features | DenseFeatures:
    n_tokens = int(offset[-1])
    if "X" in arrays:
        X = read_numbers(arrays, "X", MAX_FEATURE, n_tokens, n_features)
        return DenseFeatures(X, offset)
    indptr = read_array(arrays, "indptr", np.int64, n_tokens + 1)
    indices = read_array(arrays, "indices", np.int32, None)
    check_rows(indptr, indices, (n_tokens, n_features), "support features")
    data = read_numbers(arrays, "data", MAX_FEATURE)
    fits = len(data) == len(indices) or (len(data) == 1 and data[0] == 1.0)
    require(fits, "values of features that do not fit")
    return Features(indptr, indices, data, offset, n_features)
