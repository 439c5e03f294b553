"""Random scores, features and truths of small sentences, and all their trees."""

from functools import cache
from typing import NamedTuple

import numpy as np
from hypothesis import strategies as st

from partwise.features.arcs import ArcFeaturizer
from partwise.readers import Table
from partwise.structures.dependency import Arborescence
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


TEMPLATES = """
head.w|dep.w
head.t|dep.t
head.w
dep.w|dep.t[-1]
head.t|count.t|dep.t
head.t|between.t|dep.t
head.t[1]|dep.t[-1]
bias
"""
SECOND = TEMPLATES + "head.t|sib.t|dep.t\nsib.w|dep.w\ngrand.t|head.t|dep.t\n"
LABELS = "dep.w\nhead.t\nhead.t|dep.w\nbias"


def make(seed, *, lengths=(1, 3, 2), hash_bits=None, templates=TEMPLATES, **params):
    """A structure, its sentences, true codes, and a random model."""
    rng = np.random.default_rng(seed)
    tree = Arborescence(**params)
    rows = [
        [("abc"[rng.integers(3)], "XY"[rng.integers(2)]) for _ in range(n)]
        for n in lengths
    ]
    table = Table.from_sequences(rows, ["w", "t"])
    truths = [list(all_trees(n, projective=True, single_root=True)) for n in lengths]
    heads = [list(own[rng.integers(len(own))]) for own in truths]
    labels = LABELS if tree.n_labels else ()
    featurizer = ArcFeaturizer(templates, labels, hash_bits=hash_bits)
    featurizer.fit(table, heads)
    x = [featurizer.transform(table[s]) for s in range(len(lengths))]
    size = max(tree.n_labels, 1)
    y = [np.array(h) * size + rng.integers(size, size=len(h)) for h in heads]
    tree.setup(x, y)
    return tree, x, y, rng.normal(size=tree.n_psi_)


def dense(tree, x, code):
    """Ψ as a vector."""
    index, value = tree.joint_feature(x, code)
    psi = np.zeros(tree.n_psi_)
    np.add.at(psi, index, value)
    return psi
