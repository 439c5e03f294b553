"""Batches of sentences: oracles with bounds, k-best."""

from partwise.compiled import allocating, find_output
from partwise.structures._cky_best import k_best
from partwise.structures._cky_programs import Scores, inside
from partwise.structures._grammar_parts import prepare, score_spans
from partwise.structures._semirings import MAX_PLUS


@allocating
def find_rows(
    blocks, work, w, rows, first, last, b, scale, violation, bound, indptr, code
):  # fmt: skip
    """The most violated trees of rows [first, last), with bounds of their violation."""
    for r in range(first, last):
        out = code[indptr[r] : indptr[r + 1]]
        b[r], scale[r], violation[r] = find_output(blocks, work, w, rows[r], out)
        bound[r] = work.bound[0]


@allocating
def k_best_rows(blocks, work, w, rows, k, first, last, indptr, code, value, found):
    """The k best trees of rows [first, last).

    Row r writes k codes end to end from ``indptr[r]·k``; `value` is (rows, k).
    """
    prepare(blocks, work, w)
    scores = Scores(
        work.weight, work.chain, work.plain, blocks.leaf_ptr, blocks.leaf_tag,
        blocks.leaf_weight,
    )  # fmt: skip
    for r in range(first, last):
        i = rows[r]
        begin = blocks.offset[i]
        n = blocks.offset[i + 1] - begin
        score_spans(blocks, work, w, i)
        items = inside(MAX_PLUS, blocks.tables, scores, work.chart, begin, n)
        codes = code[indptr[r] * k : indptr[r + 1] * k].reshape(k, -1)
        found[r] = k_best(
            blocks.tables, scores, work.chart, items, begin, n, k, codes, value[r]
        )
