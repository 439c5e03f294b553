"""The task `measure`: binary labels of rows, from svmlight and CSV files."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from partwise.outputs.multiclass.task import ClassifyTask
from partwise.outputs.task import Answers, Data

if TYPE_CHECKING:
    from partwise.protocol import Cuts, Floats, Ints


class MeasureTask(ClassifyTask):
    """Learn binary labels that optimise a measure, from svmlight or CSV files.

    Example: `partwise train measure train.dat --measure f1 --model m --dev dev.dat`
    """

    title: ClassVar[str] = "Measure classifier"

    def answer(
        self, model: Any, data: Data, *, topk: int, given: str | None, n_jobs: int
    ) -> Answers:
        """Labels, and the scores that they come from."""
        if topk > 1:
            raise ValueError(f"--topk {topk}: a row has two labels; drop it")
        if given is not None:
            self.known_parts(model, data, given)
        scores = model.scores(data.X, n_jobs=n_jobs)
        labels = [model.labels[k] for k in (scores > 0).astype(int).tolist()]
        return Answers(labels, scores=scores, positive=model.labels[1])

    def measure(self, data: Data, answers: Answers) -> dict[str, float]:
        """F1, precision, recall, PRBEP and ROC area."""
        import numpy as np

        from partwise.outputs.measure.metrics import all_measures

        positive = str(answers.positive)
        truth = np.array([str(label) == positive for label in data.y]).astype(int)
        predicted = np.array([str(label) == positive for label in answers.best])
        return all_measures(truth, predicted.astype(int), answers.scores)

    @classmethod
    def structure_facts(cls, model: Any) -> dict[str, Any]:
        """The measure and the threshold."""
        return {"measure": model.structure.measure, "threshold": model.threshold}

    @classmethod
    def telling_features(cls, model: Any, top: int) -> list[Any]:
        """The heaviest features for and against the positive label."""
        from partwise.report import FeatureGroup

        names, weights = model.scoring.feature_names, model.weights.tolist()
        pairs = sorted(zip(names, weights, strict=True), key=lambda p: -abs(p[1]))[:top]
        return [
            FeatureGroup(
                str(model.labels[1]) if model.labels else "scores",
                [pair for pair in pairs if pair[1] > 0],
                [pair for pair in pairs if pair[1] < 0],
            )
        ]

    def n_blocks(self, data: Data) -> int:
        """All rows are one example."""
        return 1

    def truths(self, model: Any, data: Data) -> Ints:
        """−1 and 1."""
        import numpy as np

        positive = str(model.labels[1])
        return np.where([str(label) == positive for label in data.y], 1, -1)

    def judge(
        self, model: Any, data: Data, problem: Any, cuts: Cuts, rows: Ints
    ) -> tuple[Floats, int]:
        """No dual per row is kept."""
        raise NotImplementedError
