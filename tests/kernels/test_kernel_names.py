"""Kernels as expressions, as JSON, and as combinations of each other."""

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.base import clone

from partwise.kernels import (
    RBF,
    AnnotatedNGram,
    BagOfWords,
    ConvolutionTree,
    ExactNGram,
    FromFunction,
    Linear,
    NGram,
    Normalized,
    Pairwise,
    Polynomial,
    Precomputed,
    Product,
    Scaled,
    Spectrum,
    Sum,
    as_kernel,
    from_dict,
    parse_kernel,
)
from partwise.kernels.inputs import OBJECTS, POSITIONS, SEQUENCES, TREES, VECTORS

X = np.random.default_rng(0).normal(size=(12, 4))


def test_sums_products_and_multiples():
    one, other = RBF(0.5), Polynomial(2)
    a, b = one(X), other(X)
    np.testing.assert_allclose((one + other)(X), a + b)
    np.testing.assert_allclose((one * other)(X), a * b)
    np.testing.assert_allclose((3 * one)(X), 3 * a)
    np.testing.assert_allclose((one * 0.5 + other)(X, X[:3]), (0.5 * a + b)[:, :3])
    for kernel in (one + other, one * other, 3 * one, Normalized(other)):
        np.testing.assert_allclose(kernel.diag(X), np.diagonal(kernel(X)))
        bound = kernel.bind(X[:5], X)
        np.testing.assert_allclose(bound.column_diagonal(), kernel.diag(X))
        np.testing.assert_allclose(bound.row_diagonal(), kernel.diag(X[:5]))
        values = np.linalg.eigvalsh(kernel(X))
        assert values[0] > -1e-10 * values[-1]
        assert str(clone(kernel)) == str(kernel)


def test_normalised_kernels_have_unit_length():
    K = Normalized(Linear())(np.vstack([X, np.zeros(4)]))
    cosine = Pairwise("cosine")(X)
    np.testing.assert_allclose(K[:-1, :-1], cosine, atol=1e-15)
    assert not K[-1].any()
    again = Normalized(Normalized(Polynomial()))(X)
    np.testing.assert_allclose(again, Normalized(Polynomial())(X))


def test_what_does_not_go_together_is_refused():
    with pytest.raises(ValueError, match="sequences and vectors"):
        (NGram() + Linear()).bind(["a"])
    with pytest.raises(TypeError):
        NGram() + 1
    with pytest.raises(TypeError):
        NGram() * True
    with pytest.raises(ValueError, match="factor=-1: give a number above 0"):
        (Linear() * -1).bind(X)
    with pytest.raises(ValueError, match="is no kernel"):
        Normalized("linear").bind(X)


@pytest.mark.parametrize(
    ("text", "kernel"),
    [
        ("linear", Linear()),
        ("poly:degree=3,coef0=0.5,gamma=1e-3", Polynomial(3, 0.5, 1e-3)),
        (" rbf:gamma=2 ", RBF(2)),
        ("ngram:n=4,decay=0.7,column=form", NGram(4, 0.7, "form")),
        (
            "annotated:columns=form|upos,weights=1|0.5",
            AnnotatedNGram(columns=("form", "upos"), weights=(1, 0.5)),
        ),
        ("exact_ngram:n=2,decay=0.7", ExactNGram(2, 0.7)),
        ("spectrum:n=4,columns=form|upos", Spectrum(4, ("form", "upos"))),
        ("bow:degree=2,coef0=1", BagOfWords(degree=2, coef0=1)),
        ("tree:decay=0.3", ConvolutionTree(0.3)),
        ("laplacian:gamma=0.1", Pairwise("laplacian", gamma=0.1)),
        ("normalized(ngram)", Normalized(NGram())),
        ("ngram + bow", Sum(NGram(), BagOfWords())),
        ("0.5*ngram*bow", Scaled(Product(NGram(), BagOfWords()), 0.5)),
        (
            "linear*(rbf+2*poly)",
            Product(Linear(), Sum(RBF(), Scaled(Polynomial(), 2.0))),
        ),
    ],
)
def test_expressions(text, kernel):
    assert str(parse_kernel(text)) == str(kernel)
    assert str(as_kernel(text)) == str(kernel)
    document = json.loads(json.dumps(kernel.to_dict()))
    assert from_dict(document).to_dict() == document


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "missing at the end"),
        ("gauss", "no kernel 'gauss'; choose from linear, poly, rbf"),
        ("poly:power=2", "poly has no parameter 'power'; choose from degree, coef0"),
        ("linear:gamma=2", "choose from none"),
        ("poly:degree", "'degree' where name=value"),
        ("poly:degree=2,degree=3", "once each"),
        ("poly:degree=two", "degree='two': give a whole number"),
        ("poly:degree=2.5", "whole number"),
        ("rbf:gamma=nan", "gamma=nan"),
        ("rbf:gamma=-1", "gamma=-1"),
        ("normalized(ngram", "closing bracket"),
        ("ngram)", "does not belong there"),
        ("+ngram", "missing before '\\+'"),
        ("ngram +", "missing at the end"),
        ("2", "a number alone"),
        ("rbf @ rbf", "cannot read '@ rbf'"),
        ("ngram + linear", "sequences and vectors"),
        ("0*linear", "factor=0.0"),
        ("(" * 40 + "linear" + ")" * 40, "deeper than"),
        ("+".join(["linear"] * 40), "terms"),
        ("x" * 20_000, "20000 characters"),
    ],
)
def test_nonsense_is_explained(text, message):
    with pytest.raises(ValueError, match=message):
        parse_kernel(text)


@given(st.text("poly:degree=2,()+*|.normalized ngram", max_size=30))
def test_no_text_breaks_the_parser(text):
    try:
        parse_kernel(text)
    except ValueError as error:
        assert str(error)


def test_other_things_become_kernels_or_errors():
    assert isinstance(as_kernel(lambda x, y: 1.0), FromFunction)
    kernel = RBF()
    assert as_kernel(kernel) is kernel
    with pytest.raises(ValueError, match="is no kernel"):
        as_kernel(3)
    with pytest.raises(ValueError, match="gamma=0"):
        as_kernel(RBF(0))


def test_documents_keep_parameters_as_plain_numbers():
    kernel = Normalized(
        AnnotatedNGram(np.int64(3), np.float32(0.5), ["a", "b"], np.array([1.0, 2.0]))
    )
    document = kernel.to_dict()
    inner = document["params"]["kernel"]
    assert inner == {
        "kernel": "annotated.v1",
        "params": {"n": 3, "decay": 0.5, "columns": ["a", "b"], "weights": [1.0, 2.0]},
    }
    assert type(inner["params"]["n"]) is int
    text = json.dumps(document)
    assert str(from_dict(json.loads(text)).kernel.columns) == "('a', 'b')"


def test_matrices_and_functions_are_not_kept():
    assert Precomputed(np.eye(2)).to_dict() == {
        "kernel": "precomputed.v1",
        "params": {},
    }
    assert from_dict({"kernel": "precomputed.v1", "params": {}}).matrix is None
    with pytest.raises(ValueError, match="cannot be kept in a file"):
        FromFunction(max).to_dict()


@pytest.mark.parametrize(
    "document",
    [
        None,
        [],
        {},
        {"kernel": 3, "params": {}},
        {"kernel": "rbf", "params": {"gamma": 1.0}},
        {"kernel": "rbf.v1"},
        {"kernel": "rbf.v1", "params": []},
    ],
)
def test_what_is_no_document_is_refused(document):
    with pytest.raises(ValueError, match="damaged kernel"):
        from_dict(document)


@pytest.mark.parametrize(
    ("name", "params"),
    [
        ("rbf.v2", {"gamma": 1.0}),
        ("rbf.v1", {}),
        ("rbf.v1", {"gamma": "1"}),
        ("rbf.v1", {"gamma": True}),
        ("rbf.v1", {"gamma": float("inf")}),
        ("rbf.v1", {"gamma": -1.0}),
        ("rbf.v1", {"gamma": [1.0]}),
        ("rbf.v1", {"gamma": {"kernel": "linear.v1", "params": {}}}),
        ("rbf.v1", {"gamma": 1.0, "__init__": 2}),
        ("poly.v1", {"degree": 10**9, "coef0": 1.0, "gamma": 1.0}),
        ("ngram.v1", {"n": 10**6, "decay": 0.5, "column": None}),
        ("ngram.v1", {"n": 6, "decay": 0.5, "column": 5}),
        ("annotated.v1", {"n": 6, "decay": 0.5, "columns": [1], "weights": None}),
        ("annotated.v1", {"n": 6, "decay": 0.5, "columns": None, "weights": []}),
        ("normalized.v1", {"kernel": "linear"}),
        ("normalized.v1", {"kernel": None}),
        ("pairwise.v1", {"metric": [], "gamma": 1, "degree": 1, "coef0": 1}),
        ("bow.v1", {"columns": ["a"] * 2000, "weights": [], "degree": 1, "coef0": 0}),
    ],
)
def test_hostile_documents_are_refused(name, params):
    with pytest.raises(ValueError, match=r"damaged|give|choose|is no kernel"):
        from_dict({"kernel": name, "params": params})


def test_a_document_cannot_be_too_deep():
    document = {"kernel": "linear.v1", "params": {}}
    for _ in range(100):
        document = {"kernel": "normalized.v1", "params": {"kernel": document}}
    with pytest.raises(ValueError, match="too deep"):
        from_dict(document)


SAMPLES = [
    (SEQUENCES, NGram(), ["abc", "b"]),
    (SEQUENCES, AnnotatedNGram(), [[("a", "X")], [("b", "Y"), ("a", "Y")]]),
    (TREES, ConvolutionTree(), [("S", (("N", ("a",)),)), ("N", ("a",))]),
    (VECTORS, RBF(), X),
    (POSITIONS, Precomputed(X @ X.T), [3, 1]),
]


@pytest.mark.parametrize(("family", "kernel", "inputs"), SAMPLES)
def test_inputs_are_counted_selected_and_kept(family, kernel, inputs):
    assert kernel.input_family() is family
    assert (2 * Normalized(kernel) + kernel).input_family() is family
    assert family.count(inputs) == len(inputs)
    K = kernel(inputs)
    some = family.select(inputs, np.array([1, 0, 1]))
    np.testing.assert_allclose(kernel(some), K[[1, 0, 1]][:, [1, 0, 1]], rtol=1e-13)
    again = family.unpack(family.pack(inputs))
    assert np.array_equal(kernel(again), K)
    for array in family.pack(inputs).values():
        assert array.ndim == 1
        assert array.dtype in (np.int64, np.int32, np.uint8, np.float64)


def test_sequences_are_read_with_suspicion():
    packed = SEQUENCES.pack([[("a", "X")], [("b", "Y"), ("a", "Y")]])
    for damage in (
        {"codes": packed["codes"] + np.int32(5)},
        {"codes": packed["codes"][:-1]},
        {"values": np.array([2, 2**60])},
        {"values": np.array([-2, 6])},
        {"values": np.zeros(0, np.int64)},
        {"offset": np.zeros(0, np.int64)},
        {"offset": np.array([0, 0, 3])},
        {"text": packed["text"][:-1]},
    ):
        with pytest.raises(ValueError, match=r"damaged|no tokens|out of range|offsets"):
            SEQUENCES.unpack(packed | damage)


def test_inputs_of_functions_are_not_kept():
    with pytest.raises(ValueError, match="cannot be kept"):
        OBJECTS.pack([1])
    with pytest.raises(ValueError, match="cannot be read"):
        OBJECTS.unpack({})
