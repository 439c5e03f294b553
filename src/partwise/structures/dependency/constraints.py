"""Dependency trees by integer programming: constraints, and an exact reference.

One 0/1 variable per arc and label, x[h, d, l]; every word has one head. That heads form
a tree is asked for only where it fails: the program is solved, and for each cycle S of
the solution the cut "some arc enters S from outside" is added, until there is none. The
same is done with crossing arcs when the tree is to be projective. Slow next to the
dynamic programs (milliseconds to seconds per sentence), but it takes any linear
constraint over arcs, and second-order parts with crossing arcs exactly.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from partwise.structures.constraints import PartConstraint

Arc = tuple[int | str | None, ...]


class InfeasibleTreeError(ValueError):
    """No tree satisfies all constraints."""


Constraint = PartConstraint | Callable[[int], Iterable[PartConstraint]]


class ConstrainedTree(NamedTuple):
    """The best tree under constraints."""

    heads: NDArray[np.int32]  # (n,)
    labels: NDArray[np.int32]  # (n,) positions in the score's last axis
    value: float  # score, second-order parts included
    rounds: int  # integer programs solved


def at_most_per_head(
    label: int | str, count: int = 1
) -> Callable[[int], list[PartConstraint]]:
    """No word has more than `count` dependents with a label.

    Returns
    -------
    function
        Of the number of words of a sentence: its constraints.

    Examples
    --------
    >>> len(at_most_per_head("nsubj")(4))
    4
    """

    def of_sentence(n: int) -> list[PartConstraint]:
        arcs = [(h, None, label) for h in range(1, n + 1)]
        return [PartConstraint([arc], upper=count) for arc in arcs]

    return of_sentence


def constrained_tree(
    score: NDArray[np.float64],
    *,
    fixed: Iterable[Arc] = (),
    forbidden: Iterable[Arc] = (),
    constraints: Iterable[PartConstraint] = (),
    sibling: NDArray[np.float64] | None = None,
    grandparent: NDArray[np.float64] | None = None,
    single_root: bool = False,
    projective: bool = False,
) -> ConstrainedTree:
    """The best tree that satisfies linear constraints over its arcs.

    Parameters
    ----------
    score : (n + 1, n + 1) or (n + 1, n + 1, L)
        Of each arc h → d, or of each arc and label; −inf forbids.
    fixed, forbidden : iterable of (head, dependent) or (head, dependent, label)
        Arcs that must or must not occur; None stands for all.
    constraints : iterable of PartConstraint
    sibling, grandparent : (n + 1, n + 1, n + 1), optional
        sibling[h, d, s], s the next child of h from d towards h (h if none);
        grandparent[h, d, g], g the head of h. Of the unlabelled arc.
    single_root, projective : bool

    Raises
    ------
    InfeasibleTreeError
        When no tree satisfies everything.

    Examples
    --------
    Without the constraint both words would hang from the root.

    >>> score = np.array([[0.0, 5.0, 4.0], [0.0, 0.0, 1.0], [0.0, 2.0, 0.0]])
    >>> constrained_tree(score).heads
    array([0, 0], dtype=int32)
    >>> one_root = PartConstraint([(0, None)], upper=1)
    >>> constrained_tree(score, constraints=[one_root]).heads
    array([0, 1], dtype=int32)
    >>> constrained_tree(score, fixed=[(2, 1)]).heads
    array([2, 0], dtype=int32)
    """
    program = _Program(score)
    for arc in fixed:
        program.add(program.matching(arc), 1.0, lower=1.0)
    for arc in forbidden:
        program.add(program.matching(arc), 1.0, upper=0.0)
    for constraint in constraints:
        program.add_linear(constraint)
    if single_root:
        program.add(program.matching((0, None)), 1.0, lower=1.0, upper=1.0)
    if sibling is not None:
        program.add_siblings(sibling)
    if grandparent is not None:
        program.add_grandparents(grandparent)
    rounds = 0
    while True:
        rounds += 1
        x, value = program.solve()
        chosen = np.flatnonzero(x[: len(program.arcs)] > 0.5)
        _, dependents, _ = program.arcs[chosen].T
        order = np.argsort(dependents)
        heads, _, labels = program.arcs[chosen[order]].T
        n_cuts = program.cut_cycles(heads)
        if projective and n_cuts == 0:
            n_cuts = program.cut_crossings(heads)
        if n_cuts == 0:
            return ConstrainedTree(
                heads.astype(np.int32), labels.astype(np.int32), value, rounds
            )


class _Program:
    """Variables, objective and rows of the integer program."""

    def __init__(self, score: NDArray[np.float64]):
        score = np.asarray(score, dtype=np.float64)
        if score.ndim == 2:
            score = score[:, :, None]
        if score.ndim != 3 or score.shape[0] != score.shape[1] or len(score) < 2:
            raise ValueError(
                f"score has shape {score.shape}; give (n + 1, n + 1), or "
                "(n + 1, n + 1, n_labels) with labels"
            )
        allowed = score > -np.inf
        allowed[:, 0] = False
        allowed[np.arange(len(score)), np.arange(len(score))] = False
        self.n = len(score) - 1
        self.n_labels = score.shape[2]
        self.arcs = np.argwhere(allowed)  # (m, 3) head, dependent, label
        self.gain: list[float] = score[allowed].tolist()
        self.rows: list[tuple[NDArray[np.int64], NDArray[np.float64]]] = []
        self.lower: list[float] = []
        self.upper: list[float] = []
        for d in range(1, self.n + 1):
            columns = self.matching((None, d))
            if len(columns) == 0:
                raise InfeasibleTreeError(f"word {d} has no head: all are forbidden")
            self.add(columns, 1.0, lower=1.0, upper=1.0)

    def matching(self, pattern: Arc) -> NDArray[np.int64]:
        """Variables of the arcs that a pattern stands for."""
        limits = (self.n, self.n, self.n_labels - 1)
        if not 2 <= len(pattern) <= 3:
            raise ValueError(
                f"arc {pattern!r}: give (head, dependent) or (head, dependent, label)"
            )
        fits = np.ones(len(self.arcs), dtype=bool)
        for axis, number in enumerate(pattern):
            if number is not None:
                if not isinstance(number, int | np.integer) or not (
                    0 <= number <= limits[axis]
                ):
                    raise ValueError(
                        f"arc {pattern!r}: {number} is not between 0 and {limits[axis]}"
                    )
                fits &= self.arcs[:, axis] == number
        return np.flatnonzero(fits)

    def add(
        self,
        columns: NDArray[np.int64],
        coef: float | NDArray[np.float64],
        *,
        lower: float = -np.inf,
        upper: float = np.inf,
    ) -> None:
        """Add a row lower ≤ Σ coef·x ≤ upper."""
        self.rows.append((columns, np.broadcast_to(np.float64(coef), columns.shape)))
        self.lower.append(lower)
        self.upper.append(upper)

    def add_linear(self, constraint: PartConstraint) -> None:
        """Add a user's row."""
        total = np.zeros(len(self.arcs))
        for arc, factor in constraint.terms():
            total[self.matching(arc)] += factor
        columns = np.flatnonzero(total)
        self.add(
            columns, total[columns], lower=constraint.lower, upper=constraint.upper
        )

    def new_variable(self, gain: float) -> int:
        """A further variable between 0 and 1; returns its column."""
        self.gain.append(float(gain))
        return len(self.gain) - 1

    def tie(self, parts: list[int], arcs: NDArray[np.int64], *, equal: bool) -> None:
        """Σ parts = Σ arcs, or ≤."""
        columns = np.concatenate([np.array(parts, dtype=np.int64), arcs])
        coef = np.concatenate([np.ones(len(parts)), -np.ones(len(arcs))])
        self.add(columns, coef, lower=0.0 if equal else -np.inf, upper=0.0)

    def add_siblings(self, sibling: NDArray[np.float64]) -> None:
        """Children of a head on one side are a path outwards from the head.

        A variable per step s → d: each child is entered once, and left once at most.
        Steps lead outwards only, so the path visits all children in order and its
        steps are the pairs of adjacent ones.
        """
        entering: dict[tuple[int, int], list[int]] = {}
        leaving: dict[tuple[int, int, bool], list[int]] = {}
        pairs = {(int(h), int(d)) for h, d, _ in self.arcs}
        for h, d in sorted(pairs):
            between = range(h + 1, d) if h < d else range(d + 1, h)
            for s in (h, *between):
                if s == h or (h, s) in pairs:
                    step = self.new_variable(sibling[h, d, s])
                    entering.setdefault((h, d), []).append(step)
                    leaving.setdefault((h, s, d > h), []).append(step)
        for (h, d), steps in entering.items():
            self.tie(steps, self.matching((h, d)), equal=True)
        for (h, s, _), steps in leaving.items():
            if s == h:
                self.add(np.array(steps, dtype=np.int64), 1.0, upper=1.0)
            else:
                self.tie(steps, self.matching((h, s)), equal=False)

    def add_grandparents(self, grandparent: NDArray[np.float64]) -> None:
        """A variable per path g → h → d: one for each arc h → d, none without g → h."""
        pairs = sorted({(int(h), int(d)) for h, d, _ in self.arcs})
        above: dict[int, list[int]] = {}
        for g, h in pairs:
            above.setdefault(h, []).append(g)
        for h, d in pairs:
            if h == 0:
                continue
            paths = []
            for g in above.get(h, []):
                if g != d:
                    path = self.new_variable(grandparent[h, d, g])
                    self.tie([path], self.matching((g, h)), equal=False)
                    paths.append(path)
            self.tie(paths, self.matching((h, d)), equal=True)

    def solve(self) -> tuple[NDArray[np.float64], float]:
        """The best 0/1 point under the rows so far, and its value."""
        from scipy.optimize import Bounds, LinearConstraint, milp
        from scipy.sparse import csr_array

        indptr = np.cumsum([0] + [len(columns) for columns, _ in self.rows])
        columns = np.concatenate([columns for columns, _ in self.rows])
        coef = np.concatenate([coef for _, coef in self.rows])
        table = csr_array((coef, columns, indptr), (len(self.rows), len(self.gain)))
        is_arc = np.arange(len(self.gain)) < len(self.arcs)
        result = milp(
            -np.array(self.gain),
            integrality=is_arc.astype(int),  # the rest follows from the arcs
            bounds=Bounds(0.0, 1.0),
            constraints=LinearConstraint(table, self.lower, self.upper),
            options={"mip_rel_gap": 0.0},
        )
        if result.x is None:
            raise InfeasibleTreeError(
                f"no tree satisfies the constraints ({result.message}); relax one of "
                "the fixed or forbidden arcs or of the linear constraints"
            )
        return result.x, float(-result.fun)

    def cut_cycles(self, heads: NDArray[np.integer]) -> int:
        """One row per cycle: an arc enters it from outside; returns how many."""
        n_cuts = 0
        walk = np.zeros(self.n + 1, dtype=int)  # who was here first
        walk[0] = -1
        for start in range(1, self.n + 1):
            v = start
            while walk[v] == 0:
                walk[v] = start
                v = int(heads[v - 1])
            if walk[v] != start:
                continue
            cycle = [v]
            while heads[cycle[-1] - 1] != v:
                cycle.append(int(heads[cycle[-1] - 1]))
            inside = np.isin(self.arcs[:, :2], cycle)
            enters = np.flatnonzero(~inside[:, 0] & inside[:, 1])
            self.add(enters, 1.0, lower=1.0)
            n_cuts += 1
        return n_cuts

    def cut_crossings(self, heads: NDArray[np.integer]) -> int:
        """One row per crossing pair: not both; returns how many."""
        spans = [(min(h, d), max(h, d), h, d) for d, h in enumerate(heads.tolist(), 1)]
        n_cuts = 0
        for i, j, *one in spans:
            for k, end, *other in spans:
                if i < k < j < end:
                    pair = [self.matching(tuple(one)), self.matching(tuple(other))]
                    self.add(np.concatenate(pair), 1.0, upper=1.0)
                    n_cuts += 1
        return n_cuts
