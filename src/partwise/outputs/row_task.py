"""Base class of tasks whose files hold rows of numbers: svmlight, CSV and ARFF."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Self

from partwise.outputs.listings import label_details, label_sections, unseen_warning
from partwise.outputs.task import Answers, Data, Details, FileOptions, Task
from partwise.readers.limits import ReaderError

if TYPE_CHECKING:
    from partwise.readers.matrices import MatrixData

CSV = (".csv", ".tsv")


class RowTask(Task):
    """A label for each row of a matrix."""

    examples_name: ClassVar[str] = "rows"
    label_name: ClassVar[str] = "class"
    json_names: ClassVar[tuple[str, str]] = ("labels", "label")
    file_options: ClassVar[tuple[str, ...]] = ("label", "separator")
    aliases: ClassVar[dict[str, str]] = {"fit_intercept": "--intercept/--no-intercept"}

    def __init__(
        self,
        label: str | None = None,
        separator: str | None = None,
        width: int | None = None,
    ) -> None:
        self.label = label
        self.separator = "\t" if separator in ("tab", "\\t") else separator
        self.width = width  # columns of the model; None before training

    @classmethod
    def for_training(cls, options: FileOptions, settings: dict[str, Any]) -> Self:
        """With the column of the labels that the options name."""
        return cls(options.label, options.separator)

    @classmethod
    def of_model(cls, model: Any, path: str, options: FileOptions) -> Self:
        """With the column of the labels of the training files."""
        options.refuse(*(n for n in options._fields if n not in cls.file_options))
        if "label" not in cls.file_options:  # its files hold no matrices
            return cls()
        saved = model.info.get("reader", {})
        label = saved.get("label") if options.label is None else options.label
        separator = options.separator or saved.get("separator")
        return cls(label, separator, model.featurizer.n_columns)

    # -------------------------------------------------------------------- files

    def read(self, paths: Sequence[str], *, truth: bool) -> Data:
        """A matrix of features; with `truth`, also labels."""
        import numpy as np

        files = [self._read_one(path, truth) for path in paths]
        X = self.stack(paths, files)
        y = np.concatenate([np.asarray(file.y) for file in files]) if truth else None
        return Data(X, y, X.shape[0], files[0].names)

    def _read_one(self, path: str, truth: bool) -> MatrixData:
        from partwise.readers import ReaderError
        from partwise.readers.matrices import count_cells, read_csv, read_svmlight

        stem = path.removesuffix(".gz")
        if stem.endswith(".arff"):
            from partwise.readers import read_arff

            return read_arff(path, self.label)
        if not stem.endswith(CSV):
            try:
                return read_svmlight(path)
            except ReaderError as error:
                if "is no `target" not in str(error):
                    raise
                what = "tables of numbers need a name that ends in .csv or .tsv"
                raise ReaderError(f"{error}; {what}") from None
        separator = self.separator or ("\t" if stem.endswith(".tsv") else ",")
        if not truth and self.width is not None:  # labels may be there all the same
            n_cells = count_cells(path, separator)
            if n_cells - self.width not in (0, 1):
                raise ReaderError(
                    f"{path}: {n_cells} columns of numbers where {self.width} were "
                    f"expected, or {self.width + 1} with the labels; give files of one "
                    "layout"
                )
            truth = n_cells == self.width + 1
        return read_csv(path, self.label, separator, truth=truth)

    def stack(self, paths: Sequence[str], files: Sequence[Any]) -> Any:
        """The rows of all files, as wide as the model where there is one.

        Columns of CSV files must agree. In svmlight files an index that training never
        showed has no weights and is left out.
        """
        import numpy as np
        from scipy import sparse

        if any(sparse.issparse(file.X) for file in files):
            width = self.width or max(file.X.shape[1] for file in files)
            rows = [sparse.csr_array(file.X)[:, :width] for file in files]
            for matrix in rows:
                matrix.resize((matrix.shape[0], width))
            return sparse.vstack(rows, format="csr")
        width = self.width or files[0].X.shape[1]
        for path, file in zip(paths, files, strict=True):
            if file.X.shape[1] != width:
                raise ReaderError(
                    f"{path}: {file.X.shape[1]} columns of numbers where {width} were "
                    "expected; give files of one layout"
                )
        return np.vstack([file.X for file in files])

    def fit_arguments(self, data: Data) -> dict[str, Any]:
        """The names of the columns."""
        names = data.source
        # of several svmlight files the first may be narrower than all together
        fits = len(names) == data.X.shape[1]
        return {"feature_names": names} if fits else {}

    def describe(self, data: Data) -> str:
        """Rows, columns, classes."""
        n_classes, n_columns = len(set(self.labels_in(data))), data.X.shape[1]
        return f"{data.n_examples:,} rows, {n_columns:,} columns, {n_classes} classes"

    def reader_info(self) -> dict[str, Any]:
        """The column of the labels, and what separates columns."""
        return {"format": "rows", "label": self.label, "separator": self.separator}

    def write(self, output: str, data: Data, answers: Answers, topk: int) -> None:
        """A prediction on each line; of several, the best first, separated by tabs."""
        from partwise.readers.sink import write_bytes

        rows = [[label] for label in answers.best]
        if topk > 1:
            rows = [[label for label, _ in ranked] for ranked in answers.ranked]
        text = "".join("\t".join(map(str, row)) + "\n" for row in rows)
        write_bytes(output, text.encode())

    # --------------------------------------------------------------- evaluation

    def details(self, model: Any, data: Data, answers: Answers) -> Details:
        """Classes the model has never seen; precision and recall of each class."""
        from partwise.metrics import label_report

        unseen = unseen_warning("classes", self.labels_in(data), model.labels)
        rows = label_report([data.y.tolist()], [answers.best])
        return label_details("class", rows, unseen)

    def report_sections(
        self, model: Any, data: Data, answers: Answers
    ) -> dict[str, Any]:
        """A table by class, and confusions."""
        from partwise.metrics import label_report

        if not model.labels:
            return {}
        pairs = [data.y.tolist()], [answers.best]
        return label_sections("class", label_report(*pairs), pairs)

    @classmethod
    def report_facts(cls, model: Any) -> list[tuple[str, str]]:
        """Number of classes, and facts of the scoring."""
        return [("Classes", str(len(model.labels))), *model.scoring.report_facts()]

    def explanation(self, model: Any, data: Data, row: int, top: int) -> Any:
        """Winner against runner-up."""
        return model.explain_row(data.X[row : row + 1], top=top)

    # ------------------------------------------------------------------- verify

    def labels_in(self, data: Data) -> Iterator[str]:
        """Classes of all rows."""
        return map(str, data.y.tolist())

    truths = Task.label_numbers
