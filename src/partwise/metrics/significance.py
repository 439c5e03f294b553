"""McNemar's test: whether one parser is significantly better than another."""

import math
from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

from partwise.metrics.bracketing import (
    COLLINS,
    EvalbParameters,
    Trees,
    bracketing_pairs,
)

METHODS = ("mid-p", "exact", "chi2")


class McNemar(NamedTuple):
    """Decisions that only one of two predictors got right, and the p-value of the test.

    Parameters
    ----------
    only_first, only_second : int
    p_value : float
        How often two equally good predictors would differ at least so much.
    """

    only_first: int
    only_second: int
    p_value: float


def mcnemar(
    first_is_right: Sequence[bool],
    second_is_right: Sequence[bool],
    *,
    method: str = "mid-p",
) -> McNemar:
    """McNemar's test of two predictors on the same decisions.

    Of the n decisions that only one of them got right, k went to the one with fewer.
    Were both equally good, k would follow the binomial distribution B(n, ½).

    Parameters
    ----------
    first_is_right, second_is_right : sequences of bool
        One item per decision.
    method : {"mid-p", "exact", "chi2"}
        "exact": 2·P(X ≤ k), never too small; "mid-p": 2·P(X < k) + P(X = k), which
        errs less on the other side; "chi2": (|b − c| − 1)² / (b + c) against χ² with
        one degree of freedom, as in older papers.

    Returns
    -------
    McNemar
        (only_first, only_second, p_value).

    Examples
    --------
    >>> first = [True] * 9 + [False] * 1 + [True] * 20
    >>> second = [False] * 9 + [True] * 1 + [True] * 20
    >>> only_first, only_second, p = mcnemar(first, second, method="exact")
    >>> only_first, only_second, round(p, 4)
    (9, 1, 0.0215)
    """
    if method not in METHODS:
        raise ValueError(f"method={method!r}: choose from {', '.join(METHODS)}")
    if len(first_is_right) != len(second_is_right):
        raise ValueError(
            f"{len(first_is_right)} decisions of the first and "
            f"{len(second_is_right)} of the second; compare them on the same ones"
        )
    pairs = Counter(
        (bool(a), bool(b)) for a, b in zip(first_is_right, second_is_right, strict=True)
    )
    b, c = pairs[True, False], pairs[False, True]
    return McNemar(b, c, _p_value(min(b, c), b + c, method))


def bracket_decisions(
    y_true: Trees, first: Trees, second: Trees, *, parameters: EvalbParameters = COLLINS
) -> tuple[list[bool], list[bool]]:
    """Which decisions about brackets two parsers got right, for McNemar's test.

    A decision is a bracket of the truth or of either parser: right when the parser has
    it just where the truth has it. So missed brackets and wrong ones both count, as
    they do in F1.

    Parameters
    ----------
    y_true, first, second : sequences of trees
        Truth and the predictions of two parsers.
    parameters : EvalbParameters, default=COLLINS

    Returns
    -------
    first_is_right, second_is_right : lists of bool
        One item per decision, to be given to `mcnemar`.

    Examples
    --------
    >>> true = ("S", (("NP", (("PRP", ("it",)),)), ("VP", (("VBZ", ("works",)),))))
    >>> flat = ("S", (("PRP", ("it",)), ("VBZ", ("works",))))
    >>> bracket_decisions([true], [true], [flat])
    ([True, True, True], [False, True, False])
    """
    right: tuple[list[bool], list[bool]] = ([], [])
    pairs = zip(
        bracketing_pairs(y_true, first, parameters),
        bracketing_pairs(y_true, second, parameters),
        strict=True,
    )
    for (gold, one), (_, two) in pairs:
        parses = [parse.brackets if parse else Counter() for parse in (one, two)]
        for bracket in sorted(gold.brackets | parses[0] | parses[1]):
            n_true = gold.brackets[bracket]
            counts = [brackets[bracket] for brackets in parses]
            for k in range(max(n_true, *counts)):
                for side, count in zip(right, counts, strict=True):
                    side.append((k < count) == (k < n_true))
    return right


def _p_value(k: int, n: int, method: str) -> float:
    if n == 0:
        return 1.0
    if method == "chi2":
        statistic = max(0.0, n - 2 * k - 1) ** 2 / n
        return math.erfc(math.sqrt(statistic / 2))
    from scipy.special import bdtr

    below = float(bdtr(k - 1, n, 0.5)) if k else 0.0
    at_most = float(bdtr(k, n, 0.5))
    if method == "exact":
        return min(1.0, 2 * at_most)
    return min(1.0, below + at_most)
