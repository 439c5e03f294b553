"""Plain-Python methods of an alignment, on one example: the reference of the kernels.

Here x is a pair (a, b) of sequences and y an array of pairs (k, 2); with decoys x is
(a, candidates) and y a pair (number of a candidate, pairs). Nothing below is fast;
`verify` and the tests rely on it being simple.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations, pairwise
from typing import Any, Self

import numpy as np

from partwise.protocol import Floats
from partwise.structures.alignment.layout import Layout

Pairs = list[tuple[int, int]]


class AlignmentReference:
    """Mixin with the four methods of a structure, and the optional ones."""

    mode: str
    free_ends: Sequence[str]
    band: int | None
    decoys: bool
    n_psi_: int

    def layout(self) -> Layout:
        """Where weights lie; see `Alignment`."""
        raise NotImplementedError

    def tolerance(self) -> int:
        """How far a partner may be off; see `Alignment`."""
        raise NotImplementedError

    def setup(self, X: Sequence[Any], Y: Sequence[Any]) -> Self:
        """Check the settings; sizes are known without data."""
        self.n_psi_ = self.layout().n_weights
        return self

    # ------------------------------------------------------------------- parts

    def joint_feature(self, x: Any, y: Any) -> Floats:
        """Ψ(x, y): counts of the features of matches and gaps."""
        psi = np.zeros(self.layout().n_weights)
        for _, feature, value in self.parts(x, y):
            psi[feature] += value
        return psi

    def parts(self, x: Any, y: Any) -> Iterator[tuple[int, int, float]]:
        """Token of a, feature and value of all matches, then of all gaps.

        A gap of b stands beside the token of a before it.
        """
        a, b, pairs = self._unpack(x, y)
        parts = _Parts(self.layout(), a, b)
        for i, j in pairs:
            for feature, value in parts.of_match(i, j):
                yield i, feature, value
        partner = {j: i for i, j in pairs}
        for side, first, last in self.gaps(pairs, parts.n, parts.m):
            for k in range(first, last):
                token = partner.get(first - 1, 0) if side else k
                for feature in parts.of_gap(side, k, k == first):
                    yield token, feature, 1.0

    def gaps(self, pairs: Pairs, n: int, m: int) -> list[tuple[int, int, int]]:
        """Runs of tokens (side, first, last) that are scored as gaps."""
        if not pairs:
            return self._at_end("start", 0, n, 0, m)
        (i, j), (i_last, j_last) = pairs[0], pairs[-1]
        runs = self._at_end("start", 0, i, 0, j)
        for (i, j), (i_next, j_next) in pairwise(pairs):
            runs += [(0, i + 1, i_next), (1, j + 1, j_next)]
        runs += self._at_end("end", i_last + 1, n, j_last + 1, m)
        return [(side, first, last) for side, first, last in runs if first < last]

    def _at_end(
        self, end: str, i: int, i_last: int, j: int, j_last: int
    ) -> list[tuple[int, int, int]]:
        if self.mode == "local":
            return []
        free = set(self.free_ends) if self.mode == "semiglobal" else set()
        is_free = [f"{side}_{end}" in free for side in "ab"]
        if all(is_free):  # the shorter stretch is a gap
            is_free = [i_last - i >= j_last - j, i_last - i < j_last - j]
        runs = [(0, i, i_last), (1, j, j_last)]
        return [
            run
            for run, skip in zip(runs, is_free, strict=True)
            if not skip and run[1] < run[2]
        ]

    def loss(self, y: Any, y_hat: Any) -> float:
        """Δ(y, ŷ): share of reference pairs lost; 1 for a wrong candidate."""
        if self.decoys:
            return float(y[0] != y_hat[0])
        partner = {int(i): int(j) for i, j in np.asarray(y_hat).reshape(-1, 2)}
        reference = np.asarray(y).reshape(-1, 2).tolist()
        lost = sum(
            i not in partner or abs(partner[i] - j) > self.tolerance()
            for i, j in reference
        )
        return lost * (1.0 / len(reference)) if reference else 0.0

    # ------------------------------------------------------------------ searches

    def enumerate(self, x: Any) -> Iterator[Any]:
        """All alignments; exponential."""
        if self.decoys:
            a, candidates = x
            for k, b in enumerate(candidates):
                for pairs in self._all_pairs(a, b):
                    yield k, pairs
        else:
            yield from self._all_pairs(*x)

    def _all_pairs(self, a: Any, b: Any) -> Iterator[Pairs]:
        parts = _Parts(self.layout(), a, b)
        for k in range(min(parts.n, parts.m) + 1):
            for rows in combinations(range(parts.n), k):
                for columns in combinations(range(parts.m), k):
                    pairs = list(zip(rows, columns, strict=True))
                    if self._is_in_band(pairs, parts.n, parts.m):
                        yield pairs

    def _is_in_band(self, pairs: Pairs, n: int, m: int) -> bool:
        """Whether the path between first and last pair stays near the diagonal."""
        if self.band is None:
            return True
        low = [max(0, t * m // n - self.band) for t in range(n)]
        high = [min(m, t * m // n + self.band + 1) for t in range(n)]
        high = [max(h, v) for h, v in zip(high, [*low[1:], 0], strict=True)]
        cells = list(pairs)
        for (i, j), (i_next, j_next) in pairwise(pairs):
            cells += [(k, j) for k in range(i + 1, i_next)]
            cells += [(i_next - 1, k) for k in range(j + 1, j_next)]
        return all(low[i] <= j < high[i] for i, j in cells)

    def argmax(self, x: Any, w: Floats) -> Any:
        """The best alignment, by dynamic programming."""
        if not self.decoys:
            a, b = x
            return self._best(a, b, w, {})[1]
        best = [self._best(x[0], b, w, {}) for b in x[1]]
        k = int(np.argmax([value for value, _ in best]))
        return k, best[k][1]

    def loss_augmented_argmax(self, x: Any, y: Any, w: Floats) -> Any:
        """The best alignment when each reference pair that it has costs its share."""
        if self.decoys:
            top, best = float(self.joint_feature(x, y) @ w), y
            for k, b in enumerate(x[1]):
                value, pairs = self._best(x[0], b, w, {})
                if k != y[0] and value + 1.0 > top:
                    top, best = value + 1.0, (k, pairs)
            return best
        reference = np.asarray(y).reshape(-1, 2).tolist()
        near = range(-self.tolerance(), self.tolerance() + 1)
        extra = {
            (i, j + far): -1.0 / len(reference) for i, j in reference for far in near
        }
        a, b = x
        return self._best(a, b, w, extra)[1]

    def frontier(self, x: Any, y: Any, w: Floats) -> list[tuple[float, Any]]:
        """The best alignment for every loss, by enumeration."""
        best: dict[float, tuple[float, Any]] = {}
        for y_hat in self.enumerate(x):
            loss = self.loss(y, y_hat)
            score = float(self.joint_feature(x, y_hat) @ w)
            if loss not in best or score > best[loss][0]:
                best[loss] = (score, y_hat)
        return [(loss, y_hat) for loss, (_, y_hat) in sorted(best.items())]

    def _best(
        self, a: Any, b: Any, w: Floats, extra: dict[tuple[int, int], float]
    ) -> tuple[float, Pairs]:
        """The alignment of highest value and that value, by Gotoh's three states.

        ``best[state][i, j]`` is the best value of a path that has come to tokens i and
        j, and where it came from. After an insertion no deletion follows.
        """
        parts = _Parts(self.layout(), a, b)
        n, m = parts.n, parts.m
        (open_a, open_b), (extend_a, extend_b) = parts.gap_scores(w)

        def at_end(end: str, i: int, i_last: int, j: int, j_last: int) -> float:
            total = 0.0
            for side, first, last in self._at_end(end, i, i_last, j, j_last):
                opening, extension = ((open_a, extend_a), (open_b, extend_b))[side]
                total += opening[first] + extension[first:last].sum()
            return total

        best: list[dict[tuple[int, int], tuple[float, Any]]] = [{}, {}, {}]

        def reach(i: int, j: int, sources: list[tuple[int, float]]) -> Any:
            """Best (value, source) over states of the cell (i, j)."""
            reached = [
                (best[k][i, j][0] + more, (k, i, j))
                for k, more in sources
                if (i, j) in best[k]
            ]
            return max(reached, key=lambda pair: pair[0], default=(-np.inf, None))

        top: tuple[float, Any] = (at_end("start", 0, n, 0, m), None)
        for i in range(n):
            for j in range(m):
                if not self._is_in_band([(i, j)], n, m):
                    continue
                before = reach(i - 1, j - 1, [(0, 0.0), (1, 0.0), (2, 0.0)])
                start = at_end("start", 0, i, 0, j)
                value, source = before if before[0] > start else (start, None)
                value += parts.match_score(w, i, j) + extra.get((i, j), 0.0)
                best[0][i, j] = (value, source)
                total = value + at_end("end", i + 1, n, j + 1, m)
                if total > top[0]:
                    top = (total, (0, i, j))
                value, source = reach(i - 1, j, [(0, open_a[i]), (1, 0.0)])
                best[1][i, j] = (value + extend_a[i], source)
                opening = [(0, open_b[j]), (1, open_b[j]), (2, 0.0)]
                value, source = reach(i, j - 1, opening)
                best[2][i, j] = (value + extend_b[j], source)
        pairs, place = [], top[1]
        while place is not None:
            state, i, j = place
            if state == 0:
                pairs.append((i, j))
            place = best[state][i, j][1]
        return top[0], pairs[::-1]

    def _unpack(self, x: Any, y: Any) -> tuple[Any, Any, Pairs]:
        a, b = x
        if self.decoys:
            b, y = b[y[0]], y[1]
        return a, b, [(int(i), int(j)) for i, j in np.asarray(y).reshape(-1, 2)]


class _Parts:
    """Features of the matches and gaps of one pair of sequences."""

    def __init__(self, layout: Layout, a: Any, b: Any) -> None:
        self.layout = layout
        (codes_a, self.u), (codes_b, self.v) = (
            layout.read(x, side, "ab"[side]) for side, x in enumerate((a, b))
        )
        self.n, self.m = len(codes_a), len(codes_b)
        self.rows, self.codes = layout.match_rows(codes_a), layout.match_codes(codes_b)
        self.gap = layout.gap_features(codes_a, 0), layout.gap_features(codes_b, 1)

    def products(self, i: int, j: int) -> list[float]:
        """Real features of a match."""
        first = np.cumsum([0, *self.layout.widths])
        return [float(self.u[i, p:q] @ self.v[j, p:q]) for p, q in pairwise(first)]

    def of_match(self, i: int, j: int) -> Iterator[tuple[int, float]]:
        """Features of a match."""
        for feature in self.rows[:, i] + self.codes[:, j]:
            yield int(feature), 1.0
        for p, value in enumerate(self.products(i, j)):
            yield self.layout.product_base + p, value

    def match_score(self, w: Floats, i: int, j: int) -> float:
        """<w, features of a match>."""
        total = float(w[self.rows[:, i] + self.codes[:, j]].sum())
        base = self.layout.product_base
        return total + sum(w[base + p] * x for p, x in enumerate(self.products(i, j)))

    def of_gap(self, side: int, token: int, is_first: bool) -> list[int]:
        """Features of one token of a gap."""
        opening, extension = self.gap[side]
        features = list(map(int, extension[:, token]))
        return features + (list(map(int, opening[:, token])) if is_first else [])

    def gap_scores(self, w: Floats) -> tuple[list[Floats], list[Floats]]:
        """Scores of opening and extending a gap at each token, for both sides."""
        opening = [w[side[0]].sum(axis=0) for side in self.gap]
        extension = [w[side[1]].sum(axis=0) for side in self.gap]
        return opening, extension
