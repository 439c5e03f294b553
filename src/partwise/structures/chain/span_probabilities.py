"""Probabilities of labelled spans under a chain over the tags of a scheme.

A tag continues the span before it when it is an I- or E- of the type that is still
open there, which depends on the tag before alone. With K[b, c] = 1 where tag c
continues tag b, the spans of a tag sequence (`partwise.metrics.spans`, malformed ones
included) are its longest runs of tokens joined by continuing steps, without runs of O.
So

    P(span from s to e) = Σ over tags P(y_s begins a span, y_{s+1}, …, y_{e−1} continue
                                        it, y_e does not),

a forward sum over steps, restricted to K inside of the span and to its complement at
both ends, as in Culotta and McCallum: Confidence estimation for information extraction,
HLT-NAACL 2004.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from partwise.protocol import Floats
from partwise.readers.span_tags import Span, parse_tag


class SpanTags(NamedTuple):
    """The spans that tags stand for."""

    types: list[str]
    of_type: Floats  # (L, n_types) 1 for the tags of a type; O has none
    continues: Floats  # (L, L) 1 where the column's tag goes on with the row's span

    @classmethod
    def create(cls, labels: Sequence[Any]) -> SpanTags:
        """Of all labels of a model; refuses what is no span tag."""
        parsed = [parse_tag(label) for label in labels]
        types = sorted({kind for prefix, kind in parsed if prefix != "O"})
        of_type = np.array(
            [[prefix != "O" and kind == t for t in types] for prefix, kind in parsed]
        )
        is_open = [kind if prefix in "BI" else None for prefix, kind in parsed]
        continues = np.array(
            [[c in "IE" and kind == before for c, kind in parsed] for before in is_open]
        )
        return cls(types, of_type.astype(float), continues.astype(float))


def span_probabilities(
    tags: SpanTags, first: Floats, steps: Floats, least: float
) -> dict[Span, float]:
    """
    Spans of one sequence that are at least so probable.

    Parameters
    ----------
    tags : SpanTags
    first : array (L,)
        P(tag of the first token).
    steps : array (n − 1, A, L, L)
        P(tags before, tag) of each later token; see `ChainProblem.step_marginals`.
    least : float
        Smallest probability of interest, above 0: longer spans are not looked at where
        the probability that a span is still open is smaller.

    Returns
    -------
    dict of Span to float
        By start, then end.

    Examples
    --------
    Two tokens, each B-X or O with probability ½:

    >>> tags = SpanTags.create(["B-X", "O"])
    >>> span_probabilities(tags, np.full(2, 0.5), np.full((1, 1, 2, 2), 0.25), 0.01)
    {Span(type='X', start=0, end=1): 0.5, Span(type='X', start=1, end=2): 0.5}
    """
    n, depth = len(steps) + 1, steps.shape[1]
    before = steps.sum(axis=3, keepdims=True)
    # P(tag | tags before); 0 where those are impossible
    share = np.divide(steps, before, out=np.zeros_like(steps), where=before > 0)
    go_on = share * tags.continues  # (n − 1, A, L, L)
    # P(the span ends | tags so far), (n − 1, A, L)
    ends = np.maximum(1.0 - go_on.sum(axis=3), 0.0)
    probabilities: dict[Span, float] = {}
    for start in range(n):
        if start == 0:
            mass = first[None, :]
        else:  # (previous tag, tag), the first of which only order 2 needs
            mass = steps[start - 1].sum(axis=0) * (1.0 - tags.continues)
            mass = mass if depth > 1 else mass.sum(axis=0, keepdims=True)
        mass = mass * tags.of_type.any(axis=1)
        for end in range(start + 1, n + 1):
            if mass.sum() < least:
                break
            rows = slice(len(mass))  # order 2 has no tag before the first
            closed = mass if end == n else mass * ends[end - 1, rows]
            for k, value in enumerate((closed.sum(axis=0) @ tags.of_type).tolist()):
                if value >= least:
                    probabilities[Span(tags.types[k], start, end)] = min(value, 1.0)
            if end < n:
                mass = np.einsum("ab,abc->bc", mass, go_on[end - 1, rows])
                mass = mass if depth > 1 else mass.sum(axis=0, keepdims=True)
    return probabilities
