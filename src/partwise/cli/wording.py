"""Messages in the words of the command line: parameters of Python become options.

Estimators, structures and solvers name their parameters as Python does (``budget=0``,
``single_root=False``, ``raise max_iter``). Whoever typed options reads ``--budget 0``,
``--many-roots``, ``raise --max-iter``: `in_options` translates what a command raises,
`as_typed` what it says besides.
"""

from __future__ import annotations

import ast
import re
import shlex
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextvars import ContextVar
from functools import wraps
from typing import Any, NamedTuple, get_type_hints

from typer.models import OptionInfo

# parameters whose option has another name
ALIASES = {
    "cache_dir": "gram_cache",
    "lexical": "words",
    "n_candidates": "candidates",
    "n_clusters": "clusters",
    "n_jobs": "jobs",
    "names": "columns",
    "random_state": "seed",
}
OPPOSITES = {"single_root": "many_roots"}  # a flag that says the contrary
EITHER = {"templates": ("preset", "template")}  # one parameter, two options
ITEMS = {"gram_options": {"dtype": "gram_dtype", "cache_dir": "gram_cache"}}
SHORT = ("tol", "eps")  # no words, so they are names even without a value
UNTOUCHED = ("ModelFileError",)  # tells what stands in a file, not what was typed

# not inside of paths, of quoted text, or of a kernel's own settings
_BEFORE, _AFTER = r"(?<![\w./\\:,|'\"`-])", r"(?![\w/\\'\"`=-]|\.\w)"
_TEXT = r"'[^']*'|\"[^\"]*\""
_VALUE = rf"{_TEXT}|\{{[^{{}}]*\}}|-?\w+(?:\.\d+)?(?:e[-+]?\d+)?"


class Option(NamedTuple):
    """How an option is typed; a flag may have a name that switches it off."""

    name: str
    off: str = ""


Options = Mapping[str, Option]  # by parameter


class Running(NamedTuple):
    """A command at work."""

    command: Callable[..., int]
    training: Iterable[Callable[..., int]]  # the commands that make its models
    given: Mapping[str, Any]  # what the user typed, by parameter


_running: ContextVar[Running | None] = ContextVar("_running", default=None)


def in_options(
    command: Callable[..., int], training: Iterable[Callable[..., int]] = ()
) -> Callable[..., int]:
    """
    Wrap a command so that its errors name options, not parameters.

    Parameters
    ----------
    command : callable
        As typer takes it: its annotations declare the options.
    training : iterable of callable
        The commands that make the models it takes. A setting of theirs can be changed
        in another model only, and the message says so.
    """

    @wraps(command)
    def run(*args: Any, **given: Any) -> int:
        token = _running.set(Running(command, training, given))
        try:
            return command(*args, **given)
        except (ValueError, TypeError) as error:
            if len(error.args) == 1 and type(error).__name__ not in UNTOUCHED:
                error.args = (as_typed(str(error)),)
            raise
        finally:
            _running.reset(token)

    return run


def options_of(command: Callable[..., Any]) -> dict[str, Option]:
    """The options that a command declares, by the name of their parameter."""
    found = {}
    for parameter, hint in get_type_hints(command, include_extras=True).items():
        for about in getattr(hint, "__metadata__", ()):
            if isinstance(about, OptionInfo):
                # within Annotated, the first name stands in the place of a default
                written = map(str, (about.default, *(about.param_decls or ())))
                names = [name for name in written if name.startswith("--")]
                names.append("--" + parameter.replace("_", "-"))
                on, _, off = names[0].partition("/")
                found[parameter] = Option(on, off)
    return found


def typed(option: str, value: Any) -> str:
    """
    An option with its value as a shell takes it.

    Examples
    --------
    >>> typed("--C", 0.0), typed("--cost", "free"), typed("--scheme", "")
    ('--C 0', '--cost free', "--scheme ''")
    """
    text = f"{value:g}" if isinstance(value, float) else str(value)
    return f"{option} {shlex.quote(text)}"


def as_typed(text: str) -> str:
    """
    The same message with options for the parameters of the command that runs.

    Parameters
    ----------
    text : str
        A message of an estimator, or of what it is made of. Outside of a command it
        comes back as it is.
    """
    running = _running.get()
    if running is None:
        return text
    for shown, option in _objects(running.given):
        text = text.replace(shown, option)
    own = _by_parameter(options_of(running.command))
    lent: dict[str, Option] = {}
    for other in running.training:
        lent |= _by_parameter(options_of(other))

    def assigned(found: re.Match[str]) -> str:
        name, value = found[1], found[2]
        if name in ITEMS:
            return _items(ITEMS[name], value, own) or found[0]
        if name in own:
            return _assigned(name, own[name], value)
        if value is None:
            return found[0]
        return f"a model trained with {_assigned(name, lent[name], value)}"

    names = _any_of({**own, **lent, **ITEMS})
    text = re.sub(rf"{_BEFORE}({names})=({_VALUE})?", assigned, text)
    bare = _any_of(n for n in own if ("_" in n or n in SHORT) and n not in OPPOSITES)
    text = re.sub(rf"{_BEFORE}({bare}){_AFTER}", lambda found: own[found[1]].name, text)
    # a message may begin with a parameter: "kernel 'lniear': …", "match needs …"
    first = re.match(rf"({_any_of(own)}) (?:({_TEXT})(?=:)|(?=needs ))", text)
    if first is not None:
        option = _assigned(first[1], own[first[1]], first[2])
        text = option + ("" if first[2] else " ") + text[first.end() :]
    return text


def _any_of(names: Iterable[str]) -> str:
    """A pattern for any of these names; of none, one that nothing matches."""
    return "|".join(names) or "(?!)"


def _by_parameter(options: Options) -> dict[str, Option]:
    """Options by what estimators call them."""
    found = dict(options)
    for name, other in (ALIASES | OPPOSITES).items():
        if other in options:
            found[name] = options[other]
    for name, others in EITHER.items():
        if all(other in options for other in others):
            found[name] = Option(" or ".join(options[other].name for other in others))
    return found


def _assigned(name: str, option: Option, value: str | None) -> str:
    """``name=value`` as an option, or ``name=`` without a value."""
    if value is None:
        return option.name
    if value in ("True", "False"):
        is_on = (value == "True") != (name in OPPOSITES)
        return option.name if is_on else option.off or f"no {option.name}"
    try:
        return typed(option.name, ast.literal_eval(value))
    except (ValueError, SyntaxError):  # a name, such as nan
        return f"{option.name} {value}"


def _items(names: Mapping[str, str], value: str | None, options: Options) -> str:
    """Items of a dict as options; nothing if one of them has none."""
    found = re.findall(rf"'(\w+)': ({_VALUE})", value or "")
    if any(names.get(key) not in options for key, _ in found):
        return ""
    return " ".join(_assigned(key, options[names[key]], item) for key, item in found)


def _objects(given: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """What messages show in the place of what the user typed."""
    kernel = given.get("kernel")
    if kernel is None:
        return
    from partwise.kernels.naming import parse_kernel

    try:
        yield repr(parse_kernel(kernel)), typed("--kernel", kernel)
    except ValueError:
        return  # the message itself tells why
