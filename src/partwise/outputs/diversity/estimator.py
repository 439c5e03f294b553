"""`DiverseSelector`: documents that cover subtopics with scikit-learn's interface."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any, Literal, Self

import numpy as np

from partwise.bounds import as_list
from partwise.certificate import certify
from partwise.features.covering import WordCovers
from partwise.outputs.diversity.model import DiversityModel
from partwise.outputs.estimator import as_object_array
from partwise.outputs.saved_estimator import SavedEstimator
from partwise.parameters import ParameterError, check_whole
from partwise.structures.coverage import Coverage


@dataclass(eq=False, repr=False, kw_only=True)
class DiverseSelector(SavedEstimator):
    """Choose k documents of a candidate set that together cover most subtopics.

    Learns what covering a word is worth from candidate sets whose documents are
    labelled with subtopics, and predicts for new ones by greedy choice (Yue and
    Joachims, ICML 2008). Minimises ½‖w‖² + (C/n) Σ_i ξ_i over the n candidate sets.

    Parameters
    ----------
    k : int
        Documents to choose.
    C : float or None
        Weight of the losses; by default ten times the number of candidate sets.
    features : {"frequency", "rich"} or callable
        What is known of a word: the share of documents that have it, or also how.
        Or a function from a candidate set to a pair: features of elements, and a matrix
        (documents, elements) of what covers what.
    shares : sequence of floats or None
        Shares of documents from which on a word has a feature; None for seven of them,
        from 0 to one half.
    nonnegative : bool
        Set negative weights to zero after training.
        Greedy prediction is then within 1 − 1/e of the best; the certificate is that of
        the changed weights.
    search_nodes : int
        Branches that a search may look at after the greedy choice.
        0 for none. With enough of them searches are exact, and the certificate has a
        gap.
    metric : str
        What `score` measures.
    loss, formulation, penalty, solver, tol, eps, max_iter, time_limit, random_state
        See `StructuredEstimator`; there is no ``loss="log"``.

    Attributes
    ----------
    coef_ : array (n_features,)
    feature_names_ : list of str

    Examples
    --------
    >>> from partwise.datasets import toy_candidates
    >>> X, y = toy_candidates(40)
    >>> selector = DiverseSelector(k=3, features="rich").fit(X[:30], y[:30])
    >>> selector.predict(X[30:])[0].shape
    (3,)
    >>> selector.score(X[30:], y[30:]) > 0.8
    True
    """

    k: int = 5
    features: Any = "frequency"
    shares: Any = None
    nonnegative: bool = False
    search_nodes: int = 0
    metric: str = "subtopic_coverage"
    loss: Literal["hinge"] = "hinge"

    model_: DiversityModel = field(init=False)
    model_class = DiversityModel
    measured = "selections"

    def check_parameters(self) -> None:
        """Refuse what cannot be fitted, before any data are read."""
        super().check_parameters()
        check_whole("k", self.k, 1)
        check_whole("search_nodes", self.search_nodes, 0)
        WordCovers(self.features, self.shares)

    def fit(self, X: Any, y: Any) -> Self:
        """Learn from candidate sets and the subtopics of their documents.

        Parameters
        ----------
        X : list
            Candidate sets: lists of texts, whose first line is the title; or matrices
            of word counts (documents, words); or `CoveringSet`.
        y : list of lists
            For each document of each set, its subtopics: a list or set.
        """
        self.check_parameters()
        X, y = as_list(X), as_list(y)
        if len(X) != len(y):
            raise ValueError(f"y has {len(y)} items where X has {len(X)} sets")
        covers = WordCovers(self.features, self.shares)
        structure = Coverage(self.k, self.search_nodes)
        model = DiversityModel(covers, structure, np.zeros(0), {})
        problem = model.training_problem(X, y, self._formulation(), self._n_jobs())
        largest = int(np.diff(problem.blocks.document).max())
        if self.k >= largest:
            raise ParameterError(
                "k", self.k, f"the largest candidate set has {largest} documents, of "
                "which some must be left out; give a smaller number",
            )  # fmt: skip
        self._learn_weights(model, problem)
        if self.nonnegative and (model.weights < 0).any():
            model.weights = np.maximum(model.weights, 0.0)
            learned = self.certificate_
            measured = certify(
                problem, self.objective_, problem.expand(model.weights),
                dual=learned.dual,
            )  # fmt: skip
            self.certificate_ = replace(
                measured,
                oracle_calls=learned.oracle_calls + measured.oracle_calls,
                stopped=learned.stopped,
                note="negative weights set to zero; the objective was "
                f"{learned.primal:.6g} before",
            )
            model.info = {"certificate": self.certificate_.to_dict()}
        return self

    def _default_C(self, n: int) -> float:
        return 10.0 * n

    def predict(self, X: Any) -> np.ndarray:
        """Numbers of the chosen documents of each set, in the order of choice."""
        self._check_fitted()
        return as_object_array(self.model_.predict(as_list(X), n_jobs=self._n_jobs()))

    @classmethod
    def _parameters_of(cls, model: DiversityModel) -> dict[str, Any]:
        covers = model.featurizer
        words = {"features": covers.features, "shares": list(covers.shares)}
        return super()._parameters_of(model) | words
