import gzip
import io
import json
import os
import re
import signal
import subprocess
import sys
import time
import warnings
from functools import partial
from types import SimpleNamespace

import numpy as np
import pytest
from safetensors.numpy import load as load_tensors
from safetensors.numpy import save as save_tensors

from partwise import SequenceTagger
from partwise.certificate import Certificate
from partwise.cli import main, progress
from partwise.cli.output import percent
from partwise.cli.progress import GapBar
from partwise.cli.warning_lines import warning_lines
from partwise.datasets import toy_entities
from partwise.model_file import load_model, save_model
from partwise.outputs.custom.model import WeightsModel
from partwise.readers import Table, read_columns, write_columns


def test_help_lists_the_commands_and_each_has_an_example(run):
    text = run("--help").out
    commands = "train predict evaluate report inspect explain verify convert fetch"
    commands = [*commands.split(), "compile", "demo"]
    listed = re.findall(r"^│ (\w+) ", text, re.MULTILINE)
    assert listed == commands
    for command in commands:
        shown = run(command, "--help")
        assert shown.code == 0 and "Example: partwise" in " ".join(shown.out.split())
    assert re.fullmatch(r"partwise \d+\.\d+\.\d+\n", run("--version").out)


def test_train_tells_its_certificate_as_json(trained, toys):
    answer = trained.json
    assert set(answer) == {
        "certificate", "seconds", "n_examples", "n_features", "model", "dev",
    }  # fmt: skip
    parts = dict(answer["seconds"])
    total = parts.pop("total")
    assert " ".join(parts) == "read features solve save evaluate report compile"
    assert sum(parts.values()) == pytest.approx(total) and min(parts.values()) >= 0
    certificate = answer["certificate"]
    assert certificate["dual"] <= certificate["primal"]
    assert certificate["relative_gap"] <= 0.01 and certificate["exact_oracle"]
    assert certificate["gap"] >= 0 and certificate["oracle_calls"] >= 60
    assert answer["n_examples"] == 60 and answer["n_features"] > 100
    assert answer["model"] == str(toys / "toy.model")
    assert answer["dev"]["token_accuracy"] > 0.8 and "span_f1" in answer["dev"]
    assert "60 sentences" in trained.err and "iteration 1" in trained.err
    assert "<html" in (toys / "toy.html").read_text(encoding="utf-8")


def test_the_model_file_keeps_settings_layout_and_dual(model):
    info = load_model(model).info
    assert info["settings"]["n_examples"] == 60
    assert info["reader"]["columns"] == ["word", "pos", "c2"]
    assert info["reader"]["label"] == "c2"
    assert load_model(model).support is not None


def test_predict_appends_a_column(run, model, toys):
    done = run("predict", model, toys / "ten.txt")
    table, labels = read_columns(io.BytesIO(done.out.encode()))
    given, truth = read_columns(toys / "ten.txt")
    assert table.strings("word") == given.strings("word")
    assert table.strings("c2") == truth
    assert done.code == 0 and labels == load_model(model).predict(given)


def test_predict_needs_no_labels_and_writes_files(run, model, toys, tmp_path):
    with_labels = run("predict", model, toys / "ten.txt", "--json").json
    place = tmp_path / "out.gz"
    done = run("predict", model, toys / "unlabelled.txt", "-o", place, "--json")
    assert done.json["labels"] == with_labels["labels"]
    assert done.json["output"] == str(place) and done.json["n_examples"] == 10
    with gzip.open(place, "rt", encoding="utf-8") as file:
        assert len(file.readline().split()) == 3


def test_predict_topk_and_given(run, model, toys, tmp_path):
    best = run("predict", model, toys / "ten.txt", "--topk", 3, "--json").json
    scores = [actual["score"] for actual in best["topk"][0]]
    assert scores == sorted(scores, reverse=True) and len(scores) == 3
    assert best["topk"][0][0]["labels"] == best["labels"][0]
    lines = run("predict", model, toys / "ten.txt", "--topk", 3).out.splitlines()
    assert len(lines[0].split()) == 6

    table, _ = read_columns(toys / "unlabelled.txt", label=None)
    known = [["I-LOC"] + ["_"] * (len(row) - 1) for row in table.strings("word")]
    write_columns(tmp_path / "known.txt", table, known)
    subset = run("predict", model, tmp_path / "known.txt", "--given", "c2", "--json")
    assert {row[0] for row in subset.json["labels"]} == {"I-LOC"}


def test_labels_that_are_not_known(run, toys, tmp_path):
    X, y = read_columns(toys / "train.txt")
    partly = [["_" if k % 2 else a for k, a in enumerate(row)] for row in y]
    data, model = tmp_path / "partly.txt", tmp_path / "m"
    write_columns(data, X, partly)
    train = ("train", "tag", data, "--model", model, "--tol", "0.05", "--json")
    done = run(*train, "--dev", toys / "dev.txt", "--report", tmp_path / "r.html")
    assert done.code == 0, done.err
    n_hidden = sum(row.count("_") for row in partly)
    assert done.err.count(f"{n_hidden:,} tokens without one (_)") == 1
    known = sorted({a for row in partly for a in row} - {"_"})
    assert run("inspect", model, "--json").json["labels"] == known
    assert done.json["dev"]["token_accuracy"] > 0.85
    assert run("verify", model, data).code == 0
    plain = run("verify", model, data, "--plain")
    assert plain.code == 2 and "--plain needs data in which all labels" in plain.err
    for cost in ("hamming", "normalized", "zero_one"):
        options = ("--cost", cost, "--keep-dual", "--tol", "1e-4")
        assert run(*train[:5], *options).code == 0
        checks = run("verify", model, data, "--json").json
        dual = checks["checks"]["dual"]
        assert checks["holds"] and dual["how"].startswith("D("), cost
        assert abs(dual["recomputed"] - dual["stated"]) < 1e-3 * dual["stated"]
    scores = run("evaluate", model, data, "--json").json["metrics"]
    assert scores["token_accuracy"] > 0.9 and "span_f1" not in scores
    refused = run(*train, "--solver", "hmm")
    assert refused.code == 2 and "counts parts" in refused.err

    write_columns(data, X, [["?" if a == "_" else a for a in row] for row in partly])
    assert run(*train, "--unknown", "?").code == 0
    assert run("inspect", model, "--json").json["labels"] == known
    given = run("predict", model, data, "--given", 2, "--json").json["labels"]
    pairs = [zip(*rows, strict=True) for rows in zip(given, partly, strict=True)]
    assert all(b in (a, "_") for row in pairs for a, b in row)

    write_columns(data, X, partly)  # a label like any other
    assert run(*train, "--unknown", "").code == 0
    assert "_" in run("inspect", model, "--json").json["labels"]
    predicted = run("predict", model, data, "--json").json["labels"]
    assert any("_" in row for row in predicted)


def test_several_files_and_gzip_are_one_input(run, model, toys, tmp_path):
    packed = tmp_path / "ten.txt.gz"
    packed.write_bytes(gzip.compress((toys / "ten.txt").read_bytes()))
    answer = run("evaluate", model, toys / "dev.txt", packed, "--json").json
    assert answer["n_examples"] == 30


def test_evaluate_names_metrics_as_the_field_does(run, model, toys, trained):
    answer = run("evaluate", model, toys / "dev.txt", "--json").json
    assert answer["metrics"] == trained.json["dev"]
    names = {
        "token_accuracy",
        "exact_match",
        "span_f1",
        "span_precision",
        "span_recall",
    }
    assert names <= set(answer["metrics"])
    text = run("evaluate", model, toys / "dev.txt").out
    assert "token_accuracy" in text and "PER" in text


def test_unseen_labels_are_errors_not_a_crash(run, model, toys, tmp_path):
    text = (toys / "dev.txt").read_text(encoding="utf-8")
    (tmp_path / "new.txt").write_text(text.replace("B-PER", "WHO"), encoding="utf-8")
    done = run("evaluate", model, tmp_path / "new.txt", "--json")
    before = run("evaluate", model, toys / "dev.txt", "--json").json
    assert done.code == 0 and "WHO" in done.err
    assert done.json["unseen_labels"]["WHO"] > 0
    for name in ("token_accuracy", "span_f1"):
        assert done.json["metrics"][name] < before["metrics"][name]


def test_inspect_and_explain(run, model, toys):
    answer = run("inspect", model, "--json").json
    assert answer["labels"] == load_model(model).labels
    assert len(answer["transitions"]) == len(answer["labels"])
    assert answer["features"]["B-PER"]["for"] and answer["support"] > 0
    assert answer["certificate"]["relative_gap"] <= 0.01
    text = run("inspect", model).out
    assert "transitions" in text and "relative gap" in text
    why = run("explain", model, toys / "ten.txt", "--sentence", 1, "--json").json
    assert why["lead"] >= 0 and why["contributions"] and why["support"]
    assert len(why["tokens"]) == len(why["winner"])
    assert "runner-up" in run("explain", model, toys / "ten.txt").out
    done = run("explain", model, toys / "ten.txt", "--sentence", 10)
    assert done.code == 2
    assert "the data has 10 sentences; give a number from 0 to 9" in done.err


def test_a_model_that_takes_no_columns(run, toys, tmp_path):
    certificate = Certificate(2.0, 2.0, 1.9, 3.0, 5, True, "converged", "l1").to_dict()
    place = tmp_path / "m"
    save_model(WeightsModel("Sign", np.ones(3), {"certificate": certificate}), place)
    answer = run("inspect", place, "--json").json
    assert answer["kind"] == "WeightsModel" and answer["n_weights"] == 3
    assert "dual bound    1.9" in run("inspect", place).out
    done = run("predict", place, toys / "ten.txt")
    assert done.code == 2 and "use it from Python" in done.err


# -------------------------------------------------------------------------- verify


def tampered(model, path, edit):
    data = model.read_bytes()
    length = int.from_bytes(data[:8], "little")
    header = json.loads(data[8 : 8 + length])
    document = json.loads(header["__metadata__"]["partwise"])
    arrays = {name: array.copy() for name, array in load_tensors(data).items()}
    edit(document["info"], arrays)
    path.write_bytes(save_tensors(arrays, {"partwise": json.dumps(document)}))
    return path


def test_verify_recomputes_primal_bound_and_dual(run, model, toys):
    done = run("verify", model, toys / "train.txt", "--json")
    checks = done.json["checks"]
    assert done.code == 0 and done.json["holds"]
    assert {"primal", "data bound", "dual", "largest S/c", "smallest α"} <= set(checks)
    assert checks["dual"]["recomputed"] == pytest.approx(checks["dual"]["stated"])
    assert "verified" in run("verify", model, toys / "train.txt").out


@pytest.mark.parametrize(
    "options",
    [
        ("--cost", "normalized", "--order", 2, "--boundary"),
        ("--order", 0, "--boundary", "--scheme", "BIO"),
    ],
)
def test_plain_python_computes_the_same_objective(run, toys, tmp_path, options):
    place = tmp_path / "m"
    settings = ("--preset", "window", "--max-iter", 3, "--keep-dual", *options)
    assert run("train", "tag", toys / "ten.txt", "--model", place, *settings).code == 0
    done = run("verify", place, toys / "ten.txt", "--plain", "--json")
    checks = done.json["checks"]
    assert done.code == 0, checks
    assert checks["plain primal"]["recomputed"] == pytest.approx(
        checks["primal"]["recomputed"], rel=1e-9
    )


@pytest.mark.parametrize(
    "options",
    [
        ("--loss", "log"),
        ("--loss", "ramp"),
        ("--penalty", "l2"),
        ("--formulation", "slack"),
        ("--formulation", "slack", "--penalty", "l2", "--order", 2),
        ("--formulation", "hard"),
        ("--cost", "zero_one"),
    ],
)
def test_verify_knows_every_formulation(run, toys, tmp_path, options):
    place = tmp_path / "m"
    settings = ("--preset", "window", "--max-iter", 20, "--keep-dual", *options)
    assert run("train", "tag", toys / "ten.txt", "--model", place, *settings).code == 0
    done = run("verify", place, toys / "ten.txt", "--json")
    assert done.code == 0, done.json
    assert done.json["checks"]["dual"]["recomputed"] is not None
    refused = run("verify", place, toys / "ten.txt", "--plain")
    assert refused.code == 2 and "--plain needs" in refused.err


def claim(name, value):
    return lambda info, arrays: info["certificate"].__setitem__(name, value)


def scale(name, factor):
    return lambda info, arrays: arrays[name].__imul__(factor)


def wrong_planes(info, arrays):
    arrays["support/code"][:] = (arrays["support/code"] + 1) % 7


@pytest.mark.parametrize(
    ("edit", "claim"),
    [
        (claim("primal", 1.0), "primal"),
        (claim("dual", 1e6), "dual"),
        (claim("data_bound", 0.0), "data bound"),
        (scale("weight", 1.1), "primal"),
        (scale("support/alpha", 2.0), "largest S/c"),
        (scale("support/alpha", 0.5), "dual"),
        (scale("support/alpha", -1.0), "smallest α"),
        (wrong_planes, "dual"),
    ],
)
def test_verify_refuses_false_claims(run, model, toys, tmp_path, edit, claim):
    false = tampered(model, tmp_path / "false", edit)
    done = run("verify", false, toys / "train.txt", "--json")
    assert done.code == 1 and not done.json["holds"]
    assert not done.json["checks"][claim]["holds"]


def test_an_inflated_offset_does_not_inflate_the_bound(run, model, toys, tmp_path):
    false = tampered(model, tmp_path / "false", scale("support/b", 100.0))
    done = run("verify", false, toys / "train.txt", "--json")
    dual = done.json["checks"]["dual"]
    assert dual["recomputed"] == pytest.approx(dual["stated"])


def test_verify_on_other_data(run, model, toys):
    done = run("verify", model, toys / "dev.txt")
    assert done.code == 1 and "DOES NOT HOLD" in done.out


def test_without_the_dual_verify_says_so(run, toys, tmp_path):
    place = tmp_path / "m"
    train = ("train", "tag", toys / "ten.txt", "--model", place, "--preset", "window")
    learned = run(*train, "--tol", "0.1")
    assert learned.code == 0, learned.err
    done = run("verify", place, toys / "ten.txt")
    assert done.code == 0 and "as stated by the solver" in done.out
    learned = run(*train, "--solver", "perceptron", "--keep-dual", "--max-iter", "2")
    assert learned.code == 0 and "Perceptron has no dual" in learned.err


def test_joint_planes_are_kept_as_a_proof_too(run, toys, tmp_path):
    place = tmp_path / "m"
    options = ("--model", place, "--preset", "window", "--tol", "0.1", "--keep-dual")
    learned = run("train", "tag", toys / "ten.txt", *options, "--solver", "one_slack")
    assert learned.code == 0 and "has no dual" not in learned.err
    done = run("verify", place, toys / "ten.txt", "--json")
    assert done.code == 0 and done.json["checks"]["dual"]["recomputed"] is not None


# ------------------------------------------------------------------------- the rest


def test_layout_options(run, toys, tmp_path):
    X, y = toy_entities(20, random_state=0)
    table = Table.from_sequences(
        [
            [(label, word, pos) for (word, pos), label in zip(*row, strict=True)]
            for row in zip(X, y, strict=True)
        ],
        ["entity", "word", "pos"],
    )
    data, place = tmp_path / "data.tsv", tmp_path / "m"
    write_columns(data, table, separator="\t")
    data.write_text("# made by a test\n" + data.read_text("utf-8"), encoding="utf-8")
    (tmp_path / "t.txt").write_text("word[-1..1]\npos[0]\n", encoding="utf-8")
    done = run(
        "train", "tag", data, "--model", place, "--columns", "entity,word,pos",
        "--label", "entity", "--separator", "tab", "--comment", "#", "--order", 0,
        "--template", tmp_path / "t.txt", "--min-count", 2, "--C", 1, "--json",
        "--seed", 3, "--max-iter", 2, "--boundary", "--scheme", "BIO",
    )  # fmt: skip
    assert done.code == 0, done.err
    assert "warning: BCFW stopped by --max-iter" in done.err
    back = load_model(place)
    assert back.labels == sorted({label for row in y for label in row})
    assert back.info["reader"]["separator"] == "\t"
    assert run("evaluate", place, data, "--json").json["n_examples"] == 20


def test_a_predicting_process_does_without_scikit_learn(model, toys):
    code = (
        "import sys; from partwise.cli import main\n"
        f"code = main(['predict', {str(model)!r}, {str(toys / 'ten.txt')!r}])\n"
        "heavy = {'sklearn', 'matplotlib', 'jinja2'} & set(sys.modules)\n"
        "sys.exit(code or len(heavy))"
    )
    began = time.perf_counter()
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert time.perf_counter() - began < 30  # alone on its machine it takes about 1.5


def test_output_into_a_closed_pipe_is_quiet(model, toys):
    command = f"{sys.executable} -m partwise predict {model} {toys / 'dev.txt'} | true"
    done = subprocess.run(
        command, shell=True, capture_output=True, text=True, check=False
    )
    assert "Traceback" not in done.stderr and "Exception" not in done.stderr


def test_ctrl_c_keeps_the_best_model_so_far(toys, tmp_path):
    place = tmp_path / "m"
    command = [
        sys.executable, "-m", "partwise", "train", "tag", toys / "train.txt",
        "--model", place, "--tol", "1e-15", "--max-iter", "100000000", "--json",
    ]  # fmt: skip
    # jobs in the background of a shell ignore Ctrl-C, and hand that on
    heed = partial(signal.signal, signal.SIGINT, signal.SIG_DFL)
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        preexec_fn=heed,
    ) as process:  # fmt: skip
        assert process.stderr is not None
        lines = (line for line in process.stderr if line.startswith("iteration"))
        next(lines), next(lines)  # the first iteration, and one some time later
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=120)
    assert process.returncode == 130, err
    answer = json.loads(out)
    assert answer["certificate"]["stopped"] == "interrupted"
    assert answer["certificate"]["relative_gap"] < 1
    assert np.any(load_model(place).weights)
    assert os.listdir(tmp_path) == ["m"]


@pytest.fixture
def clock(monkeypatch):
    """The time, as progress sees it: a list of one number."""
    now = [0.0]
    monkeypatch.setattr(progress.time, "perf_counter", lambda: now[0])
    return now


def end_iteration(bar, iteration):
    values = {"objective": np.inf, "bound": 1.0, "gap": np.inf, "is_estimate": False}
    bar.on_fit_task_end(None, None, metadata={"iteration": iteration, **values})


def test_progress_is_a_line_every_few_seconds(capsys, clock):
    bar = GapBar(tol=0.01)
    shown = []
    for k in range(1, 601):  # two iterations a second
        clock[0] += 0.25
        bar.on_pulse(k, 0.5)
        clock[0] += 0.25
        end_iteration(bar, k)
        if capsys.readouterr().err:
            shown.append(clock[0])
    waits = np.diff(shown)
    assert shown[0] == 0.5 and waits[0] <= 2.5
    assert waits.max() < 61 and 8 < len(shown) < 30
    assert (waits[1:] >= waits[:-1] - 1).all()


def test_a_long_first_iteration_and_what_follows_the_last_are_told(capsys, clock):
    bar = GapBar(tol=0.01)
    for k in range(1, 6):
        clock[0] += 1.0
        bar.on_pulse(1, k / 6)
    bar.on_stage("certificate")
    lines = capsys.readouterr().err.splitlines()
    assert lines == ["iteration 1, 33%", "iteration 1, 83%", "certificate"]


def test_short_trainings_and_further_runs_are_told_by_their_first_iteration(
    capsys, clock
):
    bar = GapBar(tol=0.01)
    for k in (1, 2, 3, 1, 2):
        end_iteration(bar, k)
    bar.on_stage("certificate")
    lines = capsys.readouterr().err.splitlines()
    assert [line.split(":")[0] for line in lines] == [
        "iteration 1", "run 2 of the solver", "iteration 1",
    ]  # fmt: skip
    assert bar._share(0.1) == pytest.approx(0.5) and bar._share(np.inf) == 0.0


def test_the_bar_fits_a_terminal_of_eighty_columns(monkeypatch, capsys):
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    bar = GapBar(tol=0.01)
    bar.on_fit_task_begin(None, SimpleNamespace(parent=object()))
    told = {"iteration": 44, "objective": 1.11936, "bound": 1.11895, "gap": 0.00046}
    bar.on_pulse(44, 1.0)
    bar.on_fit_task_end(None, None, metadata={**told, "is_estimate": True})
    bar.teardown(None, None)
    drawn = re.sub(r"\x1b\[[\d;?]*[a-zA-Z]", "", capsys.readouterr().err)
    assert "bound 1.1189  gap ≈0.046 % iteration 44, 100% 0:00:0" in drawn


def test_shares_that_nobody_tells_apart_are_zero():
    assert percent(4.5e-10) == "below 0.0001 %"
    assert [percent(v) for v in (0.0, 0.00046, 0.5)] == ["0 %", "0.046 %", "50 %"]


def test_fetch_lists_corpora(run):
    assert "ud_english_ewt" in run("fetch", "--json").json["corpora"]
    done = run("fetch", "ud_english")
    assert done.code == 2 and "did you mean" in done.err


def test_a_fetch_that_fails_is_one_line(run, tmp_path):
    mirror = ("--mirror", "http://127.0.0.1:9", "--folder", tmp_path)
    done = run("fetch", "gap_pronouns", *mirror)
    assert done.code == 1
    assert "error: gap_pronouns: could not download" in done.err
    assert "Traceback" not in done.err


def test_main_returns_exit_codes():
    assert main(["--version"]) == 0


@pytest.mark.parametrize(
    "words", [(), ("train", "tag"), ("train", "classify"), ("predict",), ("fetch",)]
)
def test_help_is_plain_and_needs_no_numpy(words):
    code = (
        "import sys; from partwise.cli.app import run; "
        f"run([*{words!r}, '--help']); assert 'numpy' not in sys.modules"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert not re.search(r"<(bool|list|str|int)|\[name\]|\w=\"", done.stdout)


def test_counts_of_one_and_gaps_near_zero_are_worded(run, model, toys, tmp_path, capfd):
    one = tmp_path / "one.txt"
    text = (toys / "unlabelled.txt").read_text(encoding="utf-8")
    one.write_text(text.partition("\n\n")[0] + "\n", encoding="utf-8")
    done = run("predict", model, one, "--output", tmp_path / "out.txt")
    assert done.err.startswith("1 sentence written to ")
    values = {"iteration": 1, "objective": 1.0, "bound": 1.0, "is_estimate": True}
    GapBar().on_fit_task_end(None, None, metadata=values | {"gap": 1e-9})
    assert "gap below 0.0001 %" in capfd.readouterr().err


def test_choices_in_help_are_whole_words(run):
    text = run("train", "tag", "--help").out
    assert "zero_one" in text and "hinge|log|ramp" in text


def test_inspect_fits_a_terminal(run, tmp_path, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    labels = [f"LABEL-{k}" for k in range(48)]
    X = [[{"word": label} for label in labels]]
    SequenceTagger(max_iter=2).fit(X * 2, [labels] * 2).save(tmp_path / "m")
    out = run("inspect", tmp_path / "m", "--top", "2").out
    assert max(map(len, out.splitlines())) <= 80
    assert all(label in out.partition("certificate")[0] for label in labels)
    assert "heaviest of 2,304 transitions" in out and "LABEL-4 → LABEL-5" in out


def test_warnings_are_lines_told_at_once(run, tmp_path):
    crossing = "\n".join(
        f"{k}\tw{k}\tw\tX\tX\t_\t{head}\tdep\t_\t_"
        for k, head in enumerate((3, 4, 0, 3), start=1)
    )
    data = tmp_path / "train.conllu"
    data.write_text(f"{crossing}\n\n" * 4, encoding="utf-8")
    done = run("train", "depparse", data, "--model", tmp_path / "m", "--tol", "0.5")
    lines = done.err.splitlines()
    places = [
        next(k for k, line in enumerate(lines) if line.startswith(words))
        for words in ("warning: 4 of 4 true trees have crossing arcs", "iteration 1")
    ]
    assert places == sorted(places) and "--non-projective" in lines[places[0]]


def test_warnings_show_no_code(capsys):
    with warning_lines():
        warnings.warn("cache is read-only", RuntimeWarning, stacklevel=1)
        warnings.warn("in a later version", DeprecationWarning, stacklevel=1)
    assert capsys.readouterr().err == "warning: cache is read-only\n"
