"""`partwise inspect`: what a model file holds."""

from __future__ import annotations

import shutil
import textwrap
from typing import Annotated, Any

import typer

from partwise.cli.options import Json, ModelPath

# shown in JSON, or below in a form of their own
_NOT_LISTED = ("kind", "n_weights", "certificate", "reader", "support")

MOST_ITEMS = 100  # of a list


def inspect(
    model: ModelPath,
    top: Annotated[
        int, typer.Option(metavar="N", help="Features to show for each label.")
    ] = 5,
    json: Json = False,
) -> int:
    """Show sizes, settings, certificate and the heaviest weights.

    Example: `partwise inspect chunks.model --top 10`
    """
    from partwise.cli.output import (
        certificate_lines,
        print_json,
        print_table,
        print_text,
        say,
        shown,
    )
    from partwise.model_file import load_model
    from partwise.outputs.registry import task_class
    from partwise.outputs.task import Listing

    if top < 0:
        raise ValueError(f"--top {top}: give a whole number, 0 or more")
    trained = load_model(model)
    facts = _facts(trained)
    document: dict[str, Any] = {}
    listings: list[Listing] = []
    task = task_class(trained)
    if task is not None:
        facts = {**task.facts(trained), **facts}
        document, listings = task.telling_parts(trained, top)
    if json:
        print_json(facts | document)
        return 0
    print_text(f"{facts['kind']}, {shown(facts['n_weights'])} weights")
    for name, value in facts.items():
        if name not in _NOT_LISTED and value:
            print_text(_wrapped(f"{name:13} ", _line(value)))
    if facts["certificate"] is None:
        say("warning: the file has no certificate")
    else:
        print_text(
            "\n".join(["", "certificate", *certificate_lines(facts["certificate"])])
        )
    for title, header, rows in listings:
        print_text(f"\n{title}")
        print_table(header, rows)
    return 0


def _facts(model: Any) -> dict[str, Any]:
    """Facts of every kind of model."""
    from partwise.model_file import model_kind

    info = model.info
    certificate = info.get("certificate")
    if certificate is not None:
        from partwise.certificate import Certificate

        certificate = Certificate.from_dict(certificate).to_dict()
    return {
        "kind": model_kind(model),
        "n_weights": len(model.weights),
        "settings": info.get("settings", {}),
        "versions": info.get("versions", {}),
        "certificate": certificate,
    }


def _wrapped(name: str, text: str) -> str:
    """A name and lines of text beside it."""
    lines = textwrap.wrap(
        text,
        max(shutil.get_terminal_size().columns - len(name), 40),
        break_long_words=False,
        break_on_hyphens=False,
    )
    return name + f"\n{' ' * len(name)}".join(lines)


def _line(value: Any) -> str:
    if isinstance(value, dict):
        entries = ((k, v) for k, v in value.items() if v is not None)
        return ", ".join(f"{k} {_line(v)}" for k, v in entries)
    if isinstance(value, list):
        shown, n_more = value[:MOST_ITEMS], len(value) - MOST_ITEMS
        return " ".join(map(str, shown)) + (f" … and {n_more:,} more" * (n_more > 0))
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:g}"
    return f"{value:,}" if isinstance(value, int) else str(value)
