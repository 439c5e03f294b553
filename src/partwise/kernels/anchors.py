"""A trained kernel model's features: k(x, a) for the anchors a that it kept.

A kernel tagger scores token x with label l by Σ_a β[a, l] k(x, a) over the training
tokens a that carry weight. Read k(x, a) as a feature of x: the model is then linear
over as many features as there are anchors, and all that linear models can do, it can.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from partwise.features import featurizer_from_state
from partwise.features.arrays import DenseFeatures
from partwise.features.vocabulary import pack_strings, state_array, unpack_strings
from partwise.kernels.base import Kernel
from partwise.kernels.gram import gram
from partwise.kernels.inputs import Objects, Vectors
from partwise.kernels.matrices import DenseMatrix, as_matrix
from partwise.kernels.naming import from_dict

BATCH = 1 << 23  # values of the kernel at once, 64 MB


def token_inputs(kernel: Kernel, features: Any) -> Any:
    """
    Token rows as the kernel takes them.

    Parameters
    ----------
    kernel : Kernel
        On rows of numbers, or a user's function of two rows.
    features : Features or DenseFeatures

    Returns
    -------
    Matrix, or array (n_tokens, n_features) for a user's function
    """
    family = kernel.input_family()
    rows = as_matrix(features)
    if isinstance(family, Vectors):
        return rows
    if not isinstance(family, Objects):
        raise ValueError(
            f"{kernel} compares {type(family).__name__.lower()}; a tagger needs a "
            "kernel on the rows of single tokens, such as 'poly:degree=2' or 'rbf'"
        )
    if isinstance(rows, DenseMatrix):
        return rows.x
    from scipy.sparse import csr_array

    shape = (rows.n_rows, rows.n_features)
    return csr_array((rows.data, rows.indices, rows.indptr), shape=shape)


class AnchorFeaturizer:
    """
    Kernel values between tokens and anchors, as dense features.

    Parameters
    ----------
    base : fitted featurizer
        Makes rows of tokens.
    kernel : Kernel
        On these rows.
    anchors : as `token_inputs` gives them
        Rows of the anchors.
    place : int64 array of shape (n_anchors, 2)
        Sequence of the training data and token in it, in rising order.
    words : list of str
        How to show the anchors.
    dtype : {"float64", "float32"}
        Precision of the training data's table, for those who compute it again.

    Examples
    --------
    >>> from partwise.features import ArrayFeaturizer
    >>> from partwise.kernels import Polynomial
    >>> base = ArrayFeaturizer().fit([[[0.0, 1.0]]])
    >>> anchors = np.array([[1.0, 1.0]])
    >>> featurizer = AnchorFeaturizer(
    ...     base, Polynomial(), as_matrix(anchors), np.array([[0, 4]]), ["tree"]
    ... )
    >>> featurizer.transform([[[0.0, 1.0], [2.0, 0.0]]]).X
    array([[4.],
           [9.]])
    >>> featurizer.feature_names_
    ['sequence 0, token 4: tree']
    """

    kind = "kernel.v1"

    def __init__(
        self,
        base: Any,
        kernel: Kernel,
        anchors: Any,
        place: np.ndarray,
        words: Sequence[str],
        dtype: str = "float64",
    ) -> None:
        self.base = base
        self.kernel = kernel
        self.anchors = anchors
        self.place = place
        self.words = list(words)
        self.dtype = dtype

    @property
    def n_features_(self) -> int:
        """Number of anchors."""
        return len(self.place)

    @property
    def feature_names_(self) -> list[str]:
        """Where each anchor stands in the training data, and its word."""
        return [
            f"sequence {row}, token {t}: {word}"
            for (row, t), word in zip(self.place.tolist(), self.words, strict=True)
        ]

    def transform(self, X: Any, n_jobs: int = 1) -> DenseFeatures:
        """
        Kernel values of all tokens at once.

        Parameters
        ----------
        X : sequences, as the base featurizer takes them
        n_jobs : int

        Returns
        -------
        DenseFeatures
            One column per anchor.
        """
        features = self.base.transform(X)
        return DenseFeatures(self._values(features, n_jobs), features.offset)

    def batches(self, X: Any, n_jobs: int = 1) -> Iterator[DenseFeatures]:
        """
        Yield the same as `transform`, a few sequences after the other.

        Parameters
        ----------
        X, n_jobs
            As for `transform`.

        Yields
        ------
        DenseFeatures
            Of consecutive sequences; about 64 MB each.
        """
        features = self.base.transform(X)
        offset = features.offset
        room = max(1, BATCH // max(1, self.n_features_))
        first = 0
        while first < len(offset) - 1:
            last = int(np.searchsorted(offset, offset[first] + room, "right")) - 1
            last = max(last, first + 1)
            some = _slice(features, first, last)
            yield DenseFeatures(self._values(some, n_jobs), some.offset)
            first = last

    def _values(self, features: Any, n_jobs: int) -> np.ndarray:
        rows = token_inputs(self.kernel, features)
        if not self.n_features_:
            return np.empty((int(features.offset[-1]), 0))
        return gram(self.kernel, rows, self.anchors, n_jobs=n_jobs)

    def between(self, features: Any, others: Any, n_jobs: int = 1) -> np.ndarray:
        """Kernel values of tokens with others (None: the same), as base features."""
        rows = token_inputs(self.kernel, features)
        cols = None if others is None else token_inputs(self.kernel, others)
        return gram(self.kernel, rows, cols, dtype=self.dtype, n_jobs=n_jobs)

    def positions(self, features: Any) -> np.ndarray:
        """
        Token numbers of the anchors in the training data.

        Parameters
        ----------
        features : Features or DenseFeatures
            The training data, by the base featurizer.

        Returns
        -------
        int64 array of shape (n_anchors,)

        Raises
        ------
        ValueError
            These are not the training data: an anchor is missing or has other features.
        """
        row, t = self.place.T
        length = np.diff(features.offset)
        for k in range(len(row)):
            if row[k] >= len(length) or t[k] >= length[row[k]]:
                raise ValueError(
                    f"sequence {row[k]} has no token {t[k]}, an anchor of the model"
                )
        at = features.offset[row] + t
        there = self.kernel.input_family().select(
            token_inputs(self.kernel, features), at
        )
        same = _equal_rows(self.anchors, there)
        if not same.all():
            k = int(np.argmin(same))
            raise ValueError(
                f"token {t[k]} of sequence {row[k]} has other features than the anchor "
                "of the model"
            )
        return at

    def state(self) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
        """Give what a model file must keep: JSON-able settings, and arrays."""
        settings, own = self.base.state()
        packed = self.kernel.input_family().pack(self.anchors)
        text, text_offset = pack_strings(self.words)
        arrays = {f"base/{name}": array for name, array in own.items()}
        arrays |= {f"anchors/{name}": array for name, array in packed.items()}
        arrays |= {
            "sequence": np.ascontiguousarray(self.place[:, 0]),
            "token": np.ascontiguousarray(self.place[:, 1]),
            "text": text,
            "text_offset": text_offset,
        }
        meta = {
            "kind": self.kind,
            "kernel": self.kernel.to_dict(),
            "base": settings,
            "dtype": self.dtype,
        }
        return meta, arrays

    @classmethod
    def from_state(
        cls, meta: Mapping[str, Any], arrays: Mapping[str, np.ndarray]
    ) -> AnchorFeaturizer:
        """Rebuild from `state`; nonsense raises ValueError."""
        settings = meta.get("base")
        if meta.get("kind") != cls.kind or not isinstance(settings, Mapping):
            raise ValueError("damaged featurizer state: no featurizer below the kernel")
        base = featurizer_from_state(settings, _under("base/", arrays))
        document = meta.get("kernel")
        if not isinstance(document, Mapping):
            raise ValueError("damaged featurizer state: no kernel")
        kernel = from_dict(document)
        family = kernel.input_family()
        if not isinstance(family, Vectors):
            raise ValueError("damaged featurizer state: a kernel on other inputs")
        anchors = family.unpack(_under("anchors/", arrays))
        place = np.stack(
            [state_array(arrays, name, np.int64) for name in ("sequence", "token")],
            axis=1,
        )
        words = unpack_strings(
            state_array(arrays, "text", np.uint8),
            state_array(arrays, "text_offset", np.int64),
        )
        if not len(place) == len(words) == anchors.n_rows:
            raise ValueError("damaged featurizer state: anchors without a place")
        if anchors.n_features != base.n_features_:
            raise ValueError("damaged featurizer state: anchors of another width")
        rows, tokens = place[:, 0], place[:, 1]
        rising = np.diff(rows) > 0
        rising |= (np.diff(rows) == 0) & (np.diff(tokens) > 0)
        if (place < 0).any() or not rising.all():
            raise ValueError("damaged featurizer state: anchors out of order")
        dtype = meta.get("dtype", "float64")
        if dtype not in ("float64", "float32"):
            raise ValueError("damaged featurizer state: an unknown precision")
        return cls(base, kernel, anchors, place, words, dtype)


def _under(prefix: str, arrays: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
    return {
        name.removeprefix(prefix): array
        for name, array in arrays.items()
        if name.startswith(prefix)
    }


def _slice(features: Any, first: int, last: int) -> Any:
    """Sequences first to last of `features`."""
    begin, end = int(features.offset[first]), int(features.offset[last])
    offset = features.offset[first : last + 1] - begin
    if not hasattr(features, "indptr"):
        return features._replace(X=features.X[begin:end], offset=offset)
    indptr = features.indptr[begin : end + 1]
    here = slice(int(indptr[0]), int(indptr[-1]))
    data = features.data
    if len(data) == len(features.indices) and len(data) > 1:
        data = data[here]
    return features._replace(
        indptr=indptr - indptr[0],
        indices=features.indices[here],
        data=data,
        offset=offset,
    )


def _equal_rows(one: Any, other: Any) -> np.ndarray:
    """Which rows of two matrices of one shape are the same, bit for bit."""
    if hasattr(one, "x"):
        one, other = one.x, other.x
    if isinstance(one, np.ndarray):
        return (one == other).all(axis=1)
    same = np.diff(one.indptr) == np.diff(other.indptr)
    for k in np.flatnonzero(same):
        mine = slice(one.indptr[k], one.indptr[k + 1])
        others = slice(other.indptr[k], other.indptr[k + 1])
        same[k] = np.array_equal(
            one.indices[mine], other.indices[others]
        ) and np.array_equal(one.data[mine], other.data[others])
    return same
