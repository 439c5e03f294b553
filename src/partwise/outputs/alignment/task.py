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
    sequences, a line per residue: name, residue and further columns (NAME:real has
    numbers). Or they list candidates, to learn to find homologues among decoys: query,
    candidate, match (1 or 0); query_row and candidate_row if alignments are known.

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
        self.annotations: dict[str, Any] = {}  # columns of each sequence

    @classmethod
    def template_language(cls) -> tuple[dict[str, str], Any]:
        """Names of templates, and what refuses those with a fault."""
        from partwise.features.pair_presets import preset_names
        from partwise.features.pairs import PairFeaturizer

        return {name: name for name in preset_names()}, PairFeaturizer

    # -------------------------------------------------------------------- files

    def read(self, paths: Sequence[str], *, truth: bool) -> Data:
        """All pairs of each family, or lists of candidates; if asked, the truth."""
        from partwise.readers.annotations import read_alignments

        X, source = read_alignments(
            paths, self.annotations, truth=truth, max_length=self.max_length
        )
        return Data(X, source.y if truth else None, source.n_letters, source)

    def fit_arguments(self, data: Data) -> dict[str, Any]:
        """Which pairs of tokens are core."""
        return {"core": data.source.core}

    def describe(self, data: Data) -> str:
        """Pairs, families, letters."""
        return str(data.source.describe())

    def write(self, output: str, data: Data, answers: Answers, topk: int) -> None:
        """A family of two rows for each alignment, or a table of candidates."""
        ranked = [[y for y, _ in one] for one in answers.ranked]
        data.source.write(output, ranked or [[best] for best in answers.best])

    # --------------------------------------------------------------- evaluation

    def reference(self, data: Data) -> list[Any]:
        """The pairs of tokens that count, or the homologues."""
        return list(data.source.reference())

    def measures_of(self, data: Data) -> Sequence[str]:
        """Q and Q4, or how many homologues are found."""
        return tuple(data.source.measures)

    def details(self, model: Any, data: Data, answers: Answers) -> Details:
        """Q and Q4 of each family, and the measures of the start."""
        from partwise.metrics.alignments import by_family

        json: dict[str, Any] = {}
        listings = []
        if owners := data.source.families:
            rows = by_family(owners, self.reference(data), answers.best)
            names = ("family", "q", "q4", "pairs")
            json["families"] = [dict(zip(names, row, strict=True)) for row in rows]
            cells = [[f, f"{a:.2f}", f"{b:.2f}", f"{n:,}"] for f, a, b, n in rows]
            listings.append(Listing("", names, cells))
        if scores := self._beside_start(model, data, answers):
            header = ("scores", *data.source.measures)
            json["start"] = dict(zip(header[1:], scores[0][1:], strict=True))
            cells = [[name, *(f"{v:.2f}" for v in row)] for name, *row in scores]
            listings.append(Listing("", header, cells))
        return Details([], json, listings)

    def _beside_start(self, model: Any, data: Data, answers: Answers) -> list[Any]:
        """Measures of the scores that training started from, and of the learned."""
        if model.start is None:
            return []
        start = Answers(model.at_start().predict(data.X))
        both = {"start": start, "learned": answers}
        return [(name, *self.measure(data, by).values()) for name, by in both.items()]

    def report_sections(
        self, model: Any, data: Data, answers: Answers
    ) -> dict[str, Any]:
        """Q of the start and the learned, gap scores, worst alignments, matrices."""
        from partwise.features.annotated import letters_of
        from partwise.outputs.listings import weight_table
        from partwise.report.alignments import alignment_sections
        from partwise.report.content import MetricTable

        drawn: tuple[Any, Any, Any, Any] = [], [], [], []  # decoys have no reference
        if data.source.families:
            letters = [(letters_of(a), letters_of(b)) for a, b in data.X]
            drawn = letters, self.reference(data), answers.best, data.source.names
        sections = alignment_sections(*drawn, model.matrices())
        gaps = [t for t in model.tables() if t.title.startswith("gap")]
        tables = [weight_table("Gap scores", gaps, model.weights, model.start)]
        header = ("scores", *data.source.measures)
        if scores := self._beside_start(model, data, answers):
            tables.insert(0, MetricTable("Start and learned", {}, header, scores))
        return {"metrics": tables, **sections}

    @classmethod
    def report_facts(cls, model: Any) -> list[tuple[str, str]]:
        """The mode, and the templates."""
        listed = [f"{name} ({n:,})" for name, n in model.feature_counts().items()]
        return [("Mode", model.structure.mode), ("Templates", "; ".join(listed))]

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
