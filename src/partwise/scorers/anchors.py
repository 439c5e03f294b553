"""Anchors of a trained kernel model: inputs of the training data that it needs."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from partwise.protocol import Ints


class ForeignData(ValueError):
    """These are not the data that a model was trained on."""


class Anchors(NamedTuple):
    """Inputs of the training data that carry weight."""

    inputs: Any  # as the kernel takes them
    row: np.ndarray  # (n_anchors,) int64 sequence of the training data
    token: np.ndarray  # (n_anchors,) int64 token in it; (0,) for whole sequences
    words: list[str]  # these tokens, to show them; empty for whole sequences

    def places(self, offset: Ints) -> Ints:
        """Numbers of the anchors among the inputs of the training data.

        Parameters
        ----------
        offset : int array (n_sequences + 1,)
            Tokens of the training data.

        Returns
        -------
        int64 array (n_anchors,)

        Raises
        ------
        ForeignData
            These data are too small to have the anchors.
        """
        n = len(offset) - 1
        is_there = self.row < n
        place = self.row
        if len(self.token):
            row = np.where(is_there, self.row, 0)
            is_there &= self.token < np.diff(offset)[row]
            place = np.asarray(offset)[row] + self.token
        if not is_there.all():
            k = int(np.argmin(is_there))
            raise ForeignData(f"{self.name(k)}, an anchor of the model, is not there")
        return place

    def name(self, k: int) -> str:
        """Where an anchor stands."""
        if len(self.token):
            return f"sequence {self.row[k]}, token {self.token[k]}"
        return f"sequence {self.row[k]}"
