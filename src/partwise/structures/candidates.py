"""One of several given candidates: the output space of a reranker.

An example is a list of candidates, its truth the best of them. Candidates are compared
by a kernel, so a model is a coefficient for each candidate of the training data, and
beside it, as for chains, the scores of all of them, kept up to date: an oracle only has
to look, and a change costs two rows of the Gram matrix.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from numbers import Real
from typing import Any, NamedTuple

import numpy as np

from partwise.bounds import MAX_FEATURE
from partwise.objective import HARD, Formulation
from partwise.protocol import Cuts, Floats, Ints, Problem, Votes
from partwise.structures.loop import LoopProblem

Ranked = list[tuple[Any, float]]  # candidates of an example with their scores


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
        self.b, self.scale = formulation.planes(loss)
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
        """From the scores in the model of the last search."""
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
    """Lists of candidates, packed.

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
        self.set_blocks(CandidateBlocks(gram, offset, truth, loss, formulation))
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
        gram: Floats = self.blocks.gram
        for c in np.flatnonzero(weights):
            model[half:] += weights[c] * gram[c]
        return model


class Ballot(NamedTuple):
    """Models that vote, each one step after the other; the first has no anchors."""

    step: np.ndarray  # int64 (m, 2): anchors added and subtracted
    base: Floats  # (m,) change of the weight of the base score
    n_votes: np.ndarray  # int64 (m + 1,) votes of each model

    @classmethod
    def create(
        cls, votes: Votes, problem: CandidateProblem, rows: Ints, base: Floats
    ) -> tuple[Ballot, Ints]:
        """The models that vote, and all candidates that are needed.

        Parameters
        ----------
        votes : Votes
        problem : CandidateProblem
            That the models were trained on.
        rows : int array
            Numbers of the candidates that the final model needs.
        base : array (m,)
            Score of the base model of each candidate, times its weight in the features.
        """
        blocks: Any = problem.blocks
        added = blocks.truth[votes.cuts.block]
        subtracted = blocks.offset[votes.cuts.block] + votes.cuts.code
        rows = np.unique(np.concatenate([rows, added, subtracted]))
        step = np.searchsorted(rows, np.stack([added, subtracted], axis=1))
        return cls(step, base[added] - base[subtracted], votes.n_votes), rows

    def shares(self, values: Floats, base: Floats) -> Floats:
        """Shares of the votes that candidates get.

        Parameters
        ----------
        values : array (n_candidates, n_anchors)
            Kernel values.
        base : array (n_candidates,)
            Scores of the base model.

        Returns
        -------
        array (n_candidates,)
            Their sum is 1. A model votes for the first of equally good candidates.
        """
        change = values[:, self.step[:, 0]] - values[:, self.step[:, 1]]
        change += base[:, None] * self.base
        choice = np.argmax(np.cumsum(change, axis=1), axis=0)  # of all but the first
        choice = np.append(0, choice)
        return np.bincount(choice, self.n_votes, len(base)) / max(self.n_votes.sum(), 1)


def pieces(lengths: Sequence[int], limit: int) -> Iterator[tuple[int, int]]:
    """Runs (first, last) of lists that have at most `limit` candidates, or one list."""
    first, total = 0, 0
    for row, length in enumerate(lengths):
        if row > first and total + length > limit:
            yield first, row
            first, total = row, 0
        total += length
    yield first, len(lengths)


def check_lists(lists: Sequence[Ranked]) -> None:
    """Refuse what is no list of (candidate, score) pairs, by its place."""
    if not len(lists):
        raise ValueError("X has no example")
    for row, ranked in enumerate(lists):
        if not len(ranked):
            raise ValueError(f"X: example {row} has no candidates; leave it out")
        for pair in ranked:
            if not isinstance(pair, tuple) or len(pair) != 2:
                raise ValueError(
                    f"X: example {row} has {pair!r:.60} where a pair (candidate, score "
                    "of the base model) is needed"
                )
            if not isinstance(pair[1], Real):
                raise ValueError(
                    f"X: example {row} has {pair!r:.60} where a pair (candidate, "
                    "score) is needed; give lists of candidates, or base="
                )
            if not abs(pair[1]) <= MAX_FEATURE:
                raise ValueError(
                    f"X: example {row} has a candidate of score {pair[1]}; scores are "
                    f"numbers within ±{MAX_FEATURE:g}"
                )
