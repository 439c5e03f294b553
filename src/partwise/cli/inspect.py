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
    from partwise.report.sequences import telling_features

    if top < 0:
        raise ValueError(f"--top {top}: give a whole number, 0 or more")
    tagger = load_model(model)
    facts = _facts(tagger)
    groups = telling_features(tagger, top) if top else []
    transitions = tagger.parts().bigram
    if json:
        names = {
            group.name: {"for": list(group.positive), "against": list(group.negative)}
            for group in groups
        }
        print_json(facts | {"features": names, "transitions": transitions.tolist()})
        return 0
    print(f"{facts['kind']}, {shown(facts['n_weights'])} weights")
    facts["featurizer"]["templates"] = len(facts["featurizer"].get("templates", []))
    for name in ("labels", "n_features", "featurizer", "chain", "settings", "versions"):
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
    if transitions.size and top:
        print("\ntransitions, from row to column")
        rows = [
            [str(label), *(f"{w:.2f}" for w in row)]
            for label, row in zip(tagger.labels, transitions, strict=True)
        ]
        print_table(["", *map(str, tagger.labels)], rows)
    return 0


def _facts(model: Any) -> dict[str, Any]:
    chain, info = model.chain, model.info
    settings, _ = model.featurizer.state()
    certificate = info.get("certificate")
    if certificate is not None:
        from partwise.certificate import Certificate

        certificate = Certificate.from_dict(certificate).to_dict()
    return {
        "kind": type(model).__name__,
        "labels": model.labels,
        "n_features": model.featurizer.n_features_,
        "n_weights": len(model.weights),
        "featurizer": settings,
        "chain": {
            "order": chain.order,
            "boundary": chain.boundary,
            "cost": chain.cost if isinstance(chain.cost, str) else "matrix",
            "constrained": chain.transitions is not None,
        },
        "support": 0 if model.support is None else len(model.support.alpha),
        "settings": info.get("settings", {}),
        "reader": info.get("reader", {}),
        "versions": info.get("versions", {}),
        "certificate": certificate,
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
