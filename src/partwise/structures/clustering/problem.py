"""Packed documents and their clusterings: problems in numba."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from partwise.compiled import Reference, plain_array
from partwise.objective import Formulation
from partwise.protocol import CapabilityError, Cuts, Floats, Ints
from partwise.scorers.linear import LinearScorer
from partwise.state import EXACT
from partwise.structures.clustering._compiled import (
    COMPLETE,
    PREDICT,
    SEARCH,
    LinkBlocks,
    new_link_work,
    search_links,
    span,
)
from partwise.structures.clustering.partitions import best_partition
from partwise.structures.hidden_truths import replace_truths
from partwise.structures.packed import ForkedTruths
from partwise.structures.weighted_rows import WeightedRowsProblem

if TYPE_CHECKING:
    from partwise.structures.clustering.structure import LinkedItems


class LinkProblem(WeightedRowsProblem):
    """Packed documents; a model is one weight per feature, renumbered for speed."""

    structure: LinkedItems
    _tag: LinkBlocks

    def _search_block(self, blocks: Any, work: Any, i: int, code: Ints) -> Any:
        return search_links(blocks, work, i, code)

    def outputs(self, cuts: Cuts) -> list[Any]:
        """`Forest` or `Partition` of each cut."""
        return [
            self.structure.output_class(tuple(np.flatnonzero(code).tolist()))
            for code in cuts.codes
        ]


class PartitionProblem(LinkProblem):
    """All pairs within clusters count (`CorrelationClustering`); nothing is hidden.

    Searches are greedy, with a bound. Passes over the data, not the sweeps of solvers,
    solve integer programs for documents of up to `exact_items` items whose bound is
    not reached.
    """

    def _search(self, blocks: Any, model: Floats, rows: Ints | None) -> Cuts:
        cuts = super()._search(blocks, model, rows)
        structure: Any = self.structure
        is_small = self._tag.n_items[cuts.block] <= structure.exact_items
        is_open = cuts.bound > cuts.violation + EXACT * (1.0 + np.abs(cuts.violation))
        for r in np.flatnonzero(is_small & is_open).tolist():
            self._solve_exactly(blocks.way, model, cuts, r)
        return cuts

    def _solve_exactly(self, way: int, model: Floats, cuts: Cuts, r: int) -> None:
        """Replace the output of cut r by that of an integer program, if it is better.

        Its violation is `base` and the sum of `value` over the pairs within clusters.
        """
        tag, i = self._tag, int(cuts.block[r])
        here = slice(int(tag.offset[i]), int(tag.offset[i + 1]))
        score = np.empty(here.stop - here.start)
        self._score(model, here.start, here.stop, score)
        base, value = -float(np.sum(tag.truth[here] * score)), score
        if way == SEARCH:
            base += float(tag.best[i])
            value = score + np.where(tag.y[here] > 0, -1.0, tag.penalty)
        pairs = np.column_stack([tag.one[here], tag.other[here]])
        best = best_partition(int(tag.n_items[i]), pairs, value)
        if best is None:
            return
        violation = base + float(np.sum(value[best.is_joined]))
        if violation > cuts.violation[r]:
            code = cuts.code[cuts.indptr[r] : cuts.indptr[r + 1]]
            code[:] = best.is_joined
            cuts.violation[r] = violation
            cuts.b[r] = tag.output_loss(i, code) if way == SEARCH else 0.0
        cuts.bound[r] = max(min(base + best.bound, cuts.bound[r]), cuts.violation[r])


class ForestProblem(ForkedTruths, LinkProblem):
    """A spanning forest counts, whose links are hidden in truths (`Latent`).

    At first each item is linked to the nearest one before it in its cluster, the
    chronological chain of the paper.
    """

    truth_fields = ("truth",)
    _true: Any

    def complete(self, model: Floats) -> Cuts:
        """Maximum spanning trees of true clusters; the old ones that changed."""
        return self._begin_with(self._search(self._true, model, None).code)

    def complete_at_random(self, rng: np.random.Generator) -> Cuts:
        """Spanning trees of random values."""
        return self._begin_with(self._spanned(rng.random(len(self._tag.y))))

    def begin_with(self, links: Sequence[Any]) -> Cuts:
        """Take over spanning forests of the true clusters, bool arrays of links."""
        tag, code = self._tag, np.zeros(len(self._tag.y), np.int32)
        for i, chosen in enumerate(links):
            here = slice(int(tag.offset[i]), int(tag.offset[i + 1]))
            is_chosen = np.asarray(chosen, bool)
            fits = is_chosen.shape == tag.y[here].shape
            if fits:
                n, pairs = int(tag.n_items[i]), (tag.one[here], tag.other[here])
                ends = [each[is_chosen] for each in pairs]
                graph = coo_array((np.ones(len(ends[0])), ends), shape=(n, n))
                size = len(ends[0])
                fits = connected_components(graph, directed=False)[0] == n - size
                fits = (
                    fits and size == tag.best[i] and bool(tag.y[here][is_chosen].all())
                )
            if not fits:
                raise ValueError(
                    f"completions of document {i}: give a bool per candidate link, "
                    "true for those that span each true cluster without a circle"
                )
            code[here] = is_chosen
        return self._begin_with(code)

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


def pack_links(
    structure: LinkedItems,
    links: Any,
    items: Sequence[Any],
    same: Sequence[Any] | None,
    formulation: Formulation,
    n_jobs: int,
) -> LinkProblem:
    """Lay candidate links end to end.

    Parameters
    ----------
    structure : Clustering or CorrelationClustering
    links : Features or DenseFeatures
        Of all links, a sequence of rows per document; none is empty.
    items : sequence of (n_items, pairs)
    same : sequence of arrays (m,), or None
        Whether each link is within a true cluster.
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
    if same is not None:
        y[:] = np.concatenate(same)
    scorer = LinearScorer()
    rows, number = scorer.ordered(scorer.bind(links, 1))
    ends = np.concatenate(pairs)
    if (ends[:, 0] == ends[:, 1]).any():
        raise ValueError("a pair links an item with itself; leave it out")
    n_items = np.array([n for n, _ in items], np.int64)
    offset = plain_array(links.offset, np.int64)
    is_forest = structure.decoder == "forest"
    tag = LinkBlocks(
        rows=rows,
        offset=offset,
        y=y,
        one=plain_array(ends[:, 0], np.int32),
        other=plain_array(ends[:, 1], np.int32),
        n_items=n_items,
        truth=y.copy(),
        best=np.zeros(len(n_items)),
        penalty=float(structure.link_penalty),
        is_forest=int(is_forest),
        way=SEARCH,
    )
    most = int(np.diff(offset).max())
    kind = ForestProblem if is_forest else PartitionProblem
    problem = kind(
        tag, tag._replace(way=PREDICT), formulation, n_jobs, scorer, number,
        lambda: new_link_work(most, int(n_items.max()), is_forest),
    )  # fmt: skip
    problem.structure = structure
    problem._tag = tag
    if isinstance(problem, ForestProblem):
        problem._true = Reference(tag._replace(way=COMPLETE))
        problem.begin_with_chains()
    tag.best[:] = np.add.reduceat(tag.truth, offset[:-1])
    return problem
