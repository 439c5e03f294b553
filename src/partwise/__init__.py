"""Structured prediction with maximum margin.

Names load on first use: ``import partwise`` itself imports neither numba nor
scikit-learn.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

_ORIGINS = {
    "Arborescence": "partwise.structures.dependency.structure",
    "Certificate": "partwise.certificate",
    "Chain": "partwise.structures.chain.structure",
    "ConstituencyParser": "partwise.outputs.phrase.estimator",
    "DependencyParser": "partwise.outputs.dependency.estimator",
    "Formulation": "partwise.objective",
    "Grammar": "partwise.structures.phrase.structure",
    "JointKernel": "partwise.structures.joint_kernel",
    "PartLoss": "partwise.structures.parts.loss",
    "PartSelection": "partwise.structures.parts.selection",
    "Reranker": "partwise.outputs.reranking.estimator",
    "SequenceTagger": "partwise.outputs.sequence.estimator",
    "Structure": "partwise.protocol",
    "StructuredSVM": "partwise.outputs.custom.estimator",
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
    from partwise.model_file import load_model
    from partwise.model_file import load_model as load
    from partwise.objective import Formulation
    from partwise.outputs.custom.estimator import StructuredSVM
    from partwise.outputs.dependency.estimator import DependencyParser
    from partwise.outputs.phrase.estimator import ConstituencyParser
    from partwise.outputs.reranking.estimator import Reranker
    from partwise.outputs.sequence.estimator import SequenceTagger
    from partwise.protocol import Structure
    from partwise.structures.chain import Chain
    from partwise.structures.dependency import Arborescence
    from partwise.structures.joint_kernel import JointKernel
    from partwise.structures.parts import PartLoss, PartSelection
    from partwise.structures.phrase import Grammar


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
