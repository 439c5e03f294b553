"""scikit-learn's refusals of matrices and targets, each with its remedy.

Its words stay at the beginning, for those who look for them; what it prints of the
data, and its advice to use an estimator of its own, are left out.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

# the part of a message that is kept, and what to do
REMEDIES = (
    (
        r"Input X contains [^.]*",
        "fill them, as a SimpleImputer does, or drop the rows",
    ),
    (r"Input y contains [^.]*", "leave out the rows without a target"),
    (r"Input sample_weight contains [^.]*", "give numbers of at least zero"),
    (
        r"Found input variables with inconsistent numbers of samples: \[.*\]",
        "give one target for each row of X",
    ),
    (
        r"(could not convert string to float: .*|.*dtype='?numeric'? is not .*)",
        "X must hold numbers; encode texts, as a OneHotEncoder does",
    ),
    (r"Found array with dim .*", "give a matrix with one row for each example"),
    (r"Found array with 0 sample\(s\) .*", "give at least one row"),
    (r"Found array with 0 feature\(s\) .*", "give at least one column"),
    (r".* requires y to be passed, but the target y is None", "give one for each row"),
    (
        r"y should be a 1d array, got an array of shape .* instead",
        "give one target for each row",
    ),
    (r"Unknown label type: continuous[^.]*", "give classes as texts or whole numbers"),
    (r"Complex data not supported", "give real numbers"),
    (r"sample_weight\.shape == .*", "give one weight for each row"),
    (
        r"X has \d+ features, but .* is expecting \d+ features as input",
        "give the columns that fit had",
    ),
    (
        r"The feature names should match(?:.|\n)*",
        "give the columns that fit had, in their order",
    ),
)


def remedy_of(message: str) -> str:
    """
    A message of scikit-learn with its remedy; as it is where none is known.

    Examples
    --------
    >>> remedy_of("sample_weight.shape == (2,), expected (6,)!")
    'sample_weight.shape == (2,), expected (6,); give one weight for each row'
    """
    for pattern, remedy in REMEDIES:
        found = re.match(pattern, message)
        if found:
            return f"{found[0].rstrip().rstrip('.!')}; {remedy}"
    return message


def refuse_missing(y: Any) -> None:
    """Refuse None among targets, with its row."""
    if isinstance(y, str) or not hasattr(y, "__iter__"):
        return
    for row, target in enumerate(getattr(y, "tolist", lambda: y)()):
        if target is None:
            raise ValueError(f"y: row {row} is None; leave out rows without a target")


@contextmanager
def with_remedies() -> Iterator[None]:
    """Refusals of scikit-learn within the block tell what to do."""
    try:
        yield
    except (TypeError, ValueError) as error:
        message = str(error)
        worded = remedy_of(message)
        if worded == message:
            raise
        raise type(error)(worded) from None
