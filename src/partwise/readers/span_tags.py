"""Tags of tokens as labelled spans: BIO, IOB1, BIOES, with conlleval's semantics."""

from collections.abc import Sequence
from functools import lru_cache
from typing import Any, NamedTuple

# Prefixes of BILOU and BMES, read as those of BIOES.
_SYNONYMS = {"L": "E", "U": "S", "M": "I"}


class Span(NamedTuple):
    """A labelled stretch of tokens: `labels[start:end]`."""

    type: str
    start: int
    end: int


def spans(labels: Sequence[str]) -> list[Span]:
    """Read the spans of one tag sequence, as the conlleval script does.

    A span opens at `B-` or `S-`, and at an `I-` or `E-` that continues nothing;
    it closes after `E-` or `S-`, and before whatever does not continue it. So
    BIO, IOB1 and BIOES tags are read without saying which they are, and
    malformed sequences have a meaning too.

    Parameters
    ----------
    labels : sequence of str
        `O`, or a prefix B, I, E, S (or L, U, M of the BILOU and BMES schemes)
        with `-` and the type. A prefix alone has the type `_`.

    Returns
    -------
    list of Span
        (type, start, end) from left to right, `end` being one past the last token.

    Examples
    --------
    >>> spans(["B-PER", "I-PER", "O", "I-LOC"])
    [Span(type='PER', start=0, end=2), Span(type='LOC', start=3, end=4)]
    """
    ranges = []
    open_type, start = None, 0
    for position, label in enumerate(labels):
        prefix, type_ = parse_tag(label)
        if prefix not in "IE" or type_ != open_type:
            if open_type is not None:
                ranges.append(Span(open_type, start, position))
            open_type, start = (None if prefix == "O" else type_), position
        if prefix in "ES" and open_type is not None:
            ranges.append(Span(open_type, start, position + 1))
            open_type = None
    if open_type is not None:
        ranges.append(Span(open_type, start, len(labels)))
    return ranges


@lru_cache(maxsize=4096)
def parse_tag(label: str) -> tuple[str, str]:
    """Split a tag into its prefix, as in BIOES, and its type."""
    if (
        not isinstance(label, str)
        or label[:1] not in tuple("OBIESLUM")
        or label[1:2] not in ("", "-")
    ):
        raise ValueError(
            f"label {label!r} is not a span tag: expected O, B-TYPE, I-TYPE, E-TYPE or "
            "S-TYPE; token_accuracy and macro_f1 take labels of any kind"
        )
    return _SYNONYMS.get(label[0], label[0]), label[2:] or "_"


def is_span_tag(label: Any) -> bool:
    """Whether a label is a tag of spans: O, or a prefix with or without type."""
    try:
        spans([label])
    except ValueError:
        return False
    return True
