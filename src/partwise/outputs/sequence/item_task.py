"""Taggers of dicts at the command line: data files of CRFsuite."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from partwise.outputs.sequence.task import TagTask
from partwise.outputs.task import Answers, Data
from partwise.readers.layout import Layout


class ItemTask(TagTask):
    """Predict and evaluate on data files of CRFsuite, one item per line."""

    def __init__(self) -> None:
        super().__init__(Layout())

    def read(self, paths: Sequence[str], *, truth: bool) -> Data:
        """Items; with `truth`, also their labels, which the file has in any case."""
        from partwise.readers import read_crfsuite

        X: list[Any] = []
        y: list[Any] = []
        for path in paths:
            items, labels = read_crfsuite(path)
            X += items
            y += labels
        return Data(X, y if truth else None, sum(map(len, X)), X)

    def write(self, output: str, data: Data, answers: Answers, topk: int) -> None:
        """The labels of an item in a line, then probabilities, separated by tabs."""
        from partwise.readers.sink import write_bytes

        columns = [*self.label_columns(answers, topk), *answers.more_columns]
        lines = []
        for sequence in zip(*columns, strict=True):
            lines += ["\t".join(map(str, item)) for item in zip(*sequence, strict=True)]
            lines.append("")
        write_bytes(output, "".join(f"{line}\n" for line in lines).encode())

    def known_parts(self, model: Any, data: Data, given: str) -> Any:
        """Refuse: the only labels of the file are those to be predicted."""
        raise ValueError("--given needs a file with columns; drop it")

    def shown_tokens(self, X: Any) -> list[list[str]]:
        """All attributes of each item."""
        return [[" ".join(item) for item in sequence] for sequence in X]
