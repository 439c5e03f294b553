"""Label vectors: seconds to train for F1, ROC area and others on one large example.

    python benchmarks/measures.py --data DIR [--study chunks|sparse|growth] [--jobs 2]
        [--svm-perf PROGRAM] [--plot FILE.svg]

chunks: tokens of CoNLL-2000 with words and tags in a window, B-SBAR against the rest
        (211,727 rows, 2,207 positive), C = 20 in the notation of SVM-perf. With
        --svm-perf, the path of its svm_perf_learn, that program trains on the same
        rows at ``-e 0.1`` in the same run; else its seconds are those of a run before.
sparse: 100,000 rows, 50,000 sparse features, 1 % positive: F1.
growth: seconds against the number of rows, for F1, ROC area and error: of a fit, and
        of one search for the most violated output with the trained model, scoring the
        rows included (the least of five); --plot draws the searches, both axes
        logarithmic, with a line that grows as n log n.

SVM-perf adds a feature that is 1 in all rows and minimises ½‖v‖² + C·ξ with losses in
percent. For measures of labels it takes half our Ψ: ξ = 100 max(Δ − ½<v, δΨ>). With
v = 2w that is four times ½‖w‖² + 25C max(Δ − <w, δΨ>): our C is 25 times as large, our
values are a quarter. For ROC area it swaps a pair where 1 > <v, x_i − x_j>, as we do:
our C is 100 times as large, and values are the same. `chunks` prints the values of both
on the scale of SVM-perf. Both stop when no labelling is violated by more than ξ and 0.1
percent (``-e 0.1``, our ``eps=0.001``), which lets the gap be 2 on that scale: 0.1 % of
the objective for F1, 10 % for ROC area. For precision at k SVM-perf also looks at
labellings with more than k positives, so its value may be higher.

Seconds are processor time of the solver, in brackets those of the clock, after a first
fit on a few rows has compiled the kernels; `pack` is what laying the rows out for it
took before. SVM-perf prints its seconds without those of reading its file, and the
ratio is that of the two solvers; what it took in all is printed, too.
"""

import argparse
import os
import re
import resource
import subprocess
import tempfile
import time
from pathlib import Path

import numpy as np
from scipy import sparse

from partwise.certificate import certify
from partwise.features import PRESETS, Featurizer
from partwise.objective import Objective
from partwise.readers import read_columns
from partwise.solvers import make_solver, suitable_solver
from partwise.structures.label_vector import LabelVector

# seconds of SVM-perf at -e 0.1, one core, without reading the file
PEER = {"f1": 37.0, "precision_at_k": 31.4, "prbep": 8.1, "roc_auc": 5.8}


# -l of SVM-perf, and further options
LOSSES = {
    "f1": ["-l", "1"], "prbep": ["-l", "3"], "roc_auc": ["-l", "10"],
    "precision_at_k": ["-l", "4", "--p", "1"],
}  # fmt: skip


def run_svm_perf(program, measure, path):
    """Seconds of processor time as SVM-perf prints them: without reading the file."""
    # -w 3: its default trains error rates alone
    options = ["-w", "3", "-c", "20", "-e", "0.1", *LOSSES[measure]]
    before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
    run = subprocess.run(
        [program, *options, path, os.devnull], capture_output=True, text=True,
        check=False,
    )  # fmt: skip
    if run.returncode:
        raise SystemExit(f"{program}: {run.stdout[-300:]}{run.stderr[-300:]}")
    total = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - before
    seconds = float(re.search(r"Runtime in cpu-seconds: ([\d.]+)", run.stdout)[1])
    values = re.findall(r"[pd]val=\S+", run.stdout)
    print(
        f"  SVM-perf {measure}: {seconds:.2f} s, {total:.2f} s with reading; "
        f"{' '.join(values)}",
        flush=True,
    )
    return seconds


def write_svmlight(path, x, y):
    """Rows in the format of SVM-perf, without the feature that is 1, which it adds."""
    x = x[:, :-1].tocsr()
    x.sort_indices()
    with path.open("w", encoding="ascii") as file:
        for i, label in enumerate(y.tolist()):
            here = slice(x.indptr[i], x.indptr[i + 1])
            cells = zip(x.indices[here] + 1, x.data[here], strict=True)
            file.write(f"{label} " + " ".join(f"{k}:{v:g}" for k, v in cells) + "\n")


def jaccard(tp, fp, fn, tn):
    """A measure of the user's own, searched through boxes of tables."""
    return tp / (tp + fp + fn)


def fit(measure, x, y, C, n_jobs, tol, eps=None):
    """Seconds to pack, to solve, by the clock, to search; state and certificate."""
    measure = jaccard if measure == "jaccard" else measure
    began = time.process_time()
    problem = LabelVector(measure).pack(x, y, n_jobs=n_jobs)
    packing = time.process_time() - began
    objective = Objective.create(C, 1, "l1")
    solver = make_solver(suitable_solver(problem, objective), {"tol": tol, "eps": eps})
    began = time.process_time(), time.perf_counter()
    state = solver.solve(problem, objective)
    solving, clock = time.process_time() - began[0], time.perf_counter() - began[1]
    certificate = certify(problem, objective, state.model, dual=state.dual)
    searches = []
    for _ in range(5):
        began = time.process_time()
        problem.oracle(state.model)
        searches.append(time.process_time() - began)
    return (packing, solving, clock, min(searches)), state, certificate


def row(name, result, peer=None, unit=1.0):
    (packing, seconds, clock, search), state, certificate = result
    ratio = f"{peer / seconds:6.1f} x" if peer else ""
    print(
        f"{name:16s} pack {packing:4.2f} s  {seconds:6.2f} s ({clock:5.2f} s) "
        f"{ratio:9s} {state.n_iter:4d} passes  search {1000 * search:6.1f} ms"
        f"  primal {unit * certificate.primal:10.4f}"
        f"  dual {unit * certificate.dual:10.4f}  gap {certificate.relative_gap:.1e}",
        flush=True,
    )


def warm_up(measures):
    rng = np.random.default_rng(0)
    x = sparse.random_array((40000, 50), density=0.02, rng=rng, format="csr")
    y = np.where(rng.random(40000) < 0.1, 1, -1)
    for measure in measures:
        for n in (4000, 40000):  # threads share the rows of large blocks only
            fit(measure, x[:n], y[:n], 1.0, 2, 0.5)


def study_chunks(options):
    X, tags = read_columns(Path(options.data) / "conll2000_chunking" / "train.txt.gz")
    features = Featurizer(PRESETS["window"]).fit_transform(X)
    n_rows = len(features.indptr) - 1
    data = np.ones(len(features.indices))
    x = sparse.csr_array(
        (data, features.indices, features.indptr), (n_rows, features.n_features)
    )
    x = sparse.hstack([x, np.ones((n_rows, 1))], format="csr")
    y = np.array([1 if tag == "B-SBAR" else -1 for row in tags for tag in row])
    print(f"{x.shape[0]:,} rows, {x.shape[1]:,} features, {np.sum(y == 1):,} positive")
    measures = options.measure or [*PEER, "error", "jaccard"]
    warm_up(measures)
    peer = dict(PEER)
    if options.svm_perf:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "rows.dat"
            write_svmlight(path, x, y)
            for measure in set(measures) & set(LOSSES):
                peer[measure] = run_svm_perf(options.svm_perf, measure, path)
    for measure in measures:
        factor, unit = (100, 1.0) if measure == "roc_auc" else (25, 4.0)
        result = fit(
            measure, x, y, factor * 20.0, options.jobs, options.tol, options.eps
        )
        row(measure, result, peer.get(measure), unit)


def sparse_rows(n, seed=0):
    """Rows of about 40 features out of 50,000, 1 % of them positive."""
    rng = np.random.default_rng(seed)
    n_features = 50_000
    # frequent and rare features, as of words
    share = 1.0 / np.arange(10, n_features + 10)
    columns = rng.choice(n_features, size=(n, 40), p=share / share.sum())
    indptr = np.arange(0, 40 * n + 1, 40)
    data = np.ones(40 * n)
    x = sparse.csr_array((data, columns.ravel(), indptr), (n, n_features))
    x.sum_duplicates()
    x = x.multiply(1 / np.sqrt(x.multiply(x).sum(axis=1))[:, None]).tocsr()
    score = x @ rng.normal(size=n_features) + 0.3 * rng.normal(size=n)
    y = np.where(score >= np.quantile(score, 0.99), 1, -1)
    return x, y


def study_sparse(options):
    x, y = sparse_rows(100_000)
    warm_up(["f1"])
    for C in (1e4, 1e5, 1e6):
        row(f"f1, C = {C:g}", fit("f1", x, y, C, options.jobs, options.tol))


def study_growth(options):
    measures = options.measure or ["f1", "roc_auc", "error"]
    warm_up(measures)
    seconds = {measure: [] for measure in measures}
    for n in options.rows:
        x, y = sparse_rows(n)
        for measure in measures:
            result = fit(measure, x, y, 1e5, options.jobs, options.tol)
            row(f"{measure} {n:,}", result)
            seconds[measure].append((n, result[0][3]))
    if options.plot:
        Path(options.plot).write_text(drawn(seconds), encoding="utf-8")


def drawn(seconds):
    """SVG of processor time of a search against rows, both axes logarithmic."""
    wide, high, left, below = 420.0, 300.0, 60.0, 40.0
    points = [point for line in seconds.values() for point in line]
    n, t = np.log10(np.array(points)).T
    first = seconds[next(iter(seconds))][0]
    ends = [(m, first[1] * m * np.log(m) / (first[0] * np.log(first[0])))
            for m in (first[0], max(p[0] for p in points))]  # fmt: skip
    low, top = np.floor(t.min()), np.ceil(max(t.max(), np.log10(ends[1][1])))

    def place(point):
        across = (np.log10(point[0]) - n.min()) / max(np.ptp(n), 1e-9)
        up = (np.log10(point[1]) - low) / (top - low)
        return f"{left + across * wide:.1f},{10 + (1 - up) * high:.1f}"

    def text(x, y, shown, anchor):
        return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">{shown}</text>'

    parts = []
    for power in range(int(low), int(top) + 1):
        y = 10 + (1 - (power - low) / (top - low)) * high
        parts.append(f'<path d="M{left},{y:.1f}h{wide}" stroke="#ccc"/>')
        parts.append(text(left - 6, y + 4, f"{10.0**power:g} s", "end"))
    for m in sorted({p[0] for p in points}):
        x = float(place((m, 10.0**low)).split(",")[0])
        parts.append(text(x, high + 28, f"{m:,}", "middle"))
    lines = [*seconds.items(), ("n log n", ends)]
    colours = ("#0b5ea8", "#b8430a", "#2a7a2a", "#8a8f98")
    last = -np.inf  # height of the last name: names must not overlap
    each = zip(lines, colours, strict=False)
    for (name, line), colour in sorted(each, key=lambda one: -one[0][1][-1][1]):
        path = " ".join(map(place, line))
        dashed = ' stroke-dasharray="4"' if name == "n log n" else ""
        parts.append(
            f'<polyline points="{path}" fill="none" stroke="{colour}"{dashed}/>'
        )
        x, y = map(float, place(line[-1]).split(","))
        last = max(y + 4, last + 13)
        parts.append(text(x + 6, last, name, "start"))
    size = f'width="{left + wide + 90:.0f}" height="{high + below + 10:.0f}"'
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" {size} font-family="sans-serif" '
        f'font-size="12">{"".join(parts)}</svg>\n'
    )


STUDIES = {"chunks": study_chunks, "sparse": study_sparse, "growth": study_growth}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", default=os.environ.get("PARTWISE_DATA"))
    parser.add_argument("--study", choices=STUDIES, default="chunks")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--tol", type=float, default=1e-3)
    parser.add_argument("--eps", type=float, default=1e-3, help="for chunks")
    parser.add_argument("--measure", action="append", help="only these")
    parser.add_argument("--svm-perf", help="program svm_perf_learn, for chunks")
    sizes = [10_000, 30_000, 100_000, 300_000]
    parser.add_argument("--rows", type=int, nargs="*", default=sizes, help="growth")
    parser.add_argument("--plot", help="SVG file, for growth")
    options = parser.parse_args()
    STUDIES[options.study](options)


if __name__ == "__main__":
    main()
