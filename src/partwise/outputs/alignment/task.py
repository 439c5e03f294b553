"""The task `align`: aligned FASTA files and annotation columns."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, ClassVar

from partwise.outputs.task import Answers, Data, Details, Listing, Task

if TYPE_CHECKING:
    from partwise.objective import Formulation
    from partwise.protocol import Problem


class AlignTask(Task):
    """Learn to align from files of aligned FASTA, all pairs of rows of each family.

    A line `# family NAME` opens an alignment. Files that end in .tsv annotate
    sequences: name, residue and further columns, a line per residue.

    Example: `partwise train align train.afa --start blosum62.txt --model m`
    """

    title: ClassVar[str] = "Aligner"
    examples_name: ClassVar[str] = "pairs"
    json_names: ClassVar[tuple[str, str]] = ("alignments", "alignment")
    file_options: ClassVar[tuple[str, ...]] = ("max_length",)
    other_formats: ClassVar[tuple[str, ...]] = ("matrix",)
    file_format: ClassVar[str] = "aligned FASTA"
    measures: ClassVar[tuple[str, ...]] = ("q", "q4")

    def __init__(self) -> None:
        self.annotations: dict[str, dict[str, list[str]]] = {}

    @classmethod
    def template_language(cls) -> tuple[dict[str, str], Any]:
        """Names of templates, and what refuses those with a fault."""
        from partwise.features.pair_presets import preset_names
        from partwise.features.pairs import PairFeaturizer

        return {name: name for name in preset_names()}, PairFeaturizer

    # -------------------------------------------------------------------- files

    def read(self, paths: Sequence[str], *, truth: bool) -> Data:
        """All pairs of each family, with their alignments if asked."""
        from partwise.readers.annotations import read_aligned

        X, pairs = read_aligned(
            paths, self.annotations, truth=truth, max_length=self.max_length
        )
        n_letters = sum(len(a) + len(b) for a, b in pairs.X)
        return Data(X, pairs.y if truth else None, n_letters, pairs)

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

    def details(self, model: Any, data: Data, answers: Answers) -> Details:
        """Q and Q4 of each family, and those of the start."""
        from partwise.metrics.alignments import by_family

        owners = [family for family, _, _ in data.source.names]
        rows = by_family(owners, self.reference(data), answers.best)
        names = ("family", "q", "q4", "pairs")
        families = [dict(zip(names, row, strict=True)) for row in rows]
        json: dict[str, Any] = {"families": families}
        cells = [[f, f"{a:.2f}", f"{b:.2f}", f"{n:,}"] for f, a, b, n in rows]
        listings = [Listing("", names, cells)]
        if scores := self._beside_start(model, data, answers):
            json["start"] = dict(zip(("q", "q4"), scores[0][1:], strict=True))
            cells = [[name, f"{a:.2f}", f"{b:.2f}"] for name, a, b in scores]
            listings.append(Listing("", ("scores", "q", "q4"), cells))
        return Details([], json, listings)

    def _beside_start(self, model: Any, data: Data, answers: Answers) -> list[Any]:
        """Q and Q4 of the scores that training started from, and of the learned."""
        from partwise.metrics.alignments import q, q4

        if model.start is None:
            return []
        y, start = self.reference(data), model.at_start().predict(data.X)
        predictions = {"start": start, "learned": answers.best}
        return [(name, q(y, best), q4(y, best)) for name, best in predictions.items()]

    def report_sections(
        self, model: Any, data: Data, answers: Answers
    ) -> dict[str, Any]:
        """Q of the start and the learned, gap scores, worst alignments, matrices."""
        from partwise.features.annotated import letters_of
        from partwise.outputs.listings import weight_table
        from partwise.report.alignments import alignment_sections
        from partwise.report.content import MetricTable

        y, names = self.reference(data), data.source.names
        letters = [(letters_of(a), letters_of(b)) for a, b in data.X]
        sections = alignment_sections(letters, y, answers.best, names, model.matrices())
        gaps = [t for t in model.tables() if t.title.startswith("gap")]
        tables = [weight_table("Gap scores", gaps, model.weights, model.start)]
        if scores := self._beside_start(model, data, answers):
            header = ("scores", "Q", "Q4")
            tables.insert(0, MetricTable("Start and learned", {}, header, scores))
        return {"metrics": tables, **sections}

    @classmethod
    def report_facts(cls, model: Any) -> list[tuple[str, str]]:
        """The mode, and the templates."""
        counts = model.feature_counts()
        listed = "; ".join(f"{name} ({n:,})" for name, n in counts.items())
        return [("Mode", model.structure.mode), ("Templates", listed)]

    @classmethod
    def facts(cls, model: Any) -> dict[str, Any]:
        """Templates with their feature counts, and the options."""
        from partwise.structures.alignment.file import options_of

        return {
            "n_features": len(model.weights),
            "templates": model.feature_counts(),
            "columns": dict(zip("ab", map(list, model.featurizer.sides), strict=True)),
            **options_of(model.structure),
            "has_start": model.start is not None,
            "reader": model.info.get("reader", {}),
        }

    def pack(
        self, model: Any, data: Data, formulation: Formulation, n_jobs: int
    ) -> Problem:
        """The training problem, with its core."""
        core = data.source.core
        return model.training_problem(data.X, data.y, formulation, n_jobs, core=core)
