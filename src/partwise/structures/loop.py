"""A `Problem` for a structure written in Python: one method call per example.

Coordinates of Ψ are the parts, with an identity scorer: linear models only. The
operations of `compiled` are ordinary methods here, so every solver runs the same
text on it, interpreted.
"""

from __future__ import annotations

import copy
import hashlib
import pickle
from collections.abc import Iterable, Sequence
from typing import Any, Protocol

import numpy as np

from partwise.objective import SLACK, violation_of
from partwise.protocol import (
    CapabilityError,
    Cuts,
    Floats,
    Formulation,
    Ints,
    Problem,
    Structure,
    offers,
)
from partwise.structures._outputs_as_json import as_json, from_json


class Bounded(Protocol):
    """A structure whose inexact search has a bound."""

    def loss_augmented_bound(self, x: Any, y: Any, w: Floats) -> float:
        """At least Δ(y, ŷ) + <w, Ψ(x, ŷ)> of every output ŷ."""


class TwoBest(Protocol):
    """A structure that can be given a hard margin."""

    def two_best(self, x: Any, w: Floats) -> Iterable[Any]:
        """The two outputs of highest score."""


class Frontier(Protocol):
    """A structure for every formulation."""

    def frontier(self, x: Any, y: Any, w: Floats) -> Iterable[tuple[float, Any]]:
        """(loss, output of highest score) for each attainable loss."""


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


def loss_of(structure: Structure, i: int, y: Any, y_hat: Any) -> float:
    """Δ of an output of example i, checked."""
    given = structure.loss(y, y_hat)
    try:
        loss = float(given)
    except (TypeError, ValueError):
        loss = np.nan
    if not loss >= 0:
        raise ValueError(
            f"loss of example {i} is {given!r:.40}; it must be a number ≥ 0"
        )
    return loss


class LoopOutput:
    """An output ŷ that the structure has returned, with Ψ and Δ computed once."""

    __slots__ = ("index", "loss", "value", "y")

    def __init__(self, y: Any, psi: tuple[Ints, Floats], loss: float) -> None:
        self.y = y
        self.index, self.value = psi
        self.loss = loss

    def dot(self, w: Floats) -> float:
        return float(np.sum(self.value * w[self.index]))


class LoopBlocks:
    """The operations of `partwise.compiled` by method calls of a user's structure.

    A code is one number: the place of the output in a table. Outputs with the same
    Ψ and Δ share a place, so the table grows with distinct outputs, not with calls.
    """

    def __init__(
        self,
        structure: Structure,
        X: Sequence[Any],
        Y: Sequence[Any],
        formulation: Formulation,
    ) -> None:
        self.structure = structure
        self.X = X
        self.Y = Y
        self.formulation = formulation
        self.with_loss = True
        if len(X) != len(Y):
            raise ValueError(f"X has {len(X)} examples and Y {len(Y)}")
        self.truth = [LoopOutput(y, self.psi(i, y), 0.0) for i, y in enumerate(Y)]
        self.table: list[LoopOutput] = []
        self.places: dict[Any, int] = {}

    def psi(self, i: int, y: Any) -> tuple[Ints, Floats]:
        """Ψ of an output of example i: places in a model, and their values."""
        psi = self.structure.joint_feature(self.X[i], y)
        return sparse_feature(psi, self.structure.n_psi_)

    def place(self, i: int, y_hat: Any) -> int:
        """Number of an output of example i, entered when it is new."""
        if y_hat is None:
            raise ValueError(f"the search on example {i} returned None, no output")
        psi = self.psi(i, y_hat)
        loss = loss_of(self.structure, i, self.Y[i], y_hat)
        key = (i, loss, psi[0].tobytes(), psi[1].tobytes())
        if key not in self.places:
            self.places[key] = len(self.table)
            self.table.append(LoopOutput(y_hat, psi, loss))
        return self.places[key]

    def view(self, w: Floats, i: int) -> Any:
        """The model as the structure's methods take it for example i."""
        return w

    def search(self, w: Floats, i: int) -> tuple[list[Any], float]:
        """Outputs among which the most violated one is, and a bound for all others.

        Outputs beyond those returned are violated by at most the bound: −inf when the
        search is exact, +inf when nothing is known.
        """
        structure: Any = self.structure
        x, y, model = self.X[i], self.Y[i], self.view(w, i)
        if not self.with_loss:
            return [structure.argmax(x, model)], -np.inf
        unknown = -np.inf if structure.exact_oracle else np.inf
        if self.formulation.is_additive:
            y_hat = structure.loss_augmented_argmax(x, y, model)
            if not structure.exact_oracle and offers(structure, Bounded):
                bound = float(structure.loss_augmented_bound(x, y, model))
                unknown = bound - self.truth[i].dot(w)
            return [y_hat], unknown
        if self.formulation.rescaling == "hard" and offers(structure, TwoBest):
            best = list(structure.two_best(x, model))
            others = [y_hat for y_hat in best if structure.loss(y, y_hat) > 0]
            if others or len(best) < 2:
                return others, unknown
            if not offers(structure, Frontier):
                # no other output scores more than the second, which has no loss
                second = self.table[self.place(i, best[1])]
                margin = self.truth[i].dot(w) - second.dot(w)
                return [], max(unknown, 1.0 - margin)
        return [y_hat for _, y_hat in structure.frontier(x, y, model)], unknown

    def code_length(self, i: int) -> int:
        return 1

    def output_loss(self, i: int, code: Ints) -> float:
        return self.table[code[0]].loss

    def find_output(
        self, work: Any, w: Floats, i: int, code: Ints
    ) -> tuple[float, float, float, float]:
        truth = self.truth[i].dot(w)
        work[0] = w  # solvers change w in place only after recalling
        outputs, bound = self.search(w, i)
        if not self.with_loss:
            code[0] = self.place(i, outputs[0])
            lead = self.table[code[0]].dot(w) - truth
            return 0.0, 1.0, lead, lead
        rule = self.formulation.rule
        # the truth is a candidate, too: margin 0, loss 0
        b, scale = self.formulation.plane(0.0)
        best = (b, scale, violation_of(rule, b, scale, 0.0))
        place = -1
        for y_hat in outputs:
            here = self.place(i, y_hat)
            output = self.table[here]
            b, scale = self.formulation.plane(output.loss)
            violation = violation_of(rule, b, scale, truth - output.dot(w))
            if violation > best[2] or (place < 0 and rule >= SLACK and b > 0):
                best, place = (b, scale, violation), here
        code[0] = self.place(i, self.truth[i].y) if place < 0 else place
        return *best, max(bound, best[2])

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
        self.set_blocks(self._make_blocks(X, Y))
        self.n_weights = self._count_weights()

    def set_blocks(self, blocks: Any) -> None:
        """Set the operations on blocks, and the same without losses."""
        self.blocks = self.local_blocks = blocks
        self.plain_blocks = copy.copy(blocks)  # with the same table of outputs
        self.plain_blocks.with_loss = False

    def _make_blocks(self, X: Sequence[Any], Y: Sequence[Any]) -> LoopBlocks:
        return LoopBlocks(self.structure, X, Y, self.formulation)

    def _count_weights(self) -> int:
        return self.structure.n_psi_

    def local_zero(self) -> Floats:
        """Coordinates of Ψ are the same in every block."""
        return self.zero()

    def borrow_work(self) -> list[Any]:
        """A place for the model of the last `find_output`."""
        return [None]

    def return_work(self, work: Any) -> None:
        """Nothing to do: buffers are not reused."""

    def indptr_of(self, rows: Ints) -> Ints:
        """Codes have length one."""
        return np.arange(len(rows) + 1)

    def zero(self) -> Floats:
        """The zero model, shape (n_psi_,)."""
        return np.zeros(self.n_weights)

    def oracle(self, model: Floats, rows: Ints | None = None) -> Cuts:
        """Most violated output of each row, by the structure's methods."""
        return self._search(self.blocks, model, rows)

    def predict_codes(self, model: Floats, rows: Ints | None = None) -> Cuts:
        """Outputs of highest score; `b` holds their loss."""
        cuts = self._search(self.plain_blocks, model, rows)
        cuts.b[:] = [self.blocks.table[c].loss for c in cuts.code]
        return cuts

    def _search(self, blocks: LoopBlocks, model: Floats, rows: Ints | None) -> Cuts:
        rows = np.arange(self.n_blocks) if rows is None else np.asarray(rows, np.int64)
        code = np.zeros(len(rows), np.int32)
        planes = np.empty((len(rows), 4))
        work = self.borrow_work()
        for r, i in enumerate(rows):
            planes[r] = blocks.find_output(work, model, int(i), code[r : r + 1])
        b, scale, violation, bound = np.ascontiguousarray(planes.T)
        return Cuts(rows, b, scale, violation, bound, self.indptr_of(rows), code)

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

    # ------------------------------------------------- starts and checkpoints

    def keys(self) -> list[bytes] | None:
        """Digests of pickled examples, which are never read back."""
        try:
            pairs = zip(self.blocks.X, self.blocks.Y, strict=True)
            pickled = [pickle.dumps(pair) for pair in pairs]
        except Exception:
            return None
        return [hashlib.blake2b(text, digest_size=12).digest() for text in pickled]

    def portable_outputs(self, cuts: Cuts) -> list[Any]:
        """A place in the table means nothing in another table."""
        return self.outputs(cuts)

    def adopt(self, cuts: Cuts, outputs: list[Any] | None) -> Cuts:
        """Enter the outputs into the table."""
        assert outputs is not None
        pairs = zip(cuts.block.tolist(), outputs, strict=True)
        places = [self.blocks.place(i, y_hat) for i, y_hat in pairs]
        losses = [self.blocks.table[place].loss for place in places]
        b, scale = self.formulation.planes(losses)
        return cuts._replace(b=b, scale=scale, code=np.array(places, np.int32))

    def digest(self) -> bytes:
        """Of examples, structure and formulation."""
        keys = self.keys()
        if keys is None:
            raise CapabilityError(
                "a checkpoint must know its data again, and these examples cannot be "
                "pickled; leave checkpoint out"
            )
        named = repr((self.structure, self.formulation, self.n_weights)).encode()
        return hashlib.blake2b(b"".join([named, *keys])).digest()

    def export_codes(self) -> dict[str, Any]:
        """The table of outputs as JSON, with the example of each."""
        owner = np.zeros(len(self.blocks.table), np.int64)
        for key, place in self.blocks.places.items():
            owner[place] = key[0]
        listed = [as_json(output.y) for output in self.blocks.table]
        return {"owner": owner, "outputs": listed}

    def import_codes(self, tree: dict[str, Any]) -> None:
        """Enter the same outputs at the same places."""
        pairs = zip(tree["owner"].tolist(), tree["outputs"], strict=True)
        for place, (i, listed) in enumerate(pairs):
            if self.blocks.place(i, from_json(listed)) != place:
                raise ValueError("the checkpoint's outputs are not those of the data")


def refuse_missing(structure: Any, formulation: Formulation) -> None:
    """Name the method that a formulation needs and a structure lacks."""
    name = type(structure).__name__
    if formulation.is_additive or offers(structure, Frontier):
        return
    if formulation.rescaling == "hard":
        if offers(structure, TwoBest):
            return
        raise CapabilityError(
            f"a hard margin needs `two_best(x, w)` or `frontier(x, y, w)`, and {name} "
            "has neither; define one, or use <formulation='margin'>"
        )
    raise CapabilityError(
        f"{formulation.rescaling} rescaling with penalty "
        f"{formulation.penalty!r} needs `frontier(x, y, w)`, which {name} lacks; "
        "define it, or use <formulation='margin'> with <penalty='l1'>"
    )
