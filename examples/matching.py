"""Learn to pair: a structure of one's own, checked, trained and certified.

Each example is a table of n × n candidate pairs, each pair with a few features; an
output pairs every row with one column. Run it: ``python examples/matching.py``.
"""

# [structure]
import numpy as np
from scipy.optimize import linear_sum_assignment

from partwise import Structure


class Matching(Structure):
    """Pair n rows with n columns; x holds the features of pairs, (n, n, k)."""

    def setup(self, X, Y):
        """Learn sizes from the data: w has one weight per feature."""
        self.n_psi_ = X[0].shape[2]
        return self

    def joint_feature(self, x, y):
        """Ψ(x, y): features of the chosen pairs, summed."""
        return x[np.arange(len(y)), y].sum(axis=0)

    def loss(self, y, y_hat):
        """Δ(y, ŷ): share of the rows with a wrong partner."""
        return float(np.mean(np.asarray(y) != np.asarray(y_hat)))

    def argmax(self, x, w):
        """The best pairing: the Hungarian method on the scores of pairs."""
        return linear_sum_assignment(x @ w, maximize=True)[1]

    def loss_augmented_argmax(self, x, y, w):
        """The most dangerous pairing: a wrong pair scores 1/n more."""
        scores = x @ w + 1 / len(y)
        scores[np.arange(len(y)), y] -= 1 / len(y)
        return linear_sum_assignment(scores, maximize=True)[1]


# [end]


# [data]
def noisy_pairings(n, size=5, seed=0):
    """Pairings that follow hidden weights, up to some noise."""
    rng = np.random.default_rng(seed)
    X = [rng.normal(size=(size, size, 4)) for _ in range(n)]
    hidden = np.array([1.0, -0.5, 0.25, 0.0])
    noise = 0.3 * rng.normal(size=(n, size, size))
    scores = [x @ hidden + e for x, e in zip(X, noise, strict=True)]
    return X, [linear_sum_assignment(s, maximize=True)[1] for s in scores]


# [end]


def main() -> None:
    """Check, train, certify."""
    from itertools import permutations

    from partwise import StructuredSVM
    from partwise.testing import check_structure

    X, Y = noisy_pairings(3, size=3)
    check_structure(
        Matching(),
        list(zip(X, Y, strict=True)),
        enumerate=lambda x: [np.array(p) for p in permutations(range(len(x)))],
    )
    X, Y = noisy_pairings(200)
    svm = StructuredSVM(Matching(), tol=0.01).fit(X[:100], Y[:100])
    print(svm.certificate_)
    print(f"wrong pairs on new examples: {-svm.score(X[100:], Y[100:]):.1%}")


if __name__ == "__main__":
    main()
