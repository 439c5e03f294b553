"""Why an output won, in words and numbers."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from partwise.parameters import check_whole

DIFFERENCE = "Where they differ, the winner is orange and the runner-up blue."


class Contribution(NamedTuple):
    """One reason for the winner: a part's share of its lead over the runner-up."""

    position: int
    reason: str  # a feature's name, or a transition
    winner: Any
    runner_up: Any
    share: float

    def __str__(self) -> str:
        return (
            f"  {self.share:+.4f}  at {self.position}: {self.reason} "
            f"({self.winner} rather than {self.runner_up})"
        )


class SupportSequence(NamedTuple):
    """A support structure of the dual and its share of the lead."""

    row: int  # place in the training data
    tokens: list[str]
    truth: list[Any]
    output: list[Any]
    alpha: float
    share: float

    def lines(self, tokens: list[str]) -> list[str]:
        """As text; `tokens` are those of the explained sequence."""
        rows = zip(self.tokens, self.truth, self.output, strict=True)
        is_row = self.tokens == ["row"]  # of a matrix
        what = "row" if is_row else "sequence"
        changed = ", ".join(
            f"{a}→{b}" if is_row else f"{t}/{a}→{b}" for t, a, b in rows if a != b
        )
        return [
            f"  {self.share:+.4f}  training {what} {self.row} (α = {self.alpha:.4g}):"
            f" {changed}"
        ]


class Comparison:
    """Winner against runner-up, as text: the two, reasons, support structures."""

    score: float
    lead: float
    contributions: list[Any]
    support: list[Any]  # `SupportSequence` and the like

    def heading(self) -> list[str]:
        """Winner and runner-up as lines."""
        raise NotImplementedError

    def drawing(self) -> tuple[str, str]:
        """Winner and runner-up as SVG, and how to read the picture."""
        raise NotImplementedError

    def summary(self) -> str:
        """Score and lead in a line."""
        if self.lead == math.inf:
            return f"score {self.score:.4f}; there is no runner-up"
        return f"score {self.score:.4f}, ahead of the runner-up by {self.lead:.4f}"

    def reason_lines(self) -> list[str]:
        """Reasons as lines."""
        return list(map(str, self.contributions))

    def support_lines(self) -> list[str]:
        """Support structures as lines."""
        return list(map(str, self.support))

    def __str__(self) -> str:
        reasons = [*self.reason_lines(), *self.support_lines()]
        return "\n".join([*self.heading(), self.summary(), *reasons])

    def _repr_html_(self) -> str:
        from partwise.report.notebook import explanation_html

        reasons = [*self.reason_lines(), *self.support_lines()]
        return explanation_html(*self.drawing(), self.summary(), reasons)


def reasons_of_parts(
    parts: Sequence[Iterable[tuple[int, int, float]]],
    weights: Any,
    names: Sequence[str],
    outputs: Sequence[Sequence[Any]],
) -> list[Contribution]:
    """
    Shares of the lead of one output over another, each a list of its parts.

    Parameters
    ----------
    parts : one or two lists of (position, feature, value)
        Those of the winner, then those of the runner-up if there is one.
    weights : array (n_weights,)
    names : list of str
        Of the features.
    outputs : one or two lists
        The labels of the winner, and of the runner-up if there is one, at each
        position; empty for an input without tokens.
    """
    shares: dict[tuple[int, int], float] = {}
    for sign, features in zip((1.0, -1.0), parts, strict=False):
        for position, feature, value in features:
            share = sign * value * float(weights[feature])
            shares[position, feature] = shares.get((position, feature), 0.0) + share

    def at(output: Sequence[Any], t: int) -> Any:
        return output[t] if t < len(output) else ""

    return [
        Contribution(t, names[f], at(outputs[0], t), at(outputs[-1], t), share)
        for (t, f), share in shares.items()
        if share
    ]


@dataclass
class Explanation(Comparison):
    """Why an output won: winner against runner-up.

    `drawn` has the input and the two outputs as `partwise.report.draw` takes them,
    where they are not sequences of labels.
    """

    tokens: list[str]
    winner: list[Any]
    runner_up: list[Any] | None
    score: float
    lead: float
    contributions: list[Contribution] = field(default_factory=list)
    support: list[Any] = field(default_factory=list)
    drawn: tuple[Any, Any, Any] | None = field(default=None, repr=False)

    @classmethod
    def compare(
        cls,
        tokens: list[str],
        outputs: Sequence[list[Any]],
        scores: Sequence[float],
        reasons: Iterable[Contribution],
        top: int,
    ) -> Explanation:
        """Winner and runner-up, their scores, and the reasons of largest share.

        Without a runner-up in `outputs` the lead is infinite.
        """
        check_whole("top", top, 1)
        heaviest = sorted(reasons, key=lambda reason: -abs(reason.share))[:top]
        runner_up, lead = None, math.inf
        if len(outputs) > 1:
            runner_up, lead = outputs[1], float(scores[0] - scores[1])
        return cls(tokens, outputs[0], runner_up, float(scores[0]), lead, heaviest)

    def to_dict(self) -> dict[str, Any]:
        """In the types of JSON."""
        return {
            "tokens": self.tokens,
            "winner": self.winner,
            "runner_up": self.runner_up,
            "score": self.score,
            "lead": self.lead,
            "contributions": [reason._asdict() for reason in self.contributions],
            "support": [example._asdict() for example in self.support],
        }

    def heading(self) -> list[str]:
        """A line for each token; the runner-up where it differs."""
        width = max([12, *(len(str(a)) for a in self.winner)])
        lines = [f"{'token':20} {'winner':{width}} runner-up"]
        other = self.runner_up or self.winner
        for token, a, b in zip(self.tokens, self.winner, other, strict=True):
            lines.append(f"{token[:20]:20} {a!s:{width}} {'' if a == b else b}")
        return lines

    def reason_lines(self) -> list[str]:
        """Reasons as lines; a row of a matrix has no positions."""
        lines = super().reason_lines()
        if len(self.tokens) > 1:
            return lines
        return [line.replace("  at 0: ", "  ", 1) for line in lines]

    def drawing(self) -> tuple[str, str]:
        """The winner, and the runner-up where it differs."""
        from partwise.report import draw

        x, winner, runner_up = self.drawn or (self.tokens, self.winner, self.runner_up)
        caption = "" if runner_up is None else DIFFERENCE
        return draw(x, winner, truth=runner_up), caption

    def support_lines(self) -> list[str]:
        """Support structures as lines."""
        return [line for example in self.support for line in example.lines(self.tokens)]
