"""Arrays as features, and the choice of a featurizer."""

import numpy as np
import pytest
import scipy.sparse as sp

from partwise.features import (
    ArrayFeaturizer,
    DenseFeatures,
    DictFeaturizer,
    Features,
    Featurizer,
    as_features,
    featurizer_from_state,
    make_featurizer,
)
from partwise.readers import Table

A = np.array([[0.0, 2.0, 0.0], [1.0, 0.0, 3.0]])
B = np.array([[0.0, 0.0, 5.0]])


def test_dense_arrays_are_stacked():
    features = as_features([A, B])
    assert isinstance(features, DenseFeatures)
    assert np.array_equal(features.X, np.vstack([A, B]))
    assert features.offset.tolist() == [0, 2, 3]
    assert features.n_features == 3
    assert as_features(np.zeros((2, 4, 3), np.int8)).X.dtype == np.float64
    assert as_features([A.tolist()]).X.flags.c_contiguous


@pytest.mark.parametrize("kind", [sp.csr_array, sp.csr_matrix, sp.coo_array])
def test_sparse_matrices_are_stacked(kind):
    features = as_features([kind(A), kind(B)])
    assert isinstance(features, Features)
    matrix = sp.csr_array(
        (features.data, features.indices, features.indptr), shape=(3, 3)
    )
    assert np.array_equal(matrix.toarray(), np.vstack([A, B]))
    assert features.offset.tolist() == [0, 2, 3]
    assert [a.dtype for a in features[:4]] == [np.int64, np.int32, np.float64, np.int64]
    assert all(a.flags.c_contiguous and a.flags.writeable for a in features[:4])
    assert as_features([kind(A > 0)]).data.tolist() == [1.0]


def broken_csr():
    matrix = sp.csr_array(A)
    matrix.indices[0] = 77
    return matrix


@pytest.mark.parametrize(
    ("X", "message"),
    [
        ([], "no sequences"),
        ([A, A[:0]], "sequence 1 has no tokens; leave it out"),
        ([A, A[:, :2]], "sequence 1 has 2 features where sequence 0 has 3"),
        (
            [A, A * np.nan],
            "sequence 1: NaN, infinity or a number beyond ±1e+30",
        ),
        ([A, np.zeros(3)], "sequence 1 has shape (3,); it needs (tokens, features)"),
        ([A, [["a", "b", "c"]]], "sequence 1 is no matrix"),
        ([A, sp.csr_array(A)], "sequence 1 is sparse, sequence 0 dense; use one kind"),
        ([sp.csr_array(A), A], "sequence 1 is dense, sequence 0 sparse; use one kind"),
        ([sp.csr_array(np.where(A, np.inf, 0))], "sequence 0: NaN, infinity"),
        ([sp.csr_array(A * 1j)], "sequence 0 holds complex128; it needs real numbers"),
        ([sp.csr_array(A), sp.csr_array((0, 3))], "sequence 1 has no tokens"),
        ([sp.csr_array(A), sp.csr_array((2, 4))], "sequence 1 has 4 features where"),
        ([broken_csr()], "sequence 0: a column out of range; build the sparse"),
    ],
)
def test_errors_name_the_sequence(X, message):
    with pytest.raises(ValueError) as error:
        as_features(X)
    assert message in str(error.value)


def test_array_featurizer_keeps_the_width():
    featurizer = ArrayFeaturizer().fit([A])
    assert featurizer.feature_names_ == ["x0", "x1", "x2"]
    again = featurizer_from_state(*featurizer.state())
    assert np.array_equal(again.transform([B]).X, B)
    with pytest.raises(
        ValueError, match="2 features where the featurizer was fitted on"
    ):
        again.transform([A[:, :2]])
    with pytest.raises(ValueError, match="not the state of a featurizer of arrays"):
        ArrayFeaturizer.from_state({"kind": "arrays.v1", "n_features": "3"}, {})


@pytest.mark.parametrize(
    ("X", "kind"),
    [
        (Table.from_sequences([["a"]]), Featurizer),
        (list(Table.from_sequences([["a"], ["b"]])), Featurizer),
        ([["a", "b"]], Featurizer),
        ([[("a", "DT")]], Featurizer),
        ([np.array(["a", "b"])], Featurizer),
        ([[{"w": "a"}]], DictFeaturizer),
        ([[["w=a", "caps"]]], DictFeaturizer),
        ([[{"w=a", "caps"}]], DictFeaturizer),
        ([A, B], ArrayFeaturizer),
        ([A.tolist()], ArrayFeaturizer),
        ([sp.csr_array(A)], ArrayFeaturizer),
        (np.zeros((2, 2, 2)), ArrayFeaturizer),
    ],
)
def test_the_token_chooses_the_featurizer(X, kind):
    featurizer = make_featurizer(X)
    assert type(featurizer) is kind
    features = featurizer.fit_transform(X)
    assert featurizer.n_features_ == features.n_features
    assert len(featurizer.feature_names_) == features.n_features


def test_default_templates_follow_the_columns():
    tagged = make_featurizer([[("a", "DT")]]).fit([[("a", "DT")]])
    assert "pos[-1]|pos[0]=<s>|DT" in tagged.feature_names_
    table = Table.from_sequences([["x"]], ["letter"])
    assert [str(t) for t in make_featurizer(table).templates] == [
        f"letter[{i}]" for i in range(-2, 3)
    ]
    assert len(make_featurizer(table, "letter").templates) == 1
    assert make_featurizer(table, hash_bits=5).n_features_ == 32
    assert make_featurizer([[{"w": "a"}]], min_count=2).min_count == 2


@pytest.mark.parametrize(
    ("X", "options", "error", "message"),
    [
        (3, {}, TypeError, "X is of type int; give a Table or a list of sequences"),
        ("text", {}, TypeError, "X is of type str; give a Table"),
        ([], {}, ValueError, "no sequences"),
        ([[]], {}, ValueError, "sequence 0 has no tokens"),
        (["text"], {}, TypeError, "sequence 0 is of type str; give a list of tokens"),
        ([3], {}, TypeError, "sequence 0 is of type int"),
        ([[3]], {}, TypeError, "the first token is 3, of type int; tokens are strings"),
        (
            [[{"w": "a"}]],
            {"templates": "w"},
            ValueError,
            "templates= need columns, but",
        ),
        ([A], {"templates": "w"}, ValueError, "the tokens are arrays; give a Table"),
        ([A], {"hash_bits": 4}, ValueError, "need named features, not arrays"),
        ([A], {"min_count": 2}, ValueError, "need named features, not arrays"),
    ],
)
def test_what_fits_no_featurizer_is_refused(X, options, error, message):
    with pytest.raises(error) as caught:
        make_featurizer(X, **options)
    assert message in str(caught.value)


def test_unknown_state():
    with pytest.raises(ValueError, match="unknown kind None"):
        featurizer_from_state({}, {})
