"""`depparse` with a kernel, from the command line."""

import pytest

from partwise.cli.progress import GramProgress
from partwise.datasets import toy_dependencies
from partwise.kernels import Estimate, Progress
from partwise.readers import write_conllu

KERNEL = ("--kernel", "normalized(annotated:n=2)", "--clusters", "9")
MATCH = ("--match", "xpos+distance, form, cluster")


@pytest.fixture(scope="module")
def treebank(tmp_path_factory):
    folder = tmp_path_factory.mktemp("treebank")
    for name, n, seed in (("train", 40, 0), ("dev", 15, 1)):
        write_conllu(folder / f"{name}.conllu", *toy_dependencies(n, random_state=seed))
    return folder


@pytest.fixture(scope="module")
def parser(process, treebank):
    done = process(
        "train", "depparse", treebank / "train.conllu", "--model", treebank / "k.model",
        *KERNEL, *MATCH, "--hash-bits", 12, "--C", 20, "--tol", 0.1,
        "--report", treebank / "k.html", "--keep-dual", "--json",
        "--gram-cache", treebank / "grams",
    )  # fmt: skip
    assert done.code == 0, done.err
    assert done.json["certificate"]["relative_gap"] <= 0.1
    assert done.json["n_features"] > 0
    page = (treebank / "k.html").read_text(encoding="utf-8")
    assert "Training sentences kept" in page
    assert "support structure 1 of" in page
    assert len(list((treebank / "grams").iterdir())) == 1
    return treebank / "k.model"


def test_evaluate_and_verify(run, parser, treebank):
    document = run("evaluate", parser, treebank / "dev.conllu", "--json").json
    assert 0.4 < document["metrics"]["las"] <= document["metrics"]["uas"] <= 1
    done = run("verify", parser, treebank / "train.conllu", "--json")
    assert done.code == 0, done.err
    assert done.json["checks"]["dual"]["how"].startswith("D(α) of")
    done = run("verify", parser, treebank / "dev.conllu", "--json")
    assert done.code != 0


def test_inspect_and_explain(run, parser, treebank):
    facts = run("inspect", parser, "--json").json
    assert facts["match"] == ["xpos+distance", "form", "cluster"]
    assert facts["clusters"] == 9
    assert facts["kernel"]["kernel"] == "normalized.v1"
    assert 0 < facts["n_anchors"] <= 40
    document = run(
        "explain", parser, treebank / "dev.conllu", "--sentence", 2, "--json"
    ).json
    assert document["support"][0]["row"] < 40
    text = run("explain", parser, treebank / "dev.conllu", "--sentence", 2).out
    assert "training sentence" in text


@pytest.mark.parametrize(
    ("options", "text"),
    [
        (("--kernel", "nonsense"), "no kernel 'nonsense'"),
        (("--kernel", "rbf"), "does not compare sentences"),
        (("--match", "direction"), "name a column"),
        (("--match", "lemmas"), "needs a column 'lemmas'"),
        (("--clusters", "9"), "--clusters is for kernels; give --match or --kernel"),
        (("--match", "form", "--budget", "0"), "positive whole number"),
        (("--match", "form", "--gram-cache", "x"), "give --kernel"),
    ],
)
def test_bad_options_are_told(run, treebank, options, text):
    done = run(
        "train", "depparse", treebank / "train.conllu", "--model", treebank / "no",
        *options,
    )  # fmt: skip
    assert done.code == 2
    assert text in " ".join(done.err.split())


def test_large_gram_matrices_are_announced(capsys):
    progress = GramProgress(interval=0.0)
    progress.begin(Estimate(0.1, 1000))
    assert capsys.readouterr().err == ""
    progress.begin(Estimate(90.0, 1 << 30))
    progress(Progress(0.25, 10.0, 30.0))
    printed = capsys.readouterr().err
    assert "about 90 s and 1024 MB" in printed and "25 %, about 30 s left" in printed


def test_clusters_of_word_vectors(run, treebank, tmp_path):
    X, _ = toy_dependencies(40, random_state=0)
    words = sorted(set(X.columns["form"].values))
    path = tmp_path / "vectors.txt"
    lines = [f"{word} {len(word)} {number % 5}" for number, word in enumerate(words)]
    path.write_text("\n".join(lines), encoding="utf-8")
    train = (
        "train", "depparse", treebank / "train.conllu", "--model", tmp_path / "m",
        "--match", "cluster+distance", "--labels", "none", "--clusters", 6,
        "--vectors", path,
    )  # fmt: skip
    done = run(*train)
    assert done.code == 0, done.err
    assert run("inspect", tmp_path / "m", "--json").json["clusters"] == 6
    done = run("evaluate", tmp_path / "m", treebank / "dev.conllu", "--json")
    assert done.json["metrics"]["uas"] > 0.2
    path.write_text("\n".join([*lines[:4], "cat 1 two", *lines[4:]]), encoding="utf-8")
    done = run(*train)
    assert done.code == 2 and "vectors.txt:5: 'two' where a number" in done.err
