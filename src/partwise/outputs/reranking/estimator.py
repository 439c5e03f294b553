"""`Reranker`: choose among the candidates of another model."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from os import PathLike
from typing import Any, NamedTuple, Self

import numpy as np

from partwise.bounds import MAX_FEATURE, check_magnitude
from partwise.features.dicts import DictFeaturizer
from partwise.kernels.gram import gram
from partwise.kernels.naming import as_kernel
from partwise.kernels.positive import refuse_indefinite
from partwise.metrics import metric as find_metric
from partwise.outputs.estimator import as_object_array
from partwise.outputs.model import check_k
from partwise.outputs.reranking.model import RerankerModel, base_scores, describe
from partwise.outputs.saved_estimator import SavedEstimator
from partwise.parameters import SettingsError
from partwise.protocol import Floats, Ints
from partwise.solvers import Abilities
from partwise.structures.candidates import Ballot, CandidateProblem, Ranked, check_lists


class RankExplanation(NamedTuple):
    """Why a candidate won: shares of its lead over the runner-up, largest first."""

    winner: Any
    runner_up: Any
    lead: float
    base: float  # share of the base score
    anchors: list[tuple[int, int, float]]  # training example, candidate in it, share


@dataclass(eq=False, repr=False, kw_only=True)
class Reranker(SavedEstimator):
    """Choose among candidates by a kernel, or features, and the base model's score.

    A base model (a grammar, a tagger) proposes a few outputs with scores; the reranker
    learns which of them to take, from parts that the base model cannot see, such as all
    fragments of a tree. Of each training example the best candidate by `metric` is the
    truth, and what another lacks is its loss.

    Parameters
    ----------
    kernel : str, Kernel, callable or None
        On candidates, as in ``"normalized(tree)"``; with `features` on their rows,
        linear by default.
    features : callable or None
        Features of a candidate, a dict, instead of the candidate itself.
    base : fitted estimator or None
        With ``predict_topk``: X are its inputs, and it proposes the candidates. Inputs
        for which it has none are not trained on; `predict` takes its prediction.
        Without it, X is a list of lists of pairs (candidate, score).
    n_candidates : int
        Candidates to ask `base` for.
    metric : str or callable
        How good a candidate is: a name of `partwise.metrics`, or a function of the true
        output and the candidate; larger is better.
    base_scale : float
        Factor of the base score among the features; 0 leaves it out.
    C, formulation, penalty, solver, tol, eps, max_iter, time_limit, random_state
        See `StructuredEstimator`. ``solver="voted_perceptron"`` is that of Collins and
        Duffy: scores are shares of the votes of all models that training went through.

    Attributes
    ----------
    n_left_out_ : int
        Training examples for which `base` had no candidate.

    Examples
    --------
    >>> def tree(label):
    ...     return ("S", (("V", ("see",)), (label, (("N", ("cats",)),))))
    >>> X = [[(tree("PP"), 0.1), (tree("NP"), 0.0)]] * 2
    >>> y = [tree("NP")] * 2
    >>> reranker = Reranker("normalized(tree)", C=10.0).fit(X, y)
    >>> reranker.predict(X)[0] == y[0]
    True
    """

    kernel: Any = field(default=None, kw_only=False)
    features: Any = None
    base: Any = None
    n_candidates: int = 20
    metric: Any = "exact_match"
    base_scale: float = 1.0
    C: float | None = field(default=None, kw_only=True)
    solver: Any = "bcfw"

    model_: RerankerModel = field(init=False)
    n_left_out_: int = field(init=False)
    abilities = Abilities(can_vote=True)
    model_class = RerankerModel

    def fit(self, X: Any, y: Sequence[Any], sample_weight: Any = None) -> Self:
        """Learn which candidate to take.

        Parameters
        ----------
        X : list of lists of (candidate, score), or inputs of `base`
        y : list of true outputs
            They need not be among the candidates.
        sample_weight : array (n,), optional
        """
        kernel = self._kernel()
        lists = self._proposals(X)
        if len(lists) != len(y):
            raise ValueError(f"X has {len(lists)} examples and y {len(y)}")
        is_given = self.base is None  # what has no candidate is then refused
        rows = [row for row, ranked in enumerate(lists) if is_given or len(ranked)]
        if not rows and not is_given:
            raise ValueError("base has no candidate for any example")
        self.n_left_out_ = len(lists) - len(rows)
        lists, y = [lists[row] for row in rows], [y[row] for row in rows]
        if sample_weight is not None:
            sample_weight = np.asarray(sample_weight)[rows]
        check_lists(lists)
        featurizer = None
        inputs: Any = [candidate for ranked in lists for candidate, _ in ranked]
        if self.features is not None:
            featurizer = DictFeaturizer()
            inputs = featurizer.fit_transform(describe(lists, self.features))
        base = self.base_scale * base_scores(lists)
        table = gram(kernel, inputs, n_jobs=self._n_jobs())
        refuse_indefinite(kernel, table)
        table += base[:, None] * base
        offset = np.append(0, np.cumsum([len(ranked) for ranked in lists]))
        quality = self._quality(lists, y)
        problem = CandidateProblem(table, offset, quality, self._formulation())
        self._weighted = sample_weight is not None
        state, _ = self._solve(problem, sample_weight)
        beta = problem.compact(state.model)
        anchors: Ints = np.flatnonzero(beta)
        ballot = None
        if self.solver_.is_voting:
            votes = self.solver_.votes(state)
            scaled = base * self.base_scale
            ballot, anchors = Ballot.create(votes, problem, anchors, scaled)
        row = np.searchsorted(offset, anchors, side="right") - 1
        place = np.stack([row, anchors - offset[row]], axis=1).astype(np.int64)
        self.model_ = RerankerModel(
            kernel, kernel.input_family().select(inputs, anchors), beta[anchors], place,
            float(np.sum(beta * base) * self.base_scale), featurizer, self.features,
            info={"certificate": self.certificate_.to_dict()}, ballot=ballot,
        )  # fmt: skip
        self._remove_checkpoints()
        return self

    def _kernel(self) -> Any:
        if self.kernel is None and self.features is None:
            raise SettingsError(
                "give <kernel=>, as in 'normalized(tree)', or <features=>, a function "
                "of a candidate"
            )
        kernel = as_kernel("linear" if self.kernel is None else self.kernel)
        family = type(kernel.input_family()).__name__
        if self.features is not None and family != "Vectors":
            raise SettingsError(
                f"<features=> are rows of numbers; {kernel} takes others"
            )
        return kernel

    def _proposals(self, X: Any) -> list[Ranked]:
        if self.base is None:
            return list(X)
        return list(self.base.predict_topk(X, self.n_candidates))

    def _candidates(self, X: Any) -> list[Ranked]:
        """Proposals; where `base` has none, its prediction stands for them."""
        lists = self._proposals(X)
        if self.base is not None:
            for row, ranked in enumerate(lists):
                if not len(ranked):
                    lists[row] = [(self.base.predict(X[row : row + 1])[0], 0.0)]
        check_lists(lists)
        return lists

    def _quality(self, lists: list[Ranked], y: Sequence[Any]) -> Floats:
        measure, values = self._measure(), []
        for ranked, truth in zip(lists, y, strict=True):
            values += [float(measure(truth, candidate)) for candidate, _ in ranked]
        check_magnitude(np.array(values), MAX_FEATURE, "metric")
        return np.array(values)

    def _measure(self) -> Any:
        if callable(self.metric):
            return self.metric
        function = find_metric(self.metric).function
        return lambda truth, candidate: function([truth], [candidate])

    # ---------------------------------------------------------------- prediction

    def predict(self, X: Any) -> np.ndarray:
        """The best candidate of each example, as a 1-D object array."""
        return as_object_array([ranked[0][0] for ranked in self._rank(X)])

    def predict_topk(self, X: Any, k: int) -> np.ndarray:
        """The k best candidates of each example with their new scores."""
        check_k(k)
        return as_object_array([ranked[:k] for ranked in self._rank(X)])

    def _rank(self, X: Any) -> list[Ranked]:
        self._check_fitted()
        return self.model_.rank(self._candidates(X), self._n_jobs())

    def margin(self, X: Any) -> Floats:
        """Score of the best candidate and its lead over the second, (n, 2)."""
        scores = ([score for _, score in ranked] for ranked in self._rank(X))
        return np.array([(s[0], s[0] - s[1] if len(s) > 1 else np.inf) for s in scores])

    def score(self, X: Any, y: Sequence[Any]) -> float:
        """Mean of `metric` over the chosen candidates."""
        measure = self._measure()
        pairs = zip(y, self.predict(X), strict=True)
        return float(np.mean([measure(truth, candidate) for truth, candidate in pairs]))

    def explain(self, x: Any, top: int = 10) -> RankExplanation:
        """Which training candidates, and how much of the base score, decided.

        Where models vote, winner and runner-up are theirs, and the shares those of the
        average of the models.

        Parameters
        ----------
        x : one list of (candidate, score), or one input of `base`
        top : int
            Number of training candidates to show.
        """
        self._check_fitted()
        lists = self._candidates([x])
        model, ranked = self.model_, lists[0]
        order, _ = model.orders(lists)[0]
        winner = ranked[order[0]]
        if len(ranked) == 1:
            return RankExplanation(winner[0], None, np.inf, 0.0, [])
        runner = ranked[order[1]]
        shares = np.zeros(0)
        if len(model.weights):
            values = gram(model.kernel, model.inputs([[winner, runner]]), model.anchors)
            shares = model.weights * (values[0] - values[1])
        base = model.base_weight * (winner[1] - runner[1])
        strongest = np.argsort(-np.abs(shares), kind="stable")[:top]
        anchors = [(*model.place[a].tolist(), float(shares[a])) for a in strongest]
        lead = float(np.sum(shares)) + base
        return RankExplanation(winner[0], runner[0], lead, base, anchors)

    # -------------------------------------------------------------------- files

    @classmethod
    def load(
        cls, path: str | PathLike[str], *, features: Any = None, base: Any = None
    ) -> Self:
        """Read a model that `save` wrote; `features` and `base` are yours to keep.

        Parameters
        ----------
        path : path
        features, base
            As the model was trained with. A metric that is a function is not kept:
            ``set_params(metric=...)`` gives it back.
        """
        reranker = super().load(path)
        if reranker.model_.featurizer is not None and features is None:
            raise SettingsError(
                f"{path} needs <features=>, the function it was trained with"
            )
        reranker.model_.features = features
        return reranker.set_params(features=features, base=base)

    @classmethod
    def _parameters_of(cls, model: RerankerModel) -> dict[str, Any]:
        return {"kernel": model.kernel}
