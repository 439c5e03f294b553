"""Grammars: kernels against enumeration of all trees."""

import numpy as np
import pytest
from grammar_cases import make, outputs_of
from hypothesis import given, settings
from hypothesis import strategies as st

from partwise.objective import Formulation

grammars = st.fixed_dictionaries(
    {
        "seed": st.integers(0, 10_000),
        "horizontal": st.sampled_from([None, 0, 1, 2]),
        "vertical": st.sampled_from([1, 2]),
        "lexical": st.booleans(),
        "features": st.sampled_from(["rules", "spans"]),
    }
)


def cases(case, **params):
    """(example number, outputs, their scores) of the examples with few outputs."""
    grammar, sentences, trees, w = make(**case, **params)
    small = []
    for i, sentence in enumerate(sentences):
        outputs = outputs_of(grammar, sentence)
        if outputs:
            scores = [grammar.joint_feature(sentence, y) @ w for y in outputs]
            small.append((i, outputs, np.array(scores)))
    return grammar, sentences, trees, w, small


@settings(max_examples=60, deadline=None)
@given(grammars)
def test_decoding_is_the_enumerated_maximum(case):
    grammar, sentences, _, w, small = cases(case)
    for i, outputs, scores in small:
        assert len(set(outputs)) == len(outputs)
        actual = grammar.decode([sentences[i]], w)[0]
        assert grammar.joint_feature(sentences[i], actual) @ w == pytest.approx(
            scores.max()
        )


@settings(max_examples=60, deadline=None)
@given(grammars)
def test_codes_keep_trees(case):
    grammar, sentences, trees, _ = make(**case)
    for sentence, tree in zip(sentences, trees, strict=True):
        code = grammar.encode(tree)
        again = grammar.tree(code, sentence)
        assert grammar.loss(tree, again) == 0
        assert (grammar.encode(again) == code).all()
        assert tree in list(grammar.enumerate(sentence)) or again != tree


@settings(max_examples=60, deadline=None)
@given(grammars)
def test_planes_agree_with_joint_features(case):
    grammar, sentences, trees, w = make(**case, cost="brackets")
    if not trees:
        return
    problem = grammar.pack(sentences, trees)
    cuts = problem.oracle(w)
    dense = np.array(
        [
            grammar.joint_feature(sentences[i], trees[i])
            - grammar.joint_feature(sentences[i], y_hat)
            for i, y_hat in enumerate(problem.outputs(cuts))
        ]
    )
    alpha = np.linspace(0.5, 1, len(trees))
    np.testing.assert_allclose(problem.combine(cuts, alpha), alpha @ dense, atol=1e-12)
    np.testing.assert_allclose(problem.margins(w, cuts), dense @ w, atol=1e-9)
    np.testing.assert_allclose(problem.gram(cuts, cuts), dense @ dense.T, atol=1e-9)


FORMULATIONS = [
    Formulation("margin", "l1"),
    Formulation("margin", "l2"),
    Formulation("slack", "l1"),
    Formulation("slack", "l2"),
    Formulation("hard", "l1"),
]


@settings(max_examples=120, deadline=None)
@given(
    case=grammars,
    formulation=st.sampled_from(FORMULATIONS),
    cost=st.sampled_from(["f1", "brackets", "zero_one"]),
    exact_words=st.sampled_from([15, 0]),
    size=st.sampled_from([0.0, 0.1, 1.0]),
)
def test_oracle_finds_the_most_violated_tree(
    formulation, case, cost, exact_words, size
):
    hard = formulation.rescaling == "hard"
    if hard and case["lexical"] and cost != "zero_one":
        return  # refused
    grammar, sentences, trees, w, small = cases(
        case, cost=cost, exact_words=exact_words
    )
    w = size * w
    for i, outputs, scores in small:
        problem = grammar.pack([sentences[i]], [trees[i]], formulation)
        cuts = problem.oracle(w)
        truth = grammar.joint_feature(sentences[i], trees[i]) @ w
        worst = -np.inf
        for y_hat, score in zip(outputs, size * scores, strict=True):
            loss = grammar.loss(trees[i], y_hat)
            if loss > 1e-12 or formulation.rescaling == "margin":
                b, scale = formulation.plane(max(loss, 0.0))
                worst = max(worst, b - scale * (truth - score))
        if not hard and cost != "zero_one":
            worst = max(worst, 0.0)  # the truth itself may be returned
        if worst == -np.inf:
            assert cuts.violation[0] <= 1e-9
            continue
        if exact_words or (formulation.is_additive and cost == "f1"):
            assert cuts.is_exact
        if cuts.is_exact:
            assert max(cuts.violation[0], worst) == pytest.approx(worst, abs=1e-8)
            assert max(cuts.violation[0], 0) == pytest.approx(max(worst, 0), abs=1e-8)
        assert cuts.violation[0] <= worst + 1e-8
        assert cuts.bound[0] >= worst - 1e-8 or worst <= 1e-8
        y_hat = problem.outputs(cuts)[0]
        loss = grammar.loss(trees[i], y_hat)
        if loss > 1e-12:
            b, scale = formulation.plane(loss)
            assert (cuts.b[0], cuts.scale[0]) == pytest.approx((b, scale))
            score = grammar.joint_feature(sentences[i], y_hat) @ w
            values = b - scale * (truth - score)
            assert cuts.violation[0] == pytest.approx(values, abs=1e-8)


@settings(max_examples=60, deadline=None)
@given(grammars, st.integers(1, 7))
def test_k_best_is_exact_and_ordered(case, k):
    grammar, sentences, _, w, small = cases(case)
    for i, _, scores in small:
        problem = grammar.pack([sentences[i]], None)
        actual = problem.k_best(w, k)[0]
        assert [value for _, value in actual] == pytest.approx(
            list(np.sort(scores)[::-1][:k])
        )
        assert len({tree for tree, _ in actual}) == len(actual)
        for tree, value in actual:
            assert grammar.joint_feature(sentences[i], tree) @ w == pytest.approx(value)


@settings(max_examples=40, deadline=None)
@given(grammars)
def test_likelihood_and_marginals_are_enumerated_sums(case):
    grammar, sentences, trees, w, small = cases(case)
    for i, outputs, scores in small:
        problem = grammar.pack([sentences[i]], [trees[i]])
        top = np.logaddexp.reduce(scores)
        mass = np.exp(scores - top)
        tables, log_z = problem.marginals(w)
        assert log_z[0] == pytest.approx(top)
        expected = np.zeros_like(tables[0])
        psi = np.zeros(grammar.n_psi_)
        for y, p in zip(outputs, mass, strict=True):
            psi += p * grammar.joint_feature(sentences[i], y)
            for label, begin, end in grammar._brackets(y):
                expected[begin, end, grammar.labels_.index(label)] += p
        np.testing.assert_allclose(tables[0], expected, atol=1e-10)
        loss, gradient = problem.log_likelihood(w, np.array([0.5]))
        truth = grammar.joint_feature(sentences[i], trees[i])
        assert loss[0] == pytest.approx(top - truth @ w, abs=1e-9)
        np.testing.assert_allclose(gradient, 0.5 * (psi - truth), atol=1e-9)
