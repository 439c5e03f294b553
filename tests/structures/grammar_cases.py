"""Small random grammars, their sentences and all of their trees."""

import numpy as np

from partwise.structures.phrase import Grammar

TAGS = ("a", "b", "c")
LABELS = ("S", "N", "V")


def random_tree(rng, n, begin=0, depth=0):
    """A tree over n words, with chains, repeated labels and flat nodes."""
    if n == 1 and (depth > 3 or (depth and rng.random() < 0.5)):
        tag = TAGS[rng.integers(len(TAGS))]
        return (tag, (f"{tag}{rng.integers(2)}",))
    label = LABELS[rng.integers(len(LABELS))]
    if n == 1 or (depth < 3 and rng.random() < 0.25):
        return (label, (random_tree(rng, n, begin, depth + 1),))
    n_cuts = int(rng.integers(1, min(n, 4)))
    cuts = np.sort(rng.choice(np.arange(1, n), size=n_cuts, replace=False))
    sizes = np.diff([0, *cuts, n])
    return (label, tuple(random_tree(rng, int(m), 0, depth + 1) for m in sizes))


def words(tree):
    if isinstance(tree[1][0], str):
        return [(tree[1][0], tree[0])]
    return [leaf for child in tree[1] for leaf in words(child)]


def make(seed, *, longest=4, n_trees=4, **params):
    """A grammar read off a few random trees, sentences with their trees, a model."""
    rng = np.random.default_rng(seed)
    trees = [("S", (("a", ("a0",)), ("b", ("b0",))))]  # the others may have no rule
    trees += [
        random_tree(rng, int(rng.integers(1, longest + 1))) for _ in range(n_trees)
    ]
    grammar = Grammar(**{"min_count": 1, "unary_steps": 2} | params).setup(None, trees)
    trees = [tree for tree in trees if grammar.fits(tree)]
    sentences = [words(tree) for tree in trees]
    w = rng.normal(size=grammar.n_psi_)
    return grammar, sentences, trees, w


def outputs_of(grammar, sentence, limit=200):
    """All trees, or nothing when there are too many to look at."""
    actual = []
    for tree in grammar.enumerate(sentence):
        actual.append(tree)
        if len(actual) > limit:
            return []
    return actual
