"""Base classes of trained models: scores, k best, margins, probabilities."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from numbers import Integral
from typing import Any, ClassVar

import numpy as np

from partwise.objective import Formulation
from partwise.parameters import ParameterError, level_of_caller
from partwise.protocol import Cuts, Floats, Ints, Marginals, refuse_lacking

# beyond it all outputs are equally probable, and below its inverse one is certain
MAX_TEMPERATURE = 1e4
MAX_K = 100_000  # best outputs of an example; tables of decoders grow with them


class WeightedModel:
    """Weights, and how parts of outputs are scored by them.

    Parameters
    ----------
    scoring : Scoring
        Of the output; see `partwise.outputs.scoring`.
    structure : Structure
    labels : list
        The user's label for each number; empty where there are none.
    weights : array (n_weights,)
    info : dict
        Certificate, settings and history, as a model file holds them: JSON.
    support : SupportSet or the like, optional
        The support structures of the dual.
    """

    name: ClassVar[str]  # of the kind of its model file, with features

    def __init__(
        self,
        scoring: Any,
        structure: Any,
        labels: Sequence[Any],
        weights: Floats,
        info: dict[str, Any] | None = None,
        support: Any = None,
    ) -> None:
        self.scoring = scoring
        self.structure = structure
        self.labels = list(labels)
        self.weights = weights
        self.info = info or {}
        self.support = support

    @property
    def kind(self) -> str:
        """Name of the kind of its model file, without the version."""
        return f"{self.scoring.prefix}{self.name}"

    @property
    def featurizer(self) -> Any:
        """Makes the features of parts; None where the model looks at none."""
        return self.scoring.featurizer

    @property
    def feature_names(self) -> list[str]:
        """Names of the features, in the order of the weights."""
        return self.scoring.feature_names

    def weights_by_label(self) -> Iterator[tuple[str, list[str], Floats]]:
        """For each label, the names of features and their weights."""
        return iter(())


class ScoredModel(WeightedModel):
    """A structure whose outputs are decoded from the scores of their parts."""

    def problems(self, X: Any, n_jobs: int = 1) -> Iterator[Any]:
        """Packed inputs to decode: all at once, or in turn what fits in memory."""
        if len(X):
            yield self.training_problem(X, None, n_jobs=n_jobs)  # type: ignore[attr-defined]

    def ranked(
        self, X: Any, k: int, n_jobs: int = 1, *, as_log_probability: bool = False
    ) -> Iterator[list[tuple[Any, float]]]:
        """Codes of the k best outputs of each example with their scores, best first.

        Or with log P(output) = score/T − log Z, where T is the `temperature`.
        """
        check_k(k)
        for problem in self.problems(X, n_jobs):
            weights = self.tempered_weights if as_log_probability else self.weights
            model = problem.expand(weights)
            try:
                answers = problem.k_best(model, k)
            except MemoryError:
                remedy = "takes more memory than there is, give a smaller number"
                raise ParameterError("k", k, remedy) from None
            if not as_log_probability:
                yield from answers
                continue
            log_z = log_partitions(problem, model).tolist()
            for ranked, total in zip(answers, log_z, strict=True):
                yield [(code, normalised(score, total)) for code, score in ranked]

    def margin(self, X: Any, *, n_jobs: int = 1) -> Floats:
        """Score of the best output and its lead over the second, (n_examples, 2).

        −inf and 0 where there is no output.
        """
        rows = []
        for ranked in self.ranked(X, 2, n_jobs):
            scores = [score for _, score in ranked]
            lead = scores[0] - scores[1] if len(scores) > 1 else np.inf
            rows.append((scores[0], lead) if scores else (-np.inf, 0.0))
        return np.reshape(np.array(rows), (-1, 2))

    # -------------------------------------------------------------- probabilities

    @property
    def temperature(self) -> float:
        """T of P(output) ∝ exp(score/T): 1, or the result of `calibrate`."""
        return float(self.info.get("temperature", 1.0))

    @property
    def tempered_weights(self) -> Floats:
        """Weights divided by the temperature; their scores are log-probabilities."""
        temperature = self.temperature
        return self.weights if temperature == 1 else self.weights / temperature

    @property
    def has_probabilities(self) -> bool:
        """Whether exp(score/T) was fitted: by ``loss="log"``, or by `calibrate`."""
        certificate = self.info.get("certificate", {})
        return "temperature" in self.info or certificate.get("penalty") == "log"

    def confidence(self, X: Any, *, n_jobs: int = 1) -> Floats:
        """P(predicted output) of each example, (n_examples,); 0 where there is none."""
        best = self.ranked(X, 1, n_jobs, as_log_probability=True)
        return np.array([np.exp(ranked[0][1]) if ranked else 0.0 for ranked in best])

    def truth_problems(self, X: Any, y: Any, n_jobs: int = 1) -> Iterator[Any]:
        """Packed examples with their true outputs, which need not be those of a fit."""
        yield self.training_problem(X, y, Formulation(), n_jobs)  # type: ignore[attr-defined]

    def calibrate(self, X: Any, y: Any, *, n_jobs: int = 1) -> float:
        """
        Set the temperature T that makes true outputs most likely; returns it.

        Minimises Σ_i log Z_i(w/T) − score(y_i)/T over T. In 1/T this is convex, so the
        search finds the optimum, from 1/10000 to 10000, or down to where sums of
        exp(score/T) leave the range of numbers. Weights and predictions stay. Where all
        predictions are right there is no optimum, which a warning says.

        Parameters
        ----------
        X, y : examples that were not trained on, and their outputs
        n_jobs : int
        """
        from scipy.optimize import minimize_scalar

        problems = list(self.truth_problems(X, y, n_jobs))
        if not problems:
            raise ValueError("no examples to calibrate with")
        truths, n_wrong = [], 0  # scores of the true outputs
        for problem in problems:
            model = problem.expand(self.weights)
            best = [ranked[0][1] for ranked in problem.k_best(model, 1)]
            lag = problem.margins(model, problem.predict_codes(model))
            truths.append(best + lag)
            n_wrong += int(np.count_nonzero(lag))
        if not n_wrong:
            warnings.warn(
                "all predictions are right, so likelihood grows as the temperature "
                "falls, and probabilities will be near 0 and 1; calibrate with more "
                "examples that were not trained on",
                stacklevel=level_of_caller(),
            )
        refusals: list[ValueError] = []

        def loss(log_temperature: float) -> float:
            scale, total = np.exp(-log_temperature), 0.0
            for problem, truth in zip(problems, truths, strict=True):
                model = problem.expand(self.weights * scale)
                try:
                    log_z = log_partitions(problem, model)
                except ValueError as error:  # sums beyond the range of numbers
                    refusals.append(error)
                    return np.inf
                total += float(np.sum(log_z - scale * truth))
            return total if np.isfinite(total) else np.inf

        span = float(np.log(MAX_TEMPERATURE))
        with np.errstate(invalid="ignore"):  # differences of infinite losses
            optimum = minimize_scalar(
                loss, bounds=(-span, span), method="bounded", options={"xatol": 1e-6}
            )
        if not np.isfinite(optimum.fun):  # at any temperature
            raise refusals[0] if refusals else ValueError("scores beyond all numbers")
        self.info["temperature"] = float(np.exp(optimum.x))
        return self.temperature


class LabelledModel(ScoredModel):
    """Outputs are labels of tokens or nodes, known by their numbers."""

    def _name(self, codes: Ints) -> list[Any]:
        return [self.labels[c] for c in codes]

    def predict_topk(
        self, X: Any, k: int, *, n_jobs: int = 1
    ) -> list[list[tuple[Any, float]]]:
        """The k best outputs of each example with their scores, best first.

        With log-probabilities, where the model `has_probabilities`.
        """
        answers = self.ranked(X, k, n_jobs, as_log_probability=self.has_probabilities)
        return [
            [(self._name(codes), score) for codes, score in ranked]
            for ranked in answers
        ]

    def marginals(self, X: Any, *, n_jobs: int = 1) -> Any:
        """P(label at token or node) ∝ exp(score/T), (n, n_labels) for each example.

        Of a model that was trained with ``loss="hinge"`` and not calibrated these are
        no probabilities: its scores keep a margin, they do not fit frequencies.
        """
        answers: list[Floats] = []
        for problem in self.problems(X, n_jobs):
            node, _ = problem.marginals(problem.expand(self.tempered_weights))
            answers += np.split(node, problem.blocks.offset[1:-1])
        return answers


def check_k(k: Any, name: str = "k") -> None:
    """Refuse numbers of best outputs that no model can give."""
    if not isinstance(k, Integral) or not 1 <= int(k) <= MAX_K:
        raise ParameterError(name, k, f"give a whole number from 1 to {MAX_K:,}")


def log_partitions(problem: Any, model: Any) -> Floats:
    """The logarithm of Z, the sum of exp(score) over all outputs, of each example."""
    refuse_lacking(problem, Marginals, "a probability", "use scores and margins")
    return np.asarray(problem.marginals(model)[1])


def normalised(score: float, log_z: float | None) -> float:
    """The log-probability of a score, at most 0; the score itself without log Z."""
    return score if log_z is None else min(score - log_z, 0.0)


def one_cut(output: Ints) -> Cuts:
    """The plane φ(truth) − φ(output) of the only example."""
    one, indptr = np.ones(1), np.array([0, len(output)])
    return Cuts(np.zeros(1, np.int64), one, one, one, one, indptr, output)


def stepwise_shares(problem: Any, model: Floats, other: Ints) -> tuple[Ints, Floats]:
    """Divide the lead of the truth over another output among the tokens that differ.

    The truth is changed into the other output token by token. The share of a token is
    what the score loses in its step, so the shares add up to the lead, whatever the
    parts are. The problem has one example.

    Parameters
    ----------
    problem : PackedProblem
        Its codes have a number for each token.
    model : array (n_weights,)
        Of the problem.
    other : int array (n_tokens,)

    Returns
    -------
    changed : int array (m,)
        Tokens.
    shares : array (m,)
    """
    truth = problem.blocks.y
    changed = np.flatnonzero(truth != other)
    stages = np.tile(truth, (len(changed), 1))
    for k, t in enumerate(changed):
        stages[k:, t] = other[t]
    one, indptr = np.ones(len(changed)), np.arange(len(changed) + 1) * len(truth)
    block = np.zeros(len(changed), np.int64)
    code: Ints = stages.ravel().astype(np.int32)
    leads = problem.margins(model, Cuts(block, one, one, one, one, indptr, code))
    return changed, np.diff(leads, prepend=0.0)
