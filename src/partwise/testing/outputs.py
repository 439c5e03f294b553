"""Checks that every output must pass, on the small data that its record names."""

from __future__ import annotations

import json
import pickle
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

from partwise.outputs.registry import Output
from partwise.protocol import CapabilityError
from partwise.testing.errors import Report

N_EXAMPLES = 15


class OutputError(AssertionError):
    """An output breaks what all outputs promise."""


def check_output(output: Output, **parameters: Any) -> Report:
    """
    Fit an output's estimator on its toy data and check what all outputs promise.

    Equal bits for every `n_jobs` and after a file, a pickle and a second fit; a
    certificate whose dual is below its primal; parameters that survive `clone` and
    `save`; explanations that go into JSON; refusals before fitting and of bad
    parameters.

    Parameters
    ----------
    output : Output
        A record of `partwise.outputs.registry`.
    **parameters
        Of its estimator.

    Returns
    -------
    Report
        What was checked, and what the estimator does not have.

    Raises
    ------
    OutputError
        Names the estimator and what does not hold.

    Examples
    --------
    >>> from partwise.outputs.registry import tasks
    >>> check_output(tasks()["rank"]).skipped
    ('predict_topk', 'predict_marginals', 'margin')
    """
    from sklearn.base import clone  # as late as estimators load it
    from sklearn.exceptions import NotFittedError

    kind = getattr(output.module("estimator"), output.estimator)
    X, y = output.make_toy(N_EXAMPLES)
    settings: dict[str, Any] = {"max_iter": 10, "random_state": 0, "n_jobs": 1}
    settings |= {**output.toy_settings, **parameters}
    estimator = kind(**settings)
    check = _Checks(output.estimator)

    check.that(_refuses(estimator.predict, NotFittedError, X), "predict before fit")
    if hasattr(estimator, "C"):
        wrong = clone(estimator).set_params(C=-1.0)
        check.that(_refuses(wrong.fit, ValueError, X, y), "a negative C")
    check.that(estimator.fit(X, y) is estimator, "fit returns the estimator")
    _check_certificate(check, estimator)
    expected = estimator.predict(X)

    threads = clone(estimator).set_params(n_jobs=2).fit(X, y)
    check.that(_same_bits(estimator, threads, X, expected), "equal bits for n_jobs=2")
    again = clone(estimator).fit(X, y)
    check.that(_same_bits(estimator, again, X, expected), "equal bits when fitted anew")
    copied = pickle.loads(pickle.dumps(estimator))
    check.that(_same_bits(estimator, copied, X, expected), "equal bits from a pickle")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "toy.model"
        estimator.save(path, keep_dual=True)
        loaded = kind.load(path)
    check.that(_same_bits(estimator, loaded, X, expected), "equal bits from a file")
    loaded.set_params(n_jobs=1).fit(X, y)
    check.that(_same_bits(estimator, loaded, X, expected), "parameters from a file")
    if isinstance(X, list):  # scikit-learn refuses matrices without rows
        check.that(len(estimator.predict([])) == 0, "no outputs for no examples")
    warm = clone(estimator).set_params(warm_start=True)
    warm.fit(X, y).fit(X, y)
    check.that(len(warm.predict(X)) == len(expected), "a warm start fits")

    names = getattr(estimator, "feature_names_", None)
    if names is not None:
        n_weights = np.shape(estimator.coef_)[-1]
        check.that(len(names) == n_weights, "names of the features")

    one = X[0] if isinstance(X, list) else X[:1]
    for name in ("explain", "predict_topk", "predict_marginals", "margin"):
        method = getattr(estimator, name, None)
        if method is None:
            check.skipped.append(name)
        elif name == "explain":
            json.dumps(method(one).to_dict())
        else:
            arguments = (2,) if name == "predict_topk" else ()
            try:
                check.that(len(method(X, *arguments)) == len(X), name)
            except CapabilityError:
                check.skipped.append(name)
    return Report(tuple(check.passed), tuple(check.skipped))


class _Checks:
    """The checks that have passed so far."""

    def __init__(self, estimator: str) -> None:
        self.estimator = estimator
        self.passed: list[str] = []
        self.skipped: list[str] = []

    def that(self, holds: bool, statement: str) -> None:
        """Note what holds, or raise."""
        if not holds:
            raise OutputError(f"{self.estimator}: does not hold: {statement}")
        self.passed.append(statement)


def _check_certificate(check: _Checks, estimator: Any) -> None:
    stated = estimator.certificate_
    check.that(stated.dual is None or stated.dual <= stated.primal, "dual ≤ primal")
    check.that(len(estimator.history_) > 0, "a history")
    json.dumps(stated.to_dict(), allow_nan=False)


def _refuses(call: Any, error: type[Exception], *arguments: Any) -> bool:
    try:
        call(*arguments)
    except error:
        return True
    return False


def _same_bits(first: Any, second: Any, X: Any, expected: Any) -> bool:
    same_weights = np.array_equal(first.model_.weights, second.model_.weights)
    return same_weights and _as_json(second.predict(X)) == _as_json(expected)


def _as_json(outputs: Any) -> str:
    """Outputs as text: arrays of objects have no equality of their own."""

    def plain(item: Any) -> Any:
        if hasattr(item, "tolist"):
            return item.tolist()
        return item._asdict() if hasattr(item, "_asdict") else str(item)

    return json.dumps(list(outputs), default=plain)
