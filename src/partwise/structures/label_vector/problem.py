"""Packed label vectors: a `Problem` in numba, with threads over rows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numba import cfunc
from numba.core import config
from numba.core.errors import NumbaError

from partwise.bounds import MAX_FEATURE, check_magnitude
from partwise.compiled import plain_array
from partwise.objective import MARGIN, Formulation
from partwise.protocol import CapabilityError, Cuts, Floats, Ints
from partwise.scorers.linear import LinearScorer
from partwise.structures.digests import row_digests
from partwise.structures.kernel_problem import with_kernel
from partwise.structures.label_vector._compiled import (
    LabelBlocks,
    new_label_work,
    search_labels,
)
from partwise.structures.label_vector._roc import (
    RocBlocks,
    count_passing,
    count_sorted,
    n_sorted,
    new_roc_work,
    plane_of_orders,
    sort_limits,
)
from partwise.structures.label_vector._searches import (
    BOXES,
    CONCAVE,
    EACH,
    FIXED,
    FUNCTION,
    PREDICT,
    box_losses,
)
from partwise.structures.label_vector.measures import (
    GIVEN,
    LINEAR,
    MEASURES,
    SHARE,
    ContingencyLoss,
)
from partwise.structures.pair_orders import PairOrders
from partwise.structures.weighted_rows import WeightedRowsProblem, as_blocks
from partwise.threads import run_sharded

if TYPE_CHECKING:
    from partwise.structures.label_vector.structure import LabelVector

BOX = 16  # rows and columns of the smallest box
MOST_BOXES = 256  # in a row or column of boxes
MOST_TABLES = 1 << 34  # all losses are computed once, in some 5 ns each
SHARDS = 8  # parts of the larger class for ROC area, each with a tally


class LabelVectorProblem(WeightedRowsProblem):
    """Packed label vectors.

    Model: one weight per feature, renumbered for speed; `compact` and `expand` convert
    from and to the columns of X.
    """

    function: Any = None  # a compiled measure lives as long as its address is used

    def _search_block(self, blocks: Any, work: Any, i: int, code: Ints) -> Any:
        return search_labels(blocks, work, i, code)

    def keys(self) -> list[bytes] | None:
        """Digests of features, and of truths with the weights of rows."""
        if self.is_euclidean and getattr(self.blocks, "weight_step", False):
            truths = np.where(self.blocks.y, 1.0, -1.0) * self.blocks.weight
            return row_digests(
                self.blocks.rows, self.number, truths, self.blocks.offset
            )
        return super().keys()

    def outputs(self, cuts: Cuts) -> list[Any]:
        """Labels −1 and 1 of the cuts, or `PairOrders`."""
        rows = zip(cuts.block, cuts.codes, strict=True)
        return [self._output(i, code) for i, code in rows]

    def _output(self, i: int, code: Ints) -> Any:
        first, last = self.blocks.offset[i : i + 2]
        y = self.blocks.y[first:last].astype(np.int64)
        if isinstance(self.blocks._tag, RocBlocks):
            truth = PairOrders.truth(y)
            wins = truth.wins + np.where(y == 1, -code, code)
            return PairOrders(wins, float(code[y == 1].sum() / 2), truth.n_pairs)
        octets = np.ascontiguousarray(code, "<i4").view(np.uint8)
        bits = np.unpackbits(octets, bitorder="little", count=len(y))
        return 2 * bits.astype(np.int8) - 1


class RocProblem(LabelVectorProblem):
    """Orders of pairs; threads share the rows of large blocks in the search, too."""

    def _search_block(self, blocks: Any, work: Any, i: int, code: Ints) -> Any:
        n, size = len(code), int(n_sorted(blocks, i))
        shard = -(-(n - size) // SHARDS)
        tally = np.empty((SHARDS, size + 1), np.int64)
        for with_ties in range(2 if blocks.is_prediction else 1):
            sort_limits(blocks, work, i)
            tally[:] = 0

            def work_on(first: int, last: int, with_ties: int = with_ties) -> None:
                part = tally[first // shard]
                count_passing(blocks, work, i, with_ties, first, last, part, code)

            run_sharded(self.n_jobs, n - size, work_on, shard=shard)
            count_sorted(blocks, work, i, with_ties, tally.sum(axis=0), code)
        return plane_of_orders(blocks, work, i, code)


def pack_labels(
    structure: LabelVector,
    X: Any,
    Y: Any,
    formulation: Formulation,
    n_jobs: int,
    scorer: Any,
    row_weight: Any = None,
) -> LabelVectorProblem:
    """Lay rows and labels end to end; choose the search."""
    from partwise.structures.label_vector.structure import as_positive

    features, labels = as_blocks(X, Y)
    truths = [as_positive(y) for y in labels]
    if row_weight is None:
        losses = [structure.loss_of(y) for y in truths]
    else:
        weights = _weights(row_weight, features.offset)
        losses = list(map(structure.loss_of, truths, weights))
    scorer = scorer or LinearScorer()
    rows, number = scorer.ordered(scorer.bind(features, 1))
    offset = plain_array(features.offset, np.int64)
    common = {
        "rows": rows,
        "offset": offset,
        "y": plain_array(np.concatenate(truths), np.uint8),
        # positive rows, then negative ones
        "member": np.concatenate(
            [np.argsort(1 - y, kind="stable") for y in truths]
        ).astype(np.int32),
        "n_positive": np.array([y.sum() for y in truths], np.int64),
    }
    most = int(np.diff(offset).max())
    if structure.is_pairwise:
        if not formulation.is_additive:
            raise CapabilityError(
                f"measure='roc_auc' has no `frontier`: {formulation.rescaling} "
                f"rescaling with penalty {formulation.penalty!r} would need the best "
                "order for each number of swapped pairs; use <formulation='margin'> "
                "with <penalty='l1'>"
            )
        n_pairs = [float(loss.n_positive) * loss.n_negative for loss in losses]
        roc = RocBlocks(**common, unit=0.5 / np.array(n_pairs), is_prediction=0)
        return with_kernel(RocProblem, scorer)(
            roc, roc._replace(is_prediction=1), formulation, n_jobs, scorer, number,
            lambda: new_roc_work(most),
        )  # fmt: skip
    kind = losses[0].kind
    function = compile_measure(structure.measure) if kind == GIVEN else None
    address = getattr(function, "address", function or 0)
    way = _way(kind, formulation)
    shape, box_first, box_loss = _boxes(losses if way == BOXES else [], address, n_jobs)
    blocks = LabelBlocks(
        **common,
        size=np.array([loss.size for loss in losses], np.int64),
        kind=kind,
        u=np.array([loss.u for loss in losses]),
        v=np.array([loss.v for loss in losses]),
        function=address,
        weight=np.ones(1) if row_weight is None else np.concatenate(weights),
        weight_step=int(row_weight is not None),
        way=way,
        rule=formulation.rule,
        shape=shape,
        box_first=box_first,
        box_loss=box_loss,
    )
    most_boxes = int(np.diff(box_first).max(initial=0))
    problem = with_kernel(LabelVectorProblem, scorer)(
        blocks, blocks._replace(way=PREDICT, rule=MARGIN), formulation, n_jobs, scorer,
        number, lambda: new_label_work(most, most_boxes),
    )  # fmt: skip
    problem.function = function
    return problem


def _weights(row_weight: Any, offset: Ints) -> list[Floats]:
    """Weights of the rows of each block, with a mean of one."""
    weight: Floats = plain_array(row_weight, np.float64)
    if weight.shape != (offset[-1],) or not (weight > 0).all():
        raise ValueError("row_weight: give one positive number per row")
    check_magnitude(weight, MAX_FEATURE, "row_weight")
    blocks = np.split(weight, offset[1:-1])
    return [block / np.mean(block) for block in blocks]


def _way(kind: int, formulation: Formulation) -> int:
    """The search of `_searches.py` for this loss and formulation."""
    if kind == GIVEN:
        return BOXES
    if kind == SHARE:
        return FIXED
    return EACH if kind == LINEAR and formulation.rule == MARGIN else CONCAVE


def compile_measure(measure: Any) -> Any:
    """A user's measure by its address, with the one signature that kernels know."""
    text = getattr(measure, "py_func", measure)
    if vars(config)["DISABLE_JIT"]:
        return text
    try:
        return cfunc(FUNCTION, error_model="numpy")(text)  # 0/0 is seen as NaN
    except NumbaError as error:
        name = getattr(text, "__name__", repr(text))
        reason = str(error).strip().splitlines()[0]
        raise ValueError(
            f"measure={name}: numba cannot compile it ({reason}); use arithmetic, min, "
            "max and the functions of math on the floats tp, fp, fn, tn"
        ) from error


def _boxes(
    losses: list[ContingencyLoss], address: Any, n_jobs: int
) -> tuple[Ints, Ints, Floats]:
    """Shapes of boxes, where those of each block begin, and their largest losses."""
    boxes = [_boxes_of(loss, address, n_jobs) for loss in losses]
    shapes = np.array([shape for shape, _ in boxes], np.int64).reshape(-1, 3)
    largest = [np.zeros(0), *(values for _, values in boxes)]
    first = np.cumsum([len(values) for values in largest]).astype(np.int64)
    return shapes, first, np.concatenate(largest)


def _boxes_of(loss: ContingencyLoss, address: Any, n_jobs: int) -> tuple[Ints, Floats]:
    """Rows and columns of a box and boxes in a row, and the largest loss of each."""
    n_positive, n_negative = int(loss.n_positive), int(loss.n_negative)
    n_tables = (n_positive + 1) * (n_negative + 1)
    if n_tables > MOST_TABLES:
        raise ValueError(
            f"measure: {n_tables:.1e} tables of {n_positive} positive and {n_negative} "
            "negative rows are too many for a function; choose one of "
            f"{', '.join(MEASURES)}, or train on fewer rows"
        )
    high = max(BOX, -(-(n_positive + 1) // MOST_BOXES))
    wide = max(BOX, -(-(n_negative + 1) // MOST_BOXES))
    n_rows, n_columns = -(-(n_positive + 1) // high), -(-(n_negative + 1) // wide)
    shape = np.array([high, wide, n_columns], np.int64)
    largest, smallest = np.empty(n_rows * n_columns), np.empty(n_rows)

    def work_on(first: int, last: int) -> None:
        smallest[first:last] = box_losses(
            loss.kind, loss.u, loss.v, address, n_positive, n_negative, shape, first,
            last, largest,
        )  # fmt: skip

    run_sharded(n_jobs, n_rows, work_on, shard=1)
    if not (smallest.min() >= -1e-12 and largest.max() <= 1 + 1e-12):
        raise ValueError(
            "measure: a function of (tp, fp, fn, tn) must lie in [0, 1] for all tables "
            f"with {n_positive} positive and {n_negative} negative rows; it is larger, "
            "smaller or NaN somewhere (tp = fp = 0?)"
        )
    return shape, largest
