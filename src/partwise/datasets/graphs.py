"""Small graphs with labels that neighbours share."""

from __future__ import annotations

import numpy as np

LABELS = ("ground", "house", "tree")


def toy_graphs(
    n: int = 40, random_state: int = 0, *, side: int = 4
) -> tuple[list[tuple[np.ndarray, np.ndarray, np.ndarray]], list[list[str]]]:
    """
    Draw grids in which neighbours mostly have the same label.

    Houses stand on the ground: what is above a house is rarely ground, so the
    direction of an edge is informative. Features of a node are noisy votes for its
    label.

    Parameters
    ----------
    n : int
        Graphs.
    random_state : int
    side : int
        Rows and columns of the grids, and one more of some.

    Returns
    -------
    X : list of (node features, edges, edge features)
        Edge features distinguish horizontal from vertical edges.
    y : list of lists of str

    Examples
    --------
    >>> X, y = toy_graphs(2)
    >>> X[0][0].shape, X[0][1].shape, len(y[0])
    ((25, 4), (40, 2), 25)
    """
    rng = np.random.default_rng(random_state)
    X, y = [], []
    for _ in range(n):
        height, width = side + int(rng.integers(2)), side + int(rng.integers(2))
        label = np.zeros((height, width), np.int64)
        for column in range(width):
            kind = int(rng.integers(3))
            label[: rng.integers(1, height), column] = kind
        votes = np.eye(3)[label] + rng.normal(scale=0.7, size=(height, width, 3))
        features = np.append(votes.reshape(-1, 3), np.ones((label.size, 1)), axis=1)
        number = np.arange(label.size).reshape(label.shape)
        across = np.stack([number[:, :-1].ravel(), number[:, 1:].ravel()], axis=1)
        down = np.stack([number[:-1].ravel(), number[1:].ravel()], axis=1)
        kinds = np.repeat(np.eye(2), [len(across), len(down)], axis=0)
        X.append((features.round(3), np.concatenate([across, down]), kinds))
        y.append([LABELS[k] for k in label.ravel().tolist()])
    return X, y
