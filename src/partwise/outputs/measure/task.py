"""The task `measure`: two classes, for a measure of all rows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from partwise.outputs.row_task import RowTask
from partwise.outputs.task import Answers, Data

if TYPE_CHECKING:
    from partwise.protocol import Ints


class MeasureTask(RowTask):
    """Learn two classes that optimise a measure, from svmlight or CSV files.

    Example: `partwise train measure train.dat --measure f1 --model m --dev dev.dat`
    """

    title: ClassVar[str] = "Measure classifier"

    def predictions(self, model: Any, data: Data, n_jobs: int) -> Answers:
        """Labels, and the scores that they come from."""
        scores = model.scores(data.X, n_jobs=n_jobs)
        labels = [model.labels[k] for k in (scores > 0).astype(int).tolist()]
        positive, structure = model.labels[1], model.structure
        return Answers(labels, scores=scores, positive=positive, structure=structure)

    def measure(self, data: Data, answers: Answers) -> dict[str, float]:
        """All measures, that of the training by its own settings."""
        from partwise.outputs.measure.metrics import all_measures

        truth, predicted = (
            is_label(labels, answers.positive) for labels in (data.y, answers.best)
        )
        return all_measures(truth, predicted, answers.scores, answers.structure)

    def report_sections(
        self, model: Any, data: Data, answers: Answers
    ) -> dict[str, Any]:
        """Tables by class, and the curves of the scores."""
        from partwise.report.curves import curve_sections

        curves = curve_sections(is_label(data.y, answers.positive), answers.scores)
        return super().report_sections(model, data, answers) | curves

    @classmethod
    def report_facts(cls, model: Any) -> list[tuple[str, str]]:
        """The measure."""
        return [("Measure", model.structure.measure), *super().report_facts(model)]

    @classmethod
    def structure_facts(cls, model: Any) -> dict[str, Any]:
        """The measure and the threshold."""
        return {"measure": model.structure.measure, "threshold": model.threshold}

    def n_blocks(self, data: Data) -> int:
        """All rows are one example."""
        return 1

    def truths(self, model: Any, data: Data) -> Ints:
        """−1 and 1."""
        return 2 * is_label(data.y, model.labels[1]) - 1


def is_label(labels: Any, label: Any) -> Ints:
    """1 where labels are a given one, as text, else 0."""
    import numpy as np

    return np.array([str(one) == str(label) for one in labels]).astype(int)
