"""Motifs as text for other programs: MEME and JASPAR."""

from __future__ import annotations

from typing import Any

import numpy as np

from partwise.parameters import check_choice

LETTERS = "ACGT"
LAYOUTS = ("meme", "jaspar")


def as_text(layout: str, name: str, counts: np.ndarray, *, both_strands: bool) -> str:
    """
    A motif in one of the layouts: frequencies (MEME), or counts (JASPAR).

    Parameters
    ----------
    layout : {"meme", "jaspar"}
    name : str
    counts : array (length, 4)
        Letters A, C, G and T at the places of the motif.
    both_strands : bool
    """
    check_choice("layout", layout, LAYOUTS)
    if layout == "jaspar":
        return as_jaspar(name, counts)
    n_sites = counts.sum(axis=1)
    shares = counts / np.maximum(n_sites, 1)[:, None]
    return as_meme(name, shares, round(float(n_sites.max())), both_strands=both_strands)


def as_meme(name: str, pwm: Any, n_sites: int, *, both_strands: bool = False) -> str:
    """
    Probabilities in the minimal format of MEME.

    Parameters
    ----------
    name : str
    pwm : array (length, 4)
    n_sites : int
        Windows that it was counted in.
    both_strands : bool

    Examples
    --------
    >>> import numpy as np
    >>> print(as_meme("box", np.array([[0.7, 0.1, 0.1, 0.1]]), 10).splitlines()[-1])
    0.700000 0.100000 0.100000 0.100000
    """
    lines = [
        "MEME version 4",
        "",
        f"ALPHABET= {LETTERS}",
        "",
        f"strands: {'+ -' if both_strands else '+'}",
        "",
        "Background letter frequencies",
        " ".join(f"{letter} 0.25" for letter in LETTERS),
        "",
        f"MOTIF {name}",
        f"letter-probability matrix: alength= 4 w= {len(pwm)} nsites= {n_sites} E= 0",
        *(" ".join(f"{value:.6f}" for value in row) for row in pwm),
    ]
    return "\n".join(lines) + "\n"


def as_jaspar(name: str, counts: Any) -> str:
    """
    Counts in the format of JASPAR.

    Examples
    --------
    >>> import numpy as np
    >>> print(as_jaspar("box", np.array([[7.0, 1, 1, 1], [0, 0, 9, 1]])), end="")
    >box box
    A [ 7 0 ]
    C [ 1 0 ]
    G [ 1 9 ]
    T [ 1 1 ]
    """
    lines = [f">{name} {name}"]
    for letter, column in zip(LETTERS, counts.T, strict=True):
        lines.append(f"{letter} [ {' '.join(f'{value:g}' for value in column)} ]")
    return "\n".join(lines) + "\n"
