"""What a model file keeps of a `SequenceModel`, and the checks when it comes back.

Kernels do not check bounds, so nothing leaves this module that could make them read
outside their arrays.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np

from partwise.features import DenseFeatures, Features, featurizer_from_state
from partwise.features.vocabulary import check_offset, pack_strings, unpack_strings
from partwise.kernels.anchors import AnchorFeaturizer
from partwise.models.sequence import SequenceModel, SupportSet
from partwise.protocol import Cuts
from partwise.structures.chain import Chain

Arrays = dict[str, np.ndarray]
State = tuple[dict[str, Any], Arrays]

MAX_LABELS = 5000  # the kernels want several tables of labels × labels
MASKS = ("transitions", "starts", "ends")


def to_state(model: SequenceModel) -> State:
    """Settings for JSON, and arrays."""
    featurizer, arrays = model.featurizer.state()
    arrays = {f"featurizer/{name}": array for name, array in arrays.items()}
    arrays["weights"] = np.asarray(model.weights, np.float64)
    chain = model.chain
    for name in MASKS:
        if getattr(chain, name) is not None:
            arrays[f"chain/{name}"] = np.asarray(getattr(chain, name), np.bool_)
    if not isinstance(chain.cost, str):
        arrays["chain/cost"] = np.asarray(chain.cost, np.float64)
    settings = {
        "labels": model.labels,
        "order": int(chain.order),
        "boundary": bool(chain.boundary),
        "cost": chain.cost if isinstance(chain.cost, str) else "matrix",
        "featurizer": featurizer,
        "support": model.support is not None,
    }
    _labels(settings)
    if model.support is not None:
        arrays |= _support_arrays(model.support)
    return settings, arrays


def from_state(
    settings: dict[str, Any], arrays: Arrays, info: dict[str, Any]
) -> SequenceModel:
    """Rebuild a model; whatever does not fit together raises ValueError."""
    labels = _labels(settings)
    own = _under("featurizer/", arrays)
    kind = _entry(settings, "featurizer", dict)
    featurizer: Any
    if kind.get("kind") == AnchorFeaturizer.kind:
        featurizer = AnchorFeaturizer.from_state(kind, own)
    else:
        featurizer = featurizer_from_state(kind, own)
    chain = _chain(settings, arrays, len(labels))
    n_features = featurizer.n_features_
    _require(n_features >= 0, "a negative number of features")
    weights = _array(arrays, "weights", np.float64, chain.n_weights(n_features))
    _require(bool(np.isfinite(weights).all()), "weights that are not finite")
    support = None
    if _entry(settings, "support", bool):
        # the planes of a kernel model are kept as rows that the kernel compares
        width = getattr(featurizer, "base", featurizer).n_features_
        support = _support(_under("support/", arrays), width, len(labels))
    return SequenceModel(featurizer, chain, labels, weights, info, support)


def _labels(settings: dict[str, Any]) -> list[Any]:
    labels = _entry(settings, "labels", list)
    _require(0 < len(labels) <= MAX_LABELS, f"{len(labels)} labels")
    kinds = {type(label) for label in labels}
    _require(
        len(kinds) == 1 and kinds <= {str, int, bool, float},
        "labels that are not of one kind",
    )
    _require(len(set(labels)) == len(labels), "a label that stands twice")
    return labels


def _chain(settings: dict[str, Any], arrays: Arrays, n_labels: int) -> Chain:
    order = _entry(settings, "order", int)
    _require(order in (0, 1, 2), f"order {order}")
    cost: Any = _entry(settings, "cost", str)
    if cost == "matrix":
        cost = _array(arrays, "chain/cost", np.float64, n_labels, n_labels)
    masks = {}
    for name in MASKS:
        if f"chain/{name}" in arrays:
            shape = (n_labels,) * (2 if name == "transitions" else 1)
            masks[name] = _array(arrays, f"chain/{name}", np.bool_, *shape)
    boundary = _entry(settings, "boundary", bool)
    chain = Chain(n_labels, order, boundary, cost=cost, **masks)
    chain.cost_matrix()  # refuses unknown names and negative entries
    return chain


# ------------------------------------------------------------------------- support


def _support_arrays(support: SupportSet) -> Arrays:
    features, cuts = support.features, support.cuts
    text, text_offset = pack_strings([t for row in support.tokens for t in row])
    arrays = {
        "offset": features.offset,
        "y": np.asarray(support.y, np.int32),
        "rows": np.asarray(support.rows, np.int64),
        "alpha": support.alpha,
        "block": np.asarray(cuts.block, np.int64),
        "b": cuts.b,
        "scale": cuts.scale,
        "code": np.asarray(cuts.code, np.int32),
        "text": text,
        "text_offset": text_offset,
    }
    if isinstance(features, DenseFeatures):
        arrays["X"] = features.X
    else:
        arrays |= {"indptr": features.indptr, "indices": features.indices}
        arrays["data"] = features.data
    return {f"support/{name}": array for name, array in arrays.items()}


def _support(arrays: Arrays, n_features: int, n_labels: int) -> SupportSet:
    offset = _array(arrays, "offset", np.int64, None)
    n_tokens = int(offset[-1]) if len(offset) else 0
    check_offset(offset, n_tokens, "support sequences")
    lengths = np.diff(offset)
    _require(bool((lengths > 0).all()), "an empty support sequence")
    features = _features(arrays, offset, n_features)
    y = _array(arrays, "y", np.int32, n_tokens)
    _inside(y, n_labels, "a true label")
    rows = _array(arrays, "rows", np.int64, len(lengths))
    _inside(rows, np.iinfo(np.int64).max, "a training row")
    _require(bool((np.diff(rows) > 0).all()), "training rows out of order")
    alpha = _array(arrays, "alpha", np.float64, None)
    m = len(alpha)
    block = _array(arrays, "block", np.int64, m)
    _inside(block, len(lengths), "the block of a cut")
    numbers = [alpha, *(_array(arrays, name, np.float64, m) for name in ("b", "scale"))]
    _require(all(np.isfinite(n).all() for n in numbers), "numbers that are not finite")
    indptr = np.append(0, np.cumsum(lengths[block])).astype(np.int64)
    code = _array(arrays, "code", np.int32, int(indptr[-1]))
    _inside(code, n_labels, "a label of a cut")
    zero = np.zeros(m)
    cuts = Cuts(block, numbers[1], numbers[2], zero, zero, indptr, code)
    strings = unpack_strings(
        _array(arrays, "text", np.uint8, None),
        _array(arrays, "text_offset", np.int64, n_tokens + 1),
    )
    tokens = [strings[a:b] for a, b in pairwise(offset.tolist())]
    return SupportSet(features, y, cuts, alpha, rows, tokens)


def _features(
    arrays: Arrays, offset: np.ndarray, n_features: int
) -> Features | DenseFeatures:
    n_tokens = int(offset[-1])
    if "X" in arrays:
        X = _array(arrays, "X", np.float64, n_tokens, n_features)
        _require(bool(np.isfinite(X).all()), "features that are not finite")
        return DenseFeatures(X, offset)
    indptr = _array(arrays, "indptr", np.int64, n_tokens + 1)
    indices = _array(arrays, "indices", np.int32, None)
    check_offset(indptr, len(indices), "support features")
    _inside(indices, n_features, "a feature")
    data = _array(arrays, "data", np.float64, None)
    fits = len(data) == len(indices) or (len(data) == 1 and data[0] == 1.0)
    _require(
        fits and bool(np.isfinite(data).all()), "values of features that do not fit"
    )
    return Features(indptr, indices, data, offset, n_features)


# -------------------------------------------------------------------------- checks


def _require(condition: bool, what: str) -> None:
    if not condition:
        raise ValueError(what)


def _entry(settings: dict[str, Any], name: str, kind: type) -> Any:
    value = settings[name]
    _require(type(value) is kind, f"entry {name!r} is no {kind.__name__}")
    return value


def _under(prefix: str, arrays: Arrays) -> Arrays:
    return {
        name.removeprefix(prefix): array
        for name, array in arrays.items()
        if name.startswith(prefix)
    }


def _array(arrays: Arrays, name: str, dtype: Any, *shape: int | None) -> np.ndarray:
    """An array of this type and shape (None: any length), as kernels want it."""
    array = arrays[name]
    fits = array.dtype == np.dtype(dtype) and array.ndim == len(shape)
    fits = fits and all(
        want is None or have == want
        for have, want in zip(array.shape, shape, strict=True)
    )
    wanted = ", ".join("any" if want is None else str(want) for want in shape)
    _require(
        fits, f"array {name!r} is {array.dtype} {array.shape}, not "
        f"{np.dtype(dtype)} ({wanted})"
    )  # fmt: skip
    return np.require(array, requirements=["C", "W"])


def _inside(numbers: np.ndarray, limit: int, what: str) -> None:
    _require(
        not len(numbers) or (int(numbers.min()) >= 0 and int(numbers.max()) < limit),
        f"{what} out of range",
    )
