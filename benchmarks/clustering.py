"""Coreference of given mentions: Table 2 and Figure 3 of Yu and Joachims on LitBank.

    python benchmarks/clustering.py table2 --data DIR
    python benchmarks/clustering.py speed

`table2` trains correlation clustering (SVM-cluster), the latent forest, and the latent
forest whose wrong links cost r. C, and r of the last, are chosen by cross-validation on
the training documents: the first two by pair loss, the last by MITRE loss, as in the
paper. It tells both losses on the test documents, a Z-test of the differences of MITRE
losses by document, the seconds of the final fits, and the mean rounds of the fits of
cross-validation by C (Figure 3). The whole protocol is the default; `--train`,
`--test`, `--folds`, `--C`, `--r`, `--window` and `--time-limit` ask for less.

`speed` clusters one document of 1,000 items with all pairs as candidates.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path
from typing import Any

import numpy as np
from scipy.stats import norm

from partwise import SupervisedClusterer
from partwise.datasets import toy_clusters
from partwise.features.mention_pairs import mention_pairs
from partwise.metrics import metric
from partwise.readers.coreference import read_coreference

METHODS: dict[str, tuple[dict[str, Any], str]] = {
    "SVM-cluster": ({"decoder": "correlation"}, "pair_loss"),
    "latent forest": ({}, "pair_loss"),
    "modified loss": ({}, "mitre_loss"),
}


def documents(path: Path, limit: int | None, window: int) -> tuple[list[Any], Any]:
    """Mentions with candidate pairs, and their entities."""
    read = read_coreference(str(path))[:limit]
    X = [mention_pairs(document, window) for document in read]
    return X, [np.unique(d.entities, return_inverse=True)[1] for d in read]


def fitted(X: Any, y: Any, C: float, settings: dict[str, Any], options: Any) -> Any:
    """A clusterer; C is times the documents."""
    given = {"tol": options.tol, "time_limit": options.time_limit}
    clusterer = SupervisedClusterer(C=C * len(X), **given, **settings)
    return clusterer.fit(X, y)


def chosen(
    X: Any, y: Any, settings: dict[str, Any], measure: str, grid: Any, options: Any
) -> tuple[float, dict[float, float]]:
    """The C of smallest loss in cross-validation, its loss, and mean rounds by C."""
    fold = np.arange(len(X)) % options.folds
    losses, rounds = {}, {}
    for C in grid:
        found, counts = [], []
        for k in range(options.folds):
            train, test = np.flatnonzero(fold != k), np.flatnonzero(fold == k)
            one = fitted(
                [X[i] for i in train], [y[i] for i in train], C, settings, options
            )
            counts.append(len(one.rounds_) or 1)
            truth, guess = [y[i] for i in test], one.predict([X[i] for i in test])
            found.append(metric(measure).function(truth, guess))
        losses[C], rounds[C] = float(np.mean(found)), float(np.mean(counts))
        print(f"  C = {C:g} n: {measure} {losses[C]:.2f}, rounds {rounds[C]:.1f}",
              flush=True)  # fmt: skip
    best = min(losses, key=losses.__getitem__)
    return best, {"loss": losses[best], **rounds}


def table2(options: argparse.Namespace) -> None:
    """Losses of the three methods."""
    folder = Path(options.data) / "litbank_coref"
    X, y = documents(folder / "train.conll.gz", options.train, options.window)
    new, truth = documents(folder / "test.conll.gz", options.test, options.window)
    print(f"{len(X)} training and {len(new)} test documents, window {options.window}")
    by_document = {}
    for name, (settings, measure) in METHODS.items():
        print(name, flush=True)
        trials = []
        for r in options.r if name == "modified loss" else [1.0]:
            given = settings | {"link_penalty": r}
            if r != 1.0:
                print(f"  r = {r:g}")
            C, told = chosen(X, y, given, measure, options.C, options)
            trials.append((told["loss"], C, given))
        _, C, given = min(trials, key=lambda trial: trial[0])
        began = time.process_time()
        clusterer = fitted(X, y, C, given, options)
        seconds = time.process_time() - began
        guess = clusterer.predict(new)
        by_document[name] = np.array(
            [metric("mitre_loss").function([a], [b])
             for a, b in zip(truth, guess, strict=True)]
        )  # fmt: skip
        print(
            f"{name}: C = {C:g} n, r = {given['link_penalty']:g}, MITRE loss "
            f"{metric('mitre_loss').function(truth, guess):.1f}, pair loss "
            f"{metric('pair_loss').function(truth, guess):.2f}, {seconds:.1f} CPU s, "
            f"{len(clusterer.rounds_)} rounds",
            flush=True,
        )
    baseline = by_document["SVM-cluster"]
    for name, losses in by_document.items():
        if name != "SVM-cluster":
            d = losses - baseline
            z = float(np.mean(d) / (np.std(d, ddof=1) / np.sqrt(len(d))))
            p = 2 * norm.sf(abs(z))
            print(f"{name} − SVM-cluster, MITRE: {np.mean(d):+.1f}, p = {p:.2g} (Z)")


def speed(options: argparse.Namespace) -> None:
    """Seconds for a document of 1,000 items, all pairs candidates."""
    X, y = toy_clusters(20)
    one, other = np.triu_indices(1000, 1)
    features = np.random.default_rng(0).normal(size=(len(one), 3))
    document = (1000, np.column_stack([one, other]), features)
    for decoder in ("forest", "correlation"):
        clusterer = SupervisedClusterer(decoder=decoder).fit(X, y)
        clusterer.predict([document])
        began = time.process_time()
        clusterer.predict([document])
        print(f"{decoder}: {time.process_time() - began:.2f} CPU s")


def main() -> None:
    """Read options and run a study."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("study", choices=("table2", "speed"))
    parser.add_argument("--data", default=".")
    parser.add_argument("--train", type=int, default=None, help="documents")
    parser.add_argument("--test", type=int, default=None, help="documents")
    parser.add_argument("--folds", type=int, default=10)
    parser.add_argument(
        "--C", type=float, nargs="+", default=[10.0**k for k in range(-2, 7)],
        help="times the documents",
    )  # fmt: skip
    parser.add_argument("--r", type=float, nargs="+", default=[0.001, 0.01, 0.1, 1.0])
    parser.add_argument("--window", type=int, default=20, help="mentions apart")
    parser.add_argument("--tol", type=float, default=0.01)
    parser.add_argument("--time-limit", type=float, help="seconds of each fit")
    options = parser.parse_args()
    {"table2": table2, "speed": speed}[options.study](options)


if __name__ == "__main__":
    main()
