"""The generalised Hamming loss against its definition."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from partwise.structures.parts import PartLoss

parts = st.sets(st.integers(0, 7))


@given(parts, parts)
def test_count_form_is_the_size_of_the_symmetric_difference(y, y_hat):
    expected = len(y) + len(y_hat) - 2 * len(y & y_hat)
    assert PartLoss(normalized=False).loss(sorted(y), sorted(y_hat)) == expected


@given(parts, parts)
def test_normalised_form_divides_by_twice_the_size_of_the_truth(y, y_hat):
    count = PartLoss(normalized=False).loss(y, y_hat)
    loss = PartLoss().loss(y, y_hat)
    assert np.isclose(loss, count / (2 * len(y)) if y else len(y_hat) / 2)
    if 0 < len(y_hat) <= len(y):
        assert 0 <= loss <= 1


@given(parts, parts, st.booleans())
def test_terms_add_up_to_the_loss(y, y_hat, normalized):
    loss = PartLoss(normalized)
    addition, constant = loss.terms(y, n_parts=8)
    assert np.isclose(constant + addition[sorted(y_hat)].sum(), loss.loss(y, y_hat))


@given(parts.filter(bool))
def test_terms_are_those_of_equation_4_21(y):
    addition, constant = PartLoss().terms(y, n_parts=8)
    for part in range(8):
        assert np.isclose(addition[part], (0.5 - (part in y)) / len(y))
    assert constant == 0.5


@given(parts, st.booleans())
def test_truth_costs_nothing_to_the_last_bit(y, normalized):
    assert PartLoss(normalized).loss(np.array(sorted(y), int), list(y)) == 0.0


def test_repeated_parts_count_once():
    assert PartLoss(normalized=False).loss([1, 1, 2], [2]) == 1.0


def test_is_cloneable():
    params = {"normalized": False, "similarity": None, "graded": "wrong"}
    assert PartLoss(**params).get_params() == params
