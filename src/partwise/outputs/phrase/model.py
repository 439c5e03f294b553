"""A trained phrase-structure parser: grammar, scoring, weights, no scikit-learn."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, ClassVar

import numpy as np

from partwise.objective import Formulation
from partwise.outputs.kernel_scoring import Listing
from partwise.outputs.model import MAX_K, one_cut
from partwise.outputs.support import SupportSet
from partwise.outputs.tree_explanation import Reason, SupportTree, TreeExplanation
from partwise.outputs.tree_model import TreeModel
from partwise.outputs.tree_scoring import PhraseFeatureScoring, PhraseKeyScoring
from partwise.protocol import Floats, Ints, take
from partwise.readers.trees import DrawnTree, PhraseTree, TaggedSentence, as_sentences
from partwise.structures.phrase import Grammar
from partwise.structures.phrase.partly_known import LatentGrammarProblem
from partwise.structures.phrase.problem import GrammarProblem

Ranked = list[tuple[PhraseTree, float]]


class ConstituencyModel(TreeModel):
    """Predicts and explains phrase-structure trees.

    Parameters
    ----------
    scoring : PhraseFeatureScoring or PhraseKeyScoring
        How rules and brackets are scored.
    grammar : Grammar
        After `setup`.
    weights : array (n_weights,)
    wrapper : str or None
        Label around each whole tree, such as TOP, if the training trees had one.
    max_length : int or None
        Longer sentences are not parsed.
    info : dict
        Certificate, settings and history, as a model file holds them: JSON.
    support : SupportSet, optional
        The support structures of the dual; its truths are trees.
    """

    name: ClassVar[str] = "ConstituencyModel"

    def __init__(
        self,
        scoring: PhraseFeatureScoring | PhraseKeyScoring | None,
        grammar: Grammar,
        weights: Floats,
        wrapper: str | None = None,
        max_length: int | None = None,
        info: dict[str, Any] | None = None,
        support: SupportSet | None = None,
    ) -> None:
        super().__init__(scoring, grammar, grammar.labels_, weights, info, support)
        self.grammar = grammar
        self.wrapper = wrapper
        self.max_length = max_length

    # ------------------------------------------------------------------- problems

    def sentences(self, X: Any, *, may_be_empty: bool = False) -> list[TaggedSentence]:
        """X as lists of (word, tag)."""
        if not len(X):
            return []
        need_tags = not self.grammar.lexical
        return as_sentences(X, need_tags=need_tags, may_be_empty=may_be_empty)

    def problems(self, X: Any, n_jobs: int = 1) -> Iterator[GrammarProblem]:
        """Packed sentences to parse: all at once, or in turn what fits in memory."""
        sentences = self.sentences(X)
        begin = 0
        for parts, scorer in self.scoring.batches(sentences) if sentences else ():
            end = begin + len(parts.offset) - 1
            yield self.grammar.pack(
                sentences[begin:end], None, n_jobs=n_jobs, parts=parts, scorer=scorer
            )
            begin = end

    def training_problem(
        self, X: Any, y: Any, formulation: Formulation, n_jobs: int = 1
    ) -> GrammarProblem:
        """The problem whose objective the certificate states.

        Of the sentences that took part: not too long, with a tree of the grammar.
        """
        pairs = zip(self.sentences(X), y, strict=True)
        usable = [(x, tree) for x, tree in pairs if self.is_usable(x, tree)]
        if not usable:
            raise ValueError("no tree is one of the grammar")
        X, y = zip(*usable, strict=True)
        parts, scorer = self.scoring.training(X, n_jobs)
        problem = self.grammar.pack(
            X, y, formulation, n_jobs=n_jobs, parts=parts, scorer=scorer
        )
        if isinstance(problem, LatentGrammarProblem):
            problem.complete(problem.expand(self.weights))
        return problem

    def is_too_long(self, x: Sequence[Any]) -> bool:
        """Whether a sentence has more words than are parsed."""
        return self.max_length is not None and len(x) > self.max_length

    def is_usable(self, x: Sequence[Any], tree: PhraseTree) -> bool:
        """Whether a sentence takes part in training."""
        return not self.is_too_long(x) and self.grammar.derives(x, tree)

    # ----------------------------------------------------------------- prediction

    def parse(self, X: Any, *, n_jobs: int = 1) -> tuple[list[PhraseTree], np.ndarray]:
        """Trees, and which of them are parses.

        A sentence that has no tree under the grammar, or more than `max_length` words,
        gets a flat tree: all words below the most frequent root label. One without
        words gets this label alone.
        """
        sentences = self.sentences(X, may_be_empty=True)
        no_code = np.zeros(0, np.int32)
        trees = [self.wrapped(self.grammar.tree(no_code, x)) for x in sentences]
        is_parse = np.array([not x for x in sentences], bool)
        rows = iter(self._short(sentences))
        for problem in self.problems(
            [sentences[i] for i in self._short(sentences)], n_jobs
        ):
            cuts = problem.predict_codes(problem.expand(self.weights))
            for code in cuts.codes:
                i = next(rows)
                trees[i] = self.wrapped(self.grammar.tree(code, sentences[i]))
                is_parse[i] = code[0] >= 0
        return trees, is_parse

    def _short(self, sentences: list[TaggedSentence]) -> list[int]:
        """Sentences that have words, and not too many."""
        return [i for i, x in enumerate(sentences) if x and not self.is_too_long(x)]

    def wrapped(self, tree: PhraseTree) -> PhraseTree:
        """A tree within the label that surrounds all, if there is one."""
        if self.wrapper is None:
            return DrawnTree(tree)
        return DrawnTree((self.wrapper, (tree,) if tree[1] else ()))

    def predict_topk(self, X: Any, k: int, *, n_jobs: int = 1) -> list[Ranked]:
        """The k best trees of each sentence with their scores, best first.

        With log-probabilities, where the model `has_probabilities`. The list of a
        sentence that cannot be parsed is empty.
        """
        return list(
            self.ranked(X, k, n_jobs, as_log_probability=self.has_probabilities)
        )

    def ranked(
        self, X: Any, k: int, n_jobs: int = 1, *, as_log_probability: bool = False
    ) -> Iterator[list[tuple[Any, float]]]:
        """The k best trees of each sentence; none where there is no tree.

        With an unknown tag, log P is that of the best derivation of a tree.
        """
        sentences = self.sentences(X)
        answers: list[Ranked] = [[] for _ in sentences]
        short = self._short(sentences)
        if as_log_probability:  # the sum over no trees has no logarithm
            _, is_parse = self.parse(sentences, n_jobs=n_jobs)
            short = [i for i in short if is_parse[i]]
        ranked_lists: Iterator[Any] = super().ranked(
            [sentences[i] for i in short],
            k,
            n_jobs,
            as_log_probability=as_log_probability,
        )
        for i, ranked in zip(short, ranked_lists, strict=True):
            if self.n_unknown_tags([sentences[i]]):
                ranked = self._distinct(sentences[i], k, as_log_probability)
            answers[i] = [(self.wrapped(tree), score) for tree, score in ranked]
        yield from answers

    def _distinct(self, x: TaggedSentence, k: int, as_log_probability: bool) -> Ranked:
        """The k best trees where one may come in several derivations."""
        n_asked = k
        while True:
            (ranked,) = super().ranked(
                [x], n_asked, as_log_probability=as_log_probability
            )
            best: dict[PhraseTree, float] = {}
            for tree, score in ranked:
                best.setdefault(tree, score)
            if len(best) >= k or len(ranked) < n_asked or n_asked == MAX_K:
                return list(best.items())[:k]
            n_asked = min(2 * n_asked, MAX_K)

    def n_unknown_tags(self, X: Any) -> int:
        """Words whose tag training never showed; it stands for any other."""
        if self.grammar.lexical:
            return 0
        known = self.grammar.counts_.tags
        sentences = self.sentences(X, may_be_empty=True)
        return sum(tag not in known for x in sentences for _, tag in x)

    def weights_by_label(self) -> Listing:
        """Names of rules and features, or of keys and anchors, with their weights."""
        return self.scoring.heaviest(self.weights)

    # ---------------------------------------------------------------- explanation

    def _first(self, X: Any) -> TaggedSentence:
        return self.sentences(X)[0]

    def _two_best(self, x: TaggedSentence) -> list[tuple[Ints, float]]:
        if self.is_too_long(x):
            return []
        problem = next(self.problems([x]))
        return problem.k_best_codes(problem.expand(self.weights), 2)[0]

    def _compared(
        self, x: TaggedSentence, codes: Sequence[Ints], score: float, lead: float
    ) -> TreeExplanation:
        trees: list[Any] = [self.wrapped(self.grammar.tree(c, x)) for c in codes]
        winner = trees[0] if trees else self.predict([x])[0]
        return TreeExplanation(winner, (trees[1:] or [None])[0], score, lead)

    def _reasons(self, x: TaggedSentence, codes: Sequence[Ints]) -> list[Reason]:
        """Rules and features, or keys and training sentences."""
        problem = next(self.problems([x]))
        reasons = self.scoring.reasons(x, problem, self.weights, codes)
        return [reason for reason in reasons if reason.share]

    def _supporters(
        self, x: TaggedSentence, codes: Sequence[Ints], top: int
    ) -> list[SupportTree]:
        """Planes whose α a has the largest part in <w, φ(winner) − φ(runner-up)>.

        The difference is a model on one sentence. It scores the sentences of the planes
        as a trained model scores new ones.
        """
        grammar, support = self.grammar, self.support
        if support is None or len(codes) < 2:
            return []
        fit = self.scoring.on([x])
        example = grammar.pack([x], None, parts=fit.parts, scorer=fit.scorer(1))
        lead = example.compact(example.combine(one_cut(codes[1]), np.ones(1)))
        lead = lead - example.compact(example.combine(one_cut(codes[0]), np.ones(1)))
        scoring, weights = fit.finish(example, lead)
        parts, scorer = scoring.parts_of(support.inputs)
        problem = grammar.pack(support.inputs, support.y, parts=parts, scorer=scorer)
        shares = support.alpha * problem.margins(problem.expand(weights), support.cuts)
        heaviest = np.argsort(-np.abs(shares), kind="stable")[:top]
        heaviest = heaviest[shares[heaviest] != 0.0]
        supporters: list[SupportTree] = []
        outputs = problem.outputs(take(support.cuts, heaviest)) if len(heaviest) else []
        for k, output in zip(heaviest.tolist(), outputs, strict=True):
            block = int(support.cuts.block[k])
            truth, row = support.y[block], int(support.rows[block])
            alpha, share = float(support.alpha[k]), float(shares[k])
            changes = grammar.differences(truth, output)
            supporters.append(SupportTree(row, truth, output, alpha, share, *changes))
        return supporters
