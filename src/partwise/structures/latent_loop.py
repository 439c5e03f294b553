"""A `Problem` over a user's Python structure with hidden parts."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol

import numpy as np

from partwise.protocol import Cuts, Floats, Formulation, Structure, offers, unit_cuts
from partwise.structures.loop import LoopOutput, LoopProblem, sparse_feature


class Completing(Protocol):
    """A structure with hidden parts."""

    def complete(self, x: Any, y: Any, w: Floats) -> Any:
        """The best output that agrees with what is observed of the truth."""


class Drawing(Protocol):
    """A structure with random completions."""

    def complete_at_random(self, x: Any, y: Any, rng: np.random.Generator) -> Any:
        """Any output that agrees with what is observed of the truth."""


class LatentLoopProblem(LoopProblem):
    """Truths with hidden parts: see `Latent`.

    ``structure.complete(x, y, w)`` fills them in; at first at the zero model. Losses
    depend on the observed truth alone. Restarts run one after the other (there is no
    `Forking`): threads of one process take turns in running Python code.
    """

    def __init__(
        self,
        structure: Structure,
        X: Sequence[Any],
        Y: Sequence[Any],
        formulation: Formulation,
    ) -> None:
        latent: Any = structure
        zero = np.zeros(structure.n_psi_)
        first = [latent.complete(x, y, zero) for x, y in zip(X, Y, strict=True)]
        super().__init__(structure, X, first, formulation)
        self.completed = first
        self.blocks.Y = self.plain_blocks.Y = list(Y)

    def complete(self, model: Floats) -> Cuts:
        """Complete all truths; the old ones of the blocks that changed, as cuts."""
        latent: Any = self.structure
        return self._replace(lambda x, y: latent.complete(x, y, model))

    def complete_at_random(self, rng: np.random.Generator) -> Cuts:
        """By the structure's method of that name, or at a random model."""
        latent: Any = self.structure
        if offers(latent, Drawing):
            return self._replace(lambda x, y: latent.complete_at_random(x, y, rng))
        return self.complete(rng.normal(size=self.n_weights))

    def begin_with(self, outputs: Sequence[Any]) -> Cuts:
        """Take over completions of all truths, which must agree with them."""
        for i, (y, output) in enumerate(zip(self.blocks.Y, outputs, strict=True)):
            loss = float(self.structure.loss(y, output))
            if loss != 0:
                raise ValueError(
                    f"the completion of example {i}, {output!r}, has loss {loss} "
                    "against the truth that it completes"
                )
        given = iter(outputs)
        return self._replace(lambda x, y: next(given))

    def _replace(self, completed: Callable[[Any, Any], Any]) -> Cuts:
        blocks, changed, codes = self.blocks, [], []
        for i, (x, y) in enumerate(zip(blocks.X, blocks.Y, strict=True)):
            new = completed(x, y)
            psi = sparse_feature(self.structure.joint_feature(x, new), self.n_weights)
            old = blocks.truth[i]
            if np.array_equal(psi[0], old.index) and np.array_equal(psi[1], old.value):
                continue
            changed.append(i)
            codes.append(blocks.place(i, self.completed[i]))
            self.completed[i] = new
            blocks.truth[i] = LoopOutput(new, psi, 0.0)
        rows = np.array(changed, np.int64)
        return unit_cuts(rows, self.indptr_of(rows), np.array(codes, np.int32))
