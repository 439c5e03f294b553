"""The task `classify`: svmlight and CSV files, one class per row."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Self

from partwise.outputs.task import Answers, Data, Details, FileOptions, Task
from partwise.outputs.treebanks import listing, unseen_warning

if TYPE_CHECKING:
    from partwise.protocol import Cuts, Floats, Ints
    from partwise.report import FeatureGroup, Report

CSV = (".csv", ".tsv")


class ClassifyTask(Task):
    """Learn a classifier from svmlight files, or from CSV files of numbers.

    A CSV file (.csv, .tsv) may name its columns in the first line; --label says which
    one holds the classes, the last by default.

    Example: `partwise train classify train.csv --model digits.model --dev dev.csv`
    """

    title: ClassVar[str] = "Classifier"
    examples_name: ClassVar[str] = "rows"
    label_name: ClassVar[str] = "class"
    json_names: ClassVar[tuple[str, str]] = ("labels", "label")
    file_options: ClassVar[tuple[str, ...]] = ("label", "separator")
    aliases: ClassVar[dict[str, str]] = {
        "fit_intercept": "--intercept/--no-intercept",
    }

    def __init__(
        self, label: str | None, separator: str | None, width: int | None = None
    ) -> None:
        self.label = label
        self.separator = "\t" if separator in ("tab", "\\t") else separator
        self.width = width  # columns of the model; None before training

    @classmethod
    def for_training(cls, options: FileOptions, settings: dict[str, Any]) -> Self:
        """With the column of the classes that the options name."""
        return cls(options.label, options.separator)

    @classmethod
    def of_model(cls, model: Any, path: str, options: FileOptions) -> Self:
        """With the column of the classes of the training files."""
        options.refuse("columns", "comment", "max_length")
        saved = model.info.get("reader", {})
        label = saved.get("label") if options.label is None else options.label
        separator = options.separator or saved.get("separator")
        return cls(label, separator, model.featurizer.n_columns)

    # -------------------------------------------------------------------- files

    def read(self, paths: Sequence[str], *, truth: bool) -> Data:
        """A matrix of features, and classes if asked."""
        import numpy as np
        from scipy import sparse

        from partwise.readers import ReaderError

        files = [self._read_one(path, truth) for path in paths]
        width = max(self.width or 0, *(file.X.shape[1] for file in files))
        is_sparse = any(sparse.issparse(file.X) for file in files)
        for path, file in zip(paths, files, strict=True):
            expected = self.width or files[0].X.shape[1]
            if not is_sparse and file.X.shape[1] != expected:
                raise ReaderError(
                    f"{path}: {file.X.shape[1]} columns of numbers where {expected} "
                    "were expected; give files of one layout"
                )
        if is_sparse:
            # an index that training never showed has no weights
            rows = [sparse.csr_array(file.X) for file in files]
            for matrix in rows:
                matrix.resize((matrix.shape[0], width))
            X = sparse.vstack(rows, format="csr")
            X = X[:, : self.width] if self.width else X
        else:
            X = np.vstack([file.X for file in files])
        y = None
        if truth:
            y = np.concatenate([np.asarray(file.y) for file in files])
        return Data(X, y, X.shape[0], files[0].names)

    def _read_one(self, path: str, truth: bool) -> Any:
        from partwise.readers.matrices import count_cells, read_csv, read_svmlight

        stem = path.removesuffix(".gz")
        if not stem.endswith(CSV):
            return read_svmlight(path)
        separator = self.separator or ("\t" if stem.endswith(".tsv") else ",")
        if not truth and self.width is not None:  # classes may be there all the same
            truth = count_cells(path, separator) == self.width + 1
        return read_csv(path, self.label, separator, truth=truth)

    def describe(self, data: Data) -> str:
        """Rows, columns, classes."""
        n_classes, n_columns = len(set(data.y.tolist())), data.X.shape[1]
        return f"{data.n_examples:,} rows, {n_columns:,} columns, {n_classes} classes"

    def reader_info(self) -> dict[str, Any]:
        """The column of the classes, and what separates columns."""
        return {"format": "rows", "label": self.label, "separator": self.separator}

    def write(self, output: str, data: Data, answers: Answers, topk: int) -> None:
        """A class on each line; of several, the best first, separated by tabs."""
        from partwise.readers.sink import write_bytes

        rows = [[label] for label in answers.best]
        if topk > 1:
            rows = [[label for label, _ in ranked] for ranked in answers.ranked]
        text = "".join("\t".join(map(str, row)) + "\n" for row in rows)
        write_bytes(output, text.encode())

    # --------------------------------------------------------------- evaluation

    def measure(self, data: Data, answers: Answers) -> dict[str, float]:
        """Accuracy, error rate, balanced accuracy."""
        from partwise.outputs.multiclass.metrics import METRICS

        truth = data.y.tolist()
        return {n: m.function(truth, answers.best) for n, m in METRICS.items()}

    def details(self, model: Any, data: Data, answers: Answers) -> Details:
        """Classes the model has never seen; precision and recall of each class."""
        from partwise.metrics import label_report

        truth = data.y.tolist()
        unseen, warnings = unseen_warning("classes", self.labels_in(data), model.labels)
        rows = label_report([truth], [answers.best])
        shown = listing("class", ("precision", "recall", "f1", "n"), rows)
        json = {"unseen_labels": unseen, "labels": [row._asdict() for row in rows]}
        return Details(warnings, json, [shown])

    def report(self, model: Any, data: Data, answers: Answers, **common: Any) -> Report:
        """Scores by class, confusions, the heaviest features."""
        from partwise.outputs.multiclass.report import multiclass_report

        return multiclass_report(
            data.y.tolist(),
            answers.best,
            values=self.measure(data, answers),
            features=self.telling_features(model, 10),
            **common,
        )

    # ------------------------------------------------------------ inside a model

    @classmethod
    def report_facts(cls, model: Any) -> list[tuple[str, str]]:
        """Number of classes, and what the scoring says of itself."""
        return [("Classes", str(len(model.labels))), *model.scoring.report_facts()]

    @classmethod
    def structure_facts(cls, model: Any) -> dict[str, Any]:
        """The loss."""
        cost = model.chain.cost
        return {"cost": cost if isinstance(cost, str) else "matrix"}

    @classmethod
    def telling_features(cls, model: Any, top: int) -> list[FeatureGroup]:
        """The heaviest features of each class."""
        from partwise.outputs.sequence.report import telling_features

        return telling_features(model, top)

    def explanation(self, model: Any, data: Data, row: int, top: int) -> Any:
        """Winner against runner-up."""
        return model.explain_row(data.X[row : row + 1], top=top)

    # ------------------------------------------------------------------- verify

    def labels_in(self, data: Data) -> Iterator[str]:
        """Classes of all rows."""
        return map(str, data.y.tolist())

    def truths(self, model: Any, data: Data) -> Ints:
        """Numbers of the classes."""
        import numpy as np

        number = {str(label): k for k, label in enumerate(model.labels)}
        return np.array([number[label] for label in self.labels_in(data)], np.int32)

    def judge(
        self, model: Any, data: Data, problem: Any, cuts: Cuts, rows: Ints
    ) -> tuple[Floats, int]:
        """By the costs; every class is possible."""
        return model.chain.cost_matrix()[problem.blocks.y[rows], cuts.code], 0
