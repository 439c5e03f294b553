"""What an estimator with a kernel adds to one without: Gram matrix, index, budget."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from partwise.certificate import Certificate, certify
from partwise.kernels.base import Kernel
from partwise.kernels.naming import as_kernel
from partwise.kernels.training_gram import check_options, training_gram
from partwise.objective import Objective
from partwise.protocol import CapabilityError, Floats
from partwise.scorers.anchors import ForeignData
from partwise.scorers.budget import check_budget, keep_within
from partwise.scorers.kernel import KernelScorer
from partwise.scorers.kernel_index import KernelIndex

NO_MARGIN = ("hmm", "generative", "pcfg", "lbfgs")  # solvers without a kernel form
WARM = "warm_start=True goes on with the last model"


class KernelSide:
    """
    The kernel side of one fit.

    Parameters
    ----------
    estimator : SequenceTagger or DependencyParser
        Its parameters; nonsense is refused early.
    remedy : str
        What helps when the Gram matrix does not fit.
    dtype : str
        Precision of the Gram matrix unless ``gram_options`` names one.
    """

    def __init__(self, estimator: Any, remedy: str, dtype: str) -> None:
        if estimator.loss == "log" or estimator.solver in NO_MARGIN:
            raise CapabilityError(
                "kernel= and match= train margins: loss='log' and solver='hmm' have no "
                "kernel form; use features (templates=), or approximate the kernel by "
                "features (Nystroem)"
            )
        kernel = estimator.kernel
        self.kernel: Kernel | None = None if kernel is None else as_kernel(kernel)
        self.budget = estimator.budget
        self.over_budget = estimator.over_budget
        if self.budget is not None:
            check_budget(self.budget, self.over_budget)
        if self.kernel is None:
            refuse_kernel_settings(estimator)
        self.gram_options = check_options(estimator.gram_options)
        self.dtype = np.dtype(self.gram_options.setdefault("dtype", dtype)).name
        self.remedy = remedy
        self.by_token = False

    def scorer(self, inputs: Any, compared: str, n_jobs: int) -> KernelScorer:
        """A scorer over all inputs of the training data."""
        values = None
        if self.kernel is not None:
            values = training_gram(
                self.kernel, inputs, self.gram_options, n_jobs, compared=compared,
                remedy=self.remedy,
            )  # fmt: skip
        return KernelScorer(
            values, by_token=self.by_token, dtype=np.dtype(self.dtype).type
        )

    def refuse_other(self, hasher: Any, last: Any) -> None:
        """Refuse to go on with a model of another kernel or of other hash functions."""
        if not isinstance(getattr(last, "index", None), KernelIndex):
            raise ValueError(f"{WARM}, which had no kernel; leave kernel= as it was")
        if not same_kernel(self.kernel, last.index.kernel):
            raise ValueError(f"{WARM}, which had another kernel; leave it as it was")
        if hasher.match != last.hasher.match:
            raise ValueError(f"{WARM}, and match= has changed; leave it as it was")

    def start(
        self, problem: Any, last: Any, inputs: Any, keys: Any, offset: Any
    ) -> Floats:
        """
        The last model as one of this problem.

        Parameters
        ----------
        problem : KernelProblem
        last : KernelSequenceModel or KernelDependencyModel
            Its anchors must be among the data, where they were.
        inputs, keys, offset
            Of the training data; see `KernelIndex.slots`.
        """
        rows = problem.blocks.rows
        try:
            slots = last.index.slots(inputs, keys, rows, offset)
        except ForeignData as error:
            raise ValueError(
                f"{WARM} and its own training data, to which others may be added at "
                f"the end; {error}"
            ) from None
        beta = np.zeros(problem.n_slots)
        beta[slots] = last.weights[: len(slots)]
        return np.asarray(problem.expand(np.append(beta, last.weights[len(slots) :])))

    def within_budget(
        self, problem: Any, objective: Objective, weights: Floats, before: Certificate
    ) -> tuple[Floats, Certificate]:
        """
        Weights on no more anchors than allowed, and what is known of them.

        The optimum does not change, so the bound of the whole model stays a bound.
        """
        if self.budget is None:
            return weights, before
        n = problem.n_slots
        beta = weights[:n]
        postings = problem.blocks.rows.postings
        small = keep_within(postings, beta, self.budget, self.over_budget)
        if small is beta:
            return weights, before
        kept = np.append(small, weights[n:])
        after = certify(problem, objective, problem.expand(kept), dual=before.dual)
        return kept, replace(
            after,
            oracle_calls=before.oracle_calls + after.oracle_calls,
            stopped=before.stopped,
            note=f"on a budget of {self.budget} anchors; the objective was "
            f"{before.primal:.6g} without it",
        )


def refuse_kernel_settings(estimator: Any) -> None:
    """Refuse settings that a fit without an input kernel would ignore."""
    for name in ("budget", "gram_options"):
        if getattr(estimator, name) is not None:
            raise ValueError(f"{name}= is for kernels; give kernel=")


def same_kernel(one: Kernel | None, other: Kernel | None) -> bool:
    """Whether two kernels have the same values; those of users must be the same."""
    if one is None or other is None or one is other:
        return one is other
    mine, others = one.get_params(deep=True), other.get_params(deep=True)
    if type(one) is not type(other) or mine.keys() != others.keys():
        return False
    return all(_same(mine[name], others[name]) for name in mine)


def _same(one: Any, other: Any) -> bool:
    if isinstance(one, Kernel) or isinstance(other, Kernel):
        return type(one) is type(other)  # their parameters stand beside them
    if isinstance(one, np.ndarray) or isinstance(other, np.ndarray):
        return np.array_equal(one, other)
    return bool(one == other)
