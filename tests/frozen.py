"""Model files that earlier versions wrote, and what they predicted.

    python tests/frozen.py NAME ...

writes the models of these names, for a kind or layout of file that is new. Files that
are there stay as they are: they stand for the files that users have.
"""

import contextlib
import io
import json
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

from partwise import (
    MeasureClassifier,
    MotifClassifier,
    Ranker,
    Reranker,
    StructuredSVM,
    SupervisedClusterer,
    load,
)
from partwise.cli.app import run
from partwise.datasets import (
    toy_clusters,
    toy_dependencies,
    toy_entities,
    toy_motifs,
    toy_points,
    toy_treebank,
)
from partwise.readers import Table, write_brackets, write_columns, write_conllu
from partwise.structures.clustering import Items
from partwise.testing.toys import toy_classes

FOLDER = Path(__file__).parent / "data"
PREDICTIONS = FOLDER / "predictions.json"  # with scores, to the last bit

# options of `partwise train`, by the name of the file
TRAINED = {
    "sequence": ("tag", "--scheme BIO --boundary --min-count 2"),
    "sequence-hashed": ("tag", "--hash-bits 6 --order 2 --loss log"),
    "sequence-rows": ("tag", "--kernel poly:degree=2 --budget 20"),
    "sequence-annotated": (
        "tag", "--kernel annotated:n=2 --match label+word,bigram --budget 6"
    ),
    "sequence-keys": ("tag", "--match label+word,label+pos"),
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
    "classes": ("classify", "--C 20"),
    "classes-kernel": ("classify", "--kernel rbf:gamma=0.5 --budget 6"),
}  # fmt: skip
DATA = {"tag": "txt", "depparse": "conllu", "constparse": "mrg", "classify": "csv"}
NAMES = (*TRAINED, "clustering", "measure", "motif", "ranking", "reranker", "weights")


def write_data(folder: Path, name: str, n: int, seed: int) -> None:
    X, y = toy_entities(n, random_state=seed)
    write_columns(folder / f"{name}.txt", Table.from_sequences(X), y)
    X, y = toy_dependencies(n, random_state=seed)
    write_conllu(folder / f"{name}.conllu", X, y)
    write_brackets(folder / f"{name}.mrg", toy_treebank(n, random_state=seed)[1])
    X, y = toy_points(n, random_state=seed)
    rows = [[*x, label] for x, label in zip(X.round(4).tolist(), y, strict=True)]
    lines = [",".join(map(str, row)) for row in rows]
    (folder / f"{name}.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")


def candidates(n: int) -> tuple[list[Any], list[Any]]:
    trees = toy_treebank(n, random_state=0)[1]
    return [[(tree, 0.5), (trees[0], 0.25)] for tree in trees], trees


def predictions(name: str, path: Path, folder: Path) -> Any:
    """What a model says of new data, as JSON."""
    if name == "weights":
        return load(path).weights.tolist()
    if name == "measure":
        return load(path).scores(toy_points(6)[0]).tolist()
    if name == "clustering":
        X = [Items(*x) for x in toy_clusters(4)[0]]
        model = load(path)
        scores = [model.row_scores(x.features).tolist() for x in X]
        return [[each.tolist() for each in model.predict(X)], scores]
    if name == "motif":
        sites, scores = load(path).sites(toy_motifs(4)[0])
        return [[*s, score] for s, score in zip(sites, scores.tolist(), strict=True)]
    if name == "ranking":
        return load(path).predict(toy_points(6)[0])
    if name == "reranker":
        return [scores.tolist() for scores in load(path).scores(candidates(3)[0])]
    data = folder / f"new.{DATA[TRAINED[name][0]]}"
    with contextlib.redirect_stdout(io.StringIO()) as out:
        assert not run(["predict", str(path), str(data), "--topk", "2", "--json"])
    return json.loads(out.getvalue())


def write_model(name: str, path: Path, folder: Path) -> None:
    if name == "weights":
        structure, X, y = toy_classes()
        StructuredSVM(structure, max_iter=5).fit(X, y).save(path)
    elif name == "measure":
        X, y = toy_points(30)
        MeasureClassifier(measure="fbeta", beta=2.0).fit(X, y == "red").save(path)
    elif name == "clustering":
        SupervisedClusterer(link_penalty=0.5).fit(*toy_clusters(8)).save(path)
    elif name == "motif":
        MotifClassifier(length=5, order=1, restarts=1).fit(*toy_motifs(12)).save(path)
    elif name == "ranking":
        X, y = toy_points(30)
        Ranker(measure="ndcg", k=5).fit(X, y == "red", np.arange(30) // 6).save(path)
    elif name == "reranker":
        ranker = Reranker("tree:decay=0.5", metric=lambda t, c: float(t == c))
        ranker.fit(*candidates(6)).save(path)
    else:
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
