"""Files to objects: each reader returns the pair X, y of its task.

Names load on first use, so that help pages of the command line need no numpy.
"""

from typing import TYPE_CHECKING

from partwise.lazy_names import lazy_names

if TYPE_CHECKING:
    from partwise.readers.annotations import read_annotations, write_annotations
    from partwise.readers.arff import read_arff
    from partwise.readers.brackets import (
        format_tree,
        parse_tree,
        read_brackets,
        write_brackets,
    )
    from partwise.readers.candidates import Candidates, read_candidates
    from partwise.readers.columns import read_columns, write_columns
    from partwise.readers.conllu import (
        ConlluDocument,
        read_conllu,
        read_conllu_document,
        write_conllu,
    )
    from partwise.readers.crfsuite import (
        CrfsuiteModel,
        read_crfsuite,
        read_crfsuite_model,
    )
    from partwise.readers.fasta import (
        AlignedPairs,
        Family,
        FastaRecord,
        aligned_pairs,
        read_families,
        read_fasta,
        write_families,
        write_fasta,
    )
    from partwise.readers.graphs import Graphs, read_graphs
    from partwise.readers.hierarchies import path_parents, read_parents
    from partwise.readers.homologues import (
        CandidateLists,
        named_sequences,
        read_homologues,
    )
    from partwise.readers.label_sets import LabelSets, read_label_sets
    from partwise.readers.source import ReaderError, text_encoding
    from partwise.readers.substitution import (
        SubstitutionMatrix,
        read_matrix,
        write_matrix,
    )
    from partwise.readers.svm_hmm import read_svm_hmm
    from partwise.readers.table import Column, Table
    from partwise.readers.trees import (
        DependencyTree,
        PhraseTree,
        as_phrase_tree,
        is_projective,
        tagged_words,
    )
    from partwise.readers.vectors import read_vectors

__getattr__, __dir__, __all__ = lazy_names(
    __name__,
    {
        "annotations": "read_annotations write_annotations",
        "arff": "read_arff",
        "brackets": "format_tree parse_tree read_brackets write_brackets",
        "candidates": "Candidates read_candidates",
        "columns": "read_columns write_columns",
        "conllu": "ConlluDocument read_conllu read_conllu_document write_conllu",
        "crfsuite": "CrfsuiteModel read_crfsuite read_crfsuite_model",
        "fasta": "AlignedPairs Family FastaRecord aligned_pairs read_families "
        "read_fasta write_families write_fasta",
        "graphs": "Graphs read_graphs",
        "hierarchies": "path_parents read_parents",
        "homologues": "CandidateLists named_sequences read_homologues",
        "label_sets": "LabelSets read_label_sets",
        "source": "ReaderError text_encoding",
        "substitution": "SubstitutionMatrix read_matrix write_matrix",
        "svm_hmm": "read_svm_hmm",
        "table": "Column Table",
        "trees": "DependencyTree PhraseTree as_phrase_tree is_projective tagged_words",
        "vectors": "read_vectors",
    },
)
