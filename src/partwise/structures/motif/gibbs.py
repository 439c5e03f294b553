"""A Gibbs sampler for motifs, the baseline of section 5.1.

One site per sequence: in turn a sequence is left out, letters at the places of the
others' windows are counted, and its window is drawn in proportion to

    Π_j p_j(letter) / q(letter | letters before),

p by counts with pseudocounts, q a Markov background estimated from other sequences. The
windows of highest Σ log p/q of all sweeps and runs are kept. Lawrence et al.: Detecting
subtle sequence signals, Science 262, 1993; the background as in Ng, Keich: GIMSAN,
Bioinformatics 24, 2008.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from partwise.protocol import Floats, Ints
from partwise.structures.motif.sequences import encode, n_contexts


class GibbsMotif:
    """
    Motif of sequences that all have one; others serve to estimate the background alone.

    Parameters
    ----------
    length : int
    order : int
        Of the Markov background.
    sweeps : int
        Over all sequences, in each run.
    restarts : int
        Runs from random windows.
    pseudocount : float
        Of each letter at each place.
    random_state : int

    Examples
    --------
    >>> from partwise.datasets import planted_motifs
    >>> X, y, positions = planted_motifs(40, noise=0.0)
    >>> have = [x for x, label in zip(X, y) if label]
    >>> gibbs = GibbsMotif(8, order=0).fit(have, background=X)
    >>> float((gibbs.positions(have) == positions[y == 1]).mean())
    1.0
    """

    def __init__(
        self,
        length: int,
        order: int = 3,
        sweeps: int = 40,
        restarts: int = 10,
        pseudocount: float = 0.5,
        random_state: int = 0,
    ) -> None:
        self.length = length
        self.order = order
        self.sweeps = sweeps
        self.restarts = restarts
        self.pseudocount = pseudocount
        self.random_state = random_state

    def fit(self, X: Sequence[str], background: Sequence[str]) -> GibbsMotif:
        """Sample windows of X; the background is estimated from other sequences."""
        self._log_background = self._estimate(background)
        sequences = self._sequences(X)
        if not sequences:
            raise ValueError("no sequence is as long as the motif")
        rng = np.random.default_rng(self.random_state)
        best = -np.inf
        for _ in range(self.restarts):
            value, counts = self._run(sequences, rng)
            if value > best:
                best, self.counts_ = value, counts
        self.log_odds_ = self._log_motif(self.counts_)
        return self

    def scores(self, X: Sequence[str]) -> Floats:
        """Log-odds of the best window of each sequence, (n,); −inf without one."""
        scores = [self._windows(*s, self.log_odds_) for s in self._pairs(X)]
        return np.array([s.max() if len(s) else -np.inf for s in scores])

    def positions(self, X: Sequence[str]) -> Ints:
        """Where the best window of each sequence begins, (n,); −1 without one."""
        scores = [self._windows(*s, self.log_odds_) for s in self._pairs(X)]
        return np.array([int(s.argmax()) if len(s) else -1 for s in scores])

    def _estimate(self, background: Sequence[str]) -> Floats:
        """Log q of a letter behind those before it, by the number of its context."""
        context = encode(list(background), self.order).context
        counts = np.bincount(context[context >= 0], minlength=n_contexts(self.order))
        table = (counts + 1.0).reshape(-1, 4)
        return np.log(table / table.sum(axis=1, keepdims=True)).ravel()

    def _pairs(self, X: Sequence[str]) -> list[tuple[Ints, Floats]]:
        """Letters (n − l + 1, l) of all windows, and their background."""
        offset, letter, context = encode(list(X), self.order)
        log_background = np.where(context >= 0, self._log_background[context], 0.0)
        pairs = []
        for first, last in pairwise(offset.tolist()):
            if last - first < self.length:
                pairs.append((np.zeros((0, self.length), int), np.zeros(0)))
                continue
            view = np.lib.stride_tricks.sliding_window_view
            total = view(log_background[first:last], self.length).sum(axis=1)
            pairs.append((view(letter[first:last], self.length), total))
        return pairs

    def _sequences(self, X: Sequence[str]) -> list[tuple[Ints, Floats]]:
        return [pair for pair in self._pairs(X) if len(pair[1])]

    def _log_motif(self, counts: Floats) -> Floats:
        """Log p of letters, with a fifth column of zeros for unknown ones."""
        smoothed = counts + self.pseudocount
        p = np.log(smoothed / smoothed.sum(axis=1, keepdims=True))
        return np.hstack([p, np.zeros((self.length, 1))])

    def _windows(self, windows: Ints, background: Floats, motif: Floats) -> Floats:
        return motif[np.arange(self.length), windows].sum(axis=1) - background

    def _run(self, sequences: list[Any], rng: np.random.Generator) -> tuple[float, Any]:
        at = [int(rng.integers(len(total))) for _, total in sequences]
        counts = np.zeros((self.length, 5))  # the last column: unknown letters
        place = np.arange(self.length)
        for (windows, _), h in zip(sequences, at, strict=True):
            counts[place, windows[h]] += 1.0
        best, best_counts = -np.inf, counts[:, :4].copy()
        for _ in range(self.sweeps):
            value = 0.0
            for i in rng.permutation(len(sequences)).tolist():
                windows, background = sequences[i]
                counts[place, windows[at[i]]] -= 1.0
                score = self._windows(
                    windows, background, self._log_motif(counts[:, :4])
                )
                share = np.exp(score - score.max())
                at[i] = int(rng.choice(len(share), p=share / share.sum()))
                counts[place, windows[at[i]]] += 1.0
                value += float(score[at[i]])
            if value > best:
                best, best_counts = value, counts[:, :4].copy()
        return best, best_counts
