"""Why an output won, in words and numbers."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, NamedTuple


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
        changed = ", ".join(f"{t}/{a}→{b}" for t, a, b in rows if a != b)
        return [
            f"  {self.share:+.4f}  training sequence {self.row} (α = {self.alpha:.4g}):"
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

    def support_lines(self) -> list[str]:
        """Support structures as lines."""
        return list(map(str, self.support))

    def __str__(self) -> str:
        lines = [
            *self.heading(),
            f"score {self.score:.4f}, ahead of the runner-up by {self.lead:.4f}",
            *map(str, self.contributions),
            *self.support_lines(),
        ]
        return "\n".join(lines)


@dataclass
class Explanation(Comparison):
    """Why an output won: winner against runner-up."""

    tokens: list[str]
    winner: list[Any]
    runner_up: list[Any] | None
    score: float
    lead: float
    contributions: list[Contribution] = field(default_factory=list)
    support: list[Any] = field(default_factory=list)

    @classmethod
    def compare(
        cls,
        tokens: list[str],
        outputs: Sequence[list[Any]],
        scores: Sequence[float],
        reasons: Iterable[Contribution],
        top: int,
    ) -> Explanation:
        """Winner and runner-up, their scores, and the reasons of largest share."""
        heaviest = sorted(reasons, key=lambda reason: -abs(reason.share))[:top]
        lead = float(scores[0] - scores[1])
        return cls(tokens, outputs[0], outputs[1], float(scores[0]), lead, heaviest)

    def to_dict(self) -> dict[str, Any]:
        """In the types of JSON."""
        return asdict(self) | {
            "contributions": [reason._asdict() for reason in self.contributions],
            "support": [example._asdict() for example in self.support],
        }

    def heading(self) -> list[str]:
        """A line for each token; the runner-up where it differs."""
        lines = [f"{'token':20} {'winner':12} runner-up"]
        other = self.runner_up or self.winner
        for token, a, b in zip(self.tokens, self.winner, other, strict=True):
            lines.append(f"{token[:20]:20} {a!s:12} {'' if a == b else b}")
        return lines

    def support_lines(self) -> list[str]:
        """Support structures as lines."""
        return [line for example in self.support for line in example.lines(self.tokens)]
