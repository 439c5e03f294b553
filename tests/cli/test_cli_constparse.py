"""`constparse` from the command line: trees in brackets in, trees in brackets out."""

import re

import pytest

from partwise.datasets import toy_treebank
from partwise.metrics import evalb
from partwise.readers import (
    Table,
    parse_tree,
    read_brackets,
    tagged_words,
    write_brackets,
    write_columns,
)


@pytest.fixture(scope="module")
def treebank(tmp_path_factory):
    folder = tmp_path_factory.mktemp("brackets")
    for name, n, seed in (("train", 40, 0), ("dev", 15, 1)):
        X, y = toy_treebank(n, random_state=seed)
        write_brackets(folder / f"{name}.mrg", y)
    write_columns(folder / "dev.txt", Table.from_sequences(X))
    words = Table.from_sequences([[word for word, _ in x] for x in X])
    write_columns(folder / "words.txt", words)
    return folder


@pytest.fixture(scope="module")
def trained(process, treebank):
    return process(
        "train", "constparse", treebank / "train.mrg", "--model", treebank / "c.model",
        "--tol", 0.1, "--dev", treebank / "dev.mrg", "--report", treebank / "c.html",
        "--json",
    )  # fmt: skip


@pytest.fixture(scope="module")
def parser(trained, treebank):
    assert trained.code == 0, trained.err
    return treebank / "c.model"


@pytest.fixture(scope="module")
def pcfg(process, treebank):
    done = process(
        "train", "constparse", treebank / "train.mrg", "--model", treebank / "p.model",
        "--solver", "pcfg", "--json",
    )  # fmt: skip
    assert done.code == 0, done.err
    return treebank / "p.model"


def test_training_tells_its_certificate_and_the_scores_on_dev(trained, treebank):
    document = trained.json
    assert document["certificate"]["relative_gap"] <= 0.1
    assert document["n_examples"] == 40 and document["n_features"] > 0
    assert 0.8 < document["dev"]["labelled_f1"] <= 1
    page = (treebank / "c.html").read_text(encoding="utf-8")
    assert "By label" in page and "By length of the sentence" in page


def test_trees_come_out_for_trees_and_for_columns(run, parser, treebank):
    _, y = read_brackets(treebank / "dev.mrg")
    output = treebank / "parsed.mrg"
    for source in ("dev.mrg", "dev.txt"):
        done = run("predict", parser, treebank / source, "--output", output)
        assert done.code == 0, done.err
        X, actual = read_brackets(output)
        assert X == [tagged_words(tree) for tree in y]
    document = run("evaluate", parser, treebank / "dev.mrg", "--json").json
    scores = evalb(y, actual)
    assert document["metrics"]["labelled_f1"] == scores.f1
    assert document["metrics"]["exact_match"] == scores.exact_match
    assert document["metrics"]["failures"] == 0
    assert {row["label"] for row in document["labels"]} >= {"S", "NP", "VP"}


def test_the_grammar_by_relative_frequency(run, pcfg, treebank):
    document = run("evaluate", pcfg, treebank / "dev.mrg", "--json").json
    assert 0.5 < document["metrics"]["labelled_f1"] <= 1
    assert run("verify", pcfg, treebank / "train.mrg").code == 0


def test_longer_sentences_are_left_out(run, parser, treebank):
    X, _ = read_brackets(treebank / "dev.mrg")
    n = sum(len(x) <= 6 for x in X)
    dev = treebank / "dev.mrg"
    document = run("evaluate", parser, dev, "--max-length", 6, "--json").json
    assert document["n_examples"] == n < 15
    done = run("predict", parser, dev, "--max-length", 6)
    assert len(done.out.splitlines()) == n
    done = run("evaluate", parser, dev, "--max-length", 1)
    assert done.code == 2 and "raise --max-length" in done.err


def test_training_on_shorter_sentences_counts_the_others_as_failures(
    run, treebank, tmp_path
):
    model, train = tmp_path / "short.model", treebank / "train.mrg"
    done = run(
        "train", "constparse", train, "--model", model, "--max-length", 6,
        "--features", "rules", "--tol", 0.3, "--dev", treebank / "dev.mrg", "--json",
    )  # fmt: skip
    assert done.code == 0, done.err
    assert done.json["dev"]["too_long"] == 0  # left out
    n_short = sum(len(x) <= 6 for x in read_brackets(train)[0])
    assert f"{n_short} trees have at most 6 words and are trained on" in done.err
    X, _ = read_brackets(treebank / "dev.mrg")
    done = run("evaluate", model, treebank / "dev.mrg", "--json")
    n_long = sum(len(x) > 6 for x in X)
    metrics = done.json["metrics"]
    assert (metrics["failures"], metrics["too_long"]) == (n_long, n_long)
    assert f"{n_long} sentences of more than 6 words were not parsed" in done.err
    assert "without a parse" not in done.err
    assert run("verify", model, train).code == 0


def test_the_k_best_trees(run, parser, treebank):
    done = run("predict", parser, treebank / "dev.mrg", "--topk", 2)
    blocks = done.out.strip().split("\n\n")
    assert len(blocks) == 15
    for block in blocks:
        trees = [parse_tree(line) for line in block.splitlines()]
        assert len(set(trees)) == len(trees) <= 2
    done = run("predict", parser, treebank / "dev.mrg", "--topk", 2, "--json")
    for ranked in done.json["topk"]:
        scores = [actual["score"] for actual in ranked]
        assert scores == sorted(scores, reverse=True)
    done = run("predict", parser, treebank / "dev.mrg", "--given", "pos")
    assert done.code == 2 and "--given does not go with this model" in done.err


def test_the_model_is_explained_inspected_and_verified(run, parser, treebank):
    dev = treebank / "dev.mrg"
    assert run("explain", parser, dev, "--json").json["runner_up"] is None
    done = run("explain", parser, dev, "--sentence", 3, "--json", "--top", 1000)
    assert done.code == 0, done.err
    document = done.json
    assert parse_tree(document["winner"]) != parse_tree(document["runner_up"])
    shares = sum(reason["share"] for reason in document["contributions"])
    assert shares == pytest.approx(document["lead"])
    assert "there is no runner-up" in run("explain", parser, dev).out
    document = run("inspect", parser, "--json").json
    assert document["kind"] == "ConstituencyModel" and "NP" in document["labels"]
    assert "rules and features" in run("inspect", parser).out
    done = run("verify", parser, treebank / "train.mrg")
    assert done.code == 0 and done.out.endswith("verified\n")
    assert run("verify", parser, treebank / "dev.mrg").code == 1


def test_a_kept_dual_is_recomputed_and_explains(run, treebank, tmp_path):
    model, train = tmp_path / "dual.model", treebank / "train.mrg"
    done = run(
        "train", "constparse", train, "--model", model, "--tol", 0.1, "--keep-dual",
    )  # fmt: skip
    assert done.code == 0, done.err
    done = run("verify", model, train, "--json")
    assert done.code == 0 and done.json["holds"]
    dual = done.json["checks"]["dual"]
    assert dual["recomputed"] == pytest.approx(dual["stated"], rel=1e-6)
    assert done.json["checks"]["outputs"]["recomputed"] == 0
    document = run(
        "explain", model, treebank / "dev.mrg", "--sentence", 3, "--json"
    ).json
    assert document["support"] and parse_tree(document["support"][0]["output"])
    assert run("inspect", model, "--json").json["support"] > 0


def test_unknown_tags_are_counted(run, parser, tmp_path):
    path = tmp_path / "tags.mrg"
    path.write_text("(S (NP (XYZ Anna)) (VP (VBD slept)) (PUNCT .))", encoding="utf-8")
    done = run("evaluate", parser, path, "--json")
    assert done.code == 0 and done.json["unknown_tags"] == 1
    assert "1 words have tags that training never showed" in done.err


def test_labels_that_the_grammar_lacks_are_named(run, parser, treebank, tmp_path):
    path = tmp_path / "strange.mrg"
    path.write_text("(S (XP (NNP Anna)) (VP (VBD slept)) (PUNCT .))", encoding="utf-8")
    done = run("evaluate", parser, path, "--json")
    assert done.code == 0 and "labels unknown to the model" in done.err
    assert done.json["unseen_labels"] == {"XP": 1}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "bad.mrg: no tree in the file"),
        ("(S (NP (DT the))\n", "bad.mrg:1: .* not closed: 1 closing bracket missing"),
        ("(S (A b))\n(S (A b)))\n", "bad.mrg:2: a closing bracket without"),
        ("(S\n (NP))\n", "bad.mrg:2: a bracket with neither word nor phrase"),
        ("(S\n\n (NP the cat))\n", "bad.mrg:3: the word 'the' has no tag"),
        ("(S (-NONE- *))", "bad.mrg: every word is a trace"),
    ],
)
def test_bad_files_are_refused_in_one_line(run, parser, tmp_path, text, message):
    path = tmp_path / "bad.mrg"
    path.write_text(text, encoding="utf-8")
    for command in (
        ("train", "constparse", path, "--model", tmp_path / "m"),
        ("evaluate", parser, path),
    ):
        done = run(*command)
        assert done.code == 2 and not done.out
        assert re.fullmatch(f"error: \\S*{message}.*\n", done.err.splitlines(True)[-1])
        assert not (tmp_path / "m").exists()


def test_words_without_tags_are_refused(run, parser, treebank):
    done = run("predict", parser, treebank / "words.txt")
    assert done.code == 2 and "give words with their tags" in done.err


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--cost", "f2"], "--cost f2: choose from brackets, f1"),
        (["--features", "rule"], "did you mean 'rules'"),
        (["--vertical", "0"], "--vertical 0: give a whole number from 1 on"),
        (["--max-length", "0"], "--max-length 0"),
        (["--solver", "pcgf"], "pcgf"),
    ],
)
def test_bad_settings_are_refused(run, treebank, tmp_path, options, message):
    model, train = tmp_path / "m", treebank / "train.mrg"
    done = run("train", "constparse", train, "--model", model, *options)
    assert done.code == 2 and message in done.err and not model.exists()


def test_a_kernel_from_the_command_line(process, run, treebank, tmp_path):
    model, page = tmp_path / "k.model", tmp_path / "k.html"
    done = process(
        "train", "constparse", treebank / "train.mrg", "--model", model,
        "--kernel", "normalized(annotated:n=2)", "--match", "rule, label+tag",
        "--report", page, "--keep-dual", "--json",
    )  # fmt: skip
    assert done.code == 0, done.err
    assert "Training sentences kept" in page.read_text(encoding="utf-8")
    document = run("evaluate", model, treebank / "dev.mrg", "--json").json
    assert document["metrics"]["labelled_f1"] > 0.8
    checks = run("verify", model, treebank / "train.mrg", "--json").json
    assert checks["holds"]
    assert checks["checks"]["dual"]["how"].startswith("D(α) of")
    assert run("verify", model, treebank / "dev.mrg", "--json").code == 1
    facts = run("inspect", model, "--json").json
    assert facts["match"] == ["rule", "label+tag"]
    assert facts["n_anchors"] > 0
    assert run("explain", model, treebank / "dev.mrg", "--sentence", 1).code == 0
