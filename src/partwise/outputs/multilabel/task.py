"""The task `multilabel`: sets of labels for rows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

from partwise.outputs.listings import label_details, label_sections, unseen_warning
from partwise.outputs.row_task import RowTask
from partwise.outputs.task import Answers, Data, Details

if TYPE_CHECKING:
    from partwise.protocol import Ints


class MultilabelTask(RowTask):
    """Learn sets of labels, from svmlight (`1,4 2:0.5`), CSV or ARFF files.

    In CSV and ARFF files each label is a column of 0 and 1: `--label` names them, as
    `a,b`, as a range of columns `-6:`, or by an XML file of Mulan.

    Example: `partwise train multilabel train.arff --label -6: --model m --dev dev.arff`
    """

    title: ClassVar[str] = "Label sets"
    label_name: ClassVar[str] = "label"
    labels: tuple[str, ...] = ()  # of the columns of y: those of the model come first

    @classmethod
    def of_model(cls, model: Any, path: str, options: Any) -> Any:
        """With the labels of the model."""
        task = super().of_model(model, path, options)
        task.labels = tuple(map(str, model.labels))
        return task

    def read(self, paths: Sequence[str], *, truth: bool) -> Data:
        """A matrix of features, and 0/1 labels in the order of ``self.labels``."""
        from partwise.readers.label_sets import read_label_files, stack_labels

        options = (self.label, self.separator, self.width)
        files = read_label_files(paths, *options, truth=truth)
        if self.label is not None and ".xml" in self.label:
            self.label = ",".join(files[0].labels)  # the model does without that file
        X = self.stack(paths, files)
        if not truth:
            return Data(X, None, X.shape[0], files[0].names)
        self.labels, y = stack_labels(files, self.labels)
        return Data(X, y, X.shape[0], files[0].names)

    def fit_arguments(self, data: Data) -> dict[str, Any]:
        """Names of columns and labels."""
        return super().fit_arguments(data) | {"label_names": list(self.labels)}

    def describe(self, data: Data) -> str:
        """Rows, columns, labels."""
        sizes = f"{data.n_examples:,} rows, {data.X.shape[1]:,} columns"
        mean = data.y.sum() / max(data.n_examples, 1)
        return f"{sizes}, {data.y.shape[1]} labels, {mean:.2f} per row"

    def predictions(self, model: Any, data: Data, n_jobs: int) -> Answers:
        """A list of labels for each row."""
        answers = super().predictions(model, data, n_jobs)
        return answers._replace(best=[list(map(str, row)) for row in answers.best])

    def write(self, output: str, data: Data, answers: Answers, topk: int) -> None:
        """The labels of a row on each line, separated by commas."""
        best = [",".join(row) for row in answers.best]
        super().write(output, data, answers._replace(best=best), topk)

    # --------------------------------------------------------------- evaluation

    def _marks(self, answers: Answers) -> Ints:
        """Predictions as 0 and 1, in the order of ``self.labels``."""
        import numpy as np

        marks = [[name in row for name in self.labels] for row in answers.best]
        return np.array(marks, np.int64).reshape(-1, len(self.labels))

    def measure(self, data: Data, answers: Answers) -> dict[str, float]:
        """Hamming loss, Jaccard, F1 in three ways, and exact matches."""
        from partwise.outputs.multilabel.metrics import all_measures

        return all_measures(data.y, self._marks(answers))

    def _by_label(self, data: Data, answers: Answers) -> list[Any]:
        """Precision, recall, F1 and number of each label."""
        from partwise.metrics.binary import f1, precision, recall
        from partwise.metrics.tokens import LabelRow

        columns = zip(self.labels, data.y.T, self._marks(answers).T, strict=True)
        return [
            LabelRow(name, precision(*y), recall(*y), f1(*y), int(y[0].sum()))
            for name, *y in columns
        ]

    def details(self, model: Any, data: Data, answers: Answers) -> Details:
        """Labels the model has never seen; precision and recall of each label."""
        unseen = unseen_warning("labels", self.labels_in(data), model.labels)
        return label_details("label", self._by_label(data, answers), unseen)

    def report_sections(
        self, model: Any, data: Data, answers: Answers
    ) -> dict[str, Any]:
        """A table by label."""
        return label_sections("label", self._by_label(data, answers))

    @classmethod
    def report_facts(cls, model: Any) -> list[tuple[str, str]]:
        """Numbers of labels and pairs, and what the scoring says of itself."""
        pairs = ("Pairs of labels", str(len(model.structure.pair_array())))
        labels = ("Labels", str(len(model.labels)))
        return [labels, pairs, *model.scoring.report_facts()]

    @classmethod
    def structure_facts(cls, model: Any) -> dict[str, Any]:
        """Pairs, constraints and the loss."""
        structure = model.structure
        return {
            "n_pairs": len(structure.pair_array()),
            "max_labels": structure.max_labels,
            "n_implications": len(structure.implications),
            "cost": structure.cost,
        }

    # ------------------------------------------------------------------- verify

    def labels_in(self, data: Data) -> Iterator[str]:
        """Labels that some row has."""
        pairs = zip(self.labels, data.y.T, strict=True)
        return (name for name, column in pairs if column.any())

    def truths(self, model: Any, data: Data) -> Ints:
        """0 and 1 for the labels of the model."""
        return data.y[:, : len(model.labels)]

    def is_possible(self, structure: Any, output: Any) -> bool:
        """By the constraints."""
        return structure.is_valid(output)
