"""Rounds of completion against C: Figure 3 of Yu and Joachims (ICML 2009).

    python benchmarks/latent_rounds.py --data DIR [--plot FILE.svg]
        [--tasks motifs coreference ranking] [--folds 3] [--C 0.01 …]

motifs: promoters of *E. coli* (`dna_promoters`), windows of 11 letters, one run from
        the best of 100 seeds.
coreference: the first 16 training documents of LitBank (`litbank_coref`), candidates
        up to 10 mentions apart, beginning with chronological chains.
ranking: precision at 5 on MQ2008 (`letor_mq2008`), beginning with weights that classify
        rows; folds are the official ones.

C is times the examples of a fold, so that the objective is C times a mean slack and
½‖w‖². Rounds end by the rule of the authors' program, a decrease of less than C·ε,
with the paper's ε: 0.001, and 0.05 for coreference. Each line of output is a mean over
folds: rounds; the objective, as a share of what w = 0 costs; what rounds took off it
after the first value that the log has, as such a share, too; CPU seconds of a fit.
"""

import argparse
import time
import warnings
from pathlib import Path

import numpy as np

from clustering import read_documents
from latent_ranking import joined, read_part
from partwise import MotifClassifier, Ranker, SupervisedClusterer
from partwise.readers.sequences import read_sequences
from partwise.report import svg
from partwise.solvers.bundle import ProximalBundle
from partwise.solvers.cccp import CCCP

NO_C = 1e-7  # with so little C the objective is that of w = 0
COLOURS = {"motifs": "#0b5ea8", "coreference": "#b8430a", "ranking": "#2a7a2a"}


def motifs(options):
    """For each fold, the number of its examples and a fit for a value of C."""
    data = read_sequences(options.data / "dna_promoters" / "promoters.tsv")
    order = np.random.default_rng(0).permutation(len(data.X))
    for k in range(options.folds):
        rows = order[np.arange(len(order)) % options.folds != k].tolist()
        X, y = [data.X[i] for i in rows], np.array([data.y[i] == "+" for i in rows])

        def fit(C, X=X, y=y):
            return MotifClassifier(
                C=C, length=11, order=0, restarts=1, eps=0.001, eps_times_C=True
            ).fit(X, y.astype(int))

        yield len(X), fit


def coreference(options):
    folder = options.data / "litbank_coref"
    X, y = read_documents(folder / "train.conll.gz", 16, 10)
    for k in range(options.folds):
        rows = [i for i in range(len(X)) if i % options.folds != k]
        some, truths = [X[i] for i in rows], [y[i] for i in rows]

        def fit(C, X=some, y=truths):
            return SupervisedClusterer(C=C, eps=0.05, eps_times_C=True).fit(X, y)

        yield len(rows), fit


def ranking(options):
    folder = options.data / "letor_mq2008"
    parts = [read_part(path) for path in sorted(folder.glob("S*.txt*"))]
    for k in range(options.folds):
        X, y, groups = joined([parts[(k + i) % len(parts)] for i in range(3)])

        def fit(C, X=X, y=y, groups=groups):
            solver = CCCP(ProximalBundle(), eps=0.001, eps_times_C=True)
            return Ranker(
                C=C, measure="precision_at_k", k=5, latent=True, solver=solver
            ).fit(X, y, groups=groups)

        yield len(np.unique(groups)), fit


def measure(fit, C):
    """Rounds, objective over C, what later rounds took off it, CPU seconds."""
    began = time.process_time()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of tiny C
        estimator = fit(C)
    seconds = time.process_time() - began
    values = [point.primal for point in estimator.history_ if point.primal < np.inf]
    last = estimator.certificate_.primal
    return estimator.n_iter_, last / C, (values[0] - last) / C, seconds


def study(task, options):
    """By C: means over folds."""
    folds = list(TASKS[task](options))
    measure(folds[0][1], folds[0][0] * 0.01)  # compile
    at_zero = [measure(fit, NO_C * n)[1] for n, fit in folds]
    rows = {}
    for C in options.C:
        table = np.array([measure(fit, C * n) for n, fit in folds])
        table[:, 1:3] /= np.array(at_zero)[:, None]
        rows[C] = table.mean(axis=0)
        rounds, objective, later, seconds = rows[C]
        most = table[:, 0].max()
        print(
            f"{task:11} C/n {C:8g}: rounds {rounds:5.1f} (most {most:.0f}), objective "
            f"{objective:.4f}, by later rounds −{later:.4f}, CPU {seconds:.1f} s",
            flush=True,
        )
    return rows


# ------------------------------------------------------------------------- drawing

WIDE, HIGH, LEFT, TOP, BELOW, ROOM = 300.0, 220.0, 46.0, 30.0, 44.0, 30.0


def draw(by_task):
    """Two panels over C/n, on a logarithmic axis: rounds, and the objective."""
    values = sorted({C for rows in by_task.values() for C in rows})
    most = max(row[0] for rows in by_task.values() for row in rows.values())
    panels = (("rounds", 0, most), ("objective, 1 at w = 0", 1, 1.0))
    marks = []
    for panel, (title, column, top) in enumerate(panels):
        left = LEFT + panel * (WIDE + LEFT + ROOM)
        marks += axes(left, title, top, values)
        for task, rows in by_task.items():
            points = [place(left, C, row[column], top, values)
                      for C, row in rows.items()]  # fmt: skip
            shape = {"d": svg.path(points), "fill": "none", "stroke-width": 2}
            marks.append(svg.element("path", shape | {"stroke": COLOURS[task]}))
            dot = {"r": 3.0, "fill": COLOURS[task]}
            marks += [svg.element("circle", {"cx": x, "cy": y, **dot})
                      for x, y in points]  # fmt: skip
    for k, task in enumerate(by_task):
        x = LEFT + 110.0 * k
        style = {"text-anchor": "start", "fill": COLOURS[task]}
        marks.append(svg.styled_text(x, TOP + HIGH + BELOW + 10, task, 12, style))
    width, height = 2 * (LEFT + WIDE + ROOM), TOP + HIGH + BELOW + 20
    label = "rounds of completion and objective against C for three tasks"
    return str(svg.drawing(width, height, label, marks, standalone=True)) + "\n"


def place(left, C, value, top, values):
    low, high = np.log10(values[0]), np.log10(values[-1])
    across = (np.log10(C) - low) / max(high - low, 1e-9)
    return float(left + across * WIDE), float(TOP + HIGH * (1 - value / top))


def axes(left, title, top, values):
    """Grid lines with their numbers, and the title of a panel."""
    start = {"text-anchor": "start"}
    marks = [svg.styled_text(left, TOP - 12, title, 13, start)]
    for value in svg.linear_ticks(0.0, top):
        _, y = place(left, values[0], value, top, values)
        line = {"d": f"M{left:.1f} {y:.1f}h{WIDE:.1f}", "stroke": "#ccc"}
        marks.append(svg.element("path", line))
        end = {"text-anchor": "end"}
        marks.append(svg.styled_text(left - 6, y + 4, f"{value:g}", 12, end))
    for C in values:
        x, _ = place(left, C, 0.0, top, values)
        marks.append(svg.styled_text(x, TOP + HIGH + 18, f"{C:g}", 12))
    return [*marks, svg.styled_text(left + WIDE, TOP + HIGH + 34, "C / n", 12)]


TASKS = {"motifs": motifs, "coreference": coreference, "ranking": ranking}


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--tasks", nargs="+", choices=TASKS, default=list(TASKS))
    parser.add_argument("--folds", type=int, default=3)
    grid = [10.0**k for k in range(-2, 4)]
    parser.add_argument("--C", type=float, nargs="+", default=grid)
    parser.add_argument("--plot", help="SVG file")
    options = parser.parse_args()
    by_task = {task: study(task, options) for task in options.tasks}
    if options.plot:
        Path(options.plot).write_text(draw(by_task), encoding="utf-8")


if __name__ == "__main__":
    main()
