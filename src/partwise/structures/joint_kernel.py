"""Learning with a kernel on pairs, K((x, y), (x', y')), that a user wrote.

A model is Σ_j α_j φ(x_j, y_j) over training inputs with outputs, true or wrong;
features are never computed. To predict is to solve the pre-image problem

    argmax_ŷ  Σ_j α_j K((x_j, y_j), (x, ŷ)),

which the user's methods do, as its penalised form for the most violated output
(Hofmann, Tsochantaridis, Altun 2002; the OutputKernel of 003, appendix B.1.2).

Solvers see models as float arrays over *atoms*, the pairs met so far. The arrays have
room for many more atoms than there are; pages that are never touched cost nothing.
"""

from __future__ import annotations

import pickle
from abc import abstractmethod
from collections.abc import Iterator, Sequence
from typing import Any, ClassVar

import numpy as np

from partwise.bounds import MAX_KERNEL, check_magnitude
from partwise.objective import Formulation
from partwise.protocol import CapabilityError, Floats, Ints, Problem, Structure
from partwise.structures.loop import LoopBlocks, LoopProblem, loss_of

Pair = tuple[Any, Any]

ROOM_PER_EXAMPLE = 100  # atoms
LEAST_ROOM = 50_000
MOST_ROWS = 20_000  # kernel rows kept at once
MOST_CHECKED = 32  # true pairs that are compared with each other before training


class JointKernel(Structure):
    """An output space by a kernel on pairs, and four methods on one example.

    Write `kernel`, `loss`, `pre_image` and `pre_image_penalized`. Their argument
    ``score`` is called with an output ŷ and returns its score; ``score.terms()`` are
    the (x_j, y_j, α_j) behind it, for pre-images that are built rather than searched.
    ``two_best(x, score)`` opens hard margins, ``frontier(x, y, score)`` slack rescaling
    and L2, as for `Structure`.

    Examples
    --------
    >>> class Parity(JointKernel):
    ...     def kernel(self, x, y, x2, y2):
    ...         return float(y == y2) * (1.0 + x * x2) ** 2
    ...     def loss(self, y, y_hat):
    ...         return float(y != y_hat)
    ...     def pre_image(self, x, score):
    ...         return max(("even", "odd"), key=score)
    ...     def pre_image_penalized(self, x, y, score):
    ...         return max(
    ...             ("even", "odd"), key=lambda v: score(v) + self.loss(y, v)
    ...         )
    >>> from partwise import StructuredSVM
    >>> X, Y = [-1.0, 0.0, 1.0], ["odd", "even", "odd"]
    >>> StructuredSVM(Parity(), C=100.0).fit(X, Y).predict(X).tolist()
    ['odd', 'even', 'odd']
    """

    n_psi_: ClassVar[int] = 0  # type: ignore[misc]  # features are never computed

    @abstractmethod
    def kernel(self, x: Any, y: Any, x2: Any, y2: Any) -> float:
        """K((x, y), (x2, y2)): symmetric, positive semidefinite."""

    @abstractmethod
    def pre_image(self, x: Any, score: Score) -> Any:
        """The ŷ of largest score(ŷ)."""

    @abstractmethod
    def pre_image_penalized(self, x: Any, y: Any, score: Score) -> Any:
        """The ŷ of largest Δ(y, ŷ) + score(ŷ)."""

    def kernel_row(self, x: Any, y: Any, pairs: Sequence[Pair]) -> Floats:
        """K of (x, y) with many pairs, shape (n_pairs,); override it for speed."""
        return np.array([self.kernel(x, y, x2, y2) for x2, y2 in pairs], float)

    def key(self, y: Any) -> Any:
        """Something hashable that equal outputs share."""
        return output_key(y)

    # ------------------------------------------------- the methods of `Structure`

    def joint_feature(self, x: Any, y: Any) -> Any:
        """Refuse: there are no explicit features."""
        raise CapabilityError("a joint kernel has no explicit features")

    def argmax(self, x: Any, w: Any) -> Any:
        """The pre-image; `w` is a `KernelModel`, or a `Score` of this input."""
        return self.pre_image(x, _score_of(w, x))

    def loss_augmented_argmax(self, x: Any, y: Any, w: Any) -> Any:
        """The penalised pre-image."""
        return self.pre_image_penalized(x, y, _score_of(w, x))

    def pack(
        self,
        X: Sequence[Any],
        Y: Sequence[Any],
        formulation: Formulation | None = None,
        *,
        n_jobs: int = 1,
    ) -> JointKernelProblem:
        """A problem over atoms."""
        return JointKernelProblem(self, X, Y, formulation or Formulation())


class TensorKernel(JointKernel):
    """K = k_X(x, x')·k_Y(y, y'): the tensor product of 003, section 4.2.1.

    Write `input_kernel` and `output_kernel` instead of `kernel`. A pre-image then
    depends on x through the weights of known outputs alone, `weighted_outputs`.
    """

    @abstractmethod
    def input_kernel(self, x: Any, x2: Any) -> float:
        """k_X, as complex as needed."""

    @abstractmethod
    def output_kernel(self, y: Any, y2: Any) -> float:
        """k_Y, whose pre-images can be found."""

    def kernel(self, x: Any, y: Any, x2: Any, y2: Any) -> float:
        """The product of both."""
        return self.input_kernel(x, x2) * self.output_kernel(y, y2)

    def weighted_outputs(self, x: Any, score: Score) -> list[tuple[Any, float]]:
        """(y_j, α_j·k_X(x_j, x)) of all terms: score(ŷ) = Σ_j weight_j·k_Y(y_j, ŷ)."""
        return [(y, a * self.input_kernel(x2, x)) for x2, y, a in score.terms()]


class Score:
    """Scores of the outputs of one input under a kernel model."""

    def __init__(self, model: KernelModel, x: Any, row: Any = None) -> None:
        self._model = model
        self._row = row or (lambda y: model.structure.kernel_row(x, y, model.pairs))

    def __call__(self, y: Any) -> float:
        """Σ_j α_j K((x_j, y_j), (x, y))."""
        return float(np.sum(self._model.alpha * self._row(y)))

    def terms(self) -> Iterator[tuple[Any, Any, float]]:
        """All (x_j, y_j, α_j)."""
        for (x, y), alpha in zip(self._model.pairs, self._model.alpha, strict=True):
            yield x, y, float(alpha)


class KernelModel:
    """Pairs with their coefficients.

    Attributes
    ----------
    structure : JointKernel
    pairs : list of (x, y)
    alpha : array (n_pairs,)
    """

    def __init__(
        self, structure: JointKernel, pairs: Sequence[Pair], alpha: Floats
    ) -> None:
        self.structure = structure
        self.pairs = list(pairs)
        self.alpha = alpha

    def __len__(self) -> int:
        return len(self.pairs)

    def at(self, x: Any) -> Score:
        """Scores of the outputs of one input."""
        return Score(self, x)

    def score(self, x: Any, y: Any) -> float:
        """Score of one output."""
        return self.at(x)(y)

    def shares(self, x: Any, y: Any) -> Floats:
        """What each pair adds to the score of an output, (n_pairs,)."""
        return self.alpha * self.structure.kernel_row(x, y, self.pairs)


def _score_of(w: Any, x: Any) -> Score:
    return w.at(x) if isinstance(w, KernelModel) else w


def output_key(y: Any) -> Any:
    """Something hashable that equal outputs share."""
    if isinstance(y, np.ndarray):
        return y.shape, y.dtype.str, y.tobytes()
    if isinstance(y, list | tuple):
        return tuple(output_key(item) for item in y)
    try:
        hash(y)
    except TypeError:
        return pickle.dumps(y)
    return y


# ------------------------------------------------------------------ what solvers see


class _Atom:
    """A pair that a model may have a coefficient of, where Ψ stands elsewhere."""

    __slots__ = ("_atoms", "loss", "place", "x", "y")

    def __init__(self, atoms: _Atoms, place: Any, x: Any, y: Any, loss: float) -> None:
        self._atoms = atoms
        self.place = place  # (example, key of the output)
        self.x, self.y, self.loss = x, y, loss

    def dot(self, w: Floats) -> float:
        used = np.flatnonzero(w[: len(self._atoms.table)])
        values = self._atoms.row(self.place, self.x, self.y, used)
        return float(np.sum(w[used] * values))


class _Atoms:
    """All pairs so far, and the kernel values computed so far."""

    def __init__(self, structure: JointKernel, room: int) -> None:
        self.structure = structure
        self.room = room
        self.table: list[_Atom] = []
        self.number: dict[Any, int] = {}
        self.rows: dict[Any, Floats] = {}  # NaN where not computed yet

    def enter(self, place: Any, x: Any, y: Any, loss: float) -> int:
        """Number of a pair, new or known."""
        if place not in self.number:
            if len(self.table) == self.room:
                raise ValueError(
                    f"{self.room} different outputs have been met; train on fewer "
                    "examples, or with a larger tol"
                )
            self.number[place] = len(self.table)
            self.table.append(_Atom(self, place, x, y, loss))
        return self.number[place]

    def row(self, place: Any, x: Any, y: Any, used: Ints) -> Floats:
        """Kernel values of a pair with the atoms `used`, each computed once."""
        row = self.rows.get(place)
        if row is None:
            if len(self.rows) >= MOST_ROWS:
                self.rows.clear()
            row = np.empty(0)
        if len(row) < len(self.table):
            row = np.append(row, np.full(2 * len(self.table) - len(row), np.nan))
            self.rows[place] = row
        unknown = used[np.isnan(row[used])]
        if len(unknown):
            pairs = [(self.table[k].x, self.table[k].y) for k in unknown]
            values = np.asarray(self.structure.kernel_row(x, y, pairs), np.float64)
            if values.shape != unknown.shape:
                raise ValueError("the joint kernel must return a number for each pair")
            check_magnitude(values, MAX_KERNEL, "the joint kernel")
            row[unknown] = values
        return row[used]


class KernelBlocks(LoopBlocks):
    """The operations of `partwise.compiled` on models over atoms.

    A code is the number of an atom; that of the truth of example i is i.
    """

    def __init__(
        self,
        structure: JointKernel,
        X: Sequence[Any],
        Y: Sequence[Any],
        formulation: Formulation,
    ) -> None:
        self.structure = structure
        self.X, self.Y = list(X), list(Y)  # the same objects at each visit
        self.formulation = formulation
        self.with_loss = True
        room = len(self.X) + max(LEAST_ROOM, ROOM_PER_EXAMPLE * len(self.X))
        self.atoms = _Atoms(structure, room)
        self.table = self.atoms.table  # type: ignore[assignment]
        for i, (x, y) in enumerate(zip(self.X, self.Y, strict=True)):
            self.atoms.enter((i, structure.key(y)), x, y, 0.0)
        self.truth = self.table[: len(self.X)]

    def place(self, i: int, y_hat: Any) -> int:
        """Number of an output of example i, entered when it is new."""
        loss = loss_of(self.structure, i, self.Y[i], y_hat)
        place = (i, self.structure.key(y_hat))  # type: ignore[attr-defined]
        return self.atoms.enter(place, self.X[i], y_hat, loss)

    def view(self, w: Floats, i: int) -> Any:
        """A score in the place of weights."""
        atoms, x, structure = self.atoms, self.X[i], self.structure
        used = np.flatnonzero(w[: len(atoms.table)])
        pairs = [(atoms.table[k].x, atoms.table[k].y) for k in used]
        model = KernelModel(structure, pairs, w[used])  # type: ignore[arg-type]

        def row(y: Any) -> Floats:
            place = (i, structure.key(y))  # type: ignore[attr-defined]
            return atoms.row(place, x, y, used)

        return Score(model, x, row)

    def push(self, w: Floats, i: int, code: Ints, coef: float) -> None:
        """Two coefficients change."""
        w[i] += coef
        w[code[0]] -= coef

    def wipe(self, w: Floats, i: int, code: Ints) -> None:
        """Undo any `push`."""
        w[i] = w[code[0]] = 0.0


def refuse_indefinite(structure: JointKernel, atoms: _Atoms) -> None:
    """Refuse a kernel that on some true pairs is no inner product.

    A sample is no proof, but what is wrong is usually wrong everywhere; without an
    inner product the dual bounds nothing.
    """
    some = np.arange(min(len(atoms.table), MOST_CHECKED))
    pairs = [atoms.table[k] for k in some]
    values = np.array([atoms.row(p.place, p.x, p.y, some) for p in pairs])
    scale = float(np.abs(values).max(initial=0.0))
    name = type(structure).__name__
    if float(np.abs(values - values.T).max(initial=0.0)) > 1e-9 * scale:
        raise ValueError(
            f"the kernel of {name} is not symmetric on the training data: K(a, b) and "
            "K(b, a) differ; use (K(a, b) + K(b, a)) / 2"
        )
    smallest = float(np.linalg.eigvalsh(values).min(initial=0.0))
    if smallest < -1e-8 * scale * len(pairs):
        raise ValueError(
            f"the kernel of {name} is not positive semidefinite on the training data: "
            f"an eigenvalue is {smallest:.3g}; use sums and products of kernels that "
            "are"
        )


class JointKernelProblem(LoopProblem):
    """Problem over a joint kernel (see `KernelBlocks`)."""

    is_euclidean = False

    blocks: KernelBlocks

    def _make_blocks(self, X: Sequence[Any], Y: Sequence[Any]) -> KernelBlocks:
        structure: Any = self.structure
        blocks = KernelBlocks(structure, X, Y, self.formulation)
        refuse_indefinite(structure, blocks.atoms)
        return blocks

    def _count_weights(self) -> int:
        return self.blocks.atoms.room

    def keys(self) -> None:
        """Coefficients belong to the pairs of one fit."""
        return None

    def digest(self) -> bytes:
        """Refuse: no checkpoints."""
        return Problem.digest(self)

    def dot(self, one: Floats, other: Floats) -> float:
        """Σ α_j α'_k K of all pairs of atoms."""
        table = self.blocks.table
        used = np.flatnonzero(one[: len(table)])
        return float(np.sum([one[k] * table[k].dot(other) for k in used]))

    def compact(self, model: Floats) -> KernelModel:
        """Pairs with a coefficient."""
        table: Any = self.blocks.table
        used = np.flatnonzero(model[: len(table)])
        pairs = [(table[k].x, table[k].y) for k in used]
        structure: Any = self.structure
        return KernelModel(structure, pairs, model[used])

    def expand(self, weights: KernelModel) -> Floats:
        """A model over atoms; pairs of another fit become atoms of this one."""
        model = self.zero()
        blocks: Any = self.blocks
        rows = {id(x): i for i, x in enumerate(blocks.X)}
        for (x, y), alpha in zip(weights.pairs, weights.alpha, strict=True):
            place = (rows.get(id(x), ("foreign", id(x))), blocks.structure.key(y))
            model[blocks.atoms.enter(place, x, y, np.nan)] += alpha
        return model
