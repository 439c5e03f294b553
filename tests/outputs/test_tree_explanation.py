"""Explanations of dependency trees add up."""

import numpy as np
import pytest

from partwise.datasets import toy_dependencies
from partwise.outputs.dependency.estimator import DependencyParser

X, Y = toy_dependencies(30)


@pytest.mark.parametrize(("hash_bits", "order"), [(12, 1), (None, 1), (12, 2)])
def test_shares_of_the_words_make_the_lead(hash_bits, order):
    parser = DependencyParser(hash_bits=hash_bits, order=order, tol=0.3).fit(X, Y)
    for s in range(5):
        explanation = parser.explain(X[s], top=100)
        score, lead = parser.margin(X[s])[0]
        assert explanation.score == pytest.approx(
            score
        ) and explanation.lead == pytest.approx(lead)
        assert sum(c.share for c in explanation.contributions) == pytest.approx(lead)
        changed = {c.position for c in explanation.contributions}
        pairs = zip(explanation.winner, explanation.runner_up, strict=True)
        assert changed == {t for t, (a, b) in enumerate(pairs) if a != b}
    named = parser.model_.scoring.named_weights(parser.model_.weights, 5)
    assert bool(named) == (hash_bits is None)
    weights = [weight for _, weight in named]
    assert weights == sorted(weights, reverse=True) and all(np.isfinite(weights))


def test_one_word_has_one_tree():
    parser = DependencyParser(hash_bits=12, labels=None, tol=0.3).fit(X, Y)
    explanation = parser.explain([{"form": "go", "upos": "VERB", "xpos": "VB"}])
    assert (explanation.winner, explanation.runner_up, explanation.lead) == (
        ["_(0)"],
        None,
        np.inf,
    )
    assert "go" in str(explanation)
