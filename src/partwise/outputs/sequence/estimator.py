"""`SequenceTagger`: label sequences with scikit-learn's interface."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal, Self

import numpy as np

from partwise.bounds import as_list
from partwise.features.label_keys import LabelHasher
from partwise.features.vocabulary import check_settings
from partwise.outputs.explanation import Explanation
from partwise.outputs.kernel_fit import KernelParameters
from partwise.outputs.labels import encode_labels, label_set
from partwise.outputs.latent_estimator import LabelledEstimator, refuse_weights
from partwise.outputs.saved_estimator import SavedEstimator
from partwise.outputs.segments.learning import SegmentParameters
from partwise.outputs.segments.model import SegmentModel
from partwise.outputs.sequence.learning import fit_scoring
from partwise.outputs.sequence.model import SequenceModel
from partwise.outputs.support import support_of
from partwise.parameters import check_choice
from partwise.protocol import Floats
from partwise.readers.refusals import refuse_several, refuse_single
from partwise.readers.table import Table
from partwise.readers.tokens import show_tokens
from partwise.solvers import Abilities
from partwise.structures.chain.labelled import make_chain


@dataclass(eq=False, repr=False, kw_only=True)
class SequenceTagger(SegmentParameters, KernelParameters, LabelledEstimator):
    """Tag sequences with a maximum-margin chain, or a conditional random field.

    Minimises ½‖w‖² + (C/n) Σ_i ξ_i, where ξ_i is how much a wrong labelling ŷ of
    sequence i comes too near: max_ŷ Δ(y_i, ŷ) − <w, φ(x_i, y_i) − φ(x_i, ŷ)>.

    Parameters
    ----------
    C : float or None
        Weight of the losses; by default n/10 for n sequences, and n/2 with
        ``loss="log"``, which is CRFsuite's ``c2=1``.
    templates : str, list of str or None
        Feature templates for columns of text, or the name of a preset (``"chunk"``,
        ``"ner"``, ``"pos"``, ``"window"``). Not for dicts and arrays.
    min_count : int
        Leave out features that occur less often.
    hash_bits : int or None
        Hash features to ``2**hash_bits`` columns instead of naming them.
    vectors : path, dict or pair
        Word vectors beside the templates: a text file of word2vec or GloVe.
        Or a dict of word to vector, or a pair (words, matrix). The vectors of a word
        and of its two neighbours, at length 1, are features; words are looked up in the
        first column, as they are or in lower case. The model keeps all vectors.
    order : {0, 1, 2}
        How many labels back a transition looks.
    boundary : bool
        Give the first and the last label scores of their own.
    cost : {"hamming", "normalized", "zero_one"}, or a dict or matrix
        The loss Δ: wrong tokens, share of wrong tokens, wrong sequence.
        Or the cost of a label for a true label, ``{(true, predicted): cost}``, else 1.
    scheme : {"BIO", "IOB1", "IOB2", "BIOES"} or None
        Forbid labels in an order that the tag scheme does not allow. IOB2 is BIO.
    forbidden : list of (label, label) or None
        Pairs of labels that must not follow each other. None instead of a label stands
        for the outside of the sequence, so ``(None, "I-PER")`` is a first label.
    kernel : str, Kernel, callable or None
        Compare tokens by a kernel on their features instead of by the features, as in
        ``"poly:degree=2"`` (see `partwise.kernels`). The model is then coefficients of
        training tokens, its anchors: a hidden Markov support vector machine. Or
        compare whole sequences, as in ``"normalized(ngram)"``. Needs a table of all
        pairs of training tokens or sequences.
    match : str, callable, sequence of them, or None
        When the labels of two tokens are alike: ``"label"`` (the default of kernels on
        tokens), ``"type"``, ``"label+word"``, …; see `partwise.features.label_keys`.
        Kernels on whole sequences add the first column by default, as in
        ``"label+word, label"``. With `match` alone labels are compared and inputs are
        not.
    budget, over_budget, gram_options
        See `KernelParameters`.
    segments, longest, spans, gazetteers
        See `SegmentParameters`.
    loss, formulation, penalty, solver, tol, eps, max_iter, time_limit, random_state
        See `StructuredEstimator`. The solver ``"hmm"`` is the generative baseline.
    warm_start : bool
        Keep the labels and features of the last fit and start from its weights, where
        the solver can. With a kernel, the data of the last fit must come first in X.
    metric : str
        What `score` measures; a name of `partwise.metrics`.

    Attributes
    ----------
    classes_ : array of labels
    coef_ : array (n_labels, n_features), aligned with ``feature_names_``
        With a kernel, a sparse array (n_keys, n_anchors).
    transitions_ : array (n_labels, n_labels), from row to column
    state_features_, transition_features_ : dict
        The same weights by name, without zeros: (feature, label) and (label, label).

    Examples
    --------
    >>> from partwise.datasets import toy_entities
    >>> X, y = toy_entities(60, random_state=0)
    >>> tagger = SequenceTagger(tol=0.01).fit(X[:40], y[:40])
    >>> bool(tagger.certificate_.relative_gap <= 0.01)
    True
    >>> len(tagger.predict(X[40:]))
    20
    """

    templates: Any = None
    min_count: int = 1
    hash_bits: int | None = None
    vectors: Any = None
    order: Literal[0, 1, 2] = 1
    boundary: bool = False
    cost: Any = "hamming"
    scheme: Literal["BIO", "IOB1", "IOB2", "BIOES"] | None = None
    forbidden: Any = None
    kernel: Any = None
    match: Any = None
    metric: str = "token_accuracy"

    model_: SequenceModel = field(init=False)
    model_class = SequenceModel
    keeps_dual = True
    abilities = Abilities(("hmm", "generative"), has_hidden_parts=True)
    settings_names = (*SavedEstimator.settings_names, "scheme")

    # ------------------------------------------------------------------ learning

    def fit(
        self, X: Any, y: Any, sample_weight: Any = None, token_weight: Any = None
    ) -> Self:
        """Learn from sequences and their labels.

        Parameters
        ----------
        X : Table, or list of sequences
            A sequence is a list of tokens (strings, tuples of strings, dicts, lists
            of strings), or an array or CSR matrix (tokens × features).
        y : list of lists of labels
            Where a label is None, it is completed in rounds, and costs nothing; with
            ``loss="log"`` the likelihood is that of the labels that are known.
        sample_weight : array (n_sequences,), optional
        token_weight : list of arrays, optional
            Factor of the loss of each token.
        """
        self.check_parameters()
        X, y = as_list(X), as_list(y)
        refuse_single(X)
        formulation = self._formulation()
        self._weighted = sample_weight is not None or token_weight is not None
        weight = None
        if token_weight is not None:
            refuse_weights("token_weight", self.loss)
            weight = np.concatenate([np.asarray(row, float) for row in token_weight])
        last = self._last_model
        labels = label_set(y) if last is None else last.labels
        fit = fit_scoring(self, X, labels, last)
        if last is not None:
            self._refuse_other(last.structure, "order", "boundary")
            self._refuse_other(last, "segments")
        codes = encode_labels(y, fit.offset, labels)
        self._refuse_hidden(codes)
        chain: Any
        if self.segments:
            fit, chain = self.begin_segments(fit, X, labels, codes, last)
        else:
            settings = (self.order, self.boundary, self.cost)
            chain = make_chain(labels, *settings, self.scheme, self.forbidden)
        n_jobs = self._n_jobs()
        problem = chain.pack(
            fit.parts, codes, formulation, n_jobs=n_jobs, token_weight=weight,
            scorer=fit.scorer(n_jobs), label_names=labels, may_hide=True,
        )  # fmt: skip
        kind = SegmentModel if self.segments else SequenceModel
        model = kind(None, chain, labels, np.zeros(0))
        inputs, offset = fit.support_inputs, fit.offset
        support = support_of(inputs, offset, problem, lambda row: show_tokens(X, row))
        self._learn(model, problem, fit, sample_weight, support)
        return self._keep(model)

    def _sums_hidden(self) -> bool:
        return not self.segments

    def _default_C(self, n: int) -> float:
        return n / 2 if self.loss == "log" else super()._default_C(n)

    def check_parameters(self) -> None:
        """Refuse what cannot be fitted, before any data are read."""
        super().check_parameters()
        check_settings(self.min_count, self.hash_bits)
        self.check_segments()
        if isinstance(self.cost, str) and not self.segments:
            check_choice("cost", self.cost, ("hamming", "normalized", "zero_one"))
        if isinstance(self.match, str):
            LabelHasher(self.match, [])

    # ---------------------------------------------------------------- prediction

    def predict_marginals(
        self,
        X: Any,
        of: Literal["tokens", "transitions", "spans"] = "tokens",
        least: float = 1e-3,
    ) -> list[Any]:
        """Probabilities of parts of the labels, ∝ exp(score/T) of whole sequences.

        Of a model that was trained with ``loss="log"``, or after `calibrate`: scores of
        ``loss="hinge"`` keep a margin, and without `calibrate` only compare.

        Parameters
        ----------
        X : as in `fit`
        of : {"tokens", "transitions", "spans"}
            An array per sequence, P(label at token), (n_tokens, n_labels); or
            P(labels at t and t + 1), (n_tokens − 1, n_labels, n_labels), in the order
            of ``classes_``; or a dict from `Span` (type, start, end) to the probability
            that it is exactly there, for labels of a tag scheme.
        least : float
            Leave out spans that are less probable.
        """
        self._check_fitted()
        return self.model_.marginals(
            as_list(X), of=of, least=least, n_jobs=self._n_jobs()
        )

    def confidence(
        self, X: Any, of: Literal["outputs", "tokens", "spans"] = "outputs"
    ) -> Any:
        """Probability that the prediction is right, by the model.

        See `predict_marginals` for what models have probabilities.

        Parameters
        ----------
        X : as in `fit`
        of : {"outputs", "tokens", "spans"}
            P(predicted labels of a whole sequence), an array (n_sequences,); or of each
            token, an array (n_tokens,) per sequence; or of each predicted span, a dict
            from `Span` to probability per sequence.
        """
        self._check_fitted()
        return self.model_.confidence(as_list(X), of=of, n_jobs=self._n_jobs())

    def explain(self, x: Any, top: int = 10) -> Explanation:
        """Why the best labelling of one sequence won.

        Shows the runner-up, the features that decide between the two, and the support
        structures of the dual: training sequences whose wrong labelling ŷ carries
        weight α, with their share of the decision.
        """
        self._check_fitted()
        refuse_several(x)
        X = x[:1] if isinstance(x, Table) else [x]
        return self.model_.explain(X, tokens=show_tokens(X, 0), top=top)

    # -------------------------------------------------------------------- files

    @classmethod
    def _parameters_of(cls, model: SequenceModel) -> dict[str, Any]:
        chain = model.structure
        cost = chain.cost if isinstance(chain.cost, str) else np.asarray(chain.cost)
        return {
            "order": chain.order,
            "boundary": chain.boundary,
            "cost": cost,
            "vectors": getattr(model.featurizer, "vectors", None),
            **model.scoring.parameters(),
        }

    # --------------------------------------------------------------- attributes

    @property
    def n_features_in_(self) -> int:
        """Features of tokens; absent where the model does not look at them."""
        return self.model_.featurizer.n_features_

    @property
    def key_names_(self) -> list[str]:
        """With `match` or a kernel: what the rows of `coef_` stand for."""
        return self.model_.scoring.key_names

    @property
    def coef_(self) -> Any:
        """Weights of features for labels, (n_labels, n_features).

        With a kernel, coefficients of anchors for keys (``key_names_``), a sparse array
        (n_keys, n_anchors); with `match` alone, weights of keys, (n_keys,).
        """
        model = self.model_
        return model.scoring.coefficients(model.weights, model.structure.n_labels)

    @property
    def transitions_(self) -> Floats:
        """Weights of label pairs, from row to column."""
        return self.model_.parts().bigram

    @property
    def transition_features_(self) -> dict[tuple[Any, Any], float]:
        """Weight of each pair of labels, by name; those of weight 0 are absent."""
        return _nonzero(self.transitions_, self.model_.labels, self.model_.labels)

    @property
    def state_features_(self) -> dict[tuple[str, Any], float]:
        """Weight of each feature for each label, by name; 0 is absent."""
        emission = self.model_.parts().emission
        if self.model_.featurizer is None or not len(emission):
            raise AttributeError("a tagger with a kernel or match has no features")
        return _nonzero(emission, self.feature_names_, self.model_.labels)


def _nonzero(
    table: Floats, rows: list[Any], columns: list[Any]
) -> dict[tuple[Any, Any], float]:
    """The entries of a table that are not zero, by the names of rows and columns."""
    places = np.argwhere(table).tolist()
    return {(rows[a], columns[b]): float(table[a, b]) for a, b in places}
