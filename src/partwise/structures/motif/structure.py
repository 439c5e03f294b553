"""Motifs: whether a sequence has a hidden site, and where."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import product
from typing import Any, NamedTuple, Self

import numpy as np

from partwise.objective import Formulation
from partwise.protocol import Floats
from partwise.structures.motif.problem import MotifProblem, pack_motifs
from partwise.structures.motif.sequences import LETTERS, MAX_ORDER, encode, n_contexts
from partwise.structures.packed import PackedStructure


class Site(NamedTuple):
    """Where a sequence has the motif; `position` is None where it has none."""

    position: int | None  # of the first letter, from 0
    strand: int = 1  # -1: the motif is on the reverse complement


ABSENT = Site(None)


class Motif(PackedStructure):
    """A sequence with a motif at a hidden place, or without one.

    An input is a string of A, C, G and T; a truth is 1 (it has the motif) or 0; an
    output is a `Site`. With a window of length l at place h,

        Ψ(x, 1, h) = Σ_j φ_j(x_{h+j}) + background of all letters outside the window
        Ψ(x, 0)    = background of all letters

    where φ_j counts the letter at place j of the motif (4·l weights) and the background
    counts each letter with up to `order` letters before it. The difference of two
    outputs is thus a matter of their windows. Δ is 0 or 1.

    Parameters
    ----------
    length : int
        Letters of the motif, l.
    order : int
        Of the Markov background, 0 to 6.
    both_strands : bool
        Whether the motif may be on the reverse complement.
    seeds : int
        Of a random start: windows of sequences with the motif that are tried as the
        motif itself; the one that separates the classes best completes all others. 0
        draws all windows uniformly, as the paper does.

    Notes
    -----
    Yu and Joachims, ICML 2009, section 5.1 (order 3). Letters other than A, C, G, T and
    U have no weights.

    Examples
    --------
    >>> motif = Motif(length=2, order=0).setup(["ACGT"], [1])
    >>> w = np.zeros(motif.n_psi_)
    >>> w[[1, 4 + 2]] = 1.0  # C, then G
    >>> motif.argmax("ACGT", w)
    Site(position=1, strand=1)
    """

    def __init__(
        self,
        length: int = 8,
        order: int = 3,
        both_strands: bool = False,
        seeds: int = 100,
    ) -> None:
        self.length = length
        self.order = order
        self.both_strands = both_strands
        self.seeds = seeds

    def setup(self, X: Sequence[Any] = (), Y: Sequence[Any] = ()) -> Self:
        """4·l weights of the motif, then those of the background."""
        self.check()
        self.n_psi_ = 4 * self.length + n_contexts(self.order)
        return self

    def check(self) -> None:
        """Refuse settings that mean nothing."""
        if not (isinstance(self.length, int | np.integer) and self.length >= 1):
            raise ValueError(f"length={self.length!r}: give a positive whole number")
        if not (
            isinstance(self.order, int | np.integer) and 0 <= self.order <= MAX_ORDER
        ):
            raise ValueError(f"order={self.order!r}: give a number from 0 to 6")

    def enumerate(self, x: str) -> Iterator[Site]:
        """All outputs: none, and each place on each strand."""
        yield ABSENT
        for position in range(len(x) - self.length + 1):
            yield Site(position)
            if self.both_strands:
                yield Site(position, -1)

    def joint_feature(self, x: str, y: Site) -> Floats:
        """Counts of the letters of the window, and of the background outside it."""
        _, letter, context = encode([x], self.order)
        n_motif = 4 * self.length
        psi = np.zeros(n_motif + n_contexts(self.order))
        is_outside = np.ones(len(x), bool)
        if y.position is not None:
            window = slice(y.position, y.position + self.length)
            is_outside[window] = False
            letters = letter[window]
            if y.strand < 0:
                letters = np.where(letters < 0, -1, 3 - letters)[::-1]
            places = np.flatnonzero(letters >= 0)
            psi[4 * places + letters[places]] = 1.0
        np.add.at(psi, n_motif + context[is_outside & (context >= 0)], 1.0)
        return psi

    def feature_names(self) -> list[str]:
        """Of the letters of the motif, then of the background; as long as Ψ.

        Examples
        --------
        >>> Motif(length=1, order=0).feature_names()[:5]
        ['A at 1', 'C at 1', 'G at 1', 'T at 1', 'A']
        """
        names = [f"{x} at {j + 1}" for j in range(self.length) for x in LETTERS]
        return names + [
            f"{''.join(before)}{'|' if before else ''}{letter}"
            for m in range(self.order + 1)
            for *before, letter in product(LETTERS, repeat=m + 1)
        ]

    def shares(self, x: str, site: Site, w: Floats) -> Floats:
        """What each letter of a window adds to its score, (length,)."""

        def lead(sequence: str) -> float:
            return self._score(sequence, site, w) - self._score(sequence, ABSENT, w)

        assert site.position is not None
        places = range(site.position, site.position + self.length)
        hidden = [x[:at] + "N" + x[at + 1 :] for at in places]
        return np.array([lead(x) - lead(without) for without in hidden])

    def loss(self, y: int, y_hat: Site) -> float:
        """Whether only one of the two has the motif."""
        return float(bool(y) != (y_hat.position is not None))

    def argmax(self, x: str, w: Floats) -> Site:
        """The output of highest score."""
        return self._best(x, w, self.enumerate(x))

    def loss_augmented_argmax(self, x: str, y: int, w: Floats) -> Site:
        """The output of highest score plus loss."""
        outputs = list(self.enumerate(x))
        values = [self._score(x, o, w) + self.loss(y, o) for o in outputs]
        return outputs[int(np.argmax(values))]

    def frontier(self, x: str, y: int, w: Floats) -> Iterator[tuple[float, Site]]:
        """The best output that has the motif, and the one that has not."""
        for loss in (0.0, 1.0):
            outputs = [o for o in self.enumerate(x) if self.loss(y, o) == loss]
            if outputs:
                yield loss, self._best(x, w, outputs)

    def complete(self, x: str, y: int, w: Floats) -> Site:
        """The best place of a sequence that has the motif."""
        outputs = [o for o in self.enumerate(x) if self.loss(y, o) == 0]
        return self._best(x, w, outputs)

    def complete_at_random(self, x: str, y: int, rng: np.random.Generator) -> Site:
        """Any place, all alike."""
        outputs = [o for o in self.enumerate(x) if self.loss(y, o) == 0]
        return outputs[int(rng.integers(len(outputs)))]

    def _score(self, x: str, y: Site, w: Floats) -> float:
        return float(np.sum(self.joint_feature(x, y) * w))

    def _best(self, x: str, w: Floats, outputs: Any) -> Site:
        return max(outputs, key=lambda y: self._score(x, y, w))

    def pack(
        self,
        X: Sequence[str],
        Y: Sequence[int] | None,
        formulation: Formulation | None = None,
        *,
        n_jobs: int = 1,
    ) -> MotifProblem:
        """Lay sequences out for a solver; without Y, to predict."""
        self.check()
        return pack_motifs(
            self, X, Y, (formulation or Formulation()).validate(), n_jobs
        )
