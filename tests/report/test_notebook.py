"""What notebooks show: drawings, certificates, explanations, trees and tables."""

from html.parser import HTMLParser
from xml.etree import ElementTree

import numpy as np
import pytest

from partwise import Certificate, to_json
from partwise.outputs.explanation import Contribution, Explanation
from partwise.outputs.tree_explanation import TreeExplanation
from partwise.readers import DependencyTree, Table, parse_tree
from partwise.report import (
    draw,
    draw_alignment,
    draw_dependency_tree,
    draw_phrase_tree,
    draw_sequence,
)

HOSTILE = "<script>alert('x')</script>\"&\x00"
WORDS = ["it", "works", "well"]
TREE = DependencyTree([2, 0, 2], ["nsubj", "root", "advmod"])
PHRASE = parse_tree("(S (NP (PRP it)) (VP (VBZ works)))")


class Fragment(HTMLParser):
    """Text and tags; fails on wrong nesting."""

    def __init__(self, shown):
        super().__init__()
        self.open, self.tags, self.words = [], [], []
        self.feed(shown._repr_html_())
        self.close()
        assert not self.open

    def handle_starttag(self, tag, attrs):
        self.open.append(tag)
        self.tags.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.tags.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.words.append(data)

    @property
    def text(self):
        return " ".join(" ".join(self.words).split())


def texts(drawn):
    return [
        e.text for e in ElementTree.fromstring(drawn).iter() if e.tag[-4:] == "text"
    ]


def test_a_sequence_shows_the_truth_where_it_differs():
    drawn = draw_sequence(["Jordan", "wins"], ["B-LOC", "O"], truth=["B-PER", "O"])
    assert texts(drawn) == ["Jordan", "B-LOC", "B-PER", "wins", "O"]
    assert "1 of 2 labels differ" in drawn
    with pytest.raises(ValueError, match="truth has 1 labels for 2 tokens"):
        draw_sequence(["a", "b"], ["O", "O"], truth=["O"])


def test_long_sequences_wrap():
    short, long = (
        ElementTree.fromstring(draw_sequence(["word"] * n, ["O"] * n)) for n in (3, 90)
    )
    assert float(long.get("width")) < 900
    assert float(long.get("height")) > 2 * float(short.get("height"))
    assert draw_sequence([], []).startswith("<svg")


def test_one_function_draws_every_kind_of_output():
    tree, truth = TREE, DependencyTree([2, 0, 1], TREE.labels)
    table = Table.from_sequences([[(w, "X") for w in WORDS]], ["form", "upos"])
    drawn = draw(table, tree, truth=truth)
    tags = ["X"] * 3
    assert drawn == draw_dependency_tree(WORDS, tree, truth=truth, tags=tags)
    heads = (np.array(tree.heads), tree.labels)
    assert draw(WORDS, heads) == draw_dependency_tree(WORDS, tree)
    assert draw([("it", "PRP"), ("works", "VBZ")], PHRASE) == draw_phrase_tree(PHRASE)
    pairs = np.array([(0, 0), (2, 1)])
    assert draw(("MKV", "MV"), pairs) == draw_alignment("MKV", "MV", pairs)
    annotated = {"residue": "MKV"}, {"residue": "MV"}
    assert draw(annotated, pairs) == draw_alignment("MKV", "MV", pairs)
    choice = draw(("MKV", ["A", "MV"]), (1, pairs), truth=(1, pairs))
    assert choice == draw_alignment("MKV", "MV", pairs, pairs)
    assert draw(WORDS, ["A", "B", "C"]) == draw_sequence(WORDS, ["A", "B", "C"])


def test_trees_and_tables_are_drawn():
    assert "svg" in Fragment(TREE).tags
    assert "nsubj" in Fragment(TREE).text
    assert "works" in Fragment(PHRASE).text
    assert PHRASE == (
        "S",
        (("NP", (("PRP", ("it",)),)), ("VP", (("VBZ", ("works",)),))),
    )
    table = Fragment(Table.from_sequences([WORDS] * 5))
    assert "5 sequences" in table.text
    assert table.text.count("works") == 3
    assert "0 sequences" in Fragment(Table.from_sequences([])).text


def test_certificates_state_bounds_and_gap():
    shown = Fragment(Certificate(100.0, 100.0, dual=99.0, stopped="converged"))
    for words in ("Converged", "more than 1", "dual", "99", "primal", "100"):
        assert words in shown.text
    assert (
        "nothing was minimised"
        in Fragment(Certificate(5.0, 5.0, stopped="estimated")).text
    )
    assert "at least 5" in Fragment(Certificate(5.0, None, exact_oracle=False)).text


def test_explanations_show_both_outputs_and_the_reasons():
    reason = Contribution(1, "word=works", "V", "N", 0.75)
    shown = Fragment(
        Explanation(WORDS[:2], ["P", "V"], ["P", "N"], 2.0, 0.75, [reason])
    )
    assert "+0.7500" in shown.words
    assert "ahead of the runner-up by 0.7500" in shown.text
    assert "runner-up blue" in shown.text
    alone = Fragment(TreeExplanation(PHRASE, None, 1.0, np.inf))
    assert "there is no runner-up" in alone.text
    trees = Explanation(WORDS, [], None, 1.0, 1.0, drawn=(WORDS, TREE, TREE))
    assert "advmod" in Fragment(trees).text
    assert "drawn" not in trees.to_dict()


def test_nothing_of_the_data_becomes_markup():
    bad = [HOSTILE]
    reason = Contribution(0, HOSTILE, HOSTILE, HOSTILE, 1.0)
    shown = [
        draw_sequence(bad, bad, truth=["x"]),
        Explanation(bad, bad, ["x"], 1.0, 1.0, [reason]),
        Table.from_sequences([bad]),
        Certificate(1.0, 1.0, stopped=HOSTILE, note=HOSTILE),
        DependencyTree([0], bad),
    ]
    for one in shown:
        html = one._repr_html_()
        assert "<script" not in html
        assert "\x00" not in html
        assert "script" not in Fragment(one).tags


def test_outputs_become_json():
    array = np.empty(2, object)
    array[:] = [["B", "O"], ["O"]]
    assert to_json(array) == '[["B", "O"], ["O"]]'
    assert to_json([TREE]) == (
        '[{"heads": [2, 0, 2], "labels": ["nsubj", "root", "advmod"]}]'
    )
    assert to_json([PHRASE]) == '["(S (NP (PRP it)) (VP (VBZ works)))"]'
    assert to_json([np.array([[0, 1]]), np.float64("nan"), {"a", "b"}]) == (
        '[[[0, 1]], null, ["a", "b"]]'
    )
    assert '"primal": 2.0' in to_json(Certificate(2.0, 2.0))
