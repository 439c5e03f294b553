"""`partwise inspect`: what a model file holds."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from partwise.cli.options import Json, ModelPath


def inspect(
    model: ModelPath,
    top: Annotated[
        int, typer.Option(metavar="N", help="Features to show for each label.")
    ] = 5,
    json: Json = False,
) -> int:
    """Show labels, sizes, certificate, telling features and transitions.

    Example: `partwise inspect chunks.model --top 10`
    """
    from partwise.cli.output import (
        certificate_lines,
        print_json,
        print_table,
        say,
        shown,
    )
    from partwise.model_file import load_model
    from partwise.models import SequenceModel
    from partwise.report.sequences import telling_features

    if top < 0:
        raise ValueError(f"--top {top}: give a whole number, 0 or more")
    held = load_model(model)
    is_tagger = isinstance(held, SequenceModel)
    facts = _facts(held) | (_tagger_facts(held) if is_tagger else {})
    groups = telling_features(held, top) if top and is_tagger else []
    if json:
        if is_tagger:
            facts["transitions"] = held.parts().bigram.tolist()
            facts["features"] = {
                g.name: {"for": list(g.positive), "against": list(g.negative)}
                for g in groups
            }
        print_json(facts)
        return 0
    print(f"{facts['kind']}, {shown(facts['n_weights'])} weights")
    if is_tagger:
        facts["featurizer"]["templates"] = len(facts["featurizer"].get("templates", []))
    for name in ("labels", "n_features", "featurizer", "chain", "settings", "versions"):
        if facts.get(name):
            print(f"{name:13} {_line(facts[name])}")
    if facts["certificate"] is None:
        say("warning: the file has no certificate")
    else:
        print("\n".join(["", "certificate", *certificate_lines(facts["certificate"])]))
    for group in groups:
        print(f"\n{group.name}")
        heaviest = sorted(
            [*group.positive, *group.negative], key=lambda pair: -abs(pair[1])
        )
        for feature, weight in heaviest[:top]:
            print(f"  {weight:+.4f}  {feature}")
    if groups and held.parts().bigram.size:
        print("\ntransitions, from row to column")
        rows = [
            [str(label), *(f"{w:.2f}" for w in row)]
            for label, row in zip(held.labels, held.parts().bigram, strict=True)
        ]
        print_table(["", *map(str, held.labels)], rows)
    return 0


def _facts(model: Any) -> dict[str, Any]:
    """What every kind of model tells."""
    info = model.info
    certificate = info.get("certificate")
    if certificate is not None:
        from partwise.certificate import Certificate

        certificate = Certificate.from_dict(certificate).to_dict()
    return {
        "kind": type(model).__name__,
        "n_weights": len(model.weights),
        "settings": info.get("settings", {}),
        "versions": info.get("versions", {}),
        "certificate": certificate,
    }


def _tagger_facts(model: Any) -> dict[str, Any]:
    chain = model.chain
    settings, _ = model.featurizer.state()
    return {
        "labels": model.labels,
        "n_features": model.featurizer.n_features_,
        "featurizer": settings,
        "chain": {
            "order": chain.order,
            "boundary": chain.boundary,
            "cost": chain.cost if isinstance(chain.cost, str) else "matrix",
            "constrained": chain.transitions is not None,
        },
        "support": 0 if model.support is None else len(model.support.alpha),
        "reader": model.info.get("reader", {}),
    }


def _line(value: Any) -> str:
    if isinstance(value, dict):
        pairs = ((k, v) for k, v in value.items() if v is not None)
        return ", ".join(f"{k} {_line(v)}" for k, v in pairs)
    if isinstance(value, list):
        return " ".join(map(str, value))
    if isinstance(value, bool):
        return "yes" if value else "no"
    return f"{value:,}" if isinstance(value, int) else str(value)
