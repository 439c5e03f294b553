"""The task `cluster`: coreference of given mentions, from CoNLL-2012 files."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar, Self

from partwise.outputs.row_task import RowTask
from partwise.outputs.task import Answers, Data, Details, FileOptions


class ClusterTask(RowTask):
    """Learn which mentions of a document mean the same, from CoNLL-2012 files.

    Mentions are given by the brackets of the last column; their features are words,
    distance, pronouns, gender and number.

    Example: `partwise train cluster train.conll --model coref.model --dev dev.conll`
    """

    title: ClassVar[str] = "Clusterer"
    examples_name: ClassVar[str] = "documents"
    tokens_name: ClassVar[str] = "mentions"
    json_names: ClassVar[tuple[str, str]] = ("clusters", "clusters")
    file_options: ClassVar[tuple[str, ...]] = ("window", "templates")
    fact_names: ClassVar[tuple[str, ...]] = ("decoder", "link_penalty")

    chosen: Any  # `PairSettings`

    @classmethod
    def for_training(cls, options: FileOptions, settings: dict[str, Any]) -> Self:
        """With the candidates and features that the options name."""
        from partwise.features.mention_pairs import PairSettings

        task = cls()
        task.chosen = PairSettings.parse(options.window, options.templates)
        return task

    @classmethod
    def of_model(cls, model: Any, path: str, options: FileOptions) -> Self:
        """With those of the training; a model of other features has no files."""
        from partwise.features.mention_pairs import PairSettings

        task = super().of_model(model, path, options)
        task.chosen = PairSettings.of_model(model, path)
        return task

    def read(self, paths: Sequence[str], *, truth: bool) -> Data:
        """Mentions with candidate links, and their entities."""
        import numpy as np

        from partwise.features.mention_pairs import mention_pairs
        from partwise.readers import ReaderError
        from partwise.readers.coreference import read_coreference
        from partwise.structures.clustering import Items

        documents = [d for path in paths for d in read_coreference(path)]
        X = [Items(*mention_pairs(document, *self.chosen)) for document in documents]
        y = [np.unique(d.entities, return_inverse=True)[1] for d in documents]
        n_mentions = sum(x.n_items for x in X)
        if truth and not n_mentions:
            raise ReaderError(
                f"{', '.join(paths)}: no mention; give files of CoNLL-2012, whose last "
                "column marks mentions, as in (3)"
            )
        return Data(X, y if truth else None, n_mentions, documents)

    def fit_arguments(self, data: Data) -> dict[str, Any]:
        """The names of the features."""
        return {"feature_names": self.chosen.names()}

    def describe(self, data: Data) -> str:
        """Documents, mentions, entities, links."""
        n_links = sum(len(x.pairs) for x in data.X)
        n_entities = sum(len(set(y.tolist())) for y in data.y)
        return (
            f"{data.n_examples:,} documents, {data.n_tokens:,} mentions, "
            f"{n_entities:,} entities, {n_links:,} candidate links"
        )

    def reader_info(self) -> dict[str, Any]:
        """The candidates and features."""
        return {"format": "conll-2012", **self.chosen._asdict()}

    def write(self, output: str, data: Data, answers: Answers, topk: int) -> None:
        """The files with predicted brackets."""
        from partwise.readers.coreference import write_coreference

        labels = [each.tolist() for each in answers.best]
        write_coreference(output, data.source, labels)

    def measure(self, data: Data, answers: Answers) -> dict[str, float]:
        """MUC, B³, CEAF, their mean, and the losses of the paper."""
        from partwise.outputs.clustering.metrics import METRICS

        return {n: m.function(data.y, answers.best) for n, m in METRICS.items()}

    def details(self, model: Any, data: Data, answers: Answers) -> Details:
        """Numbers of entities."""
        counts = {
            "n_mentions": data.n_tokens,
            "n_entities": sum(len(set(y.tolist())) for y in data.y),
            "n_predicted": sum(len(set(y.tolist())) for y in answers.best),
        }
        return Details([], counts, [])

    @classmethod
    def report_facts(cls, model: Any) -> list[tuple[str, str]]:
        """The decoder, and the penalty of wrong links."""
        decoder, penalty = cls.structure_facts(model).values()
        return [("Decoder", decoder), ("Link penalty", f"{penalty:g}")]

    def explanation(self, model: Any, data: Data, row: int, top: int) -> Any:
        """The strongest link of a document."""
        return model.explain_items(data.X[row], top=top)

    def n_blocks(self, data: Data) -> int:
        """Documents with a link."""
        return sum(len(x.pairs) > 0 for x in data.X)

    def truths(self, model: Any, data: Data) -> Any:
        """Clusters of mentions."""
        return data.y
