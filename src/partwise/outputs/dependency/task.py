"""The task `depparse`: CoNLL-U files, dependency trees."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Self

from partwise.outputs.hidden_truths import arc_loss, filled, n_unknown
from partwise.outputs.task import Answers, Data, Details, FileOptions, Listing
from partwise.outputs.tree_task import TreeTask

if TYPE_CHECKING:
    from partwise.metrics.measures import Breakdown
    from partwise.report import FeatureGroup


class DependencyTask(TreeTask):
    """Learn a dependency parser from CoNLL-U or CoNLL-X files.

    Ctrl-C ends training early: the best model so far is written with its gap, and the
    exit code is 130.

    Example: `partwise train depparse train.conllu --model ud.model --dev dev.conllu`
    """

    title: ClassVar[str] = "Dependency parser"
    label_name: ClassVar[str] = "relation"
    file_options: ClassVar[tuple[str, ...]] = ("max_length",)
    aliases: ClassVar[dict[str, str]] = {
        "n_candidates": "--candidates",
        "projective": "--projective/--non-projective",
        "single_root": "--single-root/--many-roots",
    }
    extra_options: ClassVar[dict[str, tuple[str, str]]] = {
        "vectors": (
            "FILE",
            "Word vectors that --clusters groups: text of word2vec or GloVe.",
        ),
    }

    single_root: bool = True

    @classmethod
    def for_training(cls, options: FileOptions, settings: dict[str, Any]) -> Self:
        """With as many roots in a tree as the parser allows."""
        task = super().for_training(options, settings)
        task.single_root = settings["single_root"]
        return task

    @classmethod
    def settings(cls, values: dict[str, Any]) -> dict[str, Any]:
        """Without hashing for 0 bits, and with clusters of the given vectors."""
        values["hash_bits"] = values["hash_bits"] or None
        vectors, n_clusters = values.pop("vectors"), values["clusters"]
        if vectors is not None:
            from partwise.kernels.clusters import WordClusters

            if n_clusters is None:
                raise ValueError(
                    f"--vectors {vectors}: give --clusters, too; how many groups?"
                )
            values["clusters"] = WordClusters(
                n_clusters, column="form", vectors=vectors
            )
        return values

    @classmethod
    def template_language(cls) -> tuple[dict[str, str], Any]:
        """Templates of arcs."""
        from partwise.features.arc_templates import ARC_PRESETS, check_arc_templates

        return ARC_PRESETS, check_arc_templates

    @classmethod
    def of_model(cls, model: Any, path: str, options: FileOptions) -> Self:
        """With as many roots in a tree as the training files had."""
        task = super().of_model(model, path, options)
        task.single_root = model.info.get("reader", {}).get("single_root") is not False
        return task

    # -------------------------------------------------------------------- files

    def read(self, paths: Sequence[str], *, truth: bool) -> Data:
        """Columns of the words, and trees if asked; longer sentences are left out."""
        from partwise.readers.treebank import Treebank

        bank = Treebank.read(
            paths, trees=truth, single_root=self.single_root,
            max_length=self.max_length, partial=True,
        )  # fmt: skip
        return Data(bank.table, bank.trees, bank.table.n_tokens, bank)

    def describe(self, data: Data) -> str:
        """Also words of which something is not known."""
        counts = zip(
            ("head", "relation"), map(n_unknown, zip(*data.y, strict=True)), strict=True
        )
        hidden = [f", {n:,} words without {name} (_)" for name, n in counts if n]
        return super().describe(data) + "".join(hidden)

    def reader_info(self) -> dict[str, Any]:
        """How many roots a tree may have, and words a sentence."""
        return {
            "format": "conllu",
            "single_root": self.single_root,
            "max_length": self.max_length,
        }

    def write(self, output: str, data: Data, answers: Answers, topk: int) -> None:
        """The files again with other HEAD and DEPREL."""
        from partwise.readers.sink import write_bytes

        if topk > 1:
            raise ValueError(
                f"--topk {topk}: CoNLL-U has room for one tree; add --json, without "
                "--output"
            )
        write_bytes(output, data.source.fill(answers.best))

    # -------------------------------------------------------------- predictions

    def known_parts(self, model: Any, data: Data, given: str) -> Any:
        """`given` is "head": the HEAD of the file is kept where it is there."""
        if given.lower() != "head":
            raise ValueError(f"--given {given}: the column of known heads is HEAD")
        return data.source.known_heads(self.without_heads)

    # --------------------------------------------------------------- evaluation

    def measure(self, data: Data, answers: Answers) -> dict[str, float]:
        """UAS, LAS, CLAS and whole trees."""
        from partwise.metrics import measure_dependencies

        return measure_dependencies(data.y, answers.best)

    def breakdowns(self, y: Sequence[Any], y_pred: Sequence[Any]) -> list[Breakdown]:
        """By relation, distance and length."""
        from partwise.metrics.measures import break_down_dependencies

        return break_down_dependencies(y, y_pred)

    def _n_crossing(self, data: Data, answers: Answers) -> dict[str, int]:
        """True and predicted trees with crossing arcs."""
        from partwise.readers.trees import n_crossing

        return {"true": n_crossing(data.y), "predicted": n_crossing(answers.best)}

    def details(self, model: Any, data: Data, answers: Answers) -> Details:
        """Also trees with crossing arcs."""
        details = super().details(model, data, answers)
        counts = details.json["non_projective"] = self._n_crossing(data, answers)
        row = ["non-projective trees", *(f"{n:,}" for n in counts.values())]
        details.listings.append(Listing("", ("", *counts), [row]))
        return details

    def overall(self, data: Data, answers: Answers) -> dict[str, Any]:
        """The measures, and trees with crossing arcs."""
        counts = self._n_crossing(data, answers).items()
        crossing = {f"non-projective, {name}": n for name, n in counts}
        return super().overall(data, answers) | crossing

    def report_sections(
        self, model: Any, data: Data, answers: Answers
    ) -> dict[str, Any]:
        """Scores by relation and length, confusions, errors and support drawn."""
        from partwise.report.errors import relation_sections
        from partwise.report.support import support_sections, support_tree_pictures

        truths = [filled(*trees) for trees in zip(data.y, answers.best, strict=True)]
        sections = super().report_sections(model, data, answers)
        relations, *others = sections["metrics"]
        sections["metrics"] = [*others, relations]  # the longest table last
        sections |= relation_sections(data.X, truths, answers.best)
        return sections | support_sections(support_tree_pictures(model))

    @classmethod
    def telling_features(cls, model: Any, top: int) -> list[FeatureGroup]:
        """The heaviest features of arcs; none with a kernel."""
        from partwise.report import FeatureGroup

        pairs = model.scoring.named_weights(model.weights, top)
        sides = [[p for p in pairs if p[1] > 0], [p for p in pairs if p[1] < 0]]
        return [FeatureGroup("arcs", *sides)] if pairs else []

    @classmethod
    def report_facts(cls, model: Any) -> list[tuple[str, str]]:
        """Number of relations, and what the trees are like."""
        tree = model.structure
        kind = "projective" if tree.projective else "any"
        if tree.construction == "best_heads":
            kind = "best head of each word"
        root = "one root" if tree.single_root else "any number of roots"
        relations, *others = super().report_facts(model)
        return [relations, ("Trees", f"{kind}, {root}"), *others]

    # ------------------------------------------------------------ inside a model

    @classmethod
    def structure_facts(cls, model: Any) -> dict[str, Any]:
        """Kind of trees, and further models."""
        return {
            "trees": model.structure.get_params(),
            "order": 1 if model.pruner is None else 2,
            "labeller": model.labeller is not None,
        }

    @classmethod
    def telling_parts(
        cls, model: Any, top: int
    ) -> tuple[dict[str, Any], list[Listing]]:
        """The heaviest features of arcs, training sentences or keys."""
        return model.scoring.heaviest(model.weights, top)

    # ------------------------------------------------------------------- verify

    def labels_in(self, data: Data) -> Iterator[str]:
        """Relations of all words that have one."""
        return (label for tree in data.y for label in tree.labels if label is not None)

    def plain_loss(
        self, structure: Any, data: Data, row: int, truth: Any, output: Any
    ) -> float:
        """What is not known of the truth is as in the output."""
        return arc_loss(structure, data.y[row], truth, output)

    def is_possible(self, structure: Any, output: Any) -> bool:
        """By what makes a tree."""
        from partwise.structures.dependency.codes import is_allowed

        size = max(structure.n_labels, 1)
        return is_allowed(structure, (output // size).tolist())
