"""δ(ŷ) = φ(y) − φ(ŷ) of segmentations, in a flat model or in tables of its parts.

One walk along both outputs serves products, sums and wiping. Columns in which they
agree at a token, and segments that both have, cancel and are left out.
"""

from partwise.compiled import add_row, dot_row, kernel, wipe_row

DOT, ADD, WIPE, READ, SUM = range(5)


@kernel
def touch_row(blocks, w, table, i, t, column, mode, coef):
    """What `walk` does with a column of weights at a token; returns a product."""
    row = blocks.offset[i] + t
    if mode == READ:
        return coef * table[t, column]
    if mode == SUM:
        table[t, column] += coef
    elif mode == DOT:
        return coef * dot_row(blocks.rows, w, blocks.width, row, column)
    elif mode == ADD:
        add_row(blocks.rows, w, blocks.width, row, column, coef)
    else:
        wipe_row(blocks.rows, w, blocks.width, row, column)
    return 0.0


@kernel
def touch_weight(w, place, mode, coef):
    """The same with a single weight."""
    if mode == DOT or mode == READ:
        return coef * w[place]
    if mode == WIPE:
        w[place] = 0.0
    else:
        w[place] += coef
    return 0.0


@kernel
def touch_span(blocks, w, spans, i, first, last, label, mode, coef):
    """The same with the features of a whole segment [first, last)."""
    rows, depth = blocks.span_rows, blocks.depth
    if rows.n_features == 0:
        return 0.0
    at = first * depth + last - first - 1
    row = blocks.offset[i] * depth + at
    if rows.indptr[row] == rows.indptr[row + 1]:
        return 0.0
    if mode == READ and spans.shape[0] > 0:
        return coef * spans[at, label]
    weights, width = w[blocks.rows.n_features * blocks.width :], blocks.span_width
    if mode == DOT or mode == READ:
        return coef * dot_row(rows, weights, width, row, label)
    if mode == WIPE:
        wipe_row(rows, weights, width, row, label)
    else:
        add_row(rows, weights, width, row, label, coef)
    return 0.0


@kernel
def walk(blocks, w, tail, table, spans, i, codes, at, mode, coef):
    """
    Take coef·δ of the output at place `at` of `codes`, in one of five ways.

    DOT: its product with w; ADD: added to w; WIPE: its coordinates of w set to zero;
    READ: its product, columns of tokens read from `table`, (n, width), and features of
    segments from `spans`, (n·D, S), or from w where it is empty; SUM: added, columns of
    tokens to `table`. Weights of lengths and of pairs of labels begin at place `tail`
    of w.
    """
    begin, size, depth = blocks.offset[i], blocks.longest.shape[0], blocks.depth
    n = blocks.offset[i + 1] - begin
    truth, hats = blocks.y[begin : begin + n], codes[at : at + n]
    label_of, begins = blocks.label_of, blocks.begins
    edges = tail + size * depth
    total = 0.0
    first, before = 0, -1  # of the open segment of the truth, and label before it
    first_hat, before_hat = 0, -1
    for t in range(n):
        here, hat = truth[t], hats[t]
        if here != hat:
            column = label_of[here] + (0 if begins[here] else size)
            total += touch_row(blocks, w, table, i, t, column, mode, coef)
            column = label_of[hat] + (0 if begins[hat] else size)
            total += touch_row(blocks, w, table, i, t, column, mode, -coef)
        ends = t + 1 == n or begins[truth[t + 1]] != 0
        ends_hat = t + 1 == n or begins[hats[t + 1]] != 0
        label, label_hat = label_of[here], label_of[hat]
        same = label == label_hat
        # where segments have one token, its column of first tokens says all there is
        if ends and not (ends_hat and same) and blocks.longest[label] > 1:
            column = 2 * size + label
            total += touch_row(blocks, w, table, i, t, column, mode, coef)
        if ends_hat and not (ends and same) and blocks.longest[label_hat] > 1:
            column = 2 * size + label_hat
            total += touch_row(blocks, w, table, i, t, column, mode, -coef)
        is_common = ends and ends_hat and same and first == first_hat
        if ends:
            if not is_common:
                place = tail + label * depth + t - first
                total += touch_weight(w, place, mode, coef)
                total += touch_span(
                    blocks, w, spans, i, first, t + 1, label, mode, coef
                )
            if before >= 0:
                total += touch_weight(w, edges + before * size + label, mode, coef)
            first, before = t + 1, label
        if ends_hat:
            if not is_common:
                place = tail + label_hat * depth + t - first_hat
                total += touch_weight(w, place, mode, -coef)
                total += touch_span(
                    blocks, w, spans, i, first_hat, t + 1, label_hat, mode, -coef
                )
            if before_hat >= 0:
                place = edges + before_hat * size + label_hat
                total += touch_weight(w, place, mode, -coef)
            first_hat, before_hat = t + 1, label_hat
    return total
