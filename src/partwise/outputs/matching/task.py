"""The task `match`: tables of candidate pairs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, ClassVar

from partwise.outputs.task import Answers, Data, Task

if TYPE_CHECKING:
    from partwise.readers.pairs import PairTable


class MatchTask(Task):
    """Learn to match the items of two sides.

    Files are tables with a line for each candidate pair, separated by tabs: example,
    left item, right item, 1 for true pairs and 0 for others, and features. The first
    line names the columns.

    Example: `partwise train match train.tsv --unmatched --model m --dev dev.tsv`
    """

    title: ClassVar[str] = "Matcher"
    examples_name: ClassVar[str] = "examples"
    tokens_name: ClassVar[str] = "candidate pairs"
    file_format: ClassVar[str] = "pairs"
    measures: ClassVar[tuple[str, ...]] = ("pair_f1", "pair_precision", "pair_recall")
    fact_names: ClassVar[tuple[str, ...]] = ("unmatched", "missed", "invented")
    json_names: ClassVar[tuple[str, str]] = ("matchings", "matching")
    aliases: ClassVar[dict[str, str]] = {
        "fit_intercept": "--intercept/--no-intercept",
        "unmatched": "--unmatched/--complete",
    }

    # -------------------------------------------------------------------- files

    def read(self, paths: Sequence[str], *, truth: bool) -> Data:
        """Candidate pairs; examples of different files are different."""
        from partwise.readers import ReaderError
        from partwise.readers.pairs import read_pairs

        files = [read_pairs(path, truth=truth) for path in paths]
        for path, file in zip(paths, files, strict=True):
            if file.names != files[0].names:
                raise ReaderError(
                    f"{path}: other columns than {paths[0]}; give files of one layout"
                )
        X = [x for file in files for x in file.X]
        y = [y for file in files for y in file.y] if truth else None
        return Data(X, y, sum(len(x[1]) for x in X), files)

    def fit_arguments(self, data: Data) -> dict[str, Any]:
        """The names of the columns."""
        return {"feature_names": data.source[0].names}

    def describe(self, data: Data) -> str:
        """Examples, pairs, features."""
        n_features = len(data.source[0].names)
        return (
            f"{len(data.X):,} examples, {data.n_tokens:,} candidate pairs, "
            f"{n_features} features"
        )

    def write(self, output: str, data: Data, answers: Answers, topk: int) -> None:
        """A line for each pair of the best matching: example, left, right."""
        from partwise.readers.sink import write_bytes

        if topk > 1:
            raise ValueError(
                f"--topk {topk}: the file has room for one matching; add --json"
            )
        lines, i = [], 0
        files: list[PairTable] = data.source
        for file in files:
            for example, (left, right) in zip(file.examples, file.items, strict=True):
                partners = answers.best[i].tolist()
                for item, partner in zip(left, partners, strict=True):
                    if partner >= 0:
                        lines.append(f"{example}\t{item}\t{right[partner]}\n")
                i += 1
        write_bytes(output, "".join(lines).encode())

    # --------------------------------------------------------------- evaluation

    def measure(self, data: Data, answers: Answers) -> dict[str, float]:
        """F1, precision and recall of pairs; matchings that are right as a whole."""
        import numpy as np

        pairs = zip(data.y, answers.best, strict=True)
        is_right = [np.array_equal(y, best) for y, best in pairs]
        return super().measure(data, answers) | {
            "exact_match": float(np.mean(is_right))
        }

    @classmethod
    def report_facts(cls, model: Any) -> list[tuple[str, str]]:
        """Whether items may stay without a partner."""
        return [
            ("Items without a partner", "yes" if model.structure.unmatched else "no")
        ]

    def judge(
        self, model: Any, data: Data, problem: Any, cuts: Any, rows: Any
    ) -> tuple[Any, int]:
        """Loss of each output by the plain methods."""
        import numpy as np

        outputs = problem.outputs(cuts)
        pairs = zip(rows.tolist(), outputs, strict=True)
        return np.array([model.structure.loss(data.y[i], y) for i, y in pairs]), 0
