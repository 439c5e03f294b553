"""A dependency parser with a kernel, or with hash functions of arcs alone."""

from __future__ import annotations

from typing import Any

from partwise.features.arc_keys import ArcHasher
from partwise.kernels.clusters import WordClusters
from partwise.kernels.inputs import Objects, Sequences
from partwise.objective import Formulation
from partwise.outputs._kernel_side import KernelSide
from partwise.outputs.dependency._kernel_model import KernelDependencyModel
from partwise.outputs.dependency._stages import fit_labeller
from partwise.outputs.dependency.model import (
    DependencyModel,
    SupportTrees,
    encode_trees,
)
from partwise.parameters import SettingsError
from partwise.protocol import CapabilityError
from partwise.readers.table import Table
from partwise.scorers.kernel_index import KernelIndex

USUAL = ("form", "lemma", "upos", "xpos")  # what a kernel that names no column compares


class KernelTrees(KernelSide):
    """
    The kernel side of one fit of a parser.

    Parameters
    ----------
    parser : DependencyParser
    table : Table
        The training sentences.
    last : KernelDependencyModel or None
        The model that a warm start goes on with.
    """

    def __init__(self, parser: Any, table: Table, last: Any = None) -> None:
        super().__init__(parser, "train on fewer sentences", "float32")
        family = self.kernel and self.kernel.input_family()
        if self.kernel and not isinstance(family, Sequences | Objects):
            raise ValueError(
                f"{self.kernel} does not compare sentences; use a kernel on sequences, "
                "such as 'normalized(annotated)', 'ngram' or 'bow'"
            )
        self.columns: list[str] = []
        if self.kernel:
            self.kernel = self.kernel.with_columns(table.columns, USUAL)
            self.columns = self.kernel.columns_of(table.columns, USUAL)
        if parser.templates is not None:
            raise SettingsError(
                "<templates=> make features of arcs, which a parser with <kernel=> or "
                "<match=> does not look at; leave them out"
            )
        match = default_match(table) if parser.match is None else parser.match
        self.hasher = ArcHasher(match)
        if last is not None:
            self.refuse_other(self.hasher, last)
        self.table = table

    def inputs(self) -> Table | None:
        """What the kernel compares; None without a kernel."""
        return None if self.kernel is None else self.table.select(self.columns)


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
        raise CapabilityError("<order=2> has no kernel form; use <order=1>")
    last = getattr(parser, "model_", None) if parser.warm_start else None
    clusters = find_clusters(parser.clusters, table, last)
    plain, table = table, table if clusters is None else clusters.transform(table)
    side = KernelTrees(parser, table, last)
    structure = parser._structure(0)
    codes = encode_trees(y, table.offset, [])
    n_jobs = parser._n_jobs()
    inputs, keys = side.inputs(), side.hasher.transform(table)
    problem: Any = structure.pack(
        keys, codes, formulation, n_jobs=n_jobs,
        scorer=side.scorer(inputs, f"{len(table)} sentences", n_jobs),
    )  # fmt: skip
    start = None
    if last is not None:
        start = side.start(problem, last, inputs, keys, table.offset)
    state, support = parser._solve(problem, sample_weight, start)
    weights = problem.compact(state.model)
    small, parser.certificate_ = side.within_budget(
        problem, parser.objective_, weights, parser.certificate_
    )
    kept = None  # on a budget: the planes make up the model without it
    if support is not None and small is weights:
        kept = SupportTrees.create(plain, codes, support)
    labeller = None
    if parser.labels:
        names = sorted({label for _, own in y for label in own})
        labeller, parser.label_certificate_ = fit_labeller(
            parser, plain, y, names, sample_weight
        )

    def describe(part: int, number: int) -> str:
        return side.hasher.describe(table, keys, part, number)

    index, beta = KernelIndex.create(
        side.kernel, inputs, keys, problem.blocks.rows, small, by_token=False,
        offset=table.offset, words=None, dtype=side.dtype,
        describe=describe if side.kernel is None else None,
    )  # fmt: skip
    info = {"certificate": parser.certificate_.to_dict()}
    return KernelDependencyModel(
        side.hasher, index, structure, beta, info, kept, labeller, clusters
    )


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
        raise SettingsError(
            f"<clusters=> makes a column {chosen.name!r}, which the sentences have "
            "already; leave it out"
        )
    return chosen.unfitted().fit(table)
