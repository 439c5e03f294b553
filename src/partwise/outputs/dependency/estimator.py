"""`DependencyParser`: dependency trees with scikit-learn's interface."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal, Self

import numpy as np

from partwise.bounds import as_list
from partwise.certificate import Certificate
from partwise.features.sentences import sentence_table, shown_words
from partwise.features.vocabulary import check_settings
from partwise.metrics import metric as find_metric
from partwise.outputs.dependency.learning import LABELS, fit_labeller, fit_pruner
from partwise.outputs.dependency.model import DependencyModel
from partwise.outputs.support import support_of
from partwise.outputs.tree_estimator import TreeParser
from partwise.outputs.tree_learning import fit_arcs
from partwise.parameters import SettingsError, check_not_negative, check_whole
from partwise.protocol import Floats
from partwise.readers.trees import DependencyTree
from partwise.structures.dependency import Arborescence
from partwise.structures.dependency import codes as tree_codes


@dataclass(eq=False, repr=False, kw_only=True)
class DependencyParser(TreeParser):
    """Parse sentences into labelled dependency trees of maximum margin.

    Minimises ½‖w‖² + (C/n) Σ_i ξ_i, where ξ_i is how much a wrong tree ŷ of sentence i
    comes too near: max_ŷ Δ(y_i, ŷ) − <w, φ(x_i, y_i) − φ(x_i, ŷ)>.

    Parameters
    ----------
    C : float or None
        Weight of the losses; by default a fiftieth of the number of sentences.
    templates : str, list of str or None
        Templates of arcs over the columns of the sentences, or the name of a preset
        (`ARC_PRESETS`). None: all that the columns form, lemma, upos and xpos allow.
    label_templates : str, list of str or None
        Templates of labels.
    min_count : int
        Without hashing: leave out features that occur on fewer true arcs.
    hash_bits : int or None
        Hash features to ``2**hash_bits`` rows of weights. None: a vocabulary of the
        features of true arcs, with names, several times slower.
    arc_memory : float
        Gigabytes that lists of the features of all arcs, with ``order=2`` of all
        candidates, may take while training. Where they take more, features are made
        anew whenever an arc is scored, which takes several times as long.
    order : {1, 2}
        Score single arcs, or also arcs with the next sibling and with the head of the
        head, over the candidate heads that a small first model chooses.
    n_candidates : int
        With ``order=2``: heads per word that the first model keeps.
    projective : bool
        Whether arcs must not cross. With crossing arcs, a parser of order 2 finds good
        trees but not surely the best ones.
    single_root : bool
        Whether exactly one word hangs from the root, as in Universal Dependencies.
    labels : {"joint", "second_stage", None}
        The best label of each arc within the same search; labels given to finished
        trees by a second model; or trees without labels (all ``_``).
    cost : {"uas", "las"} or float
        The loss of a wrong label at the right head: 0, as much as a wrong head, or
        this share of it.
    normalized : bool
        Divide the loss by the number of words.
    construction : {"exact", "best_heads"}
        The best tree, or the best head of each word, which may run in circles.
    kernel : Kernel, str, callable or None
        Compare whole sentences by this kernel instead of features, as in
        ``"normalized(annotated)"``; see `partwise.kernels` and docs/atomic.md. Labels
        then come from a second stage.
    match : str, callable, sequence of them, or None
        When two arcs of two sentences are alike, as in ``"xpos+distance"`` (the
        default of kernels); see `partwise.features.arc_keys`. With `match` alone arcs
        are compared and sentences are not.
    clusters : int, WordClusters or None
        With a kernel or `match`: group the words of the training text by their
        neighbours, or by word vectors (``WordClusters(vectors=…)``), into a column
        ``cluster``, as in ``match="cluster+distance"``.
    tol : float
        Stop at this relative duality gap. The default is loose because accuracy on
        held-out treebanks stands still long before (docs/parsing.md).
    warm_start : bool
        Keep the labels and features of the last fit and start from its weights, where
        the solver can.
    metric : str or None
        What `score` measures: ``"las"``, ``"uas"`` or another of `partwise.metrics`.
        None: LAS, or UAS for a parser without labels.

    Attributes
    ----------
    model_ : DependencyModel
    classes_ : array of labels
    label_certificate_ : Certificate
        Of the labeller, with ``labels="second_stage"``.

    Examples
    --------
    >>> from partwise.datasets import toy_dependencies
    >>> X, y = toy_dependencies(60, random_state=0)
    >>> parser = DependencyParser(hash_bits=14, tol=0.05).fit(X[:40], y[:40])
    >>> bool(parser.certificate_.relative_gap <= 0.05)
    True
    >>> parser.predict(X[40:41])[0].heads == y[40].heads
    True
    """

    templates: Any = None
    label_templates: Any = None
    min_count: int = 1
    hash_bits: int | None = 20
    arc_memory: float = 1.5
    order: Literal[1, 2] = 1
    n_candidates: int = 10
    projective: bool = True
    single_root: bool = True
    labels: Literal["joint", "second_stage"] | None = "joint"
    cost: Any = "las"
    normalized: bool = False
    construction: Literal["exact", "best_heads"] = "exact"
    clusters: Any = None
    tol: float = 0.2
    metric: str | None = None

    model_: DependencyModel = field(init=False)
    label_certificate_: Certificate = field(init=False)
    measured = "dependencies"
    model_class = DependencyModel
    keeps_dual = True
    as_given = ("templates", "cost", "projective", "single_root")

    # ------------------------------------------------------------------ learning

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Learn from sentences and their trees.

        Parameters
        ----------
        X : Table, or list of sentences
            With the columns that the templates need; see
            `partwise.features.sentences.sentence_table`.
        y : list of DependencyTree, of pairs (heads, labels), or of lists of heads
            Heads count words from 1; 0 is the root. Heads and labels that are None are
            completed in rounds, and cost nothing.
        sample_weight : array (n_sentences,), optional
        """
        self.check_parameters()
        formulation = self._formulation()
        X, y = as_list(X), as_list(y)
        table = sentence_table(X)
        is_exact = self.construction == "exact"
        trees = tree_codes.checked_trees(
            y, table.offset, self.projective and is_exact, self.single_root and is_exact
        )
        self._weighted = sample_weight is not None
        last = self._last_model
        names = tree_codes.label_names(trees) if self.labels else []
        fit = fit_arcs(self, table, trees, bool(names), last)
        is_joint = self.labels == "joint" and fit.has_labels
        if is_joint and last is not None:
            names = last.labels
        labels = names if is_joint else []
        hidden = tree_codes.hidden_parts(trees, names)
        self._refuse_hidden(-hidden.astype(int), names != labels)
        codes = tree_codes.encode_trees(trees, table.offset, labels)
        model = DependencyModel(fit, self._structure(len(labels)), labels, np.zeros(0))
        model.n_candidates = self.n_candidates
        if self.order == 2 and not len(hidden):
            pruner = None if last is None else last.pruner
            model.pruner = pruner or fit_pruner(self, table, trees)
        n_jobs = self._n_jobs()
        packable = fit.parts, fit.scorer(n_jobs)
        problem = model.pack(table, packable, codes, formulation, n_jobs, hidden=hidden)
        support = support_of(
            table, table.offset, problem, lambda row: shown_words(table[row])[0]
        )
        self._learn(model, problem, fit, sample_weight, support)
        if names != labels:
            model.labels = names
            model.labeller, self.label_certificate_ = fit_labeller(
                self, table, trees, names, sample_weight
            )
        return self._keep(model, LABELS)

    def _refuse_hidden(self, codes: Any, in_two_stages: bool = False) -> None:
        super()._refuse_hidden(codes)
        if len(codes) and (self.order == 2 or in_two_stages):
            raise SettingsError(
                "None in y needs <order=1> and <labels='joint'>, or no labels at all"
            )

    def _structure(self, n_labels: int) -> Arborescence:
        is_exact = self.construction == "exact"
        return Arborescence(
            n_labels, self.projective and is_exact, self.single_root and is_exact,
            self.cost if n_labels else "uas", self.normalized, self.construction,
        )  # fmt: skip

    def check_parameters(self) -> None:
        """Refuse what cannot be fitted, before any data are read."""
        super().check_parameters()
        check_whole("n_candidates", self.n_candidates, 1)
        check_not_negative("arc_memory", self.arc_memory)
        if self.order == 2 and self.loss == "log":
            raise SettingsError("<order=2> needs <loss='hinge'>")
        if self.hash_bits is not None and self.min_count > 1:
            raise SettingsError(
                f"<min_count={self.min_count!r}>: hashed features are not counted; add "
                "<hash_bits=None>, which keeps their names"
            )
        check_settings(self.min_count, self.hash_bits)

    def _default_C(self, n: int) -> float:
        return n / 50

    # ---------------------------------------------------------------- prediction

    def predict(self, X: Any, given: Any = None, constraints: Any = ()) -> np.ndarray:
        """Best trees: a 1-D object array of `DependencyTree`.

        Parameters
        ----------
        X : as in `fit`
            A sentence without words has an empty tree.
        given : list of lists, optional
            Heads that are known and must be kept; None where they are not.
        constraints : iterable of PartConstraint, or functions of the number of words
            Linear constraints over arcs, as ``at_most_per_head("nsubj")``; see
            `partwise.structures.constraints`. Sentences whose best tree breaks one take
            an integer program each.
        """
        empty = DependencyTree([], [])
        return self._predict(X, empty, given, constraints=constraints)

    def score(self, X: Any, y: Any) -> float:
        """The estimator's `metric` of its predictions, as far as trees are known."""
        trees = tree_codes.as_trees(as_list(y))
        if self.model_.labels and not tree_codes.label_names(trees):
            if self.metric not in (None, "uas"):
                problem = "y has heads without labels; use 'uas'"
                raise SettingsError(f"<metric={self.metric!r}>: {problem}")
            return float(find_metric("uas").function(trees, list(self.predict(X))))
        return super().score(X, trees)

    def confidences(self, X: Any) -> list[Floats]:
        """P(predicted head) of each word, one array per sentence."""
        self._check_fitted()
        return self.model_.confidences(as_list(X), n_jobs=self._n_jobs())

    def valid_share(self, X: Any) -> float:
        """Share of sentences whose prediction is a tree; below 1 for best heads."""
        self._check_fitted()
        return float(np.mean(self.model_.parse(as_list(X), n_jobs=self._n_jobs())[1]))

    def _metric(self) -> str:
        return self.metric or ("las" if self.model_.labels else "uas")

    # -------------------------------------------------------------------- files

    @classmethod
    def _parameters_of(cls, model: DependencyModel) -> dict[str, Any]:
        labels = "second_stage" if model.labeller else "joint"
        parameters = super()._parameters_of(model) | {
            "labels": labels if model.labels else None,
            "order": 1 if model.pruner is None else 2,
        }
        if model.pruner is not None:
            parameters["n_candidates"] = model.n_candidates
        return parameters

    @property
    def classes_(self) -> np.ndarray:
        """Labels of arcs."""
        return np.array(self.model_.labels)
