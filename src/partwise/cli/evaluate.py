"""`partwise evaluate`: a model's predictions against the labels of a file."""

from __future__ import annotations

from partwise.cli.options import (
    Columns,
    Comment,
    Files,
    Jobs,
    Json,
    Label,
    ModelPath,
    Separator,
    threads,
)


def evaluate(
    model: ModelPath,
    data: Files,
    label: Label = None,
    columns: Columns = None,
    separator: Separator = None,
    comment: Comment = None,
    jobs: Jobs = 1,
    json: Json = False,
) -> int:
    """Measure a model on labelled data.

    Labels that the model has never seen count as errors.

    Example: `partwise evaluate chunks.model test.txt`
    """
    from partwise.cli.compiling import PREDICTING, announce_compilation
    from partwise.cli.data import Layout, load_tagger
    from partwise.cli.output import print_json, print_table, say
    from partwise.cli.tagging import measure, read_labelled
    from partwise.metrics import label_report, span_report
    from partwise.report.sequences import as_span_tags

    announce_compilation(*PREDICTING)
    tagger = load_tagger(model)
    layout = Layout.create(columns, label, separator, comment, Layout.of_model(tagger))
    X, y, _ = read_labelled(data, layout)
    predicted = tagger.predict(X, n_jobs=threads(jobs))
    predicted = [[str(name) for name in row] for row in predicted]
    metrics = measure(y, predicted)
    known = {str(name) for name in tagger.labels}
    unseen: dict[str, int] = {}
    for row in y:
        for name in row:
            if name not in known:
                unseen[name] = unseen.get(name, 0) + 1
    if unseen:
        listed = ", ".join(f"{name} ({n})" for name, n in sorted(unseen.items())[:10])
        say(f"warning: labels unknown to the model, counted as errors: {listed}")
    spans = as_span_tags(y, predicted)
    rows = label_report(y, predicted) if spans is None else span_report(*spans)
    if json:
        print_json(
            {
                "metrics": metrics,
                "n_examples": len(y),
                "n_tokens": X.n_tokens,
                "unseen_labels": unseen,
                "labels": [row._asdict() for row in label_report(y, predicted)],
                "spans": [] if spans is None else [row._asdict() for row in rows],
            }
        )
        return 0
    print(f"{len(y):,} sentences, {X.n_tokens:,} tokens")
    print_table((), [(name, f"{value:.4f}") for name, value in metrics.items()])
    print()
    header = ("label" if spans is None else "span", "precision", "recall", "f1", "n")
    print_table(header, [[*_shares(row)] for row in rows])
    return 0


def _shares(row: tuple) -> list[str]:
    name, *rates, support = row
    return [str(name), *(f"{rate:.4f}" for rate in rates), f"{support:,}"]
