"""A trained tagger with a kernel: hash functions, anchors, coefficients."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from partwise.features.columnar import as_table
from partwise.features.label_keys import LabelHasher, LabelKeys, lengths_offset
from partwise.kernels.base import Kernel
from partwise.kernels.inputs import Objects, Positions, Vectors
from partwise.kernels.matrices import DenseMatrix, as_matrix
from partwise.objective import Formulation
from partwise.outputs.sequence.explanation import Contribution
from partwise.outputs.sequence.model import SequenceModel, one_cut, refuse_one_sequence
from partwise.outputs.sequence.support import SupportSet
from partwise.protocol import Floats, Ints
from partwise.readers.table import Table
from partwise.scorers.kernel_index import IndexScorer, KernelIndex
from partwise.structures.chain import Chain
from partwise.structures.chain.problem import ChainProblem

MOST_SHOWN = 50  # keys


def token_inputs(kernel: Kernel, features: Any) -> Any:
    """
    Rows of tokens as the kernel takes them.

    Parameters
    ----------
    kernel : Kernel
        On rows of numbers, or a user's function of two rows.
    features : Features or DenseFeatures

    Returns
    -------
    Matrix, array (n_tokens, n_features) for a user's function, or positions (n_tokens,)
        of a precomputed kernel
    """
    family = kernel.input_family()
    rows = as_matrix(features)
    if isinstance(family, Vectors):
        return rows
    if isinstance(family, Positions):
        return _positions(rows)
    if not isinstance(family, Objects):
        raise ValueError(
            f"{kernel} compares {type(family).__name__.lower()}; a tagger needs a "
            "kernel on the rows of single tokens, such as 'poly:degree=2' or 'rbf', or "
            "on whole sequences, such as 'normalized(ngram)'"
        )
    if isinstance(rows, DenseMatrix):
        return rows.x
    from scipy.sparse import csr_array

    shape = (rows.n_rows, rows.n_features)
    return csr_array((rows.data, rows.indices, rows.indptr), shape=shape)


def _positions(rows: Any) -> np.ndarray:
    """Rows of a ready-made matrix: tokens are single whole numbers."""
    is_one = isinstance(rows, DenseMatrix) and rows.n_features == 1
    if not is_one or (rows.x % 1 != 0).any():
        raise ValueError(
            "a precomputed kernel takes tokens that are rows of its matrix; give "
            "arrays of shape (tokens, 1) of whole numbers"
        )
    return rows.x[:, 0].astype(np.int64)


class KernelSequenceModel(SequenceModel):
    """
    A tagger whose labels are scored through training tokens or sequences.

    Parameters
    ----------
    featurizer : fitted featurizer, or None
        Makes the rows that a kernel on tokens compares.
    hasher : LabelHasher
    index : KernelIndex
    chain : Chain
    labels : list
    weights : array (n_postings + transitions and ends,)
        Coefficients of the postings of the index, then the plain layout.
    info : dict
    support : SupportSet, optional
    """

    def __init__(
        self,
        featurizer: Any,
        hasher: LabelHasher,
        index: KernelIndex,
        chain: Chain,
        labels: Sequence[Any],
        weights: Floats,
        info: dict[str, Any] | None = None,
        support: SupportSet | None = None,
    ) -> None:
        super().__init__(featurizer, chain, labels, weights, info, support)
        self.hasher = hasher
        self.index = index

    @property
    def takes(self) -> str:
        """Kind of the sequences: columns, dicts or arrays."""
        return "columns" if self.featurizer is None else super().takes

    @property
    def n_coefficients(self) -> int:
        """Postings of the index."""
        return len(self.index.anchor)

    def _emission(self) -> Floats:
        return np.zeros((0, self.chain.n_labels))  # labels have no weights of their own

    # ------------------------------------------------------------------- problems

    def inputs(self, X: Any) -> Any:
        """What the kernel compares of these sequences; None without a kernel."""
        kernel, anchors = self.index.kernel, self.index.anchors
        if kernel is None or anchors is None:
            return None
        if not self.index.by_token:
            return as_table(X).select(list(anchors.inputs.columns))
        is_ready = hasattr(X, "n_features")  # a support keeps rows of tokens
        return token_inputs(kernel, X if is_ready else self.featurizer.transform(X))

    def keys(self, X: Any) -> LabelKeys:
        """Keys of all labels of these sequences."""
        offset = X.offset if hasattr(X, "offset") else None
        return self.hasher.transform(X, offset)

    def problems(self, X: Any, n_jobs: int = 1) -> Iterator[ChainProblem]:
        """Packed sequences to decode, in turn what fits in memory."""
        refuse_one_sequence(X)
        if isinstance(X[0], Table):  # a list of them
            X = as_table(X)
        offset, size = lengths_offset(X), len(self.labels)
        n_parts = np.diff(offset) * size + self.hasher.has_pairs * size * size
        n_keys = n_parts * len(self.hasher.match)
        for rows in self.index.runs(offset, n_keys):
            scorer = IndexScorer(self.index, self.inputs(X[rows]))
            yield self.chain.pack(
                self.keys(X[rows]), None, n_jobs=n_jobs, scorer=scorer
            )

    def training_problem(
        self, X: Any, codes: Ints, formulation: Formulation, n_jobs: int = 1
    ) -> ChainProblem:
        """The problem whose objective the certificate speaks of.

        Computes the Gram matrix anew; `expand` gives the model of `weights`. Raises
        `ForeignData` when X are not the sequences that the model was trained on.
        """
        inputs, keys, index = self.inputs(X), self.keys(X), self.index
        scorer = index.training_scorer(inputs, n_jobs)
        problem = self.chain.pack(
            keys, codes, formulation, n_jobs=n_jobs, scorer=scorer
        )
        scorer.kept = index.slots(inputs, keys, problem.blocks.rows, keys.offset)
        return problem

    # ---------------------------------------------------------------- explanation

    def _token_reasons(
        self, X: Any, winner: Ints, runner: Ints
    ) -> Iterator[Contribution]:
        """Shares of anchors, or of keys where there are none, at different labels."""
        keys = self.keys(X)
        places: list[tuple[int, str, str]] = []  # position, and what was said there
        uses: dict[int, list[tuple[int, float]]] = {}  # of a part: places, ±1

        def differ(t: int, parts: Sequence[int], names: Sequence[Any]) -> None:
            for part, sign in zip(parts, (1.0, -1.0), strict=True):
                uses.setdefault(int(part), []).append((len(places), sign))
            places.append((t, *names))

        for t in np.flatnonzero(winner != runner).tolist():
            labels = [self.labels[y[t]] for y in (winner, runner)]
            differ(t, [keys.token[t] + y[t] for y in (winner, runner)], labels)
        size = keys.n_labels
        for t in range(1, len(winner)) if keys.has_pairs else ():
            pairs = [(int(y[t - 1]), int(y[t])) for y in (winner, runner)]
            if pairs[0] != pairs[1]:
                names = ["→".join(str(self.labels[y]) for y in pair) for pair in pairs]
                first = keys.first[1] - size * size
                differ(t, [first + a * size + b for a, b in pairs], names)
        told: dict[tuple[int, str], float] = {}
        for part, reason, share in self._shares(X, keys, list(uses)):
            for place, sign in uses[part]:
                told[place, reason] = told.get((place, reason), 0.0) + sign * share
        for (place, reason), share in told.items():
            t, first_name, second_name = places[place]
            yield Contribution(t, reason, first_name, second_name, share)

    def _shares(
        self, X: Any, keys: LabelKeys, parts: list[int]
    ) -> Iterator[tuple[int, str, float]]:
        """(part, anchor or key in words, share of its score)."""
        names = self.anchor_names()
        beta = self.weights[: self.n_coefficients]
        found = self.index.shares(self.inputs(X), keys, parts, beta)
        X = as_table(X) if self.hasher.columns else X
        for part, number, anchor, share in found:
            if self.index.anchors is not None and len(self.hasher.match) == 1:
                yield part, names[anchor], share
                continue
            key = self.hasher.describe(X, keys, part, number)
            if self.index.anchors is not None:
                key = f"{names[anchor]} ({key})"
            yield part, key, share

    def anchor_names(self) -> list[str]:
        """Where each anchor stands in the training data, and its words."""
        anchors = self.index.anchors
        if anchors is None:
            return []
        words = anchors.words
        if not self.index.by_token:
            first = next(iter(anchors.inputs.columns))
            words = [" ".join(row) for row in anchors.inputs.strings(first)]
        return [f"{anchors.name(k)}: {word}" for k, word in enumerate(words)]

    def weights_by_label(self) -> Iterator[tuple[str, list[str], Floats]]:
        """For the heaviest keys, anchors and coefficients; or all keys at once."""
        index, beta = self.index, self.weights[: self.n_coefficients]
        if index.anchors is None:
            yield "keys", index.names, beta
            return
        names = self.anchor_names()
        key = np.repeat(np.arange(len(index.key)), np.diff(index.begin))
        size = np.bincount(key, beta * beta, minlength=len(index.key))
        heaviest = np.argsort(-size, kind="stable")[:MOST_SHOWN]
        for k in sorted(heaviest.tolist(), key=lambda k: index.names[k]):
            here = slice(index.begin[k], index.begin[k + 1])
            yield index.names[k], [names[a] for a in index.anchor[here]], beta[here]

    def coefficients(self) -> Any:
        """The matrix key × anchor, CSR; without anchors, the weights of the keys."""
        beta = self.weights[: self.n_coefficients]
        if self.index.anchors is None:
            return beta
        from scipy.sparse import csr_array

        shape = (len(self.index.key), self.index.n_anchors)
        return csr_array((beta, self.index.anchor, self.index.begin), shape=shape)

    def _support_margins(self, X: Any, winner: Ints, runner: Ints) -> Floats:
        """<a, φ(winner) − φ(runner-up)> of all planes of the dual.

        The lead is a model on one anchor sequence; it scores the sequences of the
        planes as a trained model scores new ones.
        """
        kept, trained = self.support, self.index
        assert kept is not None
        inputs, keys = self.inputs(X), self.keys(X)
        scorer = trained.training_scorer(inputs, 1, is_positive=True)
        here: Any = self.chain.pack(keys, winner, scorer=scorer)
        lead = here.compact(here.combine(one_cut(runner), np.ones(1)))
        index, beta = KernelIndex.create(
            trained.kernel, inputs, keys, here.blocks.rows, lead[: here.n_slots],
            by_token=trained.by_token, offset=keys.offset, dtype=trained.dtype,
            words=lambda i: [""] * int(keys.offset[-1]), describe=lambda *_: "",
        )  # fmt: skip
        training = self.chain.pack(
            self.keys(kept.inputs), kept.y,
            scorer=IndexScorer(index, self.inputs(kept.inputs)),
        )  # fmt: skip
        model = training.expand(np.append(beta, lead[here.n_slots :]))
        return training.margins(model, kept.cuts)


def kept_inputs(
    X: Any,
    features: Any,
    match: Sequence[Any],
    columns: Callable[[], Sequence[str]],
) -> Any:
    """
    What a support keeps of the training data of a kernel tagger.

    Parameters
    ----------
    X : sequences
    features : Features, DenseFeatures or None
    match : sequence of str or callable
        Hash functions; those of the user look at the sequences themselves.
    columns : callable
        Tells the columns of a table that the model looks at.

    Returns
    -------
    Table, Features, DenseFeatures or list
    """
    from partwise.features import kind_of

    if any(map(callable, match)):
        return X if isinstance(X, Table) else list(X)
    if kind_of(X) == "columns":
        return as_table(X).select(list(columns()))
    return list(X) if features is None else features
