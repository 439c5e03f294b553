"""Coreference of given mentions: Table 2 and Figure 3 of Yu and Joachims on LitBank.

    python benchmarks/clustering.py table2 --data DIR
    python benchmarks/clustering.py speed [--data DIR]

`table2` trains correlation clustering (SVM-cluster), the latent forest, and the latent
forest whose wrong links cost r. C, and r of the last, are chosen by cross-validation on
the training documents: the first two by pair loss, the last by MITRE loss, as in the
paper. It prints both losses on the test documents, a Z-test of the differences by
document, the seconds of the final fits, and by C the losses and mean rounds of the fits
of cross-validation (Figure 3). The whole protocol is the default; `--train`, `--test`,
`--folds`, `--C`, `--r`, `--window` and `--time-limit` ask for less. Fits that reach the
time limit are counted.

`speed` clusters one document of 1,000 items with all pairs as candidates; with
`--data` also the first 1,000 mentions of the test documents of LitBank joined to one:
CPU seconds of reading it from columns, of the features of pairs and of `predict`, warm,
the best of three, with candidates up to 20 mentions apart and with all pairs, by models
of eight training documents.
"""

from __future__ import annotations

import argparse
import io
import time
import warnings
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from scipy.stats import norm

from partwise import SupervisedClusterer
from partwise.datasets import toy_clusters
from partwise.features.mention_pairs import mention_pairs
from partwise.metrics import metric
from partwise.readers.coreference import read_coreference

LOSSES = ("mitre_loss", "pair_loss")


class Validation(NamedTuple):
    """Means over the folds of one setting."""

    settings: dict[str, Any]  # decoder, link_penalty, C
    loss: dict[str, float]
    rounds: float
    n_limited: int  # fits that reached the time limit


def read_documents(path: Path, limit: int | None, window: int) -> tuple[Any, Any]:
    """Mentions with candidate pairs, and the entity of each mention."""
    documents = read_coreference(str(path))[:limit]
    X = [mention_pairs(document, window) for document in documents]
    return X, [np.unique(d.entities, return_inverse=True)[1] for d in documents]


def fit(X: Any, y: Any, settings: dict[str, Any], options: Any) -> SupervisedClusterer:
    """A clusterer; C is times the documents."""
    C = settings["C"] * len(X)
    clusterer = SupervisedClusterer(
        **settings | {"C": C, "tol": options.tol, "time_limit": options.time_limit}
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # fits at the time limit are counted
        return clusterer.fit(X, y)


def losses_of(clusterer: SupervisedClusterer, X: Any, y: Any) -> dict[str, float]:
    """Both losses over some documents."""
    clusters = clusterer.predict(X)
    return {name: float(metric(name).function(y, clusters)) for name in LOSSES}


def validate(X: Any, y: Any, settings: dict[str, Any], options: Any) -> Validation:
    """Cross-validation on the training documents."""
    fold = np.arange(len(X)) % options.folds
    losses, rounds, n_limited = [], [], 0
    began = time.process_time()
    for k in range(options.folds):
        train, test = np.flatnonzero(fold != k), np.flatnonzero(fold == k)
        clusterer = fit([X[i] for i in train], [y[i] for i in train], settings, options)
        losses.append(losses_of(clusterer, [X[i] for i in test], [y[i] for i in test]))
        rounds.append(len(clusterer.rounds_) or 1)
        n_limited += clusterer.certificate_.stopped == "time limit"
    loss = {name: float(np.mean([each[name] for each in losses])) for name in LOSSES}
    result = Validation(settings, loss, float(np.mean(rounds)), n_limited)
    name, r = settings.get("decoder", "forest"), settings.get("link_penalty", 1.0)
    print(
        f"{name:11} r {r:5g} C {settings['C']:8g} n: MITRE {loss['mitre_loss']:6.2f}, "
        f"pairs {loss['pair_loss']:6.2f}, rounds {result.rounds:4.1f}, at the limit "
        f"{n_limited}, CPU {time.process_time() - began:.0f} s",
        flush=True,
    )
    return result


def validations(X: Any, y: Any, options: Any) -> dict[str, list[Validation]]:
    """Of each method of the table, its settings after cross-validation."""

    def by_C(settings: dict[str, Any]) -> list[Validation]:
        return [validate(X, y, settings | {"C": C}, options) for C in options.C]

    by_r = {r: by_C({"link_penalty": r}) for r in {1.0, *options.r}}
    return {
        "SVM-cluster": by_C({"decoder": "correlation"}),
        "latent forest": by_r[1.0],
        "modified loss": [each for r in options.r for each in by_r[r]],
    }


def z_test(differences: Any) -> float:
    """Two-sided p of a mean of zero."""
    n = len(differences)
    z = np.mean(differences) / (np.std(differences, ddof=1) / np.sqrt(n))
    return float(2 * norm.sf(abs(z)))


def table2(options: argparse.Namespace) -> None:
    """Losses of the three methods."""
    folder = Path(options.data) / "litbank_coref"
    X, y = read_documents(folder / "train.conll.gz", options.train, options.window)
    X_test, y_test = read_documents(
        folder / "test.conll.gz", options.test, options.window
    )
    print(
        f"{len(X)} training and {len(X_test)} test documents, window {options.window}"
    )
    by_document = {}
    for method, trials in validations(X, y, options).items():
        criterion = "mitre_loss" if method == "modified loss" else "pair_loss"
        best = min(trials, key=lambda trial: trial.loss[criterion])
        began = time.process_time()
        clusterer = fit(X, y, best.settings, options)
        seconds = time.process_time() - began
        clusters = clusterer.predict(X_test)
        by_document[method] = {
            name: np.array([metric(name).function([a], [b])
                            for a, b in zip(y_test, clusters, strict=True)])
            for name in LOSSES
        }  # fmt: skip
        loss = losses_of(clusterer, X_test, y_test)
        gap = clusterer.certificate_.relative_gap
        print(
            f"{method}: {best.settings}, MITRE loss {loss['mitre_loss']:.1f}, "
            f"pair loss {loss['pair_loss']:.2f}, {seconds:.1f} CPU s, "
            f"{len(clusterer.rounds_)} rounds, {clusterer.certificate_.stopped}, "
            f"gap {gap:.3f}",
            flush=True,
        )
    baseline = by_document["SVM-cluster"]
    for method in ("latent forest", "modified loss"):
        for name in LOSSES:
            d = by_document[method][name] - baseline[name]
            print(
                f"{method} − SVM-cluster, {name}: {d.mean():+.2f} (p {z_test(d):.2g})"
            )


def speed(options: argparse.Namespace) -> None:
    """Seconds for documents of 1,000 items."""
    X, y = toy_clusters(20)
    one, other = np.triu_indices(1000, 1)
    features = np.random.default_rng(0).normal(size=(len(one), 3))
    document = (1000, np.column_stack([one, other]), features)
    for decoder in ("forest", "correlation"):
        clusterer = SupervisedClusterer(decoder=decoder).fit(X, y)
        seconds, _ = best_seconds(clusterer.predict, [document])
        print(f"random features, all pairs, {decoder}: {seconds:.2f} CPU s", flush=True)
    if options.data:
        speed_of_text(Path(options.data) / "litbank_coref")


def speed_of_text(folder: Path) -> None:
    """Seconds from a file of columns to clusters."""
    text = joined_document(folder / "test.conll.gz", 1000)
    seconds, documents = best_seconds(lambda: read_coreference(io.BytesIO(text)))
    (document,) = documents
    n_mentions, n_words = len(document.mentions), len(document.words)
    print(f"{n_mentions:,} mentions, {n_words:,} words: reading {seconds:.2f} CPU s")
    X, y = read_documents(folder / "train.conll.gz", 8, 20)
    for decoder in ("forest", "correlation"):
        clusterer = SupervisedClusterer(decoder=decoder, C=0.1 * len(X), tol=0.01)
        clusterer.fit(X, y)
        for window in (20, n_mentions):
            in_features, x = best_seconds(mention_pairs, document, window)
            in_search, (clusters,) = best_seconds(clusterer.predict, [x])
            print(
                f"window {window:5}, {len(x[1]):7,} pairs, {decoder:11}: features "
                f"{in_features:.2f}, predict {in_search:.2f} CPU s, "
                f"{len(np.unique(clusters))} clusters",
                flush=True,
            )


def best_seconds(function: Any, *arguments: Any) -> tuple[float, Any]:
    """CPU seconds of the fastest of three calls, after one that is not counted."""
    result, seconds = function(*arguments), []
    for _ in range(3):
        began = time.process_time()
        result = function(*arguments)
        seconds.append(time.process_time() - began)
    return min(seconds), result


def joined_document(path: Path, n_mentions: int) -> bytes:
    """Columns of as many documents as it takes, as one, with the first mentions."""
    lines, n_left = ["#begin document (joined); part 0"], n_mentions
    for number, document in enumerate(read_coreference(str(path))):
        brackets: list[list[str]] = [[] for _ in document.words]
        spans = list(zip(document.mentions, document.entities, strict=True))[:n_left]
        n_left -= len(spans)
        for (first, last), entity in spans:
            name = f"{number}x{entity}"
            if first == last:
                brackets[first].append(f"({name})")
            else:
                brackets[first].append(f"({name}")
                brackets[last].append(f"{name})")
        before = 0
        for word, sentence, each in zip(
            document.words, document.sentence, brackets, strict=True
        ):
            if sentence != before:
                lines.append("")
                before = sentence
            lines.append(f"joined\t0\t0\t{word}\t{'|'.join(each) or '-'}")
        lines.append("")
        if not n_left:
            break
    return "\n".join([*lines, "#end document", ""]).encode()


def main() -> None:
    """Read options and run a study."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("study", choices=("table2", "speed"))
    parser.add_argument("--data", help="folder that holds litbank_coref")
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
    if options.study == "table2" and not options.data:
        parser.error("give --data, the folder that holds litbank_coref")
    {"table2": table2, "speed": speed}[options.study](options)


if __name__ == "__main__":
    main()
