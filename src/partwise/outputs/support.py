"""Support structures, with the training sequences or sentences they belong to."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from partwise.protocol import Cuts, Floats, Ints, Support
from partwise.readers.table import Table


class SupportSet(NamedTuple):
    """Support structures, with the inputs and truths of their sequences."""

    inputs: Any  # Features or DenseFeatures of the sequences; a Table or list of them
    y: Any  # (n_tokens,) their true labels; or a list of trees
    cuts: Cuts  # blocks are numbered as in `inputs`
    alpha: Floats  # (m,)
    rows: Ints  # (n_sequences,) their place in the training data
    tokens: list[list[str]]  # to show them

    @property
    def offset(self) -> Ints:
        """First token of each sequence, (n_sequences + 1,)."""
        return np.cumsum([0, *map(len, self.tokens)])

    def truth(self, row: int) -> Ints:
        """True labels of a sequence."""
        return self.y[self.offset[row] : self.offset[row + 1]]

    def output(self, plane: int) -> Ints:
        """The wrong labels of a plane."""
        return self.cuts.code[self.cuts.indptr[plane] : self.cuts.indptr[plane + 1]]

    @classmethod
    def create(
        cls, inputs: Any, offset: Ints, y: Ints, support: Support, tokens: Any
    ) -> SupportSet:
        """Keep only the sequences that carry dual mass.

        Parameters
        ----------
        inputs : Features, DenseFeatures, Table or list
            Of the training data.
        offset : int array (n_sequences + 1,)
        y : int array (n_tokens,)
        support : Support
        tokens : callable
            Row number to the list of strings to show.
        """
        rows, cuts = support.by_block()
        length = np.diff(offset)[rows]
        place = np.repeat(np.asarray(offset)[rows] - np.cumsum(length) + length, length)
        token_rows = place + np.arange(len(place))
        words = [tokens(int(i)) for i in rows]
        sequences = _take_sequences(inputs, rows, token_rows)
        labels = np.asarray(y)[token_rows]
        return cls(sequences, labels, cuts, support.alpha, rows, words)

    @classmethod
    def of_trees(
        cls, sentences: list[Any], trees: list[Any], support: Support
    ) -> SupportSet:
        """Keep only the sentences of (word, tag), with their trees, of dual mass."""
        rows, cuts = support.by_block()
        kept_sentences = [sentences[i] for i in rows]
        words = [[word for word, _ in x] for x in kept_sentences]
        truths = [trees[i] for i in rows]
        return cls(kept_sentences, truths, cuts, support.alpha, rows, words)


def support_of(
    inputs: Any, offset: Ints, problem: Any, words: Callable[[int], list[str]]
) -> Callable[[Support], SupportSet]:
    """From the dual of a problem to what a model keeps of it and of its data.

    Parameters
    ----------
    inputs, offset
        As for `SupportSet.create`.
    problem : PackedProblem
        Its codes have a number for each token.
    words : callable
        Row number to the list of strings to show.
    """

    def chosen(dual: Support) -> SupportSet:
        return SupportSet.create(inputs, offset, problem.blocks.y, dual, words)

    return chosen


def _take_sequences(inputs: Any, rows: Ints, tokens: Ints) -> Any:
    """The chosen sequences, which consist of these tokens."""
    if isinstance(inputs, Table):
        return inputs[rows]
    if isinstance(inputs, list):
        return [inputs[i] for i in rows]
    length = np.diff(inputs.offset)[rows]
    offset = np.append(0, np.cumsum(length)).astype(np.int64)
    if not hasattr(inputs, "indptr"):
        return inputs._replace(X=inputs.X[tokens], offset=offset)
    size = np.diff(inputs.indptr)[tokens]
    indptr = np.append(0, np.cumsum(size)).astype(np.int64)
    picked = np.repeat(inputs.indptr[tokens] - indptr[:-1], size)
    picked = picked + np.arange(indptr[-1])
    data = inputs.data
    if len(data) == len(inputs.indices):
        data = data[picked]
    return inputs._replace(
        indptr=indptr, indices=inputs.indices[picked], data=data, offset=offset
    )
