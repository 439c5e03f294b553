"""One of several given candidates: the output space of a reranker.

An example is a list of candidates, its truth the best of them. Candidates are compared
by a kernel, so a model is a coefficient for each candidate of the training data, and
beside it, as for chains, the scores of all of them, kept up to date: an oracle only has
to look, and a change costs two rows of the Gram matrix.
"""

from __future__ import annotations

import copy
from itertools import pairwise
from typing import Any

import numpy as np

from partwise.objective import HARD, Formulation
from partwise.protocol import Cuts, Floats, Ints, Problem
from partwise.structures.loop import LoopProblem


class CandidateBlocks:
    """The operations of `compiled`, interpreted; a code is a candidate's place."""

    def __init__(
        self,
        gram: Floats,
        offset: Ints,
        truth: Ints,
        loss: Floats,
        formulation: Formulation,
    ) -> None:
        self.gram = gram
        self.offset = offset
        self.truth = truth  # (n,) number among all candidates
        self.loss = loss
        self.with_loss = True
        planes = [formulation.plane(d) for d in loss.tolist()]
        self.b, self.scale = np.array(planes).reshape(-1, 2).T
        self.is_hard = formulation.rule == HARD

    def code_length(self, i: int) -> int:
        """One number."""
        return 1

    def output_loss(self, i: int, code: Ints) -> float:
        """Δ of a candidate."""
        return float(self.loss[self.offset[i] + code[0]])

    def find_output(
        self, work: Any, w: Floats, i: int, code: Ints
    ) -> tuple[float, float, float, float]:
        """The most violated candidate, by trying all."""
        here = slice(self.offset[i], self.offset[i + 1])
        scores = w[len(self.gram) :]
        work[0] = w  # solvers change w in place only after recalling
        gap = scores[self.truth[i]] - scores[here]
        if not self.with_loss:
            code[0] = np.argmin(gap)
            lead = -float(gap[code[0]])
            return 0.0, 1.0, lead, lead
        b, scale = self.b[here], self.scale[here]
        violation = b - scale * gap
        if self.is_hard:
            violation[b == 0] = -np.inf
        code[0] = best = int(np.argmax(violation))
        value = float(violation[best])
        return float(b[best]), float(scale[best]), value, value

    def recall_margin(self, work: Any, i: int, code: Ints) -> float:
        """Scores are at hand anyway."""
        return self.margin(work[0], i, code)

    def margin(self, w: Floats, i: int, code: Ints) -> float:
        """Score of the truth minus that of the candidate."""
        scores = w[len(self.gram) :]
        return float(scores[self.truth[i]] - scores[self.offset[i] + code[0]])

    def push(self, w: Floats, i: int, code: Ints, coef: float) -> None:
        """Change two coefficients, and all scores by them."""
        truth, other = self.truth[i], self.offset[i] + code[0]
        w[truth] += coef
        w[other] -= coef
        w[len(self.gram) :] += coef * (self.gram[truth] - self.gram[other])

    def wipe(self, w: Floats, i: int, code: Ints) -> None:
        """Undo any `push`."""
        w[self.truth[i]] = w[self.offset[i] + code[0]] = 0.0
        w[len(self.gram) :] = 0.0


class CandidateProblem(LoopProblem):
    """
    Lists of candidates, packed.

    Parameters
    ----------
    gram : array (m, m)
        Kernel values of all candidates of all examples.
    offset : int array (n + 1,)
        Example i has the candidates ``offset[i]:offset[i + 1]``.
    quality : array (m,)
        How good each candidate is; the best of an example is its truth, and what
        another lacks is its loss.
    formulation : Formulation

    Examples
    --------
    >>> problem = CandidateProblem(np.eye(3), np.array([0, 3]), np.array([0.5, 1.0, 0]))
    >>> cuts = problem.oracle(problem.zero())
    >>> cuts.code.tolist(), cuts.b.tolist()
    ([2], [1.0])
    """

    is_euclidean = False

    def __init__(
        self,
        gram: Floats,
        offset: Ints,
        quality: Floats,
        formulation: Formulation | None = None,
    ) -> None:
        formulation = (formulation or Formulation()).validate()
        gram = np.ascontiguousarray(gram, np.float64)
        if gram.shape != (len(quality), len(quality)):
            raise ValueError(
                f"gram has shape {gram.shape} where there are {len(quality)} candidates"
            )
        best_at = [a + np.argmax(quality[a:b]) for a, b in pairwise(offset)]
        truth = np.array(best_at, np.int64)
        best = np.repeat(quality[truth], np.diff(offset))
        self.formulation = formulation
        self.n_blocks = len(offset) - 1
        loss = best - quality
        blocks: Any = CandidateBlocks(gram, offset, truth, loss, formulation)
        self.blocks = self.local_blocks = blocks
        self.plain_blocks = copy.copy(blocks)
        self.plain_blocks.with_loss = False
        self.n_weights = 2 * len(gram)

    def predict_codes(self, model: Floats, rows: Ints | None = None) -> Cuts:
        """Candidates of highest score; `b` holds their loss."""
        cuts = self._search(self.plain_blocks, model, rows)
        blocks: Any = self.blocks
        cuts.b[:] = blocks.loss[blocks.offset[cuts.block] + cuts.code]
        return cuts

    def outputs(self, cuts: Cuts) -> list[int]:
        """Places in the lists of candidates."""
        return cuts.code.tolist()

    def keys(self) -> None:
        """Coefficients belong to the pairs of one fit."""
        return None

    def digest(self) -> bytes:
        """Refuse: no checkpoints."""
        return Problem.digest(self)

    def dot(self, one: Floats, other: Floats) -> float:
        """<β, K β'>."""
        half = self.n_weights // 2
        return float(np.sum(one[:half] * other[half:]))

    def compact(self, model: Floats) -> Floats:
        """The coefficients, (m,)."""
        return model[: self.n_weights // 2].copy()

    def expand(self, weights: Floats) -> Floats:
        """Coefficients and their scores."""
        model = self.zero()
        half = len(weights)
        model[:half] = weights
        gram: Floats = self.blocks.gram  # type: ignore[attr-defined]
        for c in np.flatnonzero(weights):
            model[half:] += weights[c] * gram[c]
        return model
