"""What a model file keeps of a `RankingModel`, and the checks when it is read."""

from __future__ import annotations

from typing import Any

from partwise.bounds import entry, require
from partwise.outputs.ranking.model import RankingModel
from partwise.outputs.rows import RowFeatureScoring
from partwise.outputs.scoring import Arrays, State
from partwise.structures.ranking import Ranking


def to_state(model: RankingModel) -> State:
    """Settings for JSON, and arrays."""
    structure = model.structure
    scoring, arrays = model.scoring.to_state(model.weights)
    settings = {"measure": structure.measure, "k": structure.k, **scoring}
    if structure.place_weights is not None:
        settings["place_weights"] = structure.listed_weights()
    if structure.ties != "mean":  # files from before hidden rankings have none
        settings["ties"] = structure.ties
    return settings, arrays


def from_state(
    settings: dict[str, Any], arrays: Arrays, info: dict[str, Any]
) -> RankingModel:
    """Rebuild a model; whatever does not fit together raises ValueError."""
    k = settings["k"]
    require(k is None or (type(k) is int and 0 < k < 2**62), "k out of range")
    ties = settings.get("ties", "mean")
    require(ties in ("mean", "latent"), f"ties {ties!r}")
    weights = settings.get("place_weights")
    require(weights is None or isinstance(weights, list), "place_weights")
    structure = Ranking(entry(settings, "measure", str), k, weights, ties)
    structure.check()
    scoring, coef = RowFeatureScoring.from_state(settings, arrays, [""])
    return RankingModel(scoring, structure, coef, info)
