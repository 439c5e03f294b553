"""The metrics by name, and as scorers for scikit-learn."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any

from partwise.metrics.brackets import (
    crossing_brackets,
    labelled_f1,
    labelled_precision,
    labelled_recall,
    tag_accuracy,
)
from partwise.metrics.dependencies import clas, las, uas
from partwise.metrics.spans import span_f1, span_precision, span_recall
from partwise.metrics.tokens import macro_f1, token_accuracy, token_error
from partwise.metrics.whole import exact_match


@dataclass(frozen=True)
class Metric:
    """A named function of (y_true, y_pred).

    Parameters
    ----------
    name : str
        Name in `METRICS`, on the command line and in reports.
    function : callable
        `function(y_true, y_pred) -> float`.
    greater_is_better : bool
        False for errors and losses.
    description : str
        What is counted, in a few words.
    output : str
        What is measured: "labels" (sequences of them), "dependencies" or "phrases"
        (trees); "any" for all of these.
    """

    name: str
    function: Callable[[Sequence[Any], Sequence[Any]], float]
    greater_is_better: bool
    description: str
    output: str = "labels"


METRICS: dict[str, Metric] = {
    entry.name: entry
    for entry in (
        Metric("token_accuracy", token_accuracy, True, "tokens with the right label"),
        Metric("token_error", token_error, False, "tokens with a wrong label"),
        Metric("exact_match", exact_match, True, "outputs without an error", "any"),
        Metric("macro_f1", macro_f1, True, "mean F1 of the labels, tokens counted"),
        Metric("span_f1", span_f1, True, "F1 of whole spans, as conlleval counts"),
        Metric("span_precision", span_precision, True, "predicted spans that are true"),
        Metric("span_recall", span_recall, True, "true spans that are predicted"),
        *(
            Metric(function.__name__, function, True, what, "dependencies")
            for function, what in (
                (uas, "words with the right head"),
                (las, "words with the right head and relation"),
                (clas, "F1 of the relations of content words"),
            )
        ),
        *(
            Metric(function.__name__, function, is_better, what, "phrases")
            for function, is_better, what in (
                (labelled_f1, True, "F1 of brackets, as EVALB counts"),
                (labelled_precision, True, "brackets that are true"),
                (labelled_recall, True, "true brackets found"),
                (tag_accuracy, True, "words with the right tag"),
                (crossing_brackets, False, "a sentence's crossings"),
            )
        ),
    )
}


def metric(name: str, measured: str = "") -> Metric:
    """Look a metric up by its name.

    Parameters
    ----------
    name : str
        A key of `METRICS`, or of the metrics of an output.
    measured : str
        What it must measure, see `Metric.output`; anything if empty.

    Returns
    -------
    Metric
        Its function, direction and description.

    Examples
    --------
    >>> metric("token_error").greater_is_better
    False
    >>> metric("uass", "dependencies")
    Traceback (most recent call last):
    ValueError: unknown metric 'uass'; did you mean 'uas'? choose from clas, \
exact_match, las, uas
    """
    from partwise.outputs.registry import OUTPUTS, metrics_of

    def found(name: Any) -> Metric | None:
        if not isinstance(name, str):
            return None
        own = METRICS.get(name)
        return own if own is not None else (metrics_of(name) or {}).get(name)

    def fits(other: Metric | None) -> bool:
        return other is not None and (not measured or other.output in (measured, "any"))

    chosen = found(name)
    if chosen is not None and fits(chosen):
        return chosen
    names = {*METRICS, *(other for output in OUTPUTS for other in output.metrics)}
    names = {other for other in names if fits(found(other))}
    near = get_close_matches(str(name).lower(), names, n=1)
    hint = f" did you mean {near[0]!r}?" if near else ""
    fault = f"unknown metric {name!r}"
    if chosen is not None:
        fault = f"metric {name!r} measures {chosen.output}, not {measured}"
    raise ValueError(f"{fault};{hint} choose from {', '.join(sorted(names))}")


def scorer(name: str) -> "Scorer":
    """Make the callable that scikit-learn wants as `scoring=`.

    Parameters
    ----------
    name : str
        A key of `METRICS`.

    Returns
    -------
    Scorer
        `scorer(estimator, X, y) -> float`, higher being better: errors are negated.

    Examples
    --------
    >>> class Constant:
    ...     def predict(self, X):
    ...         return [["O"] * len(x) for x in X]
    >>> scorer("token_error")
    scorer('token_error')
    >>> scorer("token_error")(Constant(), [["Hi", "Ann"]], [["O", "B-PER"]])
    -0.5
    """
    return Scorer(metric(name).name)


@dataclass(frozen=True, repr=False)
class Scorer:
    """A metric of an estimator's predictions; made by `scorer`."""

    # The name, not the function, so that a pickle outlives a moved function.
    name: str

    def __call__(self, estimator: Any, X: Sequence[Any], y: Sequence[Any]) -> float:
        """Score `estimator.predict(X)` against `y`; higher is better."""
        chosen = metric(self.name)
        value = chosen.function(y, estimator.predict(X))
        return value if chosen.greater_is_better else -value

    def __repr__(self) -> str:
        return f"scorer({self.name!r})"
