"""Taggers made from models of CRFsuite, and its data files at the command line."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

import numpy as np

from partwise.features import DictFeaturizer
from partwise.features.vocabulary import string_arrays
from partwise.outputs.label_scoring import TokenFeatureScoring
from partwise.outputs.labels import MAX_LABELS
from partwise.outputs.scoring import MAX_WEIGHTS
from partwise.outputs.sequence.model import SequenceModel
from partwise.outputs.sequence.task import TagTask
from partwise.outputs.task import Answers, Data
from partwise.readers.crfsuite import read_crfsuite_model
from partwise.readers.limits import ReaderError
from partwise.structures.chain import Chain


def from_crfsuite(path: str | os.PathLike[str]) -> SequenceModel:
    """
    The tagger of a binary model of CRFsuite; it predicts the same labels.

    Parameters
    ----------
    path : path
        As CRFsuite, python-crfsuite or sklearn-crfsuite wrote it.

    Returns
    -------
    SequenceModel
        Its tokens are dicts or lists of attributes, as python-crfsuite takes them, and
        its marginals and confidences are those of CRFsuite. It has no certificate,
        because the file does not hold the objective. `save_model` writes it.

    Raises
    ------
    ReaderError
        The file is damaged, or no model of CRFsuite.
    """
    model = read_crfsuite_model(path, MAX_WEIGHTS)
    if len(model.labels) > MAX_LABELS:
        raise ReaderError(
            f"{os.fspath(path)}: {len(model.labels)} labels where {MAX_LABELS} are "
            "allowed; train with fewer"
        )
    state = {"kind": DictFeaturizer.kind, "min_count": 1, "hash_bits": None}
    featurizer = DictFeaturizer.from_state(state, string_arrays(model.attributes))
    weights = np.append(model.states, model.transitions)
    info = {"converted_from": "CRFsuite", "temperature": 1.0}
    return SequenceModel(
        TokenFeatureScoring(featurizer),
        Chain(len(model.labels)),
        model.labels,
        weights,
        info,
    )


class ItemTask(TagTask):
    """Predict and evaluate on data files of CRFsuite, one item per line."""

    def read(self, paths: Sequence[str], *, truth: bool) -> Data:
        """Items; with `truth`, also their labels, which the file has in any case."""
        from partwise.readers import read_crfsuite

        files = [read_crfsuite(path) for path in paths]
        X = [items for file in files for items in file[0]]
        y = [labels for file in files for labels in file[1]]
        return Data(X, y if truth else None, sum(map(len, X)), X)

    def shown_tokens(self, X: Any) -> list[list[str]]:
        """All attributes of each item."""
        return [[" ".join(item) for item in sequence] for sequence in X]

    def write(self, output: str, data: Data, answers: Answers, topk: int) -> None:
        """The labels of an item in a line, then probabilities, separated by tabs."""
        from partwise.readers.sink import write_bytes

        lines = []
        for sequence in zip(*self.new_columns(answers, topk), strict=True):
            lines += ["\t".join(map(str, item)) for item in zip(*sequence, strict=True)]
            lines.append("")
        write_bytes(output, "".join(f"{line}\n" for line in lines).encode())

    def known_parts(self, model: Any, data: Data, given: str) -> Any:
        """Refuse: the only labels of the file are those to be predicted."""
        raise ValueError("--given needs a file with columns; drop it")
