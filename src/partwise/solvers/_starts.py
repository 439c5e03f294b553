"""The dual of another fit as a start, matched by the keys of examples."""

from __future__ import annotations

import numpy as np

from partwise.protocol import Cuts, Problem, Start, Support, join, take


def transferred(problem: Problem, start: Start) -> Support | None:
    """The part of a start's dual that belongs to examples of this problem, or None."""
    if start.support is None or start.keys is None:
        return None
    keys = problem.keys()
    if keys is None:
        return None
    unmatched: dict[bytes, list[int]] = {}
    for i in range(len(keys) - 1, -1, -1):
        unmatched.setdefault(keys[i], []).append(i)
    place = np.full(len(start.keys), -1, np.int64)
    for old, key in enumerate(start.keys):
        if unmatched.get(key):
            place[old] = unmatched[key].pop()
    cuts = start.support.cuts
    rows = np.flatnonzero(place[cuts.block] >= 0)
    rows = rows[np.argsort(place[cuts.block[rows]], kind="stable")]
    if not len(rows):
        return None
    matched = take(cuts, rows)
    matched = matched._replace(block=place[matched.block])
    outputs = None
    if start.outputs is not None:
        outputs = [start.outputs[r] for r in rows]
    return Support(problem.adopt(matched, outputs), start.support.alpha[rows])


def with_idle(support: Support, others: Cuts) -> Support:
    """A dual point, and of the others those outputs that it lacks, with α = 0."""

    def names(cuts: Cuts) -> list[tuple[int, bytes]]:
        codes = [code.tobytes() for code in cuts.codes]
        return list(zip(cuts.block.tolist(), codes, strict=True))

    known = set(names(support.cuts))
    new = [r for r, name in enumerate(names(others)) if name not in known]
    if not new:
        return support
    cuts = join([support.cuts, take(others, new)])
    return Support(cuts, np.append(support.alpha, np.zeros(len(new))))
