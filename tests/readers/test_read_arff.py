import io

import numpy as np
import pytest

from partwise.readers import ReaderError, read_arff, read_parents

DENSE = """% a comment
@RELATION birds
@ATTRIBUTE 'wing span' NUMERIC
@attribute colour {red, 'dark blue', "gr\\"ey"}
@ATTRIBUTE class {duck,hen}

@DATA
1.5, red, duck
% another
-2e1,'dark blue',hen
0,?,hen
"""

SPARSE = """@relation mails
@attribute w0 numeric
@attribute w1 numeric
@attribute class hierarchical 1,1/1,1/2,2
@attribute w2 numeric
@data
{0 1, 2 1/1@2, 3 0.5}
{2 1@1/2}
{1 3,2 1/1@1/2@1}
"""


def read(text, **options):
    return read_arff(io.BytesIO(text.encode()), **options)


def test_dense_rows_with_nominal_columns():
    data = read(DENSE)
    assert data.names[:3] == ["wing span", "colour=red", "colour=dark blue"]
    expected = [[1.5, 1, 0, 0], [-20, 0, 1, 0], [0, 0, 0, 0]]
    np.testing.assert_array_equal(data.X, expected)
    assert data.y.tolist() == ["duck", "hen", "hen"]
    assert data.parents is None
    named = read(DENSE.replace(",?,", ",red,"), label="colour")
    assert named.y.tolist() == ["red", "dark blue", "red"]
    assert named.names == ["wing span", "class=duck", "class=hen"]


def test_sparse_rows_with_several_labels():
    data = read(SPARSE)
    np.testing.assert_array_equal(data.X.toarray(), [[1, 0, 0.5], [0, 0, 0], [0, 3, 0]])
    assert list(data.y) == [["1/1", "2"], ["1/2"], ["1/1", "1/2"]]
    assert data.parents == {"1": (), "1/1": ("1",), "1/2": ("1",), "2": ()}


def test_what_sparse_rows_leave_out():
    text = "@attribute c {p,q}\n@attribute k {u,v}\n@data\n{1 v}\n{0 q}\nq,v\n"
    data = read(text)
    np.testing.assert_array_equal(data.X.toarray(), [[1, 0], [0, 1], [0, 1]])
    assert data.y.tolist() == ["v", "u", "v"]


def test_pairs_make_a_lattice():
    text = (
        "@relation go\n@attribute x numeric\n"
        "@attribute class hierarchical root/a,root/b,a/c,b/c,c/d\n@data\n1,c@d\n2,b\n"
    )
    data = read(text)
    assert data.parents == {"a": (), "b": (), "c": ("a", "b"), "d": ("c",)}
    assert data.y.tolist() == ["d", "b"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (DENSE.replace("-2e1", "x"), "<file>:10: 'x' is no number in column 'wing"),
        (DENSE.replace("-2e1", "?"), "fill it in"),
        (DENSE.replace(" red, duck", " red"), ":8: 2 cells where there are 3 columns"),
        (DENSE.replace("red, duck", "pink, duck"), "'pink' is no value of column"),
        (DENSE.replace("NUMERIC", "date"), ":3: a column of type 'date'"),
        (DENSE.replace("@ATTRIBUTE class", "class"), "is no @attribute"),
        (DENSE[: DENSE.index("1.5")], "no row after @data"),
        ("@relation a\n", "no line @data"),
        ("@relation a\n@data\n", "no @attribute before"),
        (SPARSE.replace("{1 3", "{9 3"), "'9 3' is no `column value`"),
        (SPARSE.replace("2 1@1/2", "2 7"), "the label '7' is no node"),
    ],
)
def test_faults_are_named(text, message):
    with pytest.raises(ReaderError) as caught:
        read(text)
    assert message in str(caught.value)
    with pytest.raises(ReaderError, match="no column 'z'"):
        read(DENSE, label="z")


def test_tables_of_parents():
    table = read_parents(io.BytesIO(b"# node, parent\na\tx\na\ty\n\nx\n"))
    assert table == {"a": ("x", "y"), "x": ()}
    for text in (b"a\tb\tc\n", b"\tb\n"):
        with pytest.raises(ReaderError, match=":1: write"):
            read_parents(io.BytesIO(text))
    with pytest.raises(ReaderError, match="no node"):
        read_parents(io.BytesIO(b"\n"))
