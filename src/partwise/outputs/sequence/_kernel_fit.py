"""A tagger with a kernel, or with hash functions of labels alone."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from partwise.features import kind_of
from partwise.features.columnar import as_table
from partwise.features.keys import MatchError
from partwise.features.label_keys import LabelHasher, lengths_offset
from partwise.kernels.inputs import Sequences
from partwise.objective import Formulation
from partwise.outputs._kernel_side import KernelSide
from partwise.outputs.sequence._kernel_model import (
    KernelSequenceModel,
    kept_inputs,
    token_inputs,
)
from partwise.outputs.sequence.labels import (
    encode_labels,
    fit_featurizer,
    label_set,
    make_chain,
    refuse_other_chain,
    show_tokens,
)
from partwise.outputs.sequence.support import SupportSet
from partwise.protocol import Floats
from partwise.scorers.kernel_index import KernelIndex


class KernelChain(KernelSide):
    """
    The kernel side of one fit of a tagger.

    Parameters
    ----------
    tagger : SequenceTagger
    X : sequences
    labels : list
        All labels, in their order.
    last : KernelSequenceModel or None
        The model that a warm start goes on with.
    """

    def __init__(
        self, tagger: Any, X: Any, labels: list[Any], last: Any = None
    ) -> None:
        super().__init__(
            tagger, "train on fewer sequences, or make features of the rows with "
            "Nystroem(kernel) and train a linear tagger", "float64",
        )  # fmt: skip
        family = self.kernel and self.kernel.input_family()
        whole = isinstance(family, Sequences)
        self.by_token = self.kernel is not None and not whole
        self.X = X
        match = self._default_match(whole) if tagger.match is None else tagger.match
        self.hasher = LabelHasher(match, labels)
        if self.hasher.has_pairs and self.by_token:
            raise MatchError(
                "<match=> has bigram, which needs a kernel on whole sequences, or "
                "none; "
                "with one on single tokens pairs of labels are transitions (<order=1>)"
            )
        self.columns: list[str] = []  # that a kernel on whole sequences compares
        if whole:
            self._name_columns()
        if last is not None:
            self.refuse_other(self.hasher, last)
            refuse_other_chain(tagger, last.chain)
        self.featurizer, self.features = None, None  # of tokens that a kernel compares
        if self.by_token and last is not None:
            self.featurizer = last.featurizer
            self.features = self.featurizer.transform(X)
        elif self.by_token:
            self.featurizer, self.features = fit_featurizer(tagger, X)
        else:
            self._refuse_features(tagger)
        self.offset = (
            lengths_offset(X) if self.features is None else self.features.offset
        )

    def _default_match(self, whole: bool) -> str:
        """The label; for a kernel on whole sequences also the word.

        Else all tokens of a sequence would have the same scores.
        """
        if not whole or kind_of(self.X) != "columns":
            return "label"
        return f"label+{next(iter(as_table(self.X).columns))}, label"

    def _name_columns(self) -> None:
        """Settle which columns a kernel on whole sequences compares."""
        assert self.kernel is not None
        if kind_of(self.X) != "columns":
            raise ValueError(
                f"{self.kernel} compares whole sequences of strings; give tokens as "
                "strings or tuples of strings, or a Table"
            )
        columns = as_table(self.X).columns
        self.kernel = self.kernel.with_columns(columns)
        self.columns = self.kernel.columns_of(columns)

    def _refuse_features(self, tagger: Any) -> None:
        """Refuse settings of features, which this model does not look at."""
        for name, default in (
            ("templates", None),
            ("min_count", 1),
            ("hash_bits", None),
        ):
            if getattr(tagger, name) != default:
                raise ValueError(
                    f"{name}= is for features of tokens, which this model does not "
                    "look at; leave it out, or use a kernel on tokens, as poly:degree=2"
                )

    def inputs(self) -> Any:
        """What the kernel compares; None without a kernel."""
        if self.kernel is None:
            return None
        if self.by_token:
            return token_inputs(self.kernel, self.features)
        return as_table(self.X).select(self.columns)

    def compared(self) -> str:
        """What the Gram matrix compares, for its errors."""
        if self.by_token:
            return f"{int(self.offset[-1])} tokens"
        return f"{len(self.offset) - 1} sequences"

    def looked_at(self) -> Sequence[str]:
        """Columns of a table that the model needs, and the first, to show it."""
        first = next(iter(as_table(self.X).columns))
        own = getattr(self.featurizer, "columns", [])
        return list(dict.fromkeys([first, *self.columns, *self.hasher.columns, *own]))


def fit_kernel_tagger(
    tagger: Any,
    X: Any,
    y: Any,
    formulation: Formulation,
    sample_weight: Any,
    token_weight: Floats | None,
) -> KernelSequenceModel:
    """
    Fit a `SequenceTagger` through training tokens or sequences.

    Parameters
    ----------
    tagger : SequenceTagger
        Gets its certificate, history and the like.
    X, y : sequences and their labels
    formulation : Formulation
    sample_weight : array (n_sequences,) or None
    token_weight : array (n_tokens,) or None
    """
    last = getattr(tagger, "model_", None) if tagger.warm_start else None
    labels = label_set(y) if last is None else last.labels
    side = KernelChain(tagger, X, labels, last)
    codes = encode_labels(y, side.offset, labels)
    chain = make_chain(
        labels, tagger.order, tagger.boundary, tagger.cost, tagger.scheme,
        tagger.forbidden,
    )  # fmt: skip
    n_jobs = tagger._n_jobs()
    inputs, keys = side.inputs(), side.hasher.transform(X, side.offset)
    problem: Any = chain.pack(
        keys, codes, formulation, n_jobs=n_jobs, token_weight=token_weight,
        scorer=side.scorer(inputs, side.compared(), n_jobs), label_names=labels,
    )  # fmt: skip
    start = None
    if last is not None:
        start = side.start(problem, last, inputs, keys, side.offset)
    state, support = tagger._solve(problem, sample_weight, start)
    weights = problem.compact(state.model)
    small, tagger.certificate_ = side.within_budget(
        problem, tagger.objective_, weights, tagger.certificate_
    )

    def tokens(row: int) -> list[str]:
        return show_tokens(X, row)

    kept = None  # on a budget: the planes make up the model without it
    if support is not None and small is weights:
        rows = kept_inputs(X, side.features, side.hasher.match, side.looked_at)
        kept = SupportSet.create(rows, side.offset, codes, support, tokens)
    seen = as_table(X) if side.hasher.columns else X
    index, beta = KernelIndex.create(
        side.kernel, inputs, keys, problem.blocks.rows, small[: problem.n_slots],
        by_token=side.by_token, offset=side.offset, words=tokens, dtype=side.dtype,
        describe=lambda part, number: side.hasher.describe(seen, keys, part, number),
    )  # fmt: skip
    info = {"certificate": tagger.certificate_.to_dict()}
    return KernelSequenceModel(
        side.featurizer, side.hasher, index, chain, labels,
        np.append(beta, small[problem.n_slots :]), info, kept,
    )  # fmt: skip
