"""Bracket scores: EVALB's answers on hand-made cases, and what must hold on any trees.

The cases have the shapes of the sample that comes with EVALB; the expected counts are
those that it prints for them.
"""

from collections import Counter

import nltk
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binomtest, chi2

from partwise.metrics import (
    EVERYTHING,
    EvalbParameters,
    bracket_decisions,
    bracket_report,
    crossing_brackets,
    evalb,
    exact_match,
    labelled_f1,
    labelled_precision,
    labelled_recall,
    mcnemar,
    metric,
    tag_accuracy,
)
from partwise.metrics.bracketing import bracketing
from partwise.readers import parse_tree

GOLD = "(S (A (P that)) (B (Q was) (A (R one) (T day))))"

# predicted tree; matched, gold and test brackets, crossing, words, correct tags
CASES = {
    "equal": (GOLD, 4, 4, 4, 0, 4, 4),
    "one wrong label":
        ("(S (A (P that)) (B (Q was) (C (R one) (T day))))", 3, 4, 4, 0, 4, 4),
    "one wrong tag":
        ("(S (A (P that)) (B (Q was) (A (R one) (U day))))", 4, 4, 4, 0, 4, 3),
    "both":
        ("(S (C (P that)) (B (Q was) (A (R one) (U day))))", 3, 4, 4, 0, 4, 3),
    "a shorter bracket":
        ("(S (A (P that)) (B (Q was) (R one) (A (T day))))", 3, 4, 4, 0, 4, 4),
    "a crossing bracket":
        ("(S (A (P that) (Q was)) (A (R one) (T day)))", 2, 4, 3, 1, 4, 4),
    "flat": ("(S (P that) (Q was) (R one) (T day))", 1, 4, 1, 0, 4, 4),
    "no bracket that counts":
        ("(TOP (P that) (Q was) (R one) (T day))", 0, 4, 0, 0, 4, 4),
    "a chain of two":
        ("(S (A (P that)) (B (Q was) (A (A (R one) (T day)))))", 4, 4, 5, 0, 4, 4),
    "a chain of five":
        ("(S (A (P that)) (B (Q was) (A (A (A (A (A (R one) (T day))))))))",
         4, 4, 8, 0, 4, 4),
    "a label that is not counted": (f"(TOP {GOLD})", 4, 4, 4, 0, 4, 4),
    "functions and indices":
        ("(S (A-SBJ-1 (P that)) (B=2 (Q was) (A (R one) (T day))))", 4, 4, 4, 0, 4, 4),
    "a trace": (GOLD[:-1] + " (X (-NONE- *)))", 4, 4, 4, 0, 4, 4),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_answers_of_evalb(name):
    text, matched, n_true, n_predicted, crossing, words, tags = CASES[name]
    scores = evalb([parse_tree(GOLD)], [parse_tree(text)])
    assert (scores.n_correct, scores.n_true, scores.n_predicted) == (
        matched, n_true, n_predicted,
    )  # fmt: skip
    assert (scores.n_crossing, scores.n_words, scores.n_right_tags) == (
        crossing, words, tags,
    )  # fmt: skip
    assert scores.n_exact == (matched == n_true == n_predicted)


def test_totals_of_evalb():
    """Recall 76.92, precision 81.63: EVALB adds up before it divides."""
    y_pred = [parse_tree(case[0]) for case in CASES.values()]
    y_true = [parse_tree(GOLD)] * len(y_pred)
    scores = evalb(y_true, y_pred)
    n_correct = 4 + 3 + 4 + 3 + 3 + 2 + 1 + 0 + 4 + 4 + 4 + 4 + 4
    n_predicted = 4 + 4 + 4 + 4 + 4 + 3 + 1 + 0 + 5 + 8 + 4 + 4 + 4
    assert scores.recall == labelled_recall(y_true, y_pred) == n_correct / 52
    assert scores.precision == labelled_precision(y_true, y_pred)
    assert scores.precision == n_correct / n_predicted
    assert (
        scores.f1 == 2 * n_correct / (52 + n_predicted) == labelled_f1(y_true, y_pred)
    )
    assert scores.exact_match == exact_match(y_true, y_pred) == 5 / 13
    assert scores.crossing == crossing_brackets(y_true, y_pred) == 1 / 13
    assert (scores.n_uncrossed, scores.n_nearly_uncrossed) == (12, 13)
    assert scores.tag_accuracy == tag_accuracy(y_true, y_pred) == 50 / 52


def test_punctuation_is_removed_before_positions_are_counted():
    """The comma may hang anywhere, as long as the words are bracketed alike."""
    true = parse_tree("(S (NP (NP (NN Bob)) (, ,) (NP (NN boss)) (, ,)) (VP (VB ran)))")
    high = parse_tree("(S (NP (NP (NN Bob) (, ,)) (NP (NN boss))) (, ,) (VP (VB ran)))")
    assert evalb([true], [high]).f1 == 1.0
    everything = evalb([true], [high], parameters=EVERYTHING)
    assert (everything.n_correct, everything.n_true, everything.n_words) == (3, 5, 5)


def test_adverb_phrase_and_particle_are_one_label():
    true, actual = (parse_tree(f"(VP (VB get) ({a} (RP up)))") for a in ("PRT", "ADVP"))
    assert evalb([true], [actual]).f1 == 1.0
    assert [row.label for row in bracket_report([true], [actual])] == ["ADVP", "VP"]
    strict = EvalbParameters(equal=())
    assert evalb([true], [actual], parameters=strict).n_correct == 1
    chain = EvalbParameters(equal=(("A", "B"), ("B", "C")))
    assert bracketing(parse_tree("(C (X y))"), chain).brackets == {("A", 0, 1): 1}


def test_a_phrase_of_punctuation_alone_is_no_bracket():
    true = parse_tree("(S (X (. .)) (VP (VB go)) (PRN (: --)))")
    assert evalb([true], [parse_tree("(S (. .) (VP (VB go)) (: --))")]).f1 == 1.0


def test_brackets_match_as_multisets():
    two = parse_tree("(S (NP (NP (NN a))))")
    one = parse_tree("(S (NP (NN a)))")
    assert evalb([two], [one])[2:5] == (2, 2, 3)
    assert evalb([one], [two])[2:5] == (2, 3, 2)
    assert evalb([two], [two])[2:6] == (3, 3, 3, 1)


def test_a_failure_misses_every_bracket():
    tree = parse_tree(GOLD)
    scores = evalb([tree, tree], [tree, None])
    assert (scores.n_failures, scores.recall, scores.precision) == (1, 0.5, 1.0)
    assert (scores.exact_match, scores.tag_accuracy) == (0.5, 0.5)


def test_longer_sentences_are_left_out_by_their_words_without_traces():
    long = parse_tree("(S " + "(A b) " * 40 + "(-NONE- *))")
    longer = parse_tree("(S " + "(A b) " * 40 + "(. .))")
    assert evalb([long, longer], [long, None], max_length=40).n_sentences == 1
    assert evalb([longer], [longer], max_length=40) == evalb([], [])
    assert evalb([], []).f1 == evalb([], []).exact_match == 0.0


def test_punctuation_is_told_by_the_true_tags():
    true = parse_tree("(S (VP (VB go)) (. !))")
    actual = parse_tree("(S (VP (. go)) (SYM !))")
    scores = evalb([true], [actual])
    assert (scores.f1, scores.n_words, scores.n_right_tags) == (1.0, 1, 0)


@pytest.mark.parametrize("other", ["(S (A b))", "(S (A a) (B b))", "(S (. .) (A a))"])
def test_other_words_are_refused(other):
    with pytest.raises(ValueError, match=r"tree 0 .* true words, .* same sentences"):
        evalb([parse_tree("(S (A a))")], [parse_tree(other)])
    with pytest.raises(ValueError, match="1 trees but y_pred has 0"):
        evalb([parse_tree("(S (A a))")], [])
    with pytest.raises(ValueError, match=r"tree 0 .*'O'.* is no tree"):
        evalb([["O"]], [["O"]])


def test_trees_of_nltk_are_taken():
    tree = nltk.Tree.fromstring(GOLD)
    assert labelled_f1([tree], [tree]) == exact_match([tree], [tree]) == 1.0
    assert metric("labelled_f1").function([tree], [parse_tree(GOLD)]) == 1.0


@st.composite
def bracketings(draw):
    """Two trees over the same words."""
    n = draw(st.integers(1, 5))

    def grow(i, j, depth):
        if j - i == 1 and (depth > 3 or draw(st.booleans())):
            return (draw(st.sampled_from("XY.")), (f"w{i}",))
        if j - i == 1:
            return (draw(st.sampled_from("AB")), (grow(i, j, depth + 1),))
        cut = draw(st.integers(i + 1, j - 1))
        children = (grow(i, cut, depth + 1), grow(cut, j, depth + 1))
        return (draw(st.sampled_from("ABS")), children)

    return grow(0, n, 0), grow(0, n, 0)


def naive_brackets(tree, deleted):
    """List of (label, indices of the words that count)."""
    actual = []

    def visit(node, at):
        label, children = node
        if isinstance(children[0], str):
            return [at], at + 1
        inside = []
        for child in children:
            words, at = visit(child, at)
            inside += words
        subset = tuple(i for i in inside if i not in deleted)
        if subset:
            actual.append((label, subset))
        return inside, at

    visit(tree, 0)
    return actual


@given(bracketings())
def test_counts_against_sets_of_words(pair):
    true, actual = pair
    tags = [tag for _, tag in parse_tree_tags(true)]
    deleted = {i for i, tag in enumerate(tags) if tag == "."}
    gold, test = (naive_brackets(tree, deleted) for tree in pair)
    scores = evalb([true], [actual])
    assert scores.n_true == len(gold) and scores.n_predicted == len(test)
    assert scores.n_correct == (Counter(gold) & Counter(test)).total()

    def crosses(a, b):
        a, b = set(a), set(b)
        return bool(a & b) and bool(a - b) and bool(b - a)

    assert scores.n_crossing == sum(
        any(crosses(t, g) for _, g in gold) for _, t in test
    )
    rows = bracket_report([true], [actual])
    assert sum(row.support for row in rows) == scores.n_true
    swapped = evalb([actual], [actual])
    assert swapped.f1 in (0.0, 1.0) and swapped.n_crossing == 0


def parse_tree_tags(tree):
    label, children = tree
    if isinstance(children[0], str):
        return [(children[0], label)]
    return [leaf for child in children for leaf in parse_tree_tags(child)]


@given(st.lists(bracketings(), min_size=1, max_size=3))
def test_decisions_of_the_truth_itself_are_all_right(pairs):
    y_true, y_pred = zip(*pairs, strict=True)
    perfect, other = bracket_decisions(y_true, y_true, y_pred)
    scores = evalb(y_true, y_pred)
    assert all(perfect)
    missed = scores.n_true - scores.n_correct
    invented = scores.n_predicted - scores.n_correct
    assert other.count(False) == missed + invented


@given(st.integers(0, 60), st.integers(0, 60))
def test_mcnemar_against_scipy(b, c):
    first = [True] * b + [False] * c + [True, False]
    second = [False] * b + [True] * c + [True, False]
    assert mcnemar(first, second)[:2] == (b, c)
    exact, mid, approximate = (
        mcnemar(first, second, method=method).p_value
        for method in ("exact", "mid-p", "chi2")
    )
    if b + c == 0:
        assert exact == mid == approximate == 1.0
        return
    test = binomtest(b, b + c)
    assert exact == pytest.approx(test.pvalue)
    point = binomtest(min(b, c), b + c, alternative="less").pvalue
    if b != c:
        below = binomtest(min(b, c) - 1, b + c, alternative="less").pvalue if min(
            b, c
        ) else 0.0  # fmt: skip
        assert mid == pytest.approx(point + below)
    statistic = max(abs(b - c) - 1, 0) ** 2 / (b + c)
    assert approximate == pytest.approx(chi2.sf(statistic, 1))


def test_mcnemar_refuses_what_it_cannot_compare():
    with pytest.raises(ValueError, match="choose from mid-p, exact, chi2"):
        mcnemar([True], [True], method="z")
    with pytest.raises(ValueError, match="1 decisions of the first and 2"):
        mcnemar([True], [True, False])
