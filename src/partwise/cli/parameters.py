"""Parameters of an estimator as options: types, defaults and help from its source.

The source is read, not imported: scikit-learn takes more than a second to load, and a
help page should not wait for it.
"""

from __future__ import annotations

import ast
import re
import shlex
from collections.abc import Callable, Iterable, Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple

import typer

from partwise.outputs.docstrings import entries_of
from partwise.parameters import choices_of, reworded

OBJECTIVE = ("C", "loss", "formulation", "penalty", "cost", "normalized")
OF_KERNELS = ("kernel", "match", "clusters", "budget", "over_budget")
FEATURES, KERNELS, SWITCHES = "Features and structure", "Kernels", "Switches"
COMMON = "StructuredEstimator"  # the class whose parameters all estimators have
NO_OPTION = ("warm_start", "metric", "verbose")  # they mean nothing to a single command
ALIASES = {"n_jobs": "--jobs", "random_state": "--seed"}  # of all tasks
NONE = "none"  # how None is typed where it is not the default


class Parameter(NamedTuple):
    """A parameter as the source declares and describes it."""

    name: str
    type: str  # the annotation
    default: Any
    kind: str  # the type in the docstring
    help: str  # first sentence of its description
    is_common: bool  # whether all estimators have it


# ------------------------------------------------------------------------- source


def parameters_of(module: str, name: str) -> list[Parameter]:
    """Parameters of an estimator, the common ones last."""
    described: dict[str, tuple[str, str]] = {}
    declared: dict[str, tuple[str, Any]] = {}
    common: set[str] = set()
    for tree in _classes(module, name):
        described = _described(ast.get_docstring(tree) or "") | described
        for node in tree.body:
            if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
                field, annotation = node.target.id, ast.unparse(node.annotation)
                default = _default(node.value)
                if default is not None and not annotation.startswith("ClassVar"):
                    declared.setdefault(field, (annotation, *default))
                    if tree.name == COMMON:
                        common.add(field)
    parameters = [
        Parameter(
            field, annotation, default, *described.get(field, ("", "")), field in common
        )
        for field, (annotation, default) in declared.items()
    ]
    return sorted(parameters, key=lambda parameter: parameter.is_common)


def _classes(module: str, name: str) -> Iterable[ast.ClassDef]:
    """The class and its bases within the package, as syntax trees."""
    spec = find_spec(module)
    assert spec is not None and spec.origin is not None
    tree = ast.parse(Path(spec.origin).read_text(encoding="utf-8"))
    origins = {
        alias.asname or alias.name: (node.module or "", alias.name)
        for node in tree.body
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }
    for node in tree.body:
        if isinstance(node, ast.ClassDef) and node.name == name:
            yield node
            for base in map(ast.unparse, node.bases):
                origin = origins.get(base, (module, base))
                if origin[0].partition(".")[0] == "partwise":
                    yield from _classes(*origin)


def _default(value: ast.expr | None) -> tuple[Any] | None:
    """The default of a field, in a tuple; None for what is no parameter."""
    if isinstance(value, ast.Call):  # field(default=…, …)
        named = {keyword.arg: keyword.value for keyword in value.keywords}
        value = named.get("default")
    return None if value is None else (ast.literal_eval(value),)


def _described(docstring: str) -> dict[str, tuple[str, str]]:
    """Types and first sentences of the parameters in a docstring."""
    described: dict[str, tuple[str, str]] = {}
    for names, kind, body in entries_of(docstring):
        text = " ".join(body.split())
        sentence = re.split(r"(?<=[.…])\s+(?=[A-Z])", text)[0]
        plain = sentence.replace("``", "").replace("`", "")
        described |= {name: (kind, plain) for name in names if kind}
    return described


# ------------------------------------------------------------------------ options


class Option(NamedTuple):
    """How a parameter is typed; a flag may have a name that switches it off."""

    name: str
    off: str = ""

    @classmethod
    def of(cls, parameter: Parameter, aliases: Mapping[str, str]) -> Option:
        """The option of a parameter, from its alias or its name."""
        option_names = ALIASES | dict(aliases)
        option = "--" + parameter.name.replace("_", "-")
        if parameter.default is True:
            option = f"{option}/--no-{parameter.name.replace('_', '-')}"
        on, _, off = option_names.get(parameter.name, option).partition("/")
        return cls(on, off)

    def typed(self, value: str | None) -> str:
        """The option as a shell takes it, with a value as Python writes it."""
        if not value:
            return self.name
        try:
            plain = ast.literal_eval(value)
        except (ValueError, SyntaxError):  # a name, such as nan
            return f"{self.name} {value}"
        if isinstance(plain, bool):
            return self.name if plain else self.off or f"no {self.name}"
        text = f"{plain:g}" if isinstance(plain, float) else str(plain)
        if isinstance(plain, list):
            text = ",".join(map(str, plain))
        return f"{self.name} {NONE if plain is None else shlex.quote(text)}"


class Declared(NamedTuple):
    """An option for typer: how Python calls it, its annotation and its default."""

    name: str
    annotation: Any
    default: Any


def declare(parameter: Parameter, option: Option) -> Declared | None:
    """The option of a parameter; None where a shell has no way to write its values."""
    parser: Callable[[str], Any] | None = None
    choices = _choices(parameter.type)
    values = [choice for choice in choices if choice is not None]
    value_type: Any = {"int": int, "float": float, "str": str, "bool": bool}.get(
        parameter.type.removesuffix(" | None")
    )
    listed = LISTS.get(parameter.kind.removesuffix(" or None"))
    if listed is not None:
        value_type, parser = str, _list_parser(listed)
    elif values:
        value_type = type(values[0])
    elif value_type is None and parameter.type == "Any":
        value_type = _described_type(parameter.kind)
    if value_type is None or parameter.name in NO_OPTION:
        return None
    accepts_none = parameter.type.endswith("| None")
    if listed is None and (
        value_type is object
        or (accepts_none and not (value_type is str and not values))
    ):
        parser = _parser(value_type)
    names = option.name + (f"/{option.off}" if option.off else "")
    settings: dict[str, Any] = {
        "help": _in_shell(parameter.help),
        "show_default": parameter.default not in (None, False),
        "rich_help_panel": _panel(parameter, option),
    }
    listed_names = values or re.findall(r'"(\w+)"', parameter.kind.partition("}")[0])
    if listed is not None:
        settings["metavar"] = listed.metavar
        settings["help"] += f" Written as in {listed.example}{listed.more}."
    elif listed_names:
        settings["metavar"] = "|".join(map(str, listed_names))
        if len(settings["metavar"]) > WIDEST:
            settings["metavar"] = "NAME"
            settings["help"] += f" One of {', '.join(map(str, listed_names))}."
    else:
        metavar = "FILE" if parameter.kind.startswith("path") else "TEXT"
        settings["metavar"] = {int: "N", float: "NUMBER", bool: ""}.get(
            value_type, metavar
        )
    annotation = value_type if value_type is not object else str
    if parser is not None:
        settings["parser"] = parser
        annotation = Any
    if parameter.default is None and value_type is not bool:
        annotation = annotation | None if annotation is not Any else Any
    if accepts_none and parameter.default is not None and value_type is str:
        settings["help"] += f" {NONE!r} is allowed."
    return Declared(
        parameter.name, Annotated[annotation, typer.Option(names, **settings)],
        parameter.default,
    )  # fmt: skip


WIDEST = 24  # characters; help pages break wider columns within words


class ListOption(NamedTuple):
    """How a shell writes a list: items between commas."""

    metavar: str
    example: str
    more: str
    n_words: int  # of each item; pairs are lists of two
    what: str  # an item is
    item: Callable[[str], Any] = str


LISTS = {  # by the types in docstrings
    "list of str": ListOption("NAMES", "a_start,b_end", "", 1, "a name"),
    "list of float": ListOption("NUMBERS", "1,0.5,0.25", "", 1, "a number", float),
    "list of (label, label)": ListOption(
        "PAIRS",
        "'O I-PER, none I-PER'",
        ", none for the outside of a sentence",
        2,
        "two labels",
    ),
}


def _list_parser(listed: ListOption) -> Callable[[str], Any]:
    """Lists as a shell writes them; in pairs NONE stands for None."""

    def parse(text: Any) -> Any:
        if not isinstance(text, str):  # a default
            return text
        items = [item.split() for item in text.split(",")]
        try:
            if any(len(item) != listed.n_words for item in items):
                raise ValueError
            if listed.n_words == 1:
                return [listed.item(item[0]) for item in items]
        except ValueError:
            raise typer.BadParameter(
                f"{text!r} has an item between commas that is not {listed.what}; write "
                f"it as in {listed.example}."
            ) from None
        return [
            tuple(None if word.lower() == NONE else word for word in item)
            for item in items
        ]

    parse.__name__ = "list"
    return parse


def _in_shell(text: str) -> str:
    """A sentence in which other parameters are options: ``loss="log"``, --loss log."""

    def typed(match: re.Match[str]) -> str:
        name = ALIASES.get(match[1], "--" + match[1].replace("_", "-"))
        return f"{name} {match[2]}"

    return re.sub(r'\b([a-z_]+)="(\w+)"', typed, text)


def _panel(parameter: Parameter, option: Option) -> str:
    """The part of the help page; switches with two names need columns of their own."""
    if parameter.name in OBJECTIVE:
        return "Objective"
    if parameter.is_common:
        return "Solver"
    if option.off:
        return SWITCHES
    return KERNELS if parameter.name in OF_KERNELS else FEATURES


def _choices(annotation: str) -> tuple[Any, ...]:
    if not annotation.startswith("Literal["):
        return ()
    return choices_of(eval(annotation, {"Literal": Literal}))  # of our own source


def _described_type(kind: str) -> Any:
    """The type of values that a docstring names first among those of a shell."""
    if "float" in kind:
        return object
    if kind.startswith("int"):
        return int
    is_text = re.match(r"str|path|Kernel, str|\{", kind) or re.search(r'"\w+"', kind)
    return str if is_text else None


def _parser(value_type: Any) -> Callable[[str], Any]:
    def parse(text: str) -> Any:
        if not isinstance(text, str):  # a default
            return text
        if text.lower() == NONE:
            return None
        try:
            return (float if value_type is object else value_type)(text)
        except ValueError:
            if value_type is object:
                return text
            raise typer.BadParameter(f"{text!r} is not a valid number.") from None

    parse.__name__ = "number"
    return parse


# ------------------------------------------------------------------------ wording


def in_options(text: str, options: Mapping[str, Option]) -> str:
    """A message that mentions parameters, in the words of the command line.

    Parameters
    ----------
    text : str
        As `partwise.parameters.SettingsError` keeps it.
    options : mapping of str to Option
        Of the command that runs. A parameter without one is that of a model, which
        can be changed by training another.
    """

    def word(name: str, value: str | None) -> str:
        items = re.findall(r"'(\w+)': ('[^']*'|[\w.]+)", value or "")
        if items and all(key in options for key, _ in items):  # a dict of settings
            return " ".join(options[key].typed(item) for key, item in items)
        if name in options:
            return options[name].typed(value)
        option = Option("--" + name.replace("_", "-"))
        if not value:
            return option.name
        return f"a model trained with {option.typed(value)}"

    return reworded(text, word)
