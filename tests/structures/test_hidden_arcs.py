"""Dependency trees of which some heads and labels are hidden, by brute force."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.structures.tree_cases import dense, make

from partwise.datasets import toy_dependencies
from partwise.metrics import uas
from partwise.objective import Formulation, Objective
from partwise.outputs.dependency.estimator import DependencyParser
from partwise.parameters import SettingsError
from partwise.protocol import CapabilityError
from partwise.solvers.cccp import CCCP
from partwise.structures.dependency import Arborescence
from partwise.structures.dependency._oracles import NO_HEAD, NO_LABEL

KINDS = [
    {"projective": True, "single_root": True},
    {"projective": False, "single_root": False},
    {"construction": "best_heads"},
]


def parts(code, size):
    return [divmod(int(c), size) for c in code]


def agrees(code, truth, hidden, size):
    """Whether an output has all that is known of a truth."""
    rows = zip(parts(code, size), parts(truth, size), hidden, strict=True)
    return all(
        (h == g or bits & NO_HEAD) and (k == m or bits & NO_LABEL)
        for (h, k), (g, m), bits in rows
    )


def known_loss(code, truth, hidden, size, label_cost, normalized):
    """Δ of what is known of a truth."""
    total, n_known = 0.0, 0
    nothing = NO_HEAD | NO_LABEL if size > 1 else NO_HEAD
    rows = zip(parts(code, size), parts(truth, size), hidden, strict=True)
    for (h, k), (g, m), bits in rows:
        n_known += (bits & nothing) != nothing
        if h != g and not bits & NO_HEAD:
            total += 1.0
        elif k != m and not bits & NO_LABEL:
            total += label_cost
    return total / max(n_known, 1) if normalized else total


def draw_problem(seed, kind, n_labels, **settings):
    """Truths with random parts hidden, which are 0 there."""
    tree, X, Y, _ = make(seed, n_labels=n_labels, **kind, **settings)
    rng = np.random.default_rng(seed + 1)
    size = max(n_labels, 1)
    most = NO_HEAD | NO_LABEL if n_labels else NO_HEAD
    hidden = [rng.integers(0, most + 1, len(y)).astype(np.uint8) for y in Y]
    hidden[1][0] = NO_HEAD
    masked = [
        np.where(b & NO_HEAD, 0, y // size) * size + np.where(b & NO_LABEL, 0, y % size)
        for y, b in zip(Y, hidden, strict=True)
    ]
    return tree, X, masked, hidden, rng


@pytest.mark.parametrize("kind", KINDS, ids=str)
@settings(max_examples=25, deadline=None)
@given(
    st.integers(0, 10**6), st.sampled_from([0, 2]), st.sampled_from([0.0, 0.5, 1.0]),
    st.booleans(),
)  # fmt: skip
def test_completion_and_oracle_by_brute_force(kind, seed, n_labels, cost, normalized):
    tree, X, Y, hidden, rng = draw_problem(
        seed, kind, n_labels, cost=cost if n_labels else "uas", normalized=normalized
    )
    problem = tree.pack(X, Y, hidden=np.concatenate(hidden))
    size = max(n_labels, 1)
    weights = rng.integers(-1, 2, size=tree.n_psi_).astype(float)  # with ties
    model = problem.expand(weights)
    problem.complete(model)
    cuts = problem.oracle(model)
    done = np.split(problem.blocks.y.copy(), problem.blocks.offset[1:-1])
    for i, (x, y, bits) in enumerate(zip(X, Y, hidden, strict=True)):
        outputs = list(tree.enumerate(x))
        scores = [tree_score(tree, x, code, weights) for code in outputs]
        inside = [
            score
            for code, score in zip(outputs, scores, strict=True)
            if agrees(code, y, bits, size)
        ]
        assert agrees(done[i], y, bits, size)
        assert tree_score(tree, x, done[i], weights) == pytest.approx(max(inside))
        augmented = max(
            known_loss(code, y, bits, size, cost if n_labels else 0.0, normalized)
            + score
            for code, score in zip(outputs, scores, strict=True)
        )
        assert cuts.violation[i] == pytest.approx(augmented - max(inside))
    # completions depend on the model alone
    problem.complete(problem.zero())
    problem.complete(model)
    assert (problem.blocks.y == np.concatenate(done)).all()


def tree_score(tree, x, code, weights):
    return float(dense(tree, x, code) @ weights)


def test_k_most_violated_trees_count_what_is_known():
    for seed in range(5):
        tree, X, Y, hidden, rng = draw_problem(seed, KINDS[0], 2, cost=0.5)
        problem = tree.pack(X, Y, hidden=np.concatenate(hidden))
        weights = rng.normal(size=tree.n_psi_)
        model = problem.expand(weights)
        problem.complete(model)
        best = problem.oracle(model)
        ranked = problem.k_cuts(model, np.arange(3), 4)
        for i in range(3):
            here = ranked.violation[ranked.block == i]
            assert here.max() == pytest.approx(best.violation[i])
            for k in np.flatnonzero(ranked.block == i):
                code = ranked.code[ranked.indptr[k] : ranked.indptr[k + 1]]
                loss = known_loss(code, Y[i], hidden[i], 2, 0.5, False)
                assert ranked.b[k] == pytest.approx(loss)


def test_words_that_are_known_are_a_problem_of_their_own():
    """A word of which anything is hidden stays as it is in all outputs."""
    tree, X, Y, hidden, rng = draw_problem(3, KINDS[0], 2, cost=1.0)
    problem = tree.pack(X, Y, hidden=np.concatenate(hidden))
    known, block = problem.known_problem()
    weights = rng.normal(size=tree.n_psi_)
    cuts = known.oracle(known.expand(weights))
    truths = np.split(known.blocks.y, known.blocks.offset[1:-1])
    every = Arborescence(2, construction="best_heads")
    for i, (x, truth, bits) in enumerate(zip(X, truths, hidden, strict=True)):
        values = [
            sum(a != b for a, b in zip(code, truth, strict=True))
            + tree_score(tree, x, code, weights)
            - tree_score(tree, x, truth, weights)
            for code in every.enumerate(x)
            if all(a == b or not h for a, b, h in zip(code, truth, bits, strict=True))
        ]
        assert cuts.violation[i] == pytest.approx(max(values))
    assert block.tolist() == [0, 1, 2]


def test_refusals():
    tree, X, Y, hidden, _ = draw_problem(1, KINDS[0], 2)
    with pytest.raises(CapabilityError, match="formulation='margin'"):
        tree.pack(X, Y, Formulation("slack", "l1"), hidden=np.concatenate(hidden))
    tree, X, Y, _ = make(0, lengths=(3,), projective=True, single_root=True)
    bits = np.array([0, 0, NO_HEAD], np.uint8)
    with pytest.raises(ValueError, match="tree 0: no tree has its known heads"):
        tree.pack(X, [np.array([2, 1, 0])], hidden=bits)


X_TOY, Y_TOY = toy_dependencies(60, random_state=1)


def partly(share, seed=0):
    rng = np.random.default_rng(seed)
    return [
        (
            [h if rng.random() > share else None for h in tree.heads],
            [k if rng.random() > share else None for k in tree.labels],
        )
        for tree in Y_TOY
    ]


def test_a_parser_learns_from_trees_with_hidden_parts(tmp_path):
    y = partly(0.4)
    parser = DependencyParser(hash_bits=12, C=40.0, tol=0.01).fit(X_TOY[:40], y[:40])
    values = [done.objective for done in parser.rounds_]
    assert len(values) > 1 and values == sorted(values, reverse=True)
    assert uas(Y_TOY[40:], parser.predict(X_TOY[40:])) > 0.7
    parser.save(tmp_path / "m.model")
    again = DependencyParser.load(tmp_path / "m.model")
    assert list(again.predict(X_TOY[40:])) == list(parser.predict(X_TOY[40:]))
    problem = parser.model_.training_problem(X_TOY[:40], y[:40], Formulation())
    model = problem.expand(parser.model_.weights)
    objective = parser.objective_
    primal = 0.5 * problem.dot(model, model)
    primal += float(objective.weight @ np.maximum(problem.oracle(model).violation, 0))
    assert primal == pytest.approx(parser.certificate_.primal, rel=1e-6)


def test_lists_of_heads_make_a_parser_without_labels():
    heads = [tree.heads for tree in Y_TOY]
    parser = DependencyParser(hash_bits=12, tol=0.2).fit(X_TOY[:40], heads[:40])
    assert parser.rounds_ == [] and parser.model_.labels == []
    assert parser.score(X_TOY[40:], Y_TOY[40:]) > 0.8
    with pytest.raises(ValueError, match="neither a pair"):
        parser.fit(X_TOY[:2], [(1, 2, "a"), (0,)])


@pytest.mark.parametrize(
    "settings",
    [{"order": 2}, {"labels": "second_stage"}, {"loss": "log"}, {"match": "upos"}],
    ids=str,
)
def test_what_cannot_complete_trees_says_so(settings):
    with pytest.raises((SettingsError, CapabilityError), match=r"None|hidden"):
        DependencyParser(hash_bits=12, **settings).fit(X_TOY[:10], partly(0.4)[:10])


def test_rounds_never_rise_and_end_below_the_start():
    tree, X, Y, hidden, _ = draw_problem(7, KINDS[0], 2, cost=1.0)
    problem = tree.pack(X, Y, hidden=np.concatenate(hidden))
    objective = Objective.create(3.0, 3, "l1")
    state = CCCP("bcfw", tol=1e-6).solve(problem, objective)
    values = [done.objective for done in state.memo.rounds]
    assert values == sorted(values, reverse=True)
