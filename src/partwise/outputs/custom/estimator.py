"""`StructuredSVM`: learning for a structure that the user wrote."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from os import PathLike
from typing import Any, NamedTuple, Self

import numpy as np
from sklearn.base import clone

from partwise.bounds import check_list
from partwise.kernels.base import same_kernel
from partwise.model_file import load_model, save_model
from partwise.outputs.custom.model import WeightsModel
from partwise.outputs.estimator import StructuredEstimator, as_object_array
from partwise.outputs.json_parameters import portable_parameters
from partwise.protocol import Structure, Support, offers
from partwise.solvers import Abilities
from partwise.structures.joint_kernel import KernelModel
from partwise.structures.loop import TwoBest, sparse_feature
from partwise.structures.parts import PartSelection
from partwise.structures.parts.kernel import PartExpansion


class Lead(NamedTuple):
    """Winner against runner-up: (coordinate of Ψ, its share of the lead), largest."""

    winner: Any
    runner_up: Any
    lead: float
    reasons: list[tuple[int, float]]


@dataclass(eq=False, repr=False, kw_only=True)
class StructuredSVM(StructuredEstimator):
    """Maximum-margin learning over any output space.

    Parameters
    ----------
    structure : Structure or JointKernel
        Joint feature map, loss and the two maximisations, for one example; see
        `partwise.Structure`. With a kernel on pairs instead of features, see
        `partwise.JointKernel`. It is cloned, never changed.
    C : float or None
        Weight of the losses; None stands for a tenth of the number of examples.
    loss, formulation, penalty, solver, tol, eps, max_iter, time_limit, random_state
        See `StructuredEstimator`. ``loss="log"`` needs ``solver="lbfgs"``. What the
        structure lacks for a formulation is refused by name before any work.

    Attributes
    ----------
    coef_ : array (n_psi,), KernelModel or PartExpansion
        Weights of features; of a joint kernel, pairs with their coefficients; of
        `PartSelection` with a kernel, parts of the training data with theirs.
    structure_ : Structure, set up

    Examples
    --------
    >>> import numpy as np
    >>> from partwise import Chain, StructuredSVM
    >>> X = [np.eye(2)[[0, 1, 0]], np.eye(2)[[1, 1]]]
    >>> svm = StructuredSVM(Chain(2), C=10.0).fit(X, [[0, 1, 0], [1, 1]])
    >>> [y.tolist() for y in svm.predict(X)]
    [[0, 1, 0], [1, 1]]
    """

    structure: Any = field(default=None, kw_only=False)
    C: float | None = field(default=None, kw_only=True)
    solver: Any = "bcfw"

    coef_: Any = field(init=False)
    abilities = Abilities(("generative",))  # where the structure has one
    structure_: Structure = field(init=False)

    def fit(
        self, X: Sequence[Any], y: Sequence[Any], sample_weight: Any = None
    ) -> Self:
        """Learn from inputs and outputs of the structure.

        Parameters
        ----------
        X, y : sequences of equal length
            Inputs and true outputs, as the structure's methods take them.
        sample_weight : array (n,), optional
        """
        return self._fit(X, y, sample_weight)

    def _fit(
        self,
        X: Sequence[Any],
        y: Sequence[Any],
        sample_weight: Any,
        begin: Callable[[Any, Any], Any] | None = None,
    ) -> Self:
        """Fit; ``begin(problem, start)`` may choose another model to start from."""
        self.check_parameters()
        if not isinstance(self.structure, Structure):
            given = self.structure
            is_class = isinstance(given, type)
            what = f"the class {given.__name__}" if is_class else repr(given)
            raise TypeError(
                f"structure is {what}; give an instance of a class derived from "
                "partwise.Structure"
            )
        check_list(X, "inputs")
        if len(X) != len(y):
            raise ValueError(f"X has {len(X)} examples and y {len(y)}")
        if not len(X):
            raise ValueError("there is no example to learn from")
        previous = self.coef_ if self.warm_start and hasattr(self, "coef_") else None
        structure = clone(self.structure).setup(X, y)
        if structure is None:
            name = type(self.structure).__name__
            raise ValueError(f"{name}.setup returned None; end it with `return self`")
        if not hasattr(structure, "n_psi_"):
            raise ValueError(
                f"{type(structure).__name__}.setup must set n_psi_, the length of Ψ"
            )
        problem = structure.pack(X, y, self._formulation(), n_jobs=self._n_jobs())
        start = None if previous is None else problem.expand(previous)
        if begin is not None:
            start = begin(problem, start)
        state, support = self._solve(problem, sample_weight, start)
        self.structure_ = structure
        self.coef_ = problem.compact(state.model)
        self._support = (problem, support)
        self._remove_checkpoints()
        return self

    def predict(self, X: Sequence[Any]) -> np.ndarray:
        """Best outputs, as a 1-D object array."""
        self._check_fitted()
        check_list(X, "inputs")
        return as_object_array(list(self.structure_.decode(X, self.coef_)))

    def score(self, X: Sequence[Any], y: Sequence[Any]) -> float:
        """Minus the mean loss, so that larger is better."""
        pairs = zip(y, self.predict(X), strict=True)
        return -float(np.mean([self.structure_.loss(a, b) for a, b in pairs]))

    def margin(self, X: Sequence[Any]) -> np.ndarray:
        """Score of the best output and its lead over the second, (n, 2).

        The structure must offer ``two_best``.
        """
        rows = []
        for x in X:
            first, *rest = (self._value(x, y) for y in self._two_best(x, "margin"))
            rows.append((first, first - rest[0] if rest else np.inf))
        return np.array(rows)

    def _two_best(self, x: Any, caller: str) -> list[Any]:
        """The best output of an input, and the second best where there is one."""
        self._check_fitted()
        structure: Any = self.structure_
        if not offers(structure, TwoBest):
            raise ValueError(
                f"{caller} needs `two_best(x, w)`, which {type(structure).__name__} "
                "lacks"
            )
        is_linear = isinstance(self.coef_, np.ndarray)
        model = self.coef_ if is_linear else self.coef_.at(x)
        return list(structure.two_best(x, model))

    def _value(self, x: Any, y: Any) -> float:
        if not isinstance(self.coef_, np.ndarray):
            return self.coef_.score(x, y)
        psi = self.structure_.joint_feature(x, y)
        index, value = sparse_feature(psi, len(self.coef_))
        return float(np.sum(self.coef_[index] * value))

    def explain(self, x: Any, top: int = 10) -> Lead:
        """Why the best output won: the coordinates of Ψ that decide.

        The structure must offer ``two_best``. The coordinates of a joint kernel are the
        pairs of `coef_`, those of a kernel on parts its anchors: parts of training
        examples.

        Parameters
        ----------
        x : one input
        top : int
            Number of coordinates to show.
        """
        outputs = self._two_best(x, "explain")
        if len(outputs) == 1:
            return Lead(outputs[0], None, np.inf, [])
        shares = np.zeros(len(self.coef_))
        for y, sign in zip(outputs, (1, -1), strict=True):
            if not isinstance(self.coef_, np.ndarray):
                shares += sign * self.coef_.shares(x, y)
                continue
            psi = self.structure_.joint_feature(x, y)
            index, value = sparse_feature(psi, len(shares))
            np.add.at(shares, index, sign * value * self.coef_[index])
        order = np.argsort(-np.abs(shares), kind="stable")[:top]
        reasons = [(int(k), float(shares[k])) for k in order if shares[k]]
        return Lead(outputs[0], outputs[1], float(shares.sum()), reasons)

    def support_structures(self) -> list[tuple[int, Any, float]]:
        """Support structures of the dual: (example, wrong output, α), largest first."""
        self._check_fitted()
        problem, support = self._support
        if support is None:
            raise ValueError(
                f"{type(self.solver_).__name__} keeps no dual; choose bcfw or n_slack"
            )
        return list_support(problem, support)

    def save(self, path: str | PathLike[str]) -> None:
        """Write weights and certificate, atomically; the structure is your code."""
        self._check_fitted()
        if isinstance(self.coef_, KernelModel):
            raise ValueError(
                "the model of a joint kernel holds your own inputs and outputs; keep "
                "coef_.pairs and coef_.alpha in a format of yours, from which "
                "structure.decode(X, KernelModel(structure, pairs, alpha)) predicts"
            )
        info: dict[str, Any] = {
            "parameters": portable_parameters(self.get_params(deep=False)),
            "history": [list(point) for point in self.history_],
            "n_iter": self.n_iter_,
        }
        if self.certificate_ is not None:
            info["certificate"] = self.certificate_.to_dict()
        name, coef = type(self.structure_).__name__, self.coef_
        model = WeightsModel(name, coef, info)
        if isinstance(coef, PartExpansion):
            model = WeightsModel(name, coef.weights, info, coef.index)
        save_model(model, path)

    @classmethod
    def load(cls, path: str | PathLike[str], structure: Structure) -> StructuredSVM:
        """Read weights for a structure that is set up (its ``n_psi_`` is known)."""
        model = load_model(path)
        if not isinstance(model, WeightsModel):
            raise ValueError(f"{path} holds a {type(model).__name__}, not weights")
        if model.structure_name != type(structure).__name__:
            raise ValueError(
                f"{path} was trained for the structure {model.structure_name}, not "
                f"{type(structure).__name__}"
            )
        weights: Any = model.weights
        if isinstance(structure, PartSelection) and structure.has_keys:
            weights = _expansion(path, model, structure)
        elif getattr(structure, "n_psi_", None) != len(weights):
            raise ValueError(
                f"{path} has {len(model.weights)} weights where the structure has "
                f"n_psi_ = {getattr(structure, 'n_psi_', None)}; call setup(X, y) with "
                "the training data first"
            )
        parameters = portable_parameters(model.info.get("parameters", {}))
        names = set(cls._get_param_names()) - {"structure"}
        svm = cls(
            structure, **{name: parameters[name] for name in names & parameters.keys()}
        )
        svm.structure_ = structure
        svm.coef_ = weights
        svm._recall_training(model.info)
        return svm


def _expansion(path: Any, model: WeightsModel, structure: Any) -> PartExpansion:
    """The kernel model of a file, for the kernel of this structure."""
    kernel = structure.part_kernel().kernel
    if model.index is None or not same_kernel(kernel, model.index.kernel):
        raise ValueError(
            f"{path} was trained with another kernel than that of the structure"
        )
    anchors = model.index.anchors
    width = getattr(structure, "n_psi_", None)
    if anchors is not None and anchors.inputs.n_features != width:
        raise ValueError(
            f"{path} compares parts of {anchors.inputs.n_features} features where the "
            f"structure has n_psi_ = {width}; call setup(X, y) with the training data "
            "first"
        )
    return PartExpansion(structure, model.index, model.weights)


def list_support(problem: Any, support: Support) -> list[tuple[int, Any, float]]:
    """(example, wrong output, α) of all planes, largest α first."""
    outputs = problem.outputs(support.cuts)
    order = np.argsort(-support.alpha, kind="stable")
    return [
        (int(support.cuts.block[k]), outputs[k], float(support.alpha[k])) for k in order
    ]
