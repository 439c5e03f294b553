"""Structured prediction with maximum margin.

Names load on first use: ``import partwise`` itself imports neither numba nor
scikit-learn.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

_ORIGINS = {
    "Arborescence": "partwise.structures.arborescence",
    "Certificate": "partwise.certificate",
    "Chain": "partwise.structures.chain",
    "ConstituencyParser": "partwise.estimators.constituency_parser",
    "DependencyParser": "partwise.estimators.dependency_parser",
    "Formulation": "partwise.objective",
    "Grammar": "partwise.structures.grammar",
    "JointKernel": "partwise.structures.joint_kernel",
    "PartLoss": "partwise.structures.part_loss",
    "PartSelection": "partwise.structures.part_selection",
    "Reranker": "partwise.estimators.reranker",
    "SequenceTagger": "partwise.estimators.sequence_tagger",
    "Structure": "partwise.protocol",
    "StructuredSVM": "partwise.estimators.structured_svm",
    "load_model": "partwise.model_file",
}
_MODULES = (
    "datasets",
    "features",
    "kernels",
    "metrics",
    "readers",
    "report",
    "testing",
)

__all__ = [
    "Arborescence",
    "Certificate",
    "Chain",
    "ConstituencyParser",
    "DependencyParser",
    "Formulation",
    "Grammar",
    "JointKernel",
    "PartLoss",
    "PartSelection",
    "Reranker",
    "SequenceTagger",
    "Structure",
    "StructuredSVM",
    "__version__",
    "datasets",
    "features",
    "kernels",
    "load",
    "load_model",
    "metrics",
    "readers",
    "report",
    "testing",
]

if TYPE_CHECKING:
    from partwise import (
        datasets,
        features,
        kernels,
        metrics,
        readers,
        report,
        testing,
    )
    from partwise.certificate import Certificate
    from partwise.estimators.constituency_parser import ConstituencyParser
    from partwise.estimators.dependency_parser import DependencyParser
    from partwise.estimators.reranker import Reranker
    from partwise.estimators.sequence_tagger import SequenceTagger
    from partwise.estimators.structured_svm import StructuredSVM
    from partwise.model_file import load_model
    from partwise.model_file import load_model as load
    from partwise.objective import Formulation
    from partwise.protocol import Structure
    from partwise.structures.arborescence import Arborescence
    from partwise.structures.chain import Chain
    from partwise.structures.grammar import Grammar
    from partwise.structures.joint_kernel import JointKernel
    from partwise.structures.part_loss import PartLoss
    from partwise.structures.part_selection import PartSelection


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        return import_module(f"partwise.{name}")
    wanted = "load_model" if name == "load" else name
    if wanted not in _ORIGINS:
        raise AttributeError(f"module 'partwise' has no attribute {name!r}")
    value = getattr(import_module(_ORIGINS[wanted]), wanted)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
