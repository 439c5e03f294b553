"""Rows of classes in a tree."""

from __future__ import annotations

import numpy as np

NAMES = (
    "animal/bird/duck", "animal/bird/owl", "animal/fish", "plant/moss",
    "plant/tree/elm", "plant/tree/oak",
)  # fmt: skip


def toy_taxonomy(
    n: int = 120, random_state: int = 0, *, multiple: bool = False
) -> tuple[np.ndarray, np.ndarray]:
    """
    Draw points around classes whose relatives are their neighbours.

    Parameters
    ----------
    n : int
    random_state : int
    multiple : bool
        Whether each row has one or two classes; a row of two is the sum of both.

    Returns
    -------
    X : array (n, 8)
    y : array (n,)
        Paths such as ``"animal/bird/owl"``; lists of them with `multiple`.

    Examples
    --------
    >>> X, y = toy_taxonomy(6)
    >>> X.shape, y[:2].tolist()
    ((6, 8), ['animal/bird/duck', 'animal/bird/owl'])
    """
    places: dict[str, np.ndarray] = {}
    draw = np.random.default_rng(7)  # the world is the same for every seed
    for name in NAMES:
        steps = name.split("/")
        for k in range(1, len(steps) + 1):
            places.setdefault("/".join(steps[:k]), 3.0 / k * draw.normal(size=8))
    centres = np.array(
        [
            sum(
                place
                for node, place in places.items()
                if f"{name}/".startswith(f"{node}/")
            )
            for name in NAMES
        ]
    )
    rng = np.random.default_rng(random_state)
    first = np.arange(n) % len(NAMES)
    X = centres[first] + 1.5 * rng.normal(size=(n, 8))
    names = np.array(NAMES)
    if not multiple:
        return X, names[first]
    second = rng.integers(len(NAMES), size=n)
    has_two = (second != first) & (rng.uniform(size=n) < 0.5)
    X += np.where(has_two[:, None], centres[second], 0.0)
    y = np.empty(n, object)
    for i in range(n):
        y[i] = sorted({names[first[i]], names[second[i] if has_two[i] else first[i]]})
    return X, y
