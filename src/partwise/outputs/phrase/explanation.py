"""Why a phrase-structure tree won: rules, features and support structures."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from partwise.outputs.explanation import Comparison
from partwise.outputs.model import one_cut
from partwise.outputs.phrase.scoring import Reason
from partwise.protocol import Cuts, Floats, Ints, Support, take
from partwise.readers.brackets import format_tree
from partwise.readers.trees import PhraseTree

if TYPE_CHECKING:
    from partwise.outputs.phrase.model import ConstituencyModel


class SupportPhrases(NamedTuple):
    """Support structures with the training sentences they belong to."""

    sentences: list[list[tuple[str, str]]]
    trees: list[PhraseTree]  # the true ones, as the grammar sees them
    cuts: Cuts  # blocks are numbered as in `sentences`
    alpha: Floats  # (m,)
    rows: Ints  # (n_sentences,) their place among the sentences trained on

    @classmethod
    def create(
        cls, sentences: list[Any], trees: list[PhraseTree], support: Support
    ) -> SupportPhrases:
        """Keep only the sentences that carry dual mass."""
        rows, cuts = support.by_block()
        return cls(
            [sentences[i] for i in rows], [trees[i] for i in rows], cuts, support.alpha,
            rows,
        )  # fmt: skip


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
    """Why a tree won: winner against runner-up."""

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


def explain_tree(model: ConstituencyModel, x: Any, *, top: int = 10) -> TreeExplanation:
    """Why the best tree of one sentence beat the second best.

    Parameters
    ----------
    model : ConstituencyModel
    x : list of (word, tag)
    top : int
        Number of reasons, and of support structures where the model keeps them.

    Returns
    -------
    TreeExplanation
        Without a tree under the grammar the score is −inf; without a second one there
        is no runner-up and the lead is infinite.
    """
    if model.is_too_long(x):
        return TreeExplanation(model.predict([x])[0], None, -np.inf, 0.0)
    problem = next(model.problems([x]))
    ranked = problem.k_best_codes(problem.expand(model.weights), 2)[0]
    if not ranked:
        return TreeExplanation(model.predict([x])[0], None, -np.inf, 0.0)
    grammar = model.grammar
    winner, score = model.wrapped(grammar.tree(ranked[0][0], x)), ranked[0][1]
    if len(ranked) == 1:
        return TreeExplanation(winner, None, score, np.inf)
    runner_up, second = model.wrapped(grammar.tree(ranked[1][0], x)), ranked[1][1]
    codes = [code for code, _ in ranked]
    reasons = model.scoring.reasons(x, problem, model.weights, codes)
    reasons.sort(key=lambda reason: -abs(reason.share))
    reasons = [reason for reason in reasons[:top] if reason.share]
    explanation = TreeExplanation(winner, runner_up, score, score - second, reasons)
    if model.support is not None:
        explanation.support = _support_for(model, x, codes, top)
    return explanation


def _support_for(
    model: ConstituencyModel, x: Any, codes: list[Ints], top: int
) -> list[SupportTree]:
    """Planes whose α a has the largest part in <w, φ(winner) − φ(runner-up)>.

    The difference is a model on one sentence. It scores the sentences of the planes as
    a trained model scores new ones.
    """
    grammar, dual = model.grammar, model.support
    assert dual is not None
    fit = model.scoring.on([x])
    here = grammar.pack([x], None, parts=fit.parts, scorer=fit.scorer(1))
    lead = here.compact(here.combine(one_cut(codes[1]), np.ones(1)))
    lead = lead - here.compact(here.combine(one_cut(codes[0]), np.ones(1)))
    scoring, weights = fit.finish(here, lead)
    parts, scorer = scoring.parts_of(dual.sentences)
    problem = grammar.pack(dual.sentences, dual.trees, parts=parts, scorer=scorer)
    shares = dual.alpha * problem.margins(problem.expand(weights), dual.cuts)
    best = np.argsort(-np.abs(shares), kind="stable")[:top]
    best = best[shares[best] != 0.0]
    answers: list[SupportTree] = []
    if not len(best):
        return answers
    outputs = problem.outputs(take(dual.cuts, best))
    for k, output in zip(best.tolist(), outputs, strict=True):
        block = int(dual.cuts.block[k])
        truth = dual.trees[block]
        missed, made_up = grammar.differences(truth, output)
        answers.append(
            SupportTree(
                int(dual.rows[block]), truth, output, float(dual.alpha[k]),
                float(shares[k]), missed, made_up,
            )
        )  # fmt: skip
    return answers
