"""The demo, small: what it prints, what it writes, and what it shows."""

from html.parser import HTMLParser

import pytest


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    return tmp_path_factory.mktemp("demo") / "demo.html"


@pytest.fixture
def document(run, page):
    finished = run("demo", "--quick", "--output", page, "--json")
    assert finished.code == 0, finished.err
    return finished.json


def test_structure_is_worth_something_and_certified(document, page):
    results = {(r["task"], r["model"]): r for r in document["results"]}
    assert len(results) == 4
    for task in ("digits", "entities"):
        structured, independent = (
            results[task, model]["metrics"] for model in ("structured", "independent")
        )
        assert structured["exact_match"] > independent["exact_match"]
    for result in results.values():
        certificate = result["certificate"]
        assert certificate["dual"] <= certificate["primal"]
        assert certificate["relative_gap"] <= 1e-3
    assert document["report"] == str(page)


def test_the_report_is_a_page_with_pictures(document, page):
    seen = set()

    class Reader(HTMLParser):
        def handle_starttag(self, tag, attributes):
            seen.add((tag, dict(attributes).get("id")))

    text = page.read_text(encoding="utf-8")
    Reader().feed(text)
    for section in ("certificate", "metrics", "convergence", "pictures", "facts"):
        assert ("section", section) in seen
    assert text.count("Digit string, truth") >= 4
    assert "Digit strings" in text and "Support structures" not in text
    assert "http://" not in text.replace("http://www.w3.org/2000/svg", "")


def test_people_get_a_table_within_eighty_columns(run, tmp_path, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    finished = run("demo", "--quick", "-o", tmp_path / "demo.html")
    assert finished.code == 0
    assert "structured" in finished.out and "…" not in finished.out
    assert max(map(len, finished.out.splitlines())) <= 80
    assert "report written to" in finished.err


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--output", "nowhere/at/all.html"), "nowhere"),
        (("--output", "."), "folder"),
        (("--seed", "-1"), "--seed -1"),
        (("--folder", "x"), "--folder"),
    ],
)
def test_bad_usage_is_refused_before_any_work(run, options, words):
    finished = run("demo", *options)
    assert finished.code == 2
    assert words in finished.err and "digits:" not in finished.err
    assert finished.err.count("\n") == 1
