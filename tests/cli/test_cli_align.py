"""`partwise … align` in processes of its own, good files and bad."""

import numpy as np
import pytest

from partwise import SequenceAligner, load
from partwise.datasets import toy_alignments, toy_homologues
from partwise.metrics import metric
from partwise.readers import (
    CandidateLists,
    Family,
    FastaRecord,
    read_families,
    read_matrix,
    write_annotations,
    write_families,
    write_fasta,
)
from partwise.readers.fasta import aligned_pairs, aligned_rows

MATRIX = "   A  R\nA  4 -1\nR -1  5\n"


def families(n, seed):
    X, y = toy_alignments(n, random_state=seed)
    return [
        Family(f"f{i}", [FastaRecord("a", rows[0]), FastaRecord("b", rows[1])])
        for i, rows in enumerate(
            aligned_rows(*x, pairs) for x, pairs in zip(X, y, strict=True)
        )
    ]


@pytest.fixture(scope="module")
def folder(tmp_path_factory, process):
    place = tmp_path_factory.mktemp("align")
    for name, n, seed in (("train", 25, 0), ("dev", 8, 1)):
        write_families(place / f"{name}.afa", families(n, seed))
    columns = {}
    for path in ("train.afa", "dev.afa"):
        for family in read_families(place / path):
            for record in family.records:
                text = record.sequence.replace("-", "")
                small = ["y" if c in "AGPST" else "n" for c in text]
                # the names of both files are alike: dev's own come last
                key = f"{family.name}/{record.name}"
                if path == "train.afa":
                    columns[key] = {"residue": list(text), "small": small}
    write_annotations(place / "columns.tsv", columns)
    (place / "matrix").write_text(MATRIX, encoding="utf-8")
    done = process(
        "train", "align", place / "train.afa", "--model", place / "m", "--tol", "0.02",
        "--dev", place / "dev.afa", "--report", place / "r.html", "--start",
        place / "matrix", "--mode", "semiglobal", "--cost", "q4", "--json",
    )  # fmt: skip
    assert done.code == 0, done.err
    assert done.json["dev"]["q"] > 60 and done.json["dev"]["q4"] > 70
    assert done.json["certificate"]["relative_gap"] <= 0.02
    return place


def test_report_shows_alignments_and_both_matrices(folder):
    page = (folder / "r.html").read_text(encoding="utf-8")
    assert "Learned: largest" in page and "Start: largest" in page
    assert "reference pairs are there" in page and "gap, open" in page
    assert "Start and learned" in page


def test_start_is_evaluated_beside_the_learned_scores(folder, run):
    shown = run("evaluate", folder / "m", folder / "dev.afa", "--json").json
    dev = aligned_pairs(read_families(folder / "dev.afa"))
    still = SequenceAligner.load(folder / "m")
    still.model_.weights[:] = still.model_.start
    reference = [y[core] for y, core in zip(dev.y, dev.core, strict=True)]
    for name in ("q", "q4"):
        value = metric(name).function(reference, still.predict(dev.X))
        assert shown["start"][name] == pytest.approx(value)
        assert shown["metrics"][name] > value
    table = run("evaluate", folder / "m", folder / "dev.afa").out
    assert f"start    {shown['start']['q']:.2f}" in table


def test_commands(folder, run):
    model, dev = folder / "m", folder / "dev.afa"
    shown = run("evaluate", model, dev, "--json").json
    assert set(shown["metrics"]) == {"q", "q4"} and len(shown["families"]) == 8
    assert run("predict", model, dev, "--output", folder / "out.afa").code == 0
    before, after = (aligned_pairs(read_families(p)) for p in (dev, folder / "out.afa"))
    assert before.X == after.X and before.names == after.names
    again = run("evaluate", model, folder / "out.afa", "--json").json
    assert again["metrics"]["q"] == 100
    ranked = run("predict", model, dev, "--topk", "2", "--json").json["topk"]
    assert ranked[0][0]["alignment"] and ranked[0][0]["score"] >= ranked[0][1]["score"]
    assert run("verify", model, folder / "train.afa").code == 0
    assert run("verify", model, dev).code == 1
    document = run("inspect", model, "--json").json
    assert (
        document["templates"]["residue ~ residue"] == 441
        and document["mode"] == "semiglobal"
    )
    assert "residue=" in run("explain", model, dev).out


def test_sequences_without_gaps_are_aligned(folder, run):
    (folder / "new.fa").write_text(
        ">x\nMKVLAAGR\n>y\nMKLAGR\n>z\nMK\n", encoding="utf-8"
    )
    assert (
        run("predict", folder / "m", folder / "new.fa", "--output", folder / "o").code
        == 0
    )
    assert len(read_families(folder / "o")) == 3
    assert run("evaluate", folder / "m", folder / "new.fa").code == 2


def test_empty_sequences_are_aligned(folder, run):
    (folder / "e.fa").write_text(">x\n---\n>y\nMKL\n", encoding="utf-8")
    done = run("predict", folder / "m", folder / "e.fa", "--output", folder / "o")
    assert done.code == 0, done.err
    rows = [record.sequence for record in read_families(folder / "o")[0].records]
    assert rows == ["---", "MKL"]
    done = run("evaluate", folder / "m", folder / "e.fa")
    assert done.code == 2 and "'x' has no letters" in done.err


def test_annotations(folder, run):
    train, table = folder / "train.afa", folder / "columns.tsv"
    done = run(
        "train", "align", train, table, "--model", folder / "t", "--preset", "tensor",
        "--tol", "0.1", "--json",
    )  # fmt: skip
    assert done.json["n_features"] == (21 * 3) ** 2 + 2
    assert run("evaluate", folder / "t", train, table).code == 0
    assert "no column 'small'" in run("predict", folder / "t", train).err
    assert (
        "another sequence"
        in run("predict", folder / "t", folder / "dev.afa", table).err
    )
    (folder / "lines").write_text("residue ~ small\nextend: small\n", encoding="utf-8")
    done = run(
        "train", "align", train, table, "--model", folder / "t", "--template",
        folder / "lines", "--tol", "0.1", "--no-tie-gaps", "--json",
    )  # fmt: skip
    assert done.json["n_features"] == 21 * 3 + 2 * 3


def test_profiles_of_numbers(folder, run):
    """A letter's row of a matrix is a profile; letters are vectors, too."""
    letters = "ARNDCQEGHILKMFPSTWYV"
    scores = np.random.default_rng(0).normal(size=(20, 20)) + 3 * np.eye(20)
    columns = {}
    for family in read_families(folder / "train.afa"):
        for record in family.records:
            text = record.sequence.replace("-", "")
            place = [letters.index(c) for c in text]
            columns[f"{family.name}/{record.name}"] = {
                "residue": list(text),
                "small": ["y" if c in "AGPST" else "n" for c in text],
                "profile": scores[place].round(3),
                "letters": np.eye(20)[place],
            }
    train, table, model = folder / "train.afa", folder / "profiles.tsv", folder / "p"
    write_annotations(table, columns)
    done = run(
        "train", "align", train, table, "--model", model, "--preset",
        "simple+window+profile", "--tol", "0.1", "--json",
    )  # fmt: skip
    assert done.code == 0, done.err
    templates = run("inspect", model, "--json").json["templates"]
    assert templates["profile * letters"] == templates["letters * profile"] == 1
    assert "small[-2] ~ small[-2]" in templates
    weights = dict(zip(load(model).feature_names, load(model).weights, strict=True))
    assert weights["profile * letters"] != 0
    assert run("evaluate", model, train, table, "--json").json["metrics"]["q"] > 60
    assert run("verify", model, train, table).code == 0
    done = run("predict", model, train, folder / "columns.tsv", "--output", "-")
    assert done.code == 2 and "no column 'profile'" in done.err.replace("\n", " ")
    done = run(
        "train", "align", train, folder / "columns.tsv", "--model", folder / "none",
        "--preset", "simple+profile",
    )  # fmt: skip
    assert done.code == 2 and "whose name ends in :real" in done.err.replace("\n", " ")


@pytest.fixture(scope="module")
def lists(tmp_path_factory):
    """Queries with candidates, with and without the alignments of homologues."""
    place = tmp_path_factory.mktemp("lists")
    for name, seed in (("train", 0), ("dev", 1)):
        X, y = toy_homologues(12, seed, n_decoys=4)
        names = [
            (f"{name}{i}", [f"{name}{i}.{k}" for k in range(5)]) for i in range(len(X))
        ]
        records = []
        for (query, others), (a, texts) in zip(names, X, strict=True):
            records.append(FastaRecord(query, a))
            records += map(FastaRecord, others, texts)
        write_fasta(place / f"{name}.fa", records)
        CandidateLists(X, y, names).write(place / f"{name}.tsv", [[one] for one in y])
    text = (place / "train.tsv").read_text(encoding="utf-8")
    rows = [line.split("\t")[:3] for line in text.splitlines()]
    (place / "hidden.tsv").write_text(
        "\n".join("\t".join(row) for row in rows) + "\n", encoding="utf-8"
    )
    return place


def test_homologues_among_decoys(lists, run):
    train, dev = (
        [lists / f"{name}.fa", lists / f"{name}.tsv"] for name in ("train", "dev")
    )
    model = lists / "m"
    (lists / "matrix").write_text(MATRIX, encoding="utf-8")
    done = run(
        "train", "align", *train, "--model", model, "--mode", "local", "--C", "0.1",
        "--start", lists / "matrix", "--report", lists / "r.html", "--json",
    )  # fmt: skip
    assert done.code == 0, done.err
    assert done.json["n_examples"] == 12 and done.json["certificate"]["exact_oracle"]
    shown = run("evaluate", model, *dev, "--json").json
    assert shown["metrics"]["homologue_accuracy"] > 0.8
    assert (
        shown["metrics"]["homologue_accuracy"] >= shown["start"]["homologue_accuracy"]
    )
    assert run("verify", model, *train).code == 0
    # predictions are a table that is the truth of the same model
    asked = lists / "asked.tsv"
    text = (lists / "dev.tsv").read_text(encoding="utf-8").splitlines()
    asked.write_text(
        "\n".join("\t".join(line.split("\t")[:2]) for line in text), encoding="utf-8"
    )
    assert run("predict", model, dev[0], asked, "-o", lists / "p.tsv").code == 0
    again = run("evaluate", model, dev[0], lists / "p.tsv", "--json").json
    assert again["metrics"] == {"homologue_accuracy": 1.0}
    ranked = run("predict", model, dev[0], asked, "--topk", "2", "--json").json["topk"]
    number, pairs = ranked[0][0]["alignment"]
    assert 0 <= number < 5 and len(pairs[0]) == 2
    assert ranked[0][0]["score"] >= ranked[0][1]["score"]
    assert run("evaluate", model, dev[0], asked).code == 2
    assert "rather than" in run("explain", model, *dev).out
    assert "Gap scores" in (lists / "r.html").read_text(encoding="utf-8")


def test_homologues_of_unknown_alignment(lists, run):
    train, model = [lists / "train.fa", lists / "hidden.tsv"], lists / "latent"
    options = ["--model", model, "--mode", "local", "--C", "0.1", "--json"]
    done = run("train", "align", *train, *options)
    assert done.code == 0 and "0 homologues with alignment" in done.err
    shown = run("evaluate", model, lists / "dev.fa", lists / "dev.tsv", "--json").json
    assert shown["metrics"]["homologue_accuracy"] > 0.8
    assert run("verify", model, *train).code == 0
    done = run("train", "align", lists / "hidden.tsv", "--model", lists / "x")
    assert done.code == 2 and "no sequence 'train0'" in done.err


@pytest.mark.parametrize(
    ("text", "options", "message"),
    [
        (None, (), "no such file"),
        ("", (), "no sequence"),
        ("hello\n", (), ":1: 'hello' before the first"),
        (">a\nMK\n>b\nM\n", (), "different lengths"),
        (">a\nMK\n", (), "one sequence"),
        (">a\nM4\n>b\nMK\n", (), ":2: 'M4' is no sequence"),
        (">a\nMKV\n>b\nMKV\n", ("--max-length", "2"), "raise --max-length"),
        (">a\nMKV\n>b\nMKV\n", ("--max-length", "0"), "--max-length 0"),
        (">a\nMKV\n>b\nMKV\n", ("--start", "nowhere"), "nowhere: no such file"),
        (">a\nMKV\n>b\nMKV\n", ("--cost", "q5"), "--cost q5"),
        (">a\nMKV\n>b\nMKV\n", ("--mode", "lokal"), "lokal"),
        (">a\nMKV\n>b\nMKV\n", ("--preset", "simpel"), "did you mean 'simple'"),
        (">a\nMKV\n>b\nMKV\n", ("--preset", "anova2"), "2 columns or more"),
        (">a\nMKV\n>b\nMKV\n", ("--band", "-1"), "--band -1"),
        (
            ">a\nMKV\n>b\nMKV\n",
            ("--mode", "semiglobal", "--free-ends", "a_start,c"),
            "--free-ends a_start,c: choose a list of a_start, a_end",
        ),
        (
            ">a\nMKV\n>b\nMKV\n",
            ("--free-ends", "a_start"),
            "--free-ends a_start: it goes with --mode semiglobal; drop it",
        ),
        (">a\nMKV\n>b\nMKV\n", ("--free-ends", "a b"), "'a b' has an item"),
    ],
)
def test_bad_input_has_one_message(tmp_path, run, text, options, message):
    path = tmp_path / "x.afa"
    if text is not None:
        path.write_text(text, encoding="utf-8")
    done = run("train", "align", path, "--model", tmp_path / "m", *options)
    assert done.code == 2 and message in done.err.replace("\n", " ")
    assert "Traceback" not in done.err and not (tmp_path / "m").exists()


def test_bad_files_in_a_process(folder, process):
    (folder / "bad.afa").write_bytes(b">a\nM\x00K\n")
    done = process("predict", folder / "m", folder / "bad.afa")
    assert done.code == 2 and "bad.afa:2: NUL byte" in done.err
    done = process("predict", folder / "m", folder / "dev.afa", "--given", "x")
    assert done.code == 2 and "--given" in done.err
    (folder / "cut").write_bytes((folder / "m").read_bytes()[:-9])
    done = process("inspect", folder / "cut")
    assert done.code == 2 and "Traceback" not in done.err


def test_free_ends_and_the_learned_matrix(folder, run):
    done = run(
        "train", "align", folder / "train.afa", "--model", folder / "ends",
        "--mode", "semiglobal", "--free-ends", "a_start,b_end", "--tol", 0.5,
    )  # fmt: skip
    assert done.code == 0, done.err
    facts = run("inspect", folder / "ends", "--json").json
    assert facts["free_ends"] == ["a_start", "b_end"]
    assert load(folder / "ends").structure.free_ends == ["a_start", "b_end"]
    done = run("convert", folder / "ends", "--to", "matrix", "-o", folder / "learned")
    assert done.code == 0, done.err
    again = read_matrix(folder / "learned")
    learned = load(folder / "ends").matrix()
    assert again.rows == learned.rows
    assert np.abs(again.scores - learned.scores).max() <= 5e-5
