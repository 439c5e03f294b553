"""Dependency trees: kernels against enumeration and plain Python."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.structures.tree_cases import SECOND, dense, make

from partwise.features._arc_compiled import N_VARIANTS
from partwise.features.arc_reference import arc_rows
from partwise.features.arcs import ArcFeaturizer
from partwise.objective import Formulation
from partwise.protocol import CapabilityError
from partwise.readers import Table
from partwise.scorers.arcs import ArcScorer, n_weights
from partwise.structures.dependency import Arborescence
from partwise.structures.dependency._reference import all_trees
from partwise.structures.dependency.constraints import constrained_tree
from partwise.testing import check_structure
from tree_reference import grandparent_rows, inner_sibling, sibling_rows


@settings(max_examples=10, deadline=None)
@given(st.integers(0, 10_000), st.integers(4, 12), st.sampled_from([None, 7]))
def test_scores_count_what_lies_between(seed, n, hash_bits):
    """Long enough for tags that come back: scores of all arcs against plain sums."""
    rng = np.random.default_rng(seed)
    rows = [[("abc"[rng.integers(3)], "XY"[rng.integers(2)]) for _ in range(n)]]
    table = Table.from_sequences(rows, ["w", "t"])
    heads = [[0] + rng.integers(1, np.arange(2, n + 1)).tolist()]
    templates = "head.t|count.t|dep.t\nbetween.w\ncount.w|dep.t\nhead.w|dep.w"
    featurizer = ArcFeaturizer(templates, hash_bits=hash_bits).fit(table, heads)
    x = featurizer.transform(table)
    problem = Arborescence().pack(x, np.array(heads[0]))
    w = rng.normal(size=n_weights(ArcScorer().bind(x)))
    scores = problem.score_tables(w, 0).arc
    for h in range(n + 1):
        for d in range(1, n + 1):
            if h != d:
                expected = sum(
                    w[row * N_VARIANTS] + w[row * N_VARIANTS + v]
                    for row, v in arc_rows(x, h, d)
                )
                assert scores[h, d] == pytest.approx(expected)


def scores(tree, x, outputs, w):
    return np.array([dense(tree, x, code) @ w for code in outputs])


SETTINGS = [
    {"n_labels": 2, "cost": "las"},
    {},
    {"projective": True, "normalized": True},
    {"n_labels": 2, "projective": True, "cost": 0.5},
    {"n_labels": 2, "projective": True, "cost": "las", "single_root": True},
    {"construction": "best_heads", "n_labels": 2, "cost": "las"},
]


@pytest.mark.parametrize("params", SETTINGS)
@pytest.mark.parametrize("hash_bits", [None, 4])
def test_methods_and_oracles_against_enumeration(params, hash_bits):
    tree, x, y, _ = make(3, hash_bits=hash_bits, **params)
    report = check_structure(tree, list(zip(x, y, strict=True)), n_models=6)
    expected = {"pack[margin, l1]", "joint_feature", "argmax", "loss_augmented_argmax"}
    if params.get("projective"):
        expected |= {"pack[slack, l1]", "pack[margin, l2]", "pack[slack, l2]"}
    if params.get("construction") != "best_heads":
        expected.add("pack[hard, l1]")
    assert expected <= set(report.passed)


trees = st.fixed_dictionaries(
    {
        "seed": st.integers(0, 10_000),
        "n_labels": st.sampled_from([0, 3]),
        "projective": st.booleans(),
        "single_root": st.booleans(),
        "hash_bits": st.sampled_from([None, 6]),
    }
)


@settings(max_examples=15, deadline=None)
@given(trees, st.integers(1, 6))
def test_k_best_is_exact_and_ordered(case, k):
    tree, x, y, w = make(**case, cost="las" if case["n_labels"] else "uas")
    problem = tree.pack(x, y)
    for own, found in zip(x, problem.k_best(w, k), strict=True):
        expected = np.sort(scores(tree, own, tree.enumerate(own), w))[::-1][:k]
        assert [value for _, value in found] == pytest.approx(list(expected))
        assert len({tuple(code) for code, _ in found}) == len(found)
        for code, value in found:
            assert dense(tree, own, code) @ w == pytest.approx(value)
    cuts = problem.k_cuts(w, np.arange(problem.n_blocks), k)
    for i, own in enumerate(x):
        mine = cuts.block == i
        losses = np.array([tree.loss(y[i], code) for code in tree.enumerate(own)])
        lead = dense(tree, own, y[i]) @ w - scores(tree, own, tree.enumerate(own), w)
        expected = np.sort(losses - lead)[::-1][: mine.sum()]
        assert np.sort(cuts.violation[mine])[::-1] == pytest.approx(list(expected))


@settings(max_examples=15, deadline=None)
@given(trees)
def test_probabilities_and_likelihood_are_enumerated_sums(case):
    tree, x, y, w = make(**case)
    problem = tree.pack(x, y)
    tables, log_z = problem.marginals(w)
    weight = np.linspace(0.5, 2, len(x))
    loss, gradient = problem.log_likelihood(w, weight)
    expected_gradient = np.zeros_like(w)
    size = max(tree.n_labels, 1)
    for i, own in enumerate(x):
        outputs = list(tree.enumerate(own))
        psi = np.array([dense(tree, own, code) for code in outputs])
        total = psi @ w
        p = np.exp(total - np.logaddexp.reduce(total))
        assert log_z[i] == pytest.approx(np.logaddexp.reduce(total))
        expected = np.zeros_like(tables[i])
        for mass, code in zip(p, outputs, strict=True):
            expected[code // size, np.arange(1, len(code) + 1)] += mass
        np.testing.assert_allclose(tables[i], expected, atol=1e-10)
        truth = dense(tree, own, y[i])
        assert loss[i] == pytest.approx(log_z[i] - truth @ w)
        expected_gradient += weight[i] * (p @ psi - truth)
    np.testing.assert_allclose(gradient, expected_gradient, atol=1e-10)


@settings(max_examples=15, deadline=None)
@given(trees, st.integers(0, 2**31))
def test_given_heads_are_kept(case, pick):
    tree, x, _, w = make(**case)
    rng = np.random.default_rng(pick)
    size = max(tree.n_labels, 1)
    wanted = [list(tree.enumerate(own)) for own in x]
    wanted = [own[rng.integers(len(own))] // size for own in wanted]
    fixed = np.concatenate(wanted)
    fixed = np.where(rng.random(len(fixed)) < 0.5, fixed, -1)
    problem = tree.pack(x, None)
    codes, value, _ = problem.decode(w, fixed)
    parts = np.split(fixed, problem.blocks.offset[1:-1])
    for i, known in enumerate(parts):
        fitting = [
            code for code in tree.enumerate(x[i])
            if all(k in (-1, h) for k, h in zip(known, code // size, strict=True))
        ]  # fmt: skip
        assert value[i] == pytest.approx(scores(tree, x[i], fitting, w).max())
    assert (codes[fixed >= 0] // size == fixed[fixed >= 0]).all()


def test_labels_of_given_heads():
    tree, x, y, w = make(5, n_labels=3, cost="las", construction="given")
    problem = tree.pack(x, y)
    codes, *_ = problem.decode(w)
    cuts = problem.oracle(w)
    for i, code in enumerate(np.split(codes, problem.blocks.offset[1:-1])):
        outputs = [
            o for o in Arborescence(3).enumerate(x[i]) if (o // 3 == y[i] // 3).all()
        ]
        assert (code // 3 == y[i] // 3).all()
        value = scores(tree, x[i], outputs, w)
        assert dense(tree, x[i], code) @ w == pytest.approx(value.max())
        losses = np.array([tree.loss(y[i], o) for o in outputs])
        worst = losses + value - dense(tree, x[i], y[i]) @ w
        assert cuts.violation[i] == pytest.approx(worst.max())


def second_order_psi(tree, x, code):
    """Ψ with siblings and grandparents."""
    psi = dense(tree, x, code)
    heads = tuple(int(h) for h in np.asarray(code) // max(tree.n_labels, 1))
    for d, h in enumerate(heads, 1):
        rows = list(sibling_rows(x, h, d, inner_sibling(heads, d)))
        if h > 0:
            rows += grandparent_rows(x, h, d, heads[h - 1])
        for row, v in rows:
            psi[row * N_VARIANTS] += 1.0
            psi[row * N_VARIANTS + v] += 1.0
    return psi


@settings(max_examples=15, deadline=None)
@given(st.integers(0, 10_000), st.booleans(), st.booleans(), st.sampled_from([None, 7]))
def test_second_order_trees_against_enumeration(seed, labelled, full, hash_bits):
    tree, x, y, w = make(
        seed, lengths=(3, 1, 4), hash_bits=hash_bits, templates=SECOND,
        n_labels=2 if labelled else 0, cost=0.5, projective=True,
    )  # fmt: skip
    size = max(tree.n_labels, 1)
    rng = np.random.default_rng(seed)
    candidates = []
    for code in y:
        n = len(code)
        for d in range(1, n + 1):
            heads = [h for h in range(n + 1) if h != d]
            kept = set(heads if full else rng.choice(heads, size=min(2, len(heads))))
            kept |= {int(code[d - 1]) // size}
            candidates.append(sorted(kept) + [-1] * (5 - len(kept)))
    problem = tree.pack(x, y, candidates=np.array(candidates))
    codes, value, _ = problem.decode(w)
    cuts = problem.oracle(w)
    several = problem.k_cuts(w, np.arange(problem.n_blocks), 3)
    found = np.split(codes, problem.blocks.offset[1:-1])
    ranked = problem.k_best(w, 4)
    first = 0
    for i, own in enumerate(x):
        n = len(y[i])
        allowed = candidates[first : first + n]
        first += n
        outputs = [
            code for code in tree.enumerate(own)
            if all(h in a for h, a in zip(code // size, allowed, strict=True))
        ]  # fmt: skip
        psi = np.array([second_order_psi(tree, own, code) for code in outputs])
        truth = second_order_psi(tree, own, y[i])
        assert value[i] == pytest.approx((psi @ w).max())
        assert second_order_psi(tree, own, found[i]) @ w == pytest.approx(value[i])
        best = np.sort(psi @ w)[::-1][:4]
        assert [value for _, value in ranked[i]] == pytest.approx(best)
        assert len({tuple(code) for code, _ in ranked[i]}) == len(best)
        for code, score in ranked[i]:
            assert second_order_psi(tree, own, code) @ w == pytest.approx(score)
        tables = problem.score_tables(w, i)
        program = constrained_tree(
            tables.arc, sibling=tables.sibling, grandparent=tables.grandparent,
            projective=True,
        )  # fmt: skip
        assert program.value == pytest.approx(value[i])
        losses = np.array([tree.loss(y[i], code) for code in outputs])
        worst = np.sort(losses + psi @ w - truth @ w)[::-1][:3]
        assert cuts.violation[i] == pytest.approx(worst[0])
        assert several.violation[several.block == i] == pytest.approx(worst)
    plane = problem.combine(cuts, np.ones(len(x)))
    expected = sum(
        second_order_psi(tree, own, y[i]) - second_order_psi(tree, own, code)
        for i, (own, code) in enumerate(zip(x, problem.outputs(cuts), strict=True))
    )
    np.testing.assert_allclose(plane, expected, atol=1e-12)
    np.testing.assert_allclose(
        problem.margins(w, cuts), cuts.b - cuts.violation, atol=1e-9
    )


def test_bits_do_not_depend_on_threads():
    made = make(1, lengths=[2, 3, 1, 4] * 12, n_labels=2, cost="las", projective=True)
    tree, x, y, w = made
    one, two = (tree.pack(x, y, n_jobs=n) for n in (1, 2))
    weight = np.ones(len(x))
    for ours, theirs in zip(one.oracle(w), two.oracle(w), strict=True):
        np.testing.assert_array_equal(ours, theirs)
    cuts = one.oracle(w)
    np.testing.assert_array_equal(one.combine(cuts, weight), two.combine(cuts, weight))
    for ours, theirs in zip(
        one.log_likelihood(w, weight), two.log_likelihood(w, weight), strict=True
    ):
        np.testing.assert_array_equal(ours, theirs)


@pytest.mark.parametrize(
    ("params", "formulation", "text"),
    [
        ({}, Formulation("slack", "l1"), "frontier"),
        ({"projective": True, "n_labels": 2, "cost": 0.3}, Formulation("slack"), "1/3"),
        ({"construction": "best_heads"}, Formulation("hard"), "frontier"),
    ],
)
def test_what_has_no_exact_oracle_is_refused(params, formulation, text):
    tree, x, y, _ = make(0, **params)
    with pytest.raises(CapabilityError, match=text):
        tree.pack(x, y, formulation)


@pytest.mark.parametrize("seed", range(3))
def test_labels_that_cost_nothing_are_outputs_of_their_own(seed):
    """Trees with the true heads and other labels have no loss, and still a score."""
    tree, x, y, _ = make(seed, lengths=(1, 2), n_labels=2, cost="uas", projective=True)
    report = check_structure(tree, list(zip(x, y, strict=True)), n_models=6)
    assert {"pack[margin, l2]", "pack[slack, l1]", "pack[hard, l1]"} <= set(
        report.passed
    )


def test_settings_are_checked():
    _, x, y, _ = make(0)
    with pytest.raises(ValueError, match="cost='f1'"):
        Arborescence(cost="f1").pack(x, y)
    with pytest.raises(ValueError, match="cannot promise"):
        Arborescence(construction="best_heads", projective=True).pack(x, y)
    with pytest.raises(ValueError, match="outside its sentence"):
        Arborescence().pack(x, [np.array([4]), *y[1:]])


@pytest.mark.parametrize("params", [*SETTINGS, {"single_root": True}])
def test_trees_are_counted(params):
    tree, x, _, _ = make(0, lengths=(1, 2, 3), **params)
    for own, n in zip(x, (1, 2, 3), strict=True):
        assert tree.n_outputs(n) == len(list(tree.enumerate(own)))
    if params.get("projective"):
        root = tree.single_root
        expected = len(list(all_trees(6, projective=True, single_root=root)))
        assert tree.n_outputs(6) == expected * max(tree.n_labels, 1) ** 6
