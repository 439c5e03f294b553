"""`DependencyParser`: dependency trees with scikit-learn's interface."""

from __future__ import annotations

from copy import copy
from os import PathLike
from typing import Any, Self

import numpy as np
from sklearn.callback import with_callbacks

from partwise.certificate import Certificate
from partwise.estimators._kernel_trees import fit_kernel
from partwise.estimators.base import StructuredEstimator, as_object_array
from partwise.features.arc_templates import (
    ARC_PRESETS,
    default_arc_templates,
    default_label_templates,
    default_pruner_templates,
    second_order_templates,
)
from partwise.features.arcs import ArcFeaturizer
from partwise.features.sentences import sentence_table
from partwise.metrics import metric as find_metric
from partwise.models.dependency import DependencyModel, SupportTrees, encode_trees
from partwise.models.kernel_dependency import KernelDependencyModel
from partwise.protocol import Floats
from partwise.readers.table import Table
from partwise.structures.arborescence import Arborescence

PRUNER_TOL = 0.3  # relative gap at which a pruner is good enough


class DependencyParser(StructuredEstimator):
    """Parse sentences into labelled dependency trees of maximum margin.

    Minimises ½‖w‖² + (C/n) Σ_i ξ_i, where ξ_i is how much a wrong tree ŷ of sentence i
    comes too near: max_ŷ Δ(y_i, ŷ) − <w, φ(x_i, y_i) − φ(x_i, ŷ)>.

    Parameters
    ----------
    C : float or None
        Weight of the losses; None stands for a fiftieth of the number of sentences.
    templates : str, list of str or None
        Templates of arcs over the columns of the sentences, or the name of a preset
        (``"mcdonald"``). None: all that the columns form, lemma, upos and xpos allow.
    label_templates : str, list of str or None
        Templates of labels.
    min_count : int
        Without hashing: leave out features that occur on fewer true arcs.
    hash_bits : int or None
        Hash features to ``2**hash_bits`` rows of weights. None: a vocabulary of the
        features of true arcs, with names, several times slower.
    order : {1, 2}
        Score single arcs, or also arcs with the next sibling and with the head of the
        head, over the candidate heads that a small first model chooses.
    n_candidates : int
        With ``order=2``: heads per word that the first model keeps.
    projective : bool
        Whether arcs must not cross. With crossing arcs, a parser of order 2 finds good
        trees but not surely the best ones.
    single_root : bool
        Whether exactly one word hangs from the root.
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
        With a kernel or `match`: group the words of the training text by the company
        they keep, into a column ``cluster``, as in ``match="cluster+distance"``.
    budget : int or None
        Training sentences that a kernel parser may keep.
    over_budget : {"merge", "drop"}
        What becomes of the least useful ones.
    gram_options : dict or None
        With a kernel: settings of `partwise.kernels.gram` for the table of all pairs
        of sentences, as in ``{"cache_dir": "folder"}``.
    loss : {"hinge", "log"}
        Maximum margin, or conditional likelihood.
    formulation, penalty, solver, tol, eps, max_iter, time_limit, random_state, n_jobs
        See `StructuredEstimator`. The default solver is Frank-Wolfe, and L-BFGS for
        ``loss="log"``. The default `tol` is loose because accuracy on held-out
        treebanks stands still long before (docs/parsing.md).
    warm_start : bool
        Keep the labels and features of the last fit and start from its weights, where
        the solver can.
    metric : str
        What `score` measures: ``"las"``, ``"uas"`` or another of `partwise.metrics`.

    Attributes
    ----------
    model_ : DependencyModel
    classes_ : array of labels
    certificate_ : Certificate
    label_certificate_ : Certificate
        Of the labeller, with ``labels="second_stage"``.
    history_ : list of HistoryPoint
    n_iter_ : int

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

    model_: DependencyModel

    def __init__(
        self,
        C: float | None = None,
        *,
        templates: Any = None,
        label_templates: Any = None,
        min_count: int = 1,
        hash_bits: int | None = 20,
        order: int = 1,
        n_candidates: int = 10,
        projective: bool = True,
        single_root: bool = False,
        labels: str | None = "joint",
        cost: Any = "las",
        normalized: bool = False,
        construction: str = "exact",
        kernel: Any = None,
        match: Any = None,
        clusters: Any = None,
        budget: int | None = None,
        over_budget: str = "merge",
        gram_options: dict[str, Any] | None = None,
        loss: str = "hinge",
        formulation: str = "margin",
        penalty: str = "l1",
        solver: Any = "auto",
        tol: float = 0.2,
        eps: float | None = None,
        max_iter: int | None = None,
        time_limit: float | None = None,
        random_state: int = 0,
        n_jobs: int = 1,
        warm_start: bool = False,
        metric: str = "las",
    ) -> None:
        self.C = C
        self.templates = templates
        self.label_templates = label_templates
        self.min_count = min_count
        self.hash_bits = hash_bits
        self.order = order
        self.n_candidates = n_candidates
        self.projective = projective
        self.single_root = single_root
        self.labels = labels
        self.cost = cost
        self.normalized = normalized
        self.construction = construction
        self.kernel = kernel
        self.match = match
        self.clusters = clusters
        self.budget = budget
        self.over_budget = over_budget
        self.gram_options = gram_options
        self.loss = loss
        self.formulation = formulation
        self.penalty = penalty
        self.solver = solver
        self.tol = tol
        self.eps = eps
        self.max_iter = max_iter
        self.time_limit = time_limit
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.warm_start = warm_start
        self.metric = metric

    # ------------------------------------------------------------------ learning

    @with_callbacks
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Learn from sentences and their trees.

        Parameters
        ----------
        X : Table, or list of sentences
            With the columns that the templates need; see
            `partwise.features.sentences.sentence_table`.
        y : list of DependencyTree, or of pairs (heads, labels)
            Heads count words from 1; 0 is the root.
        sample_weight : array (n_sentences,), optional
        """
        self._check_settings()
        formulation = self._formulation()
        table = sentence_table(X)
        self._weighted = sample_weight is not None
        if self.kernel is not None or self.match is not None:
            self.model_ = fit_kernel(self, table, y, formulation, sample_weight)
            return self
        if self.clusters is not None:
            raise ValueError("clusters= is for kernels; give match= or kernel=")
        joint = self.labels == "joint"
        warm = self.warm_start and hasattr(self, "model_")
        names = sorted({label for _, own in y for label in own}) if self.labels else []
        if warm:
            featurizer, names = self.model_.featurizer, self.model_.labels
        else:
            featurizer = self._featurizer(table, "arcs", labelled=joint)
        own = names if joint else []
        codes = encode_trees(y, table.offset, own)
        if not warm:
            featurizer.fit(table, [heads for heads, _ in y])
        structure = self._structure(len(own))
        pruner = candidates = None
        n_jobs = self._n_jobs()
        if self.order == 2:
            pruner = self.model_.pruner if warm else self._fit_pruner(table, y)
            assert pruner is not None
            truth = codes // max(len(own), 1)
            candidates = pruner.candidates(table, self.n_candidates, n_jobs, truth)
        problem = structure.pack(
            featurizer.transform(table), codes, formulation, n_jobs=n_jobs,
            candidates=candidates,
        )  # fmt: skip
        start = self.model_.weights if warm else None
        state, support = self._solve(problem, sample_weight, start)
        kept = None
        if support is not None:
            kept = SupportTrees.create(table, codes, support)
        labeller = None
        if self.labels == "second_stage":
            labeller = self._fit_labeller(table, y, names, sample_weight)
        info = {"certificate": self.certificate_.to_dict()}
        self.model_ = DependencyModel(
            featurizer, structure, own, state.model, info, kept, labeller, pruner,
            self.n_candidates,
        )  # fmt: skip
        return self

    def _fit_pruner(self, table: Table, y: Any) -> DependencyModel:
        """A small parser of first order, whose most probable heads are candidates."""
        small = DependencyParser(
            templates=default_pruner_templates(table.columns),
            hash_bits=None if self.hash_bits is None else max(10, self.hash_bits - 2),
            projective=self.projective,
            single_root=self.single_root,
            labels=None,
            tol=PRUNER_TOL,
            random_state=self.random_state,
            n_jobs=self.n_jobs,
        )
        model = small.fit(table, y).model_
        model.support = None
        return model

    def _structure(self, n_labels: int) -> Arborescence:
        return Arborescence(
            n_labels,
            projective=self.projective and self.construction == "exact",
            single_root=self.single_root and self.construction == "exact",
            cost=self.cost if n_labels else "uas",
            normalized=self.normalized,
            construction=self.construction,
        )

    def _check_settings(self) -> None:
        if self.loss not in ("hinge", "log"):
            raise ValueError(f"loss={self.loss!r}: choose 'hinge' or 'log'")
        if self.labels not in ("joint", "second_stage", None):
            raise ValueError(
                f"labels={self.labels!r}: choose 'joint', 'second_stage' or None"
            )
        if self.construction not in ("exact", "best_heads"):
            raise ValueError(
                f"construction={self.construction!r}: choose 'exact' or 'best_heads'"
            )
        if self.order not in (1, 2):
            raise ValueError(f"order={self.order!r}: choose 1 or 2")
        if self.order == 2 and (self.loss == "log" or self.n_candidates < 1):
            raise ValueError("order=2 needs loss='hinge' and n_candidates of 1 or more")
        find_metric(self.metric)

    def _featurizer(self, table: Table, what: str, *, labelled: bool) -> ArcFeaturizer:
        """Featurizer of arcs, of arcs with labels, or of labels only."""
        templates = self.templates
        if isinstance(templates, str):  # a preset's name wins over a template
            templates = ARC_PRESETS.get(templates, templates)
        if templates is None:
            templates = default_arc_templates(table.columns)
            if self.order == 2:
                templates += second_order_templates(table.columns)
        of_labels: Any = self.label_templates
        if of_labels is None:
            of_labels = default_label_templates(table.columns)
        if what == "labels":
            templates = "bias"
        return ArcFeaturizer(
            templates,
            of_labels if labelled else (),
            min_count=self.min_count,
            hash_bits=self.hash_bits,
        )

    def _fit_labeller(
        self, table: Table, y: Any, names: list[str], sample_weight: Any
    ) -> DependencyModel:
        """A second model: the labels of true trees."""
        heads = [own for own, _ in y]
        featurizer = self._featurizer(table, "labels", labelled=True).fit(table, heads)
        structure = Arborescence(
            len(names), cost="las", normalized=self.normalized, construction="given"
        )
        codes = encode_trees(y, table.offset, names)
        problem = structure.pack(
            featurizer.transform(table), codes, n_jobs=self._n_jobs()
        )
        first = (self.certificate_, self.history_, self.n_iter_, self.objective_)
        chosen = (self.loss, self.solver, self.formulation, self.penalty)
        try:
            self.loss, self.formulation, self.penalty = "hinge", "margin", "l1"
            self.solver = "auto" if isinstance(self.solver, str) else self.solver
            state, _ = self._solve(problem, sample_weight)
        finally:
            self.loss, self.solver, self.formulation, self.penalty = chosen
        self.label_certificate_ = self.certificate_
        self.certificate_, self.history_, self.n_iter_, self.objective_ = first
        info = {"certificate": self.label_certificate_.to_dict()}
        return DependencyModel(featurizer, structure, names, state.model, info)

    def _solve(self, problem: Any, sample_weight: Any = None, start: Any = None) -> Any:
        """As every estimator, with a default C of its own."""
        chosen = self.C
        try:
            self.C = problem.n_blocks / 50 if self.C is None else self.C
            return super()._solve(problem, sample_weight, start)
        finally:
            self.C = chosen

    def _penalty(self) -> str:
        return "log" if self.loss == "log" else super()._penalty()

    def _resolve_solver(self) -> Any:
        if isinstance(self.solver, str) and self.solver == "auto":
            name = "lbfgs" if self.loss == "log" else "bcfw"
            chosen = self.solver
            try:
                self.solver = name
                return super()._resolve_solver()
            finally:
                self.solver = chosen
        return super()._resolve_solver()

    # ---------------------------------------------------------------- prediction

    def predict(self, X: Any, given: Any = None, constraints: Any = ()) -> np.ndarray:
        """Best trees: a 1-D object array of `DependencyTree`.

        Parameters
        ----------
        X : as in `fit`
        given : list of lists, optional
            Heads that are known and must be kept; None where they are not.
        constraints : iterable of ArcConstraint, or functions of the number of words
            Linear constraints over arcs, as ``at_most_per_head("nsubj")``; see
            `partwise.structures.tree_constraints`. Sentences whose best tree breaks
            one take an integer program each.
        """
        self._check_fitted()
        found = self.model_.predict(
            X, given=given, constraints=constraints, n_jobs=self._n_jobs()
        )
        return as_object_array(found)

    def predict_topk(self, X: Any, k: int) -> np.ndarray:
        """The k best trees of each sentence, exactly, as (tree, score) pairs."""
        self._check_fitted()
        return as_object_array(self.model_.predict_topk(X, k, n_jobs=self._n_jobs()))

    def predict_marginals(self, X: Any) -> list[Floats]:
        """P(arc from h to d), (n + 1, n + 1) each; see ``loss="log"``."""
        self._check_fitted()
        return self.model_.marginals(X, n_jobs=self._n_jobs())

    def confidences(self, X: Any) -> list[Floats]:
        """P(predicted head) of each word, one array per sentence."""
        self._check_fitted()
        return self.model_.confidences(X, n_jobs=self._n_jobs())

    def margin(self, X: Any) -> Floats:
        """Score of the best tree and its lead over the second, (n, 2)."""
        self._check_fitted()
        return self.model_.margin(X, n_jobs=self._n_jobs())

    def explain(self, x: Any, top: int = 10) -> Any:
        """Why the best tree of a sentence won.

        Parameters
        ----------
        x : one sentence
            As an item of X in `fit`.
        top : int
            Number of reasons.

        Returns
        -------
        Explanation
            Winner against runner-up, arc by arc; of a kernel parser, the training
            sentences that decide.
        """
        from partwise.models.tree_explanation import explain_tree

        self._check_fitted()
        if hasattr(self.model_, "explain"):
            return self.model_.explain(x, top=top)
        return explain_tree(self.model_, [x], top=top)

    def valid_share(self, X: Any) -> float:
        """Share of sentences whose prediction is a tree; below 1 for best heads."""
        self._check_fitted()
        return float(np.mean(self.model_.parse(X, n_jobs=self._n_jobs())[1]))

    def score(self, X: Any, y: Any) -> float:
        """The estimator's `metric` on these sentences."""
        return float(find_metric(self.metric).function(list(y), list(self.predict(X))))

    # -------------------------------------------------------------------- files

    def save(self, path: str | PathLike[str], *, keep_dual: bool = False) -> None:
        """Write the model to a safetensors file, atomically.

        Parameters
        ----------
        path : path
        keep_dual : bool
            Also keep the support structures, so that `verify` can recompute the dual.
        """
        from partwise.model_file import save_model

        self._check_fitted()
        model = self.model_
        info = dict(model.info)
        if hasattr(self, "objective_"):  # a loaded parser has told all this already
            info |= {
                "settings": self._settings(),
                "history": [list(point) for point in self.history_],
                "n_iter": self.n_iter_,
            }
        kept = copy(model)
        kept.info = info
        kept.support = model.support if keep_dual else None
        save_model(kept, path)

    def _settings(self) -> dict[str, Any]:
        """What `verify` needs to rebuild the objective, and people like to know."""
        return {
            "C": float(self.objective_.weight.sum()),
            "n_examples": len(self.objective_.weight),
            "weighted": self._weighted,
            "loss": self.loss,
            "formulation": self.formulation,
            "penalty": self.penalty,
            "solver": type(self.solver_).__name__,
            "random_state": self.random_state,
        }

    @classmethod
    def load(cls, path: str | PathLike[str]) -> DependencyParser:
        """Read a model that `save` or the command line wrote."""
        from partwise.model_file import load_model
        from partwise.protocol import HistoryPoint

        model = load_model(path)
        if not isinstance(model, DependencyModel):
            raise ValueError(f"{path} holds a {type(model).__name__}, not a parser")
        settings = model.info.get("settings", {})
        names = ("C", "loss", "formulation", "penalty", "random_state")
        tree = model.structure
        labels = "second_stage" if model.labeller else "joint"
        parser = cls(
            projective=tree.projective,
            single_root=tree.single_root,
            labels=labels if model.labels else None,
            cost=tree.cost,
            normalized=tree.normalized,
            construction=tree.construction,
            **_features_of(model),
            **{name: settings[name] for name in names if name in settings},
        )
        parser.model_ = model
        parser.certificate_ = Certificate.from_dict(model.info["certificate"])
        parser.history_ = [HistoryPoint(*row) for row in model.info.get("history", [])]
        parser.n_iter_ = model.info.get("n_iter", 0)
        return parser

    # --------------------------------------------------------------- attributes

    @property
    def classes_(self) -> np.ndarray:
        """Labels of arcs."""
        return np.array(self.model_.labels)


def _features_of(model: DependencyModel) -> dict[str, Any]:
    """The parameters that say how arcs were scored."""
    if isinstance(model, KernelDependencyModel):
        return {
            "kernel": model.index.kernel,
            "match": list(model.hasher.match),
            "clusters": model.clusters,
        }
    return {
        "min_count": model.featurizer.min_count,
        "hash_bits": model.featurizer.hash_bits,
        "templates": [str(template) for template in model.featurizer.templates],
        "order": 1 if model.pruner is None else 2,
        "n_candidates": model.n_candidates,
    }
