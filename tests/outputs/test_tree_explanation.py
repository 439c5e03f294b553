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
        told = parser.explain(X[s], top=100)
        score, lead = parser.margin(X[s])[0]
        assert told.score == pytest.approx(score) and told.lead == pytest.approx(lead)
        assert sum(c.share for c in told.contributions) == pytest.approx(lead)
        changed = {c.position for c in told.contributions}
        pairs = zip(told.winner, told.runner_up, strict=True)
        assert changed == {t for t, (a, b) in enumerate(pairs) if a != b}
    named = parser.model_.scoring.named_weights(parser.model_.weights, 5)
    assert bool(named) == (hash_bits is None)
    weights = [weight for _, weight in named]
    assert weights == sorted(weights, reverse=True) and all(np.isfinite(weights))


def test_one_word_has_one_tree():
    parser = DependencyParser(hash_bits=12, labels=None, tol=0.3).fit(X, Y)
    told = parser.explain([{"form": "go", "upos": "VERB", "xpos": "VB"}])
    assert (told.winner, told.runner_up, told.lead) == (["_(0)"], None, np.inf)
    assert "go" in str(told)
