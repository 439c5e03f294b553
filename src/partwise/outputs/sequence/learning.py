"""The training data of a tagger: features, or keys and the inputs of a kernel."""

from __future__ import annotations

from typing import Any

from partwise.features import PRESETS, kind_of, make_featurizer
from partwise.features.columnar import as_table
from partwise.features.keys import MatchError
from partwise.features.label_keys import LabelHasher
from partwise.kernels.inputs import Sequences, token_inputs
from partwise.outputs.kernel_fit import (
    KernelFit,
    begin_features,
    read_kernel,
    sequence_inputs,
    uses_keys,
)
from partwise.outputs.label_scoring import TokenFeatureScoring, TokenKeyScoring
from partwise.outputs.scoring import FeatureFit, ScoringFit
from partwise.parameters import look_up
from partwise.readers.table import Table
from partwise.readers.tokens import show_tokens


def fit_scoring(tagger: Any, X: Any, labels: list[Any], last: Any = None) -> ScoringFit:
    """Choose how labels are scored, and prepare the training data for it.

    Invalid parameters are refused before any work; `last` is the model that a warm
    start goes on with.
    """
    if uses_keys(tagger):
        return _fit_keys(tagger, X, labels, last)
    begin_features(tagger, last)
    featurizer, features = _token_features(tagger, X, last)
    return FeatureFit(TokenFeatureScoring(featurizer), features)


def _fit_keys(tagger: Any, X: Any, labels: list[Any], last: Any) -> KernelFit:
    """Keys of labels, and what a kernel compares of their tokens or sequences."""
    kernel, options = read_kernel(tagger, "float64")
    is_whole = kernel is not None and isinstance(kernel.input_family(), Sequences)
    by_token = kernel is not None and not is_whole
    match = "label" if tagger.match is None else tagger.match
    if tagger.match is None and is_whole and kind_of(X) == "columns":
        # without the first column all tokens of a sequence would have the same scores
        match = f"label+{next(iter(as_table(X).columns))}, label"
    hasher = LabelHasher(match, labels)
    if hasher.has_pairs and by_token:
        raise MatchError(
            "<match=> has bigram, which needs a kernel on whole sequences, or none; "
            "with one on single tokens pairs of labels are transitions (<order=1>)"
        )
    featurizer = features = inputs = None
    columns: list[str] = []
    if kernel is not None and is_whole:
        if kind_of(X) != "columns":
            raise ValueError(
                f"{kernel} compares whole sequences of strings; give tokens as strings "
                "or tuples of strings, or a Table"
            )
        kernel, inputs = sequence_inputs(kernel, as_table(X))
        columns = list(inputs.columns)
    if last is not None:
        last.scoring.check_start(kernel, hasher.match)
    if by_token:
        featurizer, features = _token_features(tagger, X, last)
        inputs = token_inputs(kernel, features)
    else:
        _refuse_features(tagger)
    return KernelFit(
        TokenKeyScoring, kernel, hasher, X, inputs, options, by_token=by_token,
        words=lambda i: show_tokens(X, i), featurizer=featurizer, budget=tagger.budget,
        over_budget=tagger.over_budget,
        support_inputs=_support_inputs(X, features, hasher, columns, featurizer),
    )  # fmt: skip


def _token_features(tagger: Any, X: Any, last: Any) -> tuple[Any, Any]:
    """The featurizer that the parameters describe, or the last, and features of X."""
    if last is not None:
        return last.featurizer, last.featurizer.transform(X)
    # a preset's name wins over a template
    templates = look_up("templates", tagger.templates, PRESETS)
    featurizer = make_featurizer(
        X, templates, tagger.min_count, tagger.hash_bits, tagger.vectors
    )
    return featurizer, featurizer.fit_transform(X)


def _refuse_features(tagger: Any) -> None:
    """Refuse settings of features, which this model does not use."""
    for name in ("templates", "min_count", "hash_bits", "vectors"):
        if getattr(tagger, name) != getattr(type(tagger), name):
            raise ValueError(
                f"{name}= is for features of tokens, which this model does not look "
                "at; leave it out, or use a kernel on tokens, as poly:degree=2"
            )


def _support_inputs(
    X: Any, features: Any, hasher: LabelHasher, columns: list[str], featurizer: Any
) -> Any:
    """Columns or features of the sequences, which a support keeps."""
    if any(map(callable, hasher.match)):  # a user's function looks at X itself
        return X if isinstance(X, Table) else list(X)
    if kind_of(X) == "columns":
        table = as_table(X)
        text = next(iter(table.columns))
        names = [text, *columns, *hasher.columns, *getattr(featurizer, "columns", [])]
        return table.select(list(dict.fromkeys(names)))
    return list(X) if features is None else features
