"""The task `rank`: svmlight files with query ids."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, ClassVar

from partwise.outputs.row_task import RowTask
from partwise.outputs.task import Answers, Data, Details

if TYPE_CHECKING:
    from partwise.objective import Formulation
    from partwise.protocol import Problem


class RankTask(RowTask):
    """Learn to rank from svmlight files: `grade qid:query index:value …`.

    Example: `partwise train rank train.dat --measure ndcg --model m --dev dev.dat`
    """

    title: ClassVar[str] = "Ranker"
    json_names: ClassVar[tuple[str, str]] = ("scores", "score")
    file_options: ClassVar[tuple[str, ...]] = ()
    fact_names: ClassVar[tuple[str, ...]] = ("measure", "k")

    def read(self, paths: Sequence[str], *, truth: bool) -> Data:
        """Rows query by query, and grades; queries of different files are different."""
        import numpy as np

        from partwise.readers.matrices import read_queries
        from partwise.structures.ranking.queries import by_query

        files, queries = read_queries(paths)
        X = self.stack(paths, files)
        grades = np.concatenate([np.asarray(file.y, float) for file in files])
        order, offset = by_query(queries, X.shape[0])
        line = np.argsort(order, kind="stable")  # back to the lines of the files
        names = np.concatenate([file.groups for file in files])[order[offset[:-1]]]
        return Data(X[order], grades[order], X.shape[0], (offset, line, names))

    def fit_arguments(self, data: Data) -> dict[str, Any]:
        """The query of each row."""
        import numpy as np

        offset = data.source[0]
        return {"groups": np.repeat(np.arange(len(offset) - 1), np.diff(offset))}

    def describe(self, data: Data) -> str:
        """Rows, queries."""
        return f"{data.n_examples:,} rows, {self.n_blocks(data):,} queries"

    def predictions(self, model: Any, data: Data, n_jobs: int) -> Answers:
        """Scores, in the order of the lines."""
        scores = model.predict(data.X, n_jobs=n_jobs)
        by_line = [scores[row] for row in data.source[1].tolist()]
        return Answers(by_line, scores=scores, structure=model.structure)

    def measure(self, data: Data, answers: Answers) -> dict[str, float]:
        """MAP, NDCG, precision at k, MRR, swapped pairs; that of the training."""
        from partwise.outputs.ranking.metrics import all_measures

        return all_measures(data.y, answers.scores, data.source[0], answers.structure)

    def details(self, model: Any, data: Data, answers: Answers) -> Details:
        """Number of queries."""
        return Details([], {"n_queries": self.n_blocks(data)}, [])

    def report_sections(
        self, model: Any, data: Data, answers: Answers
    ) -> dict[str, Any]:
        """Precision against recall, and the average precision of each query."""
        from partwise.metrics.rankings import query_measures, ranked_queries
        from partwise.report.content import Picture
        from partwise.report.curves import bars, curve, mean_precision

        ranked = data.y, answers.scores, data.source[0]
        points = mean_precision(ranked_queries(*ranked))
        precision = query_measures(*ranked)["map"]
        return {
            "pictures": [
                Picture(
                    "Precision at eleven levels of recall, mean over queries",
                    curve(points, "recall", "precision"),
                ),
                Picture(
                    "Average precision of each query",
                    bars(precision, "queries, the best first", "average precision"),
                ),
            ],
            "pictures_title": "Rankings",
        }

    @classmethod
    def report_facts(cls, model: Any) -> list[tuple[str, str]]:
        """The measure."""
        return [("Measure", model.structure.measure)]

    def explanation(self, model: Any, data: Data, row: int, top: int) -> Any:
        """The features that carry the score of the row on this line."""
        place = int(data.source[1][row])
        return model.explain_row(data.X[place : place + 1], top=top)

    def query_explanation(self, model: Any, data: Data, query: str, top: int) -> Any:
        """Why the best row of a query leads the second; lines count from 0."""
        import numpy as np

        offset, line, names = data.source
        at = np.flatnonzero(names.astype(str) == query)
        if not len(at):
            raise ValueError(f"--query {query}: the data has no qid:{query}")
        first, last = offset[at[0] : at[0] + 2]
        if last - first < 2:
            raise ValueError(f"--query {query}: it has one row, nothing to compare")
        numbers = np.argsort(line)[first:last]
        return model.explain_query(data.X[first:last], numbers=numbers, top=top)

    def n_blocks(self, data: Data) -> int:
        """Queries."""
        return len(data.source[0]) - 1

    def pack(
        self, model: Any, data: Data, formulation: Formulation, n_jobs: int
    ) -> Problem:
        """The training problem."""
        offset = data.source[0]
        return model.training_problem(data.X, data.y, offset, formulation, n_jobs)
