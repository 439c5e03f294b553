"""Random scores of small sentences, and all their trees."""

from functools import cache
from typing import NamedTuple

import numpy as np
from hypothesis import strategies as st

from partwise.structures.dependency._programs import new_tree_work
from partwise.structures.dependency._reference import all_trees

LONGEST = 5
WORK = new_tree_work(LONGEST + 2)


class Case(NamedTuple):
    n: int
    size: int  # of the tables: n + 1 or more
    rng: np.random.Generator
    forbidden: float
    has_ties: bool

    def table(self, *shape, scale=1.0):
        """Finite scores of any shape, many of them equal if the case has ties."""
        if self.has_ties:
            return scale * self.rng.integers(-2, 3, size=shape).astype(float)
        return scale * self.rng.normal(size=shape)

    def score(self, *levels, scale=1.0):
        """Arc scores, some forbidden; what is no arc holds numbers that tempt."""
        shape = (*levels, self.size, self.size)
        table = self.table(*shape, scale=scale)
        table[self.rng.random(shape) < self.forbidden] = -np.inf
        table[..., :, 0] = 1e6
        table[..., np.arange(self.size), np.arange(self.size)] = 1e6
        table[..., self.n + 1 :, :] = 1e6
        table[..., self.n + 1 :] = 1e6
        return table


def cases(longest=LONGEST):
    return st.builds(
        lambda n, pad, seed, forbidden, has_ties: Case(
            n, n + 1 + pad, np.random.default_rng(seed), forbidden, has_ties
        ),
        st.integers(1, longest),
        st.integers(0, 2),
        st.integers(0, 2**32 - 1),
        st.sampled_from([0.0, 0.3, 0.6]),
        st.booleans(),
    )


@cache
def trees(n, projective, single_root):
    return list(all_trees(n, projective=projective, single_root=single_root))


def empty_heads(*shape):
    return np.full(shape, -7, dtype=np.int32)


def as_tree(heads):
    return tuple(heads.tolist())


def agree(value, best):
    return value == best or bool(np.isclose(value, best, rtol=1e-9, atol=1e-9))
