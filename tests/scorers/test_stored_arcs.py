"""Arcs from lists: the same scores as on the fly, and searches among likely heads."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from partwise import DependencyParser
from partwise.certificate import certify
from partwise.checkpoint import read_tree, write_tree
from partwise.datasets import toy_dependencies
from partwise.features.arcs import ArcFeaturizer
from partwise.objective import Formulation, Objective
from partwise.readers import Table
from partwise.scorers._arc_rows import ArcRows
from partwise.scorers._likely_heads import likely_heads
from partwise.scorers._stored_arcs import StoredRows
from partwise.scorers.arcs import ArcScorer
from partwise.solvers.bcfw import BCFW
from partwise.state import Start
from partwise.structures.dependency import Arborescence
from partwise.structures.dependency._reference import all_trees

TEMPLATES = """
head.w|dep.w
head.t|dep.t
head.w
dep.w|dep.t[-1]
head.t|count.t|dep.t
head.t|between.t|dep.t
count.w|dep.t
bias
"""
LABELS = "dep.w\nhead.t\nhead.t|dep.w\nhead.w|dep.w\nhead.t|dep.t\nbias"
PLENTY = 1e8


def make(seed, lengths, hash_bits, n_labels, memory=PLENTY, **params):
    """The same problem on the fly and from lists, and a random model of the first."""
    rng = np.random.default_rng(seed)
    rows = [
        [("abc"[rng.integers(3)], "XY"[rng.integers(2)]) for _ in range(n)]
        for n in lengths
    ]
    table = Table.from_sequences(rows, ["w", "t"])
    heads = []
    for n in lengths:
        trees = list(all_trees(min(n, 4), projective=True, single_root=True))
        tree = trees[rng.integers(len(trees))]
        heads.append([*tree, *range(4, n)])  # further words hang from those before
    labels = LABELS if n_labels else ()
    featurizer = ArcFeaturizer(TEMPLATES, labels, hash_bits=hash_bits)
    features = featurizer.fit(table, heads).transform(table)
    size = max(n_labels, 1)
    y = np.concatenate(heads) * size + rng.integers(size, size=sum(lengths))
    tree = Arborescence(n_labels, **params)
    plain = tree.pack(features, y)
    stored = tree.pack(features, y, scorer=ArcScorer(memory))
    return plain, stored, rng.normal(size=plain.n_weights), rng


cases = st.tuples(
    st.integers(0, 10_000),
    st.lists(st.integers(1, 9), min_size=1, max_size=3),
    st.sampled_from([None, 5, 9]),
    st.sampled_from([0, 3, 6]),
)


@settings(max_examples=25, deadline=None)
@given(cases)
def test_lists_and_features_on_the_fly_agree(case):
    plain, stored, w, rng = make(*case)
    assert isinstance(stored.blocks.rows, StoredRows)
    own = stored.expand(w)
    for i in range(plain.n_blocks):
        one, other = plain.score_tables(w, i).arc, stored.score_tables(own, i).arc
        n = len(one)
        is_arc = ~np.eye(n, dtype=bool) & (np.arange(n) > 0)
        np.testing.assert_allclose(one[is_arc], other[is_arc], atol=1e-9)
    cuts = plain.oracle(w)
    np.testing.assert_allclose(stored.oracle(own).violation, cuts.violation, atol=1e-9)
    np.testing.assert_allclose(
        plain.margins(w, cuts), stored.margins(own, cuts), atol=1e-9
    )
    alpha = rng.random(len(cuts.block))
    both = plain.combine(cuts, alpha), stored.combine(cuts, alpha)
    np.testing.assert_allclose(both[0], stored.compact(both[1]), atol=1e-12)
    np.testing.assert_array_equal(stored.expand(stored.compact(both[1])), both[1])
    assert stored.n_weights <= plain.n_weights


@pytest.mark.parametrize("hash_bits", [None, 9])
def test_beyond_the_memory_nothing_is_stored(hash_bits):
    lengths = [9, 7, 8]
    plain, stored, w, _ = make(3, lengths, hash_bits, 3)
    rows = stored.blocks.rows
    needed = rows.row.nbytes + 8 * int(rows.first[-1])
    # room for one more arc is asked for before its rows are known
    _, enough, _, _ = make(3, lengths, hash_bits, 3, memory=needed + 1000)
    assert isinstance(enough.blocks.rows, StoredRows)
    _, limited, _, _ = make(3, lengths, hash_bits, 3, memory=needed - 4)
    assert isinstance(limited.blocks.rows, ArcRows)
    one, other = plain.oracle(w), limited.oracle(limited.expand(w))
    np.testing.assert_array_equal(one.code, other.code)
    np.testing.assert_array_equal(one.violation, other.violation)


@settings(max_examples=25, deadline=None)
@given(
    st.integers(0, 10_000),
    st.sampled_from([0, 3]),
    st.booleans(),
    st.integers(0, 2),
)
def test_narrow_searches_are_best_among_their_heads(seed, n_labels, projective, extra):
    """Against enumeration; and no bound is claimed."""
    single = {"projective": projective, "single_root": True, "cost": "las"}
    plain, stored, w, _ = make(seed, [4, 3, 1], 9, n_labels, **single)
    w = np.round(16 * w) / 16  # such sums are exact in single precision
    size = max(n_labels, 1)
    truth = stored.blocks.y // size
    blocks, w32 = stored.narrow_blocks()
    heads = likely_heads(stored.blocks.rows, truth, extra)
    assert heads.shape == (len(truth), extra + 2)
    assert (heads == truth[:, None]).any(axis=1).all()
    narrow = blocks._replace(rows=blocks.rows._replace(heads=heads))
    w32[:] = stored.expand(w)
    cuts = stored._search(narrow, np.zeros(0), None)
    exact = plain.oracle(w)
    assert np.isinf(cuts.bound).all()
    assert (cuts.violation <= exact.violation + 1e-9).all()
    for i, code in enumerate(stored.outputs(cuts)):
        begin, n = stored.blocks.offset[i], len(code)
        allowed = heads[begin : begin + n]
        trees = [
            tree
            for tree in all_trees(n, projective=projective, single_root=True)
            if all(h in allowed[t] for t, h in enumerate(tree))
        ]
        assert tuple(code // size) in trees
        tables = plain.score_tables(w, i).arc
        y = stored.blocks.y[begin : begin + n]
        best = max(
            sum(_augmented(tables, h, t, y[t], size) for t, h in enumerate(tree))
            for tree in trees
        )
        gold = sum(tables[y[t] // size, t + 1, y[t] % size] for t in range(n))
        assert np.isclose(cuts.violation[i], best - gold, atol=1e-9)


@settings(max_examples=25, deadline=None)
@given(cases)
def test_narrow_blocks_work_on_their_own_model(case):
    """Sums of planes and margins as on the model in double precision."""
    _, stored, w, _ = make(*case)
    blocks, w32 = stored.narrow_blocks()
    own = np.round(16 * stored.expand(w)) / 16
    cuts = stored.oracle(own)
    w32[:] = own
    none = np.zeros(0)
    codes = list(enumerate(stored.outputs(cuts)))
    margins = [blocks.margin(none, i, code) for i, code in codes]
    np.testing.assert_array_equal(margins, stored.margins(own, cuts))
    for i, code in codes:
        blocks.push(none, i, code, 0.25)
    moved = own + stored.combine(cuts, np.full(stored.n_blocks, 0.25))
    np.testing.assert_array_equal(w32, moved)


@settings(max_examples=25, deadline=None)
@given(cases)
def test_inner_products_by_a_small_model(case):
    """Of several random outputs, sentence by sentence, one model for all of them."""
    _, stored, _, rng = make(*case)
    local, scratch = stored.local_blocks, stored.local_zero()
    n_table = local.rows.n_table
    for i in rng.integers(stored.n_blocks, size=6):
        n = int(np.diff(stored.blocks.offset)[i])
        size = stored.blocks.n_labels
        codes = []
        for _ in range(3):
            heads = (rng.integers(n, size=n) + 1 + np.arange(1, n + 1)) % (n + 1)
            codes.append((heads * size + rng.integers(size, size=n)).astype(np.int32))
        for code in codes:
            local.push(scratch, i, code, 1.0)
            model = stored.zero()
            stored.blocks.push(model, i, code, 1.0)
            for other in codes:
                value = local.margin(scratch, i, other)
                assert value == stored.blocks.margin(model, i, other)
            local.wipe(scratch, i, code)
            assert not scratch[n_table:].any()


def _augmented(tables, h, t, y, size):
    """The best score of an arc with its loss."""
    values = tables[h, t + 1].copy()
    values += 1.0
    if h == y // size:
        values[y % size] -= 1.0
    return values.max()


def test_training_with_lists_ends_at_the_same_optimum():
    plain, stored, _, _ = make(1, [6, 5, 9, 4, 7], 9, 3, projective=True, cost="las")
    objective = Objective.create(5.0, plain.n_blocks, "l1")
    solver = BCFW(tol=1e-6)
    one, other = solver.solve(plain, objective), solver.solve(stored, objective)
    assert stored.narrow_blocks() is not None and plain.narrow_blocks() is None
    assert other.dual <= one.primal + 1e-9 and one.dual <= other.primal + 1e-9
    # the model of one is as good by the searches of the other
    weights = stored.compact(other.model)
    actual = objective.primal(plain.dot(weights, weights), plain.oracle(weights).bound)
    assert np.isclose(actual, other.primal, rtol=1e-9)


def test_a_run_goes_on_between_narrow_sweeps(tmp_path):
    """With the same bits, by the model in single precision that was kept."""
    _, stored, _, _ = make(1, [6, 5, 9, 4, 7], 9, 3, projective=True, cost="las")
    objective = Objective.create(5.0, stored.n_blocks, "l1")
    solver = BCFW(tol=0.1)
    state = solver.begin(stored, objective, Start())
    solver.step(stored, objective, state)
    write_tree(tmp_path / "run", solver.export(state))
    tree = read_tree(tmp_path / "run")
    again = replace(state, memo=solver.restore(stored, objective, tree))
    assert again.memo.dual.is_narrow
    for _ in range(20):
        solver.step(stored, objective, state)
        solver.step(stored, objective, again)
        np.testing.assert_array_equal(state.memo.dual.w, again.memo.dual.w)
    assert not state.memo.dual.is_narrow


def test_certificates_come_from_a_pass_of_their_own():
    """It finds what the solver found, by searches of its own."""
    _, stored, _, _ = make(1, [6, 5, 9, 4, 7], 9, 3, projective=True, cost="las")
    objective = Objective.create(5.0, stored.n_blocks, "l1")
    state = BCFW(tol=0.01).solve(stored, objective)
    assert state.stopped == "converged"
    certificate = certify(stored, objective, state.model, dual=state.dual)
    assert certificate.oracle_calls == stored.n_blocks
    assert certificate.primal == state.primal
    state.model *= 0.5
    changed = certify(stored, objective, state.model, dual=state.dual)
    assert changed.primal > certificate.primal


def test_losses_that_need_other_searches_have_no_narrow_ones():
    plain, *_ = make(1, [4], 9, 0, projective=True)
    formulation = Formulation("slack", "l1")
    stored = plain.structure.pack(
        plain.features, plain.blocks.y, formulation, scorer=ArcScorer(PLENTY)
    )
    assert isinstance(stored.blocks.rows, StoredRows)
    assert stored.narrow_blocks() is None


def test_parsers_with_and_without_lists_predict_alike():
    X, y = toy_dependencies(80, random_state=2)
    settings = {"hash_bits": 12, "tol": 0.001}
    stored = DependencyParser(**settings).fit(X[:60], y[:60])
    plain = DependencyParser(arc_memory=0, **settings).fit(X[:60], y[:60])
    assert len(stored.model_.weights) == len(plain.model_.weights)
    assert stored.certificate_.exact_oracle
    assert stored.certificate_.relative_gap <= 0.001
    same = [
        a.heads == b.heads
        for a, b in zip(stored.predict(X), plain.predict(X), strict=True)
    ]
    assert np.mean(same) > 0.9
    again = DependencyParser(**settings, warm_start=True).fit(X[:60], y[:60])
    again.fit(X[:60], y[:60])
    assert again.certificate_.oracle_calls < stored.certificate_.oracle_calls
