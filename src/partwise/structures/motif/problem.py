"""Packed sequences with hidden motifs: a `Problem` in numba."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from partwise.compiled import Reference, plain_array
from partwise.objective import MARGIN
from partwise.protocol import Cuts, Floats, Formulation, Ints, unit_cuts
from partwise.structures.digests import digests
from partwise.structures.hidden_truths import replace_truths
from partwise.structures.motif._compiled import (
    PREDICT,
    SEARCH,
    WINDOW,
    MotifBlocks,
    MotifWork,
)
from partwise.structures.motif.sequences import encode, n_contexts
from partwise.structures.packed import ForkedTruths, PackedProblem

if TYPE_CHECKING:
    from partwise.structures.motif.structure import Motif


SEED_SAMPLE = 500  # sequences on which seeds are compared


class MotifProblem(ForkedTruths, PackedProblem):
    """Packed sequences; a model is 4·l weights of the motif, then the background's.

    Truths have hidden windows (`Latent`); at first the first one of each sequence.
    """

    truth_fields = ("truth",)

    def __init__(
        self,
        structure: Motif,
        tag: MotifBlocks,
        formulation: Formulation,
        n_jobs: int,
    ) -> None:
        size = np.diff(tag.offset)
        most = int(size.max(initial=0))
        n_weights = 4 * structure.length + n_contexts(structure.order)
        super().__init__(
            tag,
            tag._replace(way=PREDICT, rule=MARGIN),
            lambda: (tag, n_weights),  # models are small
            n_blocks=len(size),
            n_weights=n_weights,
            formulation=formulation,
            new_work=lambda: MotifWork(np.zeros(most), np.zeros(most)),
            n_jobs=n_jobs,
        )
        self.structure = structure
        self._tag = tag
        self._windows = Reference(tag._replace(way=WINDOW))

    def effort(self) -> Floats:
        """Letters of each sequence."""
        return np.diff(self._tag.offset).astype(np.float64) + 1.0

    def outputs(self, cuts: Cuts) -> list[Any]:
        """`Site` of each cut."""
        from partwise.structures.motif.structure import ABSENT, Site

        return [
            Site(abs(code) - 1, 1 if code > 0 else -1) if code else ABSENT
            for code in cuts.code.tolist()
        ]

    def best_windows(self, model: Floats) -> Cuts:
        """The best window of each sequence, with its score as the violation.

        The code is 0 where a sequence is shorter than the motif.
        """
        return self._search(self._windows, model, None)

    def complete(self, model: Floats) -> Cuts:
        """The best windows of sequences with the motif; the old ones that changed."""
        best = self.best_windows(model)
        return self.begin_with_codes(np.where(self._tag.y > 0, best.code, 0))

    def complete_at_random(self, rng: np.random.Generator) -> Cuts:
        """By the best of random seeds, or windows drawn uniformly (`Motif.seeds`)."""
        if self.structure.seeds and self._tag.y.any():
            return self.complete(self._seed(rng))
        return self.draw_windows(rng)

    def _seed(self, rng: np.random.Generator) -> Floats:
        """A model of the letters of one window, the best of some drawn at random.

        A window is the better, the more letters sequences with the motif share with it
        than sequences without, each by its most similar window. Windows drawn for all
        sequences independently carry no signal: on planted motifs their convex problem
        has the optimum w = 0, or ends in windows that fit the noise.
        """
        tag, length = self._tag, self.structure.length
        rows = np.sort(rng.permutation(self.n_blocks)[:SEED_SAMPLE])
        has_motif = tag.y[rows] > 0
        n_windows = np.diff(tag.offset) - length + 1
        best, chosen = -np.inf, self.zero()
        for i in rng.choice(np.flatnonzero(tag.y), size=self.structure.seeds).tolist():
            first = tag.offset[i] + int(rng.integers(n_windows[i]))
            letters = tag.letter[first : first + length]
            known = np.flatnonzero(letters >= 0)
            model = self.zero()
            model[4 * known + letters[known]] = 1.0
            similarity = self._search(self._windows, model, rows).violation
            with_motif, without = similarity[has_motif], similarity[~has_motif]
            difference = float(np.mean(with_motif)) if len(with_motif) else 0.0
            difference -= float(np.mean(without)) if len(without) else 0.0
            if difference > best:
                best, chosen = difference, model
        return chosen

    def draw_windows(self, rng: np.random.Generator) -> Cuts:
        """Windows drawn uniformly, strands too."""
        n_windows = np.diff(self._tag.offset) - self.structure.length + 1
        code = (rng.random(self.n_blocks) * n_windows).astype(np.int64) + 1
        if self.structure.both_strands:
            code = code * rng.choice([-1, 1], size=self.n_blocks)
        return self.begin_with_codes(np.where(self._tag.y > 0, code, 0))

    def begin_with(self, positions: Sequence[int]) -> Cuts:
        """Take over windows of sequences with the motif; others are not looked at."""
        first, has_motif = np.asarray(positions), self._tag.y > 0
        n_windows = np.diff(self._tag.offset) - self.structure.length + 1
        if first.shape != has_motif.shape:
            raise ValueError(
                f"completions: {len(first)} places for {len(has_motif)} sequences"
            )
        for i in np.flatnonzero(has_motif & ((first < 0) | (first >= n_windows)))[:1]:
            raise ValueError(
                f"completions: place {first[i]} of sequence {i}, whose windows begin "
                f"at 0 to {n_windows[i] - 1}"
            )
        return self.begin_with_codes(np.where(has_motif, first + 1, 0))

    def begin_with_codes(self, code: Ints) -> Cuts:
        """Take over completions of all truths; the old ones that changed."""
        return replace_truths(self._tag.truth, np.arange(self.n_blocks + 1), code)

    def truths(self) -> Cuts:
        """The completed truths, as cuts."""
        rows = np.arange(self.n_blocks + 1)
        return unit_cuts(rows[:-1], rows, self._tag.truth.copy())

    def window_counts(self) -> Floats:
        """Letters at the places of completed windows, (length, 4)."""
        length = self.structure.length
        counts = np.zeros((length, 4))
        for i, code in enumerate(self._tag.truth.tolist()):
            if not code:
                continue
            window = self._tag.letter[self._tag.offset[i] + abs(code) - 1 :][:length]
            if code < 0:
                window = np.where(window < 0, -1, 3 - window)[::-1]
            known = np.flatnonzero(window >= 0)
            counts[known, window[known]] += 1.0
        return counts

    def keys(self) -> list[bytes]:
        """Digests of sequences and truths."""
        one = np.arange(self.n_blocks + 1)
        pieces = [(self._tag.letter, self._tag.offset), (self._tag.y, one)]
        return digests(pieces, self.n_blocks)


def pack_motifs(
    structure: Motif,
    X: Sequence[str],
    Y: Sequence[int] | None,
    formulation: Formulation,
    n_jobs: int,
) -> MotifProblem:
    """Lay sequences end to end; refuse those too short for the motif they have."""
    offset, letter, context = encode(X, structure.order)
    y = np.zeros(len(X), np.int32)
    if Y is not None:
        y[:] = np.asarray(Y) > 0
        if len(Y) != len(X):
            raise ValueError(f"{len(X)} sequences and {len(Y)} truths")
    for i in np.flatnonzero((y > 0) & (np.diff(offset) < structure.length)).tolist():
        raise ValueError(
            f"sequence {i} has {offset[i + 1] - offset[i]} letters, too few for a "
            f"motif of length {structure.length}; leave it out, or take a shorter motif"
        )
    tag = MotifBlocks(
        plain_array(offset, np.int64),
        plain_array(letter, np.int32),
        plain_array(context, np.int32),
        y,
        np.where(y > 0, 1, 0).astype(np.int32),
        int(structure.length),
        int(structure.both_strands),
        formulation.rule,
        SEARCH,
    )
    return MotifProblem(structure, tag, formulation, n_jobs)
