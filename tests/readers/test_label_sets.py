import io

import numpy as np
import pytest

from partwise.readers import ReaderError, read_label_sets
from partwise.readers.label_sets import label_columns


def test_svmlight_lines():
    text = b"# head\n2,10 1:0.5 3:2\n\n1:1 # no label\n 2:1\n10 4:1\n"
    data = read_label_sets(io.BytesIO(text))
    assert data.labels == ["2", "10"]
    assert data.y.tolist() == [[1, 1], [0, 0], [0, 0], [0, 1]]
    assert data.X.shape == (4, 5)
    with pytest.raises(ReaderError, match=r":2: 'x:1' has no place"):
        read_label_sets(io.BytesIO(b"1 1:1\n1 x:1\n"))
    with pytest.raises(ReaderError, match=r":1: 'qid:1' has no place"):
        read_label_sets(io.BytesIO(b"1 qid:1 1:1\n"))
    with pytest.raises(ReaderError, match="give a file with examples"):
        read_label_sets(io.BytesIO(b"# nothing\n"))


def test_columns(tmp_path):
    names = ["x", "a", "y", "b"]
    assert label_columns("f", names, "b,a") == [1, 3]
    assert label_columns("f", names, "1,-1") == [1, 3]
    assert label_columns("f", names, "2:") == [2, 3]
    assert label_columns("f", names, None) == []
    (tmp_path / "l.xml").write_text("<labels><label name='b'/><label name=\"a\"/>")
    assert label_columns("f", names, str(tmp_path / "l.xml")) == [1, 3]
    for wrong in ("z", "9", "a:b"):
        with pytest.raises(ReaderError, match="no column"):
            label_columns("f", names, wrong)
    (tmp_path / "l.xml").write_text("<labels>")
    with pytest.raises(ReaderError, match="no <label"):
        label_columns("f", names, str(tmp_path / "l.xml"))


def test_tables(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("x,a,y,b\n1.5,1,2,0\n3,0,4,1\n")
    data = read_label_sets(path, "a,b")
    assert data.names == ["x", "y"] and data.labels == ["a", "b"]
    np.testing.assert_array_equal(data.X, [[1.5, 2], [3, 4]])
    np.testing.assert_array_equal(data.y, [[1, 0], [0, 1]])
    assert read_label_sets(path, "a,b", width=4).labels == []
    with pytest.raises(ReaderError, match=r"label 'x' is '1.5' in row 1"):
        read_label_sets(path, "x")


def test_sparse_arff(tmp_path):
    path = tmp_path / "t.arff"
    head = "@relation r\n@attribute w0 numeric\n@attribute w1 numeric\n"
    labels = "@attribute a {0,1}\n@attribute b {0,1}\n@data\n"
    path.write_text(head + labels + "{0 1.5,2 1}\n{1 2}\n{3 1}\n")
    data = read_label_sets(path, "a,b")
    assert data.names == ["w0", "w1"] and data.labels == ["a", "b"]
    np.testing.assert_array_equal(data.X.toarray(), [[1.5, 0], [0, 2], [0, 0]])
    np.testing.assert_array_equal(data.y, [[1, 0], [0, 0], [0, 1]])
