"""The base class of tasks that label tokens of sequences or nodes of graphs."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from partwise.outputs.hidden_truths import known_pairs, label_numbers, token_loss
from partwise.outputs.task import Answers, Data, Task


class LabelTask(Task):
    """Rows of labels, of which some may not be known: None in `Data.y`."""

    def known(self, data: Data, answers: Answers) -> tuple[list[Any], list[Any]]:
        """True and predicted labels as strings, of what has a known label."""
        pairs = known_pairs(data.y, answers.best)
        truth, predicted = ([[str(a) for a in row] for row in rows] for rows in pairs)
        return truth, predicted

    def labels_in(self, data: Data) -> Iterator[str]:
        """All labels that are known."""
        return (str(label) for row in data.y for label in row if label is not None)

    def truths(self, model: Any, data: Data) -> Any:
        """Numbers of the labels, −1 where they are not known."""
        return label_numbers(data.y, model.labels)

    def plain_loss(
        self, structure: Any, data: Data, row: int, truth: Any, output: Any
    ) -> float:
        """That of the tokens whose label is known."""
        return token_loss(structure, data.y[row], truth, output)
