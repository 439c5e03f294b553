"""The bracket reader against its own writer, NLTK, and hostile files."""

import gzip
import io

import nltk
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from partwise.readers import (
    ReaderError,
    as_phrase_tree,
    format_tree,
    parse_tree,
    read_brackets,
    tagged_words,
    write_brackets,
)
from partwise.readers.brackets import simplify

PENN = b"""\
( (S
    (NP-SBJ-1 (DT The) (NN cat) )
    (VP (VBD was)
      (VP (VBN seen)
        (NP (-NONE- *-1) )))
    (. .) ))
"""


def read(data, **options):
    return read_brackets(io.BytesIO(data), **options)


LETTERS = st.characters(codec="utf-8", exclude_characters="()\0\ufeff#")
ATOM = st.text(LETTERS, min_size=1, max_size=5).filter(lambda t: t.split() == [t])
TREES = st.recursive(
    st.tuples(ATOM, st.tuples(ATOM)),
    lambda child: st.tuples(ATOM, st.lists(child, min_size=1, max_size=3).map(tuple)),
    max_leaves=8,
)


@given(st.lists(TREES, min_size=1, max_size=4), st.sampled_from([None, 1, 20]))
def test_trees_come_back_from_one_line_or_many(trees, width):
    text = "\n".join(f"( {format_tree(tree, width=width)})" for tree in trees)
    X, y = read(text.encode(), traces=True, functions=True)
    assert y == trees
    assert X == [tagged_words(tree) for tree in trees]
    file = io.BytesIO()
    write_brackets(file, trees)
    assert file.getvalue().count(b"\n") == len(trees)
    assert read(file.getvalue(), traces=True, functions=True)[1] == trees


@given(TREES)
def test_nltk_reads_what_we_write_and_its_trees_are_ours(tree):
    text = format_tree(tree, width=30)
    assume("\\" not in text)  # which escapes brackets there
    other = nltk.Tree.fromstring(text)
    assert as_phrase_tree(other) == tree
    assert format_tree(other) == format_tree(tree)
    assert [(str(w), t) for w, t in other.pos()] == tagged_words(tree)


def test_penn_treebank_without_traces_and_functions():
    X, y = read(PENN)
    assert X == [[("The", "DT"), ("cat", "NN"), ("was", "VBD"), ("seen", "VBN"),
                  (".", ".")]]  # fmt: skip
    assert format_tree(y[0]) == (
        "(S (NP (DT The) (NN cat)) (VP (VBD was) (VP (VBN seen))) (. .))"
    )
    _, subset = read(PENN, traces=True, functions=True)
    assert format_tree(subset[0]) == (
        "(S (NP-SBJ-1 (DT The) (NN cat)) (VP (VBD was) (VP (VBN seen) "
        "(NP (-NONE- *-1)))) (. .))"
    )


def test_names_comments_and_several_trees_on_a_line():
    X, _ = read(b"# made by hand\nwsj_1\t( (A (B c)))\n(D (E f)) (G (H #))\n# end")
    assert X == [[("c", "B")], [("f", "E")], [("#", "H")]]


def test_tags_keep_their_hyphens_and_several_top_phrases_get_one_label():
    X, y = read(b"( (NP-TMP (-LRB- -LRB-) (NN-X a=b)) (VP=1 (VB go)))")
    assert X == [[("-LRB-", "-LRB-"), ("a=b", "NN-X"), ("go", "VB")]]
    assert y[0][0] == "TOP" and [child[0] for child in y[0][1]] == ["NP", "VP"]


def test_a_tree_of_traces_is_left_out():
    X, y = read(b"(S (NP (-NONE- *)))\n(S (VB go))")
    assert len(X) == len(y) == 1
    with pytest.raises(ReaderError, match="every word is a trace"):
        read(b"(S (NP (-NONE- *)))")
    assert simplify(parse_tree("(S (NP (-NONE- *)))")) is None


def test_brackets_inside_words_are_escaped():
    tree = ("S", (("(", ("(",)), ("NN", ("a)b",))))
    assert format_tree(tree) == "(S (-LRB- -LRB-) (NN a-RRB-b))"
    for word in ("a b", "", "a\nb", "a\u00a0b"):
        with pytest.raises(ValueError, match="cannot stand in brackets"):
            format_tree(("NN", (word,)))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (b"", ": no tree in the file"),
        (b"# nothing\n", ": no tree in the file"),
        (b"(S (NP (DT the)))\n(S (NP (DT the))\n", ":2: .* not closed: 1 closing"),
        (b"(S\n (NP\n  (DT the)", ":1: .* not closed: 2 closing brackets"),
        (b"(", ":1: .* not closed: 1 closing bracket missing"),
        (b"\n(S (DT a)))\n", ":2: a closing bracket without an opening one"),
        (b"( (S (A b))\n( (S (A b)))\n", r":2: a bracket without a label \(in the tree "
         r"that begins on line 1\)"),
        (b"(S (NP))", r":1: a bracket with neither word nor phrase in it \('NP'\)"),
        (b"()", ":1: a bracket with neither"),
        (b"(S\n (NP the cat))", ":2: the word 'the' has no tag of its own"),
        (b"(S (A b) cat)", ":1: the word 'cat' has no tag"),
        (b"(S (A b))\nstray\n", ":2: 'stray' outside of a tree"),
        (b"word\ttag\n", ":1: 'word' outside of a tree"),
        (b"(A " * 100_000, ":1: more than 250 open brackets"),
        (b"(A \xff)", ":1: not UTF-8"),
    ],
)  # fmt: skip
def test_refusals_name_the_line_and_the_remedy(text, message):
    with pytest.raises(ReaderError, match="^<file>" + message):
        read(text)


@given(st.text("()ab \n\t#", max_size=40))
def test_any_text_is_read_or_refused(text):
    try:
        X, y = read(text.encode())
    except ReaderError as error:
        assert str(error).startswith("<file>")
    else:
        assert [tagged_words(tree) for tree in y] == X and all(X)


@given(st.binary(max_size=40))
def test_any_bytes_are_read_or_refused(data):
    try:
        read(PENN + data)
    except ReaderError as error:
        assert str(error).startswith("<file>")


def test_paths_and_compression(tmp_path):
    packed = tmp_path / "trees.mrg.gz"
    write_brackets(packed, read(PENN)[1])
    assert gzip.decompress(packed.read_bytes()).startswith(b"(S (NP (DT The)")
    assert read_brackets(packed) == read(PENN)
    with pytest.raises(FileNotFoundError, match="no such file"):
        read_brackets(tmp_path / "missing")


@pytest.mark.parametrize(
    ("tree", "message"),
    [
        ("S", "'S' is no tree"),
        (("S", "word"), "is no tree"),
        (("S", ()), "node 'S' has no children"),
        (("S", (("A", ("b",)), "c")), "node 'S' has the word 'c' among 2 children"),
        ((1, (("A", ("b",)),)), "is no tree"),
        (("S", (None,)), "'None' is no tree"),
        (nltk.Tree("S", ["a", "b"]), "node 'S' has the word 'a' among 2"),
    ],
)
def test_objects_that_are_no_trees_are_refused(tree, message):
    with pytest.raises(ValueError, match=message):
        as_phrase_tree(tree)


def test_bottomless_trees_are_refused():
    tree = ("A", ("b",))
    for _ in range(300):
        tree = ("A", (tree,))
    with pytest.raises(ValueError, match="more than 250 levels"):
        as_phrase_tree(tree)
