"""A generative model of alignments by counting: the baseline of the papers."""

from __future__ import annotations

from typing import Any

import numpy as np

from partwise.protocol import Floats, Ints
from partwise.structures.alignment.layout import Layout, Template


def log_odds(layout: Layout, blocks: Any, counts: Floats, smoothing: float) -> Floats:
    """
    Logarithms of smoothed relative frequencies.

    A match of codes x and z has the weight log P(x, z)/(P(x) P(z)): how much likelier
    the pair is among aligned tokens than by chance. Frequencies of single codes are
    those of all tokens of the sequences. Pairs are smoothed towards chance: pairs that
    were never seen score a little below zero, however rare their codes. (Spreading the
    same smoothing evenly over all pairs makes pairs of two rare codes likely: of 440
    codes, where most pairs are never seen, hardly any token found its partner.)
    Templates are taken as independent, which overlapping ones are not. Products have no
    frequency; their weights are zero.

    Gaps are runs of geometric length: with δ the share of tokens at which a gap opens,
    and ε the share of its tokens that another one follows, a gap of k tokens has the
    weight log δ + log(1 − ε) + (k − 1) log ε. Linear gaps have log of the share of
    tokens without a partner.

    Parameters
    ----------
    layout : Layout
    blocks : AlignmentBlocks
        With true alignments.
    counts : array (n_weights,)
        Sum of the features of all true alignments.
    smoothing : float
        Added to each count (Laplace: 1); to those of pairs, on average.

    Returns
    -------
    array (n_weights,)
    """
    model = np.zeros(layout.n_weights)
    tokens_a, tokens_b, aligned_a, aligned_b = _tokens(blocks)
    rows, codes = blocks.pairs.a_row, blocks.pairs.b_code
    order, first = layout.groups()
    for row, f in enumerate(order):
        table = layout.match[f]
        group = np.searchsorted(first, row, side="right") - 1
        code_a = (rows[tokens_a, row].astype(np.int64) - table.base) // table.size_b
        of_a = _shares(np.bincount(code_a, minlength=table.size_a), smoothing)
        of_b = _shares(
            np.bincount(codes[group, tokens_b], minlength=table.size_b), smoothing
        )
        pairs = counts[table.base : table.base + table.size]
        chance = of_a[:, None] * of_b
        seen = np.maximum(pairs, 0.0).reshape(chance.shape)
        joint = seen + smoothing * table.size * chance
        odds = np.log(joint / joint.sum() / chance)
        model[table.base : table.base + table.size] = odds.ravel()
    sides = [
        (layout.a_open, layout.a_extend, blocks.pairs.a_open, blocks.pairs.a_extend,
         aligned_a),
        (layout.b_open, layout.b_extend, blocks.pairs.b_open, blocks.pairs.b_extend,
         aligned_b),
    ]  # fmt: skip
    matched = np.zeros(layout.n_weights)  # tokens with a partner, by gap feature
    for *_, open_features, extend_features, tokens in sides:
        for features in (open_features, extend_features):
            for row in features:
                matched += np.bincount(row[tokens], minlength=layout.n_weights)
    is_tied = (layout.a_open, layout.a_extend) == (layout.b_open, layout.b_extend)
    for opening, extension, *_ in sides[: 1 if is_tied else 2]:
        _fill_gaps(model, counts, matched, opening, extension, smoothing)
    return model


def _fill_gaps(
    model: Floats,
    counts: Floats,
    matched: Floats,
    opening: tuple[Template, ...],
    extension: tuple[Template, ...],
    smoothing: float,
) -> None:
    """Weights of the gaps of one side, or of both where they are tied."""

    def total(table: Template) -> Floats:
        return counts[table.base : table.base + table.size]

    n_gaps = sum(total(opening[0])) if opening else 0.0
    n_tokens = sum(total(extension[0])) if extension else 0.0
    longer = (n_tokens - n_gaps + smoothing) / (n_tokens + 2 * smoothing)
    for table in opening:
        here = slice(table.base, table.base + table.size)
        # tokens at which a gap might have opened: those with a partner, and first ones
        trials = counts[here] + matched[here]
        share = (counts[here] + smoothing) / (trials + 2 * smoothing)
        model[here] = np.log(share) + np.log1p(-longer) - np.log(longer)
    for table in extension:
        here = slice(table.base, table.base + table.size)
        if opening:
            model[here] = np.log(longer) / len(extension)
        else:
            trials = counts[here] + matched[here]
            share = (counts[here] + smoothing) / (trials + 2 * smoothing)
            model[here] = np.log(share)


def _shares(counts: Any, smoothing: float) -> Floats:
    counts = np.maximum(counts, 0.0) + smoothing
    return counts / counts.sum()


def _tokens(blocks: Any) -> tuple[Ints, Ints, Ints, Ints]:
    """Numbers of all tokens of a and b, and of those with a partner, of all truths."""
    parts: tuple[list[Ints], ...] = ([], [], [], [])
    for i in range(len(blocks.offset) - 1):
        pair = blocks.pair_first[i]
        a, b = blocks.pair_a[pair], blocks.pair_b[pair]
        y = blocks.y[blocks.offset[i] : blocks.offset[i + 1]]
        parts[0].append(np.arange(blocks.a_offset[a], blocks.a_offset[a + 1]))
        parts[1].append(np.arange(blocks.b_offset[b], blocks.b_offset[b + 1]))
        parts[2].append(blocks.a_offset[a] + np.flatnonzero(y >= 0))
        parts[3].append(blocks.b_offset[b] + y[y >= 0])
    one, two, three, four = (np.concatenate(each) for each in parts)
    return one, two, three, four
