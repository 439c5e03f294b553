import io

import numpy as np
import pytest

from partwise.datasets import toy_homologues
from partwise.readers import (
    CandidateLists,
    FastaRecord,
    ReaderError,
    named_sequences,
    read_homologues,
    write_fasta,
)
from partwise.readers.annotations import annotated, read_alignments

KNOWN = {"q": "MKV", "h": "MV", "d": "VM"}
HEADER = b"query\tcandidate\tmatch\tquery_row\tcandidate_row\n"


def lists_of(n, seed=0):
    X, y = toy_homologues(n, seed, n_decoys=3)
    names = [(f"q{i}", [f"q{i}.{k}" for k in range(4)]) for i in range(n)]
    return CandidateLists(X, y, names)


def test_what_was_written_is_read_again(tmp_path):
    lists = lists_of(5)
    letters = {}
    for (query, others), (a, texts) in zip(lists.names, lists.X, strict=True):
        letters |= {query: a, **dict(zip(others, texts, strict=True))}
    lists.write(tmp_path / "x.tsv", [[one] for one in lists.y])
    again = read_homologues(tmp_path / "x.tsv", letters)
    for k, (a, texts) in enumerate(lists.X):
        chosen, pairs = again.y[k]
        assert chosen == 0  # the best stands first
        assert again.X[k][0] == a and again.X[k][1][0] == texts[lists.y[k][0]]
        assert sorted(again.X[k][1]) == sorted(texts)
        np.testing.assert_array_equal(pairs, lists.y[k][1])
    assert (
        again.describe() == "5 queries with 20 candidates, 5 homologues with alignment"
    )


def test_alignments_may_be_unknown_and_truth_absent():
    table = b"query\tcandidate\tmatch\nq\td\t0\nq\th\t1\n"
    lists = read_homologues(io.BytesIO(table), KNOWN)
    assert lists.y == [1] and lists.reference() == [(1, None)]
    lists = read_homologues(io.BytesIO(HEADER + b"q\td\t0\t\t\nq\th\t1\t\t\n"), KNOWN)
    assert lists.y == [1]
    table = io.BytesIO(b"query\tcandidate\nq\td\nq\th\n")
    lists = read_homologues(table, KNOWN, truth=False)
    assert lists.X == [("MKV", ["VM", "MV"])] and lists.y == []


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (b"", ":1: the first line must name"),
        (b"query\tcandidate\nq\th\n", ":1: the first line must name"),
        (b"query\tcandidate\tmatch\trow\n", ":1: the first line must name"),
        (HEADER, "header without lines"),
        (HEADER + b"q\th\t1\n", ":2: 3 cells where the header has 5"),
        (HEADER + b"q\tx\t1\t\t\n", ":2: no sequence 'x'"),
        (HEADER + b"q\th\t2\t\t\n", ":2: match '2': give 0 or 1"),
        (HEADER + b"q\th\t1\t\t\nq\th\t0\t\t\n", ":3: the candidate stands twice"),
        (HEADER + b"q\th\t1\t\t\nq\td\t1\t\t\n", ":3: .* second homologue"),
        (HEADER + b"q\td\t0\tMKV\t-VM\n", ":2: an alignment of a decoy"),
        (HEADER + b"q\th\t1\tMKV\tMM-\n", ":2: candidate_row is of another"),
        (HEADER + b"q\th\t1\tMKV\t\n", ":2: candidate_row is of another"),
        (HEADER + b"q\th\t1\tMKV\tMV\n", ":2: rows of 3 and 2 columns"),
        (HEADER + b"q\th\t1\tMKV\tM-V\n", ":2: 'q' has no decoy"),
        (HEADER + b"q\th\t0\t\t\nq\td\t0\t\t\n", ":2: 'q' has no homologue"),
    ],
)
def test_bad_tables_are_refused(text, message):
    with pytest.raises(ReaderError, match=message):
        read_homologues(io.BytesIO(text), KNOWN)


def test_names_of_sequences(tmp_path):
    (tmp_path / "x.fa").write_text(
        "# family f\n>a\nMK-\n>b\nMKV\n# family g\n>a\nVV\n>b\nMKV\n", encoding="utf-8"
    )
    write_fasta(tmp_path / "y.fa", [FastaRecord("c", "AA"), FastaRecord("b", "MKV")])
    known = named_sequences([tmp_path / "x.fa", tmp_path / "y.fa"])
    assert known == {
        "f/a": "MK", "f/b": "MKV", "b": "MKV", "g/a": "VV", "g/b": "MKV", "c": "AA",
    }  # fmt: skip


def test_lists_with_annotations_and_a_limit(tmp_path):
    (tmp_path / "x.fa").write_text(
        ">q\nMKV\n>h\nMV\n>d\nVM\n>long\nMKVMKV\n", encoding="utf-8"
    )
    (tmp_path / "l.tsv").write_text(
        "query\tcandidate\tmatch\nq\th\t1\nq\td\t0\nlong\th\t1\nlong\td\t0\n",
        encoding="utf-8",
    )
    paths = [str(tmp_path / "x.fa"), str(tmp_path / "l.tsv")]
    X, lists = read_alignments(paths, {}, max_length=3)
    assert X == [("MKV", ["MV", "VM"])] and lists.y == [0]
    columns = {
        name: {"residue": list(text), "s": ["x"] * len(text)}
        for name, text in KNOWN.items()
    }
    ((a, others),) = annotated(lists, columns)
    assert a is columns["q"] and others[1] is columns["d"]
    with pytest.raises(ReaderError, match="no annotations of 'd'"):
        annotated(lists, {k: v for k, v in columns.items() if k != "d"})
    with pytest.raises(ReaderError, match="raise --max-length"):
        read_alignments(paths, {}, max_length=2)
