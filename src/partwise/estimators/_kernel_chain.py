"""What a tagger with a kernel adds to one without: Gram matrix, anchors, budget."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from partwise.certificate import Certificate, certify
from partwise.estimators._training_gram import check_options, training_gram
from partwise.kernels.anchors import AnchorFeaturizer, token_inputs
from partwise.kernels.naming import as_kernel
from partwise.objective import Objective
from partwise.protocol import CapabilityError, Floats, Ints
from partwise.scorers.budget import keep_within
from partwise.scorers.kernel import KernelScorer


def kernel_chain(tagger: Any) -> KernelChain | None:
    """The kernel side of a tagger's fit, if it has one; refuses nonsense early."""
    if tagger.warm_start and hasattr(tagger, "model_"):
        had_kernel = isinstance(tagger.model_.featurizer, AnchorFeaturizer)
        if had_kernel != (tagger.kernel is not None):
            raise ValueError(
                "warm_start=True goes on with the last model, which had "
                f"{'a' if had_kernel else 'no'} kernel; leave kernel= as it was"
            )
    if tagger.kernel is None:
        for name in ("budget", "gram_options"):
            if getattr(tagger, name) is not None:
                raise ValueError(f"{name}= is for kernels; give kernel=")
        return None
    return KernelChain(
        tagger.kernel, tagger.loss, tagger.solver, tagger.budget, tagger.over_budget,
        tagger.gram_options,
    )  # fmt: skip


def settled(problem: Any, model: Floats) -> Floats:
    """The same model from its coefficients alone.

    Scores carry the rounding of training, and coefficients that cancelled are not quite
    zero.
    """
    weights = problem.compact(model)
    weights[np.abs(weights) < 1e-13 * np.abs(weights).max()] = 0.0
    return problem.expand(weights)


class KernelChain:
    """
    The kernel side of one fit.

    Parameters
    ----------
    kernel : Kernel, str or callable
    loss, solver : str
        Of the tagger, to refuse early what has no kernel form.
    budget : int or None
    over_budget : {"project", "merge", "drop"}
    gram_options : dict or None
    """

    def __init__(
        self, kernel: Any, loss: str, solver: Any, budget: Any, over_budget: str,
        gram_options: Any = None,
    ) -> None:  # fmt: skip
        self.kernel = as_kernel(kernel)
        if loss == "log" or solver in ("hmm", "lbfgs"):
            raise CapabilityError(
                "kernel= trains margins: loss='log' and solver='hmm' have no kernel "
                "form; approximate the kernel by features instead (Nystroem)"
            )
        self.budget = budget
        self.over_budget = over_budget
        if budget is not None:  # refuse nonsense before the work
            keep_within(np.ones((1, 1)), np.ones((1, 1)), budget, over_budget)
        self.gram_options = check_options(gram_options)

    def bind(self, features: Any, n_jobs: int) -> KernelScorer:
        """A scorer over all tokens of the training data."""
        self.rows = token_inputs(self.kernel, features)
        self.offset = features.offset
        values = training_gram(
            self.kernel, self.rows, self.gram_options, n_jobs,
            compared=f"{self.offset[-1]} tokens",
            remedy="train on fewer sequences, or make features of the rows with "
            "Nystroem(kernel) and train a linear tagger",
        )  # fmt: skip
        self.scorer = KernelScorer(values)
        return self.scorer

    def start(self, problem: Any, model: Any, features: Any) -> Floats:
        """
        The last model as one of this problem.

        Parameters
        ----------
        problem : ChainProblem
            With the scorer of `bind`.
        model : SequenceModel
            Its anchors must be among the tokens of `features`, where they were.
        features : Features or DenseFeatures
        """
        try:
            at = model.featurizer.positions(features)
        except ValueError as error:
            raise ValueError(
                "warm_start=True: a kernel model goes on with its own training data, "
                f"to which sequences may be added at the end; {error}"
            ) from None
        n_labels = len(model.labels)
        beta = np.zeros((len(self.scorer.gram), n_labels))
        beta[at] = model.weights[: at.size * n_labels].reshape(-1, n_labels)
        rest = model.weights[at.size * n_labels :]
        return problem.expand(np.append(beta, rest))

    def within_budget(self, weights: Floats, n_labels: int) -> Floats:
        """Weights on no more anchors than allowed; themselves if they are so."""
        if self.budget is None:
            return weights
        at = len(self.scorer.gram) * n_labels
        beta = weights[:at].reshape(-1, n_labels)
        small = keep_within(self.scorer.gram, beta, self.budget, self.over_budget)
        return weights if small is beta else np.append(small, weights[at:])

    def certify(
        self, problem: Any, objective: Objective, before: Certificate, weights: Floats
    ) -> Certificate:
        """What is known of a smaller model; the dual of the whole one is not its."""
        after = certify(problem, objective, problem.expand(weights))
        return replace(
            after,
            oracle_calls=before.oracle_calls + after.oracle_calls,
            stopped=before.stopped,
            note=f"on a budget of {self.budget} anchors; the objective was "
            f"{before.primal:.6g} without it",
        )

    def keep_anchors(
        self,
        base: Any,
        weights: Floats,
        n_labels: int,
        tokens: Callable[[int], list[str]],
    ) -> tuple[AnchorFeaturizer, Floats]:
        """Anchors that carry weight, and the weights of a model over them alone."""
        n_tokens = int(self.offset[-1])
        at = n_tokens * n_labels
        beta = weights[:at].reshape(-1, n_labels)
        kept: Ints = np.flatnonzero(beta.any(axis=1))
        row = np.searchsorted(self.offset, kept, side="right") - 1
        place = np.stack([row, kept - self.offset[row]], axis=1).astype(np.int64)
        shown = {int(i): tokens(int(i)) for i in np.unique(row)}
        words = [shown[i][t] for i, t in place.tolist()]
        anchors = self.kernel.input_family().select(self.rows, kept)
        featurizer = AnchorFeaturizer(
            base, self.kernel, anchors, place, words, self.scorer.gram.dtype.name
        )
        return featurizer, np.concatenate([beta[kept].ravel(), weights[at:]])
