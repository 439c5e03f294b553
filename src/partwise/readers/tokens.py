"""Tokens of sequences, however they are given, as text."""

from __future__ import annotations

from typing import Any

from partwise.readers.table import Table


def show_tokens(X: Any, row: int) -> list[str]:
    """Tokens of one sequence as strings."""
    if isinstance(X, Table):
        name = next(iter(X.columns))
        return X[row].strings(name)[0]
    sequence = X[row]
    if isinstance(sequence, Table):
        return show_tokens(sequence, 0)
    if hasattr(sequence, "shape"):
        return [f"#{t}" for t in range(sequence.shape[0])]
    shown = []
    for token in sequence:
        if isinstance(token, tuple):
            token = token[0]
        elif isinstance(token, dict):
            texts = [v for v in token.values() if isinstance(v, str)]
            token = texts[0] if texts else str(token)
        shown.append(str(token))
    return shown
