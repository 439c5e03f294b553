"""The task `multilabel`: sets of labels for rows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

from partwise.outputs.listings import listing, unseen_warning
from partwise.outputs.row_task import RowTask
from partwise.outputs.task import Answers, Data, Details

if TYPE_CHECKING:
    from partwise.protocol import Cuts, Floats, Ints


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
        import numpy as np

        from partwise.readers import ReaderError, read_label_sets

        files = []
        for path in paths:
            file = read_label_sets(path, self.label, self.separator, width=self.width)
            if truth and not file.labels:
                raise ReaderError(
                    f"{path}: no labels; name the columns of labels with --label"
                )
            files.append(file)
        if self.label is not None and ".xml" in self.label:
            self.label = ",".join(files[0].labels)  # the model does without that file
        X = self.stack(paths, files)
        if not truth:
            return Data(X, None, X.shape[0], files[0].names)
        known = dict.fromkeys(self.labels)
        for file in files:
            known |= dict.fromkeys(file.labels)
        self.labels = tuple(known)
        place = {name: k for k, name in enumerate(self.labels)}
        y = np.zeros((X.shape[0], len(place)), np.int64)
        first = 0
        for file in files:
            rows = slice(first, first + len(file.y))
            y[rows, [place[name] for name in file.labels]] = file.y
            first += len(file.y)
        return Data(X, y, X.shape[0], files[0].names)

    def fit_arguments(self, data: Data) -> dict[str, Any]:
        """Names of columns and labels."""
        return super().fit_arguments(data) | {"label_names": list(self.labels)}

    def describe(self, data: Data) -> str:
        """Rows, columns, labels."""
        n, n_columns = data.n_examples, data.X.shape[1]
        mean = data.y.sum() / max(n, 1)
        return (
            f"{n:,} rows, {n_columns:,} columns, {data.y.shape[1]} labels, "
            f"{mean:.2f} per row"
        )

    def answer(self, model: Any, data: Data, **options: Any) -> Answers:
        """Predictions: a list of labels for each row."""
        if options["topk"] > 1:
            raise ValueError("--topk: a model of label sets has one answer; drop it")
        answers = super().answer(model, data, **options)
        return answers._replace(best=[list(map(str, row)) for row in answers.best])

    def write(self, output: str, data: Data, answers: Answers, topk: int) -> None:
        """The labels of a row on each line, separated by commas."""
        best = [",".join(row) for row in answers.best]
        super().write(output, data, answers._replace(best=best), topk)

    # --------------------------------------------------------------- evaluation

    def _marks(self, answers: Answers) -> Ints:
        """Predictions as 0 and 1, in the order of ``self.labels``."""
        import numpy as np

        place = {name: k for k, name in enumerate(self.labels)}
        marks = np.zeros((len(answers.best), len(place)), np.int64)
        for i, row in enumerate(answers.best):
            marks[i, [place[name] for name in row]] = 1
        return marks

    def measure(self, data: Data, answers: Answers) -> dict[str, float]:
        """Hamming loss, Jaccard, F1 in three ways, and exact matches."""
        from partwise.outputs.multilabel.metrics import all_measures

        return all_measures(data.y, self._marks(answers))

    def _by_label(self, data: Data, answers: Answers) -> list[tuple[Any, ...]]:
        """Name, precision, recall, F1 and number of each label."""
        from partwise.outputs.measure.metrics import f1, precision, recall

        columns = zip(self.labels, data.y.T, self._marks(answers).T, strict=True)
        return [
            (name, precision(y, y_hat), recall(y, y_hat), f1(y, y_hat), int(y.sum()))
            for name, y, y_hat in columns
        ]

    def details(self, model: Any, data: Data, answers: Answers) -> Details:
        """Labels the model has never seen; precision and recall of each label."""
        from partwise.metrics.tokens import LabelRow

        names = [str(label) for label in model.labels]
        unseen, warnings = unseen_warning("labels", self.labels_in(data), names)
        rows = [LabelRow(*row) for row in self._by_label(data, answers)]
        shown = listing("label", ("precision", "recall", "f1", "n"), rows)
        json = {"unseen_labels": unseen, "labels": [row._asdict() for row in rows]}
        return Details(warnings, json, [shown])

    def report_sections(
        self, model: Any, data: Data, answers: Answers
    ) -> dict[str, Any]:
        """A table by label."""
        from partwise.report.content import MetricTable

        header = ("label", "precision", "recall", "F1", "number")
        rows = self._by_label(data, answers)
        return {"metrics": [MetricTable("By label", {}, header, rows)]}

    @classmethod
    def report_facts(cls, model: Any) -> list[tuple[str, str]]:
        """Numbers of labels and pairs, and what the scoring says of itself."""
        facts = cls.structure_facts(model)
        pairs = [("Pairs of labels", str(facts["n_pairs"]))]
        return [
            ("Labels", str(len(model.labels))),
            *pairs,
            *model.scoring.report_facts(),
        ]

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
        for name, column in zip(self.labels, data.y.T, strict=True):
            if column.any():
                yield name

    def truths(self, model: Any, data: Data) -> Ints:
        """0 and 1 for the labels of the model."""
        return data.y[:, : len(model.labels)]

    def judge(
        self, model: Any, data: Data, problem: Any, cuts: Cuts, rows: Ints
    ) -> tuple[Floats, int]:
        """By plain counts; impossible sets break a constraint."""
        import numpy as np

        structure = model.structure
        outputs = problem.outputs(cuts)
        pairs = zip(problem.blocks.y[rows], outputs, strict=True)
        losses = np.array([structure.loss(y, y_hat) for y, y_hat in pairs])
        return losses, sum(not structure.is_valid(y_hat) for y_hat in outputs)
