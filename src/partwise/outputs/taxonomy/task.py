"""The task `taxonomy`: classes in a tree or lattice."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

from partwise.outputs.listings import unseen_warning
from partwise.outputs.row_task import RowTask
from partwise.outputs.task import Answers, Data, Details

if TYPE_CHECKING:
    from partwise.protocol import Cuts, Floats, Ints


class TaxonomyTask(RowTask):
    """Learn classes in a tree or lattice, from svmlight, CSV or ARFF files.

    Parents of classes come from `--parents`: a file with a node, a tab and its parent
    on each line, or what separates the steps of a path; ARFF files of hierarchical
    classes name them.

    Example: `partwise train taxonomy train.arff --model m --dev dev.arff`
    """

    title: ClassVar[str] = "Classifier"
    nodes: Any = None  # of the model, once there is one
    parents: Any = None  # of the files

    @classmethod
    def settings(cls, values: dict[str, Any]) -> dict[str, Any]:
        """The table of parents from its file; a single character separates steps."""
        given = values.get("parents")
        if isinstance(given, str) and len(given) > 1:
            from partwise.readers import read_parents

            values = values | {"parents": read_parents(given)}
        return values

    @classmethod
    def of_model(cls, model: Any, path: str, options: Any) -> Any:
        """With the nodes of the model."""
        task = super().of_model(model, path, options)
        task.nodes = model.structure.nodes
        return task

    def read(self, paths: Sequence[str], *, truth: bool) -> Data:
        """Classes are strings, or lists of them where rows have several."""
        data = super().read(paths, truth=truth)
        if truth and data.y.dtype.kind != "O":
            data = data._replace(y=data.y.astype(str))
        return data

    def _read_one(self, path: str, truth: bool) -> Any:
        data = super()._read_one(path, truth)
        if data.parents is not None:
            self.parents = {**(self.parents or {}), **data.parents}
        return data

    def fit_arguments(self, data: Data) -> dict[str, Any]:
        """Names of columns, and the table of parents of the files."""
        return super().fit_arguments(data) | {"parents": self.parents}

    def describe(self, data: Data) -> str:
        """Rows, columns, classes."""
        n_classes = len(set(self.labels_in(data)))
        n, n_columns = data.n_examples, data.X.shape[1]
        return f"{n:,} rows, {n_columns:,} columns, {n_classes} classes"

    def labels_in(self, data: Data) -> Iterator[str]:
        """Classes of all rows."""
        for label in data.y.tolist():
            yield from label if isinstance(label, list) else [label]

    def answer(self, model: Any, data: Data, **options: Any) -> Answers:
        """Predictions; remembers the nodes of the model."""
        self.nodes = model.structure.nodes
        return super().answer(model, data, **options)

    def write(self, output: str, data: Data, answers: Answers, topk: int) -> None:
        """A prediction on each line, several classes joined by @."""
        best = ["@".join(y) if isinstance(y, list) else y for y in answers.best]
        super().write(output, data, answers._replace(best=best), topk)

    # --------------------------------------------------------------- evaluation

    def measure(self, data: Data, answers: Answers) -> dict[str, float]:
        """Accuracy, tree loss, path length and F1 over nodes; of sets F1 and matches.

        Rows of classes that the taxonomy does not have are left out.
        """
        from partwise.outputs.taxonomy.metrics import class_measures, set_measures

        truth, predicted = self._known(data, answers)
        if not predicted or isinstance(predicted[0], list):
            return set_measures(self._marks(truth), self._marks(predicted))
        return class_measures(self.nodes, truth, predicted)

    def _known(self, data: Data, answers: Answers) -> tuple[list[Any], list[Any]]:
        """True and predicted classes of the rows whose truth is in the taxonomy."""
        is_list = bool(answers.best) and isinstance(answers.best[0], list)
        truth, predicted = [], []
        for label, best in zip(data.y.tolist(), answers.best, strict=True):
            names = label if isinstance(label, list) else [label]
            if all(name in self.nodes.number for name in names):
                truth.append(names if is_list else names[0])
                predicted.append(best)
        return truth, predicted

    def _marks(self, labels: Sequence[Any]) -> Ints:
        from partwise.structures.taxonomy import NodeSets

        sets = [label if isinstance(label, list) else [label] for label in labels]
        return NodeSets(self.nodes).closure(sets)

    def details(self, model: Any, data: Data, answers: Answers) -> Details:
        """Classes that are no nodes."""
        labels, names = self.labels_in(data), self.nodes.names
        unseen, warnings = unseen_warning("classes", labels, names)
        return Details(warnings, {"unseen_labels": unseen}, [])

    def report_sections(
        self, model: Any, data: Data, answers: Answers
    ) -> dict[str, Any]:
        """The taxonomy with errors along its edges."""
        from partwise.report.content import Picture
        from partwise.report.taxonomies import NodeErrors, draw_taxonomy

        y, y_pred = map(self._marks, self._known(data, answers))
        columns = zip(
            self.nodes.names, self.nodes.parents, y.sum(axis=0),
            (y > y_pred).sum(axis=0), (y < y_pred).sum(axis=0), strict=True,
        )  # fmt: skip
        errors = [
            NodeErrors(str(name), up[0] if up else -1, int(n), int(missed), int(wrong))
            for name, up, n, missed, wrong in columns
        ]
        return {
            "pictures": [Picture("Errors by node", draw_taxonomy(errors))],
            "pictures_title": "Errors in the taxonomy",
            "pictures_note": "The way from the true to the predicted class passes "
            "along edges: the wider an edge, the more errors. Missed rows belong below "
            "the node and went elsewhere, wrong ones came from elsewhere.",
        }

    @classmethod
    def structure_facts(cls, model: Any) -> dict[str, Any]:
        """Nodes, and the loss."""
        structure = model.structure
        cost = getattr(structure, "cost", getattr(structure, "node_cost", None))
        return {
            "n_nodes": len(structure.nodes),
            "cost": cost if isinstance(cost, str) else "given",
        }

    # ------------------------------------------------------------------- verify

    def truths(self, model: Any, data: Data) -> Ints:
        """Numbers of classes, or marks of nodes."""
        if hasattr(model, "predict_nodes"):
            return self._marks(data.y.tolist())
        return super().truths(model, data)

    def judge(
        self, model: Any, data: Data, problem: Any, cuts: Cuts, rows: Ints
    ) -> tuple[Floats, int]:
        """By the costs; every class is possible."""
        return model.structure.cost_matrix()[problem.blocks.y[rows], cuts.code], 0
