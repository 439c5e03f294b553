"""A trained phrase-structure parser: grammar and weights.

It predicts and explains without scikit-learn, so the command line starts quickly;
`ConstituencyParser` is this model plus learning.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from partwise.objective import Formulation
from partwise.outputs.phrase.explanation import (
    SupportPhrases,
    TreeExplanation,
    explain_tree,
)
from partwise.protocol import Floats
from partwise.readers.trees import PhraseTree
from partwise.structures.phrase import Grammar
from partwise.structures.phrase.problem import GrammarProblem

Sentence = list[tuple[str, str]]


def as_sentences(X: Any, *, need_tags: bool = True) -> list[Sentence]:
    """Sentences as lists of (word, tag).

    Parameters
    ----------
    X : list of lists of (word, tag)
        Words alone will do where no tags are needed.
    need_tags : bool
    """
    if not len(X):
        raise ValueError("X has no sentence")
    is_word = isinstance(X, str) or isinstance(X[0], str)
    is_token = isinstance(X[0], tuple) and all(isinstance(part, str) for part in X[0])
    if is_word or (need_tags and is_token and X[0]):
        raise ValueError("X is one sentence; give a list of sentences: [X]")
    sentences = []
    for i, x in enumerate(X):
        tokens: Sentence = []
        for token in x:
            if isinstance(token, str) and not need_tags:
                tokens.append((token, ""))
                continue
            is_pair = isinstance(token, tuple | list) and len(token) == 2
            if not is_pair or not all(isinstance(part, str) for part in token):
                raise ValueError(f"sentence {i}: {token!r:.60} is no (word, tag)")
            tokens.append((token[0], token[1]))
        if not tokens:
            raise ValueError(f"sentence {i} has no words")
        sentences.append(tokens)
    return sentences


class ConstituencyModel:
    """A phrase-structure parser without its teacher.

    Parameters
    ----------
    grammar : Grammar
        After `setup`.
    weights : array (n_psi,)
    wrapper : str or None
        Label around each whole tree, such as TOP, if the training trees had one.
    max_length : int or None
        Longer sentences are not parsed.
    info : dict
        What a model file tells about itself: certificate, settings, history; JSON.
    support : SupportPhrases, optional
        The support structures of the dual.
    """

    def __init__(
        self,
        grammar: Grammar,
        weights: Floats,
        wrapper: str | None = None,
        max_length: int | None = None,
        info: dict[str, Any] | None = None,
        support: SupportPhrases | None = None,
    ) -> None:
        self.grammar = grammar
        self.weights = weights
        self.wrapper = wrapper
        self.max_length = max_length
        self.info = info or {}
        self.support = support

    # ------------------------------------------------------------------- problems

    def sentences(self, X: Any) -> list[Sentence]:
        """X as lists of (word, tag)."""
        if not len(X):
            return []
        return as_sentences(X, need_tags=not self.grammar.lexical)

    def problem(self, X: Any, n_jobs: int = 1) -> GrammarProblem:
        """Packed sentences to parse."""
        return self.grammar.pack(self.sentences(X), None, n_jobs=n_jobs)

    def training_problem(
        self, X: Any, y: Any, formulation: Formulation, n_jobs: int = 1
    ) -> GrammarProblem:
        """The problem whose objective the certificate speaks of.

        Of the sentences that took part: not too long, with a tree of the grammar.
        """
        kept = [
            (x, tree)
            for x, tree in zip(self.sentences(X), y, strict=True)
            if not self.is_too_long(x) and self.grammar.fits(tree)
        ]
        if not kept:
            raise ValueError("no tree is one of the grammar")
        X, y = zip(*kept, strict=True)
        return self.grammar.pack(X, y, formulation, n_jobs=n_jobs)

    def is_too_long(self, x: Sequence[Any]) -> bool:
        """Whether a sentence has more words than are parsed."""
        return self.max_length is not None and len(x) > self.max_length

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
        found: list[Any] = [None] * len(sentences)
        rows = [i for i, x in enumerate(sentences) if not self.is_too_long(x)]
        is_parse = np.zeros(len(sentences), bool)
        if rows:
            problem = self.grammar.pack(
                [sentences[i] for i in rows], None, n_jobs=n_jobs
            )
            cuts = problem.predict_codes(problem.expand(self.weights))
            codes = np.split(cuts.code, cuts.indptr[1:-1])
            for i, code in zip(rows, codes, strict=True):
                found[i] = self.grammar.tree(code, sentences[i])
                is_parse[i] = code[0] >= 0
        nothing = np.zeros(0, np.int32)
        for i, x in enumerate(sentences):
            if found[i] is None:
                found[i] = self.grammar.tree(nothing, x)
        return [self.wrapped(tree) for tree in found], is_parse

    def wrapped(self, tree: PhraseTree) -> PhraseTree:
        """A tree within the label that surrounds all, if there is one."""
        return tree if self.wrapper is None else (self.wrapper, (tree,))

    def predict_topk(
        self, X: Any, k: int, *, n_jobs: int = 1
    ) -> list[list[tuple[PhraseTree, float]]]:
        """The k best trees of each sentence with their scores, best first.

        The list of a sentence that cannot be parsed is empty.
        """
        if k < 1:
            raise ValueError(f"k={k!r}: give a positive whole number")
        sentences = self.sentences(X)
        answers: list[list[tuple[PhraseTree, float]]] = [[] for _ in sentences]
        rows = [i for i, x in enumerate(sentences) if not self.is_too_long(x)]
        if rows:
            problem = self.grammar.pack(
                [sentences[i] for i in rows], None, n_jobs=n_jobs
            )
            ranked = problem.k_best(problem.expand(self.weights), k)
            for i, found in zip(rows, ranked, strict=True):
                if self.n_unknown_tags([sentences[i]]):
                    found = self._distinct(sentences[i], found, k)
                answers[i] = [(self.wrapped(tree), score) for tree, score in found]
        return answers

    def _distinct(
        self, x: Sentence, found: list[tuple[PhraseTree, float]], k: int
    ) -> list[tuple[PhraseTree, float]]:
        """The k best trees where one may come in several derivations."""
        problem = self.problem([x])
        asked = k
        while True:
            best: dict[PhraseTree, float] = {}
            for tree, score in found:
                best.setdefault(tree, score)
            if len(best) >= k or len(found) < asked:
                return list(best.items())[:k]
            asked *= 2
            found = problem.k_best(problem.expand(self.weights), asked)[0]

    def n_unknown_tags(self, X: Any) -> int:
        """Words whose tag training never showed; it stands for any other."""
        if self.grammar.lexical:
            return 0
        known = self.grammar.counts_.tags
        return sum(tag not in known for x in self.sentences(X) for _, tag in x)

    def margin(self, X: Any, *, n_jobs: int = 1) -> Floats:
        """Score of the best tree and its lead over the second, (n_sentences, 2).

        −inf and 0 where there is no tree.
        """
        rows = []
        for found in self.predict_topk(X, 2, n_jobs=n_jobs):
            if not found:
                rows.append((-np.inf, 0.0))
                continue
            best = found[0][1]
            rows.append((best, best - found[1][1] if len(found) > 1 else np.inf))
        return np.reshape(np.array(rows), (-1, 2))

    def marginals(self, X: Any, *, n_jobs: int = 1) -> list[Floats]:
        """P(label over words i … j − 1) ∝ exp(score), (n + 1, n + 1, n_labels) each.

        They are probabilities of the model when it was trained with ``loss="log"``, or
        of the PCFG.
        """
        if not len(X):
            return []
        problem = self.problem(X, n_jobs)
        return problem.marginals(problem.expand(self.weights))[0]

    def explain(self, X: Any, *, top: int = 10) -> TreeExplanation:
        """Why the best tree of one sentence beat the second best.

        Parameters
        ----------
        X : one sentence, in a list
        top : int
            Number of reasons and of support structures.
        """
        return explain_tree(self, self.sentences(X)[0], top=top)
