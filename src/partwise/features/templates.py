r"""The template language: which strings around a token become its features.

One template per line; ``#`` begins a comment::

    word[-2..2]                 a window of a column: five templates
    pos[-2]|pos[-1]             a conjunction of any number of terms
    lower(word)                 offset 0 is the default
    prefix(word,1..4)           the first 1, 2, 3, 4 letters: four templates
    suffix(lower(word),3)[-1]   functions nest
    shape(word)                 Xxxx-99; short_shape(word) gives Xx-9
    match(word,"^[0-9]+$")      1 where the regular expression is found
    attribute(feats,"Case")     Case=Nom of Case=Nom|Number=Sing
    bias                        1 at every token

A term outside the sentence has the value ``<s>``, the same on both sides. A term
without a value gives no feature: a `match` that fails, an affix longer than the word,
an attribute that is not there.
A template that is written twice counts once.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import product
from math import prod
from typing import TYPE_CHECKING, NoReturn

from partwise.parameters import shortened

if TYPE_CHECKING:  # help pages list presets, and need no numpy
    import numpy as np

    from partwise.readers.table import Column

BOUNDARY = "<s>"

Argument = int | str


class TemplateError(ValueError):
    """A template cannot be read; the text names the line and the remedy."""

    def __init__(self, text: str) -> None:
        super().__init__(shortened(text))


@dataclass(frozen=True)
class View:
    """A column, or a function of a view: a string (or no value) per token."""

    name: str
    inner: View | None = None
    argument: Argument | None = None

    def __str__(self) -> str:
        if self.inner is None:
            return self.name
        if self.argument is None:
            return f"{self.name}({self.inner})"
        quote = '"' if isinstance(self.argument, str) else ""
        return f"{self.name}({self.inner},{quote}{self.argument}{quote})"

    @property
    def column(self) -> str:
        """Name of the column at the bottom."""
        return self.name if self.inner is None else self.inner.column

    def apply(self, values: Iterable[str]) -> list[str | None]:
        """Strings of this view for strings of the column; None for no value."""
        if self.inner is None:
            return list(values)
        function = FUNCTIONS[self.name](self.argument)
        inner = self.inner.apply(values)
        return [None if value is None else function(value) for value in inner]

    def of_column(self, column: Column) -> tuple[np.ndarray, list[str | None]]:
        """Codes that occur in a column, int64 (n_used,), and their strings here."""
        used = column.used()
        return used, self.apply([column.values[code] for code in used.tolist()])


@dataclass(frozen=True)
class Term:
    """A view of the token `offset` places further on."""

    view: View
    offset: int = 0

    def __str__(self) -> str:
        return f"{self.view}[{self.offset}]"


@dataclass(frozen=True)
class Template:
    """A conjunction of terms; `bias` has none."""

    terms: tuple[Term, ...]

    def __str__(self) -> str:
        return "|".join(map(str, self.terms)) or "bias"


class _ShapeOf(dict[int, str]):
    """Table for `str.translate`, filled letter by letter."""

    def __missing__(self, code: int) -> str:
        letter = chr(code)
        if letter.isupper() or letter.istitle():
            shape = "X"
        elif letter.isalpha():
            shape = "x"
        else:
            shape = "9" if letter.isdigit() else letter
        self[code] = shape
        return shape


_SHAPES = _ShapeOf()
_RUN = re.compile(r"(.)\1+", re.DOTALL)

Function = Callable[[str], str | None]


def _lower(_: Argument | None) -> Function:
    return str.lower


def _prefix(length: Argument | None) -> Function:
    assert isinstance(length, int)
    return lambda value: value[:length] if len(value) >= length else None


def _suffix(length: Argument | None) -> Function:
    assert isinstance(length, int)
    return lambda value: value[-length:] if len(value) >= length else None


def _shape(_: Argument | None) -> Function:
    return lambda value: value.translate(_SHAPES)


def _short_shape(_: Argument | None) -> Function:
    return lambda value: _RUN.sub(r"\1", value.translate(_SHAPES))


def _match(pattern: Argument | None) -> Function:
    assert isinstance(pattern, str)
    search = re.compile(pattern).search
    return lambda value: "1" if search(value) else None


def _attribute(name: Argument | None) -> Function:
    search = re.compile(rf"(?:^|\|)({re.escape(str(name))}=[^|]*)").search
    return lambda value: match[1] if (match := search(value)) else None


FUNCTIONS: dict[str, Callable[[Argument | None], Function]] = {
    "lower": _lower,
    "prefix": _prefix,
    "suffix": _suffix,
    "shape": _shape,
    "short_shape": _short_shape,
    "match": _match,
    "attribute": _attribute,
}
_TAKES_LENGTH = {"prefix", "suffix"}
_TAKES_PATTERN = {"match", "attribute"}

# templates may come from a model file of unknown source: small text, small work
MAX_NUMBER = 1000
MAX_DEPTH = 16
MAX_EXPANSIONS = 10_000


def parse_templates(templates: str | Iterable[str]) -> list[Template]:
    """Read templates, ranges expanded and repetitions left out.

    Parameters
    ----------
    templates : str or iterable of str
        One template per line, or per item.

    Raises
    ------
    TemplateError
        The text names the line and the remedy.

    Examples
    --------
    >>> [str(t) for t in parse_templates("word[-1..0]  # two of them")]
    ['word[-1]', 'word[0]']
    """
    lines = templates.splitlines() if isinstance(templates, str) else list(templates)
    parsed: dict[Template, None] = {}
    for number, line in enumerate(lines, start=1):
        for template in _Line(number, line).parse():
            parsed[template] = None
    if not parsed:
        raise TemplateError("no template; write at least one line, such as word[-1..1]")
    return list(parsed)


_TOKEN = re.compile(
    r"""\s*(?:
        (?P<name>[^\W\d][\w.\-]*)
      | (?P<number>[+-]?\d+)
      | (?P<string>"(?:[^"\\]|\\.)*")
      | (?P<mark>\.\.|[\[\](),|])
    )""",
    re.VERBOSE,
)


class _Line:
    """Recursive descent over one line; each rule returns its expansions in order."""

    def __init__(self, number: int, text: str) -> None:
        self.number = number
        self.text = text
        self.tokens: list[tuple[str, str]] = []
        at = 0
        while (rest := text[at:].lstrip()) and not rest.startswith("#"):
            token = _TOKEN.match(text, at)
            if token is None:
                self.fail(f"cannot read {rest!r}", "see the template language")
            self.tokens.append((token.lastgroup or "", token[token.lastgroup or 0]))
            at = token.end()
        self.tokens.append(("end", "end of line"))

    def fail(self, problem: str, remedy: str) -> NoReturn:
        text = self.text.strip()
        raise TemplateError(
            f"template line {self.number} ({text}): {problem}; {remedy}"
        )

    def take(self, kind: str, remedy: str) -> str:
        next_kind, text = self.tokens[0]
        if next_kind != kind:
            self.fail(f"found {text!r}", remedy)
        return self.tokens.pop(0)[1]

    def accept(self, mark: str) -> bool:
        if self.tokens[0] == ("mark", mark):
            self.tokens.pop(0)
            return True
        return False

    def expect(self, mark: str) -> None:
        if not self.accept(mark):
            self.fail(f"found {self.tokens[0][1]!r}", f"write {mark!r} there")

    def parse(self) -> list[Template]:
        if self.tokens[0][0] == "end":
            return []
        if self.tokens[0] == ("name", "bias") and len(self.tokens) == 2:
            return [Template(())]
        terms = [self.term()]
        while self.accept("|"):
            terms.append(self.term())
        self.take("end", "join terms by |, one template per line")
        n_templates = prod(map(len, terms))
        if n_templates > MAX_EXPANSIONS:
            self.fail(f"{n_templates} templates in one line", "use smaller ranges")
        return [Template(choice) for choice in product(*terms)]

    def term(self) -> list[Term]:
        views = self.view()
        offsets = [0]
        if self.accept("["):
            offsets = self.range()
            self.expect("]")
        return [Term(view, offset) for view in views for offset in offsets]

    def view(self, depth: int = 0) -> list[View]:
        if depth > MAX_DEPTH:
            self.fail("functions nest too deep", f"at most {MAX_DEPTH} are allowed")
        name = self.take("name", "write a column or a function there")
        if not self.accept("("):
            if name == "bias":
                self.fail("bias stands alone", "write it on a line of its own")
            return [View(name)]
        if name not in FUNCTIONS:
            self.fail(f"no function {name!r}", f"there are {', '.join(FUNCTIONS)}")
        inner = self.view(depth + 1)
        arguments = self.arguments(name)
        self.expect(")")
        return [View(name, view, argument) for view in inner for argument in arguments]

    def arguments(self, name: str) -> Sequence[Argument | None]:
        if name in _TAKES_LENGTH:
            self.expect(",")
            lengths = self.range()
            if lengths[0] < 1:
                self.fail(f"{name} of length {lengths[0]}", "lengths begin at 1")
            return lengths
        if name in _TAKES_PATTERN:
            self.expect(",")
            quoted = self.take("string", 'write the expression in quotes, "^[0-9]+$"')
            try:
                re.compile(quoted[1:-1])
            except re.error as error:
                self.fail(f"bad regular expression ({error})", "see Python's re")
            return [quoted[1:-1]]
        return [None]

    def number_within(self, remedy: str) -> int:
        text = self.take("number", remedy)
        # the length first: Python refuses to convert thousands of digits
        if len(text) > 5 or abs(int(text)) > MAX_NUMBER:
            self.fail(f"{text} is far away", f"use at most {MAX_NUMBER} in size")
        return int(text)

    def range(self) -> list[int]:
        first = self.number_within("write a number or a range such as -2..2")
        last = first
        if self.accept(".."):
            last = self.number_within("write the end of the range")
        if last < first:
            self.fail(f"empty range {first}..{last}", "write the smaller number first")
        return list(range(first, last + 1))


_WINDOW = """
word[-2..2]
pos[-2..2]
pos[-2]|pos[-1]
pos[-1]|pos[0]
pos[0]|pos[1]
pos[1]|pos[2]
"""

_SPELLING = """
lower(word)[-1..1]
prefix(word,1..4)
suffix(word,1..4)
shape(word)
short_shape(word)[-1..1]
"""

PRESETS: dict[str, str] = {
    # the features of the CRF++ and SVM-hmm examples for CoNLL-2000
    "window": _WINDOW,
    "chunk": _WINDOW
    + _SPELLING
    + """
word[-2]|word[-1]
word[-1]|word[0]
word[0]|word[1]
word[1]|word[2]
word[-1]|word[1]
pos[-1]|pos[1]
pos[-2]|pos[-1]|pos[0]
pos[-1]|pos[0]|pos[1]
pos[0]|pos[1]|pos[2]
word[-1]|pos[0]
word[0]|pos[-1]
word[0]|pos[0]
word[0]|pos[1]
word[1]|pos[0]
bias
""",
    "ner": _WINDOW
    + _SPELLING
    + """
short_shape(word)[-2]
short_shape(word)[2]
short_shape(word)[-1]|short_shape(word)[0]
short_shape(word)[0]|short_shape(word)[1]
short_shape(word)[-1]|short_shape(word)[0]|short_shape(word)[1]
word[-1]|word[0]
word[0]|word[1]
word[-1]|short_shape(word)[0]
short_shape(word)[0]|word[1]
suffix(lower(word),3)[-1]
suffix(lower(word),3)[1]
match(word,"^[0-9]+$")
match(word,"[0-9]")
match(word,"-")
bias
""",
    "pos": _SPELLING
    + """
word[-2..2]
word[-1]|word[0]
word[0]|word[1]
word[-1]|word[1]
suffix(lower(word),1..5)
suffix(lower(word),2..3)[-1]
suffix(lower(word),2..3)[1]
suffix(word,2)[-1]|suffix(word,2)[0]
match(word,"[0-9]")
match(word,"-")
match(word,"^[A-Z]")
bias
""",
}
