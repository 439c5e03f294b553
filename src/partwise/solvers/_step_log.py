"""The steps of online solvers, for support structures and votes."""

from __future__ import annotations

from typing import Any

import numpy as np

from partwise.protocol import Cuts, Floats, Ints, Support, Votes, offsets_of, unit_cuts


class StepLog:
    """How far w was moved away from each output: Σ steps, and Σ steps·(visits before).

    The average of the models after T visits has the coefficient Σ s (1 − τ/T) where w
    itself has Σ s, for steps s made after τ visits. The single steps are kept only
    where each model has votes (`keeps_order`).
    """

    def __init__(self, *, keeps_order: bool = False) -> None:
        self.codes: dict[tuple[int, bytes], int] = {}
        self.sums: list[list[float]] = []
        self.places: list[int] | None = [] if keeps_order else None  # of each step
        self.times: list[int] = []  # visits before each step

    def add(
        self, order: Ints, indptr: Ints, log: Ints, steps: Floats, seen: Ints
    ) -> None:
        """Add the visits that changed w, each with the number of visits before it."""
        for q in np.flatnonzero(steps):
            key = int(order[q]), log[indptr[q] : indptr[q + 1]].tobytes()
            place = self.codes.setdefault(key, len(self.sums))
            if place == len(self.sums):
                self.sums.append([0.0, 0.0])
            self.sums[place][0] += float(steps[q])
            self.sums[place][1] += float(steps[q]) * int(seen[q])
            if self.places is not None:
                self.places.append(place)
                self.times.append(int(seen[q]))

    def support(self, n_seen: int, *, averaged: bool) -> Support:
        """Planes of scale 1 with the coefficients of the model."""
        keys = sorted(self.codes)
        sums = np.array([self.sums[self.codes[key]] for key in keys]).reshape(-1, 2)
        alpha = sums[:, 0] - sums[:, 1] / max(n_seen, 1) if averaged else sums[:, 0]
        return Support(unit_planes(keys), alpha)

    def votes(self, n_seen: int) -> Votes:
        """The steps in their order, and the visits after which each model was there."""
        assert self.places is not None
        keys = list(self.codes)  # in the order of their places
        planes = unit_planes([keys[place] for place in self.places])
        return Votes(planes, np.diff([0, *self.times, n_seen]))

    def export(self) -> dict[str, Any]:
        """All of it, as arrays."""
        cuts = self.support(1, averaged=False).cuts
        sums = [self.sums[self.codes[key]] for key in sorted(self.codes)]
        return {
            "block": cuts.block,
            "indptr": cuts.indptr,
            "code": cuts.code,
            "sums": np.array(sums).reshape(-1, 2),
            "places": None if self.places is None else self._sorted_places(),
            "times": np.array(self.times, np.int64),
        }

    def _sorted_places(self) -> Ints:
        """Places of the steps, where outputs are numbered as `export` lists them."""
        number = np.empty(len(self.codes), np.int64)
        number[[self.codes[key] for key in sorted(self.codes)]] = np.arange(len(number))
        return number[np.array(self.places, np.int64)]

    def restore(self, tree: dict[str, Any]) -> None:
        """Take over what `export` gave."""
        indptr, code = tree["indptr"], tree["code"]
        for r, i in enumerate(tree["block"]):
            self.codes[int(i), code[indptr[r] : indptr[r + 1]].tobytes()] = r
        self.sums = tree["sums"].tolist()
        if self.places is not None:
            self.places, self.times = tree["places"].tolist(), tree["times"].tolist()


def unit_planes(keys: list[tuple[int, bytes]]) -> Cuts:
    """Planes of scale 1 and offset 0 for outputs given by block and code."""
    codes = [np.frombuffer(code, np.int32) for _, code in keys]
    indptr = offsets_of([len(code) for code in codes])
    block = np.array([i for i, _ in keys], np.int64)
    return unit_cuts(block, indptr, np.concatenate([np.zeros(0, np.int32), *codes]))
