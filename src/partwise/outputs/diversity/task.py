"""The task `diversify`: documents that cover subtopics."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, ClassVar

from partwise.outputs.task import Answers, Data, Details, Listing, Task

if TYPE_CHECKING:
    from partwise.readers import Candidates


class DiversityTask(Task):
    """Learn to choose documents that cover subtopics.

    Files have a document on each line: query, document, subtopics (separated by
    spaces), title and text, separated by tabs.

    Example: `partwise train diversify train.tsv --k 5 --model m --dev dev.tsv`
    """

    title: ClassVar[str] = "Selector"
    examples_name: ClassVar[str] = "candidate sets"
    tokens_name: ClassVar[str] = "documents"
    file_format: ClassVar[str] = "candidates"
    json_names: ClassVar[tuple[str, str]] = ("selections", "selection")
    fact_names: ClassVar[tuple[str, ...]] = ("k", "search_nodes")

    # -------------------------------------------------------------------- files

    def read(self, paths: Sequence[str], *, truth: bool) -> Data:
        """Candidate sets; queries of different files are different."""
        from partwise.readers import read_candidates

        files = [read_candidates(path) for path in paths]
        X = [x for file in files for x in file.X]
        y = [y for file in files for y in file.y] if truth else None
        return Data(X, y, sum(map(len, X)), files)

    def describe(self, data: Data) -> str:
        """Candidate sets, documents."""
        return f"{len(data.X):,} candidate sets, {data.n_tokens:,} documents"

    def write(self, output: str, data: Data, answers: Answers, topk: int) -> None:
        """A line for each chosen document: query, place, document."""
        from partwise.readers.sink import write_bytes

        files: list[Candidates] = data.source
        queries = [query for file in files for query in file.queries]
        documents = [names for file in files for names in file.documents]
        lines = []
        for query, names, chosen in zip(queries, documents, answers.best, strict=True):
            for place, d in enumerate(chosen.tolist(), 1):
                lines.append(f"{query}\t{place}\t{names[d]}\n")
        write_bytes(output, "".join(lines).encode())

    # --------------------------------------------------------------- evaluation

    def measure(self, data: Data, answers: Answers) -> dict[str, float]:
        """Weight of uncovered subtopics, beside that of selections without learning."""
        from partwise.outputs.diversity.metrics import subtopic_loss
        from partwise.structures.coverage import Coverage

        k = max(map(len, answers.best))
        best = [Coverage(k).target(y) for y in data.y]
        loss = subtopic_loss(data.y, answers.best)
        return {
            "subtopic_loss": loss,
            "subtopic_coverage": 1.0 - loss,
            "least_subtopic_loss": subtopic_loss(data.y, best),
        }

    def details(self, model: Any, data: Data, answers: Answers) -> Details:
        """Losses of selections that learn nothing."""
        from partwise.outputs.diversity.metrics import subtopic_loss
        from partwise.structures.coverage import baselines

        k = model.structure.k
        selections = {
            "random": baselines.select_at_random(data.X, k),
            "unweighted words": baselines.select_by_words(data.X, k, "unweighted"),
            "essential pages": baselines.select_by_words(data.X, k, "essential_pages"),
        }
        losses = {n: subtopic_loss(data.y, s) for n, s in selections.items()}
        rows = [(name, f"{loss:.4f}") for name, loss in losses.items()]
        table = Listing("without learning", ("selection", "subtopic_loss"), rows)
        return Details([], {"baselines": losses}, [table])

    def report_sections(
        self, model: Any, data: Data, answers: Answers
    ) -> dict[str, Any]:
        """Losses of selections that learn nothing, and the coverage of each set."""
        from partwise.outputs.diversity.metrics import subtopic_losses
        from partwise.report.content import MetricTable, Picture
        from partwise.report.curves import bars

        losses = self.details(model, data, answers).json["baselines"]
        header = ("selection", "subtopic loss")
        table = MetricTable("Without learning", {}, header, list(losses.items()))
        coverage = 1.0 - subtopic_losses(data.y, answers.best)
        names = "candidate sets, the best first", "subtopic coverage"
        title = "Weight of the covered subtopics of each candidate set"
        pictures = [Picture(title, bars(coverage, *names))]
        return {
            "metrics": [table],
            "pictures": pictures,
            "pictures_title": "Selections",
        }

    @classmethod
    def report_facts(cls, model: Any) -> list[tuple[str, str]]:
        """How many documents are chosen."""
        return [("Documents to choose", str(model.structure.k))]
