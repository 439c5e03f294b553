"""`predict --confidence` and `--marginals`; `convert`, and what it has converted."""

import pycrfsuite
import pytest

from partwise.datasets import toy_entities
from partwise.metrics import token_accuracy


@pytest.fixture(scope="module")
def crf(process, toys, tmp_path_factory):
    path = tmp_path_factory.mktemp("crf") / "crf.model"
    done = process(
        "train", "tag", toys / "train.txt", "--model", path, "--loss", "log",
        "--preset", "window", "--tol", 0.01, "--scheme", "BIO",
    )  # fmt: skip
    assert done.code == 0, done.err
    return path


def test_confidence_of_tokens_sentences_and_spans(run, crf, toys):
    document = run("predict", crf, toys / "ten.txt", "--confidence", "--json").json
    assert len(document["confidence"]) == 10
    done = run("predict", crf, toys / "ten.txt", "--confidence")
    assert not done.err
    sentences = [block.splitlines() for block in done.out.strip().split("\n\n")]
    for i, lines in enumerate(sentences):
        for t, line in enumerate(lines):
            *_, label, token, whole = line.split(" ")
            assert label == document["labels"][i][t]
            assert float(token) == pytest.approx(
                document["token_confidence"][i][t], abs=1e-4
            )
            assert float(whole) == pytest.approx(document["confidence"][i], abs=1e-4)
        for span in document["spans"][i]:
            # a span needs its first label to be right
            at_most = document["token_confidence"][i][span["start"]]
            assert 0 < span["probability"] <= at_most + 1e-12
            assert document["labels"][i][span["start"]] == f"B-{span['type']}"


def test_marginals_of_all_labels(run, crf, toys):
    document = run("predict", crf, toys / "ten.txt", "--marginals", "--json").json
    names = document["label_names"]
    for table in document["marginals"]:
        for row in table:
            assert sum(row) == pytest.approx(1.0)
    first = run("predict", crf, toys / "ten.txt", "--marginals").out.splitlines()[0]
    columns = first.split(" ")[-len(names) :]
    assert [column.rpartition("/")[0] for column in columns] == names
    shares = [float(column.rpartition("/")[2]) for column in columns]
    assert shares == pytest.approx(document["marginals"][0][0], abs=1e-4)


def test_a_margin_is_told_to_be_no_probability(run, model, toys):
    done = run("predict", model, toys / "ten.txt", "--confidence")
    assert done.code == 0 and "are no probabilities" in done.err


def test_confidence_is_that_of_the_only_output(run, crf, toys):
    done = run("predict", crf, toys / "ten.txt", "--confidence", "--topk", 2)
    assert done.code == 2
    assert "--confidence and --topk do not go together" in done.err
    done = run("predict", crf, toys / "ten.txt", "--marginals", "--given", "pos")
    assert "--marginals and --given do not go together" in done.err


def test_topk_of_a_crf_has_log_probabilities(run, crf, toys):
    document = run("predict", crf, toys / "ten.txt", "--topk", 2, "--json").json
    whole = run("predict", crf, toys / "ten.txt", "--confidence", "--json").json
    for ranked, share in zip(document["topk"], whole["confidence"], strict=True):
        assert 2.718281828 ** ranked[0]["score"] == pytest.approx(share, rel=1e-6)


# --------------------------------------------------------------------------- convert


@pytest.fixture(scope="module")
def foreign(tmp_path_factory):
    """A model file of CRFsuite, and a data file that it has not seen."""
    folder = tmp_path_factory.mktemp("foreign")
    X, y = toy_entities(60, random_state=1)
    trainer = pycrfsuite.Trainer("lbfgs", verbose=False)
    for x, labels in zip(X, y, strict=True):
        trainer.append([[f"w:{word}", f"t={tag}"] for word, tag in x], labels)
    trainer.train(str(folder / "names.crfsuite"))
    X, y = toy_entities(20, random_state=2)
    lines = []
    for x, labels in zip(X, y, strict=True):
        for (word, tag), label in zip(x, labels, strict=True):
            lines.append(f"{label}\tw\\:{word}\tt={tag}\n")
        lines.append("\n")
    (folder / "test.txt").write_text("".join(lines))
    return folder


def test_a_converted_model_predicts_from_the_command_line(run, foreign):
    done = run("convert", foreign / "names.crfsuite")
    assert done.code == 0, done.err
    model = foreign / "names.model"
    assert str(model) in done.err
    peer = pycrfsuite.Tagger()
    peer.open(str(foreign / "names.crfsuite"))
    X, y = toy_entities(20, random_state=2)
    expected = [peer.tag([[f"w:{word}", f"t={tag}"] for word, tag in x]) for x in X]
    done = run("predict", model, foreign / "test.txt")
    blocks = done.out.strip().split("\n\n")
    assert [block.split("\n") for block in blocks] == expected
    document = run("predict", model, foreign / "test.txt", "--topk", 2, "--json").json
    assert [ranked[0]["labels"] for ranked in document["topk"]] == expected
    line = run("predict", model, foreign / "test.txt", "--confidence").out.split("\n")[
        0
    ]
    assert line.split("\t")[0] == expected[0][0] and len(line.split("\t")) == 3
    metrics = run("evaluate", model, foreign / "test.txt", "--json").json["metrics"]
    assert metrics["token_accuracy"] == pytest.approx(token_accuracy(y, expected))
    assert run("explain", model, foreign / "test.txt").code == 0
    assert run("inspect", model).code == 0
    done = run("predict", model, foreign / "test.txt", "--columns", "a,b")
    assert done.code == 2 and "--columns does not go with this model" in done.err


def test_converted_templates_train(run, toys, tmp_path):
    (tmp_path / "template").write_text("U00:%x[-1,0]\nU01:%x[0,0]/%x[0,1]\nB\n")
    done = run("convert", tmp_path / "template")
    assert done.out == "word[-1]\nword[0]|pos[0]\n"
    assert "--order 1" in done.err
    done = run("convert", tmp_path / "template", "-o", tmp_path / "ours", "--json")
    assert done.json["order"] == 1
    done = run(
        "train", "tag", toys / "train.txt", "--model", tmp_path / "m",
        "--template", tmp_path / "ours", "--tol", 0.5,
    )  # fmt: skip
    assert done.code == 0, done.err


@pytest.mark.parametrize(
    ("content", "what"),
    [
        (b"lCRFrubbish", "not a model of CRFsuite"),
        (b"U00:%x[0]\n", "template line 1"),
        (b"hello\n", "neither with U nor with B"),
        (b"\x00\x01", "neither a binary model of CRFsuite"),
    ],
)
def test_other_files_are_refused(run, tmp_path, content, what):
    path = tmp_path / "f"
    path.write_bytes(content)
    done = run("convert", path)
    assert done.code == 2 and what in done.err and str(path) in done.err
    assert sorted(tmp_path.iterdir()) == [path]
    assert run("convert", tmp_path / "absent").code == 2
