"""The smallest compiled structure: a sign for each row of a matrix.

It shows what a tag with the operations of `partwise.compiled` is, without decoders and
scorers, and compiles in a second: solvers over it compile the loops that all structures
share (`partwise.compile_ahead`).

    φ(x_i, y) = (y − ½)·x_i,  y ∈ {0, 1},  Δ = [ŷ ≠ y_i],  δ(ŷ) = (y_i − ŷ)·x_i
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from partwise.compiled import uncounted
from partwise.protocol import Cuts, Floats, Formulation, Ints
from partwise.structures.packed import PackedProblem


class SignWork(NamedTuple):
    """What the last search leaves for `recall_margin`."""

    score: Floats  # (1,) <w, x_i>


@uncounted
class SignBlocks(NamedTuple):
    """A block for each row; a code is one whole number, the sign."""

    x: Floats  # (n_blocks, n_features)
    y: Ints  # (n_blocks,), int32

    def code_length(blocks, i):
        """One sign."""
        return 1

    def output_loss(blocks, i, code):
        """Whether the sign is wrong."""
        return 1.0 if code[0] != blocks.y[i] else 0.0

    def find_output(blocks, work, w, i, code):
        """The wrong sign, or the truth where it is not violated."""
        score = 0.0
        for k in range(w.shape[0]):
            score += w[k] * blocks.x[i, k]
        work.score[0] = score
        violation = 1.0 - (2 * blocks.y[i] - 1) * score
        if violation <= 0.0:
            code[0] = blocks.y[i]
            return 0.0, 1.0, 0.0, 0.0
        code[0] = 1 - blocks.y[i]
        return 1.0, 1.0, violation, violation

    def recall_margin(blocks, work, i, code):
        """<w, δ> by the score of the last search."""
        return (blocks.y[i] - code[0]) * work.score[0]

    def margin(blocks, w, i, code):
        """<w, δ>."""
        score = 0.0
        for k in range(w.shape[0]):
            score += w[k] * blocks.x[i, k]
        return (blocks.y[i] - code[0]) * score

    def push(blocks, w, i, code, coef):
        """Add coef·δ to w."""
        for k in range(w.shape[0]):
            w[k] += coef * (blocks.y[i] - code[0]) * blocks.x[i, k]

    def wipe(blocks, w, i, code):
        """All of w: each row is dense."""
        for k in range(w.shape[0]):
            w[k] = 0.0


class SignProblem(PackedProblem):
    """Signs of all rows."""

    def outputs(self, cuts: Cuts) -> list[int]:
        """The signs, 0 or 1."""
        return [int(sign) for sign in cuts.code]


def pack_signs(x: Any, y: Any) -> SignProblem:
    """The problem of learning the sign of each row; L1 margin rescaling.

    Parameters
    ----------
    x : array (n_rows, n_features)
    y : array (n_rows,)
        0 or 1.
    """
    blocks = SignBlocks(np.array(x, np.float64), np.array(y, np.int32))
    n_blocks, n_features = blocks.x.shape
    return SignProblem(
        blocks,
        blocks,  # predictions are not needed
        lambda: (blocks, n_features),
        n_blocks=n_blocks,
        n_weights=n_features,
        formulation=Formulation("margin", "l1"),
        new_work=lambda: SignWork(np.empty(1)),
    )
