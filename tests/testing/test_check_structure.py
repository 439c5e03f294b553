"""Deliberately broken structures: the right method must be named."""

import re

import numpy as np
import pytest

from partwise.objective import Formulation
from partwise.protocol import CapabilityError
from partwise.structures.loop import LoopProblem
from partwise.testing import EnumeratedStructure, StructureError, check_structure
from partwise.testing.toys import ToyChain, ToyClasses, toy_chain, toy_classes


def chain_examples(seed=0):
    _, X, Y = toy_chain(seed)
    return list(zip(X, Y, strict=True))


def broken(structure, **options):
    """The error that the check raises."""
    with pytest.raises(StructureError) as caught:
        check_structure(structure, chain_examples(), **options)
    return caught.value


@pytest.mark.parametrize("toy", [toy_classes, toy_chain])
def test_right_structures_pass(toy):
    structure, X, Y = toy(0)
    report = check_structure(structure, list(zip(X, Y, strict=True)))
    assert report.skipped == ("complete",)
    assert {"two_best", "frontier", "pack[slack, l2]", "pickle"} <= set(report.passed)


class NoSize(ToyChain):
    def setup(self, X, Y):
        self.n_features_ = X[0].shape[1]
        return self


class ForgetsSelf(ToyChain):
    def setup(self, X, Y):
        super().setup(X, Y)


class ShortFeature(ToyChain):
    def joint_feature(self, x, y):
        return super().joint_feature(x, y)[:-1]


class InfiniteFeature(ToyChain):
    def joint_feature(self, x, y):
        psi = super().joint_feature(x, y)
        psi[0] = np.inf
        return psi


class RestlessFeature(ToyChain):
    calls = 0

    def joint_feature(self, x, y):
        RestlessFeature.calls += 1
        return super().joint_feature(x, y) + RestlessFeature.calls


class LossOfTruth(ToyChain):
    def loss(self, y, y_hat):
        return super().loss(y, y_hat) + 1.0


class NegativeLoss(ToyChain):
    def loss(self, y, y_hat):
        return -super().loss(y, y_hat)


class GreedyArgmax(ToyChain):
    """Ignores transitions."""

    def argmax(self, x, w):
        emission = w[: 2 * self.n_features_].reshape(2, -1)
        return tuple(int(label) for label in np.argmax(x @ emission.T, axis=1))


class InvalidArgmax(ToyChain):
    """Claims a better output than any there is."""

    def enumerate(self, x):
        return [y for y in super().enumerate(x) if any(y) or len(y) == 1]

    def argmax(self, x, w):
        return max(ToyChain().enumerate(x), key=lambda y: self.score(x, y, w))


class RaisingArgmax(ToyChain):
    def argmax(self, x, w):
        raise KeyError("label")


class MinimisingArgmax(ToyChain):
    def argmax(self, x, w):
        return super().argmax(x, -w)


class ForgetsLoss(ToyChain):
    def loss_augmented_argmax(self, x, y, w):
        return self.argmax(x, w)


class OneBest(ToyChain):
    def two_best(self, x, w):
        return [self.argmax(x, w)] * 2


class FrontierMissesLosses(ToyChain):
    def frontier(self, x, y, w):
        return list(super().frontier(x, y, w))[:2]  # losses 0 and 1


class FrontierMisstatesLosses(ToyChain):
    def frontier(self, x, y, w):
        return [(2 * loss, y_hat) for loss, y_hat in super().frontier(x, y, w)]


class FrontierNotBest(ToyChain):
    def frontier(self, x, y, w):
        return super().frontier(x, y, -w)


class ChangesItself(ToyChain):
    def argmax(self, x, w):
        self.last_ = w
        return super().argmax(x, w)


class ChangesModel(ToyChain):
    def argmax(self, x, w):
        best = super().argmax(x, w)
        w *= 0.5
        return best


class ChangesInput(ToyChain):
    def loss_augmented_argmax(self, x, y, w):
        best = super().loss_augmented_argmax(x, y, w)
        x += 1.0
        return best


class RenamesArgument(ToyChain):
    def __init__(self, order=1):
        self.degree = order


class WrongPack(ToyChain):
    """Packs another formulation than the one asked for."""

    def pack(self, X, Y, formulation=None, *, n_jobs=1):
        return LoopProblem(self, X, Y, Formulation("slack", "l2"))


class RefusesForNoReason(ToyChain):
    def pack(self, X, Y, formulation=None, *, n_jobs=1):
        raise CapabilityError("not today")


@pytest.mark.parametrize(
    ("structure", "method", "text"),
    [
        (NoSize(), "setup", "n_psi_ is None"),
        (ForgetsSelf(), "setup", "return self"),
        (ShortFeature(), "joint_feature", "returned 7 values where n_psi_ is 8"),
        (InfiniteFeature(), "joint_feature", "NaN or infinity"),
        (RestlessFeature(), "joint_feature", "two equal calls differ"),
        (LossOfTruth(), "loss", "loss of the truth"),
        (NegativeLoss(), "loss", "must be ≥ 0"),
        (GreedyArgmax(), "argmax", "but .* has"),
        (InvalidArgmax(), "argmax", "is not an output"),
        (RaisingArgmax(), "argmax", "raised KeyError"),
        (MinimisingArgmax(), "argmax", "but .* has"),
        (ForgetsLoss(), "loss_augmented_argmax", "but .* has"),
        (OneBest(), "two_best", "two best scores are|twice"),
        (FrontierMissesLosses(), "frontier", "misses loss 2.0"),
        (FrontierMisstatesLosses(), "frontier", "states loss 2.0 .* loss is 1.0"),
        (FrontierNotBest(), "frontier", "best score for loss"),
        (ChangesItself(), "argmax", "changed the structure"),
        (ChangesModel(), "argmax", "changed its arguments"),
        (ChangesInput(), "loss_augmented_argmax", "changed its arguments"),
        (RenamesArgument(), "get_params", "under its name"),
        (WrongPack(), "pack", "enumeration finds|states violation"),
        (RefusesForNoReason(), "pack", "for no reason"),
    ],
    ids=lambda value: type(value).__name__ if not isinstance(value, str) else "",
)
def test_broken_method_is_named(structure, method, text):
    error = broken(structure)
    assert error.method == method
    assert re.search(text, str(error)), str(error)
    assert str(error).startswith(f"{type(structure).__name__}.{method} is wrong")


def test_error_tells_the_example_and_the_model():
    error = broken(MinimisingArgmax())
    assert error.example is not None and error.w is not None
    assert f"on example {error.example}" in str(error)
    x, _ = chain_examples()[error.example]
    structure = MinimisingArgmax().setup([x], [None])
    right = ToyChain().setup([x], [None])
    assert structure.argmax(x, error.w) != right.argmax(x, error.w)


def test_local_classes_cannot_be_pickled():
    class Local(ToyChain):
        pass

    error = broken(Local())
    assert error.method == "__reduce__"
    assert "top level of a module" in str(error)


def test_without_enumeration_truths_are_compared():
    class Bare(ToyClasses):
        enumerate = None  # type: ignore[assignment]

        def argmax(self, x, w):
            return 0

        def loss_augmented_argmax(self, x, y, w):
            return 0

        def frontier(self, x, y, w):
            return []

        def two_best(self, x, w):
            return [0, 1]

    _, X, Y = toy_classes(0)
    with pytest.raises(StructureError, match="argmax is wrong on example") as caught:
        check_structure(Bare(), list(zip(X, Y, strict=True)))
    assert caught.value.method == "argmax"


class FourMethods(ToyClasses):
    """No optional capabilities."""

    def __getattribute__(self, name):
        if name in ("frontier", "two_best"):
            raise AttributeError(name)
        return super().__getattribute__(name)


class SilentRefusal(FourMethods):
    def pack(self, X, Y, formulation=None, *, n_jobs=1):
        if not formulation.is_additive:
            raise CapabilityError("cannot")
        return super().pack(X, Y, formulation)


def test_missing_capabilities_are_skipped_when_refused_by_name():
    _, X, Y = toy_classes(0)
    examples = list(zip(X, Y, strict=True))
    report = check_structure(FourMethods(), examples)
    assert "pack[margin, l1]" in report.passed
    assert {"frontier", "two_best", "pack[hard, l1]"} <= set(report.skipped)
    with pytest.raises(StructureError, match="does not name `frontier`"):
        check_structure(SilentRefusal(), examples)


class Sides(EnumeratedStructure):
    """A class seen, and a side hidden; only the class has a loss."""

    def setup(self, X, Y):
        self.n_psi_ = 4
        return self

    def enumerate(self, x):
        return [(label, side) for label in range(2) for side in range(2)]

    def joint_feature(self, x, y):
        return np.array([2 * y[0] + y[1]]), np.array([x])

    def loss(self, y, y_hat):
        return float(y[0] != y_hat[0])

    def complete(self, x, y, w):
        return max(((y[0], s) for s in range(2)), key=lambda h: self.score(x, h, w))


class LazyCompletion(Sides):
    def complete(self, x, y, w):
        return (y[0], 0)


class WrongCompletion(Sides):
    def complete(self, x, y, w):
        return self.argmax(x, w)


def test_latent_structures_are_checked_by_their_completion():
    examples = [(1.0, (0, None)), (2.0, (1, None))]
    assert "complete" in check_structure(Sides(), examples).passed
    for structure, text in ((LazyCompletion(), "but"), (WrongCompletion(), "has loss")):
        with pytest.raises(StructureError, match=text) as caught:
            check_structure(structure, examples)
        assert caught.value.method == "complete"


def test_original_is_left_alone():
    structure = ToyChain()
    check_structure(structure, chain_examples())
    assert vars(structure) == {}
