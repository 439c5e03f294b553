"""Data files that would take all memory: refused, and the limit named."""

import gzip
import io
import os
import resource
import subprocess
import sys
import time

import pytest

from partwise.readers import (
    ReaderError,
    read_brackets,
    read_columns,
    read_conllu,
    read_label_sets,
    read_vectors,
)
from partwise.readers.limits import DEFAULTS, limit
from partwise.readers.matrices import read_csv, read_svmlight
from partwise.readers.source import read_text_bytes


def file(data: bytes) -> io.BytesIO:
    return io.BytesIO(data)


@pytest.mark.parametrize("text", ["0x", "-1", "", "1.5", "9" * 40])
def test_a_limit_is_a_number(monkeypatch, text):
    monkeypatch.setenv("PARTWISE_MAX_LINE_BYTES", text)
    with pytest.raises(ValueError, match=r"PARTWISE_MAX_LINE_BYTES=.*whole number"):
        limit("PARTWISE_MAX_LINE_BYTES")


CONLLU = b"1\t%s\t_\t_\t_\t_\t0\troot\t_\t_\n"
CASES = [
    ("FILE_BYTES", read_columns, b"a b\n" * 30),
    ("FILE_BYTES", read_columns, gzip.compress(b"a b\n" * 30, mtime=0)),
    ("LINE_BYTES", read_columns, b"a b\nlong " + b"x" * 100 + b"\n"),
    ("LINE_BYTES", read_vectors, b"a 1 2\nb 1 " + b"0" * 100 + b"\n"),
    ("TOKEN_BYTES", read_columns, b"a b\n" + b"x" * 101 + b" b\n"),
    ("TOKEN_BYTES", read_conllu, CONLLU % (b"x" * 101)),
    ("TOKEN_BYTES", read_brackets, b"(S (A " + b"x" * 101 + b"))"),
    ("SENTENCE_TOKENS", read_columns, b"a b\n\n" + b"a b\n" * 101),
    ("SENTENCE_TOKENS", read_brackets, b"(S " + b"(A b)" * 101 + b")"),
    ("COLUMNS", read_svmlight, b"1 101:1\n"),
]


@pytest.mark.parametrize(
    ("name", "read", "data"),
    CASES,
    ids=[f"{name}-{read.__name__}-{i}" for i, (name, read, _) in enumerate(CASES)],
)
def test_what_is_beyond_a_limit_is_refused_by_name(monkeypatch, name, read, data):
    variable = f"PARTWISE_MAX_{name}"
    monkeypatch.setenv(variable, "100")
    with pytest.raises(ReaderError, match=rf"^<file>.*100 are allowed.*{variable}"):
        read(file(data))
    monkeypatch.setenv(variable, "200")
    read(file(data))


def test_defaults_allow_what_people_have():
    assert DEFAULTS["PARTWISE_MAX_FILE_BYTES"] >= 1 << 30
    row = b",".join([b"0.125"] * 500_000) + b",x\n"  # a line of three megabytes
    assert read_csv(file(row * 2)).X.shape == (2, 500_000)


@pytest.mark.parametrize("read", [read_svmlight, read_label_sets])
def test_a_column_number_that_would_fill_the_memory(read):
    with pytest.raises(ReaderError, match="PARTWISE_MAX_COLUMNS"):
        read(file(b"1 2000000000:1\n"))


@pytest.mark.parametrize("read", [read_svmlight, read_label_sets])
@pytest.mark.parametrize("end", [b" x\n", b".5x 1:1\n", b",1x\n"])
def test_a_long_number_is_refused_at_once(read, end):
    """Of 10 kB it took ten seconds, and four times as long for each double."""
    began = time.process_time()
    with pytest.raises(ReaderError, match=":1: "):
        read(file(b"1" * 50_000 + end))
    assert time.process_time() - began < 2


PROGRAM = """
import resource, sys
resource.setrlimit(resource.RLIMIT_AS, (3 << 30, 3 << 30))
import partwise.readers
from partwise.readers import ReaderError
for name in sys.argv[2:]:
    try:
        getattr(partwise.readers, name)(sys.argv[1])
    except ReaderError as error:
        print(error)
# not ru_maxrss, which begins with that of the process that forked this one
with open("/proc/self/status") as status:
    print(next(int(s.split()[1]) >> 10 for s in status if s.startswith("VmHWM")))
"""


def read_in_process(path, *names):
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, str(path), *names],
        capture_output=True, text=True, check=True, timeout=120,
    )  # fmt: skip
    *lines, megabytes = done.stdout.splitlines()
    return lines, int(megabytes)


def test_a_bomb_in_gzip_takes_little_memory(tmp_path):
    path = tmp_path / "bomb.gz"
    line = b"a 0." + b"0" * 30_000 + b"\n"
    piece = gzip.compress(line * 1000, 9)  # 30 MB
    path.write_bytes(piece * 40)
    lines, megabytes = read_in_process(path, "read_columns", "read_vectors")
    assert len(lines) == 2 and megabytes < 700
    assert all("PARTWISE_MAX_COMPRESSION" in line for line in lines)


@pytest.mark.parametrize(
    ("name", "item"),
    [
        ("read_columns", b"a b\n\n"),
        ("read_conllu", CONLLU % b"a" + b"\n"),
        ("read_brackets", b"(a b)\n"),
    ],
)
def test_short_items_take_fifty_times_their_bytes_and_are_few(tmp_path, name, item):
    """63 MB of them, from 60 to 150 kB, took 1.7 to 3.3 GB."""
    path = tmp_path / "bomb.gz"
    piece = gzip.compress(item * (1_000_000 // len(item)), 9)
    path.write_bytes(piece * 63)
    lines, megabytes = read_in_process(path, name)
    assert "PARTWISE_MAX_COMPRESSION" in lines[0] and megabytes < 400
    path.write_bytes(piece * 2)
    lines, megabytes = read_in_process(path, name)
    assert not lines and megabytes < 500


@pytest.mark.skipif(not os.path.exists("/dev/zero"), reason="needs the device")
def test_a_device_that_never_ends():
    lines, megabytes = read_in_process("/dev/zero", "read_columns", "read_vectors")
    assert "NUL byte" in lines[0] and "PARTWISE_MAX_LINE_BYTES" in lines[1]
    assert megabytes < 700


def test_a_pipe_that_never_ends(monkeypatch):
    monkeypatch.setenv("PARTWISE_MAX_FILE_BYTES", "10000000")
    reading, writing = os.pipe()
    with subprocess.Popen(["yes", "a b"], stdout=writing) as endless:
        os.close(writing)
        with open(reading, "rb") as pipe:
            with pytest.raises(ReaderError, match="PARTWISE_MAX_FILE_BYTES"):
                read_text_bytes(pipe)
        endless.terminate()


def test_a_token_of_a_hundred_megabytes():
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with pytest.raises(ReaderError, match=r"<file>:2: .*PARTWISE_MAX_LINE_BYTES"):
        read_columns(file(b"a b\n" + b"x" * 100_000_000 + b" b\n"))
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 700 << 10


# ------------------------------------------------------------------------- line ends


def test_carriage_returns_alone_end_lines():
    X, y = read_columns(file(b"the DT\rcat NN\r\rgo VB\r"))
    assert X.strings("word") == [["the", "cat"], ["go"]] and y == [["DT", "NN"], ["VB"]]
    assert len(read_conllu(file(CONLLU.replace(b"\n", b"\r") % b"x"))[0]) == 1


@pytest.mark.parametrize("end", [b"\r\n", b"\r\r\n"])
def test_windows_line_ends(end):
    assert read_columns(file(b"the DT" + end + b"cat NN\r"))[1] == [["DT", "NN"]]


def test_a_carriage_return_within_a_line_is_no_part_of_a_label():
    with pytest.raises(ReaderError, match=r"<file>:2: a carriage return within a line"):
        read_columns(file(b"a\tX\nb\tY\rZ\nc\tX\n"), separator="\t")


def test_quotes_that_do_not_end():
    with pytest.raises(ReaderError, match="<file>:"):
        read_csv(file(b'1,a\n"' + b"x" * 200_000 + b"\n"))
