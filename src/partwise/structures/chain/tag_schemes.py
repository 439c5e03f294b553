"""Tag schemes as masks: which labels may follow, begin and end a sequence."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from partwise.parameters import SettingsError

SCHEMES = ("BIO", "IOB1", "BIOES")
_ALIASES = {"IOB2": "BIO"}  # another name of it
_OPENING = {"BIO": "BO", "IOB1": "IO", "BIOES": "BSO"}
_PREFIXES = {"BIO": "BIO", "IOB1": "BIO", "BIOES": "BIOES"}


def split_tag(label: Any, scheme: str) -> tuple[str, str]:
    """Prefix and type of a tag: ("B", "PER"), or ("O", "")."""
    prefix, _, kind = str(label).partition("-")
    valid = prefix in _PREFIXES[scheme] and len(prefix) == 1
    if not valid or (prefix == "O") != (kind == ""):
        raise ValueError(
            f"label {label!r} is not of scheme {scheme}: expected O or one of "
            f"{', '.join(p + '-TYPE' for p in _PREFIXES[scheme] if p != 'O')}"
        )
    return prefix, kind


def _may_follow(scheme: str, before: tuple[str, str], here: tuple[str, str]) -> bool:
    prefix, kind = here
    continues = before[1] == kind and prefix != "O"
    if scheme == "BIO":
        return prefix != "I" or continues
    if scheme == "IOB1":  # B only where a span follows another of its own type
        return prefix != "B" or continues
    inside = before[0] in "BI"  # BIOES: a span is open until its E
    return continues and prefix in "IE" if inside else prefix in "BSO"


class Masks(NamedTuple):
    """What may follow, begin and end a sequence: True; or its score, 0 where −inf bars.

    The fields are parameters of `Chain`.
    """

    transitions: NDArray[Any]  # (L, L)
    starts: NDArray[Any]  # (L,)
    ends: NDArray[Any]  # (L,)


def scheme_masks(labels: Sequence[Any], scheme: str) -> Masks:
    """Allowed transitions (L, L), first labels (L,) and last labels (L,).

    Parameters
    ----------
    labels : sequence of str
        ``O`` and prefixed types such as ``B-PER``.
    scheme : {"BIO", "IOB1", "BIOES"}
        ``"IOB2"`` is another name of BIO.

    Examples
    --------
    >>> transitions, starts, ends = scheme_masks(["O", "B-X", "I-X"], "BIO")
    >>> transitions.astype(int).tolist()
    [[1, 1, 0], [1, 1, 1], [1, 1, 1]]
    >>> starts.tolist()
    [True, True, False]
    """
    scheme = _ALIASES.get(scheme, scheme)
    if scheme not in SCHEMES:
        raise SettingsError(f"<scheme={scheme!r}>: choose {', '.join(SCHEMES)}")
    split = [split_tag(label, scheme) for label in labels]
    transitions = [[_may_follow(scheme, a, b) for b in split] for a in split]
    starts = [prefix in _OPENING[scheme] for prefix, _ in split]
    ends = [scheme != "BIOES" or prefix in "ESO" for prefix, _ in split]
    return Masks(np.array(transitions), np.array(starts), np.array(ends))


def forbidden_masks(labels: Sequence[Any], pairs: Sequence[tuple[Any, Any]]) -> Masks:
    """Masks, as in `scheme_masks`, that forbid these pairs of labels and no others.

    None instead of a label stands for the outside of the sequence. Pairs with labels
    that are not there forbid nothing: a fold may lack them.

    Examples
    --------
    >>> transitions, starts, _ = forbidden_masks(["a", "b"], [("a", "b"), (None, "b")])
    >>> transitions.tolist(), starts.tolist()
    ([[True, False], [True, True]], [True, False])
    """
    number = {label: k for k, label in enumerate(labels)}
    size = len(labels)
    transitions, starts, ends = np.ones((size, size), bool), *np.ones((2, size), bool)
    for pair in pairs:
        if isinstance(pair, str) or len(pair) != 2:
            raise ValueError(f"forbidden: {pair!r} is not a pair of labels")
        before, after = pair
        if before is None and after in number:
            starts[number[after]] = False
        elif after is None and before in number:
            ends[number[before]] = False
        elif before in number and after in number:
            transitions[number[before], number[after]] = False
    return Masks(transitions, starts, ends)
