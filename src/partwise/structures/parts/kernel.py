"""Parts compared by a kernel on their rows of features, and by keys.

    K(p, p') = [h(p, x) = h(p', x')] · k(f_p, f_p')

with a kernel k on rows and a hash function h of parts (003 Definition 4.2.1, for any
alphabet). A model is a coefficient for each part of the training data. Parts are the
tokens of one label in the index of `partwise.scorers.kernel`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from partwise.features import DenseFeatures, Features
from partwise.features.keys import MatchError, answer_of, answers_of, name_of
from partwise.features.label_keys import LabelKeys
from partwise.kernels.base import Kernel
from partwise.kernels.inputs import Objects, Positions, Vectors, token_inputs
from partwise.kernels.positive import refuse_indefinite
from partwise.kernels.training_gram import training_gram
from partwise.objective import Formulation
from partwise.protocol import Floats, Ints, offsets_of
from partwise.scorers.kernel import KernelScorer
from partwise.scorers.kernel_index import IndexScorer, KernelIndex
from partwise.scorers.postings import add_coefficient, wipe_coefficient
from partwise.structures.kernel_problem import KernelProblem, KernelSpace
from partwise.structures.loop import LoopBlocks, LoopProblem, refuse_missing
from partwise.structures.parts._batch import PartProblem, pack_parts
from partwise.structures.parts._compared import PartScores
from partwise.structures.parts._inputs import as_parts, part_features, stack_parts

if TYPE_CHECKING:
    from partwise.structures.parts import PartSelection


class PartKernel(NamedTuple):
    """When two parts are alike."""

    kernel: Kernel | None  # on rows of features; None: 1
    match: tuple[Callable[[Any], Any], ...]  # hash functions; none: all parts match

    def check(self) -> None:
        """Refuse kernels on other inputs, and hash functions that are none."""
        for one in self.match:
            if not callable(one):
                raise MatchError(
                    f"<match={one!r}>: give a function of an input x that returns a "
                    "whole number for each of its parts"
                )
        family = None if self.kernel is None else self.kernel.input_family()
        if family is not None and not isinstance(family, Vectors | Positions | Objects):
            raise ValueError(
                f"{self.kernel} does not compare rows of features; use a kernel on "
                "vectors, such as 'rbf' or 'poly:degree=2'"
            )

    def inputs(self, features: Features | DenseFeatures) -> Any:
        """What the kernel compares; None without one."""
        return None if self.kernel is None else token_inputs(self.kernel, features)

    def keys(self, X: Sequence[Any], offset: Ints) -> LabelKeys:
        """Keys of the parts of all inputs; those of input i begin at ``offset[i]``."""
        n = int(offset[-1])
        key = np.zeros((n, max(1, len(self.match))), np.int64)
        for number, function in enumerate(self.match):
            for i, x in enumerate(X):
                here = slice(offset[i], offset[i + 1])
                size = int(offset[i + 1] - offset[i])
                key[here, number] = answers_of(function, number, size, x)
        return LabelKeys(offset, offset, np.arange(n), key, 1, False)

    def describe(self, keys: LabelKeys, part: int, number: int) -> str:
        """What parts with the key of a part have in common."""
        if not self.match:
            return "any part"
        function = self.match[number]
        answer = answer_of(function, number, keys.key[part, number])
        return f"{name_of(function)}={answer}"


class PartExpansion:
    """A trained model: parts of the training data with their coefficients.

    Attributes
    ----------
    structure : PartSelection
    index : KernelIndex
        Its anchors are parts: `row` numbers examples, `token` the parts of each.
    weights : array (n_postings,)
    """

    def __init__(
        self, structure: PartSelection, index: KernelIndex, weights: Floats
    ) -> None:
        self.structure = structure
        self.index = index
        self.weights = weights

    def __len__(self) -> int:
        return max(1, self.index.n_anchors)

    def scores(self, X: Sequence[Any], n_jobs: int = 1) -> list[Floats]:
        """Scores of the parts of each input, from the scorer of new inputs."""
        compared = self.structure.part_kernel()
        sizes = [part_features(x).shape[0] for x in X]
        offset = offsets_of(sizes)
        answers: list[Floats] = []
        for rows in self.index.runs(offset, np.diff(offset) * self.n_hashes):
            features = stack_parts(X[rows])
            keys = compared.keys(X[rows], features.offset)
            scorer = IndexScorer(self.index, compared.inputs(features))
            slots = scorer.bind(keys, 1)
            model = np.zeros(2 * slots.postings.n_slots)
            scorer.fill(slots, self.weights, model, n_jobs)
            answers += np.split(slot_scores(slots, model), features.offset[1:-1])
        return answers

    @property
    def n_hashes(self) -> int:
        """Hash functions of the structure."""
        return max(1, len(self.structure.part_kernel().match))

    def at(self, x: Any) -> PartScores:
        """Scores of the parts of one input, for the methods of the structure."""
        return PartScores(self.scores([x])[0])

    def score(self, x: Any, y: Any) -> float:
        """Score of a set of parts."""
        return float(self.at(x).values[as_parts(y)].sum())

    def shares(self, x: Any, y: Any) -> Floats:
        """What each anchor adds to the score of a set of parts, (len(self),)."""
        compared, total = self.structure.part_kernel(), np.zeros(len(self))
        features = stack_parts([x])
        keys, inputs = compared.keys([x], features.offset), compared.inputs(features)
        parts = as_parts(y).tolist()
        for *_, anchor, share in self.index.shares(inputs, keys, parts, self.weights):
            total[anchor] += share
        return total


# ------------------------------------------------------------------------- problems


class Expanded:
    """Models of a problem over parts as `PartExpansion`, and back; mixed into it."""

    structure: Any
    scorer: KernelScorer
    blocks: Any
    n_slots: int
    n_tail = 0
    zero: Callable[[], Floats]
    compared: PartKernel
    parts: LabelKeys
    inputs: Any
    dtype: str

    def set_parts(self, structure: Any, packed: PackedParts) -> None:
        """Set what the problem is packed from."""
        self.structure = structure
        self.compared, self.parts, self.inputs, self.scorer = packed[:4]
        self.dtype = np.dtype(self.scorer.dtype).name
        self.is_euclidean = False

    def compact(self, model: Floats) -> PartExpansion:
        """The parts that have a coefficient."""
        sizes = np.diff(self.parts.offset)

        def describe(part: int, number: int) -> str:
            return self.compared.describe(self.parts, part, number)

        index, beta = KernelIndex.create(
            self.compared.kernel, self.inputs, self.parts, self.blocks.rows,
            model[: self.n_slots], by_token=self.scorer.by_token,
            offset=self.parts.offset, describe=describe, dtype=self.dtype,
            words=lambda i: [f"part {p}" for p in range(int(sizes[i]))],
        )  # fmt: skip
        return PartExpansion(self.structure, index, beta)

    def expand(self, weights: PartExpansion) -> Floats:
        """The model of an expansion; the data must be those of its training."""
        rows, model = self.blocks.rows, self.zero()
        slots = weights.index.slots(
            self.inputs, self.parts, rows, self.parts.token_offset
        )
        model[slots] = weights.weights
        self.scorer.complete(rows, model)
        return model

    def keys(self) -> None:
        """Coefficients belong to the parts of one fit."""
        return None


class KernelPartProblem(Expanded, KernelProblem, PartProblem):  # type: ignore[misc]
    """Parts with a kernel and a compiled decoder."""


class KernelPartBlocks(LoopBlocks):
    """Parts with a kernel, whose sets are searched by methods in Python."""

    def __init__(self, rows: Any, first: Ints, *args: Any) -> None:
        self.rows = rows
        self.first = first
        super().__init__(*args)

    def psi(self, i: int, y: Any) -> tuple[Ints, Floats]:
        """Where the scores of the parts stand in a model, each with its number."""
        slot = self.rows.slot[self.first[i] + as_parts(y)]
        place, count = np.unique(slot[slot >= 0], return_counts=True)
        return place + self.rows.postings.n_slots, count.astype(np.float64)

    def view(self, w: Floats, i: int) -> PartScores:
        """Scores of all parts of example i."""
        here = slice(int(self.first[i]), int(self.first[i + 1]))
        return PartScores(slot_scores(self.rows._replace(slot=self.rows.slot[here]), w))

    def push(self, w: Floats, i: int, code: Ints, coef: float) -> None:
        """Coefficients of the parts, and the scores that follow."""
        postings = self.rows.postings
        for output, sign in ((self.truth[i], coef), (self.table[code[0]], -coef)):
            pairs = zip(output.index - postings.n_slots, output.value, strict=True)
            for s, count in pairs:
                add_coefficient(postings, w, postings.anchor[s], s, sign * count)

    def wipe(self, w: Floats, i: int, code: Ints) -> None:
        """Undo any `push`."""
        postings = self.rows.postings
        for output in (self.truth[i], self.table[code[0]]):
            for s in output.index - postings.n_slots:
                wipe_coefficient(postings, w, s)


class KernelPartLoop(Expanded, KernelSpace, LoopProblem):  # type: ignore[misc]
    """Problem over `KernelPartBlocks`."""

    def __init__(
        self,
        structure: PartSelection,
        X: Sequence[Any],
        Y: Sequence[Any],
        formulation: Formulation,
        packed: PackedParts,
    ) -> None:
        refuse_missing(structure, formulation.validate())
        self.set_parts(structure, packed)
        self.formulation = formulation
        self.n_blocks = len(X)
        self.n_weights = self.scorer.n_weights(packed.rows)
        offset = self.parts.offset
        self.set_blocks(
            KernelPartBlocks(packed.rows, offset, structure, X, Y, formulation)
        )
        self.measure_space()


class PackedParts(NamedTuple):
    """Parts of training data with their scorer and its rows."""

    compared: PartKernel
    keys: LabelKeys
    inputs: Any
    scorer: KernelScorer
    rows: Any


def pack_keys(
    compared: PartKernel, X: Sequence[Any], features: Any, n_jobs: int
) -> PackedParts:
    """Keys and Gram matrix of the parts of training data."""
    compared.check()
    keys, inputs = compared.keys(X, features.offset), compared.inputs(features)
    values = None
    if compared.kernel is not None:
        n = int(features.offset[-1])
        values = training_gram(
            compared.kernel, inputs, {}, n_jobs, compared=f"{n} parts",
            remedy="train on fewer examples",
        )  # fmt: skip
        refuse_indefinite(compared.kernel, values)
    scorer = KernelScorer(values, by_token=True)
    return PackedParts(compared, keys, inputs, scorer, scorer.bind(keys, 1))


def pack_key_problem(
    structure: Any, X: Any, Y: Any, formulation: Formulation, n_jobs: int
) -> Any:
    """The problem of a `PartSelection` whose parts are compared."""
    packed = pack_keys(structure.part_kernel(), X, stack_parts(X), n_jobs)
    if structure.decoder is None:
        return KernelPartLoop(structure, X, Y, formulation, packed)
    problem: Any = pack_parts(
        structure, X, Y, formulation, n_jobs, packed.scorer, packed.rows,
        KernelPartProblem,
    )  # fmt: skip
    problem.set_parts(structure, packed)
    return problem


def slot_scores(rows: Any, model: Floats) -> Floats:
    """Scores of all parts, (n_parts,), from the slots of each."""
    n_slots = rows.postings.n_slots
    scores = np.append(model[n_slots : 2 * n_slots], 0.0)  # the last of no key
    return scores[rows.slot].sum(axis=1)
