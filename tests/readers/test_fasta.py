import gzip
import io

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from partwise.readers import (
    Family,
    FastaRecord,
    ReaderError,
    aligned_pairs,
    read_annotations,
    read_families,
    read_fasta,
    read_matrix,
    write_annotations,
    write_families,
    write_fasta,
    write_matrix,
)
from partwise.readers.annotations import annotated
from partwise.readers.fasta import aligned_rows
from partwise.readers.substitution import SubstitutionMatrix

TWO = b"""; a comment
# family one
>a first row
MK-V
>b
M-RV
>=core
1001

# family two
>a
AC
>b
A-
>c
-C
"""


def read(text):
    return read_families(io.BytesIO(text))


def test_families_with_cores():
    one, two = read(TWO)
    assert one.name == "one" and one.records[0] == FastaRecord("a", "MK-V")
    assert one.core.tolist() == [True, False, False, True] and two.core is None
    pairs = aligned_pairs([one, two])
    assert pairs.X == [("MKV", "MRV"), ("AC", "A"), ("AC", "C"), ("A", "C")]
    assert [y.tolist() for y in pairs.y] == [[[0, 0], [2, 2]], [[0, 0]], [[1, 0]], []]
    assert [c.tolist() for c in pairs.core] == [[True, True], [True], [True], []]
    assert pairs.names[3] == ("two", "b", "c")
    assert pairs.X[1][0] is pairs.X[2][0]  # one object, which structures pack once
    assert len(aligned_pairs([one, two], max_length=2).X) == 3


def test_small_letters_lie_outside_the_core():
    (family,) = read(b">a\nMkV\n>b\nM.V\n>c\nmAV\n")
    assert family.core.tolist() == [False, False, True]
    assert [record.sequence for record in family.records] == ["MKV", "M-V", "MAV"]
    (plain,) = read(b">a\nmk\n>b\nmk\n")
    assert plain.core is None and plain.records[0].sequence == "MK"


def test_files_written_are_read_again(tmp_path):
    families = read(TWO)
    write_families(tmp_path / "x.afa.gz", families)
    assert gzip.open(tmp_path / "x.afa.gz").read()
    again = read_families(tmp_path / "x.afa.gz")
    assert [f[:2] for f in again] == [f[:2] for f in families]
    assert np.array_equal(again[0].core, families[0].core)
    long = FastaRecord("x", "ACDE" * 50)
    write_fasta(tmp_path / "x.fa", [long])
    assert read_fasta(tmp_path / "x.fa") == [long]
    assert max(map(len, (tmp_path / "x.fa").read_text().splitlines())) == 60


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (b"", "no sequence"),
        (b"MKV\n", ":1: 'MKV' before the first `>name`"),
        (b">a\n>b\nMK\n", ":1: sequence 'a' is empty"),
        (b">\nMK\n", ":1: no name"),
        (b">a\nM1K\n", ":2: 'M1K' is no sequence"),
        (b"# family x\n# family y\n>a\nM\n", ":1: family 'x' has no sequences"),
        (b">a\nMK\n>b\nMK\n>=core\n1x\n", ":5: the row =core needs 0 or 1"),
        (b">a\nMK\n>b\nMK\n>=core\n1\n", "each of the 2 columns"),
        (b">a\nM\xff\n", ":2: not UTF-8"),
    ],
)
def test_bad_files_are_refused_with_their_line(text, message):
    with pytest.raises(ReaderError, match=message.replace("(", r"\(")):
        read(text)


def test_families_that_cannot_be_aligned_are_refused():
    with pytest.raises(ReaderError, match="one sequence"):
        aligned_pairs(read(b">a\nMK\n"))
    ragged = read(b">a\nMK\n>b\nMKV\n")
    with pytest.raises(ReaderError, match="different lengths"):
        aligned_pairs(ragged)
    assert aligned_pairs(ragged, truth=False).X == [("MK", "MKV")]
    with pytest.raises(ReaderError, match="'b' has no letters"):
        aligned_pairs(read(b">a\nMK\n>b\n--\n"))


@st.composite
def alignments(draw):
    a = draw(st.text("ACDE", min_size=1, max_size=6))
    b = draw(st.text("ACDE", min_size=1, max_size=6))
    k = draw(st.integers(0, min(len(a), len(b))))
    rows = sorted(draw(st.permutations(range(len(a))))[:k])
    columns = sorted(draw(st.permutations(range(len(b))))[:k])
    return a, b, list(zip(rows, columns, strict=True))


@given(alignments())
def test_rows_with_gaps_have_the_same_pairs(drawn):
    a, b, pairs = drawn
    rows = aligned_rows(a, b, pairs)
    family = Family("f", [FastaRecord(*r) for r in zip("ab", rows, strict=True)])
    actual = aligned_pairs([family])
    assert actual.X == [(a, b)] and actual.y[0].tolist() == [list(p) for p in pairs]


def test_annotations(tmp_path):
    columns = {"s1": {"residue": ["M", "K"], "structure": ["H", "E"]}}
    write_annotations(tmp_path / "x.tsv", columns)
    assert read_annotations(tmp_path / "x.tsv") == columns
    pairs = aligned_pairs(read(b"# family f\n>s1\nMK\n>s2\nMK\n"))
    with pytest.raises(ReaderError, match="no annotations of 'f/s2'"):
        annotated(pairs, columns)
    ((a, b),) = annotated(pairs, columns | {"f/s2": columns["s1"]})
    assert a["structure"] == b["structure"] == ["H", "E"]
    wrong = {"residue": ["M", "M"]}
    with pytest.raises(ReaderError, match="another sequence"):
        annotated(pairs, columns | {"s2": wrong})
    assert annotated(pairs, {}) is pairs.X


def test_columns_of_numbers_are_read_as_written(tmp_path):
    profile = np.array([[0.1, -2.0], [1e-7, 3.0]])
    columns = {"s1": {"residue": ["M", "K"], "profile": profile}}
    columns["s1"]["depth"] = np.array([0.5, 1 / 3])
    write_annotations(tmp_path / "x.tsv", columns)
    text = (tmp_path / "x.tsv").read_text(encoding="utf-8")
    assert text.startswith("name\tresidue\tprofile:real\tdepth:real\n")
    again = read_annotations(tmp_path / "x.tsv")["s1"]
    assert again["residue"] == ["M", "K"]
    np.testing.assert_array_equal(again["profile"], profile)
    np.testing.assert_array_equal(again["depth"], [[0.5], [1 / 3]])


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (b"name\tresidue\tp:real\ns\tM\tx\n", ":2: p: 'x': give finite numbers"),
        (b"name\tresidue\tp:real\ns\tM\t\n", ":2: p: '': give finite numbers"),
        (b"name\tresidue\tp:real\ns\tM\tnan\n", ":2: p: 'nan': give finite"),
        (
            b"name\tresidue\tp:real\ns\tM\t1 2\nz\tM\t1\n",
            ":3: p: 1 numbers where the lines before have 2",
        ),
        (b"name\tresidue:real\n", ":1: the second column has the letters"),
        (b"name\tresidue\tp\tp:real\n", ":1: .*different names"),
        (b"", ":1: no header"),
        (b"name\n", ":1: no header"),
        (b"name\tresidue\tresidue\n", ":1: no header"),
        (b"name\tresidue\n", "header without lines"),
        (b"name\tresidue\ns\tM\tK\n", ":2: 3 cells where the header has 2"),
    ],
)
def test_bad_annotations_are_refused(text, message):
    with pytest.raises(ReaderError, match=message):
        read_annotations(io.BytesIO(text))


# ------------------------------------------------------------------------- matrices


def test_matrix_is_read_again(tmp_path):
    scores = np.random.default_rng(0).normal(size=(3, 3)).round(4)
    matrix = SubstitutionMatrix("ARN", "ARN", scores)
    write_matrix(tmp_path / "m", matrix, "learned\nby a test")
    again = read_matrix(tmp_path / "m")
    assert again[:2] == matrix[:2] and np.array_equal(again.scores, scores)
    assert again.score("R", "A") == scores[1, 0] and again.score("", "A") == 0.0


def test_biopython_loads_a_written_matrix(tmp_path):
    matrices = pytest.importorskip("Bio.Align.substitution_matrices")
    blosum = matrices.load("BLOSUM62")
    letters = str(blosum.alphabet)
    table = np.array([[blosum[a, b] for b in letters] for a in letters])
    table = table + np.random.default_rng(1).normal(size=table.shape).round(4)
    write_matrix(tmp_path / "m", SubstitutionMatrix(letters, letters, table), "x")
    loaded = matrices.read(str(tmp_path / "m"))
    assert str(loaded.alphabet) == letters
    np.testing.assert_allclose(np.asarray(loaded), table, atol=1e-4)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (b"", "no substitution matrix"),
        (b"# only\n", "no substitution matrix"),
        (b"A C\n", "no substitution matrix"),
        (b"A A\nA 1 2\n", ":1: 'A A' are no letters"),
        (b"A CC\nA 1 2\n", ":1: 'A CC' are no letters"),
        (b"A C\nA 1\n", ":2: a row is a letter and 2 numbers"),
        (b"A C\nA 1 x\n", ":2: could not convert"),
        (b"A C\nA 1 nan\n", ":2: a row is"),
    ],
)
def test_bad_matrices_are_refused(text, message):
    with pytest.raises(ReaderError, match=message):
        read_matrix(io.BytesIO(text))


def test_biopython_reads_the_same_fasta(tmp_path):
    seqio = pytest.importorskip("Bio.SeqIO")
    records = [FastaRecord("a", "MKV" * 40), FastaRecord("b", "ACD")]
    write_fasta(tmp_path / "x.fa", records)
    peers = [(r.id, str(r.seq)) for r in seqio.parse(tmp_path / "x.fa", "fasta")]
    assert peers == [tuple(record) for record in records]
