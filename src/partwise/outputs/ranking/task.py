"""The task `rank`: svmlight files with query ids."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, ClassVar

from partwise.outputs.measure.task import MeasureTask
from partwise.outputs.task import Answers, Data, Details, FileOptions

if TYPE_CHECKING:
    from partwise.objective import Formulation
    from partwise.protocol import Ints, Problem
    from partwise.report import Report


class RankTask(MeasureTask):
    """Learn to rank from svmlight files: `grade qid:query index:value …`.

    Example: `partwise train rank train.dat --measure ndcg --model m --dev dev.dat`
    """

    title: ClassVar[str] = "Ranker"
    json_names: ClassVar[tuple[str, str]] = ("scores", "score")
    file_options: ClassVar[tuple[str, ...]] = ()

    @classmethod
    def for_training(cls, options: FileOptions, settings: dict[str, Any]) -> RankTask:
        """Files of one format."""
        return cls(None, None)

    def read(self, paths: Sequence[str], *, truth: bool) -> Data:
        """Rows query by query, and grades; queries of different files are different."""
        import numpy as np
        from scipy import sparse

        from partwise.outputs.ranking.estimator import by_query
        from partwise.readers import ReaderError
        from partwise.readers.matrices import read_svmlight

        files = [read_svmlight(path) for path in paths]
        groups, n_queries = [], 0
        for path, file in zip(paths, files, strict=True):
            if file.groups is None:
                raise ReaderError(
                    f"{path}: no qid; write each line as `grade qid:query index:value`"
                )
            _, query = np.unique(file.groups, return_inverse=True)
            groups.append(query + n_queries)
            n_queries += int(query.max()) + 1
        width = self.width or max(file.X.shape[1] for file in files)
        rows = []
        for file in files:
            matrix = sparse.csr_array(file.X)
            matrix.resize((matrix.shape[0], max(width, matrix.shape[1])))
            rows.append(matrix[:, :width])
        X = sparse.vstack(rows, format="csr")
        grades = np.concatenate([np.asarray(file.y, float) for file in files])
        order, offset = by_query(np.concatenate(groups), X.shape[0])
        place = np.argsort(order, kind="stable")  # back to the lines of the files
        return Data(X[order], grades[order], X.shape[0], (offset, place))

    def fit_arguments(self, data: Data) -> dict[str, Any]:
        """The query of each row."""
        import numpy as np

        offset, _ = data.source
        return {"groups": np.repeat(np.arange(len(offset) - 1), np.diff(offset))}

    def describe(self, data: Data) -> str:
        """Rows, queries."""
        return f"{data.n_examples:,} rows, {len(data.source[0]) - 1:,} queries"

    def answer(
        self, model: Any, data: Data, *, topk: int, given: str | None, n_jobs: int
    ) -> Answers:
        """Scores, in the order of the lines."""
        if topk > 1:
            raise ValueError(f"--topk {topk}: scores rank all rows; drop it")
        if given is not None:
            self.known_parts(model, data, given)
        scores = model.predict(data.X, n_jobs=n_jobs)
        return Answers([scores[row] for row in data.source[1].tolist()], scores=scores)

    def measure(self, data: Data, answers: Answers) -> dict[str, float]:
        """MAP, NDCG@10, precision at 1, 5 and 10, MRR."""
        from partwise.outputs.ranking.metrics import all_measures

        return all_measures(data.y, answers.scores, data.source[0])

    def details(self, model: Any, data: Data, answers: Answers) -> Details:
        """Number of queries."""
        return Details([], {"n_queries": len(data.source[0]) - 1}, [])

    def report(self, model: Any, data: Data, answers: Answers, **common: Any) -> Report:
        """Measures, and the heaviest features."""
        from partwise.report.content import MetricTable, Report
        from partwise.report.training import history_points, stated_certificate

        caption = common.pop("caption")
        return Report(
            certificate=stated_certificate(common.pop("certificate", None)),
            history=history_points(common.pop("history", ())),
            metrics=[MetricTable(caption, dict(self.measure(data, answers)))],
            features=self.telling_features(model, 10),
            **common,
        )

    @classmethod
    def report_facts(cls, model: Any) -> list[tuple[str, str]]:
        """The measure."""
        return [("Measure", model.structure.measure)]

    @classmethod
    def structure_facts(cls, model: Any) -> dict[str, Any]:
        """The measure."""
        return {"measure": model.structure.measure, "k": model.structure.k}

    def explanation(self, model: Any, data: Data, row: int, top: int) -> Any:
        """Scores are sums over features: `inspect` shows the weights."""
        raise ValueError("explain does not go with rankers; inspect shows the weights")

    def n_blocks(self, data: Data) -> int:
        """Queries."""
        return len(data.source[0]) - 1

    def pack(
        self, model: Any, data: Data, formulation: Formulation, n_jobs: int
    ) -> Problem:
        """The training problem."""
        offset: Ints = data.source[0]
        return model.training_problem(data.X, data.y, offset, formulation, n_jobs)
