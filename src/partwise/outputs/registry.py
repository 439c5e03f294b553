"""The outputs: one record each, from which everything else follows.

A record names the folder of an output. From it come the public names of `partwise`, the
kinds of model files, ``partwise train TASK``, the metrics by name, the warm-up of
numba's cache, and the tests that every output must pass. Nothing is imported before it
is needed: a record holds names only. Type checkers know the public names from
`public_names.pyi`, which ``python tests/outputs/test_public_names.py`` writes.

`register` adds the record of another package, which then has all of this, too.
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from types import MappingProxyType
from typing import Any, NamedTuple


class Output(NamedTuple):
    """The record of an output: names of its modules and classes.

    Parameters
    ----------
    folder : str
        Its package, with the modules ``estimator``, ``model`` and ``file``, and where
        they make sense ``task``, ``report`` and ``metrics``.
    estimator : str
        Class in ``estimator``.
    kinds : mapping of str to str
        Kinds of model files that it reads, by the module of the folder, or any other
        by its full name, with ``to_state`` and ``from_state``; of those with one name,
        the last version is written.
    task : tuple (str, str, str), optional
        Name for ``partwise train``, class in ``task``, what it learns in a line.
    structures : tuple of (str, str)
        Public structures with their modules.
    metrics : tuple of str
        Names of the metrics in ``metrics.METRICS`` of the folder.
    toy : str
        Function that makes data (X, y) of it from (n, random_state), with its module;
        `partwise.testing.check_output` and the warm-up fit them.
    toy_settings : mapping
        Parameters of the estimator that the toy data need.
    variants : tuple of mappings
        Parameters of the estimator for which other code is compiled than for its
        defaults; they are fitted, too.
    """

    folder: str
    estimator: str
    kinds: Mapping[str, str]
    task: tuple[str, str, str] | None = None
    structures: tuple[tuple[str, str], ...] = ()
    metrics: tuple[str, ...] = ()
    toy: str = ""
    toy_settings: Mapping[str, Any] = MappingProxyType({})
    variants: tuple[Mapping[str, Any], ...] = ()

    def module(self, name: str) -> Any:
        """A module of the folder."""
        return import_module(f"{self.folder}.{name}")

    def make_toy(self, n: int, random_state: int = 0) -> tuple[Any, Any]:
        """Data (X, y) with n examples."""
        module, _, function = self.toy.rpartition(".")
        return getattr(import_module(module), function)(n, random_state=random_state)


def _kinds(*names: str) -> dict[str, str]:
    """Kinds of model files, of version 1, that the module ``file`` reads."""
    return {f"{name}.v1": "file" for name in names}


def _structures(folder: str, *names: str) -> tuple[tuple[str, str], ...]:
    """Public structures of a folder."""
    return tuple((name, f"partwise.structures.{folder}") for name in names)


OUTPUTS = [
    Output(
        "partwise.outputs.sequence", "SequenceTagger",
        _kinds("SequenceModel", "KernelSequenceModel")
        | {"SegmentModel.v1": "partwise.outputs.segments.file"},
        ("tag", "TagTask", "Label sequences, from column files."),
        _structures("chain", "Chain") + _structures("segments", "Segments"),
        toy="partwise.datasets.toy_entities",
        variants=({"loss": "log"}, {"kernel": "linear"}, {"segments": True}),
    ),
    Output(
        "partwise.outputs.dependency", "DependencyParser",
        _kinds("DependencyModel", "KernelDependencyModel"),
        ("depparse", "DependencyTask", "Dependency trees, from CoNLL-U files."),
        _structures("dependency", "Arborescence"),
        toy="partwise.datasets.toy_dependencies",
        variants=({"projective": False}, {"order": 2}, {"kernel": "ngram"}),
    ),
    Output(
        "partwise.outputs.phrase", "ConstituencyParser",
        _kinds("ConstituencyModel", "KernelConstituencyModel"),
        ("constparse", "PhraseTask", "Phrase structure, from Penn brackets."),
        _structures("phrase", "Grammar"),
        toy="partwise.datasets.toy_treebank",
        variants=({"loss": "log"}, {"cost": "f1", "penalty": "l2"}),
    ),
    Output(
        "partwise.outputs.multiclass", "MulticlassClassifier",
        _kinds("MulticlassModel", "KernelMulticlassModel"),
        ("classify", "ClassifyTask", "Classes of rows, from svmlight or CSV."),
        _structures("multiclass", "Multiclass"),
        metrics=("accuracy", "balanced_accuracy", "error_rate"),
        toy="partwise.datasets.toy_points",
        variants=({"loss": "log"}, {"kernel": "rbf"}),
    ),
    Output(
        "partwise.outputs.taxonomy", "TaxonomyClassifier",
        _kinds("TaxonomyModel", "KernelTaxonomyModel", "NodeSetModel"),
        ("taxonomy", "TaxonomyTask", "Classes in a tree or lattice, ARFF, too."),
        _structures("taxonomy", "Taxonomy", "NodeSets"),
        toy="partwise.datasets.toy_taxonomy",
        toy_settings={"parents": "/"},
        variants=({"cost": "path"}, {"kernel": "rbf"}),
    ),
    Output(
        "partwise.outputs.multilabel", "MultilabelClassifier",
        _kinds("MultilabelModel"),
        ("multilabel", "MultilabelTask", "Sets of labels, svmlight, CSV, ARFF."),
        _structures("multilabel", "Multilabel"),
        metrics=("hamming_loss", "jaccard", "example_f1", "micro_f1"),
        toy="partwise.datasets.toy_label_sets",
        variants=({"graph": "tree"}, {"graph": "full", "cost": "f1"}),
    ),
    Output(
        "partwise.outputs.measure", "MeasureClassifier",
        _kinds("MeasureModel", "KernelMeasureModel"),
        ("measure", "MeasureTask", "Two classes, for a measure of all rows."),
        _structures("label_vector", "LabelVector"),
        metrics=("f1", "precision", "recall", "error", "balanced_error"),
        toy="partwise.datasets.toy_binary",
        variants=({"measure": "prbep"}, {"measure": "roc_auc"}, {"kernel": "rbf"}),
    ),
    Output(
        "partwise.outputs.ranking", "Ranker",
        _kinds("RankingModel"),
        ("rank", "RankTask", "Orders of the rows of queries, from svmlight."),
        _structures("ranking", "Ranking"),
        toy="partwise.datasets.toy_queries",
        variants=(
            {"measure": "average_precision"}, {"measure": "ndcg"},
            {"measure": "ndcg_pairs", "k": 3},
            {"measure": "precision_at_k", "k": 2, "latent": True},
        ),
    ),
    Output(
        "partwise.outputs.alignment", "SequenceAligner",
        _kinds("AlignmentModel"),
        ("align", "AlignTask", "Alignments of sequences, from aligned FASTA."),
        _structures("alignment", "Alignment"),
        metrics=("q", "q4", "homologue_accuracy"),
        toy="partwise.datasets.toy_alignments",
        variants=({"loss": "log"}, {"formulation": "slack"}),
    ),
    Output(
        "partwise.outputs.diversity", "DiverseSelector",
        _kinds("DiversityModel"),
        ("diversify", "DiversityTask", "Documents that cover subtopics."),
        _structures("coverage", "Coverage"),
        metrics=("subtopic_coverage", "subtopic_loss"),
        toy="partwise.datasets.toy_candidates",
        toy_settings={"k": 2, "search_nodes": 10},
    ),
    Output(
        "partwise.outputs.graph", "GraphLabeler",
        _kinds("GraphModel"),
        ("label", "GraphTask", "Labels of the nodes of graphs, from JSON lines."),
        _structures("graph", "Graph"),
        metrics=("node_accuracy", "node_error"),
        toy="partwise.datasets.toy_graphs",
        variants=({"decoder": "messages", "directed": True}, {"loss": "log"}),
    ),
    Output(
        "partwise.outputs.matching", "AssignmentMatcher",
        _kinds("MatchingModel"),
        ("match", "MatchTask", "Pairs of items of two sides, from tables."),
        _structures("matching", "Matching"),
        metrics=("pair_f1", "pair_precision", "pair_recall"),
        toy="partwise.datasets.toy_matchings",
        variants=({"unmatched": True},),
    ),
    Output("partwise.outputs.reranking", "Reranker", _kinds("RerankerModel")),
    Output(
        "partwise.outputs.custom", "StructuredSVM",
        _kinds("WeightsModel"),
        structures=_structures("joint_kernel", "JointKernel")
        + _structures("parts", "PartLoss", "PartSelection"),
    ),
    Output("partwise.outputs.latent", "LatentStructuredSVM", {}),
    Output(
        "partwise.outputs.clustering", "SupervisedClusterer",
        _kinds("ClusteringModel"),
        ("cluster", "ClusterTask", "Coreference, from CoNLL-2012 files."),
        _structures("clustering", "Clustering", "CorrelationClustering"),
        metrics=(
            "muc_f1", "mitre_loss", "pair_loss", "b_cubed_f1", "ceaf_m_f1", "ceaf_e_f1",
            "conll_f1",
        ),
        toy="partwise.datasets.toy_clusters",
        variants=({"decoder": "correlation"},),
    ),
    Output(
        "partwise.outputs.motif", "MotifClassifier",
        _kinds("MotifModel"),
        ("motif", "MotifTask", "Classes by a hidden motif, from FASTA or TSV."),
        _structures("motif", "Motif"),
        toy="partwise.datasets.toy_motifs",
        variants=({"both_strands": True, "restarts": 2, "length": 6},),
    ),
]  # fmt: skip


def register(output: Output) -> None:
    """Add the output of another package; one with the same folder is replaced."""
    OUTPUTS[:] = [known for known in OUTPUTS if known.folder != output.folder]
    OUTPUTS.append(output)


def public_names() -> dict[str, str]:
    """Modules of the public estimators and structures, by name."""
    names: dict[str, str] = {}
    for output in OUTPUTS:
        names[output.estimator] = f"{output.folder}.estimator"
        names |= dict(output.structures)
    return names


def file_modules() -> dict[str, str]:
    """Modules that read and write model files, by kind."""
    return {
        kind: module if "." in module else f"{output.folder}.{module}"
        for output in OUTPUTS
        for kind, module in output.kinds.items()
    }


def tasks() -> dict[str, Output]:
    """Outputs with files of their own, by the name for ``partwise train``."""
    return {output.task[0]: output for output in OUTPUTS if output.task is not None}


def task_class(model: Any) -> Any:
    """The task of a trained model; None for a kind without files of its own."""
    name = type(model).__name__
    for output in tasks().values():
        if any(kind.partition(".")[0] == name for kind in output.kinds):
            assert output.task is not None
            return getattr(output.module("task"), output.task[1])
    return None


def metrics_of(name: str) -> Any:
    """The ``METRICS`` of the output that has a metric of this name, or None."""
    for output in OUTPUTS:
        if name in output.metrics:
            return output.module("metrics").METRICS
    return None
