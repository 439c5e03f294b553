"""Part selection against enumeration, and its compiled way against Python."""

import os
import pickle
import subprocess
import sys
from itertools import chain, combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numba import njit
from scipy import sparse
from scipy.optimize import LinearConstraint

from partwise.certificate import certify
from partwise.objective import Formulation, Objective
from partwise.protocol import CapabilityError
from partwise.solvers.bcfw import BCFW
from partwise.structures.loop import LoopProblem
from partwise.structures.parts import PartLoss, PartSelection
from partwise.testing import brute_force_optimum, check_structure


def subsets(n):
    return chain.from_iterable(combinations(range(n), k) for k in range(n + 1))


def all_sets(x):
    features = x[0] if isinstance(x, tuple) else x
    return subsets(features.shape[0])


def pairs(x):
    return [y for y in all_sets(x) if len(y) == 2]


def budget(x):
    """Parts cost 1, 2, 3, …; at most 4 in all, and at least one part."""
    n = x.shape[0]
    return [
        LinearConstraint(np.arange(1, n + 1)[None, :], -np.inf, 4),
        (np.ones((1, n)), 1, np.inf),
    ]


def within_budget(x):
    return [y for y in all_sets(x) if y and sum(p + 1 for p in y) <= 4]


def is_within_budget(x, y):
    return 0 < len(y) and np.sum(y + 1) <= 4


def first_part(x):
    return [0]


def half(x):
    return x.shape[0] // 2


@njit
def positive_parts(scores, shape, selected):
    for p in range(scores.shape[0]):
        selected[p] = scores[p] > 0.0


@njit
def top_parts(scores, shape, selected):
    """The shape[0] best parts; spoils the scores, which it may."""
    for _ in range(shape[0]):
        p = np.argmax(scores)
        selected[p] = 1
        scores[p] = -np.inf


def draw(rng, n_parts, n_features=3):
    return rng.normal(size=(n_parts, n_features))


@pytest.fixture
def rng():
    return np.random.default_rng(0)


# ------------------------------------------------------------------ against brute force


@pytest.mark.parametrize("normalized", [True, False])
def test_milp_with_constraints_passes_every_check(rng, normalized):
    examples = [(draw(rng, 4), [0, 2]), (draw(rng, 3), [2]), (draw(rng, 5), [1])]
    structure = PartSelection(budget, part_loss=PartLoss(normalized))
    report = check_structure(structure, examples, enumerate=within_budget, n_models=6)
    assert report.skipped == ("complete",)


def test_milp_of_fixed_size_passes_every_check(rng):
    examples = [(draw(rng, 4), [0, 2]), (sparse.csr_array(draw(rng, 3)), [1, 2])]
    report = check_structure(
        PartSelection(size=2), examples, enumerate=pairs, n_models=6
    )
    assert "pack[hard, l1]" in report.passed


@pytest.mark.parametrize(
    ("structure", "outputs"),
    [
        (PartSelection(method="top", size=2), pairs),
        (PartSelection(method="positive"), all_sets),
    ],
)
def test_heuristics_without_constraints_are_exact(rng, structure, outputs):
    examples = [(draw(rng, 4), [0, 2]), (draw(rng, 3), [1, 2]), (draw(rng, 2), [0, 1])]
    report = check_structure(structure, examples, enumerate=outputs)
    assert structure.exact_oracle
    assert set(report.skipped) == {"two_best", "complete"}


def test_top_with_truths_of_another_size_has_a_whole_frontier(rng):
    examples = [(draw(rng, 5), [0, 1, 2]), (draw(rng, 3), [])]
    check_structure(PartSelection(method="top", size=2), examples, enumerate=pairs)


@pytest.mark.parametrize("n_parts", [3, 4])
def test_search_stays_within_the_outputs(rng, n_parts):
    examples = [(draw(rng, n_parts), [0, 2])]
    structure = PartSelection(
        method="search", is_valid=is_within_budget, start=first_part
    )
    check_structure(structure, examples, enumerate=within_budget)


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(1, 7))
def test_search_finds_the_best_of_small_budgets(seed, n_parts):
    x = draw(np.random.default_rng(seed), n_parts)
    w = np.ones(3)
    ways = [
        PartSelection(method="search", is_valid=is_within_budget, start=first_part),
        PartSelection(budget, method="search", start=first_part),
        PartSelection(budget),
    ]
    best = max(x[list(y)].sum() for y in within_budget(x))
    scores = [x[s.setup([x], [[0]]).argmax(x, w)].sum() for s in ways]
    assert np.isclose(scores[2], best)
    assert scores[0] == scores[1]
    assert scores[0] >= best - 0.5 * abs(best) and scores[0] <= best + 1e-9


def test_tiny_scores_do_not_make_the_integer_program_inexact(rng):
    x = draw(rng, 6)
    structure = PartSelection(budget).setup([x], [[0]])
    w = np.ones(3)
    assert list(structure.argmax(x, 1e-9 * w)) == list(structure.argmax(x, w))


def test_search_is_deterministic(rng):
    x, w = draw(rng, 8), rng.normal(size=3)
    structure = PartSelection(
        method="search", is_valid=is_within_budget, start=first_part
    )
    first = structure.setup([x], [[0]]).argmax(x, w)
    structure.argmax(x, -w)
    assert list(structure.argmax(x, w)) == list(first)


def test_size_may_depend_on_the_input(rng):
    X = [draw(rng, 4), draw(rng, 6)]
    structure = PartSelection(method="top", size=half).setup(X, [[0, 1], [0, 1, 2]])
    assert [len(structure.argmax(x, np.ones(3))) for x in X] == [2, 3]


@pytest.mark.parametrize(
    "constraints",
    [
        LinearConstraint([[1, 1, 0]], 1, 1),
        ([[1, 1, 0]], 1, 1),
        (sparse.csr_array([[1, 1, 0]]), 1, 1),
        [([[1, 0, 0]], 0, 0), LinearConstraint([[0, 1, 0]], 1, 1)],
        (LinearConstraint([[1, 0, 0]], 0, 0), ([[0, 1, 0]], 1, 1), ([[0, 0, 1]], 0, 1)),
    ],
)
def test_constraints_come_in_several_forms(constraints):
    x = np.array([[1.0], [3.0], [-1.0]])
    structure = PartSelection(constraints).setup([x], [[1]])
    assert list(structure.argmax(x, np.ones(1))) == [1]


def test_scikit_learn_clones_it():
    from sklearn.base import clone

    structure = PartSelection(budget, part_loss=PartLoss(normalized=False))
    twin = clone(structure).set_params(part_loss__normalized=True)
    assert twin.constraints is budget
    assert twin.get_params()["part_loss__normalized"]
    assert not structure.get_params()["part_loss__normalized"]


# --------------------------------------------------------------------- exactness


@pytest.mark.parametrize(
    ("structure", "exact"),
    [
        (PartSelection(), True),
        (PartSelection(budget, method="top", size=1), False),
        (PartSelection(method="positive", is_valid=is_within_budget), False),
        (PartSelection(method="search"), False),
        (PartSelection(decoder=top_parts), True),
        (PartSelection(decoder=top_parts, exact_decoder=False), False),
    ],
)
def test_inexact_methods_say_so(structure, exact):
    assert structure.exact_oracle is exact


@pytest.mark.parametrize(
    "structure",
    [
        PartSelection(method="search", is_valid=is_within_budget, start=first_part),
        PartSelection(decoder=top_parts, exact_decoder=False),
    ],
)
def test_inexact_oracle_reaches_the_certificate(rng, structure):
    X = [draw(rng, 4) for _ in range(3)]
    if structure.decoder is not None:
        X = [(x, [1]) for x in X]
    problem = structure.setup(X, [[0]] * 3).pack(X, [[0]] * 3)
    objective = Objective.create(1.0, 3, "l1")
    state = BCFW(max_iter=5).solve(problem, objective)
    actual = certify(problem, objective, state.model, dual=state.dual)
    assert not actual.exact_oracle
    assert actual.gap is None


# ---------------------------------------------------------------------- refusals


def test_impossible_truth_is_refused_by_number(rng):
    X = [draw(rng, 4), draw(rng, 4)]
    with pytest.raises(ValueError, match="example 1: the true output breaks row 0"):
        PartSelection(budget).setup(X, [[0], [2, 3]])


def test_infeasible_input_is_refused_by_number(rng):
    X = [draw(rng, 4), draw(rng, 1)]
    structure = PartSelection(size=2).setup(X[:1], [[0, 1]])
    with pytest.raises(ValueError, match="example 1: no valid set among 1 parts"):
        structure.decode(X, np.ones(3))


def test_search_without_a_valid_start_names_the_remedy(rng):
    x = draw(rng, 4)
    structure = PartSelection(method="search", is_valid=lambda x, y: len(y) == 3)
    with pytest.raises(ValueError, match="give start="):
        structure.setup([x], [[0, 1, 2]]).argmax(x, np.zeros(3))


@pytest.mark.parametrize(
    ("settings_", "text"),
    [
        ({"method": "best"}, "choose from milp, top"),
        ({"method": "top"}, "needs size"),
        ({"method": "positive", "size": 2}, "use method='top'"),
        ({"is_valid": is_within_budget}, "linear constraints"),
        ({"decoder": top_parts, "size": 2}, "leave out constraints"),
    ],
)
def test_settings_that_contradict_are_refused(rng, settings_, text):
    with pytest.raises(ValueError, match=text):
        PartSelection(**settings_).setup([draw(rng, 3)], [[0]])


@pytest.mark.parametrize("y", [[-1], [3]])
def test_parts_out_of_range_are_refused(rng, y):
    with pytest.raises(ValueError, match=r"must lie in 0…2"):
        PartSelection().setup([draw(rng, 3)], [y])


def test_features_of_different_width_are_refused(rng):
    with pytest.raises(ValueError, match="example 1: parts have 2 features"):
        PartSelection().setup([draw(rng, 3), draw(rng, 3, 2)], [[0], [0]])


def test_missing_frontier_is_named(rng):
    X = [(draw(rng, 3), [1])]
    structure = PartSelection(decoder=top_parts).setup(X, [[0]])
    with pytest.raises(CapabilityError, match="frontier"):
        structure.pack(X, [[0]], Formulation("slack"))


# ----------------------------------------------------------------- compiled decoder


@pytest.mark.parametrize("as_matrix", [np.asarray, sparse.csr_array])
def test_compiled_decoder_passes_every_check(rng, as_matrix):
    examples = [
        ((as_matrix(draw(rng, 4)), [2]), [0, 2]),
        ((as_matrix(draw(rng, 3)), [2]), [1, 2]),
        ((as_matrix(draw(rng, 2)), [2]), []),
    ]
    report = check_structure(
        PartSelection(decoder=top_parts), examples, enumerate=pairs, n_models=8
    )
    assert "pack[margin, l1]" in report.passed


@pytest.mark.parametrize("as_matrix", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize(
    ("decoder", "method", "size"),
    [(positive_parts, "positive", None), (top_parts, "top", 2)],
)
def test_compiled_and_python_ways_agree(rng, as_matrix, decoder, method, size):
    sizes = rng.integers(2, 6, size=20)
    X = [(as_matrix(draw(rng, n)), [2]) for n in sizes]
    Y = [rng.choice(n, size=2, replace=False) for n in sizes]
    compiled = PartSelection(decoder=decoder).setup(X, Y)
    python = PartSelection(method=method, size=size).setup(X, Y)
    objective = Objective.create(5.0, len(X), "l1")
    solver = BCFW(tol=1e-6)
    fast = solver.solve(compiled.pack(X, Y), objective)
    slow = solver.solve(LoopProblem(python, X, Y, Formulation()), objective)
    assert fast.stopped == slow.stopped == "converged"
    assert np.isclose(fast.primal, slow.primal, rtol=3e-6)
    outputs = all_sets if size is None else pairs
    best = brute_force_optimum(python, X, Y, C=5.0, enumerate=outputs)
    assert fast.dual <= best.value + 1e-7 and best.lower <= fast.primal + 1e-7
    for one, other in zip(
        compiled.decode(X, fast.model), python.decode(X, fast.model), strict=True
    ):
        assert list(one) == list(other)


def test_bits_do_not_depend_on_the_number_of_threads(rng):
    X = [(draw(rng, 4), [2]) for _ in range(300)]
    Y = [[0, 1]] * 300
    structure = PartSelection(decoder=top_parts).setup(X, Y)
    w = rng.normal(size=3)
    one = structure.pack(X, Y, n_jobs=1).oracle(w)
    two = structure.pack(X, Y, n_jobs=2).oracle(w)
    assert all(np.array_equal(a, b) for a, b in zip(one, two, strict=True))


def test_compiled_structure_can_be_pickled(rng):
    x = (draw(rng, 4), [2])
    structure = PartSelection(decoder=top_parts).setup([x], [[0, 1]])
    twin = pickle.loads(pickle.dumps(structure))
    assert list(twin.argmax(x, np.ones(3))) == list(structure.argmax(x, np.ones(3)))


def test_inputs_without_shape_are_refused(rng):
    with pytest.raises(ValueError, match="shape integers"):
        PartSelection(decoder=top_parts).setup([draw(rng, 3)], [[0]])


SCRIPT = """
import sys
import numpy as np
from numba import njit
from partwise.objective import Objective
from partwise.solvers.bcfw import BCFW
from partwise.structures import _packed_compiled as _packed_kernels
from partwise.structures.parts import PartSelection

@njit
def decoder(scores, shape, selected):
    {body}

rng = np.random.default_rng(0)
X = [(rng.normal(size=(4, 3)), [2]) for _ in range(5)]
Y = [[0, 1]] * 5
problem = PartSelection(decoder=decoder).setup(X, Y).pack(X, Y)
for _ in range(2):  # compiling may use up the time of a first full pass
    state = BCFW(max_iter=3).solve(problem, Objective.create(1.0, 5, "l1"))
problem.oracle(state.model)
print(sum(_packed_kernels.find_rows.compiled.stats.cache_misses.values()))
"""


@pytest.mark.slow
@pytest.mark.skipif(
    os.environ.get("NUMBA_DISABLE_JIT", "0") == "1", reason="nothing is compiled"
)
def test_another_decoder_does_not_recompile_the_sweep(tmp_path):
    """Two processes, two decoders, one compilation of every kernel of the package."""
    misses, files = [], []
    for body in ("selected[:] = scores > 0", "selected[np.argmax(scores)] = 1"):
        done = subprocess.run(
            [sys.executable, "-c", SCRIPT.format(body=body)],
            env={**os.environ, "NUMBA_CACHE_DIR": str(tmp_path)},
            capture_output=True,
            text=True,
            check=True,
        )
        misses.append(int(done.stdout))
        files.append(sorted(p.name for p in tmp_path.rglob("*.nbc")))
    assert misses[0] > 0 and misses[1] == 0
    assert files[0] == files[1]
