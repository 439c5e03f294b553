"""Drawings of trees: what they show, and that nothing overlaps or gets out."""

import itertools
import re
from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st

from partwise.datasets import toy_sentences
from partwise.readers import parse_tree
from partwise.report import draw_dependency_tree, draw_phrase_tree
from partwise.report.arcs import Arc, _place_words, _Side
from partwise.report.embedding import embed
from partwise.report.phrase_trees import Node, _arrange, _node
from partwise.report.svg import text_width

WORDS = ["it", "works", "<b>&\0"]
TREE = ([2, 0, 2], ["nsubj", "root", "obj"])
TRUTH = ([2, 0, 1], ["nsubj", "root", "obj"])
NASTY = '</text><script>alert("x")</script>'


def texts(drawn):
    root = ElementTree.fromstring(drawn)
    return [e.text for e in root.iter() if e.tag.endswith("text")]


def of_class(drawn, name):
    root = ElementTree.fromstring(drawn)
    return [e for e in root.iter() if e.get("class") == name]


def test_a_dependency_tree_shows_words_relations_and_root():
    drawn = draw_dependency_tree(WORDS, TREE, tags=["PRON", "VERB", "SYM"])
    assert {"it", "works", "<b>&␀", "nsubj", "root", "obj", "VERB"} <= set(texts(drawn))
    assert not of_class(drawn, "wrong") and not of_class(drawn, "truth")


def test_wrong_arcs_are_marked_and_the_true_ones_added():
    drawn = draw_dependency_tree(WORDS, TREE, truth=TRUTH)
    wrong, truth = (of_class(drawn, name) for name in ("wrong-frame", "truth-frame"))
    assert len(wrong) == len(truth) == 1
    assert "1 of 3 words are attached otherwise" in drawn
    label_only = draw_dependency_tree(
        WORDS, TREE, truth=(TREE[0], ["x", "root", "obj"])
    )
    assert [e.text for e in of_class(label_only, "truth") if e.text] == ["x"]
    assert not of_class(draw_dependency_tree(WORDS, TREE, truth=TREE), "wrong-frame")


@pytest.mark.parametrize(
    "drawn",
    [
        draw_dependency_tree([NASTY, "b"], ([2, 0], [NASTY, "root"]), tags=[NASTY, ""]),
        draw_phrase_tree((NASTY, ((NASTY, (NASTY,)),))),
    ],
)
def test_text_of_the_data_stays_text_and_the_page_takes_the_drawing(drawn):
    assert "<script" not in drawn
    inside = embed(drawn, "")
    assert inside.startswith("<svg") and "<script" not in inside


@pytest.mark.parametrize(
    ("tree", "options", "message"),
    [
        (([0], ["a"]), {}, "tree has 1 heads and 1 labels for 3 words"),
        (([0, 1, 4], list("abc")), {}, "tree has a head outside"),
        (TREE, {"truth": ([0], ["a"])}, "truth has 1 heads"),
        (TREE, {"tags": ["a"]}, "1 tags for 3 words"),
    ],
)
def test_what_does_not_fit_is_refused(tree, options, message):
    with pytest.raises(ValueError, match=message):
        draw_dependency_tree(WORDS, tree, **options)


@st.composite
def dependency_trees(draw):
    n = draw(st.integers(1, 9))
    order = draw(st.permutations(range(1, n + 1)))
    heads = [0] * n
    for i in range(1, n):
        heads[order[i] - 1] = order[draw(st.integers(0, i - 1))]
    labels = draw(
        st.lists(st.text("abc:", min_size=1, max_size=9), min_size=n, max_size=n)
    )
    return heads, labels


@given(dependency_trees())
def test_arcs_of_one_height_are_apart_and_labels_have_room(tree):
    arcs = [Arc(h, i, label) for i, (h, label) in enumerate(zip(*tree, strict=True), 1)]
    side = _Side(arcs)
    names = [f"w{i}" for i in range(len(arcs))]
    centre, width = _place_words(names, [], [side, _Side([])], set())
    inner = [arc for arc in arcs if arc.head]

    def ends(arc):
        return sorted(centre[w] + side.port(arc, w) for w in arc[:2])

    for arc in inner:
        low, high = ends(arc)
        assert high - low >= text_width(arc.label, 11.5)
        assert 0 <= low < high <= width
    for one, other in itertools.combinations(inner, 2):
        if side.level[one] == side.level[other]:
            (a, b), (c, d) = ends(one), ends(other)
            assert b <= c or d <= a
    for left, right in itertools.pairwise(range(1, len(arcs) + 1)):
        assert centre[right] - centre[left] >= text_width("w0", 16)


def boxes(node, x=0.0, row=None):
    """(row, left, right) of the texts of a drawn tree."""
    yield node.row, x - node.width / 2, x + node.width / 2
    for child in node.children:
        yield from boxes(child, x + child.x)


def nodes(node):
    return [node, *(below for child in node.children for below in nodes(child))]


def assert_tidy(root: Node):
    rows = {}
    for row, left, right in boxes(root):
        rows.setdefault(row, []).append((left, right))
    for row in rows.values():
        for (_, right), (left, _) in itertools.pairwise(sorted(row)):
            assert left - right > 5
    for node in nodes(root):
        if node.children:
            middle = (node.children[0].x + node.children[-1].x) / 2
            assert middle == pytest.approx(0)
            assert node.row == 1 + max(child.row for child in node.children)


@pytest.mark.parametrize("number", range(0, 60, 6))
def test_toy_trees_are_tidy(number):
    root = _node(toy_sentences(60)[number].tree, {})
    _arrange(root)
    assert_tidy(root)


ATOM = st.text("aM", min_size=1, max_size=8)
TREES = st.recursive(
    st.tuples(ATOM, st.tuples(ATOM)),
    lambda child: st.tuples(ATOM, st.lists(child, min_size=1, max_size=4).map(tuple)),
    max_leaves=12,
)


@given(TREES)
def test_any_tree_is_tidy_and_inside_its_picture(tree):
    root = _node(tree, {})
    _arrange(root)
    assert_tidy(root)
    drawn = ElementTree.fromstring(draw_phrase_tree(tree))
    width, height = map(float, drawn.get("viewBox").split()[2:])
    for text in drawn.iter("{http://www.w3.org/2000/svg}text"):
        assert 0 < float(text.get("x")) < width and 0 < float(text.get("y")) < height
    words = [e.text for e in drawn.iter() if e.get("font-size") == "15"]
    assert len(words) == str(tree).count("',)")


def test_a_predicted_tree_stands_above_the_true_one():
    actual = parse_tree("(S (NP (DT a) (NN b)) (VP (VB c)))")
    true = parse_tree("(S (NP-SBJ (DT a)) (VP (NN b) (VB c)))")
    drawn = draw_phrase_tree(actual, truth=true)
    assert (
        len(of_class(drawn, "wrong-frame")) == len(of_class(drawn, "truth-frame")) == 2
    )
    assert "2 wrong and 2 missed phrases" in drawn
    assert {"predicted", "truth"} <= set(texts(drawn))
    same = draw_phrase_tree(actual, truth=actual)
    assert not re.search("-frame", same)
    with pytest.raises(ValueError, match="trees of the same sentence"):
        draw_phrase_tree(actual, truth=parse_tree("(S (A b))"))


def test_of_equal_phrases_only_the_surplus_is_marked():
    two = parse_tree("(S (NP (NP (NN a))))")
    one = parse_tree("(S (NP (NN a)))")
    assert len(of_class(draw_phrase_tree(two, truth=one), "wrong-frame")) == 1
    assert not of_class(draw_phrase_tree(two, truth=one), "truth-frame")
