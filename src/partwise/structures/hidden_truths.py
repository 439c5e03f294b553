"""Truths of which some parts are not known, laid end to end: see `Latent`."""

from __future__ import annotations

from typing import Any

import numpy as np

from partwise.protocol import Cuts, Ints, offsets_of, unit_cuts


def replace_truths(truth: Any, offset: Ints, code: Any) -> Cuts:
    """Complete truths in place; the old ones of the blocks that changed, as cuts.

    Parameters
    ----------
    truth : array (n_parts,)
        Written to: all tags of a problem share it.
    offset : int array (n_blocks + 1,)
        Where the parts of each block begin; none is empty.
    code : array (n_parts,)
        The new truths.

    Returns
    -------
    Cuts
        What `Latent.complete` returns.
    """
    is_new = np.add.reduceat(code != truth, offset[:-1]) > 0
    rows, size = np.flatnonzero(is_new), np.diff(offset)
    old = truth[np.repeat(is_new, size)].astype(np.int32)
    truth[:] = code
    return unit_cuts(rows, offsets_of(size[rows]), old)


def runs_of(is_known: Any, offset: Ints) -> tuple[Ints, Ints]:
    """Parts that are known, and where each run of neighbours among them begins.

    Examples
    --------
    >>> runs_of(np.array([True, True, False, True, True]), np.array([0, 4, 5]))
    (array([0, 1, 3, 4]), array([0, 2, 3, 4]))
    """
    places = np.flatnonzero(is_known)
    block = np.searchsorted(offset, places, side="right")
    begins = np.ones(len(places), bool)
    begins[1:] = (np.diff(places) > 1) | (np.diff(block) > 0)
    return places, np.append(np.flatnonzero(begins), len(places))
