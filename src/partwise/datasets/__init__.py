"""Small data made by the project, and public corpora fetched by name."""

from partwise.datasets.candidates import toy_candidates
from partwise.datasets.digits import digit_images, digit_strings
from partwise.datasets.download import Fetched, FetchError, fetch
from partwise.datasets.points import toy_points
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
    "toy_candidates",
    "toy_dependencies",
    "toy_entities",
    "toy_points",
    "toy_sentences",
    "toy_taxonomy",
    "toy_treebank",
]
