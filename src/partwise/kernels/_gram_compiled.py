"""Tiles into a matrix; compiled, because fancy indexing would hold Python's lock."""

from partwise.compiled import jitted


@jitted
def scatter(values, rows, cols, out):
    """out[rows[r], cols[c]] = values[r, c]."""
    for r in range(rows.shape[0]):
        for c in range(cols.shape[0]):
            out[rows[r], cols[c]] = values[r, c]


@jitted
def mirror(values, rows, cols, out):
    """out[cols[c], rows[r]] = values[r, c]; on the diagonal from the upper half."""
    is_diagonal = rows[0] == cols[0]
    for c in range(cols.shape[0]):
        for r in range(c if is_diagonal else rows.shape[0]):
            out[cols[c], rows[r]] = values[r, c]
