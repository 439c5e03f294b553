"""Kernel grammars: part scores against the expansion over all pairs of parts."""

import numpy as np
from grammar_cases import make, outputs_of
from hypothesis import given, settings
from hypothesis import strategies as st

from partwise.features.phrase_keys import PhraseHasher
from partwise.objective import Formulation, Objective
from partwise.protocol import Cuts
from partwise.scorers.kernel import KernelScorer
from partwise.scorers.spans import SpanScorer
from partwise.solvers import make_solver
from partwise.structures import _packed_compiled as kernels

# every feature of spans as a hash function
SPANS = (
    "rule, label+first.tag, label+first.tag[-1], label+first.tag[-1]+first.tag,"
    "label+first.tag+first.tag[1], label+first.word, label+first.word[-1],"
    "label+last.tag, label+last.tag[1], label+last.tag+last.tag[1],"
    "label+last.tag[-1]+last.tag, label+last.word, label+last.word[1], label+bucket,"
    "label+tag, label+first.tag[-1]+last.tag[1]"
)


def value(words, t, column):
    return words[t][column] if 0 <= t < len(words) else "<s>"


# what must agree, in plain Python, of a bracket
REFERENCE = {
    "label": lambda x, label, i, j: label,
    "label+tag": lambda x, label, i, j: (label, x[i][1], x[j - 1][1]),
    "label+first.word[-1]": lambda x, label, i, j: (label, value(x, i - 1, 0)),
    "label+last.tag[1]+length": lambda x, label, i, j: (label, value(x, j, 1), j - i),
}


def hasher_of(grammar, match):
    rules = [" ".join(rule) for rule in grammar.rules()]
    return PhraseHasher(match, rules, grammar.labels_, columns=grammar.columns_of)


def parts_of(grammar, x, y, match):
    """Keys of the parts of a tree, in plain Python."""
    x = grammar.columns_of([x])[0]
    actual = []
    for number, name in enumerate(match):
        if name == "rule":
            actual += [(number, rule) for rule in grammar._weights(y)]
        else:
            hashed = REFERENCE[name]
            actual += [(number, hashed(x, *b)) for b in grammar._brackets(y)]
    return actual


def similarity(one, other):
    return sum(a == b for a in one for b in other)


@settings(deadline=None, max_examples=25)
@given(
    seed=st.integers(0, 10_000),
    lexical=st.booleans(),
    horizontal=st.sampled_from([None, 1]),
    match=st.lists(st.sampled_from(["rule", *REFERENCE]), min_size=1, unique=True),
    has_kernel=st.booleans(),
)
def test_margins_are_sums_over_pairs_of_parts(
    seed, lexical, horizontal, match, has_kernel
):
    grammar, sentences, trees, _ = make(
        seed, longest=3, lexical=lexical, horizontal=horizontal, features="rules"
    )
    n = len(sentences)
    rng = np.random.default_rng(seed)
    factor = rng.normal(size=(n, 3))
    gram = factor @ factor.T if has_kernel else np.ones((n, n))
    parts = hasher_of(grammar, match).transform(sentences)
    scorer = KernelScorer(gram if has_kernel else None)
    problem = grammar.pack(sentences, trees, parts=parts, scorer=scorer)
    outputs = [
        outputs_of(grammar, x)[:3] or [y] for x, y in zip(sentences, trees, strict=True)
    ]
    block = np.repeat(np.arange(n), [len(own) for own in outputs])
    flat = [tree for own in outputs for tree in own]
    codes = []
    for i, tree in zip(block, flat, strict=True):
        code = np.full(problem.indptr_of(np.array([i]))[1], -1, np.int32)
        own = grammar.encode(tree)
        code[: len(own)] = own
        codes.append(code)
    m = len(flat)
    indptr = np.cumsum([0, *map(len, codes)])
    ones = np.ones(m)
    cuts = Cuts(block, ones, ones, ones, ones, indptr, np.concatenate(codes))
    alpha = rng.normal(size=m)

    # K of all pairs, from all pairs of parts
    truth = [
        parts_of(grammar, x, y, match) for x, y in zip(sentences, trees, strict=True)
    ]
    wrong = [
        parts_of(grammar, sentences[i], y, match)
        for i, y in zip(block, flat, strict=True)
    ]
    expected = np.zeros((m, m))
    for a in range(m):
        for b in range(m):
            i, j = block[a], block[b]
            total = similarity(truth[i], truth[j]) - similarity(truth[i], wrong[b])
            total += similarity(wrong[a], wrong[b]) - similarity(wrong[a], truth[j])
            expected[a, b] = gram[i, j] * total
    model = problem.combine(cuts, alpha)
    np.testing.assert_allclose(
        problem.margins(model, cuts), expected @ alpha, atol=1e-8
    )
    np.testing.assert_allclose(
        problem.dot(model, model), alpha @ expected @ alpha, atol=1e-8
    )
    # the same planes within a block, on coordinates of its own
    local, work = problem.local_blocks, problem.borrow_work()
    for a in range(m):
        here = np.flatnonzero(block == block[a])
        small, actual = problem.local_zero(), np.zeros(m)
        one = slice(a, a + 1)
        kernels.combine(
            local, work, small, block[one], ones[one], indptr[a : a + 2], cuts.code
        )
        kernels.margins(local, small, block, ones, indptr, cuts.code, 0, m, actual)
        np.testing.assert_allclose(actual[here], expected[a, here], atol=1e-8)


@settings(deadline=None, max_examples=10)
@given(
    seed=st.integers(0, 10_000),
    lexical=st.booleans(),
    horizontal=st.sampled_from([None, 1]),
    features=st.sampled_from(["rules", "spans"]),
)
def test_keys_without_a_kernel_are_the_linear_model(
    seed, lexical, horizontal, features
):
    grammar, sentences, trees, _ = make(
        seed, lexical=lexical, horizontal=horizontal, features=features
    )
    match = SPANS if features == "spans" else "rule"
    parts = hasher_of(grammar, match).transform(sentences)
    problems = [
        grammar.pack(sentences, trees, scorer=SpanScorer()),
        grammar.pack(sentences, trees, parts=parts, scorer=KernelScorer()),
    ]
    primals = []
    for problem in problems:
        objective = Objective.create(float(len(trees)), len(trees), "l1")
        solver = make_solver("bcfw", {"tol": 1e-7, "max_iter": 500, "random_state": 0})
        state = solver.solve(problem, objective)
        primals.append((state.dual, state.point().objective))
    (low, high), (other_low, other_high) = primals
    assert low <= other_high + 1e-6 and other_low <= high + 1e-6
    assert abs(high - other_high) <= 1e-5 * max(1.0, high)


def test_two_best_and_frontier_search_the_same_scores():
    """Oracles of every formulation, with the linear model as their reference."""
    for formulation in (
        Formulation("margin", "l1"),
        Formulation("slack", "l1"),
        Formulation("margin", "l2"),
        Formulation("hard", "l1"),
    ):
        grammar, sentences, trees, w = make(3, features="rules", cost="brackets")
        parts = hasher_of(grammar, "rule").transform(sentences)
        linear = grammar.pack(sentences, trees, formulation)
        keys = grammar.pack(
            sentences, trees, formulation, parts=parts, scorer=KernelScorer()
        )
        planes = linear.oracle(w)
        alpha = np.linspace(0.1, 1.0, len(planes.block))
        expected = linear.oracle(linear.combine(planes, alpha))
        actual = keys.oracle(keys.combine(planes, alpha))
        np.testing.assert_allclose(actual.violation, expected.violation)
        np.testing.assert_allclose(actual.bound, expected.bound)
