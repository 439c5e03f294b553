"""MotifClassifier: planted motifs, formats, files, commands, and the Gibbs sampler."""

import io
import json
from xml.etree import ElementTree

import numpy as np
import pytest
from sklearn.model_selection import cross_val_score

from partwise import MotifClassifier
from partwise.cli.app import run
from partwise.datasets import planted_motifs
from partwise.readers import ReaderError
from partwise.readers.sequences import read_sequences
from partwise.report.logos import draw_logo, information
from partwise.structures.motif.gibbs import GibbsMotif


@pytest.fixture(scope="module")
def planted():
    X, y, positions = planted_motifs(200, random_state=3)
    finder = MotifClassifier(length=8, order=0, C=200.0, n_jobs=2).fit(X[:120], y[:120])
    return finder, X, y, positions


def test_finds_planted_motifs():
    """Ten random starts, a tenth of the letters drawn anew; as the benchmark."""
    shares = []
    for seed in range(3):
        X, y, positions = planted_motifs(400, random_state=seed)
        finder = MotifClassifier(length=8, order=0, n_jobs=2).fit(X[:200], y[:200])
        right = finder.positions(X) == positions
        shares.append(np.mean(right[y == 1]))
    assert np.mean(shares) >= 0.95


def test_rounds_never_raise_the_objective(planted):
    finder, X, y, _ = planted
    assert finder.score(X[120:], y[120:]) > 0.85
    assert finder.certificate_.is_local
    values = [r.objective for r in finder.rounds_]
    assert values == sorted(values, reverse=True)


def test_uniform_windows_of_the_paper_end_at_zero_here():
    X, y, _ = planted_motifs(60, random_state=0)
    finder = MotifClassifier(length=8, order=0, seeds=0, restarts=3).fit(X, y)
    assert finder.certificate_.primal == pytest.approx(60.0, rel=1e-3)  # C·1: w = 0


def test_sequences_of_the_other_strand():
    X, y, positions = planted_motifs(120, noise=0.0, random_state=1)
    turn = str.maketrans("ACGT", "TGCA")
    mixed = [x.translate(turn)[::-1] if i % 4 == 0 else x for i, x in enumerate(X)]
    finder = MotifClassifier(
        length=8, order=0, both_strands=True, restarts=3, C=120.0
    ).fit(mixed, y)
    assert finder.score(mixed, y) > 0.95
    expected = [52 - p if i % 4 == 0 else p for i, p in enumerate(positions) if y[i]]
    actual = finder.positions(mixed)[y == 1]
    assert np.mean(actual == expected) > 0.95


def test_background_sequences_count_less():
    X, y, _ = planted_motifs(40, random_state=0)
    more, _, _ = planted_motifs(30, random_state=9)
    finder = MotifClassifier(length=8, order=0, restarts=1)
    finder.fit(X, y, background=more[1::2])
    weight = finder.objective_.weight
    assert len(weight) == 55
    assert weight[-1] == pytest.approx(weight[0] / 50)


def test_scores_explanations_and_cross_validation(planted):
    finder, X, y, _ = planted
    scores = finder.decision_function(X)
    assert ((scores > 0) == (finder.predict(X) == 1)).all()
    explanation = finder.explain(X[0], top=8)
    assert sum(c.share for c in explanation.contributions) == pytest.approx(
        abs(scores[0]), rel=1e-9
    )
    assert finder.predict(["ACG"]).tolist() == [0]
    assert finder.positions(["ACG"]).tolist() == [-1]
    small = MotifClassifier(length=8, order=0, restarts=1, seeds=50)
    assert cross_val_score(small, X[:60], y[:60], cv=3).shape == (3,)


def test_classes_have_a_positive_one():
    X, y, _ = planted_motifs(20)
    finder = MotifClassifier(restarts=1, order=0, max_iter=1)
    signs = np.where(y == 1, "+", "-")
    assert finder.fit(X, signs).classes_.tolist() == ["-", "+"]
    names = np.where(y == 1, "bound", "free")
    assert finder.fit(X, names).classes_.tolist() == ["free", "bound"]
    finder.set_params(positive="free")
    assert finder.fit(X, names).classes_.tolist() == ["bound", "free"]
    with pytest.raises(ValueError, match="positive='other': choose one of"):
        finder.set_params(positive="other").fit(X, names)
    with pytest.raises(ValueError, match="3 classes"):
        finder.fit(X, np.arange(20) % 3)


def test_other_programs_read_the_motif(planted, tmp_path):
    motifs = pytest.importorskip("Bio.motifs")
    finder, _, _, _ = planted
    finder.write_pwm(tmp_path / "m.meme", "box")
    with open(tmp_path / "m.meme", encoding="utf-8") as file:
        (read,) = motifs.parse(file, "minimal")
    assert read.name == "box"
    counts = np.array([read.counts[letter] for letter in "ACGT"]).T
    np.testing.assert_allclose(counts, finder.model_.counts)
    finder.write_pwm(tmp_path / "m.jaspar", "box", layout="jaspar")
    with open(tmp_path / "m.jaspar", encoding="utf-8") as file:
        (read,) = motifs.parse(file, "jaspar")
    counts = np.array([read.counts[letter] for letter in "ACGT"]).T
    np.testing.assert_allclose(counts, finder.model_.counts)
    with pytest.raises(ValueError, match="layout='transfac'"):
        finder.write_pwm(tmp_path / "m", layout="transfac")


def test_a_shell_writes_the_motif_for_other_programs(planted, tmp_path, capsys):
    finder, _, _, _ = planted
    model = str(tmp_path / "m")
    finder.save(model)
    for layout in ("meme", "jaspar"):
        finder.write_pwm(tmp_path / layout, layout=layout)
        expected = (tmp_path / layout).read_text()
        assert run(["convert", model, "--to", layout]) == 0
        assert capsys.readouterr().out == expected
    assert run(["convert", model, "--to", "meme", "-o", str(tmp_path / "x")]) == 0
    assert (tmp_path / "x").read_text() == (tmp_path / "meme").read_text()
    for options, message in (
        ([], "is a model of Partwise; give --to meme or --to jaspar"),
        (["--to", "transfac"], "--to transfac: choose from meme, jaspar"),
        (["--to", "meme", "-o", model], "it would overwrite"),
    ):
        assert run(["convert", model, *options]) == 2
        assert message in capsys.readouterr().err


def test_a_shell_explains_one_sequence(planted, tmp_path, capsys):
    finder, X, _, _ = planted
    finder.save(tmp_path / "m")
    lines = [f"-\ts{i}\t{x}\n" for i, x in enumerate(X[:4])]
    (tmp_path / "new.tsv").write_text("".join(lines), encoding="utf-8")
    paths = [str(tmp_path / "m"), str(tmp_path / "new.tsv")]
    assert run(["explain", *paths, "--sentence", "2", "--json"]) == 0
    shown = json.loads(capsys.readouterr().out)
    assert shown.pop("sentence") == 2
    assert shown == json.loads(json.dumps(finder.explain(X[2]).to_dict()))


def test_the_logo_is_drawn_to_scale():
    pwm = np.array([[1.0, 0, 0, 0], [0.25] * 4, [0.5, 0.5, 0, 0]])
    np.testing.assert_allclose(information(pwm), [2, 0, 1], atol=1e-9)
    picture = ElementTree.fromstring(draw_logo(pwm))
    letters = [node.text for node in picture if node.text in "ACGT"]
    assert letters == ["A", "A", "C"]


def test_gibbs_sampler_finds_planted_motifs():
    X, y, positions = planted_motifs(80, noise=0.1, random_state=1)
    have = [x for x, label in zip(X, y, strict=True) if label]
    rest = [x for x, label in zip(X, y, strict=True) if not label]
    gibbs = GibbsMotif(8, order=0, sweeps=20, restarts=4).fit(have, rest)
    shift = gibbs.positions(have) - positions[y == 1]
    # a sampler may settle some letters beside the motif
    assert np.mean(shift == np.bincount(shift + 60).argmax() - 60) > 0.8
    assert gibbs.scores(have).mean() > gibbs.scores(rest).mean()
    assert gibbs.scores(["ACG"])[0] == -np.inf


def test_commands(tmp_path, capsys):
    X, y, positions = planted_motifs(60, noise=0.0, random_state=1)
    lines = [f"{'-+'[y[i]]}\ts{i}\t{x}" for i, x in enumerate(X)]
    table, model = tmp_path / "probes.tsv", str(tmp_path / "box.model")
    table.write_text("class\tname\tsequence\n" + "\n".join(lines) + "\n")
    options = ["--length", "8", "--order", "0", "--restarts", "2", "--json"]
    assert not run(["train", "motif", str(table), "--model", model, *options])
    document = json.loads(capsys.readouterr().out)
    assert document["certificate"]["is_local"] and document["n_examples"] == 60
    assert not run(["evaluate", model, str(table), "--json"])
    assert json.loads(capsys.readouterr().out)["metrics"]["accuracy"] > 0.9
    assert not run(["verify", model, str(table)])
    assert "verified" in capsys.readouterr().out
    assert not run(["inspect", model, "--json"])
    assert len(json.loads(capsys.readouterr().out)["consensus"]) == 8
    fasta = tmp_path / "new.fa"
    fasta.write_text("".join(f">s{i}\n{x}\n" for i, x in enumerate(X[:4])))
    assert not run(["predict", model, str(fasta)])
    header, first, *_ = capsys.readouterr().out.splitlines()
    assert header.split("\t") == ["name", "class", "position", "strand", "score"]
    assert first.split("\t")[:4] == ["s0", "+", str(positions[0]), "+"]
    assert not run(["predict", model, str(fasta), "--json"])
    assert json.loads(capsys.readouterr().out)["sites"][0]["position"] == positions[0]
    assert not run(
        ["train", "motif", str(table), "--model", model, *options[:-1],
         "--report", str(tmp_path / "r.html")]
    )  # fmt: skip
    page = (tmp_path / "r.html").read_text()
    assert "local" in page and "Letters of its best windows" in page


def test_a_shell_takes_a_background(tmp_path, capsys):
    X, y, _ = planted_motifs(40, random_state=0)
    more, _, _ = planted_motifs(30, random_state=9)
    table, model = tmp_path / "probes.tsv", tmp_path / "m"
    table.write_text("".join(f"{'-+'[k]}\t{x}\n" for k, x in zip(y, X, strict=True)))
    fasta = tmp_path / "intergenic.fa"
    fasta.write_text("".join(f">s{i}\n{x}\n" for i, x in enumerate(more)))
    settings = {"length": 8, "order": 1, "restarts": 2, "background_weight": 0.1}
    train = ["train", "motif", str(table), "--model", str(model)]
    for name, value in settings.items():
        train += ["--" + name.replace("_", "-"), str(value)]
    assert run([*train, "--background", str(fasta)]) == 0
    expected = MotifClassifier(**settings).fit(X, y, background=more)
    actual = MotifClassifier.load(model)
    np.testing.assert_array_equal(actual.coef_, expected.coef_)
    assert (actual.coef_ != MotifClassifier(**settings).fit(X, y).coef_).any()
    capsys.readouterr()
    for options, message in (
        ([], "--background-weight 0.1: it weighs sequences of a file, give --back"),
        (["--background", str(tmp_path / "none")], "none: no such file"),
        (["--background", str(model)], "it would overwrite"),
    ):
        assert run([*train, *options]) == 2
        assert message in capsys.readouterr().err


def test_fasta_files_are_classes(tmp_path):
    for name in ("bound", "free"):
        (tmp_path / f"{name}.fa").write_text(f">{name}1\nACGTAC\n>x\nAC\nGT\n")
    actual = read_sequences(tmp_path / "bound.fa")
    assert actual.y == ["bound", "bound"] and actual.X == ["ACGTAC", "ACGT"]
    assert actual.names == ["bound1", "x"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (b"+\tACGT\n-\tAC1T\n", "2: 'AC1T' is no sequence of nucleotides"),
        (b"ACGT\nACGT\n", "1: no class"),
        (b"", "no sequences"),
        (b">a\nMKLQ\n", "letters that are no nucleotides"),
    ],
)
def test_bad_files_are_refused(text, message):
    with pytest.raises(ReaderError, match=message):
        read_sequences(io.BytesIO(text))
