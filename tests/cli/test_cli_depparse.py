"""`depparse` from the command line: CoNLL-U in, the same file with trees out."""

import gzip
import re

import pytest
from udtools import udeval

from partwise.datasets import toy_dependencies
from partwise.readers import read_conllu, read_conllu_document, write_conllu

ROW = "{}\tw\tl\tNOUN\tNN\t_\t{}\t{}\t_\t_\n"


@pytest.fixture(scope="module")
def treebank(tmp_path_factory):
    folder = tmp_path_factory.mktemp("treebank")
    for name, n, seed in (("train", 40, 0), ("dev", 15, 1)):
        write_conllu(folder / f"{name}.conllu", *toy_dependencies(n, random_state=seed))
    X, _ = toy_dependencies(15, random_state=1)
    write_conllu(folder / "blank.conllu.gz", X)
    return folder


@pytest.fixture(scope="module")
def trained(process, treebank):
    return process(
        "train", "depparse", treebank / "train.conllu", "--model", treebank / "d.model",
        "--hash-bits", 12, "--tol", 0.2, "--dev", treebank / "dev.conllu",
        "--report", treebank / "d.html", "--keep-dual", "--json",
    )  # fmt: skip


@pytest.fixture(scope="module")
def parser(trained, treebank):
    assert trained.code == 0, trained.err
    return treebank / "d.model"


def test_training_tells_its_certificate_and_the_scores_on_dev(trained, treebank):
    document = trained.json
    assert document["certificate"]["relative_gap"] <= 0.2
    assert document["certificate"]["exact_oracle"] is True
    assert document["n_examples"] == 40 and document["n_features"] > 0
    assert {"read", "features", "solve", "compile", "total"} < set(document["seconds"])
    assert 0.5 < document["dev"]["las"] <= document["dev"]["uas"] <= 1
    page = (treebank / "d.html").read_text(encoding="utf-8")
    assert "By relation" in page and "Worst errors, drawn" in page


def test_prediction_changes_heads_and_relations_only(run, parser, treebank):
    text = (treebank / "dev.conllu").read_text(encoding="utf-8")
    odd = treebank / "odd.conllu"
    lines = text.splitlines(keepends=True)
    odd.write_text(
        "# first comment\n1-2\tboth\t_\t_\t_\t_\t_\t_\t_\tX=1\n" + lines[0]
        + "1.1\te\t_\t_\t_\t_\t_\t_\t_\t_\n" + "".join(lines[1:]),
        encoding="utf-8",
    )  # fmt: skip
    output = treebank / "parsed.conllu"
    done = run("predict", parser, odd, "--output", output)
    assert done.code == 0, done.err
    before, after = (
        [line.split("\t") for line in path.read_text(encoding="utf-8").splitlines()]
        for path in (odd, output)
    )
    assert len(before) == len(after)
    for old, new in zip(before, after, strict=True):
        assert old[:6] + old[8:] == new[:6] + new[8:]
    gold, system = (
        udeval.load_conllu_file(str(path)) for path in (treebank / "dev.conllu", output)
    )
    assert len(gold.words) == len(system.words), "one root each, no cycle"


def test_evaluation_has_the_numbers_of_udtools(run, parser, treebank):
    output = treebank / "dev.parsed.conllu"
    assert run("predict", parser, treebank / "dev.conllu", "-o", output).code == 0
    document = run("evaluate", parser, treebank / "dev.conllu", "--json").json
    gold, system = (
        udeval.load_conllu_file(str(path)) for path in (treebank / "dev.conllu", output)
    )
    official = udeval.evaluate(gold, system)
    for name in ("uas", "las", "clas"):
        assert document["metrics"][name] == pytest.approx(official[name.upper()].f1)
    assert document["non_projective"] == {"true": 0, "predicted": 0}
    assert document["n_examples"] == 15
    relations = {row["relation"]: row for row in document["relations"]}
    assert relations["root"]["support"] == 15
    shown = run("evaluate", parser, treebank / "dev.conllu").out
    assert "words apart" in shown and "non-projective trees" in shown


def test_files_without_trees_are_parsed_and_not_evaluated(run, parser, treebank):
    blank = treebank / "blank.conllu.gz"
    with gzip.open(blank, "rt", encoding="utf-8") as file:
        n_lines = len(file.readlines())
    done = run("predict", parser, blank)
    assert done.code == 0 and len(done.out.splitlines()) == n_lines
    assert "\t_\t_\t_\t_\n" not in done.out
    done = run("evaluate", parser, blank)
    assert done.code == 2
    assert re.fullmatch(r"error: \S+blank.conllu.gz: no trees, .*\n", done.err)


def test_longer_sentences_are_left_as_they_are(run, parser, treebank):
    X, _ = read_conllu(treebank / "dev.conllu")
    short = [len(words) <= 5 for words in X.strings("form")]
    document = run(
        "evaluate", parser, treebank / "dev.conllu", "--max-length", 5, "--json"
    ).json
    assert document["n_examples"] == sum(short) < 15
    output = treebank / "short.conllu"
    blank = treebank / "blank.conllu.gz"
    assert run("predict", parser, blank, "--max-length", 5, "-o", output).code == 0
    heads = read_conllu_document(output, trees=False).known_heads()
    assert [None not in sentence for sentence in heads] == short
    done = run("evaluate", parser, treebank / "dev.conllu", "--max-length", 1)
    assert done.code == 2 and "raise --max-length" in done.err


def test_known_heads_are_kept(run, parser, treebank):
    X, _ = toy_dependencies(1, random_state=1)
    rows = list(zip(X.strings("form")[0], X.strings("upos")[0], strict=True))
    odd = len(rows)  # the last word becomes the root
    text = "".join(
        f"{i}\t{form}\t_\t{tag}\t{tag}\t_\t{0 if i == odd else '_'}\t_\t_\t_\n"
        for i, (form, tag) in enumerate(rows, start=1)
    )
    path = treebank / "given.conllu"
    path.write_text(text, encoding="utf-8")
    free = run("predict", parser, path, "--json").json["trees"][0]["heads"]
    done = run("predict", parser, path, "--given", "head", "--json")
    assert done.code == 0, done.err
    assert done.json["trees"][0]["heads"][-1] == 0 != free[-1]
    done = run("predict", parser, path, "--given", "upos")
    assert done.code == 2 and "the column of known heads is HEAD" in done.err


def test_given_heads_that_no_tree_has_are_left_out(run, parser, treebank):
    """Arcs 1-3 and 2-4 cross, and the parser is projective."""
    rows = [("the", "DT", "_"), ("dog", "NN", 0), ("barked", "VB", 1), ("x", "NN", 2)]
    sentence = "".join(
        f"{i}\t{form}\t_\t{tag}\t{tag}\t_\t{head}\t_\t_\t_\n"
        for i, (form, tag, head) in enumerate(rows, start=1)
    )
    kept = sentence.replace("\t1\t_\t_\t_\n", "\t2\t_\t_\t_\n")
    path = treebank / "crossing.conllu"
    path.write_text(f"{kept}\n{sentence}\n{kept}\n", encoding="utf-8")
    done = run("predict", parser, path, "--given", "head", "--json")
    assert done.code == 0, done.err
    assert done.err.count("warning: ") == 1
    assert f"{path}:6: no tree of this model has the given heads" in done.err
    first, _, last = (tree["heads"] for tree in done.json["trees"])
    assert first[1:] == last[1:] == [0, 2, 2]


def test_several_trees_come_as_json(run, parser, treebank):
    done = run("predict", parser, treebank / "dev.conllu", "--topk", 3, "--json")
    for ranked in done.json["topk"]:
        scores = [tree["score"] for tree in ranked]
        assert scores == sorted(scores, reverse=True) and len(scores) == 3
    done = run("predict", parser, treebank / "dev.conllu", "--topk", 3)
    assert done.code == 2 and "room for one tree" in done.err


def test_several_files_are_joined_and_separated(run, parser, treebank):
    one, two = treebank / "one.conllu", treebank / "two.conllu"
    one.write_text(ROW.format(1, 0, "root").rstrip("\n"), encoding="utf-8")
    two.write_text(ROW.format(1, 0, "root"), encoding="utf-8")
    output = treebank / "both.conllu"
    assert run("predict", parser, one, two, "-o", output).code == 0
    assert len(read_conllu(output)[0]) == 2


def test_the_model_is_explained_inspected_and_verified(run, parser, treebank):
    done = run("explain", parser, treebank / "dev.conllu", "--json")
    assert done.code == 0, done.err
    document = done.json
    shares = sum(reason["share"] for reason in document["contributions"])
    assert shares == pytest.approx(document["lead"])
    assert " rather than " in run("explain", parser, treebank / "dev.conllu").out
    document = run("inspect", parser, "--json").json
    assert document["trees"]["projective"] is True and "nsubj" in document["labels"]
    done = run("verify", parser, treebank / "train.conllu")
    assert done.code == 0 and done.out.endswith("verified\n")
    done = run("verify", parser, treebank / "dev.conllu", "--json")
    assert done.code == 1 and done.json["holds"] is False


def test_features_with_names_and_shorter_sentences_only(run, treebank, tmp_path):
    model = tmp_path / "named.model"
    template = tmp_path / "arcs.txt"
    template.write_text("head.upos|dep.upos\nbias\n", encoding="utf-8")
    done = run(
        "train", "depparse", treebank / "train.conllu", "--model", model, "--tol", 0.5,
        "--hash-bits", 0, "--template", template, "--max-length", 6, "--json",
    )  # fmt: skip
    assert done.code == 0, done.err
    assert done.json["n_examples"] < 40
    assert "head.upos[0]|dep.upos[0]=" in run("inspect", model).out
    assert run("verify", model, treebank / "train.conllu").code == 0


def test_second_order(run, treebank, tmp_path):
    model = tmp_path / "two.model"
    done = run(
        "train", "depparse", treebank / "train.conllu", "--model", model, "--order", 2,
        "--candidates", 4, "--hash-bits", 12, "--tol", 0.3,
    )  # fmt: skip
    assert done.code == 0, done.err
    assert run("inspect", model, "--json").json["order"] == 2
    document = run("evaluate", model, treebank / "dev.conllu", "--json").json
    assert document["metrics"]["uas"] > 0.6
    assert run("verify", model, treebank / "train.conllu").code == 0
    done = run("explain", model, treebank / "dev.conllu")
    assert done.code == 0 and "ahead of the runner-up" in done.out


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "bad.conllu: no word in the file"),
        (ROW.format(1, 2, "a") + ROW.format(2, 1, "b"), "bad.conllu:1: .* cycle"),
        (ROW.format(1, 5, "a"), "bad.conllu:1: HEAD 5 in a sentence of 1 words"),
        (ROW.format(1, "x", "a") + ROW.format(2, 0, "b"), "bad.conllu:1: HEAD 'x'"),
        (ROW.format(1, 0, "a") + "2\tb\n", "bad.conllu:2: 2 columns"),
        (ROW.format(2, 0, "a"), "bad.conllu:1: ID '2' where 1 was expected"),
        (ROW.format(1, 0, "a") + ROW.format(2, 0, "b"), "bad.conllu:2: .*--many-roots"),
    ],
)
def test_bad_files_are_refused_in_one_line(run, parser, tmp_path, text, message):
    path = tmp_path / "bad.conllu"
    path.write_text(text, encoding="utf-8")
    for command in (
        ("train", "depparse", path, "--model", tmp_path / "m"),
        ("evaluate", parser, path),
    ):
        done = run(*command)
        assert done.code == 2 and not done.out
        assert re.fullmatch(f"error: \\S*{message}.*\n", done.err.splitlines(True)[-1])
        assert not (tmp_path / "m").exists()


def test_crossing_trees_are_counted_and_templates_added(run, treebank, tmp_path):
    text = (treebank / "train.conllu").read_text(encoding="utf-8")
    crossing = [ROW.format(d, h, "x") for d, h in enumerate((3, 4, 0, 3), 1)]
    train, templates = tmp_path / "train.conllu", tmp_path / "templates.txt"
    train.write_text(text + "".join(crossing) + "\n", encoding="utf-8")
    templates.write_text("default\nhead.form|dep.form[1]\n")
    done = run(
        "train", "depparse", train, "--model", tmp_path / "m", "--hash-bits", 12,
        "--tol", 0.5, "--template", templates,
    )  # fmt: skip
    assert done.code == 0, done.err
    assert "warning: 1 of 41 true trees have crossing arcs" in done.err
    assert "allow them by --non-projective" in done.err
    document = run("inspect", tmp_path / "m", "--json").json["featurizer"]["templates"]
    assert "head.form[0]|dep.form[1]" in document and "bias" in document


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--cost", "2"], "--cost 2: choose uas, las or a number"),
        (["--labels", "many"], "--labels many: choose from joint"),
        (["--order", "3"], "--order 3: choose from 1, 2"),
        (["--construction", "exakt"], "did you mean 'exact'"),
        (["--max-length", "0"], "--max-length 0: give a positive"),
        (
            ["--formulation", "slack", "--non-projective"],
            "use --projective, or --formulation margin with --penalty l1",
        ),
        (["--preset", "mcdonalds"], "did you mean 'mcdonald'"),
        (["--min-count", "2"], "--min-count 2: hashed features are not counted; add"),
        (["--solver", "hmm"], "--solver hmm: this output has no generative model"),
        (["--order", "2", "--loss", "log"], "--order 2 needs --loss hinge"),
        (["--order", "2", "--construction", "best_heads"], "--construction exact"),
        (["--budget", "3"], "--budget is for kernels; give --kernel"),
        (["--clusters", "3"], "--clusters is for kernels; give --match or --kernel"),
        (["--clusters", "0", "--match", "xpos"], "--clusters 0: give a whole number"),
        (["--vectors", "v.txt", "--match", "xpos"], "--vectors v.txt: give --clusters"),
        (
            ["--vectors", "v.txt", "--clusters", "3", "--match", "cluster"],
            "v.txt: no such file",
        ),
        (["--kernel", "bow", "--budget", "0"], "--budget 0: give a positive"),
        (
            ["--kernel", "bow", "--budget", "3", "--over-budget", "sell"],
            "--over-budget sell: choose",
        ),
        (["--kernel", "bow", "--order", "2"], "--order 2 has no kernel form"),
        (["--kernel", "linear"], "does not compare sentences"),
        (["--match", "hue"], "--match needs a column 'hue'"),
        (["--match", "xpos", "--loss", "log"], "--match train margins: --loss log"),
    ],
)
def test_bad_settings_are_refused(run, treebank, tmp_path, options, message):
    model = tmp_path / "m"
    done = run(
        "train", "depparse", treebank / "train.conllu", "--model", model, *options
    )
    assert done.code == 2 and message in done.err and not model.exists()


def test_heads_and_relations_that_are_not_known(run, treebank, tmp_path):
    lines = (treebank / "train.conllu").read_text(encoding="utf-8").split("\n")
    rows = [line.split("\t") for line in lines]
    for k, row in enumerate(rows):
        if len(row) > 1 and k % 3 == 0:
            row[6] = "_"
        if len(row) > 1 and k % 4 == 0:
            row[7] = "_"
    text = "\n".join("\t".join(row) for row in rows)
    (tmp_path / "partly.conllu").write_text(text, encoding="utf-8")
    model, data = tmp_path / "m", tmp_path / "partly.conllu"
    done = run(
        "train", "depparse", data, "--model", model, "--hash-bits", 12,
        "--dev", treebank / "dev.conllu", "--report", tmp_path / "r.html", "--json",
    )  # fmt: skip
    assert done.code == 0, done.err
    n_words = sum(len(row) > 1 for row in rows)
    n_heads = sum(len(row) > 1 and row[6] == "_" for row in rows)
    assert f"{n_heads:,} words without head (_), " in done.err and n_heads > n_words / 4
    assert "local" in done.json["certificate"]["note"]
    assert done.json["dev"]["uas"] > 0.8
    labels = run("inspect", model, "--json").json["labels"]
    assert "_" not in labels and len(labels) > 3
    assert run("verify", model, data).code == 0
    train = ("train", "depparse", data, "--model", model, "--hash-bits", 12)
    for options in ((), ("--normalized",)):
        assert run(*train, "--keep-dual", "--tol", 0.001, *options).code == 0
        checks = run("verify", model, data, "--json").json
        dual = checks["checks"]["dual"]
        assert checks["holds"] and dual["how"].startswith("D(")
        assert abs(dual["recomputed"] - dual["stated"]) < 1e-2 * dual["stated"]
    scores = run("evaluate", model, data, "--json")  # of what is known
    assert scores.json["metrics"]["uas"] > 0.9, scores.err
    assert run("report", model, data, "--output", tmp_path / "s.html").code == 0


def test_options_of_other_files_are_refused(run, parser, treebank):
    done = run("predict", parser, treebank / "dev.conllu", "--columns", "a,b")
    assert done.code == 2 and "--columns does not go with this model" in done.err


def test_eight_columns_and_many_roots(run, treebank, tmp_path):
    X, y = toy_dependencies(10, random_state=3)
    path = tmp_path / "x.conll"
    write_conllu(path, X, y)
    lines = path.read_text(encoding="utf-8").splitlines()
    eight = ["\t".join(line.split("\t")[:8]) for line in lines]
    fields = eight[0].split("\t")
    eight[0] = "\t".join([*fields[:6], "0", "root"])
    path.write_text("\n".join(eight) + "\n", encoding="utf-8")
    model = tmp_path / "x.model"
    common = ("train", "depparse", path, "--model", model, "--hash-bits", 12)
    done = run(*common, "--tol", 0.5, "--many-roots")
    assert done.code == 0, done.err
    assert run("evaluate", model, path).code == 0
