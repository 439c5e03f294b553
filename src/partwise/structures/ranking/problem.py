"""Packed queries: a `Problem` in numba, with threads over queries."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from partwise.compiled import plain_array
from partwise.objective import MARGIN, Formulation
from partwise.parameters import SettingsError
from partwise.protocol import CapabilityError, Cuts, Floats, Ints, offsets_of
from partwise.scorers.linear import LinearScorer
from partwise.structures.hidden_truths import replace_truths
from partwise.structures.kernel_problem import with_kernel
from partwise.structures.packed import ForkedTruths
from partwise.structures.pair_orders import PairOrders
from partwise.structures.ranking._pair_gains import MAX_STATES, count_states
from partwise.structures.ranking._pairs import PairBlocks, new_pair_work, search_pairs
from partwise.structures.ranking._places import (
    ASSIGN,
    PREDICT,
    SORT,
    PlaceBlocks,
    new_place_work,
    search_places,
)
from partwise.structures.ranking.measures import PAIR_MEASURES
from partwise.structures.weighted_rows import WeightedRowsProblem, as_blocks

if TYPE_CHECKING:
    from partwise.structures.ranking.structure import Ranking


class RankingProblem(WeightedRowsProblem):
    """Packed queries.

    Model: one weight per feature, renumbered for speed; `compact` and `expand` convert
    from and to the columns of X.
    """

    ranking: Ranking

    def _search_block(self, blocks: Any, work: Any, i: int, code: Ints) -> Any:
        search = search_pairs if self.ranking.is_pairwise else search_places
        return search(blocks, work, i, code)

    def log_likelihood(self, model: Floats, weight: Floats) -> tuple[Floats, Floats]:
        """The cross entropy of first places (ListNet), and its gradient.

        With P(j) ∝ exp(<w, x_j>) that row j goes first, and Q(j) ∝ exp(grade of j), the
        loss of a query is −Σ_j Q(j) log P(j) = log Z − <w, Σ_j Q(j) x_j>, whatever the
        measure. Cao et al.: Learning to rank, ICML 2007, equation 5 with k = 1, and
        linear scores.
        """
        blocks = self.blocks
        score = self.scores(model)
        first, size = blocks.offset[:-1], np.diff(blocks.offset)
        (p, log_z), (q, _) = (_first_places(s, first, size) for s in (score, blocks.y))
        loss = log_z - np.add.reduceat(q * score, first)
        return loss, self.sum_rows(np.repeat(weight, size) * (p - q))

    def outputs(self, cuts: Cuts) -> list[Any]:
        """`PairOrders` for swapped pairs, else `RankedRows`.

        Rankings that differ in rows of the same grade, or behind the k-th place, are
        one output; of these the one by row numbers is given. The mean of all true
        rankings is given as one of them.
        """
        rows = zip(cuts.block, cuts.codes, strict=True)
        return [self._output(i, code) for i, code in rows]

    def _output(self, i: int, code: Ints) -> Any:
        from partwise.structures.ranking.structure import RankedRows

        first, last = self.blocks.offset[i : i + 2]
        grades = self.blocks.y[first:last]
        whole, code = code, code[: last - first].astype(np.int64)
        if not self.ranking.is_pairwise:
            if (code < 0).any():
                return RankedRows(np.argsort(-grades, kind="stable"), grades)
            place = np.where(code > 0, code, len(code) + 1)
            return RankedRows(np.argsort(place, kind="stable"), grades)
        levels = self.ranking.levels(grades)
        if self.ranking.measure == "swapped_pairs":
            truth = PairOrders.truth(levels)
            loss = float(self.blocks.output_loss(i, whole))
            wins = truth.wins - code  # both in half pairs, which count twice
            return truth._replace(wins=wins, n_swapped=loss * truth.n_pairs)
        # place: rows of a higher level, equal ones before, and code/2, the worse rows
        # before less the better ones behind
        _, level, size = np.unique(levels, return_inverse=True, return_counts=True)
        higher = (len(levels) - np.cumsum(size))[level]
        order = np.lexsort((code, level))
        equal = np.empty(len(levels), np.int64)
        equal[order] = np.arange(len(levels)) - (np.cumsum(size) - size)[level[order]]
        place = higher + equal + code // 2
        return RankedRows(np.argsort(place, kind="stable"), grades)


def _first_places(score: Floats, first: Ints, size: Ints) -> tuple[Floats, Floats]:
    """Probabilities of rows to go first, and log Σ exp(score) of each query."""
    top = np.maximum.reduceat(score, first)
    odds = np.exp(score - np.repeat(top, size))
    total = np.add.reduceat(odds, first)
    return odds / np.repeat(total, size), top + np.log(total)


class LatentRankingProblem(ForkedTruths, RankingProblem):
    """Queries whose true rankings are completed by a model: see `Latent`."""

    truth_fields = ("truth",)

    def fork(self) -> Any:
        """The same queries with completions of their own, for one thread."""
        fork = super().fork()
        fork.truth_code = self.truth_code.copy()
        return fork

    def complete(self, model: Floats) -> Cuts:
        """Order equal rows by their scores; the old truths of queries that changed."""
        return self._complete_by(self.scores(model))

    def begin_with(self, score: Any) -> Cuts:
        """Order equal rows by given scores, (n_rows,)."""
        return self._complete_by(score)

    def complete_at_random(self, rng: np.random.Generator) -> Cuts:
        """Order equal rows at random."""
        return self._complete_by(rng.random(int(self.blocks.offset[-1])))

    def _complete_by(self, score: Floats) -> Cuts:
        blocks = self.blocks
        offset = blocks.offset
        query = np.repeat(np.arange(self.n_blocks), np.diff(offset))
        order = np.lexsort((-score, -self.ranking.levels(blocks.y), query))
        place = np.empty(len(order), np.int64)
        place[order] = np.arange(len(order)) - np.repeat(offset[:-1], np.diff(offset))
        n_places = np.diff(blocks.place_first)[query]
        code = np.where(place < n_places, place + 1, 0).astype(np.int32)
        code[blocks.is_free[query] == 1] = -1
        old = replace_truths(self.truth_code, offset, code)
        at = blocks.place_first[query] + np.minimum(place, n_places - 1)
        weight = np.where(place < n_places, blocks.weight[at], 0.0)
        # in place: all tags of this problem share the array
        blocks.truth[:] = np.where(code < 0, blocks.mean, weight)
        return old

    truth_code: Ints  # (n_rows,)


def pack_queries(
    ranking: Ranking,
    X: Any,
    Y: Any,
    formulation: Formulation,
    n_jobs: int,
    scorer: Any,
) -> RankingProblem:
    """Lay rows and grades end to end; choose the search."""
    from partwise.structures.ranking.structure import check_grades

    if not formulation.is_additive and ranking.measure != "reciprocal_rank":
        raise CapabilityError(
            f"measure={ranking.measure!r} has no `frontier`: {formulation.rescaling} "
            f"rescaling with penalty {formulation.penalty!r} would need the best "
            "ranking for each value of the loss; use <formulation='margin'> with "
            "<penalty='l1'>, or measure='reciprocal_rank'"
        )
    features, truths = as_blocks(X, Y)
    grades = plain_array(np.concatenate([np.ravel(y) for y in truths]), np.float64)
    check_grades(ranking.measure, grades)
    scorer = scorer or LinearScorer()
    rows, number = scorer.ordered(scorer.bind(features, 1))
    offset = plain_array(features.offset, np.int64)
    most = int(np.diff(offset).max())
    common = {"rows": rows, "offset": offset, "y": grades}
    if ranking.is_pairwise:
        pairs, n_levels, n_states = _pair_blocks(ranking, common, formulation.rule)
        plain_pairs = pairs._replace(is_prediction=1, rule=MARGIN)
        problem = with_kernel(RankingProblem, scorer)(
            pairs, plain_pairs, formulation, n_jobs, scorer, number,
            lambda: new_pair_work(most, n_levels, n_states),
        )  # fmt: skip
    else:
        places = _place_blocks(ranking, common)
        m = int(np.diff(places.place_first).max()) if places.way == ASSIGN else 0
        is_latent = scorer.is_euclidean and ranking.ties == "latent"
        kind = LatentRankingProblem if is_latent else RankingProblem
        problem = with_kernel(kind, scorer)(
            places, places._replace(way=PREDICT), formulation, n_jobs, scorer, number,
            lambda: new_place_work(m, most),
        )  # fmt: skip
        if is_latent:
            problem.truth_code = np.full(len(grades), -1, np.int32)
    problem.ranking = ranking
    return problem


def _pair_blocks(
    ranking: Ranking, common: dict[str, Any], rule: int
) -> tuple[PairBlocks, int, int]:
    """Blocks, and how many levels and states a search looks at."""
    offset: Ints = common["offset"]
    levels = ranking.levels(common["y"])
    query = np.repeat(np.arange(len(offset) - 1), np.diff(offset))
    order = np.lexsort((levels, query))
    sorted_levels, sorted_query = levels[order], query[order]
    # levels are numbered from 0 in each query
    is_new = np.diff(sorted_query, prepend=-1) != 0
    rises = np.diff(sorted_levels, prepend=sorted_levels[:1]) != 0
    step = np.where(is_new, 0, rises).astype(np.int64)
    total = np.cumsum(step)
    number = total - total[offset[:-1]][sorted_query]
    level = np.empty(len(levels), np.int32)
    level[order] = number
    n_levels = number[offset[1:] - 1] + 1
    has_gains = ranking.measure == "ndcg_pairs"
    gain, discount, n_states = np.zeros(0), np.zeros(0), 0
    if has_gains:
        gain, discount, n_states = _gains(ranking, common["y"], offset)
    blocks = PairBlocks(
        **common,
        level=level,
        n_levels=plain_array(n_levels, np.int64),
        n_pairs=_count_pairs(level, offset),
        gain=gain,
        discount=discount,
        measure=PAIR_MEASURES.index(ranking.measure),
        rule=rule,
        is_prediction=0,
    )
    return blocks, int(n_levels.max()) if has_gains else 0, n_states


def _gains(
    ranking: Ranking, grades: Floats, offset: Ints
) -> tuple[Floats, Floats, int]:
    """Gains of rows, discounts of places, and the most states of a query."""
    queries = np.split(grades, offset[1:-1])
    terms = [ranking.places(query) for query in queries]
    n_states = 1
    for query, each in zip(queries, terms, strict=True):
        size = np.unique(query, return_counts=True)[1]
        n_states = max(n_states, count_states(size, len(each.discount)))
    if n_states > MAX_STATES:
        raise SettingsError(
            f"<measure='ndcg_pairs'>: a query has {n_states:,} ways to mix its grades, "
            f"of {MAX_STATES:,} that can be searched; look at fewer places (<k=10>) or "
            "use <measure='ndcg'>"
        )
    gain = np.concatenate([each.gain for each in terms])
    longest = max((each.discount for each in terms), key=len)
    return gain, longest, n_states


def _count_pairs(level: Ints, offset: Ints) -> Floats:
    """Pairs with different levels in each query."""
    n_pairs = np.empty(len(offset) - 1)
    for i in range(len(n_pairs)):
        count = np.bincount(level[offset[i] : offset[i + 1]]).astype(np.float64)
        n_pairs[i] = (count.sum() ** 2 - np.sum(count**2)) / 2
    return n_pairs


def _place_blocks(ranking: Ranking, common: dict[str, Any]) -> PlaceBlocks:
    queries = np.split(common["y"], common["offset"][1:-1])
    terms = [ranking.places(grades) for grades in queries]
    truth = np.concatenate([each.truth for each in terms])
    n_places = [len(each.weight) for each in terms]
    return PlaceBlocks(
        **common,
        place_first=offsets_of(n_places),
        weight=np.concatenate([each.weight for each in terms]),
        discount=np.concatenate([each.discount for each in terms]),
        gain=np.concatenate([each.gain for each in terms]),
        truth=truth,
        mean=truth.copy(),
        best=np.array([each.best for each in terms]),
        is_free=np.array([each.is_free for each in terms], np.uint8),
        way=SORT if ranking.place_weights is None else ASSIGN,
    )
