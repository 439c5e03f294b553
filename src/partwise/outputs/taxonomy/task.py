"""The task `taxonomy`: classes in a tree or lattice."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from partwise.outputs.listings import unseen_warning
from partwise.outputs.multiclass.task import ClassifyTask
from partwise.outputs.task import Answers, Data, Details

if TYPE_CHECKING:
    from partwise.protocol import Ints


class TaxonomyTask(ClassifyTask):
    """Learn classes in a tree or lattice, from svmlight, CSV or ARFF files.

    Parents of classes come from `--parents`: a file with a node, a tab and its parent
    on each line, or what separates the steps of a path; ARFF files of hierarchical
    classes name them.

    Example: `partwise train taxonomy train.arff --model m --dev dev.arff`
    """

    nodes: Any = None  # of the model that answers
    parents: Any = None  # of the files

    @classmethod
    def settings(cls, values: dict[str, Any]) -> dict[str, Any]:
        """The table of parents from its file; a single character separates steps."""
        parents = values.get("parents")
        if isinstance(parents, str) and len(parents) > 1:
            from partwise.readers import read_parents

            values = values | {"parents": read_parents(parents)}
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
        from partwise.structures.taxonomy.measures import known_rows, row_measures

        return row_measures(
            self.nodes, *known_rows(self.nodes, data.y.tolist(), answers.best)
        )

    def details(self, model: Any, data: Data, answers: Answers) -> Details:
        """Classes that are no nodes."""
        classes = self.labels_in(data)
        unseen, warnings = unseen_warning("classes", classes, self.nodes.names)
        return Details(warnings, {"unseen_labels": unseen}, [])

    def report_sections(
        self, model: Any, data: Data, answers: Answers
    ) -> dict[str, Any]:
        """The taxonomy with errors along its edges."""
        from partwise.report.content import Picture
        from partwise.report.taxonomies import NOTE, draw_taxonomy, node_errors
        from partwise.structures.taxonomy.measures import known_rows, marks

        rows = known_rows(self.nodes, data.y.tolist(), answers.best)
        y, y_pred = (marks(self.nodes, labels) for labels in rows)
        errors = node_errors(self.nodes.names, self.nodes.parents, y, y_pred)
        return {
            "pictures": [Picture("Errors by node", draw_taxonomy(errors))],
            "pictures_title": "Errors in the taxonomy",
            "pictures_note": NOTE,
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
            from partwise.structures.taxonomy.measures import marks

            return marks(self.nodes, data.y.tolist())
        return super().truths(model, data)
