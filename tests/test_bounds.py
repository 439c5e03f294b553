"""The gate before kernels: what wraps, falls, leads outside or overflows is refused."""

import numpy as np
import pytest
from scipy import sparse

from partwise import (
    DiverseSelector,
    GraphLabeler,
    MeasureClassifier,
    MotifClassifier,
    MulticlassClassifier,
    Ranker,
    SequenceTagger,
)
from partwise.bounds import (
    MAX_FEATURE,
    MAX_WEIGHT,
    check_indices,
    check_magnitude,
    check_offsets,
    check_rising,
    check_sparse,
    read_array,
)
from partwise.features.arrays import DenseFeatures, Features, as_features
from partwise.kernels.matrices import as_matrix
from partwise.objective import MAX_C, MIN_C, Objective
from partwise.readers.table import Column, Table
from partwise.scorers.linear import LinearScorer
from partwise.solvers import SOLVERS
from partwise.structures.chain import Chain
from partwise.structures.matching.structure import CandidatePairs
from partwise.structures.parts._inputs import part_features

HUGE, LOW = 2**63 - 1, -(2**63)


@pytest.mark.parametrize(
    "offset", [[0, HUGE, -2, 5], [0, HUGE, LOW, 5], [0, 3, 2, 5], [1, 5], [0, 4], []]
)
def test_offsets_are_compared_not_subtracted(offset):
    with pytest.raises(ValueError, match=r"words: offsets that (fall|do not go)"):
        check_offsets(np.array(offset, np.int64), 5, "words")


def test_offsets_may_stand_still():
    check_offsets(np.array([0, 0, 5, 5]), 5, "words")
    check_offsets(np.array([0]), 0, "words")


def test_numbers_that_wrap_do_not_rise():
    with pytest.raises(ValueError, match="keys out of order"):
        check_rising(np.array([0, HUGE, LOW]), "keys")
    with pytest.raises(ValueError, match="keys out of order"):
        check_rising(np.array([0, 1, 1]), "keys")
    check_rising(np.array([0, 1, HUGE]), "keys")


def test_indices_have_two_ends():
    for wrong in ([-1, 0], [0, 3]):
        with pytest.raises(ValueError, match="a label out of range"):
            check_indices(np.array(wrong), 3, "a label")
    check_indices(np.array([0, 2]), 3, "a label")
    check_indices(np.zeros(0, int), 0, "a label")


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_magnitudes(dtype):
    for wrong in (np.nan, np.inf, -np.inf):
        with pytest.raises(ValueError, match=r"x: NaN, infinity or a number beyond"):
            check_magnitude(np.array([0.0, wrong], dtype), 1e60, "x")
    check_magnitude(np.array([-3e38, 3e38], dtype), 1e60, "x")
    with pytest.raises(ValueError, match="beyond"):
        check_magnitude(np.array([2.0], dtype), 1.0, "x")


def test_arrays_have_types_and_shapes():
    arrays = {"a": np.zeros((2, 3))}
    assert read_array(arrays, "a", np.float64, None, 3).shape == (2, 3)
    for name, dtype, shape in (
        ("a", np.int64, (2, 3)), ("a", np.float64, ()), ("b", np.float64, ()),
        ("a", np.float64, (2, 2)),
    ):  # fmt: skip
        with pytest.raises(ValueError, match="array"):
            read_array(arrays, name, dtype, *shape)


# ------------------------------------------------------------- matrices of users


def damaged(kind: str, **changes) -> sparse.sparray:
    matrix = getattr(sparse, f"{kind}_array")(np.arange(1.0, 7.0).reshape(2, 3))
    for name, value in changes.items():
        setattr(matrix, name, np.array(value))
    return matrix


DAMAGED = {
    "indptr falls": damaged("csr", indptr=[0, 9, 6]),
    "indptr wraps": damaged("csr", indptr=[0, HUGE, 6]),
    "indptr is negative": damaged("csr", indptr=[0, -5, 6]),
    "indptr begins late": damaged("csr", indptr=[1, 3, 6]),
    "indptr goes on": damaged("csr", indptr=[0, 3, 600]),
    "indptr is short": damaged("csr", indptr=[0, 6]),
    "column 9": damaged("csr", indices=[0, 1, 9, 0, 1, 2]),
    "column -1": damaged("csr", indices=[0, 1, -1, 0, 1, 2]),
    "values missing": damaged("csr", data=[1.0]),
    "by columns": damaged("csc", indices=[0, 9, 0, 1, 0, 1]),
}


@pytest.mark.parametrize("name", DAMAGED)
def test_damaged_sparse_matrices_are_refused_by_all_doors(name):
    matrix = DAMAGED[name]
    for door in (
        lambda X: check_sparse(X, "X"),
        lambda X: as_features([X]),
        as_matrix,
        lambda X: SequenceTagger(max_iter=1).fit([X], [["a", "b"]]),
        lambda X: MulticlassClassifier(max_iter=1).fit(X, ["a", "b"]),
        lambda X: Ranker(max_iter=1).fit([X], [[0, 1]]),
        lambda X: GraphLabeler(max_iter=1).fit([(X, [[0, 1]])], [["a", "b"]]),
        lambda X: DiverseSelector(k=1, max_iter=1).fit([X], [[{1}, {2}]]),
        lambda X: CandidatePairs.create((X, [[0, 0], [0, 1]], (1, 2))),
        part_features,
    ):
        with pytest.raises(ValueError, match="build the sparse matrix again"):
            door(matrix)


def test_room_behind_the_entries_is_no_damage():
    matrix = damaged("csr", indices=[0, 1, 2, 0, 1, 2, 99], data=range(1, 8))
    assert len(as_features([matrix]).indices) == 6


@pytest.mark.parametrize(
    "features",
    [
        Features(np.array([0, HUGE, 2]), np.zeros(2, np.int32), np.ones(1),
                 np.array([0, 2]), 3),
        Features(np.array([0, 1, 2]), np.array([0, 3], np.int32), np.ones(1),
                 np.array([0, 2]), 3),
        Features(np.array([0, 1, 2]), np.zeros(2, np.int32), np.ones(1),
                 np.array([0, 3]), 3),
        DenseFeatures(np.full((2, 3), 1e200), np.array([0, 2])),
        DenseFeatures(np.ones((2, 3)), np.array([0, 9, 2])),
    ],
)  # fmt: skip
def test_features_are_checked_where_they_become_rows(features):
    for door in (LinearScorer().bind, as_matrix):
        with pytest.raises(ValueError, match=r"features|sequences"):
            door(features)


def test_labels_and_codes_out_of_range():
    rows = as_features([np.ones((2, 3))])
    with pytest.raises(ValueError, match="sequence 0 has the label 2"):
        Chain(2).pack(rows, np.array([0, 2]))
    for wrong in (-1, 1):
        column = Column(np.array([0, wrong]), ["a"])
        with pytest.raises(ValueError, match="column 'w': a code out of range"):
            Table({"w": column}, np.array([0, 2]))
    column = Column(np.zeros(5, int), ["a"])
    with pytest.raises(ValueError, match="has no tokens"):
        Table({"w": column}, np.array([0, HUGE, -2, 5]))


# ------------------------------------------------------------- extreme numbers


def extreme(scale: float):
    rng = np.random.default_rng(0)
    X = [scale * rng.normal(size=(4, 3)).clip(-1, 1) for _ in range(6)]
    return X, [[int(label) for label in x[:, 0] > 0] for x in X]


@pytest.mark.parametrize("scale", [1e308, 1e154, 1.01 * MAX_FEATURE / 0.5])
def test_features_that_would_overflow_are_refused(scale):
    with pytest.raises(ValueError, match=r"sequence \d: .* beyond ±1e\+30"):
        SequenceTagger().fit(*extreme(scale))


@pytest.mark.parametrize(
    "X",
    [
        [[{"a": 10**400}]],
        [[{"a": float("nan")}]],
        [[{"a": -1e31}]],
        [[[10**400, 1.0]]],
        [[[1e31, 1.0]]],
    ],
)
def test_numbers_of_every_form_are_refused(X):
    with pytest.raises(ValueError, match=r"sequence 0"):
        SequenceTagger().fit(X, [["a"]])


@pytest.mark.parametrize("C", [1e300, 1e-300, 0, -1, np.nan, np.inf, "1", 10**400])
def test_C_that_would_overflow_is_refused(C):
    with pytest.raises(ValueError, match=r"C must be a positive number, from 1e-100"):
        SequenceTagger(C=C).fit(*extreme(1.0))


@pytest.mark.parametrize(
    "weight", [np.array([1e-300, 1.0]), np.array([1e300, 1e300]), np.array([0.0, 1.0])]
)
def test_sample_weights_that_vanish_are_refused(weight):
    with pytest.raises(ValueError, match="sample_weight"):
        Objective.create(1.0, 2, "l1", weight)


# names that stand for another one here, or that a tagger refuses
OTHERS = {"cccp", "hmm", "pcfg", "voted_perceptron"}


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("solver", sorted(SOLVERS.keys() - OTHERS))
@pytest.mark.parametrize(
    ("scale", "C", "penalty"),
    [
        (MAX_FEATURE, MAX_C, "l1"),
        (MAX_FEATURE, MAX_C, "l2"),
        (MAX_FEATURE, MIN_C, "l1"),
        (1e-300, MAX_C, "l2"),
    ],
)
def test_certificates_at_the_limits_are_finite(solver, scale, C, penalty):
    X, y = extreme(scale)
    loss = "log" if solver == "lbfgs" else "hinge"
    tagger = SequenceTagger(C, solver=solver, penalty=penalty, loss=loss, max_iter=5)
    try:
        tagger.fit(X, y)
    except ValueError:  # a solver may refuse the penalty
        assert penalty == "l2"
        return
    certificate = tagger.certificate_
    numbers = [certificate.primal, certificate.dual, certificate.data_bound]
    assert np.isfinite([n for n in numbers if n is not None]).all()
    assert np.abs(tagger.model_.weights).max() <= MAX_WEIGHT
    assert 0 <= certificate.relative_gap <= 1


@pytest.mark.parametrize("name", ["tol", "time_limit", "eps", "n_jobs"])
def test_parameters_beyond_floating_point_are_refused(name):
    with pytest.raises(ValueError, match=f"{name}=1000"):
        SequenceTagger(**{name: 10**400}).fit([["a", "b"]], [["x", "y"]])


@pytest.mark.parametrize(
    ("label", "text"), [("\ud800", "half a character"), (10**400, "beyond 64 bits")]
)
def test_labels_that_no_file_can_keep_are_refused_before_training(label, text):
    other = "a" if isinstance(label, str) else 1
    with pytest.raises(ValueError, match=text):
        SequenceTagger().fit([["a", "b"]], [[label, other]])
    graph = (np.eye(2), [[0, 1]])
    with pytest.raises(ValueError, match=text):
        GraphLabeler().fit([graph], [[label, other]])
    if isinstance(label, str):  # scikit-learn refuses the number
        with pytest.raises(ValueError, match=text):
            MulticlassClassifier().fit(np.eye(2), [label, other])
        with pytest.raises(ValueError, match=text):
            MeasureClassifier().fit(np.eye(2), [label, other])
        with pytest.raises(ValueError, match=text):
            MotifClassifier(length=2).fit(["ACGT", "GGTT"], [label, other])
