"""Span F1 on CoNLL-2000 with C chosen by cross-validation on the training file.

    python benchmarks/accuracy.py --data DIR

Preset `chunk` (953,158 features), three folds, then one fit on the whole training
file; the test file is used once.
"""

import argparse
import os
import time
import warnings
from pathlib import Path

from sklearn.model_selection import GridSearchCV

from partwise import SequenceTagger
from partwise.metrics import scorer
from partwise.readers import read_columns


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", default=os.environ.get("PARTWISE_DATA"))
    options = parser.parse_args()
    if not options.data:
        parser.error("give --data DIR or set PARTWISE_DATA")
    warnings.simplefilter("ignore")
    folder = Path(options.data) / "conll2000_chunking"
    X, y = read_columns(folder / "train.txt.gz")
    search = GridSearchCV(
        SequenceTagger(templates="chunk", tol=0.05, metric="span_f1"),
        {"C": [223.4, 446.8, 893.6, 1787.2]},
        scoring=scorer("span_f1"),
        cv=3,
    )
    begin = time.process_time()
    search.fit(X, y)
    print("| C | cross-validated span F1 |\n| ---: | ---: |")
    results = search.cv_results_
    for C, f1 in zip(results["param_C"], results["mean_test_score"], strict=True):
        print(f"| {C} | {100 * f1:.2f} |")
    f1 = search.score(*read_columns(folder / "test.txt.gz"))
    print(f"\nchosen: C = {search.best_params_['C']}; test span F1 {100 * f1:.2f}")
    print(f"{time.process_time() - begin:.0f} CPU s in all")


if __name__ == "__main__":
    main()
