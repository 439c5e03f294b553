"""Estimators whose model has a file: `save` and `load`."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from copy import copy
from dataclasses import dataclass, field
from os import PathLike
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.utils.metaestimators import available_if

from partwise.bounds import as_list
from partwise.metrics import metric as find_metric
from partwise.outputs.estimator import StructuredEstimator, as_object_array
from partwise.outputs.json_parameters import portable_parameters
from partwise.outputs.labels import check_labels
from partwise.outputs.scoring import WARM, ScoringFit
from partwise.protocol import Floats, Support
from partwise.readers.refusals import refuse_single


@dataclass(eq=False, repr=False, kw_only=True)
class SavedEstimator(StructuredEstimator):
    """A `StructuredEstimator` whose fit ends in a model, ``model_``, with a file.

    The model's `info` holds its certificate. `save` adds the settings, from which
    `verify` rebuilds the objective; the history; and the parameters, with which a
    loaded estimator can be fitted again. Parameters that no file can hold (functions,
    solvers, arrays) are left out: a loaded estimator has their defaults.
    """

    model_: Any = field(init=False)
    _weighted: bool = field(init=False)  # whether examples had weights of their own
    model_class: ClassVar[Any]
    keeps_dual: ClassVar[bool] = False  # whether models have support structures
    unit: ClassVar[str] = "sentence"  # what an example is called in messages
    # parameters among the settings of a model file
    settings_names: ClassVar[tuple[str, ...]] = (
        "C", "loss", "formulation", "penalty", "random_state",
    )  # fmt: skip
    # Parameters that `load` takes as the user gave them, not as `fit` resolved them in
    # the model. None of them may change the layout of weights, which a warm start uses.
    as_given: ClassVar[tuple[str, ...]] = ()

    def save(self, path: str | PathLike[str], *, keep_dual: bool = False) -> None:
        """Write the model to a safetensors file, atomically.

        Parameters
        ----------
        path : path
        keep_dual : bool
            Also keep the support structures, so that `verify` can recompute the dual,
            where the model has any.
        """
        from partwise.model_file import save_model

        model = self.described_model()
        model.support = model.support if keep_dual else None
        save_model(model, path)

    def described_model(self) -> Any:
        """The model with everything that its file holds about the training."""
        self._check_fitted()
        model = copy(self.model_)
        model.info = dict(model.info)
        model.info["parameters"] = portable_parameters(self.get_params(deep=False))
        if hasattr(self, "objective_"):  # else loaded: `info` is that of the file
            model.info |= {
                "settings": self._settings(),
                "history": [list(point) for point in self.history_],
                "n_iter": self.n_iter_,
            }
        return model

    def _settings(self) -> dict[str, Any]:
        """Settings of the training, from which `verify` rebuilds the objective."""
        settings = {name: getattr(self, name) for name in self.settings_names}
        return settings | {
            "C": float(self.objective_.weight.sum()),
            "n_examples": len(self.objective_.weight),
            "weighted": self._weighted,
            "solver": type(self.solver_).__name__,
        }

    @property
    def _last_model(self) -> Any:
        """The model that a warm start goes on with; None without one."""
        return getattr(self, "model_", None) if self.warm_start else None

    def _learn(
        self,
        model: Any,
        problem: Any,
        fit: ScoringFit,
        sample_weight: Any = None,
        support: Callable[[Support], Any] | None = None,
    ) -> Floats:
        """
        Learn the scoring and the weights of a model.

        Parameters
        ----------
        model : WeightedModel
        problem : Problem
        fit : ScoringFit
            The data it was packed from.
        sample_weight : array (n_examples,) or None
        support : callable, optional
            From the dual to what the model keeps of it, where the solver has a dual
            and its planes make up the weights.

        Returns
        -------
        array (n_weights,)
            In the plain layout of the problem, within the user's budget.
        """
        last = self._last_model
        start = None if last is None else fit.start(problem, last)
        state, dual = self._solve(problem, sample_weight, start)
        solution = problem.compact(state.model)
        weights, self.certificate_ = fit.within_budget(
            problem, solution, self.objective_, self.certificate_
        )
        if support is not None and dual is not None and weights is solution:
            model.support = support(dual)
        model.scoring, model.weights = fit.finish(problem, weights)
        return weights

    def _keep(self, model: Any, *stages: str) -> Self:
        """Keep a trained model, with its certificate, as ``model_``.

        The checkpoints of the fit, and of its further `stages`, are deleted.
        """
        model.info = {"certificate": self.certificate_.to_dict()}
        self.model_ = model
        self._remove_checkpoints(*stages)
        return self

    def _learn_weights(
        self,
        model: Any,
        problem: Any,
        sample_weight: Any = None,
        first: Floats | None = None,
    ) -> Self:
        """
        Learn the weights of a model that has one per feature; keep it as ``model_``.

        Parameters
        ----------
        model : WeightedModel
        problem : PackedProblem
        sample_weight : array (n_examples,) or None
        first : array (n_features,), optional
            Weights to begin with; else those of the last model, if it goes on.
        """
        check_labels(model.labels)
        last = self._last_model
        if last is not None:
            n_weights = len(problem.compact(problem.zero()))
            if len(last.weights) != n_weights:
                raise ValueError(
                    f"{WARM}, which has {len(last.weights)} features, but X has "
                    f"{n_weights}"
                )
        self._weighted = sample_weight is not None
        weights = last.weights if first is None and last is not None else first
        start = None if weights is None else problem.expand(weights)
        state, _ = self._solve(problem, sample_weight, start)
        model.weights = problem.compact(state.model)
        return self._keep(model)

    # ---------------------------------------------------------------- prediction

    @abstractmethod
    def predict(self, X: Any) -> np.ndarray:
        """Best outputs: a 1-D object array."""

    @staticmethod
    def is_empty(x: Any) -> bool:
        """Whether a sequence has no tokens; no sequence at all is refused elsewhere."""
        if hasattr(x, "shape"):
            return x.shape[:1] == (0,)
        return hasattr(x, "__len__") and len(x) == 0

    def _predict(
        self, X: Any, empty: Any, given: Any = None, **settings: Any
    ) -> np.ndarray:
        """
        Outputs of all sequences, of which some may have no tokens.

        Parameters
        ----------
        X : sequences
        empty : output
            That of a sequence without tokens.
        given : list, optional
            What is known of each output.
        **settings
            Further ones of the model's `predict`.
        """
        self._check_fitted()
        X = as_list(X)
        refuse_single(X, self.unit)
        settings["n_jobs"], rows = self._n_jobs(), None
        if isinstance(X, list | np.ndarray):
            rows = [i for i, x in enumerate(X) if not self.is_empty(x)]
        if rows is None or len(rows) == len(X):
            return as_object_array(self.model_.predict(X, given=given, **settings))
        known = None if given is None else [given[i] for i in rows]
        predicted = self.model_.predict([X[i] for i in rows], given=known, **settings)
        outputs = [copy(empty) for _ in X]
        for i, output in zip(rows, predicted, strict=True):
            outputs[i] = output
        return as_object_array(outputs)

    @available_if(lambda self: hasattr(self.model_class, "predict_topk"))
    def predict_topk(self, X: Any, k: int) -> np.ndarray:
        """The k best outputs of each example, best first, as (output, score) pairs.

        At most 100,000 of them. Scores are log-probabilities of a model that was
        trained with ``loss="log"``, or calibrated.
        """
        self._check_fitted()
        return as_object_array(
            self.model_.predict_topk(as_list(X), k, n_jobs=self._n_jobs())
        )

    @available_if(lambda self: hasattr(self.model_class, "marginals"))
    def predict_marginals(self, X: Any) -> list[Floats]:
        """Probabilities of parts, an array per example.

        Label at token, (n_tokens, n_labels); arc from h to d, (n + 1, n + 1); bracket
        over words i to j, (n + 1, n + 1, n_labels).

        They are probabilities of a model that was trained with ``loss="log"``, or after
        `calibrate`. Scores of ``loss="hinge"`` keep a margin and do not fit
        frequencies: without `calibrate` use them to compare, not as probabilities.
        """
        self._check_fitted()
        return self.model_.marginals(as_list(X), n_jobs=self._n_jobs())

    @available_if(lambda self: hasattr(self.model_class, "marginals"))
    def confidence(self, X: Any) -> Floats:
        """P(predicted output) of each example, (n_examples,), by the model.

        See `predict_marginals` for what models have probabilities.
        """
        self._check_fitted()
        return self.model_.confidence(as_list(X), n_jobs=self._n_jobs())

    @available_if(lambda self: hasattr(self.model_class, "marginals"))
    def calibrate(self, X: Any, y: Any) -> Self:
        """
        Fit the temperature T of P(y) ∝ exp(score/T) by the likelihood of other data.

        `predict_marginals`, `confidence` and `predict_topk` use it from now on, also
        after `save` and `load`; predictions and scores do not change. `fit` sets T = 1
        again.

        Parameters
        ----------
        X, y : as in `fit`
            Examples that the model was not trained on; on its training examples the
            model would be overconfident.
        """
        self._check_fitted()
        self.model_.calibrate(as_list(X), as_list(y), n_jobs=self._n_jobs())
        return self

    @available_if(lambda self: hasattr(self.model_class, "margin"))
    def margin(self, X: Any) -> Floats:
        """Score of the best output and its lead over the second, (n_examples, 2)."""
        self._check_fitted()
        return self.model_.margin(as_list(X), n_jobs=self._n_jobs())

    @available_if(lambda self: hasattr(self.model_class, "explain"))
    def explain(self, x: Any, top: int = 10) -> Any:
        """Why the best output of one input won, by the `top` largest reasons."""
        self._check_fitted()
        return self.model_.explain(x, top=top)

    def score(self, X: Any, y: Any) -> float:
        """The estimator's `metric` of its predictions."""
        predicted = list(self.predict(X))
        return float(find_metric(self._metric()).function(list(y), predicted))

    def _metric(self) -> str:
        """Name of the metric that `score` measures."""
        return self.metric

    @property
    def coef_(self) -> Any:
        """Weights, in the order of ``feature_names_`` where features have names."""
        return self.model_.weights

    @property
    def feature_names_(self) -> list[str]:
        """Names of the features, or of the anchors of a kernel, as in ``coef_``."""
        return self.model_.feature_names

    # --------------------------------------------------------------------- files

    @classmethod
    def load(cls, path: str | PathLike[str]) -> Self:
        """Read a model that `save` or the command line wrote."""
        from partwise.model_file import load_model

        model: Any = load_model(path)
        kinds = cls._model_classes()
        if not isinstance(model, kinds):
            raise ValueError(
                f"{path} holds a {type(model).__name__}, not a {kinds[0].__name__}; "
                "partwise.load reads models of all kinds"
            )
        estimator = cls(**cls._parameters_in(model))
        estimator.model_ = model
        estimator._recall_training(model.info)
        return estimator

    @classmethod
    def _model_classes(cls) -> tuple[Any, ...]:
        """Models that `load` takes."""
        return (cls.model_class,)

    @classmethod
    def _parameters_in(cls, model: Any) -> dict[str, Any]:
        """The estimator's parameters as stored in a file of perhaps unknown source."""
        settings = model.info.get("settings", {})
        stated = {n: settings[n] for n in cls.settings_names if n in settings}
        given = portable_parameters(model.info.get("parameters", {}))
        resolved = cls._parameters_of(model)
        for name in given.keys() & set(cls.as_given):
            resolved.pop(name, None)
        names = cls._get_param_names()
        parameters = stated | given | resolved
        return {name: value for name, value in parameters.items() if name in names}

    @classmethod
    def _parameters_of(cls, model: Any) -> dict[str, Any]:
        """The estimator's parameters that follow from the model itself."""
        return {**model.structure.get_params(), **model.scoring.parameters()}
