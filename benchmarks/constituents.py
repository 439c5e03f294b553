"""Table 5 of the founding paper on a sample of the Penn Treebank, and parsing speed.

    python benchmarks/constituents.py --data DIR [--longest 10 40] [--rows NAME …]
        [--choose [--grid F …]] [--max-seconds S] [--output FILE]

DIR holds `ptb_sample/train.mrg.gz` and `test.mrg.gz`. Sentences start from their tags.
Rules are read off all training trees; learning uses the sentences of at most so many
words. "PCFG, same" has nothing but these, as all rows of the paper. The rows of the
paper (PCFG; SVM2 with 0/1 loss; SVM2 with 1 − F1, slack and margin rescaled) have rule
weights alone and run n-slack at ε = 0.01. Rows beyond the paper add features of spans.
``--choose`` tries several C: it trains on the first four fifths of the training trees
and parses the rest; it never reads the test trees. ``--max-seconds`` ends each training
after so many seconds by the clock.

F1 is micro-averaged over labelled brackets, punctuation included; `evalb` leaves it
out, as COLLINS.prm does. McNemar's test compares brackets with those of the PCFG. The
share of the QP is what remains of the time when that of the oracle is taken off: the
number of its calls times what one takes at the final model.
"""

import argparse
import json
import os
import time
import warnings
from pathlib import Path
from typing import NamedTuple

import numpy as np

from partwise.metrics.bracketing import EVERYTHING
from partwise.metrics.brackets import evalb
from partwise.metrics.significance import bracket_decisions, mcnemar
from partwise.objective import Formulation, Objective
from partwise.readers import read_brackets
from partwise.solvers.bcfw import BCFW
from partwise.solvers.n_slack import NSlack
from partwise.structures.phrase import Grammar


class Row(NamedTuple):
    """A line of the table: a model and how it is trained."""

    features: str
    cost: str
    rescaling: str
    penalty: str
    share: float  # C / n; 0 for relative frequencies
    is_working_set: bool = False  # n-slack, else Frank-Wolfe
    own_rules: bool = False  # read off the sentences that are learnt from alone


ROWS = {
    "PCFG": Row("rules", "f1", "margin", "l1", 0.0),
    "PCFG, same": Row("rules", "f1", "margin", "l1", 0.0, own_rules=True),
    "SVM2": Row("rules", "zero_one", "margin", "l2", 0.03, True),
    "SVM2 slack": Row("rules", "f1", "slack", "l2", 10.0, True),
    "SVM2 margin": Row("rules", "f1", "margin", "l2", 1.0, True),
    "brackets, rules": Row("rules", "brackets", "margin", "l1", 1.0),
    "brackets, spans": Row("spans", "brackets", "margin", "l1", 0.02),
    "F1, spans": Row("spans", "f1", "margin", "l1", 0.5),
}
GRID = (0.1, 0.3, 1.0, 3.0, 10.0)  # times the C of the row


def learn(problem, row, seconds):
    """Weights, number of constraints, seconds and share of the QP."""
    n = problem.n_blocks
    objective = Objective.create(row.share * n, n, row.penalty)
    began = time.process_time()
    if row.is_working_set:
        solver = NSlack(eps=0.01, time_limit=seconds)
    else:
        solver = BCFW(tol=0.05, time_limit=seconds)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        state = solver.solve(problem, objective)
    spent = time.process_time() - began
    began = time.process_time()
    problem.oracle(state.model)
    each = (time.process_time() - began) / n
    planes = len(solver.support(state).alpha)
    qp = max(0.0, 1 - each * state.oracle_calls / spent)
    return state, planes, spent, qp


def run(options):
    """One dict per length and row."""
    folder = Path(options.data) / "ptb_sample"
    X, y = read_brackets(folder / "train.mrg.gz")
    X_test, y_test = read_brackets(folder / "test.mrg.gz")
    lines = []
    for longest in options.longest:
        train = [i for i, x in enumerate(X) if len(x) <= longest]
        test = [i for i, x in enumerate(X_test) if len(x) <= longest]
        truth = [y_test[i] for i in test]
        baseline = None
        for name in options.rows:
            row = ROWS[name]
            trees = [y[i] for i in train] if row.own_rules else y
            grammar = Grammar(features=row.features, cost=row.cost).setup(None, trees)
            problem = grammar.pack(
                [X[i] for i in train],
                [y[i] for i in train],
                Formulation(row.rescaling, row.penalty),
            )
            line = {"longest": longest, "row": name, "train": len(train)}
            if row.share:
                state, planes, spent, qp = learn(problem, row, options.max_seconds)
                weights = state.model
                line |= {"constraints": planes, "cpu": spent, "qp": qp}
                line |= {"stopped": state.stopped, "exact": problem.exact_oracle}
            else:
                weights = problem.generative_model(0.0)
            parts = {"train": (train, X, y), "test": (test, X_test, y_test)}
            for part, (rows, words, trees) in parts.items():
                packed = grammar.pack([words[i] for i in rows], None)
                packed.predict_codes(weights, np.arange(1))  # compile
                began = time.thread_time()
                cuts = packed.predict_codes(weights)
                line[f"{part} speed"] = len(rows) / (time.thread_time() - began)
                found = packed.outputs(cuts)
                scores = evalb([trees[i] for i in rows], found, parameters=EVERYTHING)
                line[f"{part} f1"] = 100 * scores.f1
                line[f"{part} accuracy"] = 100 * scores.exact_match
            line["test"] = len(test)
            line["evalb"] = 100 * evalb(truth, found).f1
            if baseline is None:
                baseline = found
            else:
                decisions = bracket_decisions(
                    truth, baseline, found, parameters=EVERYTHING
                )
                line["p"] = mcnemar(*decisions).p_value
            lines.append(line)
            print(show(line), flush=True)
    return lines


def choose(options):
    """F1 on the last fifth of the training trees for several C."""
    X, y = read_brackets(Path(options.data) / "ptb_sample" / "train.mrg.gz")
    cut = len(X) * 4 // 5
    for longest in options.longest:
        train = [i for i in range(cut) if len(X[i]) <= longest]
        rest = [i for i in range(cut, len(X)) if len(X[i]) <= longest]
        for name in options.rows:
            row = ROWS[name]
            if not row.share:
                continue
            grammar = Grammar(features=row.features, cost=row.cost)
            grammar.setup(None, y[:cut])
            problem = grammar.pack(
                [X[i] for i in train],
                [y[i] for i in train],
                Formulation(row.rescaling, row.penalty),
            )
            packed = grammar.pack([X[i] for i in rest], None)
            for factor in options.grid:
                tried = row._replace(share=row.share * factor)
                state, *_ = learn(problem, tried, options.max_seconds)
                found = packed.outputs(packed.predict_codes(state.model))
                scores = evalb([y[i] for i in rest], found, parameters=EVERYTHING)
                print(
                    f"≤ {longest:2}  {name:16} C = {tried.share:g} n: F1 "
                    f"{100 * scores.f1:.2f} ({state.stopped})",
                    flush=True,
                )


def show(line):
    """One line of the table."""
    text = (
        f"≤ {line['longest']:2}  {line['row']:16}"
        f" train acc {line['train accuracy']:5.1f}"
        f" F1 {line['train f1']:5.1f}  test acc {line['test accuracy']:5.1f}"
        f" F1 {line['test f1']:5.1f} (evalb {line['evalb']:5.1f})"
        f"  {line['test speed']:6.0f} sentences/s"
    )
    if "constraints" in line:
        text += (
            f"  {line['constraints']} constraints, {line['cpu']:.1f} s, QP "
            f"{100 * line['qp']:.0f} %, p = {line['p']:.2g}, {line['stopped']}"
        )
        if not line["exact"]:
            text += ", oracle not exact"
    return text


def main():
    """Parse the options, print the table, write the figures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", default=os.environ.get("PARTWISE_DATA"))
    parser.add_argument("--longest", type=int, nargs="+", default=[10, 40])
    parser.add_argument("--rows", nargs="+", choices=ROWS, default=list(ROWS))
    parser.add_argument("--choose", action="store_true", help="try several C")
    parser.add_argument("--grid", type=float, nargs="+", default=GRID)
    parser.add_argument("--max-seconds", type=float, default=None)
    parser.add_argument("--output")
    options = parser.parse_args()
    if not options.data:
        parser.error("say where the corpora are: --data DIR or PARTWISE_DATA")
    if options.choose:
        choose(options)
        return
    lines = run(options)
    if options.output:
        Path(options.output).write_text(json.dumps(lines, indent=1), encoding="utf-8")


if __name__ == "__main__":
    main()
