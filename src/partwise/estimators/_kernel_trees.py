"""What a dependency parser with a kernel adds: Gram matrix, index, budget."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from partwise.certificate import Certificate, certify
from partwise.estimators._training_gram import check_options, training_gram
from partwise.estimators._tree_stages import fit_labeller
from partwise.features.arc_keys import ArcHasher, ArcKeys
from partwise.kernels.clusters import WordClusters
from partwise.kernels.inputs import Objects, Sequences
from partwise.kernels.naming import as_kernel
from partwise.models.dependency import DependencyModel, SupportTrees, encode_trees
from partwise.models.kernel_dependency import KernelDependencyModel
from partwise.objective import Formulation, Objective
from partwise.protocol import CapabilityError, Floats
from partwise.readers.table import Table
from partwise.scorers.atomic import AtomicScorer
from partwise.scorers.atomic_budget import check_budget, keep_anchors_within
from partwise.scorers.atomic_index import AtomicIndex, kernel_columns
from partwise.structures.arborescence import Arborescence

WARM = (
    "warm_start=True goes on with match= and the sentences of the last fit; others may "
    "be added at the end"
)


class KernelTrees:
    """
    The kernel side of one fit.

    Parameters
    ----------
    kernel : Kernel, str, callable or None
        None stands for k = 1. A function of the user is given two tables of one
        sentence each.
    match : see `ArcHasher`, or None
        None: the finest tag that there is, with the distance.
    loss, solver : str
        Of the parser, to refuse early what has no kernel form.
    budget : int or None
    over_budget : {"merge", "drop"}
    gram_options : dict or None
        Without ``dtype``: the table is always in single precision.
    table : Table
        The training sentences.
    """

    def __init__(
        self, kernel: Any, match: Any, loss: str, solver: Any, budget: Any,
        over_budget: str, gram_options: Any, table: Table,
    ) -> None:  # fmt: skip
        if loss == "log" or solver == "lbfgs":
            raise CapabilityError(
                "kernel= and match= train margins: loss='log' has no kernel form; "
                "use explicit features (templates=)"
            )
        self.kernel = None if kernel is None else as_kernel(kernel)
        family = self.kernel and self.kernel.input_family()
        if self.kernel and not isinstance(family, Sequences | Objects):
            raise ValueError(
                f"{self.kernel} does not compare sentences; use a kernel on sequences, "
                "such as 'normalized(annotated)', 'ngram' or 'bow'"
            )
        self.hasher = ArcHasher(default_match(table) if match is None else match)
        if budget is not None:
            check_budget(budget, over_budget)
        self.budget = budget
        self.over_budget = over_budget
        self.gram_options = check_options(gram_options)
        precision = self.gram_options.setdefault("dtype", "float32")
        if np.dtype(precision) != np.float32:
            raise ValueError(
                f"gram_options: dtype={precision!r}; a parser keeps its table in "
                "float32, leave dtype out"
            )
        self.table = table

    def bind(self, n_jobs: int) -> tuple[ArcKeys, AtomicScorer]:
        """Keys of the training sentences, and their scorer."""
        self.keys = self.hasher.transform(self.table)
        if self.kernel is None:
            return self.keys, AtomicScorer()
        inputs = self.table.select(kernel_columns(self.kernel, self.table))
        values = training_gram(
            self.kernel, inputs, self.gram_options, n_jobs,
            compared=f"{len(self.table)} sentences",
            remedy="train on fewer sentences",
        )  # fmt: skip
        return self.keys, AtomicScorer(values)

    def start(self, problem: Any, model: Any) -> Floats:
        """
        The last model as one of this problem.

        Parameters
        ----------
        problem : AtomicProblem
            With the scorer of `bind`.
        model : KernelDependencyModel
            Of the same hash functions; its sentences must come first.
        """
        if not isinstance(model, KernelDependencyModel):
            raise ValueError(f"{WARM}; the last fit had no kernel")
        if model.hasher.match != self.hasher.match:
            raise ValueError(f"{WARM}; match= has changed")
        try:
            slots = model.index.slots(self.keys, problem.blocks.rows)
        except ValueError as error:
            raise ValueError(f"{WARM}; {error}") from None
        beta = np.zeros(problem.n_slots)
        beta[slots] = model.weights
        return np.asarray(problem.expand(beta))

    def within_budget(self, problem: Any, weights: Floats) -> Floats:
        """Weights on no more anchors than allowed; themselves if they are so."""
        if self.budget is None:
            return weights
        return keep_anchors_within(
            problem.blocks.rows, weights, self.budget, self.over_budget
        )

    def certify(
        self, problem: Any, objective: Objective, before: Certificate, weights: Floats
    ) -> Certificate:
        """What is known of a smaller model; the dual of the whole one is not its."""
        after = certify(problem, objective, problem.expand(weights))
        return replace(
            after,
            oracle_calls=before.oracle_calls + after.oracle_calls,
            stopped=before.stopped,
            note=f"on a budget of {self.budget} anchors; the objective was "
            f"{before.primal:.6g} without it",
        )

    def model(
        self,
        problem: Any,
        structure: Arborescence,
        weights: Floats,
        info: dict[str, Any],
        support: SupportTrees | None,
        labeller: DependencyModel | None,
    ) -> KernelDependencyModel:
        """A model on the anchors that carry weight."""
        index, beta = AtomicIndex.create(
            self.kernel, self.table, self.keys, problem.blocks.rows, weights
        )
        return KernelDependencyModel(
            self.hasher, index, structure, beta, info, support, labeller
        )


def default_match(table: Table) -> str:
    """The thesis's choice: fine tags with their distance."""
    for column in ("xpos", "upos"):
        if column in table.columns and len(table.columns[column].values) > 1:
            return f"{column}+distance"
    return "form+direction"


def fit_kernel(
    parser: Any, table: Table, y: Any, formulation: Formulation, sample_weight: Any
) -> KernelDependencyModel:
    """
    Fit a `DependencyParser` through training sentences, labels in a second stage.

    Parameters
    ----------
    parser : DependencyParser
        Gets its certificate, history and the like.
    table : Table
    y : list of trees
    formulation : Formulation
    sample_weight : array (n_sentences,) or None
    """
    if parser.order != 1:
        raise CapabilityError("order=2 has no kernel form; use order=1")
    last = getattr(parser, "model_", None) if parser.warm_start else None
    clusters = find_clusters(parser.clusters, table, last)
    plain, table = table, table if clusters is None else clusters.transform(table)
    side = KernelTrees(
        parser.kernel, parser.match, parser.loss, parser.solver, parser.budget,
        parser.over_budget, parser.gram_options, table,
    )  # fmt: skip
    structure = parser._structure(0)
    codes = encode_trees(y, table.offset, [])
    n_jobs = parser._n_jobs()
    keys, scorer = side.bind(n_jobs)
    problem = structure.pack(keys, codes, formulation, n_jobs=n_jobs, scorer=scorer)
    start = None if last is None else side.start(problem, last)
    state, support = parser._solve(problem, sample_weight, start)
    weights = problem.compact(state.model)
    small = side.within_budget(problem, weights)
    if small is not weights:
        parser.certificate_ = side.certify(
            problem, parser.objective_, parser.certificate_, small
        )
        support = None  # its planes make up the model without a budget
    kept = None if support is None else SupportTrees.create(plain, codes, support)
    labeller = None
    if parser.labels:
        names = sorted({label for _, own in y for label in own})
        labeller, parser.label_certificate_ = fit_labeller(
            parser, plain, y, names, sample_weight
        )
    info = {"certificate": parser.certificate_.to_dict()}
    model = side.model(problem, structure, small, info, kept, labeller)
    model.clusters = clusters
    return model


def find_clusters(
    chosen: Any, table: Table, last: DependencyModel | None
) -> WordClusters | None:
    """
    Word clusters of the training text, or those of the model that a fit goes on with.

    Parameters
    ----------
    chosen : int, WordClusters or None
        How many, or with which settings.
    table : Table
    last : DependencyModel or None
    """
    if chosen is None:
        return None
    known = getattr(last, "clusters", None)
    if known is not None:
        return known
    if not isinstance(chosen, WordClusters):
        column = "form" if "form" in table.columns else None
        chosen = WordClusters(n_clusters=chosen, column=column)
    if chosen.name in table.columns:
        raise ValueError(
            f"clusters= makes a column {chosen.name!r}, which the sentences have "
            "already; leave it out"
        )
    return WordClusters(**chosen.get_params()).fit(table)
