"""The task `align`: aligned FASTA files and annotation columns."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Self

from partwise.outputs.task import Answers, Data, Details, FileOptions, Listing, Task

if TYPE_CHECKING:
    from partwise.objective import Formulation
    from partwise.protocol import Problem


class AlignTask(Task):
    """Learn to align from files of aligned FASTA, all pairs of rows of each family.

    A line `# family NAME` opens an alignment. Files that end in .tsv annotate
    sequences: name, residue and further columns, a line per residue.

    Example: `partwise train align train.afa --start BLOSUM62 --model m --dev dev.afa`
    """

    title: ClassVar[str] = "Aligner"
    examples_name: ClassVar[str] = "pairs"
    json_names: ClassVar[tuple[str, str]] = ("alignments", "alignment")
    file_options: ClassVar[tuple[str, ...]] = ("max_length",)

    def __init__(self, max_length: int | None = None) -> None:
        if max_length is not None and max_length < 1:
            raise ValueError(f"--max-length {max_length}: give a positive whole number")
        self.max_length = max_length
        self.annotations: dict[str, dict[str, list[str]]] = {}

    @classmethod
    def for_training(cls, options: FileOptions, settings: dict[str, Any]) -> Self:
        """Of sequences up to a length."""
        return cls(options.max_length)

    @classmethod
    def of_model(cls, model: Any, path: str, options: FileOptions) -> Self:
        """Any sequences."""
        options.refuse("columns", "label", "separator", "comment")
        return cls(options.max_length)

    @classmethod
    def template_language(cls) -> tuple[dict[str, str], Any]:
        """Names of templates, and what refuses those with a fault."""
        from partwise.features.pair_presets import preset_names
        from partwise.features.pairs import PairFeaturizer

        return {name: name for name in preset_names()}, PairFeaturizer

    def as_in_training(self, model: Any) -> None:
        """Leave out what training left out."""
        self.max_length = model.info.get("reader", {}).get("max_length")

    # -------------------------------------------------------------------- files

    def read(self, paths: Sequence[str], *, truth: bool) -> Data:
        """All pairs of each family, with their alignments if asked."""
        from partwise.readers.annotations import read_aligned

        X, found = read_aligned(
            paths, self.annotations, truth=truth, max_length=self.max_length
        )
        n_letters = sum(len(a) + len(b) for a, b in found.X)
        return Data(X, found.y if truth else None, n_letters, found)

    def fit_arguments(self, data: Data) -> dict[str, Any]:
        """Which pairs of tokens are core."""
        return {"core": data.source.core}

    def describe(self, data: Data) -> str:
        """Pairs, families, letters."""
        n_families = len({family for family, _, _ in data.source.names})
        n_pairs = sum(map(len, data.y))
        return (
            f"{data.n_examples:,} pairs of {n_families:,} families, "
            f"{n_pairs:,} aligned residues"
        )

    def reader_info(self) -> dict[str, Any]:
        """The format."""
        return {"format": "aligned FASTA", "max_length": self.max_length}

    def write(self, output: str, data: Data, answers: Answers, topk: int) -> None:
        """A family of two rows for each alignment; of several, the best first."""
        from partwise.readers.fasta import write_alignments

        alignments = [[best] for best in answers.best]
        if topk > 1:
            alignments = [[pairs for pairs, _ in one] for one in answers.ranked]
        write_alignments(output, data.source, alignments)

    # --------------------------------------------------------------- evaluation

    def reference(self, data: Data) -> list[Any]:
        """The pairs of tokens that count."""
        return [y[core] for y, core in zip(data.y, data.source.core, strict=True)]

    def measure(self, data: Data, answers: Answers) -> dict[str, float]:
        """Q and Q4 in the core."""
        from partwise.metrics.alignments import q, q4

        truth = self.reference(data)
        return {"q": q(truth, answers.best), "q4": q4(truth, answers.best)}

    def details(self, model: Any, data: Data, answers: Answers) -> Details:
        """Q and Q4 of each family."""
        from partwise.metrics.alignments import by_family

        families = [family for family, _, _ in data.source.names]
        rows = by_family(families, self.reference(data), answers.best)
        names = ("family", "q", "q4", "pairs")
        json = {"families": [dict(zip(names, row, strict=True)) for row in rows]}
        shown = [[f, f"{a:.2f}", f"{b:.2f}", f"{n:,}"] for f, a, b, n in rows]
        return Details([], json, [Listing("", names, shown)])

    def report_sections(
        self, model: Any, data: Data, answers: Answers
    ) -> dict[str, Any]:
        """Alignments, the learned matrix, gap scores."""
        from partwise.outputs.alignment.report import alignment_sections

        return alignment_sections(
            model, data.X, self.reference(data), answers.best, data.source.names
        )

    @classmethod
    def report_facts(cls, model: Any) -> list[tuple[str, str]]:
        """The mode, and the templates."""
        counts = model.feature_counts()
        listed = "; ".join(f"{name} ({n:,})" for name, n in counts.items())
        return [("Mode", model.options["mode"]), ("Templates", listed)]

    @classmethod
    def facts(cls, model: Any) -> dict[str, Any]:
        """Templates with their feature counts, and the options."""
        return {
            "n_features": len(model.weights),
            "templates": model.feature_counts(),
            "columns": dict(zip("ab", map(list, model.featurizer.sides), strict=True)),
            **model.options,
            "has_start": model.start is not None,
            "reader": model.info.get("reader", {}),
        }

    def explanation(self, model: Any, data: Data, row: int, top: int) -> Any:
        """Winner against runner-up."""
        return model.explain(data.X[row], top=top)

    def pack(
        self, model: Any, data: Data, formulation: Formulation, n_jobs: int
    ) -> Problem:
        """The training problem, with its core."""
        core = data.source.core
        return model.training_problem(data.X, data.y, formulation, n_jobs, core=core)
