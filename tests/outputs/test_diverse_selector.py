import io
import json

import numpy as np
import pytest
from scipy.sparse import csr_array
from sklearn.base import clone
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.model_selection import GridSearchCV

from partwise import DiverseSelector, load
from partwise.cli.app import run
from partwise.datasets import toy_candidates
from partwise.features.covering import CoveringSet
from partwise.metrics import metric
from partwise.model_file import load_model
from partwise.outputs.diversity.metrics import subtopic_loss
from partwise.readers import ReaderError, read_candidates
from partwise.structures.coverage import baselines


def test_it_learns_what_words_are_worth():
    X, y = toy_candidates(40)
    X_new, y_new = toy_candidates(60, random_state=1)
    selector = DiverseSelector(k=3).fit(X, y)
    learned = subtopic_loss(y_new, selector.predict(X_new))
    assert learned == pytest.approx(1 - selector.score(X_new, y_new))
    for others in (
        baselines.select_at_random(X_new, 3),
        baselines.select_by_words(X_new, 3, "unweighted"),
    ):
        assert learned < subtopic_loss(y_new, others) - 0.05
    assert all(len(set(best.tolist())) == 3 for best in selector.predict(X_new))
    assert len(selector.coef_) == len(selector.feature_names_)


def test_certificates_are_honest():
    X, y = toy_candidates(12)
    greedy = DiverseSelector(k=3).fit(X, y).certificate_
    exact = DiverseSelector(k=3, search_nodes=100_000).fit(X, y).certificate_
    assert exact.exact_oracle and exact.relative_gap <= 1e-3
    assert not greedy.exact_oracle
    assert greedy.at_least <= greedy.at_most
    assert greedy.dual <= exact.primal * (1 + 1e-9)  # planes of outputs bound both


def test_weights_that_are_not_negative():
    X, y = toy_candidates(20)
    plain = DiverseSelector(k=3, features="rich").fit(X, y)
    subset = clone(plain).set_params(nonnegative=True).fit(X, y)
    assert (plain.coef_ < 0).any()
    np.testing.assert_array_equal(subset.coef_, np.maximum(plain.coef_, 0.0))
    assert "set to zero" in subset.certificate_.note
    assert subset.certificate_.primal >= subset.certificate_.dual


def test_counts_texts_and_functions():
    X, y = toy_candidates(15)
    counter = CountVectorizer(token_pattern=r"\w+")
    counts = [csr_array(counter.fit_transform(x)) for x in X]
    by_text = DiverseSelector(k=3).fit(X, y)
    by_count = DiverseSelector(k=3).fit(counts, y)
    # words are numbered in another order, so sums are rounded otherwise
    np.testing.assert_allclose(by_count.coef_, by_text.coef_, rtol=0.05)

    def covers(x):
        return np.ones((x.shape[1], 1)), x

    own = DiverseSelector(k=3, features=covers).fit(counts, y)
    assert own.coef_.shape == (1,)
    given = [CoveringSet(*covers(x)) for x in counts]
    same = DiverseSelector(k=3).fit(given, y)
    np.testing.assert_array_equal(same.coef_, own.coef_)
    with pytest.raises(ValueError, match="is a function"):
        own.save("nowhere.model")
    with pytest.raises(ValueError, match="2 features where 1 were expected"):
        own.set_params().model_.predict([CoveringSet(np.ones((1, 2)), np.ones((2, 1)))])


def test_in_a_grid_search_and_again():
    X, y = toy_candidates(24)
    search = GridSearchCV(DiverseSelector(k=3), {"C": [1.0, 1000.0]}, cv=3).fit(X, y)
    assert search.best_score_ > 0.6
    warm = DiverseSelector(k=3, warm_start=True).fit(X, y)
    calls = warm.certificate_.oracle_calls
    assert warm.fit(X, y).certificate_.oracle_calls <= calls
    assert metric("subtopic_loss").function(y, search.predict(X)) < 0.4
    with pytest.raises(ValueError, match="selections"):
        DiverseSelector(metric="accuracy").fit(X, y)


@pytest.mark.parametrize("features", ["frequency", "rich"])
def test_files_keep_the_model(tmp_path, features):
    X, y = toy_candidates(15)
    selector = DiverseSelector(k=3, features=features, shares=(0.0, 0.3)).fit(X, y)
    path = tmp_path / "s.model"
    selector.save(path)
    again = DiverseSelector.load(path)
    assert [b.tolist() for b in again.predict(X)] == [
        b.tolist() for b in selector.predict(X)
    ]
    assert tuple(again.shares) == (0.0, 0.3) and again.k == 3
    assert again.certificate_ == selector.certificate_
    explained = str(again.explain(X[0], top=2))
    assert "document" in explained and "q0t" in explained
    assert len(load(path).predict(X[:2])) == 2


def test_okapi_prefers_documents_of_the_query():
    texts = ["nothing here", "robots and robots", "a robot"]
    assert baselines.select_by_okapi([texts], ["robots"], 2)[0][0] == 1


# ---------------------------------------------------------------- command line


def write(path, n, seed):
    X, y = toy_candidates(n, random_state=seed)
    lines = ["# query, document, subtopics, title, text"]
    for q, (texts, topics) in enumerate(zip(X, y, strict=True)):
        for d, (text, has) in enumerate(zip(texts, topics, strict=True)):
            title, body = text.split("\n")
            lines.append("\t".join([f"q{q}", f"d{d}", " ".join(has), title, body]))
    path.write_text("\n".join(lines) + "\n")


def test_the_command_line(tmp_path, capsys):
    train, new = tmp_path / "train.tsv", tmp_path / "new.tsv"
    write(train, 20, 0)
    write(new, 10, 1)
    model, report = tmp_path / "m.model", tmp_path / "r.html"

    def ask(*arguments):
        assert run([*map(str, arguments), "--json"]) == 0
        return json.loads(capsys.readouterr().out)

    done = ask(
        "train", "diversify", train, "--k", 3, "--features", "rich", "--model", model,
        "--dev", new, "--report", report, "--search-nodes", 100_000,
    )  # fmt: skip
    assert done["certificate"]["relative_gap"] <= 1e-3
    page = report.read_text(encoding="utf-8")
    assert "Without learning" in page
    _, _, picture = page.partition("subtopic coverage against candidate sets")
    assert picture.partition("</svg>")[0].count("<rect") == 10
    answer = ask("evaluate", model, new)
    assert answer["metrics"]["subtopic_loss"] == done["dev"]["subtopic_loss"]
    assert answer["metrics"]["least_subtopic_loss"] <= done["dev"]["subtopic_loss"]
    chosen = ask("predict", model, new)["selections"]
    assert len(chosen) == 10 and len(chosen[0]) == 3
    assert ask("verify", model, train)["holds"]
    assert ask("inspect", model)["k"] == 3
    assert ask("explain", model, new)["winner"][0] == f"document {chosen[0][0]}"
    output = tmp_path / "out.tsv"
    assert run(["predict", str(model), str(new), "--output", str(output)]) == 0
    first = output.read_text().splitlines()[0]
    assert first == f"q0\t1\td{chosen[0][0]}"


def test_a_search_that_is_not_exact_is_said_to_be_so(tmp_path, capsys):
    train, model = tmp_path / "train.tsv", tmp_path / "m.model"
    write(train, 8, 0)
    command = ["train", "diversify", str(train), "--k", "3", "--model", str(model)]
    assert run(command) == 0
    stated = load_model(model).info["certificate"]
    low, high = stated["at_least"], stated["at_most"]
    assert low < 0.9 * high
    line = f"at least {low:.8g}, at most {high:.8g}: the search was not exact"
    assert line in capsys.readouterr().out
    assert run(["verify", str(model), str(train), "--json"]) == 0
    dual = json.loads(capsys.readouterr().out)["checks"]["dual"]
    # the objective minus ½‖g‖² bounds the optimum only by what the search found
    assert dual["recomputed"] is None or dual["recomputed"] <= low
    assert run(["evaluate", str(model), str(train), "--json"]) == 0
    metrics = json.loads(capsys.readouterr().out)["metrics"]
    assert metrics["least_subtopic_loss"] == 0.0


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("q\td\ts\n", ":1: 3 columns"),
        ("q\td\t\tt\tx\nq\td\t\tt\tx\n", ":2: document 'd' of query 'q' stands twice"),
        ("# nothing\n", "no line with a document"),
    ],
)
def test_bad_files_are_refused(text, message):
    with pytest.raises(ReaderError) as caught:
        read_candidates(io.BytesIO(text.encode()))
    assert message in str(caught.value)
