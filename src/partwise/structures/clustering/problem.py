"""Packed documents whose clusterings have hidden links: a `Problem` in numba."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from partwise.compiled import Reference, plain_array
from partwise.objective import Formulation
from partwise.protocol import CapabilityError, Cuts, Floats, Ints
from partwise.scorers.linear import LinearScorer
from partwise.structures.clustering._compiled import (
    COMPLETE,
    PREDICT,
    SEARCH,
    ForestBlocks,
    new_forest_work,
    search_forest,
    span,
)
from partwise.structures.hidden_truths import replace_truths
from partwise.structures.weighted_rows import WeightedRowsProblem

if TYPE_CHECKING:
    from partwise.structures.clustering.structure import Clustering


class ForestProblem(WeightedRowsProblem):
    """Packed documents.

    Model: one weight per feature of links, renumbered for speed. Truths have hidden
    links (`Latent`); at first each item is linked to the nearest one before it in its
    cluster, the chronological chain of the paper.
    """

    structure: Clustering
    _tag: ForestBlocks
    _true: Any

    def _search_block(self, blocks: Any, work: Any, i: int, code: Ints) -> Any:
        return search_forest(blocks, work, i, code)

    def outputs(self, cuts: Cuts) -> list[Any]:
        """`Forest` of each cut."""
        from partwise.structures.clustering.structure import Forest

        bounds = zip(cuts.indptr[:-1], cuts.indptr[1:], strict=True)
        return [
            Forest(tuple(np.flatnonzero(cuts.code[a:z]).tolist())) for a, z in bounds
        ]

    def complete(self, model: Floats) -> Cuts:
        """Maximum spanning trees of true clusters; the old ones that changed."""
        return self._begin_with(self._search(self._true, model, None).code)

    def complete_at_random(self, rng: np.random.Generator) -> Cuts:
        """Spanning trees of random values."""
        return self._begin_with(self._spanned(rng.random(len(self._tag.y))))

    def begin_with_chains(self) -> None:
        """Link each item to the nearest one before it in its cluster."""
        self._begin_with(self._spanned(-np.abs(self._tag.one - self._tag.other)))

    def _spanned(self, value: Any) -> Ints:
        """Codes of the spanning trees of true clusters with the largest values."""
        work = self.borrow_work()
        offset = self._tag.offset.tolist()
        code = np.zeros(offset[-1], np.int32)
        for i in range(self.n_blocks):
            here = slice(offset[i], offset[i + 1])
            work.spare[: offset[i + 1] - offset[i]] = value[here]
            span(self.blocks, work, i, code[here], True, False)
        self.return_work(work)
        return code

    def _begin_with(self, code: Any) -> Cuts:
        return replace_truths(self._tag.truth, self._tag.offset, code)


def pack_forests(
    structure: Clustering,
    links: Any,
    items: Sequence[Any],
    Y: Sequence[Any] | None,
    formulation: Formulation,
    n_jobs: int,
) -> ForestProblem:
    """Lay candidate links end to end.

    Parameters
    ----------
    structure : Clustering
    links : Features or DenseFeatures
        Of all links, a sequence of rows per document; none is empty.
    items : sequence of (n_items, pairs)
    Y : sequence of cluster labels, or None
    formulation : Formulation
    n_jobs : int
    """
    if not formulation.is_additive:
        raise CapabilityError(
            "clusterings have no `frontier`: use <formulation='margin'> with "
            "<penalty='l1'>"
        )
    pairs = [np.asarray(each).reshape(-1, 2) for _, each in items]
    y = np.zeros(int(links.offset[-1]))
    if Y is not None:
        same = [
            np.asarray(labels)[p[:, 0]] == np.asarray(labels)[p[:, 1]]
            for labels, p in zip(Y, pairs, strict=True)
        ]
        y[:] = np.concatenate(same)
    scorer = LinearScorer()
    rows, number = scorer.ordered(scorer.bind(links, 1))
    ends = np.concatenate(pairs)
    n_items = np.array([n for n, _ in items], np.int64)
    offset = plain_array(links.offset, np.int64)
    tag = ForestBlocks(
        rows=rows,
        offset=offset,
        y=y,
        one=plain_array(ends[:, 0], np.int32),
        other=plain_array(ends[:, 1], np.int32),
        n_items=n_items,
        truth=np.zeros(len(y)),
        best=np.zeros(len(n_items)),
        penalty=float(structure.link_penalty),
        way=SEARCH,
    )
    most = int(np.diff(offset).max())
    problem = ForestProblem(
        tag, tag._replace(way=PREDICT), formulation, n_jobs, scorer, number,
        lambda: new_forest_work(most, int(n_items.max())),
    )  # fmt: skip
    problem.structure = structure
    problem._tag = tag
    problem._true = Reference(tag._replace(way=COMPLETE))
    problem.begin_with_chains()
    tag.best[:] = np.add.reduceat(tag.truth, offset[:-1])
    return problem
