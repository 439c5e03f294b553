"""Learn orderings with a kernel on pairs: no features, only similarities.

An input is a point in the plane, its output the order in which four beacons are nearest
to it. Orders are alike when they agree on pairs of beacons (Kendall), points when they
are near (Gaussian), and pairs (x, y) when both are. Run it:
``python examples/joint_kernel.py``.
"""

# [kernel]
from functools import cache
from itertools import combinations, permutations

import numpy as np

from partwise.structures.joint_kernel import TensorKernel


@cache
def disagreement(one, two):
    """Share of pairs that two orders put in different order (Kendall)."""
    at, there = np.argsort(one), np.argsort(two)
    pairs = list(combinations(range(len(one)), 2))
    return float(np.mean([(at[a] < at[b]) != (there[a] < there[b]) for a, b in pairs]))


class Orders(TensorKernel):
    """Orders of n things; K = exp(−gamma‖x − x'‖²)·(pairs in the same order)."""

    def __init__(self, n=4, gamma=4.0):
        self.n = n
        self.gamma = gamma

    def input_kernel(self, x, x2):
        """Near points are alike."""
        return float(np.exp(-self.gamma * np.sum((x - x2) ** 2)))

    def output_kernel(self, y, y2):
        """Share of pairs in the same order."""
        return 1.0 - self.loss(y, y2)

    def loss(self, y, y_hat):
        """Δ: share of pairs in the wrong order."""
        return disagreement(y, y_hat)

    def pre_image(self, x, score):
        """The best order: 24 are few enough to try."""
        return max(permutations(range(self.n)), key=score)

    def pre_image_penalized(self, x, y, score):
        """The most dangerous one."""
        orders = permutations(range(self.n))
        return max(orders, key=lambda order: score(order) + self.loss(y, order))


# [end]

BEACONS = np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0], [1.0, 1.0]])


def beacons(n, seed=0):
    """Points and the true order of beacons."""
    X = np.random.default_rng(seed).uniform(size=(n, 2))
    far = np.linalg.norm(X[:, None] - BEACONS, axis=2)
    return list(X), [tuple(map(int, np.argsort(row))) for row in far]


def main() -> None:
    """Train and test."""
    from partwise import StructuredSVM

    X, Y = beacons(60)
    svm = StructuredSVM(Orders(), C=60.0, tol=0.01).fit(X, Y)
    print(svm.certificate_)
    print(f"{len(svm.coef_)} pairs carry the model")
    X, Y = beacons(100, seed=1)
    print(f"wrong pairs on new points: {-svm.score(X, Y):.1%}")


if __name__ == "__main__":
    main()
