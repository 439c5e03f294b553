"""Bad input: one clear line, exit code 2, nothing half-written, no traceback."""

import ast
import itertools
import os
import re
from pathlib import Path

import numpy as np
import pytest

import partwise
from partwise.cli import app as app_module
from partwise.cli.parameters import (
    NO_OPTION,
    Option,
    declare,
    in_options,
    parameters_of,
)
from partwise.datasets import toy_treebank
from partwise.kernels import memory
from partwise.outputs.dependency.task import DependencyTask
from partwise.outputs.registry import tasks
from partwise.parameters import MENTION, ParameterError, SettingsError
from partwise.readers import write_brackets


def assert_refused(done, *fragments):
    assert done.code == 2, done.err
    errors = [line for line in done.err.splitlines() if line.startswith("error: ")]
    assert len(errors) == 1 and "Traceback" not in done.err
    for fragment in fragments:
        assert fragment in errors[0]
    assert not done.out


DATA = {
    "empty": (b"", "no token in the file"),
    "blank": (b"\n\n  \n", "no token in the file"),
    "ragged": (b"the DT O\ncat NN\n", ":2: 2 columns where the first line has 3"),
    "latin1": (b"caf\xe9 NN O\n", ":1: not UTF-8"),
    "binary": (b"a b\x00 O\n", "NUL byte"),
    "one column": (b"the\ncat\n", "one column only"),
    "cut gzip": (b"\x1f\x8b\x08\x00abc", "gzip"),
}


@pytest.mark.parametrize("kind", DATA)
def test_bad_training_files(run, tmp_path, kind):
    content, message = DATA[kind]
    path = tmp_path / "bad.txt"
    path.write_bytes(content)
    done = run("train", "tag", path, "--model", tmp_path / "m")
    assert_refused(done, f"{path}", message)
    assert sorted(os.listdir(tmp_path)) == ["bad.txt"]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--C", "0"), "--C 0: C must be a positive"),
        (("--C", "-1"), "--C -1: C must be a positive"),
        (("--C", "nan"), "--C nan: C must be a positive"),
        (("--C", "many"), "valid number"),
        (("--order", "3"), "--order 3: choose from 0, 1, 2"),
        (("--tol", "0"), "--tol 0: give a positive number"),
        (("--eps", "-1"), "--eps -1: give a positive number"),
        (("--solver", "bcwf"), "--solver bcwf: did you mean 'bcfw'?"),
        (("--solver", "pcfg"), "--solver pcfg: the generative model of this output is"),
        (("--solver", "cccp"), "--solver cccp: no truth has a hidden part"),
        (("--solver", "lbfgs"), "--solver lbfgs trains conditional likelihood alone"),
        (
            ("--solver", "mira", "--loss", "log"),
            "not go with --loss log; choose from auto",
        ),
        (
            ("--solver", "bundle", "--formulation", "hard"),
            "with --formulation hard; ch",
        ),
        (
            ("--formulation", "margins"),
            "--formulation margins: did you mean 'margin'? ",
        ),
        (("--penalty", "l3"), "--penalty l3: choose from l1, l2"),
        (("--loss", "square"), "--loss square: choose from hinge, log"),
        (("--cost", "free"), "--cost free: choose from hamming"),
        (("--order", "7"), "--order 7: choose from 0, 1, 2"),
        (("--scheme", "BOI"), "choose from BIO"),
        (("--preset", "chunks"), "did you mean 'chunk'?"),
        (("--preset", "chunk", "--template", "x"), "do not go together"),
        (("--template", "none.txt"), "none.txt: no such file"),
        (("--hash-bits", "99"), "--hash-bits 99: needs"),
        (("--hash-bits", "9", "--min-count", "2"), "leave --min-count at 1"),
        (("--min-count", "0"), "--min-count 0: needs"),
        (("--jobs", "0"), "--jobs 0: give a number of threads"),
        (("--seed", "-1"), "--seed -1: give a whole number from 0 on"),
        (("--max-iter", "0"), "--max-iter 0: give a whole number from 1 on"),
        (("--label", "ner"), "no column 'ner'; there are word, pos, c2"),
        (("--label", "9"), "no column '9'"),
        (("--columns", "word,pos"), "3 columns where word, pos were expected"),
        (("--columns", "a,a,b"), "--columns a,a,b: give different names"),
        (("--separator", "ab"), "--separator ab: needs one ASCII character"),
        (("--time-limit", "-1"), "--time-limit -1: give a positive number"),
        (("--dev", "none.txt"), "none.txt: no such file"),
        (("--report", "no/such/folder/r.html"), "cannot be written"),
        (("--budget", "5"), "--budget is for kernels; give --kernel"),
        (("--kernel", "linear", "--budget", "0"), "--budget 0: give a positive whole"),
        (("--kernel", "linear", "--budget", "3", "--over-budget", "sell"), "t sell: c"),
        (("--kernel", "linear", "--loss", "log"), "--loss log and --solver hmm have"),
        (("--kernel", "lin"), "--kernel lin: no kernel 'lin'; choose from linear"),
        (("--kernel", "poly:degree=0"), "--kernel poly:degree=0: degree=0: give"),
        (("--kernel", "tree"), "compares trees; a tagger needs"),
        (("--gram-dtype", "float32"), "--gram-dtype float32: it is for kernels"),
        (("--what",), "(see partwise train tag --help)"),
    ],
)
def test_bad_options_of_train(run, toys, tmp_path, options, message):
    data = toys / "train.txt"
    done = run("train", "tag", data, "--model", tmp_path / "m", *options)
    assert_refused(done, message)
    assert not os.listdir(tmp_path)


def test_bad_templates_name_file_and_line(run, toys, tmp_path):
    path = tmp_path / "t.txt"
    for text, message in (
        ("word[0]\nword[\n", "line 2"),
        ("lemma[0]\n", "needs a column 'lemma'"),
        ("", "template"),
    ):
        path.write_text(text, encoding="utf-8")
        options = ("--model", tmp_path / "m", "--template", path)
        assert_refused(run("train", "tag", toys / "train.txt", *options), message)


def test_a_table_too_large_names_the_options_that_help(
    run, toys, tmp_path, monkeypatch
):
    monkeypatch.setattr(memory, "free_memory", lambda: 1 << 10)
    options = ("--model", tmp_path / "m", "--kernel", "linear")
    done = run("train", "tag", toys / "train.txt", *options)
    assert_refused(
        done,
        "--kernel compares all",
        "; --gram-dtype float32 takes half of it, --gram-cache folder maps it",
    )


def test_a_warning_names_the_options_too(run, toys, tmp_path):
    options = ("--model", tmp_path / "m", "--max-iter", 1, "--tol", 1e-6)
    done = run("train", "tag", toys / "ten.txt", *options)
    assert done.code == 0
    assert "raise --max-iter or --time-limit, or accept a larger --tol" in done.err


@pytest.mark.parametrize(
    "options",
    [
        ("--C", "-1"),
        ("--cost", "brackets", "--loss", "logistic"),
        ("--max-length", "1"),
        ("--min-count", "0"),
        ("--jobs", "0"),
        ("--time-limit", "0"),
        ("--vertical", "0"),
        ("--solver", "bcfw", "--loss", "log"),
    ],
)
def test_bad_options_of_constparse_are_named_as_they_were_typed(run, tmp_path, options):
    path = tmp_path / "t.mrg"
    write_brackets(path, toy_treebank(5, random_state=0)[1])
    done = run("train", "constparse", path, "--model", tmp_path / "m", *options)
    assert_refused(done, options[-2])
    assert not re.search(r"\w=|[a-z]_[a-z]", done.err.splitlines()[-1])


def options_of(module, name, task):
    return {p.name: Option.of(p, task.aliases) for p in parameters_of(module, name)}


OPTIONS = options_of(
    "partwise.outputs.dependency.estimator", "DependencyParser", DependencyTask
)


@pytest.mark.parametrize(
    ("message", "shown"),
    [
        ("<hash_bits=99>: needs less", "--hash-bits 99: needs less"),
        ("<hash_bits> counts", "--hash-bits counts"),
        ("<random_state=-1> and <tol=0.0>", "--seed -1 and --tol 0"),
        ("<tol=1e-05>; <tol=nan>", "--tol 1e-05; --tol nan"),
        ("use <projective=True>", "use --projective"),
        ("use <projective=False>", "use --non-projective"),
        ("use <single_root=False>", "use --many-roots"),
        ("<labels='joint'>, <labels='a b'>", "--labels joint, --labels 'a b'"),
        ("<normalized=False>", "no --normalized"),
        ("add <hash_bits=None>", "add --hash-bits none"),
        ("<match=<function f at 0x1>>", "--match <function f at 0x1>"),
        # a parameter that the command has not
        ("<segments=True> is", "a model trained with --segments is"),
        # what users wrote stays as they wrote it
        ("hash_bits/a.txt: no such file", "hash_bits/a.txt: no such file"),
        ("label 'tol=3', <w, φ(x)>", "label 'tol=3', <w, φ(x)>"),
    ],
)  # fmt: skip
def test_parameters_become_options(message, shown):
    assert in_options(message, OPTIONS) == shown


def test_python_words_parameters_as_python_does():
    error = SettingsError("<order=2> needs <loss='hinge'>; raise <max_iter>")
    assert str(error) == "order=2 needs loss='hinge'; raise max_iter"
    error = ParameterError("tol", 0, "give a positive number")
    assert (error.name, error.value) == ("tol", 0)
    assert str(error) == "tol=0: give a positive number"


def raised_texts():
    """Names of built-in errors that the package raises, with the text in the call."""
    for path in sorted(Path(partwise.__file__).parent.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Raise) and isinstance(node.exc, ast.Call):
                parts = [n.value for n in ast.walk(node.exc) if type(n) is ast.Constant]
                text = " ".join(part for part in parts if isinstance(part, str))
                yield ast.unparse(node.exc.func), text, f"{path}:{node.lineno}"


def test_marked_parameters_are_in_errors_that_word_them():
    raised = list(raised_texts())
    assert any("<" in text for name, text, _ in raised if name == "SettingsError")
    bare = [
        place
        for name, text, place in raised
        if name in ("ValueError", "TypeError", "RuntimeError") and MENTION.search(text)
    ]
    assert not bare  # readers of the message would see <name=value>


def test_unknown_tasks_and_commands(run, toys):
    done = run("train", "parse", toys / "train.txt", "--model", "m")
    assert_refused(done, "No such command 'parse'; did you mean 'depparse'")
    done = run("train", "sing", toys / "train.txt", "--model", "m")
    assert_refused(done, "No such command 'sing'; choose from", "tag")
    assert_refused(run("trian"), "No such command")
    assert_refused(run("train", "tag"), "Missing")
    assert_refused(run("predict"), "Missing")


def test_unwritable_places(run, model, toys, tmp_path):
    train = ("train", "tag", toys / "train.txt", "--model")
    assert_refused(run(*train, tmp_path / "no" / "m"), "cannot be written")
    assert_refused(run(*train, tmp_path), "is a folder")
    assert_refused(run(*train, "-"), "-: this file is not written to stdout")
    output = tmp_path / "no" / "out.txt"
    assert_refused(run("predict", model, toys / "ten.txt", "-o", output), str(output))
    assert not os.listdir(tmp_path)
    for command in (
        ("train", "tag", tmp_path, "--model", tmp_path / "m"),
        ("evaluate", model, tmp_path),
    ):
        assert_refused(run(*command), f"{tmp_path}: is a folder; give a file")


def test_no_file_is_lost_by_writing_another(run, model, toys, tmp_path):
    data, link, same = tmp_path / "d.txt", tmp_path / "link", tmp_path / "same"
    data.write_bytes((toys / "ten.txt").read_bytes())
    link.symlink_to(data)
    ours = tmp_path / "m.model"
    ours.write_bytes(model.read_bytes())
    before = {path: path.read_bytes() for path in (data, ours)}
    words = "it would overwrite"
    for place in (data, link):
        assert_refused(run("train", "tag", data, "--model", place), words, "d.txt")
        done = run("train", "tag", data, "--model", same, "--report", place)
        assert_refused(done, f"--report {place}: {words}")
        assert_refused(run("report", ours, data, "-o", place), words)
    done = run("train", "tag", toys / "ten.txt", "--model", data, "--dev", data)
    assert_refused(done, words)
    done = run("train", "tag", data, "--model", same, "--report", same)
    assert_refused(done, "it would overwrite the file of --model")
    for place in (ours, data, link):
        assert_refused(run("predict", ours, data, "-o", place), words)
    assert {path: path.read_bytes() for path in before} == before
    assert sorted(os.listdir(tmp_path)) == ["d.txt", "link", "m.model"]


def test_convert_keeps_the_file_that_it_reads(run, tmp_path):
    path = tmp_path / "crf.model"
    path.write_bytes(b"lCRF" + bytes(60))
    assert_refused(run("convert", path), "is a model itself; name another")
    assert_refused(run("convert", path, "-o", path), "it would overwrite")
    path.write_bytes(b"\xff\xfe\x00")
    assert_refused(run("convert", path), "neither a binary model of CRFsuite nor")


@pytest.mark.parametrize(
    "command", ["predict", "evaluate", "explain", "verify", "inspect"]
)
def test_bad_models(run, model, toys, tmp_path, command):
    data = () if command == "inspect" else (toys / "ten.txt",)
    path = tmp_path / "cut.model"
    assert_refused(run(command, path, *data), "no such file")
    content = model.read_bytes()
    for cut in (0, 5, len(content) // 2, len(content) - 1):
        path.write_bytes(content[:cut])
        assert_refused(run(command, path, *data), str(path))
    path.write_bytes((2**60).to_bytes(8, "little") + b"{" + content)
    assert_refused(run(command, path, *data), "header claims")
    assert_refused(run(command, toys / "ten.txt", *data), "not a model file")


def test_data_of_another_layout(run, model, toys, tmp_path):
    path = tmp_path / "words.txt"
    path.write_text("the\ncat\n", encoding="utf-8")
    assert_refused(run("predict", model, path), "1 column where word, pos, c2")
    assert_refused(run("evaluate", model, toys / "unlabelled.txt"), "no column 'c2'")
    assert_refused(run("predict", model, toys / "none.txt"), "no such file")
    done = run("predict", model, toys / "ten.txt", "--columns", "a,b,c")
    assert_refused(done, "needs a column")
    done = run("predict", model, toys / "ten.txt", "--given", "pos")
    assert_refused(done, "does not know")
    for k in (0, 10**6, 10**20):
        done = run("predict", model, toys / "ten.txt", "--topk", k)
        assert_refused(done, f"--topk {k}: give a whole number from 1 to 100,000")


@pytest.mark.parametrize("name", ["alignment", "graph", "classes"])
def test_probabilities_without_a_place_are_refused_before_any_work(run, name):
    model = Path(__file__).parents[1] / "data" / f"{name}.model"
    for option in ("--confidence", "--marginals"):
        done = run("predict", model, "absent.txt", option)
        assert_refused(done, f"{option}: files of this model have no place for it")
    done = run("predict", model, "absent.txt", "--confidence", "--json")
    assert_refused(done, "no such file")


def test_paths_of_classes_need_their_separator(run, tmp_path):
    table = tmp_path / "train.csv"
    table.write_text("1,0,a/b\n0,1,a/c\n" * 4, encoding="utf-8")
    command = ("train", "taxonomy", table, "--model", tmp_path / "m", "--max-iter", 2)
    assert_refused(run(*command, "--parents", "x"), "--parents x: no class has it")
    done = run(*command)
    assert done.code == 0 and "warning: --parents is not given: all classes" in done.err


def test_files_of_two_layouts(run, toys, tmp_path):
    files = (toys / "train.txt", toys / "unlabelled.txt")
    done = run("train", "tag", *files, "--model", tmp_path / "m")
    assert_refused(done, "unlabelled.txt: 2 columns where")


def test_labels_outside_the_scheme(run, tmp_path):
    path = tmp_path / "d.txt"
    path.write_text("a O\nb I-X\n", encoding="utf-8")
    options = ("--model", tmp_path / "m", "--scheme", "BIO")
    assert_refused(run("train", "tag", path, *options), "'I-X' after 'O'")


def test_an_error_does_not_steer_the_terminal(run, tmp_path):
    path = tmp_path / "d.txt"
    path.write_bytes(b"a O\nb \x1b[2JX\n")
    options = ("--model", tmp_path / "m", "--scheme", "BIO")
    done = run("train", "tag", path, *options)
    assert_refused(done, "x1b[2JX")
    assert "\x1b" not in done.err


def test_an_unforeseen_error_is_one_line_too(run, monkeypatch):
    def broken(*_, **__):
        raise ZeroDivisionError("division by zero")

    monkeypatch.setattr(app_module, "app", broken)
    done = run("predict")
    assert done.code == 1
    assert done.err.startswith("error: ZeroDivisionError: division by zero; set PART")


# ------------------------------------------------------------- options of all outputs


@pytest.mark.parametrize("name", tasks())
def test_each_parameter_can_be_given_in_a_shell(name):
    output = tasks()[name]
    task = getattr(output.module("task"), output.task[1])
    parameters = parameters_of(f"{output.folder}.estimator", output.estimator)
    fields = getattr(output.module("estimator"), output.estimator)().get_params()
    assert {p.name for p in parameters} == set(fields)
    missing = {
        p.name
        for p in parameters
        if declare(p, Option.of(p, task.aliases)) is None and p.name not in NO_OPTION
    }
    # options of their own, and a function of Python
    assert missing <= {"gram_options", "templates", "pair_features"}


def test_lists_are_items_between_commas(run, toys, tmp_path):
    train = ("train", "tag", toys / "ten.txt", "--model", tmp_path / "m")
    pairs = "O I-PER, none I-LOC,B-PER none"
    assert run(*train, "--forbidden", pairs, "--max-iter", 2).code == 0
    model = partwise.load(tmp_path / "m")
    number = {label: k for k, label in enumerate(model.labels)}
    for a, b in itertools.product(number, number):
        is_end = a == "I-LOC" or b == "B-PER"
        is_allowed = not is_end and (a, b) != ("O", "I-PER")
        assert model.structure.allows(np.array([number[a], number[b]])) == is_allowed
    (tmp_path / "m").unlink()
    assert_refused(run(*train, "--forbidden", "O I-PER B"), "not two labels")
    assert_refused(run(*train, "--forbidden", "O,B"), "not two labels")


def test_files_of_other_columns_name_the_command_that_reads_them(run, toys, tmp_path):
    done = run("train", "depparse", toys / "train.txt", "--model", tmp_path / "m")
    assert_refused(done, "1 column where CoNLL-U has 10", "`partwise train tag`")


def test_one_class_is_no_classes(run, tmp_path):
    path = tmp_path / "one.tsv"
    path.write_text("+\tacgtacgtacgt\n+\ttttttttttt\n")
    done = run("train", "motif", path, "--model", tmp_path / "m")
    assert_refused(done, "y has 1 class; give sequences of two")


def test_a_model_in_the_place_of_data_and_the_other_way(run, model, toys, tmp_path):
    data = toys / "train.txt"
    for command in ("predict", "evaluate", "verify", "explain"):
        assert_refused(
            run(command, data, model),
            f"{data}: not a model file, but {model} is; give the model first, then",
        )
    assert_refused(run("predict", model, model), f"{model}: is a model file where data")
    done = run("train", "tag", model, "--model", tmp_path / "m")
    assert_refused(done, f"{model}: is a model file where data are needed")


def test_columns_that_differ_name_the_option(run, tmp_path):
    path = tmp_path / "x.txt"
    path.write_text("a,b c\nd,e\n")
    done = run("train", "tag", path, "--model", tmp_path / "m")
    assert_refused(
        done, "x.txt:2: 1 column where the first line has 2", "--separator ,"
    )


def test_a_table_under_another_name_is_told_what_name_it_needs(run, tmp_path):
    path = tmp_path / "table.txt"
    path.write_text("1,2,cat\n2,1,dog\n")
    done = run("train", "classify", path, "--model", tmp_path / "m")
    assert_refused(done, "table.txt:1: '1,2,cat' is no", "ends in .csv or .tsv")
    path = path.rename(tmp_path / "table.csv")
    path.write_text("1,2,cat\n2,1,dog\n3,1,cow\n")
    done = run("train", "measure", path, "--model", tmp_path / "m")
    assert_refused(done, "with 3 classes; give one class against the rest")


def test_models_say_why_they_keep_no_dual(run, tmp_path):
    path = tmp_path / "new.tsv"
    path.write_text("+\tacgtacgt\n-\tgggggggg\n" * 3)
    train = ("train", "motif", path, "--model", tmp_path / "m", "--keep-dual")
    assert_refused(run(*train), "--keep-dual: models of MotifClassifier have no")


def test_empty_names_of_files_are_refused_before_any_work(run, toys, tmp_path):
    done = run("train", "tag", toys / "ten.txt", "--model", "")
    assert_refused(done, "--model '': give the name of a file")
    assert "iteration" not in done.err
    assert_refused(run("train", "tag", "", "--model", tmp_path / "m"), "'': no such")


def test_lists_of_numbers(run, tmp_path):
    data, model = tmp_path / "queries", tmp_path / "m"
    data.write_text("2 qid:1 1:1\n1 qid:1 1:0.5\n0 qid:1 1:0\n")
    train = ("train", "rank", data, "--model", model, "--measure", "ndcg")
    assert_refused(run(*train, "--place-weights", "1,x"), "'1,x'", "1,0.5,0.25")
    assert run(*train, "--place-weights", "1,0.5,0.2").code == 0
    weights = partwise.load(model).structure.place_weights
    np.testing.assert_allclose(weights, [1, 0.5, 0.2])
