"""Diverse selections: subtopic loss of what is learned and of what is not.

    python benchmarks/diversity.py [--data DIR] [--only odp|reuters] [--k 5 10]

DIR, by default PARTWISE_DATA, holds `subtopics_odp_tr30` and `reuters21578_modapte`.
The TREC queries of the paper (CACM 2009, Figure 4) are not among them.

odp:     30 topics, some 100 documents (title and snippet) each, one subtopic per
         document.
reuters: sets made of news stories with several topics. A seed topic has at least 30
         stories in the training file with one to five other topics; these, shuffled
         (seed 0), are cut into sets of 30, four at most. The other topics are the
         subtopics, so stories overlap. Sets without two different subtopics are left
         out.

Candidate sets are split by topic into five folds; C is chosen among 0.1, 1, 10 and
100 per set by a three-fold cross-validation within the training sets. Losses are
means over sets ± standard errors; p of Wilcoxon's signed ranks compares each selection
with 'SVM rich' set by set. 'best' is the least loss possible. Okapi gets the
description of the topic (odp) or its name (reuters) as the query; random is the mean
of 50 draws. Then greedy prediction is compared with branch and bound.
"""

import argparse
import gzip
import os
import time
import warnings
from pathlib import Path

import numpy as np
from scipy.stats import wilcoxon
from sklearn.model_selection import GridSearchCV, GroupKFold

from partwise import DiverseSelector
from partwise.features.covering import WordCovers
from partwise.outputs.diversity.metrics import subtopic_losses
from partwise.structures.coverage import Coverage, baselines

GRID = [0.1, 1.0, 10.0, 100.0]


def lines_of(path):
    opened = gzip.open if path.suffix == ".gz" else open
    with opened(path, "rt", encoding="utf-8") as lines:
        return [line.rstrip("\n").split("\t") for line in lines]


def odp(folder):
    """Candidate sets, subtopics, queries and groups."""
    folder = folder / "subtopics_odp_tr30"
    topic_of = {doc: sub for sub, doc in lines_of(folder / "STRel.txt")[1:]}
    titles = dict(lines_of(folder / "topics.txt")[1:])
    sets = {}
    for row in lines_of(folder / "results.txt.gz")[1:]:
        number, _, title, snippet = (row + [""] * 4)[:4]
        if number in topic_of:
            one = sets.setdefault(number.partition(".")[0], ([], []))
            one[0].append(f"{title}\n{snippet}")
            one[1].append([topic_of[number]])
    X, y = zip(*sets.values(), strict=True)
    return list(X), list(y), [titles[name] for name in sets], list(sets)


def reuters(folder):
    rows = lines_of(folder / "reuters21578_modapte" / "train.tsv.gz")
    stories = [
        (set(topics.split()), f"{title}\n{body}") for _, topics, title, body in rows
    ]
    rng = np.random.default_rng(0)
    X, y, queries = [], [], []
    for seed in sorted(set().union(*(topics for topics, _ in stories))):
        about = [(t, text) for t, text in stories if seed in t and 2 <= len(t) <= 6]
        if len(about) < 30:
            continue
        order = rng.permutation(len(about))
        for first in range(0, min(len(order) // 30, 4) * 30, 30):
            chosen = [about[k] for k in order[first : first + 30]]
            if len(set().union(*(t for t, _ in chosen))) > 2:
                X.append([text for _, text in chosen])
                y.append([sorted(t - {seed}) for t, _ in chosen])
                queries.append(seed)
    return X, y, queries, queries


def learned(features, X, y, groups, k):
    """Selections of sets whose topic was not in training, and the model of all."""
    selector = DiverseSelector(k=k, features=features, tol=1e-2, max_iter=300)
    sets = WordCovers(features).transform(X)
    chosen = [None] * len(X)
    seconds = 0.0
    for train, test in GroupKFold(5).split(X, groups=groups):
        n = len(train)
        inner = list(GroupKFold(3).split(train, groups=[groups[i] for i in train]))
        search = GridSearchCV(selector, {"C": [c * n for c in GRID]}, cv=inner)
        began = time.perf_counter()
        search.fit([sets[i] for i in train], [y[i] for i in train])
        seconds += time.perf_counter() - began
        for i, best in zip(test, search.predict([sets[i] for i in test]), strict=True):
            chosen[i] = best
    return chosen, search.best_estimator_, seconds


def study(name, options):
    X, y, queries, groups = (odp if name == "odp" else reuters)(options.data)
    sizes = [len(x) for x in X]
    n_topics = [len({t for row in topics for t in row}) for topics in y]
    print(
        f"{name}: {len(X)} sets of {min(sizes)} to {max(sizes)} documents, "
        f"{min(n_topics)} to {max(n_topics)} subtopics, {len(set(groups))} topics"
    )
    for k in options.k:
        draws = [
            subtopic_losses(y, baselines.select_at_random(X, k, s)) for s in range(50)
        ]
        losses = {
            "best": subtopic_losses(y, [Coverage(k).target(t) for t in y]),
            "random": np.mean(draws, axis=0),
            "Okapi": subtopic_losses(y, baselines.select_by_okapi(X, queries, k)),
        }
        for title, weights in (
            ("unweighted", "unweighted"), ("Essential Pages", "essential_pages"),
        ):  # fmt: skip
            chosen = baselines.select_by_words(X, k, weights)
            losses[title] = subtopic_losses(y, chosen)
        for features in ("frequency", "rich"):
            chosen, model, seconds = learned(features, X, y, groups, k)
            losses[f"SVM {features}"] = subtopic_losses(y, chosen)
            print(f"  SVM {features}: {seconds:.0f} s with the choice of C", flush=True)
        ours = losses["SVM rich"]
        print(f"  k = {k}")
        for title, values in losses.items():
            error = values.std(ddof=1) / len(values) ** 0.5
            p = ""
            if title not in ("best", "SVM rich"):
                p = f"   p {wilcoxon(values, ours, zero_method='zsplit').pvalue:.2g}"
            print(f"    {title:16s} {values.mean():.3f} ± {error:.3f}{p}")
        compare_with_exact(X, model, k)


def compare_with_exact(X, model, k):
    """Value of greedy predictions over the best, on sets of the first 20 documents."""
    shares, closed = [], 0
    for x in WordCovers("rich").transform([x[:20] for x in X]):
        worth = x.features @ model.coef_
        one, other = (
            Coverage(k, nodes).argmax(x, model.coef_) for nodes in (0, 20_000)
        )
        problem = Coverage(k, 20_000).pack([x], None)
        cuts = problem.predict_codes(problem.expand(model.coef_))
        closed += bool(cuts.bound[0] <= cuts.violation[0] + 1e-9)
        values = [worth[x.covers[c].any(axis=0)].sum() for c in (one, other)]
        shares.append(values[0] / values[1] if values[1] else 1.0)
    print(
        f"    greedy is worth {np.mean(shares):.4f} of branch and bound (at least "
        f"{np.min(shares):.4f}), which ended in {closed} of {len(X)} sets of 20",
        flush=True,
    )


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", default=os.environ.get("PARTWISE_DATA"))
    parser.add_argument("--only", nargs="*", default=["odp", "reuters"])
    parser.add_argument("--k", nargs="*", type=int, default=[5, 10])
    options = parser.parse_args()
    if options.data is None:
        parser.error("give --data DIR, or set PARTWISE_DATA")
    options.data = Path(options.data)
    warnings.simplefilter("ignore")
    for name in options.only:
        study(name, options)


if __name__ == "__main__":
    main()
