"""Objects to features: templates over columns, dicts, arrays, word vectors.

Names load on first use, so that help pages of the command line need no numpy.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from partwise.features.arrays import (
        ArrayFeaturizer,
        DenseFeatures,
        Features,
        as_features,
    )
    from partwise.features.choice import (
        AnyFeaturizer,
        default_templates,
        featurizer_from_state,
        kind_of,
        make_featurizer,
    )
    from partwise.features.columnar import Featurizer, as_table
    from partwise.features.crfpp import convert_crfpp
    from partwise.features.dicts import DictFeaturizer
    from partwise.features.templates import PRESETS, TemplateError, parse_templates
    from partwise.features.word_vectors import VectorFeaturizer

_NAMES = {
    "arrays": "ArrayFeaturizer DenseFeatures Features as_features",
    "choice": "AnyFeaturizer default_templates featurizer_from_state kind_of "
    "make_featurizer",
    "columnar": "Featurizer as_table",
    "crfpp": "convert_crfpp",
    "dicts": "DictFeaturizer",
    "templates": "PRESETS TemplateError parse_templates",
    "word_vectors": "VectorFeaturizer",
}
_MODULES = {name: module for module, names in _NAMES.items() for name in names.split()}


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(f"{__name__}.{_MODULES[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted([*globals(), *_MODULES])


__all__ = [
    "PRESETS", "AnyFeaturizer", "ArrayFeaturizer", "DenseFeatures", "DictFeaturizer",
    "Features", "Featurizer", "TemplateError", "VectorFeaturizer", "as_features",
    "as_table", "convert_crfpp", "default_templates", "featurizer_from_state",
    "kind_of", "make_featurizer", "parse_templates",
]  # fmt: skip
