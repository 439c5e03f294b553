"""The compiled half of the protocol: what blocks and rows can be asked.

`blocks` is the packed data of a structure together with its scorer: a NamedTuple of
arrays for built-in structures, an ordinary object for a user's Python structure. Each
function below is an operation on it. Called from Python it runs the method of the
same name; called from a numba function it compiles that method, picked by the type of
its first argument. A solver's sweep is thus one text: compiled for built-in
structures, interpreted (see `interpreted`) for Python ones.

Types specialise, functions do not: a numba function passed as an argument compiles
again in each process in spite of ``cache=True``. Tags are private to the package
because a tag class of a user's module would spoil the shared cache index for others.
Methods of a tag use the parameter names written here; numba matches by name.

The model `w` is a flat float64 array. For block i, δ(ŷ) = φ(y_i) − φ(ŷ).
"""

from numba.extending import overload


def code_length(blocks, i):
    """Length of an output's code in block i."""
    return blocks.code_length(i)


def output_loss(blocks, i, code):
    """Δ(y_i, ŷ) of an output."""
    return blocks.output_loss(i, code)


def find_output(blocks, work, w, i, code):
    """Write the most violated wrong output of block i; return (b, scale, violation).

    Leaves the part scores of block i in `work`, for `recall_margin`.
    """
    return blocks.find_output(work, w, i, code)


def recall_margin(blocks, work, i, code):
    """<w, δ(code)> from the scores that the last `find_output` of block i left."""
    return blocks.recall_margin(work, i, code)


def margin(blocks, w, i, code):
    """<w, δ(code)> for any model w."""
    return blocks.margin(w, i, code)


def push(blocks, w, i, code, coef):
    """Add coef·δ(code) to w, in place."""
    return blocks.push(w, i, code, coef)


def wipe(blocks, w, i, code):
    """Set to zero the coordinates of w that δ(code) touches."""
    return blocks.wipe(w, i, code)


def score_rows(rows, weights, first, last, out):
    """out[t − first, l] = <weights[:, l], x_t> for the rows t in [first, last)."""
    return rows.score_rows(weights, first, last, out)


def dot_row(rows, weights, t, label):
    """<weights[:, label], x_t>."""
    return rows.dot_row(weights, t, label)


def add_row(rows, weights, t, label, coef):
    """weights[:, label] += coef·x_t."""
    return rows.add_row(weights, t, label, coef)


def wipe_row(rows, weights, t, label):
    """weights[:, label] = 0 where x_t is not zero."""
    return rows.wipe_row(weights, t, label)


# Numba requires an overload to repeat the parameter names of its stub, hence one
# definition per operation instead of a loop.


@overload(code_length)
def _code_length(blocks, i):
    return blocks.instance_class.code_length


@overload(output_loss)
def _output_loss(blocks, i, code):
    return blocks.instance_class.output_loss


@overload(find_output)
def _find_output(blocks, work, w, i, code):
    return blocks.instance_class.find_output


@overload(recall_margin)
def _recall_margin(blocks, work, i, code):
    return blocks.instance_class.recall_margin


@overload(margin)
def _margin(blocks, w, i, code):
    return blocks.instance_class.margin


@overload(push)
def _push(blocks, w, i, code, coef):
    return blocks.instance_class.push


@overload(wipe)
def _wipe(blocks, w, i, code):
    return blocks.instance_class.wipe


@overload(score_rows)
def _score_rows(rows, weights, first, last, out):
    return rows.instance_class.score_rows


@overload(dot_row)
def _dot_row(rows, weights, t, label):
    return rows.instance_class.dot_row


@overload(add_row)
def _add_row(rows, weights, t, label, coef):
    return rows.instance_class.add_row


@overload(wipe_row)
def _wipe_row(rows, weights, t, label):
    return rows.instance_class.wipe_row


def interpreted(kernel):
    """The Python text of a numba kernel, to run it on a Python structure."""
    return getattr(kernel, "py_func", kernel)


def is_compiled(blocks):
    """Whether `blocks` is a tag of arrays (else it is a Python object)."""
    return isinstance(blocks, tuple)
