"""Explicit features whose inner products are close to a kernel.

A linear model on them is an approximate kernel model, at the speed of a linear one.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Self

import numpy as np

from partwise.bounds import MAX_WEIGHT, read_numbers, under
from partwise.features.arrays import DenseFeatures, Features
from partwise.kernels.base import Kernel
from partwise.kernels.checks import check_real, check_whole
from partwise.kernels.gram import gram, strips
from partwise.kernels.matrices import DenseMatrix, Matrix, as_matrix, is_matrix
from partwise.kernels.memory import free_memory
from partwise.kernels.naming import as_kernel, from_dict
from partwise.parameters import SettingsError
from partwise.protocol import Floats, Parameters
from partwise.threads import resolve_jobs

MAX_COMPONENTS = 1_000_000


class _Approximation(Parameters):
    """What both approximations share: the form of their output."""

    n_features_: int  # of the output

    def fit_transform(self, X: Any, y: Any = None) -> Any:
        """Fit, then transform the same inputs."""
        return self.fit(X).transform(X)

    def fit(self, X: Any, y: Any = None) -> Self:
        """Learn from inputs; `y` is ignored."""
        raise NotImplementedError

    def transform(self, X: Any) -> Any:
        """Map inputs to features.

        Returns
        -------
        array of shape (n_inputs, n_features_), or list of arrays
            A list with one array per sequence, as `SequenceTagger` takes it, when the
            rows of X belong to sequences: a list of matrices, Features, DenseFeatures.
        """
        if not hasattr(self, "n_features_"):
            raise ValueError(f"{type(self).__name__} is not fitted yet; call fit first")
        return _as_given(X, self._rows(X))

    def _rows(self, X: Any) -> Floats:
        raise NotImplementedError

    @property
    def feature_names_(self) -> list[str]:
        """Names of the features: k0, k1 and so on."""
        return [f"k{i}" for i in range(self.n_features_)]


class RandomFourier(_Approximation):
    """Random cosines: φ(x)·φ(x') ≈ exp(−gamma·‖x − x'‖²).

    φ_d(x) = √(2/D)·cos(z_d·x + b_d) with z ~ N(0, 2·gamma·I) and b uniform on
    [0, 2π) (Rahimi and Recht, 2007). The error falls as 1/√D.

    Parameters
    ----------
    gamma : float
    n_components : int
        D.
    random_state : int

    Attributes
    ----------
    frequencies_ : array of shape (n_inputs, n_components)
    phases_ : array of shape (n_components,)

    Examples
    --------
    >>> phi = RandomFourier(gamma=0.5, n_components=4000).fit_transform([[0.0], [1.0]])
    >>> (phi @ phi.T).round(1)
    array([[1. , 0.6],
           [0.6, 1. ]])
    """

    kind = "fourier.v1"

    def __init__(
        self, gamma: float = 1.0, n_components: int = 500, random_state: int = 0
    ) -> None:
        self.gamma = gamma
        self.n_components = n_components
        self.random_state = random_state

    def fit(self, X: Any, y: Any = None) -> Self:
        """Draw frequencies; of X only the width counts."""
        gamma = check_real("gamma", self.gamma, above=True)
        n = check_whole("n_components", self.n_components, 1, MAX_COMPONENTS)
        width = as_matrix(X).n_features
        free = free_memory()
        if free is not None and width * n * 8 > free:
            raise SettingsError(
                f"{width} features times {n} components take "
                f"{width * n * 8 / 2**20:,.0f} MB; hash the features (<hash_bits=>), "
                "or use Nystroem(RBF(gamma))"
            )
        random = np.random.default_rng(self.random_state)
        self.frequencies_ = random.normal(0.0, np.sqrt(2 * gamma), (width, n))
        self.phases_ = random.uniform(0.0, 2 * np.pi, n)
        self.n_features_ = n
        return self

    def _rows(self, X: Any) -> Floats:
        rows = as_matrix(X)
        if rows.n_features != len(self.frequencies_):
            raise ValueError(
                f"{rows.n_features} features where RandomFourier was fitted on "
                f"{len(self.frequencies_)}"
            )
        angles = _project(rows, self.frequencies_)
        angles += self.phases_
        np.cos(angles, out=angles)
        angles *= np.sqrt(2 / self.n_features_)
        return angles

    def state(self) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
        """Settings for JSON, and arrays, for a model file."""
        arrays = {"frequencies": self.frequencies_.ravel(), "phases": self.phases_}
        return {"kind": self.kind, **self.get_params()}, arrays

    @classmethod
    def from_state(
        cls, meta: Mapping[str, Any], arrays: Mapping[str, np.ndarray]
    ) -> Self:
        """Rebuild from `state`; invalid input raises ValueError."""
        _check_kind(meta, cls)
        fitted = cls(**{name: meta[name] for name in cls._names()})
        n = check_whole("n_components", fitted.n_components, 1, MAX_COMPONENTS)
        check_real("gamma", fitted.gamma, above=True)
        phases = read_numbers(arrays, "phases", MAX_WEIGHT, n)
        flat = read_numbers(arrays, "frequencies", MAX_WEIGHT)
        if len(flat) % n:
            raise ValueError("damaged RandomFourier: its sizes do not agree")
        fitted.frequencies_, fitted.phases_ = flat.reshape(-1, n), phases
        fitted.n_features_ = n
        return fitted


class Nystroem(_Approximation):
    """Kernel values with a sample of the inputs: φ(x)·φ(x') ≈ k(x, x') for any kernel.

    With landmarks l_1, …, l_m, K their Gram matrix and K = V·Λ·Vᵀ,
    φ(x) = Λ^{-½}·Vᵀ·(k(x, l_1), …, k(x, l_m)). Exact on the landmarks' span; directions
    that the landmarks do not fill are left out.

    Parameters
    ----------
    kernel : Kernel, str or callable
    n_components : int
        m; at most the number of inputs.
    random_state : int
        Decides which inputs become landmarks.
    n_jobs : int
        Threads; the result does not depend on it.

    Attributes
    ----------
    landmarks_ : inputs of the kernel
    whiten_ : array of shape (n_landmarks, n_features_)

    Examples
    --------
    >>> X = ["gattaca", "gatt", "taca", "cata"]
    >>> phi = Nystroem("ngram:n=3", n_components=4).fit_transform(X)
    >>> bool(np.allclose(phi @ phi.T, as_kernel("ngram:n=3")(X)))
    True
    """

    kind = "nystroem.v1"

    def __init__(
        self,
        kernel: Kernel | str | Callable[[Any, Any], Any] = "rbf",
        n_components: int = 300,
        random_state: int = 0,
        n_jobs: int = 1,
    ) -> None:
        self.kernel = kernel
        self.n_components = n_components
        self.random_state = random_state
        self.n_jobs = n_jobs

    def fit(self, X: Any, y: Any = None) -> Self:
        """Choose landmarks and factorise their Gram matrix."""
        kernel = as_kernel(self.kernel)
        n = check_whole("n_components", self.n_components, 1, MAX_COMPONENTS)
        jobs = resolve_jobs(self.n_jobs)
        family = kernel.input_family()
        total = family.count(X)
        if not total:
            raise ValueError("no inputs to choose landmarks from")
        random = np.random.default_rng(self.random_state)
        chosen = np.sort(random.choice(total, min(n, total), replace=False))
        self.landmarks_ = family.select(X, chosen)
        values, vectors = np.linalg.eigh(gram(kernel, self.landmarks_, n_jobs=jobs))
        is_large = values > values[-1] * len(values) * np.finfo(float).eps
        if not is_large.any():
            raise ValueError("the kernel is zero on all landmarks")
        self.whiten_ = np.ascontiguousarray(
            vectors[:, is_large] / np.sqrt(values[is_large])
        )
        self.kernel_ = kernel
        self.n_features_ = self.whiten_.shape[1]
        return self

    def _rows(self, X: Any) -> Floats:
        total = self.kernel_.input_family().count(X)
        out = np.empty((total, self.n_features_))
        jobs = resolve_jobs(self.n_jobs)
        for rows, values in strips(self.kernel_, X, self.landmarks_, n_jobs=jobs):
            out[rows] = _project(DenseMatrix(values), self.whiten_)
        return out

    def state(self) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
        """Settings for JSON, and arrays, for a model file."""
        meta = {"kind": self.kind, "kernel": self.kernel_.to_dict()}
        arrays = self.kernel_.input_family().pack(self.landmarks_)
        packed = {f"landmarks.{name}": array for name, array in arrays.items()}
        return meta, packed | {"whiten": self.whiten_.ravel()}

    @classmethod
    def from_state(
        cls, meta: Mapping[str, Any], arrays: Mapping[str, np.ndarray]
    ) -> Self:
        """Rebuild from `state`; invalid input raises ValueError."""
        _check_kind(meta, cls)
        kernel = from_dict(meta["kernel"])
        family = kernel.input_family()
        landmarks = family.unpack(under("landmarks.", arrays))
        n = family.count(landmarks)
        flat = read_numbers(arrays, "whiten", MAX_WEIGHT)
        if not n or not len(flat) or len(flat) % n:
            raise ValueError("damaged Nystroem: its sizes do not agree")
        fitted = cls(kernel, n_components=n)
        fitted.kernel_, fitted.landmarks_ = kernel, landmarks
        fitted.whiten_ = flat.reshape(n, -1)
        fitted.n_features_ = fitted.whiten_.shape[1]
        return fitted


def _project(rows: Matrix, matrix: Floats) -> Floats:
    """Rows times a dense matrix; a product does not depend on the other rows."""
    from partwise.kernels import _vector_compiled as kernels

    out = np.empty((rows.n_rows, matrix.shape[1]))
    if isinstance(rows, DenseMatrix):
        turned = np.ascontiguousarray(matrix.T)
        every = np.arange(len(turned))
        kernels.dense_products(rows.x, np.arange(rows.n_rows), turned, every, out)
    else:
        kernels.sparse_projection(rows.indptr, rows.indices, rows.data, matrix, out)
    return out


def _as_given(X: Any, values: Floats) -> Any:
    """One array per sequence when the rows of X belong to sequences."""
    if isinstance(X, Features | DenseFeatures):
        return np.split(values, X.offset[1:-1])
    is_list = isinstance(X, list | tuple) and not isinstance(X, Matrix)
    if is_list and len(X) and is_matrix(X[0]):
        return np.split(values, np.cumsum([matrix.shape[0] for matrix in X])[:-1])
    return values


def _check_kind(meta: Mapping[str, Any], expected: Any) -> None:
    if meta.get("kind") != expected.kind:
        raise ValueError(f"not the state of a {expected.__name__}")
    names = expected._names() if expected is RandomFourier else ["kernel"]
    for name in names:
        if name not in meta:
            raise ValueError(f"damaged {expected.__name__}: no {name!r}")
