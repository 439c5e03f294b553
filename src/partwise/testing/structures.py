"""`check_structure`: which method of a structure is wrong, and on which example."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from partwise.objective import Formulation
from partwise.protocol import CapabilityError, Floats, Structure, offers
from partwise.structures.loop import Frontier, TwoBest
from partwise.testing.comparison import is_same, tolerance
from partwise.testing.enumeration import Enumerate
from partwise.testing.errors import Report, StructureError
from partwise.testing.structure_cases import Examined, Example

FORMULATIONS = (
    Formulation("margin", "l1"),
    Formulation("margin", "l2"),
    Formulation("slack", "l1"),
    Formulation("slack", "l2"),
    Formulation("hard", "l1"),
)


def check_structure(
    structure: Structure,
    examples: Sequence[tuple[Any, Any]],
    *,
    enumerate: Enumerate | None = None,
    pack: Callable[..., Any] | None = None,
    seed: int = 0,
    n_models: int = 20,
) -> Report:
    """Check every method of a structure against a list of all outputs.

    Parameters
    ----------
    structure : Structure
        Before `setup`; it is cloned, never changed.
    examples : sequence of (x, y)
        A few tiny examples, with at most some hundred outputs each.
    enumerate : callable or None
        ``enumerate(x)`` gives all outputs of x; None takes the structure's own method
        of that name. Without either, results are only compared with the truth.
    pack : callable or None
        ``pack(structure, X, Y, formulation)`` gives the problem to compare with the
        loop over the methods; None calls the structure's own `pack`.
    seed : int
        Of the models tried.
    n_models : int
        Models tried, the zero model and one with many ties among them.

    Returns
    -------
    Report
        Names of what passed, and of capabilities that the structure does not have.

    Raises
    ------
    StructureError
        Names the method, the example, the model, what came out and what should have.

    Examples
    --------
    >>> from partwise.testing.toys import ToyClasses
    >>> class Forgetful(ToyClasses):
    ...     def loss_augmented_argmax(self, x, y, w):
    ...         return self.argmax(x, w)  # forgets the loss
    >>> examples = [(np.array([1.0, 2.0]), 0), (np.array([2.0, 1.0]), 2)]
    >>> try:
    ...     check_structure(Forgetful(), examples)
    ... except StructureError as error:
    ...     print(str(error).splitlines()[0])  # doctest: +ELLIPSIS
    Forgetful.loss_augmented_argmax is wrong on example 0: got 0 with ... 0.0, but 2 ...
    """
    check = _Check(structure, examples, enumerate, pack, seed, n_models)
    check.basics()
    check.searches()
    check.problems()
    check.copies()
    return Report(tuple(check.passed), tuple(check.skipped))


class _Check(Examined):
    """All checks, one after the other."""

    # ------------------------------------------------------------------ searches

    def searches(self) -> None:
        """argmax, loss_augmented_argmax and the optional capabilities."""
        checks: dict[str, Callable[[int, Example, Floats], None]] = {
            "argmax": self._argmax,
            "loss_augmented_argmax": self._loss_augmented_argmax,
            "two_best": self._two_best,
            "frontier": self._frontier,
            "complete": self._complete,
        }
        for method, check in checks.items():
            if not hasattr(self.structure, method):
                self.skipped.append(method)
                continue
            for w in self.models:
                for i in range(len(self.examples)):
                    check(i, self.examples[i], w)
            self.passed.append(method)

    def _argmax(self, i: int, example: Example, w: Floats) -> None:
        y_hat = self.call("argmax", i, example.x, w=w)
        score = float(self.psi(i, y_hat) @ w)
        self.compare("argmax", i, w, example.psi @ w, y_hat, score)

    def _loss_augmented_argmax(self, i: int, example: Example, w: Floats) -> None:
        y_hat = self.call("loss_augmented_argmax", i, example.x, example.y, w=w)
        got = float(self.psi(i, y_hat) @ w + self.structure.loss(example.y, y_hat))
        value = example.psi @ w + example.loss
        self.compare("loss_augmented_argmax", i, w, value, y_hat, got)

    def _two_best(self, i: int, example: Example, w: Floats) -> None:
        if self.outputs_of is None:
            return
        outputs = list(self.call("two_best", i, example.x, w=w))
        expected = np.sort(example.psi @ w)[::-1][:2]
        got = np.array([self.psi(i, y_hat) @ w for y_hat in outputs])
        if (
            len(outputs) != len(expected)
            or (np.abs(got - expected) > tolerance(expected)).any()
        ):
            self.fail(
                "two_best",
                f"got {outputs!r} with scores {got}, but the two best scores are "
                f"{expected}",
                example=i,
                w=w,
            )
        if len(outputs) == 2 and is_same(outputs[0], outputs[1]):
            self.fail("two_best", f"got {outputs[0]!r} twice", example=i, w=w)

    def _frontier(self, i: int, example: Example, w: Floats) -> None:
        best: dict[float, float] = {}
        for value, y_hat in self.call("frontier", i, example.x, example.y, w=w):
            loss = float(self.structure.loss(example.y, y_hat))
            if abs(loss - value) > 1e-9 * (1 + loss):
                problem = f"states loss {value} for {y_hat!r}, whose loss is {loss}"
                self.fail("frontier", problem, example=i, w=w)
            key, score = round(loss, 9), float(self.psi(i, y_hat) @ w)
            best[key] = max(score, best.get(key, -np.inf))
        scores = example.psi @ w
        attained = example.loss[example.loss > 0]
        if example.truth is not None:
            rivals = (example.loss == 0) & (example.psi != example.truth).any(axis=1)
            attained = example.loss[(example.loss > 0) | rivals]
        for loss in np.unique(np.round(attained, 9)):
            expected = scores[np.abs(example.loss - loss) < 1e-8].max()
            got = best.get(float(loss))
            if got is None:
                problem = f"misses loss {loss}, whose best score is {expected}"
                self.fail("frontier", problem, example=i, w=w)
            if self.outputs_of and abs(got - expected) > tolerance(scores):
                problem = f"best score for loss {loss} is {expected}, got {got}"
                self.fail("frontier", problem, example=i, w=w)

    def _complete(self, i: int, example: Example, w: Floats) -> None:
        completed = self.call("complete", i, example.x, example.y, w=w)
        loss = float(self.structure.loss(example.y, completed))
        if loss != 0:
            problem = f"{completed!r} has loss {loss} against the truth it completes"
            self.fail("complete", problem, example=i, w=w)
        right = example.loss == 0
        if self.outputs_of is not None and right.any():
            score = float(self.psi(i, completed) @ w)
            value = np.where(right, example.psi @ w, -np.inf)
            self.compare("complete", i, w, value, completed, score)

    # ------------------------------------------------------------------ problems

    def problems(self) -> None:
        """Oracles of all five formulations, looped and packed."""
        if self.outputs_of is None:
            self.skipped.append("pack")
            return
        for formulation in FORMULATIONS:
            name = f"pack[{formulation.rescaling}, {formulation.penalty}]"
            for way in dict.fromkeys([Structure.pack, self.pack]):
                if self.is_latent:
                    self.examples = [e._replace(truth=None) for e in self.examples]
                try:
                    problem = way(self.structure, self.X, self.Y, formulation)
                except CapabilityError as refusal:
                    self._refusal(formulation, str(refusal))
                    self.skipped.append(name)
                else:
                    method = "pack"
                    if way is Structure.pack:  # a loop over what the user wrote
                        method = self._searching(formulation)
                    for w in self.models[:6]:
                        self._completion(problem)
                        self._oracle(problem, formulation, w, method)
                    self.passed.append(name)
        self.passed = list(dict.fromkeys(self.passed))
        self.skipped = [n for n in dict.fromkeys(self.skipped) if n not in self.passed]

    def _completion(self, problem: Any) -> None:
        """Complete hidden parts at a random model, where no two are alike."""
        if not self.is_latent:
            return
        w = self.rng.normal(size=self.n_psi)
        before = [example.truth for example in self.examples]
        for i, example in enumerate(self.examples):
            completed = self.structure.complete(example.x, example.y, w)
            self.examples[i] = example._replace(truth=self.psi(i, completed))
        old = problem.complete(w)
        if before[0] is None or not len(old.block):
            return
        changed = [self.examples[i].truth - before[i] for i in old.block]
        got = problem.combine(old, np.ones(len(changed)))
        if (np.abs(got - sum(changed)) > 1e-8 * (1 + np.abs(got).max())).any():
            self.fail("complete", "of the problem does not return the old truths", w=w)

    def _searching(self, formulation: Formulation) -> str:
        """The method that finds the most violated output under a formulation."""
        if formulation.is_additive:
            return "loss_augmented_argmax"
        if formulation.rescaling == "hard" and offers(self.structure, TwoBest):
            return "two_best"
        return "frontier"

    def _refusal(self, formulation: Formulation, text: str) -> None:
        if formulation.is_additive or offers(self.structure, Frontier):
            self.fail("pack", f"refuses {formulation} for no reason: {text}")
        if "frontier" not in text:
            self.fail("pack", f"refusal does not name `frontier`: {text}")

    def _oracle(
        self, problem: Any, formulation: Formulation, w: Floats, method: str
    ) -> None:
        """Planes of the oracle against the most violated ones of the enumeration."""
        cuts = problem.oracle(problem.expand(w))
        outputs = problem.outputs(cuts)
        alpha = self.rng.uniform(size=len(cuts.block))
        combined = np.zeros(self.n_psi)
        for r, (i, y_hat) in enumerate(zip(cuts.block, outputs, strict=True)):
            example = self.examples[i]
            assert example.truth is not None
            delta = example.truth - self.psi(i, y_hat)
            combined += alpha[r] * cuts.scale[r] * delta
            b, scale = formulation.planes(example.loss)
            margin = example.truth @ w - example.psi @ w
            expected = float(np.max(b - scale * margin))
            got, bound = float(cuts.violation[r]), float(cuts.bound[r])
            slack = 1e-8 * (1 + np.abs(b).max() + np.abs(scale * margin).max())
            if max(bound, 0.0) < max(expected, 0.0) - slack:
                text = (
                    f"{formulation}: states that no output is violated by more than "
                    f"{bound}; enumeration finds {expected}"
                )
                self.fail(method, text, example=int(i), w=w)
            differs = abs(max(got, 0) - max(expected, 0)) > slack
            if differs and (self.is_exact or got > expected):
                problem_text = (
                    f"{formulation}: most violated output is {y_hat!r} by {got}; "
                    f"enumeration finds {expected}"
                )
                self.fail(method, problem_text, example=int(i), w=w)
            stated = cuts.b[r] - cuts.scale[r] * float(delta @ w)
            if got > slack and abs(stated - got) > slack:
                text = f"{formulation}: states violation {got} of a plane at {stated}"
                self.fail(method, text, example=int(i), w=w)
        close = np.abs(problem.compact(problem.combine(cuts, alpha)) - combined)
        if (close > 1e-8 * (1 + np.abs(combined).max())).any():
            self.fail(method, f"{formulation}: combine is not Σ α a", w=w)

    # -------------------------------------------------------------------- copies

    def copies(self) -> None:
        """A pickled copy predicts the same."""
        try:
            copied = pickle.loads(pickle.dumps(self.structure))
        except Exception as error:
            problem = (
                f"cannot be pickled ({error}); define its class and functions at the "
                "top level of a module"
            )
            raise StructureError(self.given, "__reduce__", problem) from error
        w = self.models[-1]
        for i in range(len(self.examples)):
            score = self.psi(i, self.structure.argmax(self.X[i], w)) @ w
            copied_score = self.psi(i, copied.argmax(self.X[i], w)) @ w
            if abs(score - copied_score) > tolerance(np.array([score])):
                self.fail("__reduce__", "a pickled copy predicts otherwise", example=i)
        self.passed += ["get_params", "pickle"]
