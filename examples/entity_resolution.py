"""Entity resolution: which records of a table mean the same person.

Each example is a list of records; the truth numbers the persons. A function of two
records gives the features of a pair; `SupervisedClusterer` learns how to weigh them,
by a forest of strong links, or by all pairs within a cluster. Run it:
``python examples/entity_resolution.py``.
"""

from difflib import SequenceMatcher

import numpy as np

from partwise import SupervisedClusterer
from partwise.metrics import metric

FIRST = ["John", "Mary", "Ann", "Peter", "Karen", "Igor", "Lise", "Omar"]
LAST = ["Smith", "Meyer", "Brown", "Novak", "Curie", "Silva", "Okafor", "Bohr"]
CITIES = ["Lyon", "Bern", "Oslo", "Graz"]


# [features]
def alike(a, b):
    """Similarity of names, whether initials and cities agree, years apart."""
    (name_a, city_a, year_a), (name_b, city_b, year_b) = a, b
    similarity = SequenceMatcher(None, name_a.lower(), name_b.lower()).ratio()
    last_a, last_b = name_a.split()[-1], name_b.split()[-1]
    return [
        similarity,
        SequenceMatcher(None, last_a, last_b).ratio(),
        float(name_a[0] == name_b[0]),
        float(city_a == city_b),
        min(abs(year_a - year_b), 10) / 10,
    ]


# [end]


def person(rng):
    """Name, city, year of birth."""
    name = f"{rng.choice(FIRST)} {rng.choice(LAST)}"
    return name, str(rng.choice(CITIES)), int(rng.integers(1930, 2000))


def misspelt(record, rng):
    """The record as somebody else may write it."""
    name, city, year = record
    first, last = name.split()
    if rng.random() < 0.4:
        first = first[0] + "."
    if rng.random() < 0.4:
        k = int(rng.integers(1, len(last)))
        last = last[:k] + last[k + 1 :]
    if rng.random() < 0.2:
        city = str(rng.choice(CITIES))
    return f"{first} {last}", city, year + int(rng.integers(-1, 2))


def tables(n, seed=0):
    """Lists of records, and the person of each."""
    rng = np.random.default_rng(seed)
    X, y = [], []
    for _ in range(n):
        labels = np.repeat(np.arange(6), rng.integers(1, 4, size=6))
        persons = [person(rng) for _ in range(6)]
        X.append([misspelt(persons[k], rng) for k in labels])
        y.append(labels)
    return X, y


def main() -> None:
    """Learn from 30 tables, and try 30 others."""
    X, y = tables(60)
    for decoder in ("forest", "correlation"):
        clusterer = SupervisedClusterer(
            C=300.0, decoder=decoder, pair_features=alike, tol=0.01
        ).fit(X[:30], y[:30])
        predicted = clusterer.predict(X[30:])
        wrong = metric("pair_loss").function(y[30:], predicted)
        b_cubed = metric("b_cubed_f1").function(y[30:], predicted)
        print(f"{decoder}: {wrong:.2f} % wrong pairs, B³ F1 {b_cubed:.3f}")
        print("  weights", np.round(clusterer.coef_, 2), "threshold",
              round(clusterer.intercept_, 2))  # fmt: skip


if __name__ == "__main__":
    main()
