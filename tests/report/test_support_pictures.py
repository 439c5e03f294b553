"""Support structures are drawn where they differ from the truth."""

import re
from xml.etree import ElementTree

import numpy as np
import pytest

from partwise.features import DenseFeatures
from partwise.outputs.sequence.model import SequenceModel
from partwise.outputs.support import SupportSet
from partwise.protocol import Cuts
from partwise.report import Report, render
from partwise.report.support import draw_support, support_fact, support_pictures
from partwise.structures.chain import Chain


def texts(drawn):
    return [node.text for node in ElementTree.fromstring(drawn)]


def test_only_differences_are_shown():
    tokens, truth = ["El", "PP", "<ya>"], ["N", "O", "N"]
    outputs = [(["N", "M", "N"], 0.5), (["N", "O", "o"], 0.25)]
    shown = texts(draw_support(tokens, truth, outputs))
    assert shown == ["El", "N", "PP", "O", "M", "<ya>", "N", "o", "α = 0.5", "α = 0.25"]


def test_every_token_needs_a_label():
    with pytest.raises(ValueError, match="zip"):
        draw_support(["a", "b"], ["N"], [])


@pytest.fixture
def model():
    offset = np.array([0, 2, 5])
    features = DenseFeatures(np.zeros((5, 1)), offset)
    block = np.array([0, 1, 1])
    code = np.array([1, 0, 0, 0, 1, 1, 1, 1], np.int32)
    indptr = np.array([0, 2, 5, 8])
    one = np.ones(3)
    cuts = Cuts(block, one, one, one, one, indptr, code)
    y = np.array([0, 0, 0, 0, 0])
    tokens = [["a", "b"], ["c", "d", "e"]]
    rows, alpha = np.array([4, 7]), np.array([0.3, 0.1, 0.4])
    support = SupportSet(features, y, cuts, alpha, rows, tokens)
    chain = Chain(2)
    return SequenceModel(
        None, chain, ["N", "P"], np.zeros(chain.n_weights(1)), {}, support
    )


def test_the_heaviest_sentences_come_first(model):
    pictures = support_pictures(model)
    assert [p.caption for p in pictures] == [
        "Training sequence 7: 2 support structures among 8 outputs",
        "Training sequence 4: one support structure among 4 outputs",
    ]
    assert texts(pictures[0].image)[-2:] == ["α = 0.4", "α = 0.1"]
    (first,) = support_pictures(model, 1, 1)
    assert "the 1 heaviest shown" in first.caption
    page = render(Report("Names", pictures=pictures))
    assert re.search(r"<text[^>]*>α = 0\.4</text>", page)


def test_a_model_without_dual_has_none(model):
    assert support_fact(model, 9) == [("Examples without support structures", "7")]
    model.support = None
    assert support_pictures(model) == []
    assert support_fact(model, 9) == []
