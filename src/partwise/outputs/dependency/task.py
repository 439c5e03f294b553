"""The task `depparse`: CoNLL-U files, dependency trees."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Self

from partwise.outputs.listings import listing, shares, unseen_warning
from partwise.outputs.task import (
    Answers,
    Data,
    Details,
    FileOptions,
    Listing,
    Task,
)

if TYPE_CHECKING:
    from partwise.report import Report


class DependencyTask(Task):
    """Learn a dependency parser from CoNLL-U or CoNLL-X files.

    Ctrl-C ends training early: the best model so far is written with its gap, and the
    exit code is 130.

    Example: `partwise train depparse train.conllu --model ud.model --dev dev.conllu`
    """

    title: ClassVar[str] = "Dependency parser"
    label_name: ClassVar[str] = "relation"
    json_names: ClassVar[tuple[str, str]] = ("trees", "tree")
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

    def __init__(
        self, *, single_root: bool = True, max_length: int | None = None
    ) -> None:
        self.single_root = single_root
        self.max_length = max_length

    @classmethod
    def for_training(cls, options: FileOptions, settings: dict[str, Any]) -> Self:
        """With as many roots in a tree as the parser allows."""
        return cls(single_root=settings["single_root"], max_length=options.max_length)

    @classmethod
    def settings(cls, values: dict[str, Any]) -> dict[str, Any]:
        """Without hashing for 0 bits, and with clusters of the given vectors."""
        values["hash_bits"] = values["hash_bits"] or None
        vectors = values.pop("vectors")
        if vectors is None:
            return values
        from partwise.kernels.clusters import WordClusters

        n_clusters = values["clusters"]
        if n_clusters is None:
            raise ValueError(
                f"--vectors {vectors}: give --clusters, too; how many groups?"
            )
        clusters = WordClusters(n_clusters, column="form", vectors=vectors)
        return values | {"clusters": clusters}

    @classmethod
    def template_language(cls) -> tuple[dict[str, str], Any]:
        """Templates of arcs."""
        from partwise.features.arc_templates import ARC_PRESETS, parse_arc_templates

        return ARC_PRESETS, parse_arc_templates

    @classmethod
    def of_model(cls, model: Any, path: str, options: FileOptions) -> Self:
        """With as many roots in a tree as the training files had."""
        options.refuse("columns", "label", "separator", "comment")
        stored = model.info.get("reader", {}).get("single_root")
        return cls(single_root=stored is not False, max_length=options.max_length)

    # -------------------------------------------------------------------- files

    def read(self, paths: Sequence[str], *, truth: bool) -> Data:
        """Columns of the words, and trees if asked; longer sentences are left out."""
        from partwise.readers.treebank import Treebank

        bank = Treebank.read(
            paths, trees=truth, single_root=self.single_root, max_length=self.max_length
        )
        return Data(bank.table, bank.trees, bank.table.n_tokens, bank)

    def describe(self, data: Data) -> str:
        """Sentences, words, relations."""
        n_labels = len({label for tree in data.y for label in tree.labels})
        return (
            f"{len(data.X):,} sentences, {data.n_tokens:,} words, {n_labels} relations"
        )

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
        return data.source.known_heads()

    # --------------------------------------------------------------- evaluation

    def measure(self, data: Data, answers: Answers) -> dict[str, float]:
        """UAS, LAS, CLAS and whole trees."""
        from partwise.metrics import measure_dependencies

        return measure_dependencies(data.y, answers.best)

    def details(self, model: Any, data: Data, answers: Answers) -> Details:
        """By relation, distance and length; crossing arcs; relations never seen."""
        from partwise.metrics import (
            arc_length_report,
            relation_report,
            sentence_length_report,
        )
        from partwise.readers import is_projective

        labels = self.labels_in(data)
        unseen, warnings = unseen_warning("relations", labels, model.labels)
        n_crossing = {
            name: sum(not is_projective(tree[0]) for tree in trees)
            for name, trees in (("true", data.y), ("predicted", answers.best))
        }
        relations = relation_report(data.y, answers.best)
        arcs = arc_length_report(data.y, answers.best)
        lengths = sentence_length_report(data.y, answers.best)
        json = {
            "n_tokens": data.n_tokens,
            "unseen_labels": unseen,
            "non_projective": n_crossing,
            "relations": [row._asdict() for row in relations],
            "arc_lengths": [row._asdict() for row in arcs],
            "sentence_lengths": [row._asdict() for row in lengths],
        }
        rates = ("precision", "recall", "f1", "n")
        crossing = (f"{n_crossing['true']:,}", f"{n_crossing['predicted']:,}")
        listings = [
            listing("relation", rates, relations),
            listing("words apart", rates, arcs),
            Listing("", ("words", "uas", "las", "sentences"), shares(lengths)),
            Listing(
                "",
                ("", "true", "predicted"),
                [("non-projective trees", *crossing)],
            ),
        ]
        return Details(warnings, json, listings)

    def report(self, model: Any, data: Data, answers: Answers, **common: Any) -> Report:
        """Scores by relation and length, confusions, errors and support drawn."""
        from partwise.report import FeatureGroup
        from partwise.report.dependencies import dependency_report
        from partwise.report.support import NOTE, TITLE
        from partwise.report.support_trees import support_tree_pictures

        pairs = model.scoring.named_weights(model.weights, 15)
        groups = [
            FeatureGroup(
                "arcs",
                [pair for pair in pairs if pair[1] > 0],
                [pair for pair in pairs if pair[1] < 0],
            )
        ]
        tags = next((n for n in ("upos", "xpos") if n in data.X.columns), None)
        return dependency_report(
            words=data.X.strings("form"),
            tags=None if tags is None else data.X.strings(tags),
            y=data.y,
            y_pred=answers.best,
            features=groups if pairs else [],
            pictures=support_tree_pictures(model),
            pictures_title=TITLE,
            pictures_note=NOTE,
            **common,
        )

    @classmethod
    def report_facts(cls, model: Any) -> list[tuple[str, str]]:
        """Number of relations, and what the trees are like."""
        tree = model.structure
        kind = "projective" if tree.projective else "any"
        if tree.construction == "best_heads":
            kind = "best head of each word"
        root = "one root" if tree.single_root else "any number of roots"
        facts = [("Relations", str(len(model.labels))), ("Trees", f"{kind}, {root}")]
        return facts + model.scoring.report_facts()

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
        answer, tables = model.scoring.heaviest(model.weights, top)
        return answer, [Listing(*table) for table in tables]

    def explanation(self, model: Any, data: Data, row: int, top: int) -> Any:
        """Winner against runner-up, arc by arc."""
        return model.explain(data.X[row], top=top)

    # ------------------------------------------------------------------- verify

    def as_in_training(self, model: Any) -> None:
        """Without the sentences that training left out."""
        self.max_length = model.info.get("reader", {}).get("max_length")

    def labels_in(self, data: Data) -> Iterator[str]:
        """Relations of all words."""
        return (label for tree in data.y for label in tree.labels)

    def is_possible(self, structure: Any, output: Any) -> bool:
        """By what makes a tree."""
        from partwise.structures.dependency.codes import is_allowed

        size = max(structure.n_labels, 1)
        return is_allowed(structure, (output // size).tolist())
