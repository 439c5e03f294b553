"""Checks of true label sequences, before they reach a kernel."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from partwise.protocol import Ints
from partwise.structures.chain.tag_schemes import Masks
from partwise.structures.losses.tokens import TokenCosts, TokenLoss


def check_labels(y: Ints, offset: Ints, n_labels: int, may_hide: bool) -> None:
    """Refuse labels outside the alphabet: a kernel would read beyond its tables."""
    bad = np.flatnonzero((y < (-1 if may_hide else 0)) | (y >= n_labels))
    if len(bad):
        t = int(bad[0])
        raise ValueError(
            f"sequence {_sequence_of(t, offset)} has the label {int(y[t])}, which is "
            f"not one of 0 … {n_labels - 1}; repair the labels or raise n_labels"
        )
    if len(y) and (y < 0).all():
        raise ValueError("no token has a label; give some")


def known_costs(delta: TokenLoss, y: Ints, offset: Ints, n_labels: int) -> TokenCosts:
    """Costs of the sequences of known labels; −1 in `y` is not one.

    Tokens without a label have some row, of which a weight of zero makes nothing.
    """
    is_known = y >= 0
    at = np.append(0, np.cumsum(is_known))[offset]
    costs = delta.pack(y[is_known], at, n_labels)
    row = np.zeros(len(y), np.int32)
    row[is_known] = costs.row
    return costs._replace(row=row)


def check_allowed(
    y: Ints, offset: Ints, masks: Masks, names: Sequence[Any] | None = None
) -> None:
    """Refuse a true sequence that the masks forbid: it could never be predicted.

    Parameters
    ----------
    y : int array (n_tokens,)
    offset : int array (n + 1,)
    masks : Masks
        As scores.
    names : sequence, optional
        Labels in the user's own form.
    """
    edges, starts, ends = masks
    names = range(len(starts)) if names is None else names
    is_first = np.zeros(len(y), bool)
    is_first[offset[:-1]] = True
    after = np.flatnonzero(~is_first)
    faults = [
        (t, f"{names[y[t]]!r} as its first label")
        for t in offset[:-1][starts[y[offset[:-1]]] < 0][:1]
    ]
    faults += [
        (t, f"{names[y[t]]!r} as its last label")
        for t in (offset[1:] - 1)[ends[y[offset[1:] - 1]] < 0][:1]
    ]
    faults += [
        (t, f"{names[y[t]]!r} after {names[y[t - 1]]!r}")
        for t in after[edges[y[after - 1], y[after]] < 0][:1]
    ]
    if faults:
        t, fault = min(faults)
        raise ValueError(
            f"sequence {_sequence_of(int(t), offset)} has {fault}, which the "
            "constraints forbid; repair the labels or drop the constraint"
        )


def _sequence_of(token: int, offset: Ints) -> int:
    return int(np.searchsorted(offset, token, side="right")) - 1
