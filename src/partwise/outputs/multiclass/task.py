"""The task `classify`: one of K classes per row."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from partwise.outputs.row_task import RowTask
from partwise.outputs.task import Answers, Data

if TYPE_CHECKING:
    from partwise.protocol import Cuts, Floats, Ints


class ClassifyTask(RowTask):
    """Learn a classifier from svmlight files, or from CSV files of numbers.

    A CSV file (.csv, .tsv) may name its columns in the first line; --label says which
    one holds the classes, the last by default.

    Example: `partwise train classify train.csv --model digits.model --dev dev.csv`
    """

    title: ClassVar[str] = "Classifier"

    def measure(self, data: Data, answers: Answers) -> dict[str, float]:
        """Accuracy, error rate, balanced accuracy."""
        from partwise.outputs.multiclass.metrics import METRICS

        truth = data.y.tolist()
        return {n: m.function(truth, answers.best) for n, m in METRICS.items()}

    @classmethod
    def structure_facts(cls, model: Any) -> dict[str, Any]:
        """The loss."""
        cost = model.structure.cost
        return {"cost": cost if isinstance(cost, str) else "matrix"}

    def judge(
        self, model: Any, data: Data, problem: Any, cuts: Cuts, rows: Ints
    ) -> tuple[Floats, int]:
        """By the costs; every class is possible."""
        return model.structure.cost_matrix()[problem.blocks.y[rows], cuts.code], 0
