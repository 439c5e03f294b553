"""The base class of tasks whose files are treebanks."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

from partwise.outputs.listings import shares, unseen_warning
from partwise.outputs.task import Answers, Data, Details, Listing, Task

if TYPE_CHECKING:
    from partwise.metrics.measures import Breakdown

# headers of reports, where they differ from those of evaluations
IN_REPORTS = {
    "f1": "F1", "n": "number", "exact": "exact match", "uas": "UAS", "las": "LAS",
}  # fmt: skip


WARNED = 3  # sentences that a warning names


class TreeTask(Task):
    """Trees of sentences."""

    json_names: ClassVar[tuple[str, str]] = ("trees", "tree")
    n_features_shown: ClassVar[int] = 15
    truths_name: ClassVar[str] = "sentences"  # what training files hold
    without_heads: Collection[int] = ()  # sentences whose given heads no tree has

    def describe(self, data: Data) -> str:
        """Sentences, words, labels."""
        n_labels = len(set(self.labels_in(data)))
        sizes = f"{data.n_examples:,} {self.truths_name}, {data.n_tokens:,} words"
        return f"{sizes}, {n_labels} {self.label_name}s"

    @classmethod
    def known_labels(cls, model: Any) -> list[str]:
        """Labels that predictions may have."""
        return model.labels

    def answer(
        self, model: Any, data: Data, *, topk: int, given: str | None, n_jobs: int
    ) -> Answers:
        """Predictions; given heads that no tree of the model has are left out."""
        from partwise.structures.dependency.constrained import ImpossibleHeadsError

        while True:
            try:
                answers = super().answer(
                    model, data, topk=topk, given=given, n_jobs=n_jobs
                )
            except ImpossibleHeadsError as error:
                self.without_heads = {*self.without_heads, *error.rows}
                continue
            rows = sorted(self.without_heads)
            warnings = [
                f"{data.source.place(row)}: no tree of this model has the given heads "
                "(circles, crossing arcs or several roots), so they were left out"
                for row in rows[:WARNED]
            ]
            if len(rows) > WARNED:
                warnings.append(f"the same in {len(rows) - WARNED:,} other sentences")
            return answers._replace(warnings=warnings)

    @abstractmethod
    def breakdowns(self, y: Sequence[Any], y_pred: Sequence[Any]) -> list[Breakdown]:
        """Rates of all labels, by length, and the like."""

    def details(self, model: Any, data: Data, answers: Answers) -> Details:
        """Labels never seen, and rates by label, length and the like."""
        unseen, warnings = unseen_warning(
            f"{self.label_name}s", self.labels_in(data), self.known_labels(model)
        )
        json: dict[str, Any] = {"n_tokens": data.n_tokens, "unseen_labels": unseen}
        listings = []
        for name, _, header, rows in self.breakdowns(data.y, answers.best):
            json[name] = [row._asdict() for row in rows]
            listings.append(Listing("", header, shares(rows)))
        return Details(warnings, json, listings)

    def report_sections(
        self, model: Any, data: Data, answers: Answers
    ) -> dict[str, Any]:
        """The same rates as tables."""
        from partwise.report import MetricTable

        tables = [
            MetricTable(title, {}, [IN_REPORTS.get(n, n) for n in header], rows)
            for _, title, header, rows in self.breakdowns(data.y, answers.best)
        ]
        return {"metrics": tables}
