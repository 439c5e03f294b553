"""`SequenceTagger(segments=True)`: features of segments, files, the command line."""

import json

import numpy as np
import pytest

from partwise import SequenceTagger, load
from partwise.cli.app import run
from partwise.datasets import toy_entities
from partwise.features.segments import SegmentFeaturizer
from partwise.outputs.segments.file import from_state, to_state
from partwise.protocol import CapabilityError
from partwise.readers import ReaderError, Table, write_columns
from partwise.readers.phrases import read_phrases

X, Y = toy_entities(60)
NEW, TRUTH = toy_entities(30, random_state=1)
SMALL = {"templates": "word[-1..1]\nshape(word)", "tol": 0.01}


@pytest.fixture(scope="module")
def tagger():
    return SequenceTagger(**SMALL, segments=True, gazetteers={"a": ["acme"]}).fit(X, Y)


def test_it_learns_and_says_how_well(tagger):
    assert tagger.certificate_.exact_oracle
    assert tagger.certificate_.relative_gap <= 0.01
    assert tagger.score(X, Y) > 0.99
    types = tagger.model_.states
    assert sorted(types) == ["LOC", "O", "ORG", "PER"]
    assert tagger.transitions_.shape == (4, 4)
    n_features = len(tagger.feature_names_)
    assert tagger.coef_.shape == (12, n_features)
    names = tagger.model_.scoring.spans.feature_names_
    assert names[0] == "gazetteer=a" and "lower(word)[0]=acme" in names


def test_several_best_marginals_and_margins_agree(tagger):
    ranked = tagger.predict_topk(NEW, 3)
    best = tagger.predict(NEW)
    for one, labels, (score, lead) in zip(
        ranked, best, tagger.margin(NEW), strict=True
    ):
        assert one[0] == (labels, pytest.approx(score))
        assert one[0][1] - one[1][1] == pytest.approx(lead)
        assert len({tuple(labels) for labels, _ in one}) == 3
    for table, row in zip(tagger.predict_marginals(NEW), NEW, strict=True):
        assert table.shape == (len(row), 7)
        np.testing.assert_allclose(table.sum(axis=1), 1.0)


def test_labels_that_are_known_are_kept(tagger):
    given = [[None] * len(row) for row in NEW]
    given[0][0] = "B-LOC"
    assert tagger.predict(NEW, given=given)[0][0] == "B-LOC"
    given[0][0] = "I-LOC"
    with pytest.raises(ValueError, match="sequence 0: no output is possible"):
        tagger.predict(NEW, given=given)


def test_an_explanation_adds_up_to_the_lead(tagger):
    explanation = tagger.explain(NEW[0], top=10_000)
    shares = [reason.share for reason in explanation.contributions]
    assert sum(shares) == pytest.approx(explanation.lead)
    texts = " ".join(reason.reason for reason in explanation.contributions)
    assert "length" in texts and "first token" in texts
    # the dual tells the same: w is the sum of its planes
    carried = [one.share for one in tagger.explain(NEW[0], top=10**6).support]
    assert sum(carried) == pytest.approx(explanation.lead, rel=1e-6)


@pytest.mark.parametrize("keep_dual", [False, True])
def test_files(tagger, tmp_path, keep_dual):
    path = tmp_path / "m"
    tagger.save(path, keep_dual=keep_dual)
    again = SequenceTagger.load(path)
    assert again.segments and again.cost == "hamming"
    assert again.predict(NEW).tolist() == tagger.predict(NEW).tolist()
    assert again.model_.kind == "SegmentModel"
    same = again.explain(NEW[0]).to_dict()
    expected = tagger.explain(NEW[0]).to_dict()
    assert same["contributions"] == expected["contributions"]
    assert bool(same["support"]) == keep_dual
    again.warm_start = True
    again.fit(X, Y)
    assert again.certificate_.primal == pytest.approx(
        tagger.certificate_.primal, rel=0.02
    )


def test_forged_support_is_refused(tagger):
    """Kernels look weights up by the length of a segment."""
    settings, arrays = to_state(tagger.model_)
    from_state(settings, arrays, {})
    labels = tagger.model_.labels
    for name, text in (("support/y", "a true label"), ("support/code", "of a cut")):
        for code, fault in (
            (labels.index("I-PER"), "impossible segments"),
            (len(labels), text),
        ):
            forged = arrays | {name: np.full_like(arrays[name], code)}
            with pytest.raises(ValueError, match=fault):
                from_state(settings, forged, {})
    long = arrays["support/y"].copy()
    long[:] = labels.index("I-PER")
    long[arrays["support/offset"][:-1]] = labels.index("B-PER")
    with pytest.raises(ValueError, match="impossible segments"):
        from_state(settings, arrays | {"support/y": long}, {})
    with pytest.raises(ValueError, match="lengths of segments"):
        from_state(settings | {"longest": [10**9] * 4}, arrays, {})


@pytest.mark.parametrize("cost", ["segments", "overlap"])
def test_other_costs(cost):
    tagger = SequenceTagger(C=60, **SMALL, segments=True, cost=cost)
    tagger.fit(X[:30], Y[:30])
    assert tagger.certificate_.relative_gap <= 0.01
    assert tagger.score(X[:30], Y[:30]) > 0.98


def test_likelihood():
    tagger = SequenceTagger(C=60, **SMALL, segments=True, loss="log").fit(X, Y)
    assert tagger.certificate_.relative_gap <= 0.01
    top = [table.max(axis=1).mean() for table in tagger.predict_marginals(X)]
    assert np.mean(top) > 0.8


def test_without_columns_tokens_alone_have_features():
    rng = np.random.default_rng(0)
    arrays = [rng.normal(size=(len(row), 4)) for row in X]
    tagger = SequenceTagger(segments=True, tol=0.05).fit(arrays, Y)
    assert tagger.model_.scoring.spans is None
    assert len(tagger.explain(arrays[0]).support)
    with pytest.raises(ValueError, match="spans= and gazetteers= need columns"):
        SequenceTagger(segments=True, spans="word").fit(arrays, Y)


def test_segment_features_by_hand():
    """All segments of a table, one after the other, in plain Python."""
    rows = [["The", "New", "York", "Times"], ["new", "york"], ["York"]]
    table = Table.from_sequences(rows)
    templates = ["lower(word)", "shape(word)|word[-1]", "word[1]|lower(word)"]
    lists = {"town": ["new york", "York"], "paper": ["New  York Times", "new york"]}
    featurizer = SegmentFeaturizer(templates, lists, "word")
    first, length = np.array([1, 4, 6]), np.array([3, 2, 1])
    featurizer.fit(table, first, length)
    depth = 3
    features = featurizer.transform(table, depth)
    flat = [(s, t) for s, row in enumerate(rows) for t in range(len(row))]

    def shown(s, t, d):
        words = rows[s][t : t + d]
        if t + d > len(rows[s]):
            return set()
        before = rows[s][t - 1] if t else "<s>"
        after = rows[s][t + d] if t + d < len(rows[s]) else "<s>"
        shapes = " ".join(
            "".join("X" if c.isupper() else "x" for c in word) for word in words
        )
        lower = " ".join(words).lower()
        names = {
            f"lower(word)[0]={lower}",
            f"shape(word)[0]|word[-1]={shapes}|{before}",
            f"word[1]|lower(word)[0]={after}|{lower}",
        }
        names |= {"gazetteer=town"} if lower in ("new york", "york") else set()
        in_paper = lower in ("new york times", "new york")
        return names | ({"gazetteer=paper"} if in_paper else set())

    known = set(featurizer.feature_names_)
    for k, (s, t) in enumerate(flat):
        for d in range(1, depth + 1):
            row = k * depth + d - 1
            here = features.indices[features.indptr[row] : features.indptr[row + 1]]
            names = {featurizer.feature_names_[f] for f in here}
            assert names == shown(s, t, d) & known
    again = SegmentFeaturizer.from_state(*featurizer.state())
    np.testing.assert_array_equal(
        again.transform(table, depth).indices, features.indices
    )
    with pytest.raises(ValueError, match="need a column 'word'"):
        featurizer.transform(Table({"w": table.columns["word"]}, table.offset), 2)


def test_refusals(tmp_path):
    for settings, text in (
        ({"order": 2}, r"no order=2, which is one of chains"),
        ({"kernel": "linear"}, "needs features; leave kernel= and match= out"),
        ({"cost": "normalized"}, "choose from hamming, segments, overlap"),
        ({"cost": {("O", "B-LOC"): 2.0}}, "no costs of labels"),
        ({"longest": 0}, "longest=0"),
        ({"longest": 1}, "where longest allows 1; raise it"),
        ({"gazetteers": "cities"}, "write NAME=FILE,NAME=FILE"),
        ({"gazetteers": {"a": "b"}}, "a list of phrases for each name"),
        ({"formulation": "slack"}, "segments have no `frontier`"),
        ({"spans": "word["}, "template line 1"),
        ({"spans": "lemma"}, "need a column 'lemma'; there are"),
    ):
        with pytest.raises(ValueError, match=text):
            SequenceTagger(**SMALL | {"segments": True} | settings).fit(X, Y)
    with pytest.raises(ValueError, match="longest= needs segments=True"):
        SequenceTagger(longest=3).fit(X, Y)
    with pytest.raises(ValueError, match="choose from hamming, normalized, zero_one"):
        SequenceTagger(cost="overlap").fit(X, Y)
    with pytest.raises(ValueError, match="'N' is not of scheme BIO"):
        SequenceTagger(segments=True).fit([["a"]], [["N"]])
    with pytest.raises(ValueError, match="no label 'B-X' begins one"):
        SequenceTagger(segments=True).fit([["a", "b"]], [["I-X", "O"]])
    with pytest.raises(CapabilityError, match="labels of all tokens"):
        SequenceTagger(segments=True).fit(X, [[None, *Y[0][1:]], *Y[1:]])
    tagger = SequenceTagger(**SMALL, warm_start=True).fit(X[:5], Y[:5])
    with pytest.raises(ValueError, match="which had segments=False"):
        tagger.set_params(segments=True).fit(X[:5], Y[:5])
    tagger = SequenceTagger(**SMALL, segments=True, warm_start=True).fit(X[:5], Y[:5])
    with pytest.raises(ValueError, match="which had segments=True"):
        tagger.set_params(segments=False).fit(X[:5], Y[:5])
    (tmp_path / "empty").write_text("# nothing\n")
    with pytest.raises(ReaderError, match="no phrase in the file"):
        read_phrases(tmp_path / "empty")


def test_the_command_line(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name, rows in (("train", (X, Y)), ("new", (NEW, TRUTH))):
        write_columns(f"{name}.txt", Table.from_sequences(rows[0]), rows[1])
    (tmp_path / "firms.txt").write_text("Acme\nSiemens\n")
    command = (
        "train tag train.txt --model m --segments --cost overlap --keep-dual --spans "
        "lower(word);shape(word)[1] --gazetteers firm=firms.txt --tol 0.01 "
        "--template t --report page.html --dev new.txt --C 60"
    )
    (tmp_path / "t").write_text(SMALL["templates"])
    assert run(command.split()) == 0
    assert "B-ORG" in (tmp_path / "page.html").read_text()
    capsys.readouterr()
    assert run(["verify", "m", "train.txt", "--plain", "--json"]) == 0
    checks = json.loads(capsys.readouterr().out)["checks"]
    assert checks["plain primal"]["holds"] and checks["dual"]["holds"]
    assert run(["inspect", "m", "--json", "--top", "1000"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["segments"]["cost"] == "overlap"
    assert "gazetteer=firm" in str(document["features"]["ORG, whole segment"])
    assert run(["inspect", "m"]) == 0
    assert run(["explain", "m", "new.txt"]) == 0
    assert run(["predict", "m", "new.txt", "--topk", "2"]) == 0
    capsys.readouterr()
    assert run(["evaluate", "m", "new.txt", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["metrics"]["span_f1"] > 0.7
    assert load("m").predict(NEW)[0]
    assert run(["train", "tag", "train.txt", "--model", "n", "--longest", "3"]) == 2
    assert "--longest needs --segments" in capsys.readouterr().err
