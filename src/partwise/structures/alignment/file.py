"""The options of an alignment, in model files and as parameters.

The featurizer has the rest.
"""

from __future__ import annotations

from typing import Any

from partwise.bounds import entry, require
from partwise.parameters import ParameterError
from partwise.structures.alignment.structure import ENDS, Alignment

OPTIONS = ("tie_gaps", "mode", "free_ends", "cost", "band")


def options_of(alignment: Alignment) -> dict[str, Any]:
    """The options in the types of JSON."""
    options = {name: getattr(alignment, name) for name in OPTIONS}
    return options | {"free_ends": list(alignment.free_ends)}


def chosen_options(parameters: Any) -> dict[str, Any]:
    """The options among attributes; the shell gives numbers as text."""
    options = {name: getattr(parameters, name) for name in OPTIONS}
    ends = options["free_ends"]
    if ends is None:
        options["free_ends"] = list(ENDS)
    elif parameters.mode != "semiglobal" and set(ends) != set(ENDS):
        raise ParameterError(
            "free_ends", ends, "it goes with <mode='semiglobal'>; drop it"
        )
    if str(parameters.cost).isdecimal():
        options["cost"] = int(parameters.cost)
    return options


def alignment_from_state(
    features: dict[str, Any], options: dict[str, Any]
) -> Alignment:
    """
    Rebuild the structure; whatever does not fit raises ValueError.

    Parameters
    ----------
    features : dict
        The other parameters of `Alignment`, from a featurizer.
    options : dict
        From a file.
    """
    require(set(options) == set(OPTIONS), "options of another structure")
    entry(options, "tie_gaps", bool)
    entry(options, "mode", str)
    ends = entry(options, "free_ends", list)
    require(all(isinstance(end, str) for end in ends), "free ends are no names")
    for name, may_be_none in (("cost", False), ("band", True)):
        value = options[name]
        is_number = type(value) is int and 0 <= value < 2**31
        is_named = value is None if may_be_none else isinstance(value, str)
        require(is_number or is_named, f"{name} out of range")
    alignment = Alignment(**features, **options)
    alignment.free()
    alignment.tolerance()
    return alignment
