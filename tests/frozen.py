"""Model files that earlier versions wrote, and what they predicted.

    python tests/frozen.py NAME ...

writes the models of these names, for a kind or layout of file that is new. An output
whose record names toy data has one of its folder's name, without a line here. Files
that are there stay as they are: they stand for the files that users have.
"""

import contextlib
import io
import json
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from partwise import (
    DiverseSelector,
    GraphLabeler,
    MeasureClassifier,
    MotifClassifier,
    PartSelection,
    Ranker,
    Reranker,
    SequenceTagger,
    StructuredSVM,
    TaxonomyClassifier,
    load,
)
from partwise.cli.app import run
from partwise.datasets import (
    toy_alignments,
    toy_candidates,
    toy_dependencies,
    toy_entities,
    toy_motifs,
    toy_points,
    toy_taxonomy,
    toy_treebank,
)
from partwise.outputs.registry import OUTPUTS, Output
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
from partwise.testing.toys import toy_classes

FOLDER = Path(__file__).parent / "data"
PREDICTIONS = FOLDER / "predictions.json"  # with scores, to the last bit

# options of `partwise train`, by the name of the file
TRAINED = {
    "sequence": ("tag", "--scheme BIO --boundary --min-count 2"),
    "sequence-sparse": ("tag", "--preset window --scheme BIO"),
    "sequence-hashed": ("tag", "--hash-bits 6 --order 2 --loss log"),
    "sequence-rows": ("tag", "--kernel poly:degree=2 --budget 20"),
    "sequence-annotated": (
        "tag", "--kernel annotated:n=2 --match label+word,bigram --budget 6"
    ),
    "sequence-keys": ("tag", "--match label+word,label+pos"),
    "sequence-segments": (
        "tag", "--segments --cost overlap --spans lower(word);pos[-1]|pos --min-count 2"
    ),
    "dependency": ("depparse", "--hash-bits 0 --min-count 3"),
    "dependency-second-order": (
        "depparse", "--hash-bits 6 --order 2 --candidates 3 --labels none"
    ),
    "dependency-stages": (
        "depparse", "--hash-bits 6 --labels second_stage --non-projective"
    ),
    "dependency-kernel": (
        "depparse",
        "--kernel normalized(annotated:n=2) --match xpos+distance,cluster "
        "--clusters 4 --hash-bits 6 --budget 6",
    ),
    "dependency-keys": ("depparse", "--match xpos+distance --hash-bits 6"),
    "phrase-rules": ("constparse", "--features rules"),
    "phrase-spans": ("constparse", "--vertical 2 --horizontal 1 --min-count 4"),
    "phrase-words": ("constparse", "--words --features rules"),
    "phrase-kernel": (
        "constparse",
        "--kernel normalized(annotated:n=2) --match rule,label+tag --budget 6",
    ),
    "phrase-keys": ("constparse", "--match rule,label+first.tag[-1]+length"),
    "classes": ("classify", "--C 20"),
    "classes-kernel": ("classify", "--kernel rbf:gamma=0.5 --budget 6"),
    "alignment": ("align", "--preset simple+window --mode semiglobal --cost q4"),
}  # fmt: skip
DATA = {
    "tag": "txt", "depparse": "conllu", "constparse": "mrg", "classify": "csv",
    "align": "afa",
}  # fmt: skip


def write_data(folder: Path, name: str, n: int, seed: int) -> None:
    X, y = toy_entities(n, random_state=seed)
    write_columns(folder / f"{name}.txt", Table.from_sequences(X), y)
    X, y = toy_dependencies(n, random_state=seed)
    write_conllu(folder / f"{name}.conllu", X, y)
    write_brackets(folder / f"{name}.mrg", toy_treebank(n, random_state=seed)[1])
    X, y = toy_alignments(n, random_state=seed)
    families = [
        Family(f"f{i}", [FastaRecord(*row) for row in zip("ab", rows, strict=True)])
        for i, rows in enumerate(map(_rows, X, y))
    ]
    write_families(folder / f"{name}.afa", families)
    X, y = toy_points(n, random_state=seed)
    rows = [[*x, label] for x, label in zip(X.round(4).tolist(), y, strict=True)]
    lines = [",".join(map(str, row)) for row in rows]
    (folder / f"{name}.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")


def _rows(x: Any, pairs: Any) -> tuple[str, str]:
    return aligned_rows(*x, pairs)


def candidates(n: int) -> tuple[list[Any], list[Any]]:
    trees = toy_treebank(n, random_state=0)[1]
    return [[(tree, 0.5), (trees[0], 0.25)] for tree in trees], trees


def parts() -> tuple[PartSelection, list[Any], list[Any]]:
    """Pairs of rows, by a kernel."""
    X = np.split(toy_points(30)[0].round(4), 6)
    y = [np.argsort(-(x**2).sum(axis=1), kind="stable")[:2] for x in X]
    return PartSelection(kernel="rbf:gamma=0.5", method="top", size=2), X, y


class Made(NamedTuple):
    """A model made in Python, and what it predicts as JSON."""

    fit: Callable[[], Any]
    predict: Callable[[Path], Any]
    explained: Any = None  # an input to explain, where it is not like the toy's


def _by_rows(X: Any) -> Callable[[Path], Any]:
    return lambda path: load(path).scores(X).tolist()


def _taxonomy(**options: Any) -> Made:
    multiple = "multiple" in options
    X = toy_taxonomy(6)[0]
    return Made(
        lambda: TaxonomyClassifier(parents="/", **options).fit(
            *toy_taxonomy(24, multiple=multiple)
        ),
        (lambda path: load(path).predict(X)) if multiple else _by_rows(X),
    )


def _parts_scores(path: Path) -> Any:
    structure, X, y = parts()
    svm = StructuredSVM.load(path, structure.setup(X, y))
    return [scores.tolist() for scores in svm.coef_.scores(X[:3])]


def _parts_svm() -> Any:
    structure, X, y = parts()
    return StructuredSVM(structure, max_iter=5).fit(X, y)


def _weights_svm() -> Any:
    structure, X, y = toy_classes()
    return StructuredSVM(structure, max_iter=5).fit(X, y)


def _sites(path: Path) -> Any:
    sites, scores = load(path).sites(toy_motifs(4)[0])
    return [[*site, score] for site, score in zip(sites, scores.tolist(), strict=True)]


def _toy(output: Output) -> Made:
    """The toy of an output that asks for nothing else."""
    kind = getattr(output.module("estimator"), output.estimator)
    settings = {"max_iter": 5, **output.toy_settings, **dict(*output.variants[:1])}
    X, _ = output.make_toy(3, random_state=1)
    return Made(
        lambda: kind(**settings).fit(*output.make_toy(12)),
        lambda path: [np.asarray(y).tolist() for y in kind.load(path).predict(X)],
    )


POINTS, COLOURS = toy_points(30)
LINKS = [(POINTS[k : k + 4].round(4), [(0, 1), (2, 3)], None) for k in range(0, 28, 4)]
VECTORS = {"austin": [1.0, 0.5], "Siemens": [0.0, 1.0], "bought": [-1.0, 0.25]}
MADE = {
    "graph-types": Made(
        lambda: GraphLabeler(max_iter=5).fit(
            [(*x, ["a", "b"] * 2) for x in LINKS], [["u", "u", "v", "w"]] * len(LINKS)
        ),
        lambda path: load(path).predict([(*LINKS[0], ["b", "a"] * 2)]),
        (*LINKS[0], ["b", "a"] * 2),
    ),
    "diversity": Made(
        lambda: DiverseSelector(k=3, features="rich").fit(*toy_candidates(8)),
        lambda path: [y.tolist() for y in load(path).predict(toy_candidates(4)[0])],
    ),
    "measure": Made(
        lambda: MeasureClassifier(measure="fbeta", beta=2.0).fit(
            POINTS, COLOURS == "red"
        ),
        _by_rows(toy_points(6)[0]),
    ),
    "measure-kernel": Made(
        lambda: MeasureClassifier(kernel="rbf:gamma=0.5").fit(POINTS, COLOURS == "red"),
        _by_rows(toy_points(6)[0]),
    ),
    "motif": Made(
        lambda: MotifClassifier(length=5, order=1, restarts=1, max_iter=5).fit(
            *toy_motifs(12)
        ),
        _sites,
    ),
    "parts-kernel": Made(_parts_svm, _parts_scores),
    "ranking": Made(
        lambda: Ranker(measure="ndcg", k=5).fit(
            POINTS, COLOURS == "red", np.arange(30) // 6
        ),
        lambda path: load(path).predict(toy_points(6)[0]),
    ),
    "reranker": Made(
        lambda: Reranker("tree:decay=0.5", metric=lambda t, c: float(t == c)).fit(
            *candidates(6)
        ),
        lambda path: [s.tolist() for s in load(path).scores(candidates(3)[0])],
    ),
    "sequence-vectors": Made(
        lambda: SequenceTagger(templates="word", vectors=VECTORS, max_iter=5).fit(
            *toy_entities(12)
        ),
        lambda path: list(load(path).predict(toy_entities(3, random_state=1)[0])),
        toy_entities(1)[0][0],
    ),
    "taxonomy": _taxonomy(cost="path", classes="nodes"),
    "taxonomy-kernel": _taxonomy(kernel="rbf:gamma=0.1", budget=6),
    "taxonomy-sets": _taxonomy(multiple=True, leaves="mandatory"),
    "weights": Made(_weights_svm, lambda path: load(path).weights.tolist()),
}
KINDS = {"sequence", "dependency", "phrase", "multiclass", "alignment"}  # in TRAINED
for _output in OUTPUTS:
    _name = _output.folder.rpartition(".")[2]
    if _output.toy and _name not in MADE and _name not in KINDS:
        MADE[_name] = _toy(_output)
NAMES = (*TRAINED, *MADE)


def predictions(name: str, path: Path, folder: Path) -> Any:
    """What a model says of new data, as JSON."""
    if name in MADE:
        return MADE[name].predict(path)
    data = folder / f"new.{DATA[TRAINED[name][0]]}"
    with contextlib.redirect_stdout(io.StringIO()) as out:
        assert not run(["predict", str(path), str(data), "--topk", "2", "--json"])
    return json.loads(out.getvalue())


def write_model(name: str, path: Path, folder: Path) -> None:
    if name in MADE:
        MADE[name].fit().save(path)
        return
    task, options = TRAINED[name]
    data = folder / f"train.{DATA[task]}"
    with contextlib.redirect_stdout(io.StringIO()):
        assert not run(
            ["train", task, str(data), "--model", str(path), "--max-iter", "5",
             *options.split()]
        )  # fmt: skip


def main(names: list[str]) -> None:
    known = json.loads(PREDICTIONS.read_text()) if PREDICTIONS.exists() else {}
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        write_data(folder, "train", 12, 0)
        write_data(folder, "new", 3, 1)
        for name in names:
            path = FOLDER / f"{name}.model"
            if path.exists():
                sys.exit(f"{path} is there already")
            write_model(name, path, folder)
            known[name] = predictions(name, path, folder)
    PREDICTIONS.write_text(json.dumps(known, indent=None, sort_keys=True) + "\n")


if __name__ == "__main__":
    main(sys.argv[1:])
