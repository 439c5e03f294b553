"""Inner products of rows, block by block; compiled.

No BLAS: its sums depend on the number of its threads and on the shape of the block.
"""

import numpy as np

from partwise.compiled import jitted


@jitted
def dense_products(x, rows, y, cols, out):
    """out[r, c] = <x[rows[r]], y[cols[c]]>, added in the order of the features."""
    n_features = x.shape[1]
    n_cols = cols.shape[0]
    turned = np.empty((n_features, n_cols))
    for c in range(n_cols):
        for f in range(n_features):
            turned[f, c] = y[cols[c], f]
    in_fours = n_features // 4 * 4
    for r in range(rows.shape[0]):
        row = rows[r]
        for c in range(n_cols):
            out[r, c] = 0.0
        # four at a time: `out` is read and written once where it would be four times
        for f in range(0, in_fours, 4):
            add_four(x, row, f, turned, out, r)
        for f in range(in_fours, n_features):
            value = x[row, f]
            for c in range(n_cols):
                out[r, c] += value * turned[f, c]


@jitted
def add_four(x, row, f, turned, out, r):
    """Features f to f + 3 into row r of the block."""
    a, b, c, d = x[row, f], x[row, f + 1], x[row, f + 2], x[row, f + 3]
    one, two, three, four = turned[f], turned[f + 1], turned[f + 2], turned[f + 3]
    target = out[r]
    for k in range(target.shape[0]):
        value = target[k] + a * one[k]
        value += b * two[k]
        value += c * three[k]
        target[k] = value + d * four[k]


@jitted
def sparse_products(
    x_ptr, x_index, x_data, rows, y_ptr, y_index, y_data, cols, number, out
):  # fmt: skip
    """out[r, c] = <x[rows[r]], y[cols[c]]>, added in the order of the features.

    The columns of the block are inverted: for each feature, where it occurs. `number`
    (n_features,) int32 holds −1 before and after.
    """
    n_cols = cols.shape[0]
    n_entries = 0
    for c in range(n_cols):
        n_entries += y_ptr[cols[c] + 1] - y_ptr[cols[c]]
    begin = np.zeros(n_entries + 2, np.int64)
    place = np.empty(n_entries, np.int32)
    value = np.empty(n_entries)
    n_present = 0
    for c in range(n_cols):
        for p in range(y_ptr[cols[c]], y_ptr[cols[c] + 1]):
            f = y_index[p]
            if number[f] < 0:
                number[f] = n_present
                n_present += 1
            begin[number[f] + 2] += 1
    for k in range(2, n_present + 2):
        begin[k] += begin[k - 1]
    for c in range(n_cols):
        for p in range(y_ptr[cols[c]], y_ptr[cols[c] + 1]):
            k = number[y_index[p]] + 1
            place[begin[k]] = c
            value[begin[k]] = y_data[p]
            begin[k] += 1
    for r in range(rows.shape[0]):
        for c in range(n_cols):
            out[r, c] = 0.0
        for p in range(x_ptr[rows[r]], x_ptr[rows[r] + 1]):
            k = number[x_index[p]]
            if k >= 0:
                for q in range(begin[k], begin[k + 1]):
                    out[r, place[q]] += x_data[p] * value[q]
    for c in range(n_cols):
        for p in range(y_ptr[cols[c]], y_ptr[cols[c] + 1]):
            number[y_index[p]] = -1


@jitted
def sparse_projection(ptr, index, data, matrix, out):
    """out[r] = Σ_f x[r, f]·matrix[f], for sparse rows x."""
    for r in range(out.shape[0]):
        target = out[r]
        for k in range(target.shape[0]):
            target[k] = 0.0
        for p in range(ptr[r], ptr[r + 1]):
            add_row(matrix[index[p]], data[p], target)


@jitted
def add_row(row, value, target):
    """One row of the matrix; apart from the loop above so that it is vectorised."""
    for k in range(target.shape[0]):
        target[k] += value * row[k]
