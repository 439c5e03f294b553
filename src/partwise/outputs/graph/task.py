"""The task `label`: graphs from JSON lines."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any, ClassVar, Self

from partwise.outputs.listings import listing, unseen_warning
from partwise.outputs.task import Answers, Data, Details, FileOptions, Task


class GraphTask(Task):
    """Learn to label the nodes of graphs.

    Files have a graph on each line, a JSON object: "nodes" (lists of numbers, lists of
    names, or objects), "edges" (pairs of nodes, from 0 on), "edge_features" (like
    nodes; may be left out) and "labels" (null where a label is not known).

    Example: `partwise train label train.jsonl --model m --dev dev.jsonl`
    """

    title: ClassVar[str] = "Graph labeller"
    examples_name: ClassVar[str] = "graphs"

    @classmethod
    def for_training(cls, options: FileOptions, settings: dict[str, Any]) -> Self:
        """The task."""
        return cls()

    @classmethod
    def of_model(cls, model: Any, path: str, options: FileOptions) -> Self:
        """The task."""
        options.refuse("columns", "label", "separator", "comment", "max_length")
        return cls()

    # -------------------------------------------------------------------- files

    def read(self, paths: Sequence[str], *, truth: bool) -> Data:
        """Graphs, and labels if asked."""
        from partwise.readers import ReaderError, read_graphs

        files = [read_graphs(path) for path in paths]
        for path, file in zip(paths, files, strict=True):
            if truth and None in file.y:
                raise ReaderError(
                    f'{path}: graph {file.y.index(None) + 1} has no "labels"; add them'
                )
        X = [x for file in files for x in file.X]
        y = [row for file in files for row in file.y] if truth else None
        objects = [found for file in files for found in file.objects]
        return Data(X, y, sum(len(x[0]) for x in X), objects)

    def describe(self, data: Data) -> str:
        """Graphs, nodes, edges, labels."""
        n_labels, n_edges = (
            len(set(self.labels_in(data))),
            sum(len(x[1]) for x in data.X),
        )
        return (
            f"{len(data.X):,} graphs, {data.n_tokens:,} nodes, {n_edges:,} edges, "
            f"{n_labels} labels"
        )

    def reader_info(self) -> dict[str, Any]:
        """The format."""
        return {"format": "graphs"}

    def known_parts(self, model: Any, data: Data, given: str) -> Any:
        """`given` is an entry of the graphs: labels that must be kept, or null."""
        missing = [i for i, found in enumerate(data.source) if given not in found]
        if missing:
            raise ValueError(
                f"--given {given}: graph {missing[0] + 1} has no {given!r}"
            )
        return [found[given] for found in data.source]

    def write(self, output: str, data: Data, answers: Answers, topk: int) -> None:
        """The graphs with the predicted labels; of several, in the entry "topk"."""
        import json

        from partwise.readers.sink import write_bytes

        lines = []
        for i, (found, labels) in enumerate(
            zip(data.source, answers.best, strict=True)
        ):
            line = {**found, "labels": labels}
            if topk > 1:
                ranked = answers.ranked[i]
                line["topk"] = [{"labels": y, "score": score} for y, score in ranked]
            lines.append(json.dumps(line, ensure_ascii=False) + "\n")
        write_bytes(output, "".join(lines).encode())

    # --------------------------------------------------------------- evaluation

    def _known(self, data: Data, answers: Answers) -> tuple[list[Any], list[Any]]:
        """True and predicted labels, as strings, of nodes whose label is known."""
        truth, predicted = [], []
        for row, found in zip(data.y, answers.best, strict=True):
            pairs = [(a, b) for a, b in zip(row, found, strict=True) if a is not None]
            truth.append([str(a) for a, _ in pairs])
            predicted.append([str(b) for _, b in pairs])
        return truth, predicted

    def measure(self, data: Data, answers: Answers) -> dict[str, float]:
        """Nodes and graphs without errors, and the mean F1 of labels."""
        from partwise.metrics import metric

        pairs = self._known(data, answers)
        names = ("node_accuracy", "node_error", "exact_match", "macro_f1")
        return {name: float(metric(name).function(*pairs)) for name in names}

    def details(self, model: Any, data: Data, answers: Answers) -> Details:
        """How graphs were searched; precision and recall of each label."""
        from partwise.metrics import label_report

        unseen, warnings = unseen_warning(
            "labels", self.labels_in(data), model.labels, ", counted as errors"
        )
        rows = label_report(*self._known(data, answers))
        bounds = model.bounds(data.X)
        told = {
            "n_nodes": data.n_tokens,
            "unseen_labels": unseen,
            "decoders": dict(Counter(model.methods(data.X))),
            "proven_best": int((bounds[:, 0] == bounds[:, 1]).sum()),
            "labels": [row._asdict() for row in rows],
        }
        shown = listing("label", ("precision", "recall", "f1", "n"), rows)
        return Details(warnings, told, [shown])

    def report_sections(
        self, model: Any, data: Data, answers: Answers
    ) -> dict[str, Any]:
        """A table by label, and confusions."""
        from partwise.metrics import confusion, label_report
        from partwise.report.content import Confusion, MetricTable

        pairs = self._known(data, answers)
        header = ("label", "precision", "recall", "F1", "number")
        rows = [(str(row.label), *row[1:]) for row in label_report(*pairs)]
        labels, matrix = confusion(*pairs)
        shown = Confusion([str(label) for label in labels], matrix.tolist())
        table = MetricTable("By label", {}, header, rows)
        return {"metrics": [table], "confusion": shown}

    @classmethod
    def structure_facts(cls, model: Any) -> dict[str, Any]:
        """How graphs are scored and searched."""
        names = ("directed", "decoder", "sweeps", "search_nodes")
        facts = {name: getattr(model.structure, name) for name in names}
        cost = model.structure.cost
        facts["cost"] = cost if isinstance(cost, str) else "matrix"
        return {"graph": facts, "searches in training": model.info.get("searches", {})}

    def explanation(self, model: Any, data: Data, row: int, top: int) -> Any:
        """Winner against runner-up."""
        return model.explain(data.X[row : row + 1], top=top)

    # ------------------------------------------------------------------- verify

    def labels_in(self, data: Data) -> Iterator[str]:
        """Labels of all nodes."""
        return (str(label) for row in data.y for label in row if label is not None)

    def truths(self, model: Any, data: Data) -> Any:
        """Numbers of the labels, −1 where they are not known."""
        number = {str(label): k for k, label in enumerate(model.labels)}
        return [
            [-1 if label is None else number[str(label)] for label in row]
            for row in data.y
        ]
