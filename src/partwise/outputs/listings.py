"""Tables and warnings of evaluations and reports."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from partwise.outputs.task import Details, Listing

if TYPE_CHECKING:
    from partwise.report import FeatureGroup
    from partwise.report.content import MetricTable


MOST_ROWS = 100  # of a table of weights


def unseen_warning(
    what: str, labels: Iterable[str], known: Iterable[Any], note: str = ""
) -> tuple[dict[str, int], list[str]]:
    """Labels of the data that the model cannot predict, counted, and as a warning."""
    names = {str(name) for name in known}
    unseen = Counter(label for label in labels if label not in names)
    if not unseen:
        return {}, []
    listed = ", ".join(f"{name} ({n})" for name, n in sorted(unseen.items())[:10])
    warning = f"{what} unknown to the model{note}: {listed}"
    return dict(unseen), [warning]


def label_details(
    what: str,
    rows: Sequence[Any],
    unseen: tuple[dict[str, int], list[str]] = ({}, []),
    **json: Any,
) -> Details:
    """Precision and recall of each label, and labels that the model has never seen.

    Parameters
    ----------
    what : str
        What a label is called.
    rows : list of LabelRow
    unseen : from `unseen_warning`
    **json
        Further fields for ``--json``.
    """
    table = listing(what, ("precision", "recall", "f1", "n"), rows)
    document = {"unseen_labels": unseen[0], "labels": [row._asdict() for row in rows]}
    return Details(unseen[1], json | document, [table])


def label_sections(
    what: str, rows: Sequence[Any], pairs: tuple[Any, Any] | None = None
) -> dict[str, Any]:
    """Sections of a report: a table by label, and confusions of true and predicted."""
    from partwise.metrics import confusion
    from partwise.report.content import Confusion, MetricTable

    header = (what, "precision", "recall", "F1", "number")
    table = [(str(row[0]), *row[1:]) for row in rows]
    sections: dict[str, Any] = {
        "metrics": [MetricTable(f"By {what}", {}, header, table)]
    }
    if pairs is not None:
        labels, matrix = confusion(*pairs)
        sections["confusion"] = Confusion(list(map(str, labels)), matrix.tolist())
    return sections


def listing(what: str, header: Sequence[str], rows: Sequence[Any]) -> Listing:
    """A table of rates, the name first and the number last."""
    return Listing("", (what, *header), shares(rows))


def shares(rows: Sequence[Any]) -> list[list[str]]:
    """Rows as text: a name, rates, a number."""
    return [
        [str(name), *(f"{rate:.4f}" for rate in rates), f"{support:,}"]
        for name, *rates, support in rows
    ]


def weight_listings(title: str, pairs: Sequence[tuple[str, float]]) -> list[Listing]:
    """A table of names and their weights; none without any."""
    rows = [(f"{weight:+.4f}", name) for name, weight in pairs]
    return [Listing(title, (), rows)] if rows else []


def telling_features(model: Any, top: int = 10) -> list[FeatureGroup]:
    """The heaviest features for and against each label, or key of a kernel model.

    Parameters
    ----------
    model : ScoredModel
        Its `weights_by_label` names labels, features and weights.
    top : int
        Features of each side.
    """
    import numpy as np

    from partwise.report import FeatureGroup

    groups = []
    for label, names, weights in model.weights_by_label():
        order = np.argsort(-weights, kind="stable")
        most, least = order[:top], order[::-1][:top]
        groups.append(
            FeatureGroup(
                label,
                [(names[f], float(weights[f])) for f in most if weights[f] > 0],
                [(names[f], float(weights[f])) for f in least if weights[f] < 0],
            )
        )
    return groups


def weight_table(
    caption: str, tables: Iterable[Any], weights: Any, start: Any = None
) -> MetricTable:
    """
    Named weights for a report, beside those that training started from.

    Parameters
    ----------
    caption : str
    tables : lists of weights
        Each has `names`, and `base`, the place of its first weight.
    weights : array (n_weights,)
    start : array (n_weights,), optional
    """
    from partwise.report.content import MetricTable

    columns = [weights] if start is None else [weights, start]
    places = [(n, t.base + k) for t in tables for k, n in enumerate(t.names)]
    rows = [[name, *(float(c[p]) for c in columns)] for name, p in places[:MOST_ROWS]]
    return MetricTable(caption, {}, ["", "score", "start"][: len(columns) + 1], rows)


def heaviest_transitions(states: Any, weights: Any, top: int) -> Listing:
    """The transitions for and against which most speaks."""
    pairs = [
        (weight, f"{one} → {other}")
        for one, row in zip(states, weights, strict=True)
        for other, weight in zip(states, row, strict=False)
    ]
    allowed = [(weight, name) for weight, name in pairs if weight is not None]
    title = f"heaviest of {len(allowed):,} transitions"
    if len(allowed) < len(pairs):
        title += f"; {len(pairs) - len(allowed):,} more are forbidden"
    ranked = sorted(allowed, key=lambda pair: -abs(pair[0]))[: 4 * top]
    return Listing(title, (), [(f"{weight:+.4f}", name) for weight, name in ranked])
