"""Kernels by name: on the command line, and in model files.

    linear    poly:degree=2,coef0=1    ngram:n=6,decay=0.5    bow:columns=form|upos
    normalized(annotated:n=4) + 0.5*bow*bow

Parameters follow a colon; lists are separated by bars. ``+`` adds, ``*`` multiplies
kernels or scales by a number, brackets group.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from numbers import Integral, Real
from typing import Any

from partwise.kernels.bag_of_words import BagOfWords
from partwise.kernels.base import Kernel
from partwise.kernels.combinations import Normalized, Product, Scaled, Sum
from partwise.kernels.exact_strings import ExactNGram, Spectrum
from partwise.kernels.external import PAIRWISE, FromFunction, Pairwise, Precomputed
from partwise.kernels.strings import AnnotatedNGram, NGram
from partwise.kernels.trees import ConvolutionTree
from partwise.kernels.vectors import RBF, Linear, Polynomial
from partwise.parameters import SettingsError

SIMPLE: dict[str, type[Kernel]] = {
    "linear": Linear,
    "poly": Polynomial,
    "rbf": RBF,
    "bow": BagOfWords,
    "ngram": NGram,
    "annotated": AnnotatedNGram,
    "exact_ngram": ExactNGram,
    "spectrum": Spectrum,
    "tree": ConvolutionTree,
}
# by version: a later one reads old files by keeping the old name
DOCUMENTS: dict[str, type[Kernel]] = {
    **{f"{name}.v1": kernel for name, kernel in SIMPLE.items()},
    "pairwise.v1": Pairwise,
    "precomputed.v1": Precomputed,
    "sum.v1": Sum,
    "product.v1": Product,
    "scaled.v1": Scaled,
    "normalized.v1": Normalized,
}
MAX_DEPTH = 30  # of kernels within kernels
MAX_TEXT = 10_000  # characters

_TOKEN = re.compile(r"\s*(?:([-\w.:=,|]+)|([()+*]))")
_NUMBER = re.compile(r"[0-9]*\.?[0-9]+(?:[eE]-?[0-9]+)?")


def as_kernel(kernel: Kernel | str | Callable[[Any, Any], Any]) -> Kernel:
    """The kernel that a name, a kernel or a function means.

    Parameters
    ----------
    kernel : Kernel, str or callable
        A string is an expression as for `parse_kernel`; a callable is a function of
        two inputs.

    Examples
    --------
    >>> as_kernel("poly:degree=3")
    Polynomial(degree=3, coef0=1.0, gamma=1.0)
    """
    if isinstance(kernel, Kernel):
        kernel.check()
        return kernel
    if isinstance(kernel, str):
        return parse_kernel(kernel)
    if isinstance(kernel, type):
        raise SettingsError(
            f"<kernel=> is the class {kernel.__name__}; give {kernel.__name__}()"
        )
    if callable(kernel):
        return FromFunction(kernel)
    raise ValueError(
        f"{kernel!r:.80} is no kernel; give a name, a kernel or a function"
    )


def parse_kernel(text: str) -> Kernel:
    """Read a kernel from an expression.

    Examples
    --------
    >>> parse_kernel("normalized(ngram:n=4) + 0.5*bow:columns=word|pos")
    Sum(left=Normalized(kernel=NGram(n=4, decay=0.5, column=None)), \
right=Scaled(kernel=BagOfWords(columns=('word', 'pos'), weights=None, degree=1, \
coef0=0.0), factor=0.5))
    """
    if len(text) > MAX_TEXT:
        raise ValueError(f"a kernel of {len(text)} characters; {MAX_TEXT} are allowed")
    tokens = []
    at, end = 0, len(text.rstrip())
    while at < end:
        token = _TOKEN.match(text, at)
        if not token:
            raise SettingsError(
                f"<kernel={text!r}>: cannot read {text[at:].strip()[:20]!r}"
            )
        tokens.append(token[1] or token[2])
        at = token.end()
    kernel, rest = _parse_sum(text, tokens, 0)
    if rest:
        raise SettingsError(f"<kernel={text!r}>: {rest[0]!r} does not belong there")
    try:
        kernel.check()
    except ValueError as error:
        raise SettingsError(f"<kernel={text!r}>: {error}") from None
    return kernel


def _parse_sum(text: str, tokens: list[str], depth: int) -> tuple[Kernel, list[str]]:
    if depth > MAX_DEPTH:
        raise SettingsError(f"<kernel={text[:80]!r}>: brackets deeper than {MAX_DEPTH}")
    kernel, tokens = _parse_product(text, tokens, depth)
    for _ in range(MAX_DEPTH):
        if tokens[:1] != ["+"]:
            return kernel, tokens
        other, tokens = _parse_product(text, tokens[1:], depth)
        kernel = kernel + other
    raise SettingsError(f"<kernel={text[:80]!r}>: more than {MAX_DEPTH} terms")


def _parse_product(
    text: str, tokens: list[str], depth: int
) -> tuple[Kernel, list[str]]:
    factor: float | None = None
    kernel: Kernel | None = None
    for _ in range(MAX_DEPTH):
        if not tokens:
            raise SettingsError(f"<kernel={text!r}>: a kernel is missing at the end")
        if _NUMBER.fullmatch(tokens[0]):
            factor = (1.0 if factor is None else factor) * float(tokens[0])
            tokens = tokens[1:]
        else:
            other, tokens = _parse_atom(text, tokens, depth)
            kernel = other if kernel is None else kernel * other
        if tokens[:1] != ["*"]:
            if kernel is None:
                raise SettingsError(f"<kernel={text!r}>: a number alone is no kernel")
            return (kernel if factor is None else Scaled(kernel, factor)), tokens
        tokens = tokens[1:]
    raise SettingsError(f"<kernel={text[:80]!r}>: more than {MAX_DEPTH} factors")


def _parse_atom(text: str, tokens: list[str], depth: int) -> tuple[Kernel, list[str]]:
    token, rest = tokens[0], tokens[1:]
    is_normalized = token == "normalized" and rest[:1] == ["("]
    if is_normalized or token == "(":
        inner, rest = _parse_sum(text, rest[is_normalized:], depth + 1)
        if rest[:1] != [")"]:
            raise SettingsError(f"<kernel={text!r}>: a closing bracket is missing")
        return (Normalized(inner) if is_normalized else inner), rest[1:]
    if token in ")+*":
        raise SettingsError(f"<kernel={text!r}>: a kernel is missing before {token!r}")
    return _make(text, token), rest


def _make(text: str, token: str) -> Kernel:
    name, _, settings = token.partition(":")
    params: dict[str, Any] = {}
    for setting in filter(None, settings.split(",")):
        key, equals, value = setting.partition("=")
        if not equals or key in params:
            raise SettingsError(
                f"<kernel={text!r}>: {setting!r} where name=value, once each, is needed"
            )
        params[key] = _value(value)
    if name in SIMPLE:
        kernel: type[Kernel] = SIMPLE[name]
    elif name in PAIRWISE:
        kernel, params = Pairwise, {"metric": name} | params
    else:
        known = ", ".join(
            [*SIMPLE, *(n for n in PAIRWISE if n not in SIMPLE), "normalized(…)"]
        )
        raise SettingsError(
            f"<kernel={text!r}>: no kernel {name!r}; choose from {known}"
        )
    unknown = params.keys() - set(kernel._names())
    if unknown:
        raise SettingsError(
            f"<kernel={text!r}>: {name} has no parameter {min(unknown)!r}; choose from "
            f"{', '.join(kernel._names()) or 'none'}"
        )
    return kernel(**params)


def _value(text: str) -> Any:
    if "|" in text:
        return tuple(_value(part) for part in text.split("|"))
    for convert in (int, float):
        try:
            return convert(text)
        except ValueError:
            pass
    return text


def to_dict(kernel: Kernel) -> dict[str, Any]:
    """A kernel as a document for JSON, for a model file.

    Returns
    -------
    dict
        JSON-able: ``kernel`` is its name with a version, ``params`` its parameters.

    Examples
    --------
    >>> to_dict(Polynomial(degree=3))
    {'kernel': 'poly.v1', 'params': {'degree': 3, 'coef0': 1.0, 'gamma': 1.0}}
    """
    kernel.check()
    names = [name for name, kind in DOCUMENTS.items() if type(kernel) is kind]
    if not names:
        raise ValueError(
            f"a {type(kernel).__name__} kernel cannot be kept in a file; use one that "
            "has a name"
        )
    # of several versions the last is the newest
    is_matrix = isinstance(kernel, Precomputed)
    params = {} if is_matrix else kernel.get_params(deep=False)
    plain = {key: _plain(value) for key, value in params.items()}
    return {"kernel": names[-1], "params": plain}


def _plain(value: Any) -> Any:
    if isinstance(value, Kernel):
        return to_dict(value)
    if isinstance(value, Integral):
        return int(value)
    if isinstance(value, Real):
        return float(value)
    if value is None or isinstance(value, str):
        return value
    return [_plain(item) for item in value]


def from_dict(document: Mapping[str, Any]) -> Kernel:
    """Read a kernel from what `to_dict` gave; it may come from an unknown source.

    Raises
    ------
    ValueError
        Unknown names, missing or wrong parameters, too deep.

    Examples
    --------
    >>> from_dict({"kernel": "rbf.v1", "params": {"gamma": 0.5}})
    RBF(gamma=0.5)
    """
    kernel = _from_dict(document, 0)
    kernel.check()
    return kernel


def _from_dict(document: Any, depth: int) -> Kernel:
    if not isinstance(document, Mapping) or depth > MAX_DEPTH:
        raise ValueError("damaged kernel: no description, or too deep a one")
    name = document.get("kernel")
    if not isinstance(name, str) or name not in DOCUMENTS:
        raise ValueError(
            f"damaged kernel: unknown name {name!r:.80}; this version reads "
            f"{', '.join(DOCUMENTS)}"
        )
    kind = DOCUMENTS[name]
    expected = set() if kind is Precomputed else set(kind._names())
    params = document.get("params")
    if not isinstance(params, Mapping) or params.keys() != expected:
        raise ValueError(
            f"damaged kernel: {name} needs the parameters "
            f"{', '.join(sorted(expected)) or 'none'} and no other"
        )
    return kind(**{key: _read(params[key], depth) for key in expected})


def _read(value: Any, depth: int) -> Any:
    if isinstance(value, Mapping):
        return _from_dict(value, depth + 1)
    if isinstance(value, list):
        if len(value) > 1000:
            raise ValueError("damaged kernel: a list of more than 1000 items")
        return tuple(_read_scalar(item) for item in value)
    return _read_scalar(value)


def _read_scalar(value: Any) -> Any:
    plain = value is None or isinstance(value, str | bool | int)
    if not plain and not (isinstance(value, float) and math.isfinite(value)):
        raise ValueError(f"damaged kernel: {value!r:.80} is no parameter")
    return value
