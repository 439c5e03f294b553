from itertools import pairwise

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.model_selection import cross_val_predict

from partwise import SequenceAligner, load
from partwise.datasets import toy_alignments, toy_homologues
from partwise.metrics import metric, scorer
from partwise.outputs.alignment.file import from_state, to_state
from partwise.readers import SubstitutionMatrix, read_matrix, write_matrix
from partwise.structures.alignment import Alignment

LETTERS = "ARNDCQEGHILKMFPSTWYV"


@pytest.fixture(scope="module")
def data():
    return toy_alignments(30, random_state=0)


@pytest.fixture(scope="module")
def aligner(data):
    return SequenceAligner(tol=0.01).fit(*data)


@pytest.fixture
def identity():
    return SubstitutionMatrix(LETTERS, LETTERS, 6.0 * np.eye(20) - 1.0)


def annotated(X):
    """Strings with a class of each letter, and a one-hot vector of it."""
    classes = {letter: str(k // 5) for k, letter in enumerate(LETTERS)}
    return [
        tuple(
            {
                "residue": x,
                "class": [classes[letter] for letter in x],
                "vector": np.eye(20)[[LETTERS.index(letter) for letter in x]],
            }
            for x in pair
        )
        for pair in X
    ]


def test_learns_to_align(data, aligner):
    assert aligner.certificate_.relative_gap <= 0.01
    X_new, y_new = toy_alignments(20, random_state=1)
    assert aligner.score(X_new, y_new) > 75
    assert metric("q4").function(y_new, aligner.predict(X_new)) > 90
    assert scorer("q")(aligner, *data) > aligner.score(X_new, y_new)
    predicted = aligner.predict(X_new)
    assert predicted.dtype == object and predicted[0].shape[1] == 2


def test_model_is_the_structure_with_codes(data, aligner):
    """The estimator adds nothing to `Alignment` but codes of letters."""
    X, _ = data
    number = {letter: k for k, letter in enumerate(sorted(LETTERS))}
    codes = [tuple(np.array([number[c] for c in x]) for x in pair) for pair in X]
    actual = Alignment((21,), tie_gaps=True).decode(codes, aligner.coef_)
    for one, other in zip(actual, aligner.predict(X), strict=True):
        assert np.array_equal(one, other)


def test_ranks_margins_posteriors(data, aligner):
    X = data[0][:4]
    ranked = aligner.predict_topk(X, 3)
    margin = aligner.margin(X)
    for i, best in enumerate(aligner.predict(X)):
        scores = [score for _, score in ranked[i]]
        assert np.array_equal(ranked[i][0][0], best)
        assert scores == sorted(scores, reverse=True)
        np.testing.assert_allclose(margin[i], [scores[0], scores[0] - scores[1]])
    posterior = aligner.predict_marginals(X)[0]
    assert posterior.shape == tuple(map(len, X[0]))
    assert (posterior.sum(axis=1) <= 1 + 1e-9).all() and posterior.min() >= 0


def test_explanations_sum_to_the_lead(data, aligner):
    X_new, _ = toy_alignments(3, random_state=5)
    for x in X_new:
        explanation = aligner.explain(x, top=10**6)
        assert sum(c.share for c in explanation.contributions) == pytest.approx(
            explanation.lead
        )
        assert explanation.tokens == list(x[0])
    X, y = toy_homologues(6, n_decoys=3)
    chosen = SequenceAligner(mode="local").fit(X, y)
    explanation = chosen.explain(X[0], top=10**6)
    assert sum(c.share for c in explanation.contributions) == pytest.approx(
        explanation.lead
    )
    assert explanation.lead == pytest.approx(chosen.margin(X[:1])[0, 1])


def test_given_and_forbidden_pairs(data, aligner):
    x = data[0][0]
    best = aligner.predict([x])[0].tolist()
    other = aligner.predict([x], forbidden=[best[:1]])[0].tolist()
    assert best[0] not in other
    assert [3, 0] in aligner.predict([x], given=[[[3, 0]]])[0].tolist()


def test_core_pairs_alone_count(data):
    X, y = data
    core = [np.arange(len(pairs)) < 5 for pairs in y]
    one = SequenceAligner(tol=0.01).fit(X, y, core=core)
    reference = [pairs[:5] for pairs in y]
    predicted = one.predict(X)
    assert metric("q").function(reference, predicted) > 95
    whole = SequenceAligner(tol=0.01).fit(X, y)
    assert whole.certificate_.primal != one.certificate_.primal


# ---------------------------------------------------------------------------- start


def test_little_data_change_little_of_a_start(data, identity):
    X, y = data
    start = 0.1 * identity.scores
    settings = {"start": identity, "start_scale": 0.1, "tol": 0.01}
    weak = SequenceAligner(1e-9, **settings).fit(X, y)
    order = [LETTERS.index(letter) for letter in weak.matrix_.rows]
    np.testing.assert_allclose(
        weak.matrix_.scores, start[np.ix_(order, order)], atol=1e-6
    )
    np.testing.assert_allclose(weak.coef_[-2:], [-1.1, -0.1], atol=1e-6)
    strong = SequenceAligner(10.0, **settings).fit(X, y)
    assert strong.certificate_.relative_gap <= 0.01
    assert strong.score(X, y) > weak.score(X, y)


def test_pictures_leave_out_letters_that_training_never_saw(data, identity):
    X, y = data
    known = [(a.replace("W", "A"), b.replace("W", "A")) for a, b in X[:8]]
    made = SequenceAligner(start=identity, tol=0.2).fit(known, y[:8]).model_
    pictures = made.matrices()
    assert list(pictures) == ["Learned", "Start"] and len(made.matrix().rows) == 20
    for table in pictures.values():
        assert "W" not in table.rows and table.scores.shape == (len(table.rows),) * 2
    assert pictures["Start"].score("A", "A") == pytest.approx(0.25)
    made.start = None
    assert "W" in made.matrices()["Learned"].rows
    assert SequenceAligner(templates="residue[1]").fit(X, y).model_.matrices() == {}


def test_start_from_a_file(data, identity, tmp_path):
    write_matrix(tmp_path / "m", identity)
    one = SequenceAligner(start=str(tmp_path / "m"), tol=0.01).fit(*data)
    other = SequenceAligner(start=identity, tol=0.01).fit(*data)
    assert np.array_equal(one.coef_, other.coef_)
    write_matrix(tmp_path / "learned", one.matrix_)
    again = read_matrix(tmp_path / "learned")
    np.testing.assert_allclose(again.scores, one.matrix_.scores, atol=1e-4)
    with pytest.raises(ValueError, match="start= needs a template"):
        SequenceAligner(start=identity, templates="residue[1]").fit(*data)
    with pytest.raises(ValueError, match="hard"):
        SequenceAligner(start=identity, formulation="hard").fit(*data)


@pytest.mark.parametrize("templates", ["simple", "anova2", "tensor+window"])
def test_a_start_scores_the_same_with_any_template(data, identity, templates):
    X, y = data[0][:5], data[1][:5]
    settings = {"C": 1e-12, "start": identity, "solver": "pegasos", "max_iter": 1}
    plain = SequenceAligner(**settings).fit(X, y).model_.align(X)
    rich = annotated(X)
    other = SequenceAligner(templates=templates, **settings).fit(rich, y)
    np.testing.assert_allclose(other.model_.align(rich)[1], plain[1], rtol=1e-6)


def test_gap_weights_of_a_start_serve_all_gap_features(data, identity):
    templates = ["residue", "open: residue", "extend: bias", "extend: residue"]
    made = SequenceAligner(
        1e-9, templates=templates, start=identity, tie_gaps=False, start_scale=1.0
    ).fit(*data)
    scores = {name: w for t, names, w in made.model_.weights_by_label() for name in [t]}
    assert np.allclose(scores["gap of a, open: residue"], -11, atol=1e-5)
    assert np.allclose(scores["gap of b, extend: bias"], -1, atol=1e-5)
    assert np.allclose(scores["gap of b, extend: residue"], 0, atol=1e-5)


# --------------------------------------------------------------------------- models


@pytest.mark.parametrize(
    ("templates", "n_features"),
    [
        ("simple", (21 + 5) ** 2 + 2),
        ("anova2", 105**2 + 2),
        ("tensor", 105**2 + 2),  # two columns: all of them
        ("simple+window", (21 + 6) ** 2 + 4 * 6**2 + 2),  # a class more: the ends
        ("simple+profile", 26**2 + 1 + 2),
        (["residue ~ class", "extend: class"], 21 * 5 + 5),
    ],
)
def test_alignment_models(data, templates, n_features):
    X, y = annotated(data[0][:15]), data[1][:15]
    aligner = SequenceAligner(templates=templates, tol=0.02).fit(X, y)
    counts = aligner.model_.feature_counts()
    assert sum(counts.values()) == len(aligner.coef_) == n_features
    assert aligner.score(X, y) > 70


def test_tensor_of_annotations_beats_letters_alone(data):
    X, y = data
    X_new, y_new = toy_alignments(30, random_state=1)
    plain = SequenceAligner(tol=0.01).fit(X, y)
    rich = SequenceAligner(tol=0.01, templates="simple").fit(annotated(X), y)
    assert rich.score(annotated(X_new), y_new) > plain.score(X_new, y_new) - 3


@pytest.mark.parametrize("mode", ["global", "local", "semiglobal"])
@pytest.mark.parametrize("cost", ["q", "q4", 1, "2"])
def test_modes_and_costs(data, mode, cost):
    made = SequenceAligner(mode=mode, cost=cost, band=20, tol=0.1)
    assert made.fit(data[0][:8], data[1][:8]).score(data[0][:8], data[1][:8]) > 60


def test_likelihood_generative_and_other_solvers(data):
    X, y = data
    for settings in (
        {"loss": "log"}, {"solver": "generative"}, {"solver": "one_slack", "tol": 0.05},
        {"solver": "perceptron", "max_iter": 10},
        {"penalty": "l2", "formulation": "slack", "tol": 0.1},
    ):  # fmt: skip
        assert SequenceAligner(**settings).fit(X[:12], y[:12]).score(X, y) > 60


# --------------------------------------------------------------------------- decoys


def test_homologues_are_found():
    X, y = toy_homologues(20, random_state=0, n_decoys=5)
    made = SequenceAligner(mode="local", metric="homologue_accuracy", tol=0.01).fit(
        X, y
    )
    assert made.score(X, y) == 1.0
    X_new, y_new = toy_homologues(30, random_state=1, n_decoys=5)
    assert made.score(X_new, y_new) > 0.7
    for (chosen, pairs), ranked in zip(
        made.predict(X_new), made.predict_topk(X_new, 2), strict=True
    ):
        assert ranked[0][0][0] == chosen and ranked[0][1] >= ranked[1][1]
        assert np.array_equal(ranked[0][0][1], pairs)
    # a model of candidates aligns pairs, too
    pairs = [(a, candidates[k]) for (a, candidates), (k, _) in zip(X, y, strict=True)]
    assert len(made.predict(pairs)) == 20
    with pytest.raises(ValueError, match="not decoys"):
        made.predict_marginals(X)
    counted = SequenceAligner(mode="local", solver="generative").fit(X, y)
    assert metric("homologue_accuracy").function(y, counted.predict(X)) > 0.7


def test_homologues_of_unknown_alignment(identity):
    X, y = toy_homologues(20, random_state=0, n_decoys=5)
    X_new, y_new = toy_homologues(30, random_state=1, n_decoys=5)
    numbers = [k for k, _ in y]
    settings = {"mode": "local", "metric": "homologue_accuracy", "tol": 0.01}
    for start in (None, identity):
        made = SequenceAligner(start=start, **settings).fit(X, numbers)
        assert made.rounds_ and made.certificate_.is_local
        values = [one.objective for one in made.rounds_]
        assert all(b <= a + 1e-9 for a, b in pairwise(values))
        assert made.score(X_new, y_new) > 0.7
        predicted = made.predict(X)
        assert metric("q").function(y, list(predicted)) > 50
    half = [pair if i % 2 else (pair[0], None) for i, pair in enumerate(y)]
    assert SequenceAligner(**settings).fit(X, half).score(X_new, y_new) > 0.7
    assert not SequenceAligner(**settings).fit(X, y).rounds_


def test_truths_without_an_alignment_are_refused():
    X, y = toy_homologues(3, n_decoys=2)
    with pytest.raises(ValueError, match=r"y\[1\] names no homologue"):
        SequenceAligner().fit(X, [y[0], None, y[2]])
    with pytest.raises(ValueError, match="without None in y"):
        SequenceAligner(solver="generative").fit(X, [y[0], 1, y[2]])
    pairs = [(a, b[0]) for a, b in X]
    with pytest.raises(ValueError, match=r"y\[0\] has no alignment"):
        SequenceAligner().fit(pairs, [None] * 3)


# --------------------------------------------------------------- files and bad input


def test_files(data, aligner, identity, tmp_path):
    X, y = data
    aligner.save(tmp_path / "m")
    again = SequenceAligner.load(tmp_path / "m")
    assert np.array_equal(again.coef_, aligner.coef_)
    assert again.get_params()["tol"] == 0.01 and again.get_params()["templates"] is None
    assert load(tmp_path / "m").structure.mode == "global"
    started = SequenceAligner(start=identity, tol=0.02, mode="semiglobal").fit(X, y)
    started.save(tmp_path / "s")
    other = SequenceAligner.load(tmp_path / "s")
    assert np.array_equal(other.model_.start, started.model_.start)
    rich = SequenceAligner(templates="simple+profile", tol=0.1).fit(annotated(X), y)
    rich.save(tmp_path / "r")
    new = annotated(toy_alignments(3, random_state=2)[0])
    for one, two in zip(
        SequenceAligner.load(tmp_path / "r").predict(new),
        rich.predict(new),
        strict=True,
    ):
        assert np.array_equal(one, two)


@pytest.mark.parametrize(
    ("part", "change"),
    [
        ("options", {"mode": "lokal"}),
        ("options", {"cost": "x"}),
        ("options", {"cost": -1}),
        ("options", {"tie_gaps": 1}),
        ("options", {"band": -1}),
        ("options", {"band": 2**40}),
        ("options", {"free_ends": [3]}),
        ("options", {"free_ends": ["c_end"], "mode": "semiglobal"}),
        ("options", {"sizes": [3]}),
        ("featurizer", {"templates": ["residue ~ other"]}),
        ("featurizer", {"templates": ["residue", "residue[1]"]}),
        ("featurizer", {"columns": [["x"], ["x"]]}),
        ("featurizer", {"values": [["A", "C"]]}),
        ("arrays", {"weights": np.zeros(7)}),
        ("arrays", {"weights": np.full(443, np.nan)}),
        ("arrays", {"weights": np.zeros(443, np.int64)}),
        ("arrays", {"start": np.zeros(442)}),
        ("arrays", {"start": np.full(443, 1e99)}),
    ],
)
def test_forged_files_are_refused(aligner, part, change):
    settings, arrays = to_state(aligner.model_)
    from_state(settings, arrays, {})
    if part == "arrays":
        arrays |= change
    else:
        settings[part] = settings[part] | change
    with pytest.raises(ValueError):
        from_state(settings, arrays, {})


def test_bad_input_is_refused(data, aligner):
    X, y = data
    for settings, message in (
        ({"cost": "q5"}, "cost='q5'"),
        ({"mode": "lokal"}, "did you mean 'local'"),
        ({"band": -1}, "band=-1"),
        ({"start_scale": 0}, "start_scale=0"),
        ({"metric": "uas"}, "measures dependencies"),
        ({"templates": "residue ~ ["}, "line 1"),
        ({"templates": "anova2"}, "2 columns"),
        ({"free_ends": ["x"], "mode": "semiglobal"}, "free_ends"),
        ({"start": "no such file"}, "no such file"),
    ):
        with pytest.raises(ValueError, match=message):
            SequenceAligner(**settings).fit(X, y)
    with pytest.raises(ValueError, match="y has 1 items where X has 30"):
        SequenceAligner().fit(X, y[:1])
    with pytest.raises(ValueError, match=r"X\[0\]: give a pair"):
        SequenceAligner().fit(["MK"], y[:1])
    with pytest.raises(ValueError, match="mixes"):
        SequenceAligner().fit([X[0], (X[1][0], [X[1][1]])], y[:2])
    with pytest.raises(ValueError, match="outside of the sequences"):
        SequenceAligner().fit([("M", "K")], [[(0, 1)]])
    with pytest.raises(ValueError, match="rise"):
        SequenceAligner().fit([("MK", "MK")], [[(1, 0), (0, 1)]])
    with pytest.raises(ValueError, match=r"X\[0\]: b has no tokens"):
        SequenceAligner().fit([("MK", "")], [[]])


def test_empty_inputs_have_empty_outputs(aligner):
    """Of batches, and of sequences in them, whatever is asked."""
    assert len(aligner.predict([])) == len(aligner.predict_topk([], 2)) == 0
    assert aligner.margin([]).shape == (0, 2) and aligner.predict_marginals([]) == []
    X = [("MKV", ""), ("", "MKV"), ("", ""), ("MKV", "MKV")]
    assert [pairs.shape for pairs in aligner.predict(X)] == [(0, 2)] * 3 + [(3, 2)]
    assert [len(ranked) for ranked in aligner.predict_topk(X, 2)] == [1, 1, 1, 2]
    assert [p.shape for p in aligner.predict_marginals(X)][:3] == [
        (3, 0),
        (0, 3),
        (0, 0),
    ]
    assert np.isinf(aligner.margin(X)[:3, 1]).all()
    assert aligner.explain(X[0]).winner == ["-"] * 3
    assert aligner.explain(X[1]).winner == []
    chosen = aligner.predict([("MKV", ["", "MKV"]), ("", ["MK", "M", ""])])
    assert [(k, len(pairs)) for k, pairs in chosen] == [(1, 3), (2, 0)]


def test_scikit_learn_and_bits(data, aligner):
    X, y = data
    assert clone(aligner).get_params()["tol"] == 0.01
    rows = np.empty(len(X), object)
    rows[:] = X
    truth = np.empty(len(y), object)
    truth[:] = y
    predicted = cross_val_predict(SequenceAligner(tol=0.1), rows, truth, cv=2)
    assert metric("q").function(y, predicted) > 60
    two = SequenceAligner(tol=0.01, n_jobs=2).fit(X, y)
    assert np.array_equal(two.coef_, aligner.coef_)
    warm = SequenceAligner(tol=0.01, warm_start=True).fit(X, y)
    before = warm.n_iter_
    assert warm.fit(X, y).n_iter_ <= before


def test_candidates_may_be_masked():
    X, y = toy_homologues(10, random_state=0, n_decoys=3)
    finder = SequenceAligner(C=0.1, mode="local", metric="homologue_accuracy").fit(X, y)
    first = finder.predict(X)
    forbidden = [
        [pairs if k == number else None for k in range(4)] for number, pairs in first
    ]
    for (number, pairs), (other, others) in zip(
        first, finder.predict(X, forbidden=forbidden), strict=True
    ):
        lost = set(map(tuple, pairs.tolist())) & set(map(tuple, others.tolist()))
        assert number != other or not lost
    given = [[None, [(0, 0)], None, None]] * 10
    for number, pairs in finder.predict(X, given=given):
        assert number != 1 or pairs[0].tolist() == [0, 0]
