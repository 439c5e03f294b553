"""`partwise explain`: why a sentence got its labels."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated

import typer

from partwise.cli.options import Columns, Comment, Files, Json, ModelPath, Separator


def explain(
    model: ModelPath,
    data: Files,
    sentence: Annotated[
        int, typer.Option(metavar="N", help="Which sentence, counting from 0.")
    ] = 0,
    top: Annotated[
        int, typer.Option(metavar="N", help="Number of reasons to show.")
    ] = 10,
    columns: Columns = None,
    separator: Separator = None,
    comment: Comment = None,
    json: Json = False,
) -> int:
    """Compare the winning labels with the runner-up, reason by reason.

    A model trained with --keep-dual also shows the training sentences that decide.

    Example: `partwise explain chunks.model test.txt --sentence 3`
    """
    from partwise.cli.compiling import READING, announce_compilation
    from partwise.cli.data import Layout, load_tagger, read_tables
    from partwise.cli.output import print_json

    announce_compilation(*READING, "_chain_batch.k_best_rows")
    tagger = load_tagger(model)
    layout = Layout.create(columns, None, separator, comment, Layout.of_model(tagger))
    table = read_tables(data, layout)
    if not 0 <= sentence < len(table):
        raise ValueError(
            f"--sentence {sentence}: the data has sentences 0 to {len(table) - 1}"
        )
    if top < 1:
        raise ValueError(f"--top {top}: give a positive whole number")
    one = table[sentence]
    tokens = one.strings(next(iter(one.columns)))[0]
    explanation = tagger.explain(one, tokens=tokens, top=top)
    if json:
        answer = asdict(explanation)
        answer["contributions"] = [c._asdict() for c in explanation.contributions]
        answer["support"] = [s._asdict() for s in explanation.support]
        print_json({"sentence": sentence, **answer})
    else:
        print(explanation)
    return 0
