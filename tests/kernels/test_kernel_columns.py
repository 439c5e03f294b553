"""Which columns of a table a kernel compares."""

import numpy as np
import pytest

from partwise.kernels import (
    AnnotatedNGram,
    BagOfWords,
    ConvolutionTree,
    FromFunction,
    Kernel,
    Linear,
    NGram,
    Normalized,
    Pairwise,
    Precomputed,
)
from partwise.kernels.inputs import SEQUENCES
from partwise.readers.table import Table

NAMES = ["id", "form", "lemma", "upos", "feats"]
USUAL = ("form", "lemma", "upos", "xpos")
TABLE = Table.from_sequences(
    [
        [("1", "cats", "cat", "N", "pl"), ("2", "sleep", "sleep", "V", "_")],
        [("1", "a", "a", "D", "_"), ("2", "cat", "cat", "N", "sg")],
        [("1", "sleep", "sleep", "V", "sg")],
    ],
    NAMES,
)


@pytest.mark.parametrize(
    ("kernel", "all_usual", "some_usual"),
    [
        (NGram(), ["id"], ["form"]),
        (NGram(column="upos"), ["upos"], ["upos"]),
        (BagOfWords(), ["id"], ["form"]),
        (BagOfWords("feats"), ["feats"], ["feats"]),
        (BagOfWords(["upos", "form"]), ["form", "upos"], ["form", "upos"]),
        (AnnotatedNGram(), NAMES, ["form", "lemma", "upos"]),
        (AnnotatedNGram(columns=("upos", "id")), ["id", "upos"], ["upos", "id"]),
        (FromFunction(max), NAMES, NAMES),
        (2 * Normalized(NGram()), ["id"], ["form"]),
        (NGram() + BagOfWords(["lemma"]), ["id", "lemma"], ["form", "lemma"]),
        (BagOfWords(["id"]) * NGram(), ["id"], ["form", "id"]),
        (NGram(column="feats") + NGram(column="id"), ["id", "feats"], ["id", "feats"]),
        (FromFunction(max) + FromFunction(min), NAMES, NAMES),
        (Linear(), [], []),
        (Pairwise("chi2") + Linear(), [], []),
        (ConvolutionTree(), [], []),
        (Precomputed(np.eye(2)), [], []),
    ],
    ids=str,
)
def test_columns_that_are_compared(kernel, all_usual, some_usual):
    assert kernel.columns_of(NAMES) == all_usual
    assert kernel.columns_of(TABLE.columns, USUAL) == some_usual


def test_the_first_column_stays_the_first():
    kernel = NGram() + BagOfWords(columns=("x",))
    assert kernel.columns_of(["word", "x", "y"]) == ["word", "x"]
    assert kernel.columns_of(["x", "word"], ["word"]) == ["word", "x"]
    assert kernel.columns_of(["x", "word"]) == ["x"]


def test_without_any_usual_column_the_first_is_one():
    assert NGram().columns_of({"word": 0, "pos": 1}, USUAL) == ["word"]
    assert AnnotatedNGram().columns_of(["word", "pos"], USUAL) == ["word"]
    assert BagOfWords("pos").columns_of(["word", "pos"], USUAL) == ["pos"]


@pytest.mark.parametrize(
    "kernel",
    [
        NGram(column="nothing"),
        BagOfWords(("form", "nothing")),
        0.5 * NGram() + Normalized(AnnotatedNGram(columns=["nothing"])),
    ],
    ids=str,
)
def test_a_missing_column_is_named(kernel):
    message = "kernel= compares a column 'nothing'; there are id, form, lemma"
    with pytest.raises(ValueError, match=message):
        kernel.columns_of(NAMES)
    with pytest.raises(ValueError, match=message):
        kernel.columns_of(NAMES, USUAL)


def test_a_kernel_of_ones_own_may_look_at_any_column():
    class Own(Kernel):
        inputs = SEQUENCES

        def bind(self, X, Y=None):
            raise NotImplementedError

    assert (Own() + NGram()).columns_of(NAMES) == NAMES
    assert Own().with_columns(NAMES).columns_of(NAMES) == NAMES


KERNELS = [
    NGram(2),
    BagOfWords(degree=2, coef0=1.0),
    AnnotatedNGram(2, weights=(1.0, 0.5, 0.25)),
    NGram(2) + BagOfWords(("id",)),
    Normalized(AnnotatedNGram(2, columns=("feats", "form"), weights=(1.0, 3.0))),
    BagOfWords(("feats",)) * (2 * Normalized(BagOfWords())),
]


@pytest.mark.parametrize("kernel", KERNELS, ids=str)
def test_values_are_those_of_the_usual_columns(kernel):
    table = TABLE.select(kernel.columns_of(TABLE.columns, USUAL))
    named = kernel.with_columns(TABLE.columns, USUAL)
    assert np.array_equal(kernel(table), named(TABLE))
    assert named.columns_of(NAMES, USUAL) == list(table.columns)
    assert "None" not in str(named).replace("weights=None", "")


def test_names_keep_a_kernel_on_all_columns_to_the_usual_ones():
    both = AnnotatedNGram(2) + NGram(2, column="feats")
    named = both.with_columns(NAMES, USUAL)
    assert named.left.columns == ("form", "lemma", "upos")
    usual = TABLE.select(["form", "lemma", "upos"])
    wanted = AnnotatedNGram(2)(usual) + NGram(2, column="feats")(TABLE)
    narrow = TABLE.select(both.columns_of(NAMES, USUAL))
    assert np.array_equal(named(narrow), wanted)
    # without names, the column of the other kernel is one more to compare
    assert not np.array_equal(both(narrow), wanted)


def test_what_is_named_stays_as_it_is():
    for kernel in (NGram(column="form"), BagOfWords("form"), FromFunction(max)):
        assert kernel.with_columns(NAMES, USUAL) is kernel
    scaled = (0.5 * NGram()).with_columns(NAMES)
    assert scaled.factor == 0.5
    assert scaled.kernel.column == "id"
