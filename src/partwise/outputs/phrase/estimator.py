"""`ConstituencyParser`: phrase-structure trees with scikit-learn's interface."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, field
from typing import Any, Literal, Self

import numpy as np

from partwise.bounds import as_list
from partwise.outputs.estimator import as_object_array
from partwise.outputs.kernel_fit import uses_keys
from partwise.outputs.phrase.model import ConstituencyModel
from partwise.outputs.support import SupportSet
from partwise.outputs.tree_estimator import TreeParser
from partwise.outputs.tree_learning import fit_phrases
from partwise.parameters import (
    SettingsError,
    check_whole,
    level_of_caller,
    worded_warning,
)
from partwise.protocol import Support
from partwise.readers.refusals import refuse_single
from partwise.readers.trees import as_phrase_tree, as_sentences, tagged_words
from partwise.solvers import Abilities
from partwise.structures.phrase import Grammar
from partwise.structures.phrase._rules import common_wrapper
from partwise.structures.phrase.partly_known import LatentGrammarProblem, is_partial


@dataclass(eq=False, repr=False, kw_only=True)
class ConstituencyParser(TreeParser):
    """Parse sentences into phrase-structure trees of a grammar of maximum margin.

    The rules are read off the training trees. Minimises ½‖w‖² + (C/n) Σ_i ξ_i, where
    ξ_i is how much a wrong tree ŷ of sentence i comes too near:
    max_ŷ Δ(y_i, ŷ) − <w, φ(x_i, y_i) − φ(x_i, ŷ)>.

    Parameters
    ----------
    C : float or None
        Weight of the losses; by default a fiftieth of the number of sentences where
        the loss counts brackets and spans have features, else half of it.
    horizontal : int or None
        Children remember this many siblings; by default rules stay as they were seen.
    vertical : int
        Labels with this number minus one of ancestors each.
    unary_steps : int
        Longest chain of unary rules.
    lexical : bool
        Parse words, without tags.
    min_count : int
        Leave out features, and words, that occur less often.
    features : {"spans", "rules"}
        Features of both ends of each bracket besides the rules, or the rules alone, as
        in Tsochantaridis et al. (ICML 2004).
    cost : {"brackets", "f1", "zero_one"}
        The loss Δ: brackets missed plus brackets made up; 1 − F1; 1 for a wrong tree.
    kernel : Kernel, str, callable or None
        Compare whole sentences by this kernel instead of features, as in
        ``"normalized(annotated)"``; see `partwise.kernels` and docs/constituency.md.
    match : str, callable, sequence of them, or None
        When two rules or brackets of two sentences are alike, as in
        ``"rule, label+tag"`` (the default of kernels); see
        `partwise.features.phrase_keys`. With `match` alone parts are compared and
        sentences are not.
    budget, over_budget, gram_options
        See `KernelParameters`.
    max_length : int or None
        Longer sentences give their rules but are not trained on, and get a flat tree
        when parsed.
    loss, formulation, penalty, solver, tol, eps, max_iter, time_limit, random_state
        See `StructuredEstimator`. The solver ``"pcfg"`` gives the rules their relative
        frequencies.
    warm_start : bool
        Keep the grammar of the last fit and start from its weights, where the solver
        can. Trees with other rules are then left out.
    metric : str
        What `score` measures; a name of `partwise.metrics`.

    Attributes
    ----------
    model_ : ConstituencyModel
    grammar_ : Grammar
    rule_weights_ : dict of rule to weight
    n_unfit_ : int
        Training trees left out because the grammar does not derive them.
    n_failures_ : int
        Sentences of the last `predict` without a tree under the grammar, or too long.
    n_too_long_ : int
        Those of them with more than `max_length` words, which were not parsed.
    n_unknown_tags_ : int
        Its words with a tag that training never showed; it stands for any other.

    Examples
    --------
    >>> from partwise.datasets import toy_treebank
    >>> X, y = toy_treebank(60, random_state=0)
    >>> parser = ConstituencyParser(features="rules").fit(X[:40], y[:40])
    >>> parser.predict(X[40:41])[0] == y[40]
    True
    >>> parser.n_failures_
    0
    """

    horizontal: int | None = None
    vertical: int = 1
    unary_steps: int = 3
    lexical: bool = False
    features: Literal["spans", "rules"] = "spans"
    min_count: int = 2
    cost: Literal["brackets", "f1", "zero_one"] = "brackets"
    max_length: int | None = None
    tol: float = 0.05
    metric: str = "labelled_f1"

    model_: ConstituencyModel = field(init=False)
    model_class = ConstituencyModel
    keeps_dual = True
    abilities = Abilities(("pcfg", "generative"), has_hidden_parts=True)
    measured = "phrases"
    as_given = ("features",)  # counts take "rules" in place of "spans"

    # ------------------------------------------------------------------ learning

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Learn from sentences and their trees.

        Parameters
        ----------
        X : list of lists of (word, tag)
        y : list of trees (label, children), or of `nltk.Tree`
            Of some trees only brackets may be known, a list of (label, begin, end) over
            the words begin … end − 1, with the label None if it is not known; or
            nothing, None. They are completed in rounds; the loss counts missed brackets
            alone. Rules come from whole trees.
        sample_weight : array (n_sentences,), optional
        """
        self.check_parameters()
        formulation = self._formulation()
        sentences = as_sentences(as_list(X), need_tags=not self.lexical)
        trees = [tree if is_partial(tree) else as_phrase_tree(tree) for tree in y]
        whole = [tree for tree in trees if not is_partial(tree)]
        self._refuse_hidden([len(whole) - len(trees)])
        if len(trees) != len(sentences):
            raise ValueError(f"y has {len(trees)} trees where X has {len(sentences)}")
        last = self._last_model
        grammar = self._read(whole) if last is None else last.grammar
        rows = self._usable(grammar, sentences, trees)
        self._weighted = sample_weight is not None
        if sample_weight is not None:
            sample_weight = np.asarray(sample_weight)[rows]
        wrapper = common_wrapper(whole)
        sentences, trees = [sentences[i] for i in rows], [trees[i] for i in rows]
        fit = fit_phrases(self, grammar, sentences, last)
        n_jobs = self._n_jobs()
        problem: Any = grammar.pack(
            sentences, trees, formulation, n_jobs=n_jobs, parts=fit.parts,
            scorer=fit.scorer(n_jobs),
        )  # fmt: skip
        model = ConstituencyModel(None, grammar, np.zeros(0), wrapper, self.max_length)

        def support(dual: Support) -> SupportSet:
            is_latent = isinstance(problem, LatentGrammarProblem)
            truths = problem.true_trees() if is_latent else trees
            return SupportSet.of_trees(sentences, truths, dual)

        self._learn(model, problem, fit, sample_weight, support)
        return self._keep(model)

    def check_parameters(self) -> None:
        """Refuse what cannot be fitted, before any data are read."""
        super().check_parameters()
        for name, least in (
            ("horizontal", 0), ("vertical", 1), ("unary_steps", 1), ("max_length", 1),
            ("min_count", 1),
        ):  # fmt: skip
            check_whole(name, getattr(self, name), least)

    def _read(self, trees: list[Any]) -> Grammar:
        # counts and keys have no spans
        is_plain = isinstance(self.solver, str) and self.solver == "pcfg"
        is_plain = is_plain or uses_keys(self)
        return Grammar(
            horizontal=self.horizontal,
            vertical=self.vertical,
            unary_steps=self.unary_steps,
            lexical=self.lexical,
            features="rules" if is_plain else self.features,
            min_count=self.min_count,
            cost=self.cost,
        ).setup(None, trees)

    def _usable(
        self, grammar: Grammar, sentences: list[Any], trees: list[Any]
    ) -> list[int]:
        """Sentences to train on; counts those whose tree is not in the grammar."""
        self.n_unfit_ = 0
        rows = []
        for i, (x, tree) in enumerate(zip(sentences, trees, strict=True)):
            leaves = list(x) if is_partial(tree) else tagged_words(tree)
            same = [w for w, _ in leaves] == [w for w, _ in x]
            if not same or not (self.lexical or leaves == list(x)):
                raise ValueError(f"tree {i} has other words or tags than sentence {i}")
            if self.max_length is not None and len(x) > self.max_length:
                continue
            if grammar.derives(x, tree, i):
                rows.append(i)
            else:
                self.n_unfit_ += 1
        if self.n_unfit_:
            text = (
                f"{self.n_unfit_} of {len(trees)} trees are not in the grammar and were"
                " left out; raise <unary_steps>"
            )
            if any(map(is_partial, trees)):
                text += ", or give more whole trees, whose rules make the grammar"
            warnings.warn(
                worded_warning(UserWarning, text), stacklevel=level_of_caller()
            )
        if not rows:
            raise SettingsError("no sentence is left to train on; raise <max_length>")
        return rows

    def _default_C(self, n: int) -> float:
        # rules alone are few features: at n/50 their weights hardly leave zero
        is_rich = self.cost == "brackets" and self.features == "spans"
        is_rich = is_rich and not uses_keys(self)
        return n * (0.02 if is_rich else 0.5)

    # ---------------------------------------------------------------- prediction

    def predict(self, X: Any) -> np.ndarray:
        """Best trees: a 1-D object array of (label, children).

        A sentence without a tree under the grammar gets a flat one: all words below
        the most frequent root label; `n_failures_` counts them, and `n_too_long_` those
        of them with too many words. A sentence without words
        gets the root label alone, and is no failure.
        """
        self._check_fitted()
        X = as_list(X)
        refuse_single(X)
        trees, is_parse = self.model_.parse(X, n_jobs=self._n_jobs())
        self.n_failures_ = int(np.sum(~is_parse))
        self.n_too_long_ = sum(map(self.model_.is_too_long, X))
        self.n_unknown_tags_ = self.model_.n_unknown_tags(X)
        return as_object_array(trees)

    # -------------------------------------------------------------------- files

    @classmethod
    def _parameters_of(cls, model: ConstituencyModel) -> dict[str, Any]:
        return super()._parameters_of(model) | {"max_length": model.max_length}

    # --------------------------------------------------------------- attributes

    @property
    def grammar_(self) -> Grammar:
        """The grammar read off the training trees."""
        return self.model_.grammar

    @property
    def rule_weights_(self) -> dict[str, float]:
        """Weight of each rule, by its text."""
        rules = self.grammar_.rules()
        return {
            " ".join(rule): float(w)
            for rule, w in zip(rules, self.model_.weights, strict=False)
        }

    @property
    def classes_(self) -> np.ndarray:
        """Labels of brackets."""
        return np.array(self.grammar_.labels_)
