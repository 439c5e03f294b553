"""The CoNLL-U reader against a naive one, against its own writer, and hostile files."""

import gzip
import io
import re
import sys
from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from partwise.datasets import toy_sentences
from partwise.readers import (
    DependencyTree,
    ReaderError,
    Table,
    is_projective,
    read_conllu,
    read_conllu_document,
    write_conllu,
)

NAMES = ("form", "lemma", "upos", "xpos", "feats", "misc")

SPANISH = """\
# text = vámonos al mar
1-2\tvámonos\t_\t_\t_\t_\t_\t_\t_\t_
1\tvamos\tir\tVERB\t_\tMood=Imp\t0\troot\t0:root\t_
2\tnos\tnosotros\tPRON\t_\t_\t1\tobj\t1:obj\t_
3-4\tal\t_\t_\t_\t_\t_\t_\t_\tCheck=1
3\ta\ta\tADP\t_\t_\t5\tcase\t5:case\t_
4\tel\tel\tDET\t_\t_\t5\tdet\t5:det\t_
4.1\t_\tgrande\tADJ\t_\t_\t_\t_\t5:amod\t_
5\tmar\tmar\tNOUN\t_\t_\t1\tobl\t1:obl\tSpaceAfter=No

""".encode()


def row(number, head="0", label="root", form="w"):
    return f"{number}\t{form}\tl\tU\tX\tF\t{head}\t{label}\td\tm\n"


def sentence(*heads):
    return "".join(row(i, h, f"r{i}") for i, h in enumerate(heads, start=1))


def read(text, **options):
    data = text if isinstance(text, bytes) else text.encode()
    return read_conllu(io.BytesIO(data), **options)


def document(data, **options):
    return read_conllu_document(io.BytesIO(data), **options)


LETTERS = st.characters(codec="utf-8", exclude_characters="\0\t\n\r")
FIELD = st.text(LETTERS, min_size=1, max_size=6)


@st.composite
def trees(draw, most_words=7):
    """Any tree with one root: each word hangs on one that came before in some order."""
    n = draw(st.integers(1, most_words))
    order = draw(st.permutations(range(1, n + 1)))
    heads = [0] * n
    for i in range(1, n):
        heads[order[i] - 1] = order[draw(st.integers(0, i - 1))]
    return DependencyTree(heads, draw(st.lists(FIELD, min_size=n, max_size=n)))


@st.composite
def files(draw):
    """A file with everything CoNLL-U knows, its words and its trees."""
    end = draw(st.sampled_from(["\n", "\r\n"]))
    lines, words, expected = [], [], []
    for _ in range(draw(st.integers(1, 3))):
        tree = draw(trees())
        n = len(tree.heads)
        lines += draw(st.lists(FIELD.map("# ".__add__), max_size=2))
        fields = draw(st.lists(st.tuples(*[FIELD] * 7), min_size=n, max_size=n))
        covered = 0
        empty = 0
        for i in range(n + 1):
            if i:
                if i > covered and draw(st.booleans()):
                    covered = draw(st.integers(i, n))
                    lines.append("\t".join([f"{i}-{covered}"] + ["x"] * 9))
                *five, deps, misc = fields[i - 1]
                lines.append(
                    "\t".join(
                        [str(i), *five, str(tree.heads[i - 1]), tree.labels[i - 1],
                         deps, misc]
                    )
                )  # fmt: skip
            for empty in range(1, draw(st.integers(0, 2)) + 1):
                lines.append("\t".join([f"{i}.{empty}"] + ["e"] * 9))
        lines += [""] * draw(st.integers(1, 2))
        words.append([(*five, misc) for *five, _, misc in fields])
        expected.append(tree)
    return (
        (end.join(lines) + draw(st.sampled_from(["", end]))).encode(),
        words,
        expected,
    )


@given(files(), st.data())
def test_reads_what_was_written_and_changes_only_heads_and_labels(file, data):
    text, words, expected = file
    actual = document(text)
    columns = zip(*(actual.table.strings(name) for name in NAMES), strict=True)
    assert [list(zip(*s, strict=True)) for s in columns] == words
    assert actual.trees == expected
    assert actual.fill(expected) == text
    others = [
        DependencyTree(
            data.draw(st.permutations(tree.heads)),
            [f"other{i}" for i in range(len(tree.heads))],
        )
        for tree in expected
    ]
    changed = actual.fill(others).split(b"\n")
    flat = iter([a for t in others for a in zip(t.heads, t.labels, strict=True)])
    for before, after in zip(text.split(b"\n"), changed, strict=True):
        old, new = before.split(b"\t"), after.split(b"\t")
        if len(old) == 10 and old[0].isdigit():
            head, label = next(flat)
            old[6:8] = [str(head).encode(), label.encode()]
        assert old == new


@given(st.lists(st.one_of(trees(), trees(2)), min_size=1, max_size=4))
def test_a_table_and_its_trees_come_back(y):
    X = Table.from_sequences(
        [[("a b", f"x{i}") for i in range(len(tree.heads))] for tree in y],
        ["form", "lemma"],
    )
    file = io.BytesIO()
    write_conllu(file, X, y)
    table, actual = read(file.getvalue())
    assert actual == y
    assert table.select(["form", "lemma"]) == X
    assert set(table.column("misc").values) == {"_"}
    file = io.BytesIO()
    write_conllu(file, X)
    assert read(file.getvalue())[1] is None


def naive_verdict(heads):
    """Whether these heads make a tree with one root, one word at a time."""
    n = len(heads)
    if any(not 0 <= h <= n for h in heads) or heads.count(0) != 1:
        return False
    for i in range(1, n + 1):
        seen = set()
        while i:
            if i in seen:
                return False
            seen.add(i)
            i = heads[i - 1]
    return True


@given(st.lists(st.lists(st.integers(0, 6), min_size=1, max_size=6), min_size=1))
def test_accepts_exactly_the_trees(sentences):
    text = "\n".join(sentence(*heads) for heads in sentences)
    if all(map(naive_verdict, sentences)):
        assert [tree.heads for tree in read(text)[1]] == sentences
    else:
        with pytest.raises(ReaderError, match=r"<file>:\d+: "):
            read(text)


@given(st.lists(st.sampled_from(["1", "2", "3", "1-2", "2-3", "1.1", "0.1", "", "01"])))
def test_accepts_exactly_the_number_sequences_of_the_format(numbers):
    text = "".join(row(number, "0" if number == "1" else "1") for number in numbers)
    n = sum(number.isdigit() for number in numbers)
    words, covered, last = 0, 0, (0, 0)
    is_right = n > 0
    for number in numbers:
        if re.fullmatch("[1-9]", number):
            words += 1
            is_right &= int(number) == words
        elif match := re.fullmatch(r"(\d)-(\d)", number):
            a, b = map(int, match.groups())
            is_right &= a == words + 1 and a <= b <= n and a > covered
            covered = b
        elif match := re.fullmatch(r"(\d)\.(\d)", number):
            a, b = map(int, match.groups())
            is_right &= a == words and b == (last[1] + 1 if last[0] == number[0] else 1)
            last = (number[0], b)
            continue
        else:
            is_right = False
        last = (None, 0)
    if is_right:
        assert len(read(text)[1][0].heads) == n
    else:
        with pytest.raises(ReaderError):
            read(text)


@given(st.binary(max_size=60))
def test_any_bytes_are_read_or_refused(data):
    for whole in (data, SPANISH[:150] + data, SPANISH + data):
        try:
            X, y = read(whole)
        except ReaderError as error:
            assert str(error).startswith("<file>")
        else:
            assert y is None or [len(t.heads) for t in y] == np.diff(X.offset).tolist()


@given(st.integers(0, len(SPANISH)))
def test_any_cut_is_read_or_refused_with_its_line(end):
    try:
        read(SPANISH[:end])
    except ReaderError as error:
        assert re.match(r"<file>(:\d+)?: .*[;:] ", str(error))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", r": no word in the file"),
        ("# only\n# comments\n\n", r": no word in the file"),
        ("# c\n\n1 it PRON\n", r":3: 1 column where CoNLL-U has 10; .* tabs"),
        (row(1) + "2\tb\tc\n", r":2: 3 columns where the first line has 10"),
        (row(1) + row(2, 1)[:-6], r":2: 8 columns .* the file was cut off; copy"),
        (sentence(0) + "\n" + row(2), r":3: ID '2' where 1 was expected"),
        (row(1) + row(3), r":2: ID '3' where 2 was expected"),
        (row("x"), r":1: ID 'x' where 1"),
        (row("1-2") + row(1), r":1: ID '1-2'"),
        (row("99999999999999999999"), r":1: ID"),
        (row("0.1"), r":1: a sentence without words"),
        ("# c\n" + sentence(2, 3, 1), r":2: .* cycle, 1 → 2 → 3 → 1; one of"),
        (sentence(0, 4, 2, 3), r":2: .* cycle, 2 → 4 → 3 → 2;"),
        (sentence(1, 0), r":1: .* cycle, 1 → 1;"),
        (sentence(0) + "\n" + sentence(0, 3), r":4: HEAD 3 in a sentence of 2 words"),
        (sentence(0, "_"), r":2: no HEAD, although"),
        (sentence(0, "-1"), r":2: HEAD '-1' is no number"),
        (sentence(0, "1.5"), r":2: HEAD '1.5' is no number"),
        (sentence(0, "１"), r":2: HEAD '１' is no number"),
        (sentence(0, ""), r":2: HEAD '' is no number"),
        (sentence(2, 1), r":1: .* cycle"),
        (sentence(0, 1, 0), r":3: a second root; line 1 .*single_root=False"),
        (row(1, label=""), r":1: no DEPREL"),
        (b"1\t\xff", r":1: not UTF-8"),
        ("1\t\0", r":1: NUL byte"),
    ],
)
def test_refusals_name_the_line_and_the_remedy(text, message):
    with pytest.raises(ReaderError, match="^<file>" + message) as e:
        read(text)
    assert "\n" not in str(e.value)


def test_conllx_may_have_several_roots_and_eight_columns():
    text = "".join(
        "\t".join(line.split("\t")[:8]) + "\n"
        for line in sentence(0, 0, 2).splitlines()
    )
    X, y = read(text, single_root=False)
    assert y == [DependencyTree([0, 0, 2], ["r1", "r2", "r3"])]
    assert list(X.columns) == ["form", "lemma", "upos", "xpos", "feats"]
    actual = document(text.encode(), single_root=False)
    other = actual.fill([DependencyTree([2, 0, 2], ["a", "b", "c"])])
    assert read(other)[1] == [DependencyTree([2, 0, 2], ["a", "b", "c"])]


def test_heads_of_any_kind_are_accepted_where_nobody_reads_them():
    text = sentence(7, "x", "_").encode()
    with pytest.raises(ReaderError):
        document(text)
    actual = document(text, trees=False)
    assert actual.trees is None
    filled = actual.fill([DependencyTree([0, 1, 2], ["root", "a", "b"])])
    assert read(filled)[1][0].heads == [0, 1, 2]


def test_a_file_without_trees_has_none():
    X, y = read(sentence("_", "_"))
    assert y is None and X.strings("form") == [["w", "w"]]


def test_paths_pipes_compression_and_nothing_half_written(tmp_path, monkeypatch):
    plain, packed = tmp_path / "a.conllu", tmp_path / "a.conllu.gz"
    actual = document(SPANISH)
    write_conllu(plain, actual)
    write_conllu(packed, actual, actual.trees)
    assert plain.read_bytes() == gzip.decompress(packed.read_bytes()) == SPANISH
    assert read_conllu(packed) == read_conllu(str(plain)) == read(SPANISH)
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(SPANISH)))
    assert read_conllu("-") == read(SPANISH)
    with pytest.raises(FileNotFoundError, match="no such file"):
        read_conllu(tmp_path / "missing")
    with pytest.raises(ValueError, match="head 9 in a sentence of 5 words"):
        bad = DependencyTree([9, 0, 1, 1, 1], list("abcde"))
        write_conllu(plain, actual, [bad])
    assert plain.read_bytes() == SPANISH
    assert sorted(p.name for p in tmp_path.iterdir()) == ["a.conllu", "a.conllu.gz"]


@pytest.mark.parametrize(
    ("trees", "message"),
    [
        ([], "0 trees for 1 sentences"),
        ([([0], ["a"])], "tree 0: 1 heads and 1 labels for 5 words"),
        ([([0, 1, 1, 1, 1], ["a", "b", "c", "d", ""])], "label holds ''"),
        ([([0, 1, 1, 1, 1], ["a", "b", "c", "d", "x\ty"])], "neither tabs nor"),
    ],
)
def test_trees_that_could_not_be_read_back_are_refused(trees, message):
    with pytest.raises(ValueError, match=message):
        document(SPANISH).fill(trees)


@given(trees())
def test_projectivity_against_its_definition(tree):
    """Every word between a head and its dependent hangs, at last, on that head."""

    def hangs(word, head):
        while word != head and word:
            word = tree.heads[word - 1]
        return word == head

    expected = all(
        hangs(between, head)
        for dependent, head in enumerate(tree.heads, start=1)
        for between in range(min(head, dependent) + 1, max(head, dependent))
    )
    assert is_projective(tree.heads) == expected


def test_toy_sentences_are_projective():
    assert Counter(is_projective(s.heads) for s in toy_sentences(50)) == {True: 50}


def test_some_sentences_are_filled_and_incomplete_trees_are_read():
    text = (sentence(0, "_") + "\n" + sentence("_") + "\n" + sentence("_", 2)).encode()
    actual = document(text, trees=False)
    assert actual.known_heads() == [[0, None], [None], [None, 2]]
    trees = [DependencyTree([0], ["a"]), DependencyTree([2, 0], ["b", "c"])]
    filled = actual.fill(trees, rows=[1, 2])
    assert document(filled, trees=False).known_heads() == [[0, None], [0], [2, 0]]
    for head in ("3", "x", ""):
        with pytest.raises(ReaderError, match=f":2: HEAD '{head}' in a sentence of 2"):
            document(sentence(0, head).encode(), trees=False).known_heads()
