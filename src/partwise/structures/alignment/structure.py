"""Alignments of two sequences: global, local or semi-global, with featured gaps.

An output is a set of pairs (i, j) of tokens of a and b, rising in both. Its parts are
the matches, and the openings and extensions of gaps: runs of tokens of a (deletions) or
of b (insertions) without a partner. `layout.py` says which features parts have,
`_programs.py` how the best alignment is found.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from partwise.bounds import MAX_FEATURE, check_magnitude
from partwise.compiled import plain_array
from partwise.objective import Formulation
from partwise.parameters import ParameterError, SettingsError
from partwise.protocol import CapabilityError, Floats, Ints, offsets_of
from partwise.structures.alignment._compiled import AlignmentBlocks
from partwise.structures.alignment._pairs import PairFeatures, number_symbols
from partwise.structures.alignment._reference import AlignmentReference
from partwise.structures.alignment._scores import (
    A_END,
    A_START,
    ANYWHERE,
    B_END,
    B_START,
)
from partwise.structures.alignment._searches import search_by
from partwise.structures.alignment._truth import check_truths
from partwise.structures.alignment.examples import Examples
from partwise.structures.alignment.layout import Layout
from partwise.structures.alignment.problem import (
    AlignmentProblem,
    ChoiceProblem,
    LatentChoiceProblem,
)
from partwise.structures.packed import PackedStructure

ENDS = {"a_start": A_START, "a_end": A_END, "b_start": B_START, "b_end": B_END}
TOLERANCES = {"q": 0, "q4": 4}
MAX_ROWS = 1 << 23  # scores of matches that one thread keeps
MAX_FRONTIER = 1 << 30  # bytes of traces for every number of lost pairs


class Alignment(AlignmentReference, PackedStructure):
    """Alignments of two sequences with scores of matches and gaps from features.

    Parameters
    ----------
    sizes : tuple of int, or pair of such tuples
        Number of values of each column of tokens, for a and b alike or apart.
    match : {"simple", "anova2", "tensor"} or list of (columns of a, columns of b)
        Templates of match features, see `layout.py`. With a single column "simple" is a
        substitution matrix, not symmetric.
    products : tuple of int
        Lengths of vectors u, v of the tokens whose inner products are real features of
        a match.
    gap_open, gap_extend : list of tuples of columns
        Features of the first, and of every token of a gap; ``((),)`` is one constant.
        ``gap_open=()`` makes gaps linear.
    tie_gaps : bool
        Whether deletions and insertions share their weights.
    mode : {"global", "local", "semiglobal"}
        Local alignments begin and end with a match, and what lies outside has no score;
        no pair at all has score 0.
    free_ends : tuple of {"a_start", "a_end", "b_start", "b_end"}
        Ends at which a semi-global alignment leaves out tokens for free. Where both
        sequences may, only one does: the shorter of the two stretches is a gap.
    cost : {"q", "q4"} or int
        The loss: share of reference pairs whose token of a has no partner within so
        many places of the right one: 0, 4, or another number.
    band : int, optional
        Cells farther than this from the diagonal, in tokens of b, are left out. Leading
        and trailing gaps are not.
    decoys : bool
        Whether b is one of several candidates; see `pack`.

    Examples
    --------
    Two letters; a match is worth 2, a mismatch −1, a gap −1 per token:

    >>> nw = Alignment((2,), gap_open=(), tie_gaps=True)
    >>> w = np.array([2.0, -1.0, -1.0, 2.0, -1.0])
    >>> x = (np.array([0, 1, 1, 0]), np.array([0, 1, 0]))
    >>> nw.decode([x], w)[0].tolist()
    [[0, 0], [2, 1], [3, 2]]
    >>> nw.loss([[0, 0], [1, 1], [3, 2]], [[0, 0], [2, 1], [3, 2]])
    0.3333333333333333
    """

    def __init__(
        self,
        sizes: Any,
        match: Any = "simple",
        products: Sequence[int] = (),
        gap_open: Any = ((),),
        gap_extend: Any = ((),),
        tie_gaps: bool = False,
        mode: str = "global",
        free_ends: Sequence[str] = ("a_start", "a_end", "b_start", "b_end"),
        cost: Any = "q",
        band: int | None = None,
        decoys: bool = False,
    ) -> None:
        self.sizes = sizes
        self.match = match
        self.products = products
        self.gap_open = gap_open
        self.gap_extend = gap_extend
        self.tie_gaps = tie_gaps
        self.mode = mode
        self.free_ends = free_ends
        self.cost = cost
        self.band = band
        self.decoys = decoys

    def layout(self) -> Layout:
        """Where the weights of all features lie in a model."""
        return Layout.create(
            self.sizes, self.match, self.products, self.gap_open, self.gap_extend,
            self.tie_gaps,
        )  # fmt: skip

    def tolerance(self) -> int:
        """How far a partner may be off without loss."""
        if isinstance(self.cost, str) and self.cost in TOLERANCES:
            return TOLERANCES[self.cost]
        if isinstance(self.cost, int | np.integer) and self.cost >= 0:
            return int(self.cost)
        raise SettingsError(
            f"<cost={self.cost!r}>: choose 'q', 'q4' or a whole number ≥ 0"
        )

    def free(self) -> int:
        """Ends that are free, as bits."""
        if self.mode == "global":
            return 0
        if self.mode == "local":
            return sum(ENDS.values()) + ANYWHERE
        if self.mode != "semiglobal":
            raise ValueError(
                f"mode={self.mode!r}: choose 'global', 'local' or 'semiglobal'"
            )
        if not set(self.free_ends) <= ENDS.keys():
            raise ParameterError(
                "free_ends", self.free_ends, f"choose a list of {', '.join(ENDS)}"
            )
        return sum(ENDS[end] for end in set(self.free_ends))

    def pack(
        self,
        X: Sequence[Any],
        Y: Sequence[Any] | None,
        formulation: Formulation | None = None,
        *,
        n_jobs: int = 1,
        core: Sequence[Any] | None = None,
        forbidden: Sequence[Any] | None = None,
        given: Sequence[Any] | None = None,
        base: Floats | None = None,
    ) -> ChoiceProblem:
        """Lay pairs of sequences out for a solver.

        Parameters
        ----------
        X : list of (a, b)
            A sequence is an integer array (n,) or (n, n_columns); with `products` a
            pair of it and a real array (n, Σ products). A sequence that several pairs
            have is stored once if it is the same object. With `decoys` b is a list of
            sequences, the candidates.
        Y : list of int arrays (k, 2), or None to predict only
            Pairs of aligned tokens. With `decoys` a pair of the number of the
            homologue and its alignment: constraints range over all alignments of the
            other candidates, and the loss is 1. The number alone, or with None, stands
            for an unknown alignment, which training completes in rounds (`Latent`).
        formulation : Formulation
        n_jobs : int
        core : list of bool arrays (k,), optional
            Which pairs of Y the loss counts; all by default.
        forbidden : list of int arrays (f, 2), optional
            Matches that no alignment may have. With `decoys` an item is a list of such
            arrays, one per candidate, None for one without.
        given : list of int arrays (g, 2), optional
            Matches that every alignment must have, as in completing a partial one; with
            `decoys` likewise.
        base : array (n_weights,), optional
            Weights w₀ from which training starts: solvers minimise
            ½‖w − w₀‖² + Σ c_i ξ_i(w). Their model is w − w₀; `compact` adds w₀. Not
            for hard margins.

        Returns
        -------
        AlignmentProblem
            With `decoys` a `ChoiceProblem`: it has no k best and no likelihood; a
            `LatentChoiceProblem` where alignments are unknown.
        """
        formulation = (formulation or Formulation()).validate()
        layout, free, tolerance = self.layout(), self.free(), self.tolerance()
        if self.decoys and core is not None:
            raise ValueError(
                "core says which pairs the loss counts, and with candidates the loss "
                "is 1 for any decoy; leave core out"
            )
        if self.band is not None and self.band < 0:
            raise ValueError(f"band={self.band!r}: give a whole number ≥ 0")
        if self.band is not None and given is not None:
            raise ValueError("band and given pairs exclude each other: drop one")
        examples = Examples.read(
            layout, X, Y, decoys=self.decoys, core=core, forbidden=forbidden,
            given=given,
        )  # fmt: skip
        pairs, n_symbols = _pair_features(layout, examples)
        longest_b = np.diff(examples.b.offset).max()
        keeps_rows = (n_symbols.max() + 1) * (longest_b + 8) <= MAX_ROWS
        is_additive = formulation.is_additive or self.decoys
        base = np.zeros(0) if base is None else plain_array(base, np.float64)
        if len(base):
            _check_base(base, layout, examples, formulation)
        if not is_additive:
            _check_frontier(examples, formulation, keeps_rows)
        blocks = AlignmentBlocks(
            pairs=pairs,
            a_offset=examples.a.offset,
            b_offset=examples.b.offset,
            pair_a=examples.pair_a,
            pair_b=examples.pair_b,
            pair_first=examples.pair_first,
            pair_offset=examples.pair_offset,
            offset=examples.offset,
            y=examples.y,
            counted=examples.counted,
            unit=examples.unit,
            tolerance=tolerance,
            forbid_first=examples.forbid_first,
            forbid=examples.forbid,
            given_first=examples.given_first,
            given=examples.given,
            band=-1 if self.band is None else int(self.band),
            free=free,
            is_choice=int(self.decoys),
            first_candidate=int(self.decoys),
            with_loss=1,
            is_additive=int(is_additive),
            search=search_by(is_additive),
            rule=formulation.rule,
            keeps_rows=int(keeps_rows),
            keeps_weights=int(self.decoys or not keeps_rows or len(base) > 0),
            base=base,
        )
        settings = self, layout, blocks, examples.chosen, n_symbols, formulation, n_jobs
        if len(examples.hidden):
            latent = LatentChoiceProblem(*settings)
            latent.hidden = examples.hidden
            latent.complete(latent.zero())
            check_truths(blocks)
            return latent
        if Y is not None:
            check_truths(blocks)
        return (ChoiceProblem if self.decoys else AlignmentProblem)(*settings)


def _check_base(
    base: Floats, layout: Layout, examples: Examples, formulation: Formulation
) -> None:
    """Refuse weights to start from that do not fit, or cannot be regularised to."""
    check_magnitude(base, MAX_FEATURE, "base")
    if base.shape != (layout.n_weights,):
        raise ValueError(f"base: give {layout.n_weights} weights")
    if len(examples.hidden):
        raise CapabilityError(
            "weights to start from (base) enter the offsets of planes, which must not "
            "change with completions; align all homologues, or begin rounds at these "
            "weights (`Start`)"
        )
    if formulation.rescaling == "hard":
        raise CapabilityError(
            "<formulation='hard'> has no weights to start from; leave out <start=>"
        )


def _check_frontier(
    examples: Examples, formulation: Formulation, keeps_rows: bool
) -> None:
    """Refuse sequences for which traces of all numbers of lost pairs have no room."""
    n_lost = np.add.reduceat(examples.counted, examples.offset[:-1], dtype=int)
    if formulation.rescaling == "hard":
        n_lost = np.minimum(n_lost, 1)
    a_length, b_length = np.diff(examples.a.offset), np.diff(examples.b.offset)
    cells = a_length[examples.pair_a] * b_length[examples.pair_b]
    if not keeps_rows or (cells * (n_lost + 1)).max() > MAX_FRONTIER:
        raise CapabilityError(
            f"{formulation.rescaling} rescaling with penalty {formulation.penalty!r} "
            "looks at every number of lost pairs, which takes too much memory for "
            "sequences of this length; use <formulation='margin'> with <penalty='l1'>"
        )


def _pair_features(layout: Layout, examples: Examples) -> tuple[PairFeatures, Ints]:
    """Features of all tokens; number of different tokens of each sequence of a."""
    a, b = examples.a, examples.b
    a_open, a_extend = layout.gap_features(a.codes, 0)
    b_open, b_extend = layout.gap_features(b.codes, 1)
    order, first = layout.groups()
    ends = [layout.match[f] for f in order[first[:-1]]]
    rows = plain_array(layout.match_rows(a.codes)[order].T, np.uint32)
    symbol = np.zeros(len(a.codes), np.int32)
    count = np.diff(a.offset)
    if layout.widths:  # real values: hardly any two tokens are alike
        symbol[:] = np.arange(len(symbol)) - np.repeat(a.offset[:-1], count)
    else:
        number_symbols(rows, a.offset, symbol, count)
    pairs = PairFeatures(
        rows,
        plain_array(layout.match_codes(b.codes)[order[first[:-1]]], np.uint32),
        first,
        np.array([t.size_b for t in ends], np.int64),
        plain_array(a.values, np.float64),
        plain_array(b.values.T, np.float64),
        offsets_of(layout.widths),
        layout.product_base,
        a_open,
        a_extend,
        b_open,
        b_extend,
        symbol,
    )
    return pairs, count
