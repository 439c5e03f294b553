"""The ramp loss: a tighter bound of Δ, for truths with wrong labels.

The slack of margin rescaling compares with the truth, and grows without limit where the
truth is wrong. Compared with the best output of the model instead,

    ξ_i(w) = max_ŷ [Δ(y_i, ŷ) + <w, φ(x_i, ŷ)>] − max_ŷ <w, φ(x_i, ŷ)>,

it still bounds the loss of the prediction, is never larger than that of margin
rescaling, since the second maximum is at least the score of the truth, and at most
max_ŷ Δ(y_i, ŷ). It is the difference of two convex functions: a problem with hidden
parts (`Latent`) whose truths are "completed" by the prediction itself, while losses
depend on y_i. `CCCP` begins with the solution of margin rescaling.

Any problem has it. With ŷ_t the prediction that stands for the truth, φ(ŷ_t) − φ(ŷ) is
δ(ŷ) − δ(ŷ_t), so each operation calls that of the given blocks twice.

Chapelle, Do, Le, Smola, Teo: Tighter bounds for structured estimation, NIPS 2008.
Collobert, Sinz, Weston, Bottou: Trading convexity for scalability, ICML 2006.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from partwise.compiled import (
    Reference,
    code_length,
    find_output,
    is_compiled,
    margin,
    output_loss,
    push,
    recall_margin,
    uncounted,
    wipe,
)
from partwise.protocol import (
    CapabilityError,
    Cuts,
    Floats,
    Ints,
    Model,
    Problem,
    take,
    unit_cuts,
)
from partwise.structures.hidden_truths import replace_truths

# Operations on blocks; numba compiles them for `RampBlocks`, with these names.


def length_of(blocks, i):
    """Length of a code."""
    return code_length(blocks.inner, i)


def loss_of(blocks, i, code):
    """Δ compares with the truth."""
    return output_loss(blocks.inner, i, code)


def search(blocks, work, w, i, code):
    """The most violated output is the same one as in comparison with the truth."""
    b, scale, violation, bound = find_output(blocks.inner, work, w, i, code)
    guess = blocks.guess[blocks.first[i] : blocks.first[i + 1]]
    lead = recall_margin(blocks.inner, work, i, guess)
    return b, scale, violation + lead, bound + lead


def recalled(blocks, work, i, code):
    """<w, δ(ŷ) − δ(ŷ_t)> from the scores of the last search."""
    guess = blocks.guess[blocks.first[i] : blocks.first[i + 1]]
    lead = recall_margin(blocks.inner, work, i, guess)
    return recall_margin(blocks.inner, work, i, code) - lead


def margin_of(blocks, w, i, code):
    """<w, δ(ŷ) − δ(ŷ_t)>."""
    guess = blocks.guess[blocks.first[i] : blocks.first[i + 1]]
    return margin(blocks.inner, w, i, code) - margin(blocks.inner, w, i, guess)


def push_both(blocks, w, i, code, coef):
    """Add coef·(δ(ŷ) − δ(ŷ_t))."""
    guess = blocks.guess[blocks.first[i] : blocks.first[i + 1]]
    push(blocks.inner, w, i, code, coef)
    push(blocks.inner, w, i, guess, -coef)


def wipe_both(blocks, w, i, code):
    """Set to zero what `push_both` touches."""
    guess = blocks.guess[blocks.first[i] : blocks.first[i + 1]]
    wipe(blocks.inner, w, i, code)
    wipe(blocks.inner, w, i, guess)


def ramp_operations(tag: Any) -> Any:
    """Give a class with the fields of `RampBlocks` these operations."""
    tag.code_length, tag.output_loss, tag.find_output = length_of, loss_of, search
    tag.recall_margin, tag.margin = recalled, margin_of
    tag.push, tag.wipe = push_both, wipe_both
    return tag


@uncounted
@ramp_operations
class RampBlocks(NamedTuple):
    """Blocks of a packed problem, compared with predictions."""

    inner: Any  # the blocks
    guess: np.ndarray  # int32, the codes of predictions, end to end
    first: np.ndarray  # (n_blocks + 1,) int64, where each begins


@ramp_operations
class PlainRampBlocks:
    """The same for a user's structure, interpreted."""

    def __init__(self, inner: Any, guess: Ints, first: Ints) -> None:
        self.inner, self.guess, self.first = inner, guess, first


def _forwarded(name: str) -> Any:
    """The method of this name of the given problem."""

    def method(self: Any, *args: Any) -> Any:
        return getattr(self.inner, name)(*args)

    return method


class RampProblem(Problem):
    """A problem whose slacks compare with predictions instead of truths.

    Parameters
    ----------
    problem : Problem
        Of L1 margin rescaling, with weights of features.
    """

    def __init__(self, problem: Any) -> None:
        if not problem.formulation.is_additive:
            raise CapabilityError(
                "<loss='ramp'> needs <formulation='margin'> and <penalty='l1'>"
            )
        if not problem.is_euclidean:
            raise CapabilityError(
                "<loss='ramp'> needs weights of features, not of a kernel"
            )
        self.inner = problem
        self.structure = getattr(problem, "structure", None)
        self.n_blocks, self.n_jobs = problem.n_blocks, problem.n_jobs
        self.formulation, self.is_relaxed = problem.formulation, problem.is_relaxed
        self.run_length = problem.run_length
        self.first = problem.indptr_of(np.arange(self.n_blocks))
        self.guess = problem.predict_codes(problem.zero()).code.copy()
        self.blocks = self._compared(problem.blocks)
        self.plain_blocks = self._compared(problem.plain_blocks)
        self._local: Any = None

    def _compared(self, blocks: Any) -> Any:
        if is_compiled(blocks):
            return Reference(RampBlocks(blocks, self.guess, self.first))
        return PlainRampBlocks(blocks, self.guess, self.first)

    @property
    def local_blocks(self) -> Any:
        """The blocks over local coordinates."""
        if self._local is None:
            self._local = self._compared(self.inner.local_blocks)
        return self._local

    # ------------------------------------------- predictions in place of truths

    def complete(self, model: Model) -> Cuts:
        """Predict; the old predictions that changed (`Latent`)."""
        return replace_truths(
            self.guess, self.first, self.inner.predict_codes(model).code
        )

    def known_problem(self) -> tuple[Problem, Ints]:
        """The problem of margin rescaling, where rounds begin (`KnownParts`)."""
        return self.inner, np.arange(self.n_blocks)

    def _guesses(self, rows: Ints) -> Cuts:
        """The predictions for these rows, as cuts of the given problem."""
        cuts = unit_cuts(np.arange(self.n_blocks), self.first, self.guess)
        return take(cuts, rows)

    # ------------------------------------------------------- searches and planes

    def oracle(self, model: Model, rows: Ints | None = None) -> Cuts:
        """Most violated plane of each row."""
        cuts = self.inner.oracle(model, rows)
        lead = self.inner.margins(model, self._guesses(cuts.block))
        return cuts._replace(violation=cuts.violation + lead, bound=cuts.bound + lead)

    def predict_codes(self, model: Model, rows: Ints | None = None) -> Cuts:
        """Outputs of highest score."""
        return self.inner.predict_codes(model, rows)

    def margins(self, model: Model, cuts: Cuts) -> Floats:
        """<model, a> of each cut."""
        guesses = self._guesses(cuts.block)._replace(scale=cuts.scale)
        return self.inner.margins(model, cuts) - self.inner.margins(model, guesses)

    def combine(self, cuts: Cuts, alpha: Floats) -> Model:
        """Σ α a."""
        guesses = self._guesses(cuts.block)._replace(scale=cuts.scale)
        return self.inner.combine(cuts, alpha) - self.inner.combine(guesses, alpha)

    # --------------------------------------------------- as in the given problem

    zero = _forwarded("zero")
    local_zero = _forwarded("local_zero")
    borrow_work = _forwarded("borrow_work")
    return_work = _forwarded("return_work")
    indptr_of = _forwarded("indptr_of")
    outputs = _forwarded("outputs")
    effort = _forwarded("effort")
    compact = _forwarded("compact")
    expand = _forwarded("expand")
    settle = _forwarded("settle")
    dot = _forwarded("dot")
    keys = _forwarded("keys")
    portable_outputs = _forwarded("portable_outputs")
    adopt = _forwarded("adopt")
