"""Part selections with kernels: against sums over all pairs of parts."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numba import njit
from scipy import sparse
from scipy.optimize import LinearConstraint

from partwise import StructuredSVM
from partwise.features.keys import MatchError
from partwise.kernels import Linear, gram
from partwise.objective import Formulation
from partwise.protocol import CapabilityError
from partwise.scorers.anchors import ForeignData
from partwise.structures.parts import PartSelection

SIZES = [4, 1, 5, 3]


@njit
def two_best_parts(scores, shape, selected):
    for _ in range(min(2, len(scores))):
        best = -1
        for p in range(len(scores)):
            if not selected[p] and (best < 0 or scores[p] > scores[best]):
                best = p
        selected[best] = 1


def pair_of(x):
    n = (x[0] if isinstance(x, tuple) else x).shape[0]
    return min(2, n)


def first_feature(x):
    """Parts are alike when their first features have the same sign."""
    features = x[0] if isinstance(x, tuple) else x
    column = np.asarray(features[:, [0]].todense() if sparse.issparse(features)
                        else features[:, :1]).ravel()  # fmt: skip
    return (column > 0).astype(int)


def some_parts(x):
    """Part 0 has no key; the others alternate."""
    n = (x[0] if isinstance(x, tuple) else x).shape[0]
    return np.arange(n) % 2 - (np.arange(n) == 0)


WAYS = {
    "milp": {"size": pair_of},
    "top": {"method": "top", "size": pair_of},
    "decoder": {"decoder": two_best_parts},
    "constraint": {
        "constraints": lambda x: LinearConstraint(
            np.ones((1, x.shape[0])), 1, pair_of(x)
        )
    },
}
MATCHES = {"none": None, "one": first_feature, "two": [first_feature, some_parts]}


def examples(seed, way):
    rng = np.random.default_rng(seed)
    X = [rng.normal(size=(n, 3)) for n in SIZES]
    true = rng.normal(size=3)
    Y = [np.sort(np.argsort(-((x @ true) ** 2))[:2]) for x in X]
    if way == "decoder":
        X = [(x, [0]) for x in X]
    return X, Y


def same_keys(match, X):
    """How many hash functions agree, for all pairs of parts."""
    n = sum(SIZES)
    if match is None:
        return np.ones((n, n))
    functions = match if isinstance(match, list) else [match]
    total = np.zeros((n, n))
    for function in functions:
        key = np.concatenate([function(x) for x in X])
        total += (key[:, None] == key) & (key >= 0)[:, None]
    return total


@settings(deadline=None, max_examples=20)
@given(
    seed=st.integers(0, 1000),
    way=st.sampled_from(sorted(WAYS)),
    match=st.sampled_from(sorted(MATCHES)),
    kernel=st.sampled_from(["rbf:gamma=0.3", "poly:degree=2", None]),
)
def test_margins_are_sums_over_pairs_of_parts(seed, way, match, kernel):
    if kernel is None and MATCHES[match] is None:
        return
    X, Y = examples(seed, way)
    structure = PartSelection(kernel=kernel, match=MATCHES[match], **WAYS[way])
    structure.setup(X, Y)
    problem = structure.pack(X, Y)
    rows = np.concatenate([x[0] if isinstance(x, tuple) else x for x in X])
    values = same_keys(MATCHES[match], X)
    if kernel is not None:
        values = values * gram(structure.part_kernel().kernel, rows)
    first = np.append(0, np.cumsum(SIZES))
    rng = np.random.default_rng(seed)
    alpha = rng.random(len(X))

    def plane(i, y_hat):
        delta = np.zeros(sum(SIZES))
        delta[first[i] + np.asarray(Y[i])] += 1
        delta[first[i] + np.asarray(y_hat)] -= 1
        return delta

    model = problem.zero()
    total = np.zeros(sum(SIZES))  # a coefficient for each part
    for _ in range(2):  # planes of the zero model, then of a model
        cuts = problem.oracle(model)
        outputs = problem.outputs(cuts)
        planes = np.array([plane(i, y) for i, y in enumerate(outputs)])
        scores = values @ total
        np.testing.assert_allclose(
            problem.margins(model, cuts), planes @ scores, atol=1e-9
        )
        # no set of parts of the same size, or of any that is allowed, does better
        losses = [structure.loss(y, y_hat) for y, y_hat in zip(Y, outputs, strict=True)]
        np.testing.assert_allclose(cuts.violation, losses - planes @ scores, atol=1e-9)
        model = problem.combine(cuts, alpha)
        total = planes.T @ alpha
    scores = values @ total
    square = total @ values @ total
    assert problem.dot(model, model) == pytest.approx(square, abs=1e-9)
    expansion = problem.compact(problem.settle(model))
    actual = np.concatenate(expansion.scores(X))
    np.testing.assert_allclose(actual, scores, atol=1e-9)
    again = problem.expand(expansion)
    np.testing.assert_allclose(again, problem.settle(model), atol=1e-9)


@pytest.mark.parametrize("as_sparse", [False, True])
@pytest.mark.parametrize(
    ("way", "formulation"),
    [
        ("milp", Formulation("margin", "l1")),
        ("milp", Formulation("slack", "l1")),
        ("milp", Formulation("margin", "l2")),
        ("top", Formulation("margin", "l1")),
        ("decoder", Formulation("margin", "l1")),
    ],
)
def test_the_linear_kernel_is_the_linear_model(way, formulation, as_sparse):
    X, Y = examples(3, way)
    if as_sparse:
        X = [
            (sparse.csr_array(x[0]), x[1]) if way == "decoder" else sparse.csr_array(x)
            for x in X
        ]
    named = {"C": 5.0, "tol": 1e-8, "max_iter": 3000}
    named |= {"formulation": formulation.rescaling, "penalty": formulation.penalty}
    linear = StructuredSVM(PartSelection(**WAYS[way]), **named).fit(X, Y)
    kernel = StructuredSVM(PartSelection(kernel="linear", **WAYS[way]), **named)
    kernel.fit(X, Y)
    assert kernel.certificate_.primal == pytest.approx(
        linear.certificate_.primal, rel=1e-6
    )
    for one, other in zip(kernel.predict(X), linear.predict(X), strict=True):
        assert list(one) == list(other)


def test_a_hard_margin_and_two_best():
    X, Y = examples(1, "milp")
    svm = StructuredSVM(
        PartSelection(kernel="rbf", size=pair_of), formulation="hard", tol=1e-4
    ).fit(X, Y)
    assert svm.score(X, Y) == 0.0
    assert svm.certificate_.relative_gap <= 1e-4
    margin = svm.margin(X)
    assert margin[1, 1] == np.inf  # of one part there is one set
    lead = svm.explain(X[0], top=1000)
    assert lead.lead == pytest.approx(margin[0, 1])
    assert sum(share for _, share in lead.reasons) == pytest.approx(lead.lead)
    anchors = svm.coef_.index.anchors
    assert len(svm.coef_) == len(anchors.row)
    assert all(0 <= k < len(anchors.row) for k, _ in lead.reasons)


@pytest.mark.parametrize("way", sorted(WAYS))
def test_a_kernel_learns_what_no_weights_can(way, tmp_path):
    """The true parts are those of large squares, which are no linear scores."""
    rng = np.random.default_rng(0)

    def draw(n):
        X = [rng.normal(size=(6, 2)) for _ in range(n)]
        Y = [np.sort(np.argsort(-(x[:, 0] ** 2))[:2]) for x in X]
        return [(x, [0]) for x in X] if way == "decoder" else X, Y

    X, Y = draw(25)
    X_new, Y_new = draw(20)
    linear = StructuredSVM(PartSelection(**WAYS[way]), C=50.0).fit(X, Y)
    structure = PartSelection(kernel="poly:degree=2", **WAYS[way])
    svm = StructuredSVM(structure, C=50.0).fit(X, Y)
    assert svm.score(X_new, Y_new) > linear.score(X_new, Y_new) + 0.2
    assert len(svm.support_structures()) > 0

    svm.save(tmp_path / "parts.model")
    again = StructuredSVM.load(tmp_path / "parts.model", structure.setup(X, Y))
    for one, other in zip(again.predict(X_new), svm.predict(X_new), strict=True):
        assert list(one) == list(other)
    for one, other in zip(
        again.coef_.scores(X_new), svm.coef_.scores(X_new, 2), strict=True
    ):
        np.testing.assert_array_equal(one, other)
    with pytest.raises(ValueError, match="another kernel"):
        other = PartSelection(kernel="rbf", **WAYS[way]).setup(X, Y)
        StructuredSVM.load(tmp_path / "parts.model", other)


def test_threads_change_no_bit():
    X, Y = examples(0, "decoder")
    one, two = (
        StructuredSVM(
            PartSelection(kernel="rbf", match=first_feature, **WAYS["decoder"]),
            C=5.0, n_jobs=n_jobs,
        ).fit(X, Y)
        for n_jobs in (1, 2)
    )  # fmt: skip
    np.testing.assert_array_equal(one.coef_.weights, two.coef_.weights)
    assert one.certificate_ == two.certificate_


@pytest.mark.parametrize("way", ["milp", "decoder"])
def test_a_warm_start_goes_on(way):
    X, Y = examples(0, way)
    svm = StructuredSVM(
        PartSelection(kernel="rbf", **WAYS[way]), C=5.0, warm_start=True,
        solver="one_slack",
    )  # fmt: skip
    first = svm.fit(X, Y).certificate_.primal
    n_iter = svm.n_iter_
    assert svm.fit(X, Y).certificate_.primal <= first * (1 + 1e-3)
    assert svm.n_iter_ <= n_iter
    with pytest.raises(ForeignData):
        svm.fit(X[::-1], Y[::-1])


@pytest.mark.parametrize(
    ("settings_", "error", "text"),
    [
        ({"kernel": "bow"}, ValueError, "does not compare rows"),
        ({"match": "label"}, MatchError, "give a function of an input"),
        ({"match": lambda x: np.zeros(2)}, MatchError, "one whole number"),
    ],
)
def test_what_is_refused(settings_, error, text):
    X, Y = examples(0, "milp")
    with pytest.raises(error, match=text):
        StructuredSVM(PartSelection(size=pair_of, **settings_)).fit(X, Y)


def test_features_of_outputs_are_refused():
    X, Y = examples(0, "milp")
    structure = PartSelection(kernel=Linear(), size=pair_of).setup(X, Y)
    with pytest.raises(CapabilityError, match="no explicit"):
        structure.joint_feature(X[0], Y[0])
