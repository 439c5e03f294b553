"""Phrase-structure trees of which some brackets are known, and packed ones.

Such a truth is a list or set of known brackets (label, begin, end), each over the words
begin … end − 1 counted from 0; None stands for none. A label may be None: these words
have a bracket of some label. Any tree of the grammar that has all of them may be the
true one. The loss counts known brackets that are missed, at their cost; other brackets
cost nothing, for they may be right. The completion is the best tree with all known
brackets.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from numbers import Integral
from typing import Any

import numpy as np

from partwise.protocol import CapabilityError, Cuts, Floats, Ints
from partwise.structures.hidden_truths import replace_truths
from partwise.structures.losses import ADDITIVE, Brackets
from partwise.structures.phrase import _batch as batch
from partwise.structures.phrase.problem import GrammarProblem


def is_partial(y: Any) -> bool:
    """Whether a truth is no whole tree, but None or known brackets.

    Examples
    --------
    >>> is_partial([("NP", 0, 2)]), is_partial(("NP", (("NN", ("cat",)),)))
    (True, False)
    """
    if y is None:
        return True
    if hasattr(y, "label") or not isinstance(y, list | tuple | set | frozenset):
        return False
    return all(
        isinstance(bracket, list | tuple)
        and len(bracket) == 3
        and isinstance(bracket[1], Integral)
        for bracket in y
    )


def check_spans(y: Any, n: int, i: int) -> None:
    """Refuse known brackets that are not within a sentence of n words."""
    for label, begin, end in y or ():
        if not (isinstance(end, Integral) and 0 <= begin < end <= n):
            shown = "" if label is None else label
            raise ValueError(
                f"tree {i}: the bracket {shown}[{begin}:{end}] is not within 0:{n}"
            )


def bracket_parts(
    grammar: Any, y: Any, n: int, i: int
) -> tuple[list[tuple[int, int]], list[int]]:
    """Known brackets of a sentence of n words: pairs (part, cell), and cells.

    As in codes; the part is any with the label of the bracket. Cells are those of
    brackets of unknown label. Raises ValueError, naming tree i.
    """
    tables, number = grammar.tables_, {a: k for k, a in enumerate(grammar.labels_)}
    # any part with the label and no other
    labels = tables.part_label.tolist()
    part_of = {
        labels[first]: part
        for part, (first, last) in enumerate(pairwise(tables.part_ptr.tolist()))
        if last == first + 1
    }
    check_spans(y, n, i)
    parts, bare = set(), set()
    for label, begin, end in y or ():
        cell = int(begin) * (n + 1) + int(end)
        if label is None:
            bare.add(cell)
        elif label not in number:
            raise ValueError(f"tree {i}: {label!r} is not a label of the grammar")
        else:
            parts.add((part_of[number[label]], cell))
    return sorted(parts), sorted(bare - {cell for _, cell in parts})


class LatentGrammarProblem(GrammarProblem):
    """Packed sentences whose trees are partly known."""

    truths: Sequence[Any]  # as they were given

    def begin(self, truths: Sequence[Any]) -> LatentGrammarProblem:
        """Take truths over, and complete them at the zero model."""
        grammar = self.structure
        is_additive = self.formulation.is_additive and self.scorer.is_euclidean
        if not is_additive or not isinstance(grammar.delta, Brackets):
            raise CapabilityError(
                "trees of which some brackets are known need <cost='brackets'>, "
                "<formulation='margin'>, <penalty='l1'> and no kernel"
            )
        assert self.blocks.data.oracle == ADDITIVE
        self.truths = truths
        self.complete(self.zero())
        return self

    def keys(self) -> list[bytes]:
        """Digests of sentences and of what is known of their trees."""
        known = [
            sorted(map(repr, y or ())) if is_partial(y) else y for y in self.truths
        ]
        pairs = zip(self.sentences, known, strict=True)
        return [repr(pair).encode() for pair in pairs]

    def true_trees(self) -> list[Any]:
        """Trees with their completions."""
        data = self.blocks.data
        codes = np.split(data.truth, data.truth_ptr[1:-1])
        pairs = zip(codes, self.sentences, strict=True)
        return [self.structure.tree(code, x) for code, x in pairs]

    def complete(self, model: Floats) -> Cuts:
        """Find the trees that are not known; the old ones of those that changed."""
        data = self.blocks.data
        code: Ints = data.truth.copy()
        work = self.borrow_work()
        for i in np.flatnonzero(data.is_partial).tolist():
            here = code[data.truth_ptr[i] : data.truth_ptr[i + 1]]
            batch.score_row(self.blocks, work, model, i)
            if not batch.complete_row(data, work, i, here):
                raise ValueError(
                    f"tree {i}: no tree of the grammar has all known brackets; leave "
                    "it out"
                )
        self.return_work(work)
        return replace_truths(data.truth, data.truth_ptr, code)

    def known_problem(self) -> tuple[GrammarProblem, Ints]:
        """The sentences whose trees are known."""
        rows = np.flatnonzero(self.blocks.data.is_partial == 0)
        if not len(rows):
            raise ValueError("y: no tree is complete; give some whole trees, too")
        sentences = [self.sentences[i] for i in rows.tolist()]
        trees = [self.truths[i] for i in rows.tolist()]
        known = self.structure.pack(
            sentences, trees, self.formulation, n_jobs=self.n_jobs
        )
        return known, rows
