"""Taggers made from models of CRFsuite."""

from __future__ import annotations

import os

import numpy as np

from partwise.features import DictFeaturizer
from partwise.features.vocabulary import string_arrays
from partwise.outputs.label_scoring import TokenFeatureScoring
from partwise.outputs.labels import MAX_LABELS
from partwise.outputs.scoring import MAX_WEIGHTS
from partwise.outputs.sequence.model import SequenceModel
from partwise.readers.crfsuite import read_crfsuite_model
from partwise.readers.limits import ReaderError
from partwise.structures.chain import Chain


def from_crfsuite(path: str | os.PathLike[str]) -> SequenceModel:
    """
    The tagger of a binary model of CRFsuite; it predicts the same labels.

    Parameters
    ----------
    path : path
        As CRFsuite, python-crfsuite or sklearn-crfsuite wrote it.

    Returns
    -------
    SequenceModel
        Its tokens are dicts or lists of attributes, as python-crfsuite takes them, and
        its marginals and confidences are those of CRFsuite. It has no certificate,
        because the file does not hold the objective. `save_model` writes it.

    Raises
    ------
    ReaderError
        The file is damaged, or no model of CRFsuite.
    """
    model = read_crfsuite_model(path, MAX_WEIGHTS)
    if len(model.labels) > MAX_LABELS:
        raise ReaderError(
            f"{os.fspath(path)}: {len(model.labels)} labels where {MAX_LABELS} are "
            "allowed; train with fewer"
        )
    state = {"kind": DictFeaturizer.kind, "min_count": 1, "hash_bits": None}
    featurizer = DictFeaturizer.from_state(state, string_arrays(model.attributes))
    weights = np.append(model.states, model.transitions)
    info = {"converted_from": "CRFsuite", "temperature": 1.0}
    return SequenceModel(
        TokenFeatureScoring(featurizer),
        Chain(len(model.labels)),
        model.labels,
        weights,
        info,
    )
