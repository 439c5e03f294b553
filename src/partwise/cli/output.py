"""Output of commands: text for people, one JSON object for programs."""

from __future__ import annotations

import contextlib
import json
import re
import sys
from collections.abc import Iterable, Sequence
from typing import Any

from partwise.outputs.as_json import to_json


def say(message: str) -> None:
    """Print a message on standard error, if there is one."""
    if sys.stderr is not None:
        # closed, or on a full disk: that must not end hours of training
        with contextlib.suppress(OSError, ValueError):
            print(printable(message), file=sys.stderr, flush=True)


def print_text(text: str) -> None:
    """Print text of one or several lines on standard output."""
    print("\n".join(map(printable, text.split("\n"))))


def printable(text: str) -> str:
    """Text without control characters, which a hostile file could send a terminal."""
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else ascii(c)[1:-1] for c in text)


def print_json(value: dict[str, Any]) -> None:
    """Print a JSON object on standard output; NaN and infinities become null."""
    text = to_json(value)
    # JSON escapes control characters up to 31, terminals obey others as well
    print(text if text.isprintable() else json.dumps(json.loads(text)))


def shown(value: Any, digits: int = 6) -> str:
    """A number with few digits, or text as it is."""
    if value is None:
        return "–"
    if isinstance(value, bool) or not isinstance(value, int | float):
        return str(value)
    if isinstance(value, int):
        return f"{value:,}"
    return f"{value:.{digits}g}"


_ONE = re.compile(r"(?<![\d.,])1 ((?:[a-z]+ )?[a-z]+?)(ies|(?<=ss)es|s)\b")


def in_singular(text: str) -> str:
    """Counts of one with their nouns in the singular.

    Examples
    --------
    >>> in_singular("1 sentences, 21 tokens, 1 candidate sets, 1 classes, 1 families")
    '1 sentence, 21 tokens, 1 candidate set, 1 class, 1 family'
    """
    return _ONE.sub(lambda m: f"1 {m[1]}{'y' if m[2] == 'ies' else ''}", text)


def metric_rows(metrics: dict[str, float]) -> list[tuple[str, str]]:
    """Metrics for a table: shares with four decimals, numbers whole."""
    return [
        (name, f"{value:,}" if isinstance(value, int) else f"{value:.4f}")
        for name, value in metrics.items()
    ]


def percent(value: float | None) -> str:
    """A share in percent with two significant digits, whole ones from ten on."""
    if value is None:
        return "unknown"
    if 0 < value < 1e-6:
        return "below 0.0001 %"
    return f"{100 * value:.0f} %" if value >= 0.0995 else f"{100 * value:.2g} %"


def print_table(header: Sequence[str], rows: Iterable[Sequence[Any]]) -> None:
    """Aligned columns, numbers to the right; an empty header is not printed."""
    texts = [[printable(shown(c)) for c in row] for row in rows]
    lines = [list(map(printable, header)), *texts] if header else texts
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    is_text = [not any(map(_is_number, c)) for c in zip(*texts, strict=True)]
    for row in lines:
        cells = [
            cell.ljust(width) if is_left else cell.rjust(width)
            for cell, width, is_left in zip(row, widths, is_text, strict=True)
        ]
        print("  " + "  ".join(cells).rstrip())


def _is_number(text: str) -> bool:
    try:
        float(text.replace(",", ""))
    except ValueError:
        return text == "–"
    return True


def certificate_lines(certificate: dict[str, Any]) -> list[str]:
    """A certificate, as in JSON, in words."""
    from partwise.report.wording import at_most_percent

    facts = certificate
    if facts["stopped"] == "estimated":
        return ["objective     none: the weights were estimated from counts"]
    lines = [f"objective     {shown(facts['primal'], 8)}"]
    if not facts["exact_oracle"]:
        bounds = f"at least {shown(facts['at_least'], 8)}"
        if facts["at_most"] is not None:
            bounds += f", at most {shown(facts['at_most'], 8)}"
        lines = [f"objective     {bounds}: the search was not exact"]
    if facts["dual"] is not None:
        lines.append(f"dual bound    {shown(facts['dual'], 8)}")
    if facts["dual"] is None and facts["data_bound"] is not None:
        lines.append(
            f"data bound    within {shown(facts['data_bound'], 4)} of the optimum"
        )
    if facts["relative_gap"] is not None:
        gap = at_most_percent(facts["relative_gap"]).replace("\u00a0", " ")
        lines.append(f"relative gap  {gap}")
    lines.append(f"oracle calls  {shown(facts['oracle_calls'])}")
    if facts.get("n_planes"):
        lines.append(f"constraints   {shown(facts['n_planes'])} added")
    lines.append(f"stopped       {facts['stopped'] or 'unknown'}")
    if facts["note"]:
        lines.append(f"note          {facts['note']}")
    return lines
