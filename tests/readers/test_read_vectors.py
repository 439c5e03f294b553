"""Word vectors in text files, with and without a first line; hostile files."""

import gzip
import io

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from partwise.readers import ReaderError, read_vectors

PLAIN = b"the 0.5 -1 2e-1\ncat 1 0 0\n"


def read(data):
    return read_vectors(io.BytesIO(data))


@pytest.mark.parametrize("pack", [bytes, gzip.compress])
@pytest.mark.parametrize(
    "data",
    [
        PLAIN,
        b"2 3\n" + PLAIN,
        b"\xef\xbb\xbf2 3\r\nthe 0.5 -1 2e-1 \r\ncat 1 0 0 \r\n",  # word2vec's spaces
        PLAIN.replace(b" ", b"\t").rstrip(b"\n"),
        PLAIN + b"\n\n",
        PLAIN + b"cat 9 9 9\n",  # the first counts
    ],
)
def test_formats(data, pack, tmp_path):
    path = tmp_path / "vectors"
    path.write_bytes(pack(data))
    for source in (path, str(path), io.BytesIO(pack(data))):
        words, vectors = read_vectors(source)
        assert words == ["the", "cat"]
        assert vectors.dtype == np.float32
        np.testing.assert_allclose(vectors, [[0.5, -1, 0.2], [1, 0, 0]], rtol=1e-6)


WORD = st.text(
    st.characters(
        codec="utf-8", exclude_characters="\0\t\n\r ", exclude_categories="Z"
    ),
    min_size=1,
).filter(lambda word: word.strip() and not word.startswith("\ufeff"))


@given(
    st.lists(WORD, min_size=1, max_size=5, unique=True),
    st.integers(2, 4),
    st.booleans(),
    st.randoms(use_true_random=False),
)
def test_what_is_written_comes_back(words, size, header, random):
    rows = [[random.uniform(-9, 9) for _ in range(size)] for _ in words]
    lines = [
        " ".join([word, *map(repr, row)]) for word, row in zip(words, rows, strict=True)
    ]
    first = [f"{len(words)} {size}"] if header else []
    actual, vectors = read("\n".join([*first, *lines]).encode())
    assert actual == words
    np.testing.assert_array_equal(vectors, np.array(rows, np.float32))


def test_words_with_spaces_and_numbers_as_words():
    words, vectors = read(b". . . 1 2\n7 3 4\nat home 5 6\n\xc2\xa0x 1 1\n")
    assert words == [". . .", "7", "at home", "\xa0x"]
    assert vectors.shape == (4, 2)


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "<file>: no word vectors"),
        (b"\n \n", "no word vectors"),
        (b"2 3\n", "no word vectors"),
        (b"the cat sat\n", "<file>:1: 0 dimensions"),
        (b"99999999999999999999 0\n", "<file>:1: 0 dimensions"),
        (b"5 99999\n", "<file>:1: 99999 dimensions"),
        (PLAIN + b"dog 1 0\n", "<file>:3: 2 numbers where 3 belong"),
        (PLAIN + b"dog 1 0 2 3\n", "<file>:3: 4 numbers where 3 belong"),
        (PLAIN + b"dog\n", "<file>:3: 0 numbers where 3 belong"),
        (PLAIN + b"dog 1 x 2\n", "<file>:3: 'x' where a number"),
        (PLAIN + b"dog 1 nan 2\n", "<file>:3: 'nan' where a number"),
        (PLAIN + b"dog 1 -inf 2\n", "<file>:3: '-inf' where a number"),
        (PLAIN + b"dog 1 1e39 2\n", "<file>:3: '1e39' where a number"),
        (PLAIN + b" 1 1 2\n", "<file>:3: no word before the numbers"),
        (PLAIN + b"d\xf6g 1 1 2\n", "<file>:3: not UTF-8"),
        (b"3 3\n" + PLAIN, "promises 3 words, the file has 2"),
        (b"1 3\n" + PLAIN, "promises 1 words, the file has 2"),
        (gzip.compress(PLAIN * 9, mtime=0)[:-9], "truncated gzip"),
        (gzip.compress(PLAIN, mtime=0)[:3], "truncated gzip"),
        (b"\x1f\x8bnonsense", "damaged or truncated gzip"),
    ],
)
def test_hostile_files_are_refused_with_their_line(data, message):
    with pytest.raises(ReaderError, match=message):
        read(data)


def test_binary_word2vec_is_refused():
    binary = b"2 3\ncat " + np.array([1, 2, 3], "<f4").tobytes() + b"\n"
    with pytest.raises(ReaderError, match="<file>:2: "):
        read(binary)


def test_missing_files_are_named(tmp_path):
    with pytest.raises(FileNotFoundError, match="nowhere: no such file"):
        read_vectors(tmp_path / "nowhere")
    with pytest.raises(ReaderError, match="cannot be read"):
        read_vectors(tmp_path)
    with pytest.raises(ReaderError, match="mode 'rb'"):
        read_vectors(io.StringIO("cat 1 2"))
