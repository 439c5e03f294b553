"""Motifs against enumeration: searches, completions, background, strands."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from partwise import Motif
from partwise.objective import Objective
from partwise.protocol import Forking, Latent, RandomStarts, Structure, offers
from partwise.solvers.bcfw import BCFW
from partwise.solvers.cccp import CCCP
from partwise.structures.motif import Site
from partwise.structures.motif.sequences import encode, n_contexts
from partwise.testing import check_structure

EXAMPLES = [("ACGTAC", 1), ("TTNGA", 0), ("GGG", 1), ("CA", 0), ("ACNNacg", 1)]
COMPLEMENT = str.maketrans("ACGT", "TGCA")


@pytest.mark.parametrize("both_strands", [False, True])
@pytest.mark.parametrize("order", [0, 2])
def test_methods_and_kernels_find_what_enumeration_finds(order, both_strands):
    motif = Motif(length=3, order=order, both_strands=both_strands)
    report = check_structure(motif, EXAMPLES, n_models=8)
    assert {"complete", "frontier", "pack[margin, l1]", "pack[hard, l1]"} <= set(
        report.passed
    )


def test_background_counts_letters_with_those_before():
    sequence = "ACGTNAC"
    _, letter, context = encode([sequence], 2)
    assert letter.tolist() == [0, 1, 2, 3, -1, 0, 1]
    expected = [0, 4 + 1, 20 + 0 * 16 + 4 + 2, 20 + 16 + 2 * 4 + 3, -1, 0, 4 + 1]
    assert context.tolist() == expected
    assert n_contexts(3) == 256 + 64 + 16 + 4
    psi = Motif(2, order=2).setup().joint_feature(sequence, Site(1))
    inside = Motif(2, order=2).setup().joint_feature(sequence, Site(None))
    change = psi - inside
    assert change[[1, 4 + 2]].tolist() == [1, 1]  # C, then G
    assert change[8 + 5] == -1 and change[8 + expected[2]] == -1
    assert np.abs(change).sum() == 4


@settings(max_examples=20, deadline=None)
@given(st.text("ACGT", min_size=4, max_size=12), st.integers(0, 1000))
def test_the_other_strand_is_the_reverse_complement(sequence, seed):
    motif = Motif(3, order=0, both_strands=True).setup()
    w = np.random.default_rng(seed).normal(size=motif.n_psi_)
    w[12:] = 0.0
    turned = sequence.translate(COMPLEMENT)[::-1]
    for position in range(len(sequence) - 2):
        there = Site(len(sequence) - 3 - position)
        here = motif.joint_feature(sequence, Site(position, -1)) @ w
        assert here == pytest.approx(motif.joint_feature(turned, there) @ w)


def posed(n=12, seed=0, n_jobs=1):
    rng = np.random.default_rng(seed)
    X, y = [], []
    for i in range(n):
        x = "".join(rng.choice(list("ACGT"), size=20))
        if i % 2:
            at = int(rng.integers(16))
            x = x[:at] + "ACGT" + x[at + 4 :]
        X.append(x)
        y.append(i % 2)
    motif = Motif(4, order=1).setup(X, y)
    return motif, X, y, Objective.create(10.0 * n, n, "l1")


def test_packed_and_looped_problems_have_one_optimum():
    """At equal completions; later ones depend on exact ties between windows."""
    motif, X, y, objective = posed()
    packed, looped = motif.pack(X, y), Structure.pack(motif, X, y)
    assert offers(packed, Latent) and offers(packed, RandomStarts)
    assert offers(packed, Forking)
    values = []
    for problem in (packed, looped):
        problem.complete(np.random.default_rng(1).normal(size=motif.n_psi_))
        values.append(BCFW(tol=1e-6).solve(problem, objective).primal)
    assert packed.outputs(packed.truths()) == looped.completed
    assert values[0] == pytest.approx(values[1], rel=1e-5)


def test_runs_in_parallel_have_the_same_bits():
    motif, X, y, objective = posed()
    states = [
        CCCP(restarts=3, first="random").solve(motif.pack(X, y, n_jobs=k), objective)
        for k in (1, 2)
    ]
    assert states[0].model.tobytes() == states[1].model.tobytes()
    assert states[0].note == states[1].note


def test_random_completions_are_uniform():
    motif = Motif(3, order=0, both_strands=True, seeds=0).setup()
    problem = motif.pack(["ACGTA"] * 3000, [1] * 3000)
    problem.complete_at_random(np.random.default_rng(0))
    sites = problem.outputs(problem.truths())
    drawn = [(site.position, site.strand) for site in sites]
    _, counts = np.unique(drawn, axis=0, return_counts=True)
    assert len(counts) == 6 and abs(counts / 3000 - 1 / 6).max() < 0.03


def test_sequences_too_short_have_no_motif():
    motif = Motif(4, order=0).setup()
    w = np.ones(motif.n_psi_)
    assert motif.decode(["ACG", ""], w) == [Site(None), Site(None)]
    with pytest.raises(ValueError, match="sequence 1 has 3 letters, too few"):
        motif.pack(["ACGT", "ACG"], [1, 1])
    with pytest.raises(ValueError, match="sequence 0 is of type int"):
        motif.pack([5], [0])
    with pytest.raises(ValueError, match="order=9"):
        Motif(3, order=9).setup()


def test_completions_depend_on_the_model_alone():
    """In ties, too: at zero weights all windows are alike."""
    motif, X, y, _ = posed()
    problem = motif.pack(X, y)
    actual = []
    for seed in (0, 1):
        problem.complete_at_random(np.random.default_rng(seed))
        problem.complete(problem.zero())
        actual.append(problem.truths().code.tolist())
    assert actual[0] == actual[1]
