"""Model files from a stranger: a refusal in one sentence, or an honest answer."""

import json
import time
import tracemalloc
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import load as load_tensors
from safetensors.numpy import save as save_tensors

from partwise import Reranker, SequenceTagger, StructuredSVM
from partwise.cli import main
from partwise.datasets import toy_dependencies, toy_entities, toy_treebank
from partwise.model_file import ModelFileError, load_model, save_model
from partwise.readers import Table, write_brackets, write_columns, write_conllu
from partwise.testing.toys import toy_classes

TRAINING = {
    "tagger.txt": ("tag", ""),
    "sequences.txt": ("tag", "--kernel annotated:n=2 --match label+word,bigram"),
    "arcs.conllu": ("depparse", "--hash-bits 8"),
    "keys.conllu": ("depparse", "--match xpos+distance,form --hash-bits 8"),
    "grammar.mrg": ("constparse", "--features rules"),
}


@pytest.fixture(scope="module")
def honest(tmp_path_factory) -> Path:
    """A folder with small models, each trained on the file of its name."""
    folder = tmp_path_factory.mktemp("honest")
    X, y = toy_entities(12, random_state=0)
    trees = toy_dependencies(12, random_state=0)
    for name in TRAINING:
        path = folder / name
        if path.suffix == ".txt":
            write_columns(path, Table.from_sequences(X), y)
        elif path.suffix == ".conllu":
            write_conllu(path, *trees)
        else:
            write_brackets(path, toy_treebank(40, random_state=0)[1])
        task, options = TRAINING[name]
        words = ["train", task, path, "--model", path.with_suffix(".model")]
        words += ["--keep-dual", "--max-iter", 5, *options.split()]
        assert main([str(word) for word in words]) == 0
    return folder


@pytest.fixture
def forge(honest, tmp_path):
    """Writes the model of a name again after ``edit(document, arrays)``."""

    def write(name, edit):
        path = tmp_path / "forged.model"
        rewrite((honest / name).with_suffix(".model"), path, edit)
        return path

    return write


def rewrite(source, path, edit):
    content = source.read_bytes()
    length = int.from_bytes(content[:8], "little")
    header = json.loads(content[8 : 8 + length])
    document = json.loads(header["__metadata__"]["partwise"])
    arrays = {key: array.copy() for key, array in load_tensors(content).items()}
    edit(document, arrays)
    path.write_bytes(save_tensors(arrays, {"partwise": json.dumps(document)}))


WRAP = (2**63 - 1, -2)


def put(name, *values):
    """Numbers in the middle of an array."""

    def edit(document, arrays):
        at = len(arrays[name]) // 2 - 1
        arrays[name].reshape(-1)[at : at + len(values)] = values

    return edit


def wrapping_postings(document, arrays):
    """Where anchors happen to rise from key to key, so that nothing else is wrong."""
    begin, anchor = arrays["index/begin"], arrays["index/anchor"]
    inner = begin[1:-1]
    rises = anchor[inner - 1] < anchor[inner]
    at = np.flatnonzero(rises[:-1] & rises[1:])[0] + 1
    begin[at : at + 2] = WRAP


def wrapping_sentences(document, arrays):
    """Where three sentences have as many planes, so that the lengths add up."""
    planes = np.bincount(arrays["support/block"])
    same = (planes[:-2] == planes[1:-1]) & (planes[1:-1] == planes[2:])
    at = int(np.argmax(same)) + 1  # the first ones where there are none
    arrays["support/table/offset"][at : at + 2] = WRAP


def long_rule(document, arrays):
    n = 20_000
    arrays["child"] = np.append(arrays["child"], np.zeros(n, np.int32))
    last = arrays["child_ptr"][-1]
    arrays["child_ptr"] = np.append(arrays["child_ptr"], last + n)
    arrays["branching"] = np.append(arrays["branching"], [[0, 1]], axis=0)


def many_chains(document, arrays):
    """Unary rules between all pairs of 40 symbols: millions of chains."""
    n, more = len(document["model"]["symbols"]), 40
    document["model"]["symbols"] += [[f"Q{k}"] for k in range(more)]
    document["model"] |= {"unary_steps": 8, "support": False}
    for name in ("unary", "child"):
        below = arrays[name][:, 1] if name == "unary" else arrays[name]
        below += more * (below >= n).astype(below.dtype)
    pairs = [(n + a, n + b, 1) for a in range(more) for b in range(more) if a != b]
    arrays["unary"] = np.concatenate([arrays["unary"], np.array(pairs)])


def hash_bits(document, arrays):
    document["model"]["featurizer"]["hash_bits"] = 30


def primal(document, arrays):
    document["info"]["certificate"]["primal"] = 10**400


FORGERIES = {
    "features of a support wrap": ("tagger.txt", put("support/indptr", *WRAP)),
    "texts of a support wrap": ("tagger.txt", put("support/text_offset", *WRAP)),
    "weight of 1e308": ("tagger.txt", put("weight", 1e308)),
    "primal of 400 digits": ("tagger.txt", primal),
    "postings wrap": ("sequences.txt", wrapping_postings),
    "keys wrap": ("sequences.txt", put("index/key", *WRAP)),
    "anchors wrap": ("sequences.txt", put("index/anchors/offset", *WRAP)),
    "sentences of a support wrap": ("arcs.conllu", wrapping_sentences),
    "hash of 30 bits": ("arcs.conllu", hash_bits),
    "arc of 1e308": ("keys.conllu", put("index/weight", 1e308)),
    "rule of 20000 children": ("grammar.mrg", long_rule),
    "millions of chains": ("grammar.mrg", many_chains),
}


@pytest.mark.parametrize("forgery", FORGERIES)
def test_forgeries_get_one_sentence_and_little_work(run, forge, honest, forgery):
    name, edit = FORGERIES[forgery]
    path, data = forge(name, edit), honest / name
    tracemalloc.start()
    began = time.process_time()
    with pytest.raises(ModelFileError):
        load_model(path)
    seconds = time.process_time() - began
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert seconds < 5 and peak < 60 << 20  # tracing takes a multiple of the time
    for command in (
        ("inspect", path), ("predict", path, data), ("explain", path, data),
        ("predict", path, data, "--topk", 3), ("evaluate", path, data),
        ("verify", path, data),
    ):  # fmt: skip
        done = run(*command)
        assert done.code == 2 and not done.out
        (line,) = [line for line in done.err.splitlines() if "compiling" not in line]
        assert line.startswith(f"error: {path}: ") and "train it again" in line


def test_a_model_may_lack_a_certificate(run, forge, honest, tmp_path):
    path = forge("tagger.txt", lambda document, _: document["info"].pop("certificate"))
    tagger = SequenceTagger.load(path)
    assert tagger.certificate_ is None
    tagger.save(tmp_path / "again.model")
    assert "certificate" not in load_model(tmp_path / "again.model").info
    assert run("predict", path, honest / "tagger.txt").code == 0
    assert run("verify", path, honest / "tagger.txt").code == 2


def test_a_featurizer_that_is_text(tmp_path):
    _, trees = toy_treebank(4, random_state=0)
    lists = [[(tree, 0.5), (trees[0], 0.25)] for tree in trees]
    ranker = Reranker("tree", metric=lambda truth, tree: float(truth == tree))
    path = tmp_path / "r.model"
    ranker.fit(lists, trees).save(path)
    rewrite(path, path, lambda document, _: document["model"].update(featurizer="x"))
    with pytest.raises(ModelFileError, match="'featurizer' is no dict"):
        load_model(path)


def test_what_no_reader_would_take_is_not_written(honest, tmp_path):
    model = load_model(honest / "tagger.model")
    model.weights[0] = 1e200
    with pytest.raises(ValueError, match=r"'weights?' of the model.*smaller features"):
        save_model(model, tmp_path / "m")
    assert not (tmp_path / "m").exists()


# ------------------------------------------------------------------------- escapes

ESCAPES = "\x1b[31mred\x1b]0;title\x07\x9b2J"


def is_clean(text: str) -> bool:
    return all(c in "\n\t" or c.isprintable() for c in text)


def test_labels_that_would_steer_a_terminal(run, forge, honest):
    def edit(document, arrays):
        document["model"]["labels"][0] = ESCAPES

    path, data = forge("tagger.txt", edit), honest / "tagger.txt"
    for options in ((), ("--json",)):
        shown = run("inspect", path, *options)
        assert shown.code == 0 and is_clean(shown.out) and "red" in shown.out
    assert load_model(path).labels[0] == ESCAPES  # as Python may have given it
    for command in ("predict", "explain", "evaluate", "verify"):
        done = run(command, path, data)
        assert done.code == 2 and not done.out and is_clean(done.err)
        assert "has control characters" in done.err


def test_texts_that_would_steer_a_terminal(run, forge, honest):
    def edit(document, arrays):
        document["info"]["certificate"]["note"] = ESCAPES
        document["info"]["settings"][ESCAPES] = ESCAPES
        text = arrays["support/text"]
        text[: len(ESCAPES)] = list(ESCAPES.encode("latin-1").replace(b"\x9b", b"\x07"))

    path, data = forge("tagger.txt", edit), honest / "tagger.txt"
    for command in (
        ("inspect", path), ("inspect", path, "--json"), ("explain", path, data),
        ("explain", path, data, "--json"), ("verify", path, data),
    ):  # fmt: skip
        done = run(*command)
        assert done.code in (0, 1) and is_clean(done.out + done.err), command


# -------------------------------------------------------------------------- verify


@pytest.mark.parametrize("solver", ["one_slack", "bundle"])
@pytest.mark.parametrize("penalty", ["l1", "l2"])
@pytest.mark.parametrize("formulation", ["margin", "slack"])
def test_honest_duals_are_verified(run, honest, tmp_path, solver, formulation, penalty):
    """Joint planes have the truth itself as an output of some sentences."""
    path, data = tmp_path / "g.model", honest / "grammar.mrg"
    trained = run(
        "train", "constparse", data, "--model", path, "--keep-dual", "--C", 1,
        "--max-iter", 15, "--solver", solver, "--formulation", formulation,
        "--penalty", penalty,
    )  # fmt: skip
    assert trained.code == 0, trained.err
    actual = run("verify", path, data, "--json").json
    assert actual["holds"], actual["checks"]


def test_a_dual_above_the_primal_is_not_verified(run, forge, honest):
    def edit(document, arrays):
        document["info"]["certificate"]["dual"] = 1e6

    path = forge("grammar.mrg", edit)
    assert run("verify", path, honest / "grammar.mrg").code == 1


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("tagger.txt", "KernelSequenceModel.v1"),
        ("sequences.txt", "SequenceModel.v1"),
        ("arcs.conllu", "KernelDependencyModel.v1"),
        ("keys.conllu", "DependencyModel.v1"),
    ],
)
def test_a_kind_must_be_that_of_the_content(forge, name, kind):
    """Features and keys have kinds of their own, which one module reads."""
    path = forge(name, lambda document, arrays: document.update(kind=kind))
    with pytest.raises(ModelFileError, match="damaged"):
        load_model(path)


def test_python_models_may_lack_a_certificate(tmp_path):
    path = tmp_path / "m.model"
    structure, X, y = toy_classes()
    StructuredSVM(structure, max_iter=2).fit(X, y).save(path)
    rewrite(path, path, lambda document, _: document["info"].pop("certificate"))
    svm = StructuredSVM.load(path, structure.setup(X, y))
    assert svm.certificate_ is None
    svm.save(path)
    _, trees = toy_treebank(4, random_state=0)
    lists = [[(tree, 0.5), (trees[0], 0.25)] for tree in trees]
    ranker = Reranker("tree", metric=lambda truth, tree: float(truth == tree))
    ranker.fit(lists, trees).save(path)
    rewrite(path, path, lambda document, _: document["info"].pop("certificate"))
    assert Reranker.load(path).certificate_ is None
