"""The objective, the only convention of the package.

    minimise  ½‖w‖² + Σ_i c_i ξ_i        c_i = C·v_i / Σ_j v_j, sample weights v

(L1; ½ Σ c_i ξ_i² for L2; ξ = 0 for a hard margin), where ξ_i = max(0, max_ŷ b − <w, a>)
over the planes a = s·(φ(y_i) − φ(ŷ)) of **all** outputs ŷ ≠ y_i of block i. The scale
s and the offset b follow from the loss Δ(y_i, ŷ) by `plane`. An output with Δ = 0 that
is not the truth has the plane b = 0, s = 1 under margin rescaling: it is violated when
the output scores higher than the truth. Under slack rescaling it has s = 0 and no
effect, and a hard margin requires a margin of outputs with Δ > 0 alone. The dual in
α ≥ 0, with w = Σ α a, B_i = Σ_ŷ α b and S_i = Σ_ŷ α, is

    D(α) = Σ_i B_i − ½‖w‖²                        S_i ≤ c_i   (L1)
           Σ_i B_i − ½‖w‖² − Σ_i S_i²/(2 c_i)                 (L2)
           Σ_i B_i − ½‖w‖²                                    (hard)

(Tsochantaridis, Hofmann, Joachims, Altun, ICML 2004, section 4.1.)
"""

from __future__ import annotations

from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from partwise.parameters import SettingsError

Floats = NDArray[np.float64]

ROUNDING = 1e-14  # relative: what is taken off a dual for the rounding of its sums
# With features up to `partwise.bounds.MAX_FEATURE` no sum of a solver overflows.
MIN_C, MAX_C = 1e-100, 1e20
MIN_SHARE = 1e-20  # of the largest sample weight


# The five rules by which a loss becomes a plane, as numbers that kernels can read.
MARGIN, MARGIN_ROOT, SLACK, SLACK_ROOT, HARD = range(5)


def plane(rule: int, loss: float) -> tuple[float, float]:
    """Offset b and scale s of an output with this loss; also compiled, for kernels."""
    if loss <= 0.0:
        return 0.0, (1.0 if rule <= MARGIN_ROOT else 0.0)
    if rule == HARD:
        return 1.0, 1.0
    size = np.sqrt(loss) if rule == MARGIN_ROOT or rule == SLACK_ROOT else loss
    return size, (1.0 if rule <= MARGIN_ROOT else size)


def violation_of(rule: int, b: float, scale: float, margin: float) -> float:
    """B − s·margin; −inf where a hard margin requires nothing of the output."""
    if rule == HARD and b == 0.0:
        return -np.inf
    return b - scale * margin


class Formulation(NamedTuple):
    """How a loss becomes a plane: ``b − s·<w, φ(y) − φ(ŷ)>``.

    =========== ======= ====== ====== ==============
    rescaling   penalty s      b      where Δ = 0
    =========== ======= ====== ====== ==============
    ``hard``    –       1      1      no plane
    ``margin``  l1      1      Δ      s = 1, b = 0
    ``margin``  l2      1      √Δ     s = 1, b = 0
    ``slack``   l1      Δ      Δ      s = 0, b = 0
    ``slack``   l2      √Δ     √Δ     s = 0, b = 0
    =========== ======= ====== ====== ==============
    """

    rescaling: str = "margin"  # "margin", "slack" or "hard"
    penalty: str = "l1"  # "l1" or "l2"; a hard margin has no slack to penalise

    @property
    def is_additive(self) -> bool:
        """Whether b is Δ and s is 1, so that the loss merely adds to part scores."""
        return self.rescaling == "margin" and self.penalty == "l1"

    @property
    def rule(self) -> int:
        """The number of its row in the table: `MARGIN`, …, `HARD`."""
        if self.rescaling == "hard":
            return HARD
        return 2 * (self.rescaling == "slack") + (self.penalty == "l2")

    def plane(self, loss: float) -> tuple[float, float]:
        """Offset b and scale s of an output with this loss."""
        b, scale = plane(self.rule, loss)
        return float(b), float(scale)

    def planes(self, losses: Any) -> tuple[Floats, Floats]:
        """Offsets b and scales s of outputs with these losses, in their shape."""
        losses = np.asarray(losses, np.float64)
        pairs = [self.plane(loss) for loss in losses.ravel().tolist()]
        b, scale = np.array(pairs).reshape(-1, 2).T.copy()
        return b.reshape(losses.shape), scale.reshape(losses.shape)

    def validate(self) -> Self:
        """Refuse names that are not in the table."""
        if self.rescaling not in ("margin", "slack", "hard"):
            raise SettingsError(
                f"<formulation={self.rescaling!r}>: choose 'margin', 'slack' or 'hard'"
            )
        if self.penalty not in ("l1", "l2"):
            raise SettingsError(f"<penalty={self.penalty!r}>: choose 'l1' or 'l2'")
        return self


class Objective(NamedTuple):
    """What is minimised: the weight c_i of each block and the kind of penalty."""

    weight: Floats  # (n_blocks,) c_i; they add up to C
    penalty: str  # "l1", "l2", "hard" (planes) or "log" (conditional likelihood)

    @classmethod
    def create(
        cls, C: float, n_blocks: int, penalty: str, sample_weight: Any = None
    ) -> Objective:
        """c_i = C·v_i / Σ_j v_j with sample weights v (all equal: C/n)."""
        if not isinstance(C, int | float | np.number) or not MIN_C <= C <= MAX_C:
            raise SettingsError(
                f"<C={C!r}>: C must be a positive number, from {MIN_C:g} to {MAX_C:g}"
            )
        if sample_weight is None:
            return cls(np.full(n_blocks, C / n_blocks), penalty)
        v = np.asarray(sample_weight, dtype=np.float64)
        if v.shape != (n_blocks,) or not np.isfinite(v).all() or (v <= 0).any():
            raise ValueError(
                f"sample_weight: give {n_blocks} positive finite numbers, one per "
                "example; leave out examples that should not count"
            )
        if v.min() < MIN_SHARE * v.max() or v.max() > MAX_C:
            raise ValueError(
                f"sample_weight: numbers from {v.min():g} to {v.max():g} are too far "
                "apart; scale them, and leave out examples that should not count"
            )
        return cls(C * v / v.sum(), penalty)

    def cap(self) -> Floats:
        """Upper limit of the dual mass S_i of each block."""
        if self.penalty == "l1":
            return self.weight
        return np.full(len(self.weight), np.inf)

    def ridge(self) -> Floats:
        """Curvature 1/c_i that an L2 penalty adds to the dual of each block."""
        if self.penalty == "l2":
            return 1.0 / self.weight
        return np.zeros(len(self.weight))

    def slack_term(self, slack: Floats) -> float:
        """Σ c ξ, or ½ Σ c ξ²; slack is clipped at zero."""
        slack = np.maximum(slack, 0.0)
        if self.penalty == "l2":
            slack = 0.5 * slack * slack
        return float(np.sum(self.weight * slack))

    def primal(self, square: float, violation: Floats) -> float:
        """P(w) from ‖w‖² and the largest violation of each block.

        A hard margin is scale-free: w divided by its smallest margin γ is feasible,
        so its value is ½‖w‖²/γ², and infinite when some margin is not positive.
        """
        if self.penalty == "hard":
            smallest = 1.0 - float(np.max(violation))
            return 0.5 * square / smallest**2 if smallest > 0 else np.inf
        return 0.5 * square + self.slack_term(violation)

    def dual(self, square: float, offset: Floats, mass: Floats) -> float:
        """D(α) from ‖w‖², B_i = Σ α b and S_i = Σ α of each block, rounded down.

        Sums of n numbers are wrong by some units in the last place of their terms;
        taking more than that off keeps the bound below the optimum.
        """
        total = float(np.sum(offset))
        value = total - 0.5 * square
        size = abs(total) + 0.5 * square
        if self.penalty == "l2":
            ridge = float(np.sum(0.5 * mass * mass / self.weight))
            value, size = value - ridge, size + ridge
        return value - ROUNDING * size

    def eps_of_gap(self, primal: float, dual: float, slack: Floats) -> float:
        """The ε of the papers' rule that explains a duality gap.

        When no constraint is violated by more than ξ_i + ε at the optimum over a
        working set, with slacks ξ, the gap is at most Cε (L1), Σ c (ξε + ½ε²) (L2), or
        D = P·(1 − ε)² (hard). A working set that is not solved exactly has a larger ε
        than its violations.
        """
        gap = max(primal - dual, 0.0)
        if not np.isfinite(gap):
            return np.inf
        total = float(np.sum(self.weight))
        if self.penalty == "hard":
            return 1.0 - float(np.sqrt(max(dual, 0.0) / primal)) if primal > 0 else 0.0
        if self.penalty == "l2" and gap > 0:
            linear = float(np.sum(self.weight * np.maximum(slack, 0.0)))
            root = float(np.sqrt(linear**2 + 2.0 * total * gap))
            return 2.0 * gap / (linear + root)
        return gap / total

    def slope(self, violation: Floats) -> Floats:
        """d(slack term)/dξ of each block: the mass a subgradient puts on its plane."""
        if self.penalty == "l2":
            return self.weight * np.maximum(violation, 0.0)
        return np.where(violation > 0, self.weight, 0.0)
