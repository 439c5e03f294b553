"""Loops over rows of a packed problem, see `packed.py`, and over columns of X."""

from partwise.compiled import (
    add_row,
    code_length,
    dot_row,
    find_output,
    kernel,
    margin,
    output_loss,
    push_sum,
    sweep_of,
    wipe_row,
)


@sweep_of(blocks=("find_output",))
def find_rows(
    blocks, work, w, rows, first, last, b, scale, violation, bound, indptr, code
):
    """Search the rows [first, last)."""
    for r in range(first, last):
        out = code[indptr[r] : indptr[r + 1]]
        b[r], scale[r], violation[r], bound[r] = find_output(
            blocks, work, w, rows[r], out
        )


@sweep_of(blocks=("output_loss",))
def losses(blocks, block, indptr, code, out):
    """Δ of each output."""
    for r in range(block.shape[0]):
        out[r] = output_loss(blocks, block[r], code[indptr[r] : indptr[r + 1]])


@sweep_of(blocks=("margin",))
def margins(blocks, w, block, scale, indptr, code, first, last, out):
    """<w, a> of the cuts [first, last)."""
    for r in range(first, last):
        here = code[indptr[r] : indptr[r + 1]]
        out[r] = scale[r] * margin(blocks, w, block[r], here)


@sweep_of(blocks=("push_sum",))
def combine(blocks, work, w, block, coef, indptr, code):
    """Add Σ coef·δ to w, in row order; neighbouring rows of one block at once."""
    n = block.shape[0]
    first = 0
    for r in range(1, n + 1):
        if r == n or block[r] != block[first]:
            push_sum(
                blocks, work, w, block[first], code, indptr[first], r - first,
                coef[first:r],
            )  # fmt: skip
            first = r


@sweep_of(blocks=("code_length",))
def code_lengths(blocks, rows, out):
    """Length of the codes of each row."""
    for r in range(rows.shape[0]):
        out[r] = code_length(blocks, rows[r])


@kernel
def gather_columns(indptr, rows, data, step, first, last, mass, out):
    """out[f] = Σ_t x_tf·mass[t] for the features [first, last), from columns of X.

    Each element is summed by one thread in row order: the same bits for every number
    of threads.
    """
    for f in range(first, last):
        for p in range(indptr[f], indptr[f + 1]):
            value, t = data[p * step], rows[p]
            for column in range(mass.shape[1]):
                out[f, column] += value * mass[t, column]


@kernel
def squares_of_rows(rows, w, width, out):
    """<Φ(x), Φ(x)> of each row; w is a zero model, and left so."""
    for t in range(out.shape[0]):
        add_row(rows, w, width, t, 0, 1.0)
        out[t] = dot_row(rows, w, width, t, 0)
        wipe_row(rows, w, width, t, 0)
