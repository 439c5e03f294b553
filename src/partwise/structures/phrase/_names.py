"""Rules and symbols of a grammar as text."""

from typing import Any


def show_weight(name: tuple[Any, ...]) -> tuple[str, ...]:
    """A weight's name for people."""
    kind, *rest = name
    if kind == "root":
        return ("→", show_symbol(rest[0]))
    if kind == "word":
        return (rest[0], "→", repr(rest[1]))
    if kind == "unary":
        return (show_symbol(rest[0]), "→", show_symbol(rest[1]))
    if kind == "rule":
        return (show_symbol(rest[0]), "→", *map(show_symbol, rest[1]))
    if kind == "first":
        return (show_symbol(rest[0]), "→", show_symbol(rest[1]), "…")
    parent, _, recent = rest[0]
    context = [*map(show_symbol, recent)]
    if kind == "step":
        return (show_symbol(parent), "→ …", *context, show_symbol(rest[1]), "…")
    return (show_symbol(parent), "→ …", *context, "end")


def show_symbol(symbol: Any) -> str:
    """A symbol with its ancestors, or a tag."""
    if isinstance(symbol, str):
        return symbol
    label, above = symbol
    return "^".join((label, *above))
