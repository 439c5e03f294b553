"""Kernels on vectors, sequences and trees, and their Gram matrices."""

from partwise.kernels.approximations import Nystroem, RandomFourier
from partwise.kernels.bag_of_words import BagOfWords
from partwise.kernels.base import Bound, Kernel
from partwise.kernels.clusters import WordClusters
from partwise.kernels.combinations import Normalized, Product, Scaled, Sum
from partwise.kernels.exact_strings import ExactNGram, Spectrum
from partwise.kernels.external import FromFunction, Pairwise, Precomputed
from partwise.kernels.gram import Estimate, Progress, estimate, gram, strips
from partwise.kernels.memory import GramTooLarge
from partwise.kernels.naming import as_kernel, from_dict, parse_kernel
from partwise.kernels.positive import refuse_indefinite
from partwise.kernels.strings import AnnotatedNGram, NGram
from partwise.kernels.trees import ConvolutionTree
from partwise.kernels.vectors import RBF, Linear, Polynomial

__all__ = [
    "RBF", "AnnotatedNGram", "BagOfWords", "Bound", "ConvolutionTree", "Estimate",
    "ExactNGram", "FromFunction", "GramTooLarge", "Kernel", "Linear", "NGram",
    "Normalized", "Nystroem", "Pairwise", "Polynomial", "Precomputed", "Product",
    "Progress", "RandomFourier", "Scaled", "Spectrum", "Sum", "WordClusters",
    "as_kernel", "estimate", "from_dict", "gram", "parse_kernel", "refuse_indefinite",
    "strips",
]  # fmt: skip
