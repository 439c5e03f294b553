"""Pages of existing models, text in other encodings, and what has no objective."""

import gzip

import pytest

from partwise import SequenceTagger
from partwise.readers import (
    ReaderError,
    read_columns,
    read_crfsuite,
    text_encoding,
)


def test_the_page_of_a_model_is_that_of_its_training(run, model, toys, tmp_path):
    page = tmp_path / "page.html"
    done = run("report", model, toys / "dev.txt", "--output", page)
    assert (done.code, done.out) == (0, "")
    assert f"report written to {page}" in done.err
    text, trained = (p.read_text(encoding="utf-8") for p in (page, toys / "toy.html"))
    assert "On dev.txt" in text
    for name, value in (
        ("Loss", "hinge"), ("Cost", "hamming"), ("Order", "1"),
        ("Tolerance (relative gap)", "0.01"), ("Templates", "word[-2], "),
    ):  # fmt: skip
        assert f"<dt>{name}</dt><dd>{value}" in text
    assert "Converged to a relative gap of 1\u00a0%, as asked for" in text
    parts = [html.partition('<section id="facts"')[0] for html in (text, trained)]
    assert parts[0] == parts[1]


def test_a_report_is_refused_before_work_is_done(run, model, toys, tmp_path):
    done = run("report", model, toys / "dev.txt", "-o", tmp_path / "no" / "page.html")
    assert done.code == 2
    assert "page.html" in done.err
    assert run("report", model, toys / "unlabelled.txt", "-o", tmp_path / "p").code == 2
    assert not (tmp_path / "p").exists()


def test_report_tells_its_measures_as_json(run, model, toys, tmp_path):
    page = str(tmp_path / "page.html")
    document = run("report", model, toys / "dev.txt", "-o", page, "--json").json
    assert document["report"] == page
    assert document["metrics"]["token_accuracy"] > 0.8


def test_the_page_of_a_tagger_of_items_shows_their_attributes(run, tmp_path):
    data, place, page = (tmp_path / name for name in ("items.txt", "m", "page.html"))
    data.write_text("B\tw=Rome\tx\n\nO\tw=Rome\tx\n\n")  # one must be wrong
    SequenceTagger(tol=0.1).fit(*read_crfsuite(data)).save(place)
    done = run("report", place, data, "--output", page)
    assert (done.code, done.out) == (0, "")
    text = page.read_text(encoding="utf-8")
    assert "w=Rome x" in text and "By label" in text


@pytest.mark.parametrize("encoding", ["latin-1", "utf-16", "cp1252"])
def test_data_in_other_encodings(run, model, tmp_path, encoding):
    text = "Zürich NNP O\nhört VB O\n"
    plain, packed = tmp_path / "a.txt", tmp_path / "a.txt.gz"
    plain.write_bytes(text.encode(encoding))
    packed.write_bytes(gzip.compress(text.encode(encoding)))
    for path in (plain, packed):
        assert run("predict", model, path).code == 2
        done = run("predict", model, path, "--encoding", encoding)
        assert done.code == 0
        assert done.out.startswith("Zürich NNP O ")
        assert run("evaluate", model, path, "--encoding", encoding).code == 0
        assert run("explain", model, path, "--encoding", encoding).code == 0
    with text_encoding(encoding):
        X, _ = read_columns(packed)
    assert X.strings("word") == [["Zürich", "hört"]]
    with pytest.raises(ReaderError, match="not UTF-8"):
        read_columns(plain)


def test_wrong_encodings_are_refused(run, model, toys):
    done = run("predict", model, toys / "ten.txt", "--encoding", "latin-99")
    assert done.code == 2
    assert "--encoding latin-99 is unknown" in done.err
    assert run("predict", model, toys / "ten.txt", "--encoding", "rot13").code == 2
    done = run("predict", model, toys / "ten.txt", "--encoding", "utf-32")
    assert done.code == 2
    assert "not UTF-32" in done.err


def test_a_generative_model_shows_no_objective(run, toys, tmp_path):
    place, page = tmp_path / "hmm.model", tmp_path / "hmm.html"
    done = run(
        "train", "tag", toys / "train.txt", "--model", place, "--solver", "hmm",
        "--preset", "window", "--report", page,
    )  # fmt: skip
    assert done.code == 0
    assert "objective     none: the weights were estimated from counts" in done.out
    assert "gap" not in done.out + done.err
    text = page.read_text(encoding="utf-8")
    assert "nothing was minimised" in text
    assert "Convergence" not in text


def test_inspect_marks_forbidden_transitions(run, toys, tmp_path):
    place = tmp_path / "bio.model"
    options = ("--scheme", "IOB2", "--preset", "window", "--tol", "0.5")
    run("train", "tag", toys / "train.txt", "--model", place, *options)
    shown = run("inspect", place, "--top", 1).out
    assert "× is forbidden" in shown
    document = run("inspect", place, "--json").json
    labels = document["labels"]
    outside = document["transitions"][labels.index("O")]
    assert outside[labels.index("I-PER")] is None
    assert outside[labels.index("B-PER")] is not None
