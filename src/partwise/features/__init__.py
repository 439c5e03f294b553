"""Objects to features: templates over columns, dicts, arrays, word vectors.

Names load on first use, so that help pages of the command line need no numpy.
"""

from typing import TYPE_CHECKING

from partwise.lazy_names import lazy_names

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

__getattr__, __dir__, __all__ = lazy_names(
    __name__,
    {
        "arrays": "ArrayFeaturizer DenseFeatures Features as_features",
        "choice": "AnyFeaturizer default_templates featurizer_from_state kind_of "
        "make_featurizer",
        "columnar": "Featurizer as_table",
        "crfpp": "convert_crfpp",
        "dicts": "DictFeaturizer",
        "templates": "PRESETS TemplateError parse_templates",
        "word_vectors": "VectorFeaturizer",
    },
)
