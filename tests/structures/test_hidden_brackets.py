"""Phrase-structure trees of which some brackets are known, by brute force."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.structures.grammar_cases import make, outputs_of

from partwise.datasets import toy_treebank
from partwise.objective import Formulation
from partwise.outputs.phrase.estimator import ConstituencyParser
from partwise.parameters import SettingsError
from partwise.protocol import CapabilityError
from partwise.structures.losses import Brackets
from partwise.structures.phrase import Grammar
from partwise.structures.phrase.partly_known import is_partial


def brackets_of(grammar, tree):
    code = grammar.encode(tree)
    return set(grammar.brackets(code, int(code[1])))


def score(grammar, x, tree, w):
    return float(grammar.joint_feature(x, tree) @ w)


def n_missed(known, tree):
    """Known brackets (label or None, begin, end) that a set of brackets lacks."""
    spans = {(None, *span) for _, *span in tree}
    named = {(None, *span) for label, *span in known if label is not None}
    return len(known - named - tree - spans)


def draw(seed, **params):
    """A grammar, sentences, and truths of which all but one are partly known."""
    grammar, X, trees, _ = make(seed, cost=Brackets(2.0, 0.5), **params)
    rng = np.random.default_rng(seed)
    Y = [trees[0]]
    for tree in trees[1:]:
        known = sorted(brackets_of(grammar, tree))
        subset = [b for b in known if rng.random() < 0.4]
        subset += [(None, *b[1:]) for b in known if rng.random() < 0.3]
        Y.append(subset if subset or rng.random() < 0.5 else None)
    return grammar, X, Y, rng


@settings(max_examples=30, deadline=None)
@given(
    st.integers(0, 10**6), st.sampled_from(["rules", "spans"]),
    st.sampled_from([None, 1]), st.booleans(),
)  # fmt: skip
def test_completion_and_oracle_by_brute_force(seed, features, horizontal, has_ties):
    grammar, X, Y, rng = draw(seed, features=features, horizontal=horizontal)
    if not any(map(is_partial, Y)):
        return
    problem = grammar.pack(X, Y)
    w = rng.normal(size=grammar.n_psi_)
    if has_ties:
        w = rng.integers(-1, 2, size=grammar.n_psi_).astype(float)
    model = problem.expand(w)
    problem.complete(model)
    done, cuts = problem.true_trees(), problem.oracle(model)
    for i, (x, y) in enumerate(zip(X, Y, strict=True)):
        trees = outputs_of(grammar, x)
        if not trees or not is_partial(y):
            continue
        known = set(y or ())
        scores = [score(grammar, x, tree, w) for tree in trees]
        missed = [n_missed(known, brackets_of(grammar, tree)) for tree in trees]
        best = max(s for s, m in zip(scores, missed, strict=True) if not m)
        assert n_missed(known, brackets_of(grammar, done[i])) == 0
        assert score(grammar, x, done[i], w) == pytest.approx(best)
        augmented = max(s + 2.0 * m for s, m in zip(scores, missed, strict=True))
        assert cuts.violation[i] == pytest.approx(augmented - best)
    again = problem.blocks.data.truth.copy()
    problem.complete(problem.zero())
    problem.complete(model)
    assert (problem.blocks.data.truth == again).all()


def test_refusals():
    tree = ("S", (("N", (("a", ("a0",)),)), ("V", (("b", ("b0",)),))))
    x = [("a0", "a"), ("b0", "b")]
    grammar = Grammar(cost="brackets").setup(None, [tree])
    assert grammar.derives(x, [("N", 0, 1)]) and grammar.derives(x, None)
    assert not grammar.derives(x, [("N", 1, 2)])
    assert grammar.derives(x, [(None, 1, 2), (None, 0, 2)])
    with pytest.raises(ValueError, match=r"tree 5: the bracket \[1:3\] is not with"):
        grammar.derives(x, [(None, 1, 3)], 5)
    with pytest.raises(ValueError, match="tree 0: no tree of the grammar has all"):
        grammar.pack([x], [[("N", 1, 2)]])
    with pytest.raises(ValueError, match=r"tree 0: the bracket N\[1:3\] is not within"):
        grammar.pack([x], [[("N", 1, 3)]])
    with pytest.raises(ValueError, match="'X' is not a label"):
        grammar.pack([x], [[("X", 0, 2)]])
    with pytest.raises(CapabilityError, match="cost='brackets'"):
        grammar.pack([x], [None], Formulation("slack", "l1"))
    with pytest.raises(ValueError, match="no tree is complete"):
        grammar.pack([x], [None]).known_problem()


X, Y = toy_treebank(60, random_state=0)
SETTINGS = {"features": "rules", "tol": 0.05, "max_length": 12}


def partly(trees, share, seed=0):
    """Half of the trees whole, of the others a share of their brackets.

    Of half of these only the words are known.
    """
    grammar = Grammar().setup(None, trees)
    rng = np.random.default_rng(seed)
    truths = []
    for i, tree in enumerate(trees):
        known = sorted(brackets_of(grammar, tree))
        is_whole = i % 2 == 0
        subset = [b for b in known if rng.random() < share]
        subset = [b if rng.random() < 0.5 else (None, *b[1:]) for b in subset]
        truths.append(tree if is_whole else subset or None)
    return truths


def test_a_parser_learns_from_trees_that_are_partly_known(tmp_path):
    y = partly(Y[:40], 0.5)
    parser = ConstituencyParser(**SETTINGS).fit(X[:40], y)
    values = [done.objective for done in parser.rounds_]
    assert values and values == sorted(values, reverse=True)
    assert parser.score(X[40:], Y[40:]) > 0.8
    problem = parser.model_.training_problem(X[:40], y, Formulation())
    model = problem.expand(parser.model_.weights)
    primal = 0.5 * problem.dot(model, model)
    slack = np.maximum(problem.oracle(model).violation, 0)
    primal += float(parser.objective_.weight @ slack)
    assert primal == pytest.approx(parser.certificate_.primal, rel=1e-6)
    parser.save(tmp_path / "m.model", keep_dual=True)
    again = ConstituencyParser.load(tmp_path / "m.model")
    assert list(again.predict(X[40:])) == list(parser.predict(X[40:]))


def test_brackets_that_no_tree_has_are_refused_or_left_out():
    with pytest.raises(ValueError, match=r"tree 2: the bracket NP\[0:99\] is not"):
        ConstituencyParser(**SETTINGS).fit(X[:3], [*Y[:2], [("NP", 0, 99)]])
    parser = ConstituencyParser(**SETTINGS)
    with pytest.warns(UserWarning, match="1 of 4 trees .* give more whole trees"):
        parser.fit(X[:4], [*Y[:2], [(None, 0, 1)], [("no label", 0, 1)]])
    assert parser.n_unfit_ == 1


@pytest.mark.parametrize("settings", [{"loss": "log"}, {"solver": "pcfg"}], ids=str)
def test_what_cannot_complete_trees_says_so(settings):
    parser = ConstituencyParser(**SETTINGS | settings)
    with pytest.raises(SettingsError, match="None"):
        parser.fit(X[:40], partly(Y[:40], 0.5))
