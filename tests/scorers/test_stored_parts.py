"""Second-order parts from lists: the same as on the fly, tree by tree and together."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from partwise.features.arcs import ArcFeaturizer
from partwise.readers import Table
from partwise.scorers._arc_candidates import CandidateRows
from partwise.scorers._stored_parts import StoredParts
from partwise.scorers.arcs import ArcScorer
from partwise.structures.dependency import Arborescence
from partwise.structures.dependency._reference import all_trees

TEMPLATES = """
head.w|dep.w
head.t|dep.t
dep.w|dep.t[-1]
head.t|between.t|dep.t
head.t|count.t|dep.t
bias
head.t|sib.t|dep.t
sib.w|dep.w
"""
GRANDPARENTS = "grand.t|head.t|dep.t\ngrand.w|dep.t\n"
LABELS = "dep.w\nhead.t\nhead.t|dep.w\nhead.w|dep.w\nbias"
PLENTY = 1e8

cases = st.tuples(
    st.integers(0, 10_000),
    st.lists(st.integers(1, 7), min_size=1, max_size=3),
    st.sampled_from([None, 6, 9]),
    st.sampled_from([0, 3]),
    st.booleans(),  # grandparents
    st.booleans(),  # projective
)


def random_tree(rng, n, projective):
    """Heads of n words; beyond four words each hangs from the one before."""
    trees = list(all_trees(min(n, 4), projective=projective, single_root=False))
    return [*trees[rng.integers(len(trees))], *range(4, n)]


def make(seed, lengths, hash_bits, n_labels, has_grandparents, projective, memory=None):
    """The same problem on the fly and from lists, and a random model of the first."""
    rng = np.random.default_rng(seed)
    rows = [
        [("abc"[rng.integers(3)], "XY"[rng.integers(2)]) for _ in range(n)]
        for n in lengths
    ]
    table = Table.from_sequences(rows, ["w", "t"])
    heads = [random_tree(rng, n, projective) for n in lengths]
    candidates = np.full((sum(lengths), 4), -1)
    rank = 0
    for n, tree in zip(lengths, heads, strict=True):
        for d, h in enumerate(tree, 1):
            others = {d - 1, *rng.integers(n + 1, size=2).tolist()} - {d, h}
            kept = rng.permutation([h, *others])
            candidates[rank, : len(kept)] = kept
            rank += 1
    templates = TEMPLATES + (GRANDPARENTS if has_grandparents else "")
    labels = LABELS if n_labels else ()
    featurizer = ArcFeaturizer(templates, labels, hash_bits=hash_bits)
    features = featurizer.fit(table, heads).transform(table)
    size = max(n_labels, 1)
    y = np.concatenate(heads) * size + rng.integers(size, size=sum(lengths))
    tree = Arborescence(n_labels, projective, False, "las" if n_labels else "uas")
    plain = tree.pack(features, y, candidates=candidates)
    scorer = ArcScorer(PLENTY if memory is None else memory)
    stored = tree.pack(features, y, candidates=candidates, scorer=scorer)
    return plain, stored, rng.normal(size=plain.n_weights), rng


def some_trees(problem, i, rng, projective):
    """Codes of a few trees of candidate arcs, the most violated one among them."""
    begin, end = problem.blocks.offset[i : i + 2]
    size, allowed = problem.blocks.n_labels, problem.blocks.rows.candidates()
    codes = []
    for _ in range(4):
        model = rng.normal(size=problem.n_weights)
        codes.append(problem.outputs(problem.oracle(model, np.array([i])))[0])
    code = codes[0].copy()
    code += rng.integers(size, size=end - begin) - code % size  # other labels
    assert (code[:, None] // size == allowed[begin:end]).any(axis=1).all()
    return [*codes, code.astype(np.int32)]


@settings(max_examples=25, deadline=None)
@given(cases)
def test_lists_and_features_on_the_fly_agree(case):
    plain, stored, w, rng = make(*case)
    assert isinstance(plain.blocks.rows, CandidateRows)
    assert isinstance(stored.blocks.rows, StoredParts)
    own = stored.expand(w)
    for i in range(plain.n_blocks):
        one, other = plain.score_tables(w, i), stored.score_tables(own, i)
        assert (one.grandparent is None) == (other.grandparent is None)
        for left, right in zip(one, other, strict=True):
            if left is not None:
                np.testing.assert_allclose(left, right, atol=1e-9)
    cuts = plain.oracle(w)
    np.testing.assert_allclose(stored.oracle(own).violation, cuts.violation, atol=1e-9)
    np.testing.assert_allclose(
        plain.margins(w, cuts), stored.margins(own, cuts), atol=1e-9
    )
    alpha = rng.random(len(cuts.block))
    both = plain.combine(cuts, alpha), stored.combine(cuts, alpha)
    np.testing.assert_allclose(both[0], stored.compact(both[1]), atol=1e-12)
    assert stored.n_weights <= plain.n_weights


@settings(max_examples=25, deadline=None)
@given(cases, st.booleans())
def test_several_trees_at_once_are_as_one_by_one(case, is_stored):
    plain, stored, w, rng = make(*case)
    problem = stored if is_stored else plain
    model = problem.expand(w)
    blocks, work = problem.blocks, problem.borrow_work()
    for i in range(problem.n_blocks):
        codes = some_trees(problem, i, rng, case[-1])
        together = np.concatenate([[7, 7], *codes]).astype(np.int32)
        out = np.empty(len(codes))
        blocks.margins(work, model, i, together, 2, len(codes), out)
        one_by_one = [blocks.margin(model, i, code) for code in codes]
        np.testing.assert_allclose(out, one_by_one, atol=1e-9)
        coef = rng.normal(size=len(codes))
        coef[1] = 0.0
        one, other = problem.zero(), problem.zero()
        blocks.push_sum(work, one, i, together, 2, len(codes), coef)
        for code, c in zip(codes, coef, strict=True):
            blocks.push(other, i, code, c)
        np.testing.assert_allclose(one, other, atol=1e-12)


@settings(max_examples=25, deadline=None)
@given(cases)
def test_narrow_blocks_and_small_models_work_as_the_others(case):
    _, stored, w, rng = make(*case)
    narrow, w32 = stored.narrow_blocks()
    own = np.round(16 * stored.expand(w)) / 16  # exact in single precision
    w32[:] = own
    none = np.zeros(0)
    cuts, wide = stored._search(narrow, none, None), stored.oracle(own)
    if case[-1]:  # projective: the wide search is exact
        assert (cuts.violation <= wide.violation + 1e-9).all()
    local, scratch = stored.local_blocks, stored.local_zero()
    for i, code in enumerate(stored.outputs(cuts)):
        value = narrow.margin(none, i, code)
        assert value == stored.blocks.margin(own, i, code)
        for other in some_trees(stored, i, rng, case[-1]):
            local.push(scratch, i, other, 1.0)
            model = stored.zero()
            stored.blocks.push(model, i, other, 1.0)
            value = local.margin(scratch, i, code)
            assert value == stored.blocks.margin(model, i, code)
            local.wipe(scratch, i, other)
            assert not scratch[local.rows.arcs.n_table :].any()


@pytest.mark.parametrize("hash_bits", [None, 9])
def test_beyond_the_memory_nothing_is_stored(hash_bits):
    case = 3, [7, 5], hash_bits, 3, True, True
    _, enough, _, _ = make(*case)
    arcs, thirds = enough.blocks.rows.arcs, enough.blocks.rows
    needed = arcs.row.nbytes + 8 * int(arcs.first[-1])
    needed += thirds.first.nbytes + thirds.other.nbytes + thirds.ptr.nbytes
    _, same, _, _ = make(*case, memory=needed + 1000)
    assert isinstance(same.blocks.rows, StoredParts)
    plain, limited, w, _ = make(*case, memory=needed - 4)
    assert isinstance(limited.blocks.rows, CandidateRows)
    np.testing.assert_array_equal(plain.oracle(w).code, limited.oracle(w).code)
