"""The column reader against a naive one, and against hostile files."""

import gzip
import io
import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from partwise.readers import ReaderError, Table, read_columns, write_columns

relaxed = settings(deadline=None)  # the first call compiles

CHUNKS = b"the DT B-NP\ncat NN I-NP\n\nsat VBD B-VP\n"


def read(data, **options):
    return read_columns(io.BytesIO(data), **options)


def naive_sentences(data, separator=None, comment=None):
    """Rows of fields; None where a carriage return stands within a line."""
    sentences, current = [], []
    end = b"\n" if b"\n" in data else b"\r"  # of old Macintosh files
    for line in data.split(end):
        if b"\r" in line.rstrip(b"\r"):
            return None
        if not line.strip():
            if current:
                sentences.append(current)
            current = []
        elif not (comment and line.startswith(comment.encode())):
            if separator is not None:
                line = line.removesuffix(b"\r")
            fields = line.split(separator and separator.encode())
            current.append(tuple(field.decode() for field in fields))
    return sentences + ([current] if current else [])


def has_one_width(sentences):
    return len({len(row) for s in sentences or () for row in s}) == 1


def rows_of(table):
    columns = [table.strings(name) for name in table.columns]
    return [
        list(zip(*(column[s] for column in columns), strict=True))
        for s in range(len(table))
    ]


FIELD = st.text(
    st.characters(codec="utf-8", exclude_characters="\0\t\n\v\f\r #\ufeff"), min_size=1
)


@st.composite
def column_files(draw):
    width = draw(st.integers(1, 4))
    row = st.lists(FIELD, min_size=width, max_size=width)
    blank = st.sampled_from(["", " ", "\t\r", "  "])
    comments = st.sampled_from(["# a comment", "#"])
    lines = draw(st.lists(st.one_of(row, row, blank, comments), max_size=20))
    gap = draw(st.sampled_from([" ", "\t", " \t "]))
    end = draw(st.sampled_from(["\n", "\r\n"]))
    last = draw(st.sampled_from(["", end, end + end]))
    first = gap.join(draw(row))
    texts = [first] + [x if isinstance(x, str) else gap.join(x) for x in lines]
    return (end.join(texts) + last).encode()


@relaxed
@given(column_files())
def test_agrees_with_a_naive_reader(data):
    table, labels = read(data, label=None, comment="#")
    assert labels is None
    assert rows_of(table) == naive_sentences(data, comment="#")
    for column in table.columns.values():
        assert column.codes.dtype == np.int32
        _, first = np.unique(column.codes, return_index=True)
        assert np.all(np.diff(first) > 0), "values come in order of first appearance"
        assert len(set(column.values)) == len(column.values) == len(first)


@relaxed
@given(st.binary(max_size=80))
def test_any_bytes_are_read_like_the_naive_reader_or_refused(data):
    try:
        table, _ = read(data, label=None)
    except ReaderError:
        return
    sentences = naive_sentences(data.removeprefix(b"\xef\xbb\xbf"))
    assert rows_of(table) == sentences
    assert has_one_width(sentences)


@relaxed
@given(st.lists(st.text("ab \n\t\r", max_size=12), max_size=8))
def test_ragged_files_are_never_accepted(lines):
    data = "\n".join(lines).encode()
    sentences = naive_sentences(data)
    if has_one_width(sentences):
        assert rows_of(read(data, label=None)[0]) == sentences
    else:
        with pytest.raises(ReaderError):
            read(data, label=None)


@relaxed
@given(st.lists(st.text("ab,\r ", max_size=8), max_size=8))
def test_separator_agrees_with_a_naive_reader(lines):
    data = "\n".join(lines).encode()
    sentences = naive_sentences(data, ",")
    if has_one_width(sentences):
        assert rows_of(read(data, label=None, separator=",")[0]) == sentences
    else:
        with pytest.raises(ReaderError):
            read(data, label=None, separator=",")


def test_labels_are_taken_out_by_position_or_name():
    table, labels = read(CHUNKS)
    assert list(table.columns) == ["word", "pos"]
    assert labels == [["B-NP", "I-NP"], ["B-VP"]]
    table, labels = read(CHUNKS, label=0)
    assert list(table.columns) == ["pos", "c2"]
    assert labels == [["the", "cat"], ["sat"]]
    table, labels = read(CHUNKS, label="pos")
    assert list(table.columns) == ["word", "c2"]
    assert labels == [["DT", "NN"], ["VBD"]]
    table, labels = read(CHUNKS, names=["form", "tag", "chunk"], label="chunk")
    assert list(table.columns) == ["form", "tag"]
    assert list(read(b"a b c d\n")[0].columns) == ["word", "pos", "c2"]
    assert list(read(b"a b c d\n", label=None)[0].columns) == [
        *("word", "pos", "c2", "c3")
    ]


def test_no_break_space_belongs_to_the_word():
    assert read("1\u00a0000 CD\n".encode())[0].strings("word") == [["1\u00a0000"]]


def test_docstart_is_an_ordinary_sentence_and_a_byte_order_mark_is_none():
    table, _ = read(b"\xef\xbb\xbf-DOCSTART- X O\n\nthe DT O\n")
    assert table.strings("word") == [["-DOCSTART-"], ["the"]]


def test_paths_pipes_and_compression(tmp_path, monkeypatch):
    plain, packed = tmp_path / "a.txt", tmp_path / "a.txt.gz"
    plain.write_bytes(CHUNKS)
    packed.write_bytes(gzip.compress(CHUNKS))
    expected = read(CHUNKS)
    assert read_columns(plain) == read_columns(str(packed)) == expected
    with packed.open("rb") as file:
        assert read_columns(file) == expected
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(CHUNKS)))
    assert read_columns("-") == expected


@pytest.mark.parametrize(
    ("data", "options", "message"),
    [
        (b"a b c\n\nd e f\ng h\n", {}, "<file>:4: 2 columns where the first line has 3"
          "; separate columns by white space, or say what stands between them, as in "
         "separator=','"),
        (b"a b\nc d e f\n", {}, ":2: 4 columns where the first line has 2"),
        (b"a b\nc\n", {}, ":2: 1 column where the first line has 2"),
        (b"a\tb\nc d\n", {"separator": "\t"}, ":2: 1 column where the first line has 2"
         "; separate columns by '\\t'"),
        (b"", {}, "<file>: no token in the file; it needs one token per line"),
        (b" \n\n\t\n", {}, "no token in the file"),
        (b"# x\n", {"comment": "#"}, "no token in the file"),
        ("x y\ncafé N\n".encode("latin1"), {}, ":2: not UTF-8 (byte 0xe9); say which"),
        (b"a b\nc\0 d\n", {}, ":2: NUL byte, so this is a binary file"),
        ("a b\n".encode("utf-16"), {}, "as in --encoding utf-16"),
        # without the time: parallel workers must collect the same bytes
        (gzip.compress(CHUNKS, mtime=0)[:-9], {}, "damaged or truncated gzip file"),
        (b"\x1f\x8bno gzip at all", {}, "damaged or truncated gzip file"),
        (CHUNKS, {"label": 3}, "no label column 3; the columns are 0 to 2"),
        (CHUNKS, {"label": "ner"}, "no label column 'ner'; there are word, pos, c2"),
        (b"a\nb\n", {}, "one column only, nothing besides the labels; give label=None"),
        (CHUNKS, {"names": ["word"]}, "3 columns; names= must have 3 different names"),
        (CHUNKS, {"names": ["a", "a", "b"]}, "must have 3 different names"),
    ],
)  # fmt: skip
def test_errors_name_file_line_and_remedy(data, options, message):
    with pytest.raises(ReaderError) as error:
        read(data, **options)
    assert message in str(error.value)
    assert str(error.value).startswith("<file>")


def test_a_wide_first_line_asks_for_little_memory():
    with pytest.raises(
        ReaderError, match=":2: 1 column where the first line has 50000"
    ):
        read(b"x " * 50_000 + b"\n" + b"y\n" * 50_000)


def test_missing_file_and_folder(tmp_path):
    with pytest.raises(ReaderError, match=r"nope\.txt: no such file; check the path"):
        read_columns(tmp_path / "nope.txt")
    with pytest.raises(FileNotFoundError):
        read_columns(tmp_path / "nope.txt")
    with pytest.raises(ReaderError, match="is a folder; give a file"):
        read_columns(tmp_path)


def test_text_mode_and_long_separators_are_refused():
    with pytest.raises(ReaderError, match="open it in mode 'rb'"):
        read_columns(io.StringIO("a b\n"))
    with pytest.raises(ValueError, match="needs one ASCII character"):
        read(CHUNKS, separator="::")


@relaxed
@given(st.lists(st.lists(st.tuples(FIELD, FIELD), min_size=1), min_size=1))
def test_what_is_written_is_read_back(sentences):
    table = Table.from_sequences(sentences, ["word", "label"])
    file = io.BytesIO()
    write_columns(file, table.select(["word"]), table.strings("label"))
    words, labels = read(b"\n" + file.getvalue())
    assert words == table.select(["word"])
    assert labels == table.strings("label")


def test_writing_to_paths_is_atomic(tmp_path, monkeypatch, capsysbinary):
    table, labels = read(CHUNKS)
    for name in ("out.txt", "out.txt.gz"):
        write_columns(tmp_path / name, table, labels)
        assert read_columns(tmp_path / name) == (table, labels)
    write_columns("-", table, labels)
    assert capsysbinary.readouterr().out == CHUNKS + b"\n"

    def fail(*_):
        raise OSError(28, "disk full")

    monkeypatch.setattr("os.replace", fail)
    with pytest.raises(OSError, match=r"disk full: .*out\.txt'$"):
        write_columns(tmp_path / "out.txt", table)
    assert sorted(p.name for p in tmp_path.iterdir()) == ["out.txt", "out.txt.gz"]
    assert read_columns(tmp_path / "out.txt") == (table, labels)


def test_writing_refuses_what_cannot_be_read_back():
    table = Table.from_sequences([["New York"]])
    with pytest.raises(ValueError, match="'New York', which separator=' ' cannot"):
        write_columns(io.BytesIO(), table)
    file = io.BytesIO()
    write_columns(file, table, [["B"]], separator="\t")
    assert read(file.getvalue(), separator="\t") == (table, [["B"]])
    blank = Table.from_sequences([[("a", ""), ("", "")]])
    with pytest.raises(ValueError, match="a token without any text would end its"):
        write_columns(io.BytesIO(), blank, separator="\t")
    with pytest.raises(ValueError, match="sequence 0: 2 labels for 1 tokens"):
        write_columns(io.BytesIO(), table, [["B", "I"]])
    with pytest.raises(ValueError, match="0 label sequences for 1 sequences"):
        write_columns(io.BytesIO(), table, [])
