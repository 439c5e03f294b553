"""Estimators whose model has a file: `save` and `load`."""

from __future__ import annotations

from abc import abstractmethod
from copy import copy
from os import PathLike
from typing import Any, ClassVar, Self

from partwise.certificate import Certificate
from partwise.estimators.base import StructuredEstimator
from partwise.protocol import HistoryPoint


class SavedEstimator(StructuredEstimator):
    """A `StructuredEstimator` that keeps all it has learnt in ``model_``.

    The model's `info` tells its certificate; `save` adds the settings, so that `verify`
    can rebuild the objective, and the history.
    """

    model_: Any
    loss: str  # "hinge" or "log"
    _weighted: bool  # whether examples had weights of their own
    model_class: ClassVar[Any]
    told: ClassVar[tuple[str, ...]] = (
        "C", "loss", "formulation", "penalty", "random_state",
    )  # fmt: skip

    def _penalty(self) -> str:
        return "log" if self.loss == "log" else super()._penalty()

    def save(self, path: str | PathLike[str], *, keep_dual: bool = False) -> None:
        """Write the model to a safetensors file, atomically.

        Parameters
        ----------
        path : path
        keep_dual : bool
            Also keep the support structures, so that `verify` can recompute the dual.
        """
        from partwise.model_file import save_model

        self._check_fitted()
        model = copy(self.model_)
        model.info = dict(model.info)
        model.support = model.support if keep_dual else None
        if hasattr(self, "objective_"):  # a loaded estimator has told all this already
            model.info |= {
                "settings": self._settings(),
                "history": [list(point) for point in self.history_],
                "n_iter": self.n_iter_,
            }
        save_model(model, path)

    def _settings(self) -> dict[str, Any]:
        """What `verify` needs to rebuild the objective, and people like to know."""
        settings = {name: getattr(self, name) for name in self.told}
        return settings | {
            "C": float(self.objective_.weight.sum()),
            "n_examples": len(self.objective_.weight),
            "weighted": self._weighted,
            "solver": type(self.solver_).__name__,
        }

    @classmethod
    def load(cls, path: str | PathLike[str]) -> Self:
        """Read a model that `save` or the command line wrote."""
        from partwise.model_file import load_model

        model: Any = load_model(path)
        wanted = cls.model_class
        if not isinstance(model, wanted):
            raise ValueError(
                f"{path} holds a {type(model).__name__}, not a {wanted.__name__}"
            )
        settings = model.info.get("settings", {})
        told = {name: settings[name] for name in cls.told if name in settings}
        estimator = cls(**cls._parameters_of(model), **told)
        estimator.model_ = model
        estimator.certificate_ = Certificate.from_dict(model.info["certificate"])
        history = model.info.get("history", [])
        estimator.history_ = [HistoryPoint(*row) for row in history]
        estimator.n_iter_ = model.info.get("n_iter", 0)
        return estimator

    @classmethod
    @abstractmethod
    def _parameters_of(cls, model: Any) -> dict[str, Any]:
        """The estimator's parameters that a model knows by itself."""
