"""A trained phrase-structure parser: grammar, scoring and weights.

It predicts and explains without scikit-learn, so the command line starts quickly;
`ConstituencyParser` is this model plus learning.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, ClassVar

import numpy as np

from partwise.objective import Formulation
from partwise.outputs.kernel_scoring import Listing
from partwise.outputs.model import ScoredModel, log_partitions, normalised
from partwise.outputs.phrase.explanation import (
    SupportPhrases,
    TreeExplanation,
    explain_tree,
)
from partwise.outputs.phrase.scoring import PhraseScoring
from partwise.protocol import Floats
from partwise.readers.trees import (
    DrawnTree,
    PhraseTree,
    TaggedSentence,
    as_sentences,
)
from partwise.structures.phrase import Grammar
from partwise.structures.phrase.problem import GrammarProblem


class ConstituencyModel(ScoredModel):
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
        What a model file tells about itself: certificate, settings, history; JSON.
    support : SupportPhrases, optional
        The support structures of the dual.
    """

    name: ClassVar[str] = "ConstituencyModel"

    def __init__(
        self,
        scoring: PhraseScoring,
        grammar: Grammar,
        weights: Floats,
        wrapper: str | None = None,
        max_length: int | None = None,
        info: dict[str, Any] | None = None,
        support: SupportPhrases | None = None,
    ) -> None:
        self.scoring = scoring
        self.grammar = grammar
        self.weights = weights
        self.wrapper = wrapper
        self.max_length = max_length
        self.info = info or {}
        self.support = support

    # ------------------------------------------------------------------- problems

    def sentences(self, X: Any) -> list[TaggedSentence]:
        """X as lists of (word, tag)."""
        if not len(X):
            return []
        return as_sentences(X, need_tags=not self.grammar.lexical)

    def problems(self, X: Any, n_jobs: int = 1) -> Iterator[GrammarProblem]:
        """Packed sentences to parse: all at once, or in turn what fits in memory."""
        sentences = self.sentences(X)
        if not sentences:
            return
        begin = 0
        for parts, scorer in self.scoring.batches(sentences):
            end = begin + len(parts.offset) - 1
            yield self.grammar.pack(
                sentences[begin:end], None, n_jobs=n_jobs, parts=parts, scorer=scorer
            )
            begin = end

    def training_problem(
        self, X: Any, y: Any, formulation: Formulation, n_jobs: int = 1
    ) -> GrammarProblem:
        """The problem whose objective the certificate speaks of.

        Of the sentences that took part: not too long, with a tree of the grammar.
        """
        pairs = zip(self.sentences(X), y, strict=True)
        usable = [(x, tree) for x, tree in pairs if self.is_usable(x, tree)]
        if not usable:
            raise ValueError("no tree is one of the grammar")
        X, y = zip(*usable, strict=True)
        parts, scorer = self.scoring.training(X, n_jobs)
        return self.grammar.pack(
            X, y, formulation, n_jobs=n_jobs, parts=parts, scorer=scorer
        )

    def is_too_long(self, x: Sequence[Any]) -> bool:
        """Whether a sentence has more words than are parsed."""
        return self.max_length is not None and len(x) > self.max_length

    def is_usable(self, x: Sequence[Any], tree: PhraseTree) -> bool:
        """Whether a sentence takes part in training."""
        return not self.is_too_long(x) and self.grammar.fits(tree)

    # ----------------------------------------------------------------- prediction

    def predict(self, X: Any, *, n_jobs: int = 1) -> list[PhraseTree]:
        """The best tree of each sentence."""
        return self.parse(X, n_jobs=n_jobs)[0]

    def parse(self, X: Any, *, n_jobs: int = 1) -> tuple[list[PhraseTree], np.ndarray]:
        """Trees, and which of them are parses.

        A sentence that has no tree under the grammar, or more than `max_length` words,
        gets a flat tree: all words below the most frequent root label.
        """
        sentences = self.sentences(X)
        nothing = np.zeros(0, np.int32)
        trees = [self.grammar.tree(nothing, x) for x in sentences]
        is_parse = np.zeros(len(sentences), bool)
        rows = iter(self._short(sentences))
        for problem in self._short_problems(sentences, n_jobs):
            cuts = problem.predict_codes(problem.expand(self.weights))
            for code in np.split(cuts.code, cuts.indptr[1:-1]):
                i = next(rows)
                trees[i] = self.grammar.tree(code, sentences[i])
                is_parse[i] = code[0] >= 0
        return [self.wrapped(tree) for tree in trees], is_parse

    def _short(self, sentences: list[TaggedSentence]) -> list[int]:
        """Sentences that are not too long."""
        return [i for i, x in enumerate(sentences) if not self.is_too_long(x)]

    def _short_problems(
        self, sentences: list[TaggedSentence], n_jobs: int
    ) -> Iterator[GrammarProblem]:
        """Packed sentences that are not too long."""
        short = [sentences[i] for i in self._short(sentences)]
        yield from self.problems(short, n_jobs) if short else ()

    def wrapped(self, tree: PhraseTree) -> PhraseTree:
        """A tree within the label that surrounds all, if there is one."""
        return DrawnTree(tree if self.wrapper is None else (self.wrapper, (tree,)))

    def predict_topk(
        self, X: Any, k: int, *, n_jobs: int = 1
    ) -> list[list[tuple[PhraseTree, float]]]:
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
        if k < 1:
            raise ValueError(f"k={k!r}: give a positive whole number")
        sentences = self.sentences(X)
        weights = self.tempered_weights if as_log_probability else self.weights
        answers: list[list[tuple[PhraseTree, float]]] = [[] for _ in sentences]
        rows = iter(self._short(sentences))
        for problem in self._short_problems(sentences, n_jobs):
            model = problem.expand(weights)
            total = [None] * problem.n_blocks
            if as_log_probability:
                total = log_partitions(problem, model).tolist()
            for ranked, log_z in zip(problem.k_best(model, k), total, strict=True):
                i = next(rows)
                if self.n_unknown_tags([sentences[i]]):
                    ranked = self._distinct(sentences[i], ranked, k, weights)
                answers[i] = [
                    (self.wrapped(tree), normalised(score, log_z))
                    for tree, score in ranked
                ]
        yield from answers

    def _distinct(
        self,
        x: TaggedSentence,
        ranked: list[tuple[PhraseTree, float]],
        k: int,
        weights: Floats,
    ) -> list[tuple[PhraseTree, float]]:
        """The k best trees where one may come in several derivations."""
        problem = next(self.problems([x]))
        asked = k
        while True:
            best: dict[PhraseTree, float] = {}
            for tree, score in ranked:
                best.setdefault(tree, score)
            if len(best) >= k or len(ranked) < asked:
                return list(best.items())[:k]
            asked *= 2
            ranked = problem.k_best(problem.expand(weights), asked)[0]

    def n_unknown_tags(self, X: Any) -> int:
        """Words whose tag training never showed; it stands for any other."""
        if self.grammar.lexical:
            return 0
        known = self.grammar.counts_.tags
        return sum(tag not in known for x in self.sentences(X) for _, tag in x)

    def marginals(self, X: Any, *, n_jobs: int = 1) -> list[Floats]:
        """P(label over words i … j − 1) ∝ exp(score/T), (n + 1, n + 1, n_labels) each.

        They are probabilities where the model `has_probabilities`, or of the PCFG: a
        margin is none.
        """
        return [
            table
            for problem in self.problems(X, n_jobs)
            for table in problem.marginals(problem.expand(self.tempered_weights))[0]
        ]

    def weights_by_label(self) -> Listing:
        """Names of rules and features, or of keys and anchors, with their weights."""
        return self.scoring.heaviest(self.weights)

    def explain(self, X: Any, *, top: int = 10) -> TreeExplanation:
        """Why the best tree of one sentence beat the second best.

        Parameters
        ----------
        X : one sentence, in a list
        top : int
            Number of reasons and of support structures.
        """
        return explain_tree(self, self.sentences(X)[0], top=top)
