"""A `Problem` for a structure written in Python: one method call per example.

Coordinates of Ψ are the parts, with an identity scorer: linear models only. The
operations of `compiled.py` are ordinary methods here, so every solver runs the same
text on it, interpreted.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from partwise.protocol import (
    CapabilityError,
    Cuts,
    Floats,
    Formulation,
    Ints,
    Problem,
    Structure,
)


def sparse_feature(psi: Any, n_psi: int) -> tuple[Ints, Floats]:
    """Ψ as (indices, values), from a dense vector or such a pair."""
    if isinstance(psi, tuple):
        index, value = np.asarray(psi[0], np.int64), np.asarray(psi[1], np.float64)
        value = np.broadcast_to(value, index.shape)
    else:
        dense = np.asarray(psi, np.float64).ravel()
        if len(dense) != n_psi:
            raise ValueError(
                f"joint_feature returned {len(dense)} values where n_psi_ is {n_psi}; "
                "set n_psi_ in setup() to the length of Ψ"
            )
        index = np.flatnonzero(dense)
        value = dense[index]
    if len(index) and (index.min() < 0 or index.max() >= n_psi):
        raise ValueError(f"joint_feature has an index outside 0…{n_psi - 1}")
    if not np.isfinite(value).all():
        raise ValueError("joint_feature returned NaN or infinity")
    return index, value


class _Output:
    """An output ŷ that the structure has returned, with Ψ and Δ computed once."""

    __slots__ = ("index", "loss", "value", "y")

    def __init__(self, y: Any, psi: tuple[Ints, Floats], loss: float) -> None:
        self.y = y
        self.index, self.value = psi
        self.loss = loss

    def dot(self, w: Floats) -> float:
        return float(np.sum(self.value * w[self.index]))


class LoopBlocks:
    """The operations of `compiled.py` by method calls of a user's structure.

    A code is one number: the place of the output in a table. Outputs with the same
    Ψ and Δ share a place, so the table grows with distinct outputs, not with calls.
    """

    def __init__(
        self,
        structure: Structure,
        X: Sequence[Any],
        Y: Sequence[Any],
        formulation: Formulation,
        *,
        with_loss: bool = True,
    ) -> None:
        self.structure = structure
        self.X = X
        self.Y = Y
        self.formulation = formulation
        self.with_loss = with_loss
        n_psi = structure.n_psi_
        self.truth = [
            _Output(y, sparse_feature(structure.joint_feature(x, y), n_psi), 0.0)
            for x, y in zip(X, Y, strict=True)
        ]
        self.table: list[_Output] = []
        self.places: dict[Any, int] = {}

    def place(self, i: int, y_hat: Any) -> int:
        """Number of an output of example i, entered when it is new."""
        structure = self.structure
        psi = sparse_feature(
            structure.joint_feature(self.X[i], y_hat), structure.n_psi_
        )
        loss = float(structure.loss(self.Y[i], y_hat))
        if not loss >= 0:
            raise ValueError(f"loss of example {i} is {loss}; it must be ≥ 0")
        key = (i, loss, psi[0].tobytes(), psi[1].tobytes())
        if key not in self.places:
            self.places[key] = len(self.table)
            self.table.append(_Output(y_hat, psi, loss))
        return self.places[key]

    def candidates(self, w: Floats, i: int) -> list[Any]:
        """Outputs among which the most violated one of example i is sure to be."""
        structure: Any = self.structure
        x, y = self.X[i], self.Y[i]
        if not self.with_loss:
            return [structure.argmax(x, w)]
        if self.formulation.is_additive:
            return [structure.loss_augmented_argmax(x, y, w)]
        if self.formulation.rescaling == "hard" and hasattr(structure, "two_best"):
            return list(structure.two_best(x, w))
        # a truth without rivals stands for itself, an output that is not violated
        return [y_hat for _, y_hat in structure.frontier(x, y, w)] or [y]

    def code_length(self, i: int) -> int:
        return 1

    def output_loss(self, i: int, code: Ints) -> float:
        return self.table[code[0]].loss

    def find_output(
        self, work: Any, w: Floats, i: int, code: Ints
    ) -> tuple[float, float, float]:
        truth = self.truth[i].dot(w)
        best = (0.0, 1.0, -np.inf)
        for y_hat in self.candidates(w, i):
            place = self.place(i, y_hat)
            output = self.table[place]
            gap = truth - output.dot(w)
            if not self.with_loss:
                plane = (0.0, 1.0, -gap)
            elif output.loss > 0:
                b, scale = self.formulation.plane(output.loss)
                plane = (b, scale, b - scale * gap)
            else:
                plane = (0.0, 1.0, min(-gap, 0.0))  # the truth, or as good as it
            if plane[2] > best[2] or best[2] == -np.inf:
                best = plane
                code[0] = place
        work[0] = w  # solvers change w in place only after recalling
        return best

    def recall_margin(self, work: Any, i: int, code: Ints) -> float:
        return self.margin(work[0], i, code)

    def margin(self, w: Floats, i: int, code: Ints) -> float:
        return self.truth[i].dot(w) - self.table[code[0]].dot(w)

    def push(self, w: Floats, i: int, code: Ints, coef: float) -> None:
        for output, sign in ((self.truth[i], coef), (self.table[code[0]], -coef)):
            np.add.at(w, output.index, sign * output.value)

    def wipe(self, w: Floats, i: int, code: Ints) -> None:
        w[self.truth[i].index] = 0.0
        w[self.table[code[0]].index] = 0.0


class LoopProblem(Problem):
    """Problem over a structure's own methods (see `LoopBlocks`)."""

    def __init__(
        self,
        structure: Structure,
        X: Sequence[Any],
        Y: Sequence[Any],
        formulation: Formulation,
    ) -> None:
        formulation.validate()
        refuse_missing(structure, formulation)
        self.structure = structure
        self.formulation = formulation
        self.n_blocks = len(X)
        self.n_weights = structure.n_psi_
        self.exact_oracle = getattr(structure, "exact_oracle", True)
        self.blocks = LoopBlocks(structure, X, Y, formulation)
        self.plain_blocks = LoopBlocks(structure, X, Y, formulation, with_loss=False)
        # one table, so that codes of predictions and of cuts mean the same
        self.plain_blocks.table = self.blocks.table
        self.plain_blocks.places = self.blocks.places

        self.local_blocks = self.blocks

    def local_zero(self) -> Floats:
        """Coordinates of Ψ are the same in every block."""
        return self.zero()

    def borrow_work(self) -> list[Any]:
        """A place for the model that `find_output` saw last."""
        return [None]

    def return_work(self, work: Any) -> None:
        """Nothing to keep."""

    def indptr_of(self, rows: Ints) -> Ints:
        """Codes have length one."""
        return np.arange(len(rows) + 1)

    def zero(self) -> Floats:
        """The zero model, shape (n_psi_,)."""
        return np.zeros(self.n_weights)

    def oracle(self, model: Floats, rows: Ints | None = None, *, k: int = 1) -> Cuts:
        """Most violated output of each row, by the structure's methods."""
        if k != 1:
            raise CapabilityError(
                "several cuts per example need a structure with k-best search"
            )
        return self._search(self.blocks, model, rows)

    def predict_codes(self, model: Floats, rows: Ints | None = None) -> Cuts:
        """Outputs of highest score; `b` holds their loss."""
        cuts = self._search(self.plain_blocks, model, rows)
        cuts.b[:] = [self.blocks.table[c].loss for c in cuts.code]
        return cuts

    def _search(self, blocks: LoopBlocks, model: Floats, rows: Ints | None) -> Cuts:
        rows = np.arange(self.n_blocks) if rows is None else np.asarray(rows, np.int64)
        code = np.zeros(len(rows), np.int32)
        planes = np.empty((len(rows), 3))
        work = self.borrow_work()
        for r, i in enumerate(rows):
            planes[r] = blocks.find_output(work, model, int(i), code[r : r + 1])
        b, scale, violation = np.ascontiguousarray(planes.T)
        return Cuts(rows, b, scale, violation, violation, self.indptr_of(rows), code)

    def margins(self, model: Floats, cuts: Cuts) -> Floats:
        """<model, a> of each cut."""
        value = [
            self.blocks.margin(model, int(i), cuts.code[r : r + 1])
            for r, i in enumerate(cuts.block)
        ]
        return cuts.scale * np.array(value).reshape(len(cuts.block))

    def combine(self, cuts: Cuts, alpha: Floats) -> Floats:
        """Σ α a in row order."""
        model = self.zero()
        for r, i in enumerate(cuts.block):
            coef = cuts.scale[r] * alpha[r]
            if coef:
                self.blocks.push(model, int(i), cuts.code[r : r + 1], coef)
        return model

    def outputs(self, cuts: Cuts) -> list[Any]:
        """The outputs as the structure returned them."""
        return [self.blocks.table[c].y for c in cuts.code]


def refuse_missing(structure: Any, formulation: Formulation) -> None:
    """Name the method that a formulation needs and a structure lacks."""
    name = type(structure).__name__
    if formulation.is_additive or hasattr(structure, "frontier"):
        return
    if formulation.rescaling == "hard":
        if hasattr(structure, "two_best"):
            return
        raise CapabilityError(
            f"a hard margin needs `two_best(x, w)` or `frontier(x, y, w)`, and {name} "
            "has neither; define one, or use formulation='margin'"
        )
    raise CapabilityError(
        f"{formulation.rescaling} rescaling with penalty "
        f"{formulation.penalty!r} needs `frontier(x, y, w)`, which {name} lacks; "
        "define it, or use formulation='margin' with penalty='l1'"
    )
