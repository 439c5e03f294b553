"""Small data made by the project, and public corpora fetched by name."""

from partwise.datasets.alignments import toy_alignments, toy_homologues
from partwise.datasets.candidates import toy_candidates
from partwise.datasets.clusters import toy_clusters
from partwise.datasets.digits import digit_images, digit_strings
from partwise.datasets.download import Fetched, FetchError, fetch
from partwise.datasets.graphs import toy_graphs
from partwise.datasets.label_sets import toy_label_sets
from partwise.datasets.matchings import toy_matchings
from partwise.datasets.motifs import planted_motifs, toy_motifs
from partwise.datasets.points import toy_binary, toy_points, toy_queries
from partwise.datasets.registry import CORPORA, Corpus, RemoteFile, corpus
from partwise.datasets.sentences import (
    Sentence,
    toy_dependencies,
    toy_entities,
    toy_sentences,
    toy_treebank,
)
from partwise.datasets.taxonomy import toy_taxonomy

__all__ = [
    "CORPORA",
    "Corpus",
    "FetchError",
    "Fetched",
    "RemoteFile",
    "Sentence",
    "corpus",
    "digit_images",
    "digit_strings",
    "fetch",
    "planted_motifs",
    "toy_alignments",
    "toy_binary",
    "toy_candidates",
    "toy_clusters",
    "toy_dependencies",
    "toy_entities",
    "toy_graphs",
    "toy_homologues",
    "toy_label_sets",
    "toy_matchings",
    "toy_motifs",
    "toy_points",
    "toy_queries",
    "toy_sentences",
    "toy_taxonomy",
    "toy_treebank",
]
