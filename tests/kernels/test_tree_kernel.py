"""Common fragments against an enumeration of all fragments."""

from collections import Counter
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from partwise.kernels import ConvolutionTree, Normalized
from partwise.kernels.forests import Forest, encode_trees

WORDS = st.sampled_from(["a", "b"])
TAGS = st.tuples(st.sampled_from("NV"), st.tuples(WORDS))
TREES = st.recursive(
    TAGS,
    lambda child: st.tuples(
        st.sampled_from("SN"),
        st.lists(child | WORDS, min_size=1, max_size=3).map(tuple),
    ),
    max_leaves=6,
)


def fragments_at(node):
    """Fragments rooted in a node with their number of productions, by definition."""
    label, children = node
    choices = []
    for child in children:
        if isinstance(child, str):
            choices.append([(("word", child), 0)])
        else:
            choices.append([(("cut", child[0]), 0), *fragments_at(child)])
    return [
        (
            (label, tuple(part for part, _ in chosen)),
            1 + sum(size for _, size in chosen),
        )
        for chosen in product(*choices)
    ]


def nodes(tree):
    if not isinstance(tree, str):
        yield tree
        for child in tree[1]:
            yield from nodes(child)


def features(tree):
    return Counter(f for node in nodes(tree) for f in fragments_at(node))


def enumerate_common(x, y, decay):
    one, other = features(x), features(y)
    return sum(n * other[f] * decay ** f[1] for f, n in one.items())


@given(st.lists(TREES, min_size=1, max_size=3), st.lists(TREES, min_size=1, max_size=3))
def test_blocks_equal_the_enumeration(X, Y):
    for decay in (0.3, 1.0):
        wanted = [[enumerate_common(x, y, decay) for y in Y] for x in X]
        kernel = ConvolutionTree(decay)
        np.testing.assert_allclose(kernel(X, Y), wanted, rtol=1e-12, atol=0)
        np.testing.assert_allclose(kernel.diag(X), np.diagonal(kernel(X, X)))


@given(st.lists(TREES, min_size=1, max_size=4))
def test_trees_survive_the_arrays(trees):
    forest = encode_trees(trees)
    assert forest.decode() == trees
    assert Forest.unpack(forest.pack()).decode() == trees


def test_gram_matrices_are_positive_semidefinite():
    rng = np.random.default_rng(1)

    def grow(depth):
        if depth == 0:
            return ("T" + str(rng.integers(2)), (str(rng.integers(3)),))
        label = "P" + str(rng.integers(2))
        return (label, tuple(grow(depth - 1) for _ in range(rng.integers(1, 3))))

    values = np.linalg.eigvalsh(
        Normalized(ConvolutionTree())([grow(3) for _ in range(30)])
    )
    assert values[0] > -1e-10


def test_a_word_is_not_a_label_of_the_same_name():
    one, other = ("S", ("NP",)), ("S", (("NP", ("x",)),))
    assert ConvolutionTree(1.0)([one], [other])[0, 0] == 0.0


class Tree(list):
    """As nltk's."""

    def __init__(self, label, children):
        super().__init__(children)
        self._label = label

    def label(self):
        return self._label


def test_trees_of_nltk_are_accepted():
    plain = ("S", (("N", ("a",)), ("V", ("b",))))
    tree = Tree("S", [Tree("N", ["a"]), Tree("V", ["b"])])
    assert ConvolutionTree()([tree], [plain]) == ConvolutionTree().diag([plain])


def test_deep_trees_need_no_recursion():
    tree = ("N", ("a",))
    for _ in range(5000):
        tree = ("S", (tree,))
    value = ConvolutionTree(0.1)([tree])[0, 0]
    assert np.isfinite(value)
    assert value > 0


@pytest.mark.parametrize(
    ("tree", "message"),
    [
        ("word", "tree 0 is a string"),
        (("S",), "tree 0: .* pair"),
        (("S", "words"), "tree 0: .* pair"),
        (("S", (3,)), "tree 0: 3 where"),
        ((1, ("a",)), "tree 0"),
    ],
)
def test_what_is_no_tree_is_refused(tree, message):
    with pytest.raises(ValueError, match=message):
        ConvolutionTree()([tree])


@pytest.mark.parametrize(
    "damage",
    [
        {"arity": np.array([3, 1, -1, 1, -1], np.int32)},
        {"arity": np.array([-1, 1, -1, 1, -1], np.int32)},
        {"arity": np.array([0, 2, -1, 1, -1], np.int32)},
        {"arity": np.array([2, 1, -1, 1, -7], np.int32)},
        {"symbol": np.array([0, 1, 2, 3, 9], np.int32)},
        {"symbol": np.array([0, 1], np.int32)},
        {"offset": np.array([0, 9], np.int64)},
        {"text_offset": np.array([0, 99], np.int64)},
        {"symbol": np.zeros(5)},
    ],
)
def test_damaged_arrays_are_refused(damage):
    arrays = encode_trees([("NP", (("DT", ("the",)), ("NN", ("cat",))))]).pack()
    with pytest.raises(ValueError, match=r"damaged|array|out of range|offsets"):
        Forest.unpack(arrays | damage).decode()
