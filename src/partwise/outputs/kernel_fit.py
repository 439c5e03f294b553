"""Learning with keys and a kernel: Gram matrix, warm start, budget, index."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Literal

import numpy as np

from partwise.certificate import Certificate, certify
from partwise.features.columnar import as_table
from partwise.kernels.base import Kernel
from partwise.kernels.clusters import WordClusters
from partwise.kernels.inputs import Objects, Sequences
from partwise.kernels.naming import as_kernel, parse_kernel
from partwise.kernels.positive import refuse_indefinite
from partwise.kernels.training_gram import check_options, training_gram
from partwise.objective import Objective
from partwise.outputs.kernel_scoring import KernelScoring
from partwise.outputs.scoring import WARM, ScoringFit
from partwise.parameters import SettingsError
from partwise.protocol import CapabilityError, Floats
from partwise.readers.table import Table
from partwise.scorers.anchors import ForeignData
from partwise.scorers.budget import check_budget, keep_within
from partwise.scorers.kernel import KernelScorer
from partwise.scorers.kernel_index import KernelIndex

NO_MARGIN = ("hmm", "generative", "pcfg", "lbfgs")  # solvers without a kernel form


@dataclass(eq=False, repr=False, kw_only=True)
class KernelParameters:
    """
    Parameters of estimators that may have a kernel.

    Parameters
    ----------
    budget : int or None
        With a kernel: the most training inputs, anchors, that the model may keep.
    over_budget : {"project", "merge", "drop"}
        How the least useful anchors go: the nearest model on the others, each into its
        nearest neighbour, or forgotten. The certificate is that of the smaller model.
    gram_options : dict or None
        With a kernel: settings of `partwise.kernels.gram` for the table of all pairs of
        training inputs, as in ``{"dtype": "float32", "cache_dir": "folder"}``.
    """

    budget: int | None = None
    over_budget: Literal["project", "merge", "drop"] = "project"
    gram_options: dict[str, Any] | None = None

    def check_parameters(self) -> None:
        """Refuse what cannot be fitted, before any data are read."""
        super().check_parameters()  # type: ignore[misc]
        kernel = getattr(self, "kernel", None)
        if isinstance(kernel, str):
            parse_kernel(kernel)


@dataclass
class KernelFit(ScoringFit):
    """
    Keys and kernel inputs of training data; see `KernelScoring`.

    Parameters
    ----------
    make : type
        The class of the trained scoring.
    X : Table, or list of sequences
        With all columns that the hash functions look at.
    inputs : inputs of the kernel
        Of X: tokens (`by_token`), whole sequences, or None without a kernel.
    options : dict
        Of the Gram matrix; its `dtype` is the precision of all kernel values.
    words : callable, optional
        From a row to its tokens as strings, to show anchors; with `by_token`.
    budget, over_budget
        The most anchors that a model may keep, and how the least useful ones go.
    is_named : bool
        Whether the model keeps what its keys stand for, in words.
    is_checked : bool
        Whether to refuse a kernel that is not positive semidefinite on the inputs: the
        dual of such a kernel bounds nothing.
    support_inputs : Table, list, Features or DenseFeatures, optional
        What a model keeps of X beside its dual.
    """

    make: type[KernelScoring]
    kernel: Kernel | None
    hasher: Any
    X: Any
    inputs: Any
    options: dict[str, Any]
    by_token: bool = False
    words: Callable[[int], list[str]] | None = None
    featurizer: Any = None
    clusters: WordClusters | None = None
    budget: int | None = None
    over_budget: str = "project"
    is_named: bool = True
    is_checked: bool = True
    support_inputs: Any = None

    has_labels: ClassVar[bool] = False

    def __post_init__(self) -> None:
        self.parts = self.hasher.transform(self.X)
        self.offset = self.parts.token_offset

    def scorer(self, n_jobs: int) -> KernelScorer:
        """A scorer over all inputs of the training data."""
        values = None
        if self.kernel is not None:
            n_examples, n_tokens = len(self.offset) - 1, int(self.offset[-1])
            compared = f"{n_examples} {self.make.examples_name}"
            values = training_gram(
                self.kernel, self.inputs, self.options, n_jobs,
                compared=f"{n_tokens} tokens" if self.by_token else compared,
                remedy=self.make.gram_remedy,
            )  # fmt: skip
            if self.is_checked:
                refuse_indefinite(self.kernel, values)
        dtype = np.dtype(self.options["dtype"]).type
        return KernelScorer(values, by_token=self.by_token, dtype=dtype)

    def start(self, problem: Any, model: Any) -> Floats:
        """The last model, whose anchors must be where they were in the data."""
        rows, weights = problem.blocks.rows, model.weights
        try:
            index = model.scoring.index
            slots = index.slots(self.inputs, self.parts, rows, self.offset)
        except ForeignData as error:
            raise ValueError(
                f"{WARM} and its own training data, to which others may be added at "
                f"the end; {error}"
            ) from None
        beta = np.zeros(problem.n_slots)
        beta[slots] = weights[: len(slots)]
        return np.asarray(problem.expand(np.append(beta, weights[len(slots) :])))

    def within_budget(
        self,
        problem: Any,
        weights: Floats,
        objective: Objective,
        certificate: Certificate,
    ) -> tuple[Floats, Certificate]:
        """
        Weights on no more anchors than allowed, and what is known of them.

        The optimum does not change, so the bound of the whole model stays a bound.
        """
        if self.budget is None:
            return weights, certificate
        n = problem.n_slots
        beta = weights[:n]
        postings = problem.blocks.rows.postings
        reduced_beta = keep_within(postings, beta, self.budget, self.over_budget)
        if reduced_beta is beta:
            return weights, certificate
        reduced = np.append(reduced_beta, weights[n:])
        model = problem.expand(reduced)
        measured = certify(problem, objective, model, dual=certificate.dual)
        return reduced, replace(
            measured,
            oracle_calls=certificate.oracle_calls + measured.oracle_calls,
            stopped=certificate.stopped,
            note=f"on a budget of {self.budget} anchors; the objective was "
            f"{certificate.primal:.6g} without it",
        )

    def finish(self, problem: Any, weights: Floats) -> tuple[Any, Floats]:
        """An index of the keys and anchors that carry weight."""
        n, hasher = problem.n_slots, self.hasher
        X = as_table(self.X) if hasher.columns else self.X

        def describe(part: int, number: int) -> str:
            return hasher.describe(X, self.parts, part, number)

        index, beta = KernelIndex.create(
            self.kernel, self.inputs, self.parts, problem.blocks.rows, weights[:n],
            by_token=self.by_token, offset=self.offset, words=self.words,
            describe=describe if self.is_named else None, dtype=self.options["dtype"],
        )  # fmt: skip
        scoring = self.make(hasher, index, self.featurizer, self.clusters)
        return scoring, np.append(beta, weights[n:])


def read_kernel(estimator: Any, dtype: str) -> tuple[Kernel | None, dict[str, Any]]:
    """
    The kernel of an estimator, and the options of its Gram matrix.

    Parameters
    ----------
    estimator : SequenceTagger, DependencyParser or the like
        Its parameters; invalid ones are refused before any work.
    dtype : str
        Precision of the Gram matrix unless ``gram_options`` names one.
    """
    if estimator.loss == "log" or estimator.solver in NO_MARGIN:
        raise CapabilityError(
            "<kernel=> and <match=> train margins: <loss='log'> and <solver='hmm'> "
            "have no "
            "kernel form; use features (<templates=>), or approximate the kernel by "
            "features (Nystroem)"
        )
    kernel = None if estimator.kernel is None else as_kernel(estimator.kernel)
    if estimator.budget is not None:
        check_budget(estimator.budget, estimator.over_budget)
    if kernel is None:
        _refuse_kernel_settings(estimator)
    options = {"dtype": dtype, **check_options(estimator.gram_options)}
    return kernel, options | {"dtype": np.dtype(options["dtype"]).name}


def sequence_inputs(
    kernel: Kernel, table: Table, usual: Sequence[str] | None = None
) -> tuple[Kernel, Table]:
    """
    A kernel on whole sequences that names its columns, and what it compares.

    Parameters
    ----------
    kernel : Kernel
    table : Table
    usual : sequence of str, optional
        Columns that a kernel which names none compares, as far as they are there; all
        by default.
    """
    kernel = kernel.with_columns(table.columns, usual)
    return kernel, table.select(kernel.columns_of(table.columns, usual))


def fit_sentence_keys(
    make: type[KernelScoring],
    estimator: Any,
    hasher: Any,
    table: Table,
    usual: Sequence[str],
    last: Any,
    **settings: Any,
) -> KernelFit:
    """
    Keys of the parts of trees, and what a kernel compares of their sentences.

    Parameters
    ----------
    make : type
        The class of the trained scoring.
    estimator : DependencyParser or ConstituencyParser
    hasher : ArcHasher or PhraseHasher
    table : Table
    usual : sequence of str
        As for `sequence_inputs`.
    last : model or None
        The model that a warm start goes on with.
    **settings
        Further ones of `KernelFit`.
    """
    kernel, options = read_kernel(estimator, "float32")
    inputs = None
    if kernel is not None:
        if not isinstance(kernel.input_family(), Sequences | Objects):
            raise ValueError(
                f"{kernel} does not compare sentences; use a kernel on sequences, such "
                "as 'normalized(annotated)', 'ngram' or 'bow'"
            )
        kernel, inputs = sequence_inputs(kernel, table, usual)
    if last is not None:
        last.scoring.check_start(kernel, hasher.match)
    return KernelFit(
        make, kernel, hasher, table, inputs, options, budget=estimator.budget,
        over_budget=estimator.over_budget, **settings,
    )  # fmt: skip


def _refuse_kernel_settings(estimator: Any) -> None:
    """Refuse settings that a fit without an input kernel would ignore."""
    for name in ("budget", "gram_options"):
        if getattr(estimator, name) is not None:
            raise SettingsError(f"<{name}=> is for kernels; give <kernel=>")


def uses_keys(estimator: Any) -> bool:
    """Whether parts are scored by keys instead of features."""
    return estimator.kernel is not None or estimator.match is not None


def begin_features(estimator: Any, last: Any) -> None:
    """Refuse what a fit on features cannot use: settings of kernels, another start."""
    _refuse_kernel_settings(estimator)
    if last is not None:
        last.scoring.check_start(None, None)
