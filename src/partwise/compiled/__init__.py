"""The compiled half of the protocol: operations on blocks and rows.

`blocks` is the packed data of a structure together with its scorer: a NamedTuple of
arrays (a tag) for built-in structures, an ordinary object for a user's Python
structure. Each function below is an operation on it. Called from Python it runs the
method of the same name; called from a numba function it compiles that method, picked
by the type of its first argument. A solver's sweep is thus one text: interpreted for
Python structures, compiled for built-in ones.

Problems hold their tags by `Reference`. Sweeps are compiled once for all structures:
they receive the address of the reference and call its operations by address
(`_entries.py`). Functions that kernels alone call become parts of them (`_parts.py`).

Types specialise, functions do not: a numba function passed as an argument compiles
again in each process in spite of ``cache=True``. Tags are private to the package
because a tag class of a user's module would spoil the shared cache index for others.
Methods of a tag use the parameter names written here; numba matches by name.

The model `w` is a flat float64 array. For block i, δ(ŷ) = φ(y_i) − φ(ŷ).
"""

import functools
import inspect

import numpy as np
from numba import types
from numba.core import config
from numba.extending import overload

from partwise.compiled._addresses import (  # noqa: F401 — for structures
    address_of,
    called_at,
)
from partwise.compiled._entries import ENTRIES, entry_call, fill_table
from partwise.compiled._parts import PART, with_part
from partwise.compiled._references import Reference, as_reference
from partwise.jit import njit


def kernel(function):
    """Compile a function that neither makes nor returns arrays.

    Numba counts references to every array of a tag, atomically, whenever the tag is
    passed on: around a loop over a few tokens this took seven times as long as the
    loop. Such a function goes without. It may slice arrays; functions that it calls
    inherit the rule, and those that allocate are marked `allocating`.
    """
    compiled = njit(cache=True, nogil=True, _nrt=False)(function)
    return with_part(compiled, _nrt=False)


def allocating(function):
    """Compile a function that makes arrays, and may be called by a `kernel`."""
    compiled = njit(cache=True, nogil=True, _nrt=True)(function)
    return with_part(compiled, _nrt=True)


def jitted(function):
    """Compile a function as numba does by default.

    Called by a `kernel` it goes without counts of references, too.
    """
    return with_part(njit(cache=True, nogil=True)(function))


def inner(function):
    """A `kernel` that kernels alone call, and Python cannot."""
    return njit(nogil=True, _nrt=False, **PART)(function)


def inner_allocating(function):
    """A function that makes arrays, and that kernels alone call."""
    return njit(nogil=True, _nrt=True, **PART)(function)


def inlined(function):
    """A part of one kernel with a name of its own: its text is put in place."""
    return njit(inline="always")(function)


def uncounted(tag):
    """Mark a class of tags whose methods neither make nor return arrays."""
    tag.is_uncounted = True
    return tag


def sweep_of(**needs):
    """A loop over blocks, interpreted for Python objects and compiled for references.

    `needs` names the operations that it calls on each parameter that is a tag. There
    is one compiled loop for all structures: it calls operations by their addresses,
    see `_entries.py`. A structure with an `ascend_block` of its own, which works on the
    pool itself, has its loops compiled with it.
    """

    def decorate(text):
        names = list(inspect.signature(text).parameters)
        tags = [(names.index(tag), ops) for tag, ops in needs.items()]
        work_at = names.index("work") if "work" in names else -1
        compiled = kernel(text)

        @functools.cache
        def uncached():
            return njit(nogil=True, _nrt=False)(text)

        @functools.wraps(text)
        def run(*args):
            if not is_compiled(args[0]):
                return text(*args)
            if has_own_step(args[0]):
                return (compiled if is_private(args[0]) else uncached())(*args)
            given = list(args)
            work = None
            if work_at >= 0:
                work = as_reference(given[work_at])
                given[work_at] = work.address
            references = []
            for place, operations in tags:
                tag = as_reference(given[place])
                fill_table(tag, work, operations, _defaults)
                given[place] = tag.address
                references.append(tag)  # valid as long as the kernel runs
            return compiled(*given)

        vars(run).update(needs=needs, compiled=compiled)
        return run

    return decorate


_defaults: dict = {}  # texts of optional operations


def _overload_with_signature_of(function, pick):
    """Register `pick` as numba's overload; numba compares parameter names."""
    pick.__signature__ = inspect.signature(function)
    overload(function, jit_options=PART)(pick)
    return function


def operation(declared):
    """A call of the method with the name of `declared`, whose body is its docstring.

    The method is that of the first argument, a tag; numba compiles it.
    """
    name = declared.__name__

    @functools.wraps(declared)
    def run(tag, *args):
        return getattr(tag, name)(*args)

    def pick(tag, *args):
        if isinstance(tag, types.Integer):
            return entry_call(run)
        return getattr(tag.instance_class, name)

    return _overload_with_signature_of(run, pick)


def optional_operation(default):
    """An operation with a default for every tag, which a method of a tag replaces."""
    name = default.__name__
    _defaults[name] = default

    @functools.wraps(default)
    def run(blocks, *args):
        method = getattr(blocks, name, None)
        return default(blocks, *args) if method is None else method(*args)

    def pick(tag, *args):
        if isinstance(tag, types.Integer):
            return entry_call(run) if name in ENTRIES else default
        return getattr(tag.instance_class, name, default)

    return _overload_with_signature_of(run, pick)


def both_ways(function):
    """A helper of kernels: plain Python when called from Python, compiled within numba.

    A helper decorated with ``njit`` could not be called with a Python structure.
    """
    return _overload_with_signature_of(function, lambda *args: function)


@operation
def code_length(blocks, i):
    """Length of an output's code in block i."""


@operation
def output_loss(blocks, i, code):
    """Δ(y_i, ŷ) of an output."""


@operation
def find_output(blocks, work, w, i, code):
    """Write the most violated output of block i; return (b, scale, violation, bound).

    No output of the block is violated by more than `bound`: it is `violation` itself
    where the search is exact, +inf where no bound is known. When no output is violated,
    it is the truth, violated by 0. Leaves the part scores of block i in `work`, for
    `recall_margin`.
    """


@operation
def recall_margin(blocks, work, i, code):
    """<w, δ(code)> from the scores that the last `find_output` of block i left."""


@operation
def margin(blocks, w, i, code):
    """<w, δ(code)> for any model w."""


@operation
def push(blocks, w, i, code, coef):
    """Add coef·δ(code) to w, in place."""


@operation
def wipe(blocks, w, i, code):
    """Set to zero the coordinates of w that δ(code) touches."""


# Several outputs of one block at once: `codes` holds n of them end to end, beginning
# at place `at`. A structure whose outputs share parts does better than one by one.


@optional_operation
def recall_margins(blocks, work, i, codes, at, n, out):
    """Write <w, δ> of each output into `out`, as `recall_margin` does of one."""
    length = code_length(blocks, i)
    for p in range(n):
        first = at + p * length
        out[p] = recall_margin(blocks, work, i, codes[first : first + length])


@optional_operation
def margins(blocks, work, w, i, codes, at, n, out):
    """Write <w, δ> of each output into `out`; leaves what `recall_margin` needs."""
    length = code_length(blocks, i)
    for p in range(n):
        first = at + p * length
        out[p] = margin(blocks, w, i, codes[first : first + length])


@optional_operation
def push_sum(blocks, work, w, i, codes, at, n, coef):
    """Add Σ_p coef[p]·δ_p to w, in place; leaves what `recall_margin` needs."""
    length = code_length(blocks, i)
    for p in range(n):
        if coef[p] != 0.0:
            first = at + p * length
            push(blocks, w, i, codes[first : first + length], coef[p])


@operation
def score_rows(rows, weights, first, last, out):
    """out[t − first, l] = <weights[:, l], x_t> for the rows t in [first, last)."""


@operation
def dot_row(rows, w, width, t, label):
    """<weights[:, label], x_t> for the weights that begin `w`, in rows of `width`."""


@operation
def add_row(rows, w, width, t, label, coef):
    """weights[:, label] += coef·x_t."""


@operation
def wipe_row(rows, w, width, t, label):
    """weights[:, label] = 0 where x_t is not zero."""


@optional_operation
def has_stripes(rows):
    """Whether scores of all labels of a row cost about as much as those of two."""
    return False


# Pairs of labels that are scored block by block, for rows that have such scores.


@optional_operation
def has_pairs(rows):
    """Whether pairs of labels have scores of their own in each block."""
    return False


@optional_operation
def score_pairs(rows, w, i, out):
    """Add the scores of the pairs of labels of block i to `out`, (L, L)."""


@optional_operation
def dot_pair(rows, w, i, a, b):
    """Score of label a before label b in block i."""
    return 0.0


@optional_operation
def add_pair(rows, w, i, t, a, b, coef):
    """Add coef·φ of label a before label b to w; block i begins at row t."""


@optional_operation
def wipe_pair(rows, w, i, a, b):
    """Set to zero what φ of label a before label b in block i touches."""


def plain_array(values, dtype):
    """An array in the one layout of kernels: numba compiles again for any other.

    Read-only arrays, as of a memory-mapped file, are copied.
    """
    return np.require(values, dtype, ["C", "A", "W"])


def has_own_step(blocks):
    """Whether the class of a tag or reference defines `ascend_block` itself."""
    return hasattr(type(getattr(blocks, "_tag", blocks)), "ascend_block")


def is_private(blocks):
    """Whether the class of a tag or reference belongs to this package.

    Numba's cache names the types of arguments in an index that every process reads:
    a class of another module, which they lack, would make all of them fail.
    """
    module = type(getattr(blocks, "_tag", blocks)).__module__
    return module.split(".")[0] == __name__.split(".")[0]


def is_compiled(blocks):
    """Whether `blocks` is a tag of arrays (else it is a Python object)."""
    return isinstance(blocks, (Reference, tuple)) and not vars(config)["DISABLE_JIT"]
