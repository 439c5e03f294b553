"""Why a tree won, in words and numbers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from partwise.outputs.explanation import Comparison, Contribution
from partwise.protocol import Floats, Ints
from partwise.readers.brackets import format_tree
from partwise.readers.trees import DependencyTree, PhraseTree


def written_arcs(tree: DependencyTree) -> list[str]:
    """Arcs as label(head), as in ``nsubj(2)``."""
    return [f"{label}({head})" for head, label in zip(*tree, strict=True)]


def arc_reasons(
    words: list[str], trees: Sequence[DependencyTree], changed: Ints, shares: Floats
) -> list[Contribution]:
    """The changed arcs of winner and runner-up in words, as in "nsubj of works"."""
    reasons = []
    for t, share in zip(changed.tolist(), shares.tolist(), strict=True):
        names = [words[heads[t] - 1] if heads[t] else "the root" for heads, _ in trees]
        winner, runner = (
            f"{labels[t]} of {name}"
            for (_, labels), name in zip(trees, names, strict=True)
        )
        why = f"the arc to {words[t]}"
        reasons.append(Contribution(t, why, winner, runner, share))
    return reasons


class SupportSentence(NamedTuple):
    """A training sentence, or a key, and its share of the winner's lead."""

    row: int | None  # place in the training data; None for a key without a kernel
    words: list[str]  # of the sentence, or what the key stands for
    share: float
    arcs: list[tuple[int, int, float]]  # (head, dependent, share), largest first

    def lines(self, tokens: list[str]) -> list[str]:
        """As text; `tokens` are those of the explained sentence."""
        names = ["ROOT", *tokens]
        words = " ".join(self.words)
        if self.row is not None:
            words = f"training sentence {self.row}: {words}"
        return [f"  {self.share:+.4f}  {words}"] + [
            f"    {share:+.4f}  {names[head]} → {names[dep]}"
            for head, dep, share in self.arcs[:3]
        ]


class Reason(NamedTuple):
    """A rule, feature, key or training sentence that decides between two trees."""

    name: str
    in_winner: int  # how often it occurs
    in_runner_up: int
    share: float  # of the lead

    def __str__(self) -> str:
        return (
            f"  {self.share:+.4f}  {self.name} ({self.in_winner} times rather than "
            f"{self.in_runner_up})"
        )


class SupportTree(NamedTuple):
    """A support structure of the dual and its share of the lead."""

    row: int  # place among the sentences trained on
    truth: PhraseTree
    output: PhraseTree
    alpha: float
    share: float
    missed: list[str]  # brackets of the truth that the output lacks, as NP[0:2]
    made_up: list[str]  # brackets of the output that the truth lacks

    def __str__(self) -> str:
        changed = [f"−{name}" for name in self.missed] + [f"+{n}" for n in self.made_up]
        return (
            f"  {self.share:+.4f}  training sentence {self.row} (α = {self.alpha:.4g}):"
            f" {' '.join(changed)}"
        )


@dataclass
class TreeExplanation(Comparison):
    """Why a phrase-structure tree won: winner against runner-up."""

    winner: PhraseTree
    runner_up: PhraseTree | None
    score: float
    lead: float
    contributions: list[Reason] = field(default_factory=list)
    support: list[SupportTree] = field(default_factory=list)

    def to_dict(self) -> dict[str, Any]:
        """In the types of JSON; trees in brackets."""
        runner_up = None if self.runner_up is None else format_tree(self.runner_up)
        return {
            "winner": format_tree(self.winner),
            "runner_up": runner_up,
            "score": self.score,
            "lead": self.lead,
            "contributions": [reason._asdict() for reason in self.contributions],
            "support": [
                example._asdict()
                | {
                    "truth": format_tree(example.truth),
                    "output": format_tree(example.output),
                }
                for example in self.support
            ],
        }

    def drawing(self) -> tuple[str, str]:
        """Both trees."""
        from partwise.report import draw_phrase_tree

        if self.runner_up is None:
            return draw_phrase_tree(self.winner), ""
        titles = "winner", "runner-up"
        drawn = draw_phrase_tree(self.winner, truth=self.runner_up, titles=titles)
        return drawn, "Framed phrases are in one of the two only."

    def heading(self) -> list[str]:
        """Both trees in brackets."""
        lines = [f"winner     {format_tree(self.winner)}"]
        if self.runner_up is not None:
            lines.append(f"runner-up  {format_tree(self.runner_up)}")
        return lines
