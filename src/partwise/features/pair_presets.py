"""Names of lists of templates of pairs, for sequences with given columns."""

from __future__ import annotations

from itertools import combinations, product
from typing import Any

from partwise.features.annotated import columns_of, is_real
from partwise.parameters import SettingsError

# columns of either side that each table of weights combines; None: all
MODELS = {"simple": 1, "anova2": 2, "tensor": None}
ADDITIONS = ("window", "profile")
REACH = 2  # tokens to either side of ``+window``


def expand(name: str, a: Any, b: Any) -> list[str]:
    """The templates that a name stands for, for sequences with these columns.

    Parameters
    ----------
    name : str
        ``simple``, ``anova2`` or ``tensor``, with ``+window``, ``+profile`` or both.
    a, b : sequences

    Examples
    --------
    >>> expand("simple+window", {"residue": "MK", "structure": "HH"}, {"residue": "M"})
    ['residue ~ residue', 'structure ~ residue', 'residue[-2..-1]', 'residue[1..2]']
    """
    model, *additions = name.split("+")
    if model not in MODELS or not set(additions) <= set(ADDITIONS):
        raise SettingsError(
            f"<templates={name!r}>: choose {', '.join(MODELS)}, with +window, "
            "+profile or both, or give templates"
        )
    sides = [columns_of(x) for x in (a, b)]
    words = [[n for n, c in side.items() if not is_real(c)] for side in sides]
    lines = []
    if words[0] and words[1]:
        degrees = [MODELS[model] or len(side) for side in words]
        for side, degree in zip(words, degrees, strict=True):
            if degree > len(side):
                raise SettingsError(
                    f"<templates={name!r}> needs {degree} columns or more; there is "
                    f"{', '.join(side)}"
                )
        chosen = [combinations(s, d) for s, d in zip(words, degrees, strict=True)]
        lines = [
            "|".join(left) + " ~ " + "|".join(right) for left, right in product(*chosen)
        ]
    if "window" in additions:
        shared = [column for column in words[0] if column in words[1]]
        for column in shared[1:] or shared:
            lines += [f"{column}[{-REACH}..-1]", f"{column}[1..{REACH}]"]
    if "profile" in additions:
        real = [{n: c.shape[1] for n, c in s.items() if is_real(c)} for s in sides]
        products = [
            f"{left} * {right}"
            for (left, p), (right, q) in product(real[0].items(), real[1].items())
            if p == q and left != right
        ] or [f"{n} * {n}" for n in real[0] if real[1].get(n) == real[0][n]]
        if not products:
            raise SettingsError(
                f"<templates={name!r}> needs real columns of one width on both sides: "
                "arrays (n, width), or in a file a column whose name ends in :real"
            )
        lines += products
    return lines


def preset_names() -> list[str]:
    """All names of lists of templates."""
    more = [*ADDITIONS, "+".join(ADDITIONS)]
    return [*MODELS, *(f"{model}+{added}" for model in MODELS for added in more)]


def is_name(templates: Any) -> bool:
    """Whether templates are given by a name."""
    return isinstance(templates, str) and templates.split("+")[0] in MODELS
