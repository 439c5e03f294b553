"""Attachment scores: those of udtools on the same files, and hand-counted cases."""

import io

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from udtools import udeval

from partwise.metrics import (
    arc_length_report,
    clas,
    exact_match,
    las,
    metric,
    relation_report,
    sentence_length_report,
    tree_match,
    uas,
)
from partwise.readers import DependencyTree, read_conllu

LABELS = ["nsubj", "nsubj:pass", "obj", "det", "case", "punct", "acl:relcl", "strange"]


@st.composite
def trees(draw, n):
    order = draw(st.permutations(range(1, n + 1)))
    heads = [0] * n
    for i in range(1, n):
        heads[order[i] - 1] = order[draw(st.integers(0, i - 1))]
    labels = ["root" if head == 0 else draw(st.sampled_from(LABELS)) for head in heads]
    return DependencyTree(heads, labels)


@st.composite
def files(draw):
    """Gold and system files of the same text, with several-word tokens and gaps."""
    texts = ["", ""]
    for _ in range(draw(st.integers(1, 3))):
        n = draw(st.integers(1, 6))
        both = draw(trees(n)), draw(trees(n))
        covered, lines = 0, ([], [])
        for i in range(1, n + 1):
            if i > covered and i < n and draw(st.booleans()):
                covered = draw(st.integers(i + 1, n))
                for side in lines:
                    side.append(f"{i}-{covered}\tmany\t" + "\t".join("_" * 8))
            for side, tree in zip(lines, both, strict=True):
                head, label = tree.heads[i - 1], tree.labels[i - 1]
                fields = [i, f"w{i}", f"l{i}", "X", "_", "_", head, label]
                side.append("\t".join(map(str, [*fields, f"{head}:{label}", "_"])))
            if draw(st.booleans()):
                for side in lines:
                    side.append(f"{i}.1\t_\t_\tX\t_\t_\t_\t_\t{i}:dep\t_")
        for k in range(2):
            texts[k] += "# text = anything\n" + "\n".join(lines[k]) + "\n\n"
    return texts


@settings(max_examples=60)
@given(files())
def test_same_numbers_as_udtools(texts):
    gold, system = (udeval.load_conllu(io.StringIO(text), "x", {}) for text in texts)
    official = udeval.evaluate(gold, system)
    y_true, y_pred = (read_conllu(io.BytesIO(text.encode()))[1] for text in texts)
    assert uas(y_true, y_pred) == pytest.approx(official["UAS"].f1)
    assert las(y_true, y_pred) == pytest.approx(official["LAS"].f1)
    assert clas(y_true, y_pred) == pytest.approx(official["CLAS"].f1)


TRUE = [
    DependencyTree([2, 0, 2, 5, 3], ["nsubj:pass", "root", "obj", "det", "nmod"]),
    DependencyTree([0], ["root"]),
]
FOUND = [
    DependencyTree([2, 0, 2, 3, 3], ["nsubj", "root", "iobj", "det", "nmod"]),
    DependencyTree([0], ["root"]),
]


def test_hand_counted():
    assert uas(TRUE, FOUND) == 5 / 6
    assert las(TRUE, FOUND) == 4 / 6
    assert las(TRUE, FOUND, subtypes=True) == 3 / 6
    assert clas(TRUE, FOUND) == 4 / 5  # det does not count; obj is missed
    assert tree_match(TRUE, FOUND) == exact_match(TRUE, FOUND) == 0.5
    assert tree_match(TRUE[:1], FOUND[:1], labelled=False) == 0.0
    rows = {row.relation: row[1:] for row in relation_report(TRUE, FOUND)}
    assert rows["nsubj"] == (1.0, 1.0, 1.0, 1)
    assert rows["obj"] == (0.0, 0.0, 0.0, 1)
    assert rows["iobj"] == (0.0, 0.0, 0.0, 0)
    assert rows["det"] == (0.0, 0.0, 0.0, 1)
    assert rows["root"] == (1.0, 1.0, 1.0, 2)
    whole = [row.relation for row in relation_report(TRUE, FOUND, subtypes=True)]
    assert "nsubj:pass" in whole
    assert arc_length_report(TRUE, FOUND) == [
        ("root", 1.0, 1.0, 1.0, 2),
        ("1", 2 / 3, 2 / 3, 2 / 3, 3),
        ("2", 1.0, 1.0, 1.0, 1),
    ]
    assert sentence_length_report(TRUE, FOUND) == [("1-5", 5 / 6, 4 / 6, 2)]


def test_lengths_fall_into_their_rows():
    n = 45
    true = DependencyTree([0] + [1] * (n - 1), ["root"] + ["dep"] * (n - 1))
    rows = arc_length_report([true], [true])
    assert [(row.length, row.support) for row in rows] == [
        ("root", 1), ("1", 1), ("2", 1), ("3", 1),
        ("4-6", 3), ("7-10", 4), ("> 10", 34),
    ]  # fmt: skip
    assert [row.length for row in sentence_length_report([true], [true])] == ["> 40"]


@given(st.integers(1, 6).flatmap(lambda n: st.tuples(trees(n), trees(n))))
def test_scores_follow_from_the_reports(pair):
    true, actual = [pair[0]], [pair[1]]
    n = len(pair[0].heads)
    rows = relation_report(true, actual)
    assert las(true, actual) == pytest.approx(
        sum(r.recall * r.support for r in rows) / n
    )
    arcs = arc_length_report(true, actual)
    assert uas(true, actual) == pytest.approx(
        sum(r.recall * r.support for r in arcs) / n
    )
    assert las(true, actual) <= uas(true, actual)
    assert (las(true, actual) == 1) == (exact_match(true, actual) == 1)


@pytest.mark.parametrize(
    ("true", "predicted", "message"),
    [
        ([], [], "holds no word"),
        (TRUE, FOUND[:1], "2 trees but y_pred has 1"),
        ([([0], ["a"])], [([0, 1], ["a", "b"])], "tree 0 .* 1 true heads"),
        ([([0], ["a", "b"])], [([0], ["a"])], "tree 0 .* 2 labels"),
        ([["nsubj", "root"]], [["nsubj", "root"]], r"expected \(heads, labels\)"),
        ([3], [3], r"expected \(heads, labels\)"),
    ],
)
def test_what_is_no_tree_is_refused(true, predicted, message):
    for function in (uas, las, metric("uas").function):
        with pytest.raises(ValueError, match=message):
            function(true, predicted)
