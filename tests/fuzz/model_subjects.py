"""Tiny models of every kind and a checkpoint, and what a user does with the files."""

from __future__ import annotations

import contextlib
import io
import random
from collections.abc import Callable, Collection, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from model_mutations import mutate
from scipy import sparse

from partwise import (
    MeasureClassifier,
    PartSelection,
    Reranker,
    SequenceTagger,
    StructuredSVM,
    TaxonomyClassifier,
)
from partwise.checkpoint import FileCheckpoint
from partwise.cli.app import run
from partwise.datasets import (
    toy_alignments,
    toy_binary,
    toy_dependencies,
    toy_entities,
    toy_points,
    toy_taxonomy,
    toy_treebank,
)
from partwise.features.arrays import as_features
from partwise.model_file import load_model, model_kind
from partwise.objective import Objective
from partwise.outputs.registry import OUTPUTS, file_modules
from partwise.readers import (
    Family,
    FastaRecord,
    Table,
    write_brackets,
    write_columns,
    write_conllu,
    write_families,
)
from partwise.readers.fasta import aligned_rows
from partwise.solvers.bcfw import BCFW
from partwise.structures.chain import Chain
from partwise.testing.toys import toy_classes

N_SENTENCES = 12

# options of `partwise train`; each line is a layout that a file can have
COMMANDS = {
    "tag": ("tag", ""),
    "tag-hashed": ("tag", "--hash-bits 6 --order 2 --boundary --scheme BIO"),
    "tag-crf": ("tag", "--loss log --order 0"),
    "tag-slack": ("tag", "--solver one_slack --formulation slack"),
    "tag-rows": ("tag", "--kernel poly:degree=2"),
    "tag-sequences": ("tag", "--kernel annotated:n=2 --match label+word,bigram"),
    "tag-keys": ("tag", "--match label+word,label+pos"),
    "tag-segments": ("tag", "--segments --cost overlap --spans pos --min-count 2"),
    "dep": ("depparse", "--hash-bits 0 --min-count 2"),
    "dep-hashed": ("depparse", "--hash-bits 8 --non-projective"),
    "dep-second": ("depparse", "--hash-bits 8 --order 2 --candidates 3"),
    "dep-stages": ("depparse", "--hash-bits 8 --labels second_stage"),
    "dep-heads": ("depparse", "--hash-bits 8 --construction best_heads"),
    "dep-kernel": (
        "depparse",
        "--kernel normalized(annotated:n=2) --match xpos+distance,cluster "
        "--clusters 5 --hash-bits 8",
    ),
    "dep-keys": ("depparse", "--match xpos+distance,form --hash-bits 8"),
    "classes": ("classify", ""),
    "classes-kernel": ("classify", "--kernel rbf"),
    "align": ("align", ""),
    "align-window": ("align", "--preset simple+window --mode local --no-tie-gaps"),
    "align-band": ("align", "--mode semiglobal --cost q4 --band 9 --penalty l2"),
    "con": ("constparse", "--features rules"),
    "con-spans": ("constparse", "--vertical 2 --horizontal 1 --min-count 1"),
    "con-words": ("constparse", "--words --solver one_slack"),
    "con-kernel": (
        "constparse", "--kernel normalized(annotated:n=2) --match rule,label+tag"
    ),
    "con-keys": ("constparse", "--match rule,label+first.tag[-1]+length"),
}  # fmt: skip
SUFFIX = {
    "tag": "txt", "depparse": "conllu", "constparse": "mrg", "classify": "csv",
    "align": "afa",
}  # fmt: skip
ESTIMATORS = {
    kind.partition(".")[0]: output for output in OUTPUTS for kind in output.kinds
}


class Misbehaviour(Exception):
    """What no file may cause."""


class Subject(NamedTuple):
    """A file, and how its mutants are made, loaded and used."""

    name: str
    content: bytes
    use: Callable[[Path, Any, random.Random], None]  # of a file that loads
    mutate: Callable[[bytes, random.Random], tuple[str, bytes]] = mutate
    load: Callable[[Path], Any] = load_model


def make_subjects(folder: Path, only: Collection[str] = ()) -> Iterator[Subject]:
    """Train the models with these names, or all of them; every kind has one."""
    _write_data(folder)
    covered = set()
    for name, (task, options) in COMMANDS.items():
        if only and name not in only:
            continue
        path = folder / f"{name}.model"
        data = folder / f"train.{SUFFIX[task]}"
        code, text = command(
            "train", task, data, "--model", path, "--keep-dual", "--max-iter", 5,
            *options.split(),
        )  # fmt: skip
        if code:
            raise RuntimeError(f"{name}: {text}")
        covered.add(model_kind(load_model(path)))
        yield Subject(name, path.read_bytes(), _use_by_commands(folder, SUFFIX[task]))
    for name, estimator, data, use in _python_models():
        if only and name not in only:
            continue
        path = folder / f"{name}.model"
        estimator.fit(*data)
        estimator.save(path)
        covered.add(model_kind(load_model(path)))
        yield Subject(name, path.read_bytes(), use)
    if not only or "checkpoint" in only:
        yield _checkpoint(folder / "run.checkpoint")
    missing = {kind.split(".")[0] for kind in file_modules()} - covered
    if missing and not only:
        raise RuntimeError(f"no model of kind {', '.join(sorted(missing))}")


def _checkpoint(place: Path) -> Subject:
    """A run that was stopped; its mutants are refused, or end with the same bits."""
    rng = np.random.default_rng(0)
    X = as_features([rng.normal(size=(3, 4)) for _ in range(8)])
    y = rng.integers(0, 3, size=24)
    objective = Objective.create(50.0, 8, "l1")

    def run(path: Path | None, max_iter: int) -> Any:
        subset = None if path is None else FileCheckpoint(path)
        problem = Chain(3).pack(X, y)
        solver = BCFW(tol=1e-9, max_iter=max_iter)
        return solver.solve(problem, objective, checkpoint=subset)

    def compare(path: Path, state: Any, rng: random.Random) -> None:
        if state.model.tobytes() != whole:
            raise Misbehaviour("a checkpoint that leads elsewhere")

    whole = run(None, 5).model.tobytes()
    run(place, 3)
    content = place.read_bytes()
    return Subject("checkpoint", content, compare, load=lambda path: run(path, 5))


def _write_data(folder: Path) -> None:
    for name, n in (("train", N_SENTENCES), ("new", 3)):
        X, y = toy_entities(n, random_state=0)
        write_columns(folder / f"{name}.txt", Table.from_sequences(X), y)
        X, y = toy_dependencies(n, random_state=0)
        write_conllu(folder / f"{name}.conllu", X, y)
        write_brackets(folder / f"{name}.mrg", toy_treebank(n, random_state=0)[1])
        X, y = toy_alignments(n, random_state=0)
        families = [
            Family(f"f{i}", [FastaRecord(*row) for row in zip("ab", rows, strict=True)])
            for i, rows in enumerate(
                aligned_rows(a, b, p) for (a, b), p in zip(X, y, strict=True)
            )
        ]
        write_families(folder / f"{name}.afa", families)
        X, y = toy_points(n, random_state=0)
        rows = [[*x, c] for x, c in zip(X.round(4).tolist(), y, strict=True)]
        text = "\n".join(",".join(map(str, row)) for row in rows) + "\n"
        (folder / f"{name}.csv").write_text(text, encoding="utf-8")


# ---------------------------------------------------------------- at the command line


def command(*arguments: Any) -> tuple[int, str]:
    """Run a command in this process: exit code, and all that it printed."""
    out = io.TextIOWrapper(io.BytesIO(), encoding="utf-8", write_through=True)
    errors = io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(errors):
        code = run([str(argument) for argument in arguments])
    written = out.buffer.getvalue().decode("utf-8", "replace")  # type: ignore[attr-defined]
    return code, errors.getvalue() + written


def _use_by_commands(folder: Path, suffix: str) -> Any:
    new, train = folder / f"new.{suffix}", folder / f"train.{suffix}"

    def use(path: Path, model: Any, rng: random.Random) -> None:
        calls = [
            ("inspect", path),
            ("inspect", path, "--json"),
            ("predict", path, new),
            ("predict", path, new, "--topk", 3, "--json"),
            ("explain", path, new),
            ("evaluate", path, new),
            ("verify", path, train),
            ("verify", path, new),
        ]
        for call in rng.sample(calls, 3):
            code, text = command(*call)
            check_answer(" ".join(map(str, call[:1] + call[3:])), code, text)
        _resave(path, model)

    return use


def check_answer(name: str, code: int, text: str) -> None:
    """Refuse what no command may print."""
    last = (text.strip().splitlines() or [""])[-1][-200:]
    if code not in (0, 1, 2) or "please report" in text or "Traceback" in text:
        raise Misbehaviour(f"{name}: {last}")
    if "out of memory" in text:
        raise Misbehaviour(f"memory in {name}: {last}")
    if any((ord(c) < 32 and c not in "\n\t\r") or 127 <= ord(c) < 160 for c in text):
        raise Misbehaviour(f"{name}: control characters")
    if code == 2 and len(text.strip().splitlines()) > 3:
        raise Misbehaviour(f"{name}: a refusal of many lines")


def _resave(path: Path, model: Any) -> None:
    """A file that loads as a model also loads as an estimator, and can be saved."""
    output = ESTIMATORS[model_kind(model)]
    if output.task is None:  # needs its structure or metric again
        return
    kind = getattr(output.module("estimator"), output.estimator)
    with contextlib.suppress(ValueError):
        kind.load(path).save(path.with_suffix(".again"))


# ------------------------------------------------------------------------ from Python


def _python_models() -> Iterator[tuple[str, Any, tuple[Any, Any], Any]]:
    rng = np.random.default_rng(0)
    X, y = toy_entities(N_SENTENCES, random_state=0)
    dicts = [[{"word": w, "pos": p, "size": float(len(w))} for w, p in x] for x in X]
    dense = [rng.normal(size=(len(x), 4)) for x in X]
    rows = [sparse.csr_array(np.where(d > 0.5, d, 0.0)) for d in dense]
    for name, inputs in (("py-dicts", dicts), ("py-dense", dense), ("py-csr", rows)):
        tagger = SequenceTagger(max_iter=5)
        yield name, tagger, (inputs, y), _use_by_predicting(inputs[:3])
    tagger = SequenceTagger(kernel="rbf", max_iter=5)
    yield "py-rbf", tagger, (dense, y), _use_by_predicting(dense[:3])
    _, trees = toy_treebank(N_SENTENCES, random_state=0)
    lists = [[(tree, 0.5), (trees[0], 0.25)] for tree in trees]
    ranker = Reranker("tree:decay=0.5", metric=lambda t, c: float(t == c))
    yield "rank-trees", ranker, (lists, trees), _use_by_ranking(lists[:3], None)
    ranker = Reranker("linear", features=_describe, metric=lambda t, c: float(t == c))
    yield "rank-dicts", ranker, (lists, trees), _use_by_ranking(lists[:3], _describe)
    for name, options in (
        ("taxonomy-kernel", {"kernel": "rbf"}), ("taxonomy-sets", {"multiple": True}),
    ):  # fmt: skip
        X, y = toy_taxonomy(N_SENTENCES, multiple="multiple" in options)
        classifier = TaxonomyClassifier(parents="/", max_iter=5, **options)
        yield name, classifier, (X, y), _use_by_predicting(X[:3], rows=True)
    X, y = toy_binary(N_SENTENCES)
    classifier = MeasureClassifier(kernel="rbf", max_iter=5)
    yield "measure-kernel", classifier, (X, y), _use_by_predicting(X[:3], rows=True)
    covered = {task for task, _ in COMMANDS.values()}
    for output in OUTPUTS:
        if output.toy and output.task is not None and output.task[0] not in covered:
            kind = getattr(output.module("estimator"), output.estimator)
            data = output.make_toy(N_SENTENCES)
            estimator = kind(max_iter=5, **output.toy_settings)
            yield output.task[0], estimator, data, _use_by_estimator(kind, data[0][:3])
    structure, points, classes = toy_classes()
    svm = StructuredSVM(structure, max_iter=5)
    yield "weights", svm, (points, classes), _inspect_only
    parts = np.split(toy_points(N_SENTENCES)[0], N_SENTENCES // 3)
    pairs = [[0, 1]] * len(parts)
    structure = PartSelection(kernel="rbf", method="top", size=2).setup(parts, pairs)
    svm = StructuredSVM(structure, max_iter=5)
    yield "parts-kernel", svm, (parts, pairs), _use_by_parts(structure, parts)


def _describe(tree: Any) -> dict[str, float]:
    return {tree[0]: 1.0, "children": float(len(tree[1]))}


def _use_by_predicting(inputs: Any, rows: bool = False) -> Any:
    def use(path: Path, model: Any, rng: random.Random) -> None:
        _inspect_only(path, model, rng)
        with contextlib.suppress(ValueError):
            predicted = model.predict(inputs)
            for x, labels in zip(inputs, predicted, strict=True):
                if rows:
                    continue
                if len(labels) != (x.shape[0] if hasattr(x, "shape") else len(x)):
                    raise Misbehaviour("predict: another length")
        _resave(path, model)

    return use


def _use_by_estimator(kind: Any, inputs: Any) -> Any:
    def use(path: Path, model: Any, rng: random.Random) -> None:
        _inspect_only(path, model, rng)
        with contextlib.suppress(ValueError):
            estimator = kind.load(path)
            if len(estimator.predict(inputs)) != len(inputs):
                raise Misbehaviour("predict: another length")
            estimator.explain(inputs[0] if isinstance(inputs, list) else inputs[:1])
        _resave(path, model)

    return use


def _use_by_parts(structure: PartSelection, inputs: Any) -> Any:
    def use(path: Path, model: Any, rng: random.Random) -> None:
        _inspect_only(path, model, rng)
        with contextlib.suppress(ValueError):
            StructuredSVM.load(path, structure).predict(inputs)

    return use


def _use_by_ranking(lists: Any, features: Any) -> Any:
    def use(path: Path, model: Any, rng: random.Random) -> None:
        _inspect_only(path, model, rng)
        model.features = features
        with contextlib.suppress(ValueError):
            model.rank(lists)
        _resave(path, model)

    return use


def _inspect_only(path: Path, model: Any, rng: random.Random) -> None:
    check_answer("inspect", *command("inspect", path))
