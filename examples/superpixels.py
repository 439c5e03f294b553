# /// script
# dependencies = ["partwise", "scikit-image"]
# ///
"""Label the superpixels of pictures: SLIC regions as nodes, shared borders as edges.

Needs scikit-image (``pip install scikit-image``); without it the regions are square
blocks, and the rest is the same. Run it: ``python examples/superpixels.py``.

Pictures have sky above, ground below and a house on the ground, under heavy noise and
changing light. A region's features are the mean and spread of its colours and its
height in the picture; a border has its contrast, and whether it lies level.
"""

import numpy as np

from partwise import GraphLabeler

try:
    from skimage.segmentation import slic
except ImportError:
    slic = None

NAMES = np.array(["sky", "ground", "house"])
COLOURS = np.array([[0.45, 0.55, 0.75], [0.45, 0.55, 0.4], [0.6, 0.5, 0.45]])
SIDE = 64


def make_picture(rng):
    """Colours (SIDE, SIDE, 3) and the label of each pixel."""
    labels = np.zeros((SIDE, SIDE), np.int64)
    horizon = int(rng.integers(28, 44))
    labels[horizon:] = 1
    left, width = int(rng.integers(4, 34)), int(rng.integers(14, 26))
    labels[horizon - int(rng.integers(10, 24)) : horizon + 6, left : left + width] = 2
    light = rng.normal(scale=0.08, size=3)
    noise = rng.normal(scale=0.22, size=(SIDE, SIDE, 3))
    return np.clip(COLOURS[labels] + light + noise, 0, 1), labels


def superpixels(picture):
    """The number of each pixel's region, from 0 on."""
    if slic is None:
        rows, columns = np.indices((SIDE, SIDE)) // 6
        regions = rows * (SIDE // 6 + 1) + columns
    else:
        regions = slic(picture, n_segments=120, compactness=20, sigma=1, start_label=0)
    return np.unique(regions, return_inverse=True)[1].reshape(SIDE, SIDE)


def make_graph(picture, regions):
    """(node features, edges, edge features) of the regions of a picture."""
    n = regions.max() + 1
    size = np.bincount(regions.ravel(), minlength=n)[:, None]

    def mean(values):
        columns = [np.bincount(regions.ravel(), v, n) for v in values.reshape(-1, 3).T]
        return np.stack(columns, axis=1) / size

    colour = mean(picture)
    spread = np.sqrt(np.maximum(mean(picture**2) - colour**2, 0))
    height = np.bincount(regions.ravel(), np.indices((SIDE, SIDE))[0].ravel(), n)
    nodes = np.hstack([colour, spread, height[:, None] / size / SIDE, np.ones((n, 1))])
    # neighbours in the picture, level borders (one above the other) and upright ones
    pairs = np.concatenate(
        [
            np.stack([regions[:-1].ravel(), regions[1:].ravel()], axis=1),
            np.stack([regions[:, :-1].ravel(), regions[:, 1:].ravel()], axis=1),
        ]
    )
    is_level = np.arange(len(pairs)) < SIDE * (SIDE - 1)
    differ = pairs[:, 0] != pairs[:, 1]
    edges, number = np.unique(np.sort(pairs[differ]), axis=0, return_inverse=True)
    level = np.bincount(number.ravel(), is_level[differ]) / np.bincount(number.ravel())
    contrast = np.abs(colour[edges[:, 0]] - colour[edges[:, 1]]).sum(axis=1)
    described = np.stack([np.ones(len(edges)), np.exp(-5 * contrast), level], axis=1)
    return nodes, edges, described


def main():
    """Train on 40 pictures, and label 20 others with and without borders."""
    rng = np.random.default_rng(0)
    X, y, regions, truths = [], [], [], []
    for _ in range(60):
        picture, labels = make_picture(rng)
        here = superpixels(picture)
        counts = np.zeros((here.max() + 1, len(NAMES)))
        np.add.at(counts, (here.ravel(), labels.ravel()), 1)
        X.append(make_graph(picture, here))
        y.append(NAMES[counts.argmax(axis=1)].tolist())  # the most frequent of pixels
        regions.append(here)
        truths.append(NAMES[labels])
    print("regions:", "square blocks" if slic is None else "SLIC of scikit-image")
    print(f"{np.mean([len(row) for row in y]):.0f} regions of a picture on average")
    alone = [(nodes, []) for nodes, _, _ in X]
    for name, graphs in (("without borders", alone), ("with borders", X)):
        labeler = GraphLabeler(C=400, tol=0.01).fit(graphs[:40], y[:40])
        predicted = labeler.predict(graphs[40:])
        pixels = [
            np.mean(np.array(labels)[here] == truth)
            for labels, here, truth in zip(
                predicted, regions[40:], truths[40:], strict=True
            )
        ]
        shares = labeler.bounds(graphs[40:])
        proven = (shares[:, 0] == shares[:, 1]).mean()
        print(
            f"{name:16} regions {labeler.score(graphs[40:], y[40:]):.3f}  pixels "
            f"{np.mean(pixels):.3f}  proven best {proven:.0%}"
        )


if __name__ == "__main__":
    main()
