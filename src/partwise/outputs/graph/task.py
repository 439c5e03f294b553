"""The task `label`: graphs from JSON lines."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any, ClassVar

from partwise.outputs.label_task import LabelTask
from partwise.outputs.listings import label_details, label_sections, unseen_warning
from partwise.outputs.task import Answers, Data, Details


class GraphTask(LabelTask):
    """Learn to label the nodes of graphs.

    Files have a graph on each line, a JSON object: "nodes" (lists of numbers, lists of
    names, or objects), "edges" (pairs of nodes, from 0 on), "edge_features" (like
    nodes; may be left out), "labels" (null where a label is not known) and "types" (of
    nodes with labels of their own; may be left out).

    Example: `partwise train label train.jsonl --model m --dev dev.jsonl`
    """

    title: ClassVar[str] = "Graph labeller"
    examples_name: ClassVar[str] = "graphs"
    tokens_name: ClassVar[str] = "nodes"
    file_format: ClassVar[str] = "graphs"

    def read(self, paths: Sequence[str], *, truth: bool) -> Data:
        """Graphs, and labels if asked."""
        from partwise.readers.graphs import read_graph_files

        X, y, objects = read_graph_files(paths, truth=truth)
        return Data(X, y if truth else None, sum(len(x[0]) for x in X), objects)

    def describe(self, data: Data) -> str:
        """Graphs, nodes, edges, labels."""
        n_edges = sum(len(x[1]) for x in data.X)
        sizes = f"{len(data.X):,} graphs, {data.n_tokens:,} nodes, {n_edges:,} edges"
        return f"{sizes}, {len(set(self.labels_in(data)))} labels"

    def empty_rows(self, data: Data) -> set[int]:
        """Graphs without nodes."""
        return {i for i, x in enumerate(data.X) if not len(x[0])}

    def known_parts(self, model: Any, data: Data, given: str) -> Any:
        """`given` is an entry of the graphs: labels that must be kept, or null."""
        for i, graph in enumerate(data.source, start=1):
            if given not in graph:
                raise ValueError(f"--given {given}: graph {i} has no {given!r}")
        return [graph[given] for graph in data.source]

    def write(self, output: str, data: Data, answers: Answers, topk: int) -> None:
        """The graphs with the predicted labels; of several, in the entry "topk"."""
        from partwise.readers.graphs import write_graphs

        write_graphs(output, data.source, answers.best, answers.ranked)

    def measure(self, data: Data, answers: Answers) -> dict[str, float]:
        """Nodes and graphs without errors, and the mean F1 of labels."""
        from partwise.metrics import metric

        pairs = self.known(data, answers)
        names = ("node_accuracy", "node_error", "exact_match", "macro_f1")
        return {name: float(metric(name).function(*pairs)) for name in names}

    def details(self, model: Any, data: Data, answers: Answers) -> Details:
        """How graphs were searched; precision and recall of each label."""
        from partwise.metrics import label_report

        names, bounds = self.labels_in(data), model.bounds(data.X)
        return label_details(
            "label",
            label_report(*self.known(data, answers)),
            unseen_warning("labels", names, model.labels, ", counted as errors"),
            n_nodes=data.n_tokens,
            decoders=dict(Counter(model.methods(data.X))),
            proven_best=int((bounds[:, 0] == bounds[:, 1]).sum()),
        )

    def report_sections(
        self, model: Any, data: Data, answers: Answers
    ) -> dict[str, Any]:
        """A table by label, and confusions."""
        from partwise.metrics import label_report

        pairs = self.known(data, answers)
        return label_sections("label", label_report(*pairs), pairs)

    @classmethod
    def structure_facts(cls, model: Any) -> dict[str, Any]:
        """How graphs are scored and searched."""
        searches = model.info.get("searches", {})
        return {"graph": model.structure.facts(), "searches in training": searches}

    def explanation(self, model: Any, data: Data, row: int, top: int) -> Any:
        """Winner against runner-up."""
        return model.explain(data.X[row : row + 1], top=top)

    def truths(self, model: Any, data: Data) -> Any:
        """Numbers of the labels, −1 where they are not known."""
        return model.node_labels.encode(data.y, model.featurizer.transform(data.X))
