"""A structure under examination: a clone, its examples with all outputs, models."""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, NoReturn

import numpy as np

from partwise.protocol import Floats, Structure
from partwise.testing.comparison import is_same, public, tolerance
from partwise.testing.enumeration import Enumerate, feature_matrix
from partwise.testing.errors import StructureError


class Example(NamedTuple):
    """One example with all its outputs; without enumeration the truth stands alone."""

    x: Any
    y: Any
    outputs: list[Any]
    psi: Floats  # (n_outputs, n_psi)
    loss: Floats  # (n_outputs,)
    truth: Floats | None  # Ψ(x, y); None where the truth needs completion


class Examined:
    """A structure under examination: a clone after `setup`, examples and models."""

    def __init__(
        self,
        structure: Structure,
        examples: Sequence[tuple[Any, Any]],
        outputs_of: Enumerate | None,
        pack: Callable[..., Any] | None,
        seed: int,
        n_models: int,
    ) -> None:
        self.given = structure
        self.pairs = [tuple(pair) for pair in examples]
        self.X = [x for x, _ in self.pairs]
        self.Y = [y for _, y in self.pairs]
        self.outputs_of = outputs_of or getattr(structure, "enumerate", None)
        self.pack = pack or type(structure).pack
        self.rng = np.random.default_rng(seed)
        self.n_models = n_models
        self.passed: list[str] = []
        self.skipped: list[str] = []

    # --------------------------------------------------------------------- tools

    def fail(self, method: str, problem: str, **details: Any) -> NoReturn:
        """Raise the error of a method."""
        raise StructureError(self.given, method, problem, **details)

    def call(self, method: str, i: int, *args: Any, w: Floats | None = None) -> Any:
        """Call a method; what it raises or changes by the way is its error."""
        arguments = args if w is None else (*args, w)
        before = copy.deepcopy((public(self.structure), arguments))
        try:
            result = getattr(self.structure, method)(*arguments)
            if method == "frontier":
                result = list(result)
        except Exception as error:
            problem = f"raised {type(error).__name__}: {error}"
            raise StructureError(self.given, method, problem, example=i, w=w) from error
        after = (public(self.structure), arguments)
        for k, changed in enumerate(("the structure", "its arguments")):
            if not is_same(before[k], after[k]):
                self.fail(method, f"it changed {changed}", example=i, w=w)
        return result

    def compare(
        self, method: str, i: int, w: Floats, value: Floats, y_hat: Any, got: float
    ) -> None:
        """`got`, reached by y_hat, must be the largest `value` of all outputs."""
        best = int(np.argmax(value))
        slack = tolerance(value)
        if got > value[best] + slack and self.outputs_of is not None:
            self.fail(
                method,
                f"got {y_hat!r} with value {got}, above that of every enumerated "
                f"output (at most {value[best]}): it is not an output",
                example=i,
                w=w,
            )
        if got < value[best] - slack and self.is_exact:
            self.fail(
                method,
                f"got {y_hat!r} with value {got}, but "
                f"{self.examples[i].outputs[best]!r} has {value[best]}",
                example=i,
                w=w,
            )

    def psi(self, i: int, y: Any) -> Floats:
        """Ψ(x_i, y), dense."""
        try:
            return feature_matrix(self.structure, self.X[i], [y])[0]
        except Exception as error:
            raise StructureError(
                self.given, "joint_feature", f"for output {y!r}: {error}", example=i
            ) from error

    # -------------------------------------------------------------------- basics

    def basics(self) -> None:
        """setup, joint_feature and loss, on truths and all outputs."""
        before = copy.deepcopy(vars(self.given))
        self.structure: Any = self._clone().setup(self.X, self.Y)
        if not isinstance(self.structure, type(self.given)):
            self.fail("setup", f"returned {self.structure!r}; return self")
        if not is_same(before, vars(self.given)):
            self.fail("get_params", "setting up a clone changed the original")
        n_psi = getattr(self.structure, "n_psi_", None)
        if not isinstance(n_psi, int | np.integer) or n_psi < 1:
            self.fail("setup", f"n_psi_ is {n_psi!r}; set it to the length of Ψ")
        self.n_psi = int(n_psi)
        self.passed.append("setup")
        self.is_exact = bool(getattr(self.structure, "exact_oracle", True))
        self.is_latent = hasattr(self.structure, "complete")
        self.examples = [self._example(i, x, y) for i, (x, y) in enumerate(self.pairs)]
        self.passed += ["joint_feature", "loss"]
        self.models = self._models()

    def _clone(self) -> Any:
        try:
            return type(self.given)(**self.given.get_params(deep=False))
        except Exception as error:
            problem = f"{error}: __init__ must store each argument under its name"
            raise StructureError(self.given, "get_params", problem) from error

    def _example(self, i: int, x: Any, y: Any) -> Example:
        outputs = [y] if self.outputs_of is None else list(self.outputs_of(x))
        for y_hat in outputs:
            first = self.call("joint_feature", i, x, y_hat)
            again = self.call("joint_feature", i, x, y_hat)
            if not is_same(first, again):
                self.fail("joint_feature", "two equal calls differ", example=i)
        loss = np.array([float(self.call("loss", i, y, o)) for o in outputs])
        for y_hat, value in zip(outputs, loss, strict=True):
            if not 0 <= value < np.inf:
                problem = f"loss({y!r}, {y_hat!r}) is {value}; it must be ≥ 0"
                self.fail("loss", problem, example=i)
        truth = None
        if not self.is_latent:
            truth = self.psi(i, y)
            if (value := float(self.call("loss", i, y, y))) != 0:
                problem = f"loss of the truth {y!r} is {value}, not 0"
                self.fail("loss", problem, example=i)
        psi = np.array([self.psi(i, y_hat) for y_hat in outputs])
        return Example(x, y, outputs, psi, loss, truth)

    def _models(self) -> list[Floats]:
        models = [np.zeros(self.n_psi)]
        models.append(self.rng.integers(-1, 2, self.n_psi).astype(np.float64))
        scales = (0.1, 1.0, 10.0)
        while len(models) < self.n_models:
            scale = scales[len(models) % 3]
            models.append(scale * self.rng.normal(size=self.n_psi))
        return models[: self.n_models]
