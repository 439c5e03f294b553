import io
import json

import numpy as np
import pytest
from scipy.sparse import csr_array

from partwise import AssignmentMatcher, load
from partwise.cli.app import run
from partwise.datasets import toy_matchings
from partwise.outputs.matching.metrics import pair_f1, pair_precision, pair_recall
from partwise.readers import ReaderError
from partwise.readers.pairs import read_pairs

HEADER = "example\tleft\tright\tmatch\tdx\tdy\tnear\tnoise\n"


def write(path, X, y, *, has_match=True):
    lines = [HEADER if has_match else HEADER.replace("\tmatch", "")]
    for i, (x, partners) in enumerate(zip(X, y, strict=True)):
        for a, b in np.ndindex(x.shape[:2]):
            match = f"\t{int(partners[a] == b)}" if has_match else ""
            features = "\t".join(map(repr, x[a, b].tolist()))
            lines.append(f"{i}\ta{a}\tb{b}{match}\t{features}\n")
    path.write_text("".join(lines), encoding="utf-8")


def test_it_learns_to_match():
    X, y = toy_matchings(60)
    X_new, y_new = toy_matchings(40, random_state=1)
    matcher = AssignmentMatcher().fit(X, y)
    nearest = [np.argmin(x[:, :, :2].sum(axis=2), axis=1) for x in X_new]
    assert matcher.score(X_new, y_new) > pair_f1(y_new, nearest) + 0.02
    assert matcher.certificate_.exact_oracle
    assert matcher.certificate_.relative_gap <= 1e-3
    assert all(sorted(best.tolist()) == list(range(6)) for best in matcher.predict(X))


def test_dense_sparse_and_listed_pairs_agree():
    X, y = toy_matchings(15)
    pairs = np.array(list(np.ndindex(6, 6)))
    listed = [(csr_array(x.reshape(36, 4)), pairs, (6, 6)) for x in X]
    dense = AssignmentMatcher(tol=1e-8).fit(X, y)
    sparse = AssignmentMatcher(tol=1e-8).fit(listed, y)
    np.testing.assert_allclose(dense.coef_, sparse.coef_, atol=1e-3)
    again = AssignmentMatcher(tol=1e-8).fit(
        X, [np.stack([np.arange(6), p], 1) for p in y]
    )
    np.testing.assert_array_equal(dense.coef_, again.coef_)


def test_items_may_stay_alone():
    X, y = toy_matchings(60)
    # the copies of two points are lost
    X = [np.delete(x, p[:2], axis=1) for x, p in zip(X, y, strict=True)]
    y = [
        np.array([-1, -1, *(int(np.sum(np.delete(p, [0, 1]) < q)) for q in p[2:])])
        for p in y
    ]
    matcher = AssignmentMatcher(unmatched=True, invented=0.5).fit(X, y)
    predicted = matcher.predict(X)
    assert any((best < 0).any() for best in predicted)
    assert pair_precision(y, predicted) > 0.7 and pair_recall(y, predicted) > 0.5
    assert len(matcher.coef_) == 5  # with what a pair must score at least
    with pytest.raises(ValueError, match=r"example 0: 2 items have no partner"):
        AssignmentMatcher().fit([np.zeros((4, 4, 1))], [[0, 1, -1, -1]])


def test_impossible_and_foreign_inputs_are_named():
    X, y = toy_matchings(10)
    matcher = AssignmentMatcher().fit(X, y)
    lonely = (np.ones((2, 4)), [(0, 0), (1, 0)], (2, 2))
    with pytest.raises(ValueError, match="example 0: its candidate pairs have no"):
        matcher.predict([lonely])
    with pytest.raises(ValueError, match="example 1 has 3 features where 4 were"):
        matcher.predict([X[0], X[0][:, :, :3]])
    for x in (lonely[:2], (*lonely[:2], 2, 2), (*lonely[:2], 2)):
        with pytest.raises(ValueError, match=r"example 0: a tuple is \(feat"):
            matcher.predict([x])
    with pytest.raises(ValueError, match="missed=-1"):
        AssignmentMatcher(missed=-1).fit(X, y)


def test_examples_without_items_or_pairs():
    X, y = toy_matchings(10)
    matcher = AssignmentMatcher().fit(X, y)
    none = [np.zeros((n, m, 4)) for n, m in ((0, 0), (0, 3), (2, 0))]
    predicted = matcher.predict([*none, X[0]])
    assert [each.tolist() for each in predicted[:3]] == [[], [], [-1, -1]]
    assert predicted[3].tolist() == matcher.predict(X[:1])[0].tolist()
    empty = (np.zeros((0, 4)), [], (2, 2))
    with pytest.raises(ValueError, match="example 1: its candidate pairs have no"):
        matcher.predict([X[0], empty])
    with pytest.raises(ValueError, match="example 1 has no candidate pairs; leave it"):
        matcher.margin([X[0], none[0]])
    with pytest.raises(ValueError, match="example 0 has no candidate pairs; leave it"):
        AssignmentMatcher().fit(none[:1], [[]])
    single = AssignmentMatcher(unmatched=True).fit(X, y)
    assert single.predict([empty])[0].tolist() == [-1, -1]


def test_ranked_matchings_and_reasons():
    X, y = toy_matchings(10)
    matcher = AssignmentMatcher().fit(X, y)
    ranked = matcher.predict_topk(X[:1], 3)[0]
    scores = [score for _, score in ranked]
    assert scores == sorted(scores, reverse=True)
    np.testing.assert_allclose(
        matcher.margin(X[:1])[0], [scores[0], scores[0] - scores[1]]
    )
    explanation = matcher.explain(X[0])
    shares = sum(reason.share for reason in explanation.contributions)
    assert shares == pytest.approx(explanation.lead)


def test_command_line(tmp_path, capsys):
    train, new, model = (tmp_path / name for name in ("a.tsv", "b.tsv", "m"))
    X, y = toy_matchings(20)
    write(train, X, y)
    write(new, *toy_matchings(5, random_state=2))
    report = tmp_path / "r.html"
    command = ["train", "match", str(train), "--model", str(model)]
    assert run([*command, "--report", str(report), "--json"]) == 0
    assert "Matcher" in report.read_text(encoding="utf-8")
    assert run(["evaluate", str(model), str(new), "--json"]) == 0
    printed = capsys.readouterr().out.splitlines()
    assert json.loads(printed[-1])["metrics"]["pair_f1"] > 0.7
    assert run(["verify", str(model), str(train)]) == 0
    assert run(["predict", str(model), str(new), "--output", str(tmp_path / "p")]) == 0
    assert len((tmp_path / "p").read_text().splitlines()) == 30
    assert run(["explain", str(model), str(new), "--json"]) == 0
    assert run(["inspect", str(model)]) == 0
    loaded = load(model)
    np.testing.assert_array_equal(
        loaded.predict(X)[0], AssignmentMatcher.load(model).predict(X)[0]
    )
    bare = tmp_path / "bare.tsv"
    write(bare, X[:2], y[:2], has_match=False)
    assert run(["predict", str(model), str(bare), "--json"]) == 0
    assert run(["evaluate", str(model), str(bare)]) == 2
    assert "must name the columns" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        ("", "no line with a pair"),
        ("left\tright\n", ":1: the first line must name"),
        (HEADER + "1\ta\tb\n", ":2: 3 columns where the first line has 8"),
        (HEADER + "1\ta\tb\t2\t0\t0\t0\t0\n", ":2: match '2': give 0 or 1"),
        (HEADER + "1\ta\tb\t1\t0\tnan\t0\t0\n", ":2: 'nan' is no finite number"),
        (HEADER + 2 * "1\ta\tb\t0\t0\t0\t0\t0\n", ":3: the pair stands twice"),
        (
            HEADER + "1\ta\tb\t1\t0\t0\t0\t0\n1\ta\tc\t1\t0\t0\t0\t0\n",
            ":3: an item is in two true pairs",
        ),
    ],
)
def test_bad_tables_are_named(lines, message):
    with pytest.raises(ReaderError, match=message):
        read_pairs(io.BytesIO(lines.encode()))
