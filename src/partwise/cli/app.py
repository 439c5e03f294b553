"""The commands under one name, and one place where errors become messages."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Sequence
from difflib import get_close_matches
from typing import Annotated, Any

import typer
import typer.main
from typer.core import TyperCommand, TyperGroup

from partwise import __version__
from partwise.cli.compile import compile_tasks
from partwise.cli.convert import convert
from partwise.cli.demo import demo
from partwise.cli.evaluate import evaluate
from partwise.cli.explain import explain
from partwise.cli.fetch import fetch
from partwise.cli.inspect import inspect
from partwise.cli.options import OPTIONS
from partwise.cli.output import say
from partwise.cli.parameters import in_options
from partwise.cli.predict import predict
from partwise.cli.report import report
from partwise.cli.train_options import training_command
from partwise.cli.verify import verify
from partwise.cli.warning_lines import warning_lines
from partwise.outputs.registry import tasks
from partwise.parameters import SettingsError


def without_types(params: list[Any]) -> list[Any]:
    """Arguments without Python's names of their types, such as ``list[str]``."""
    for param in params:
        if param.param_type_name == "argument" or param.name == "help":
            param.display_type_rich = lambda ctx: ""
    return params


class Command(TyperCommand):
    """A command with a plain help page."""

    def get_params(self, ctx: typer.Context) -> list[Any]:  # type: ignore[override]
        """Arguments and options."""
        return without_types(super().get_params(ctx))


class Group(TyperGroup):
    """Commands under one name, with a plain help page."""

    def get_params(self, ctx: typer.Context) -> list[Any]:  # type: ignore[override]
        """Arguments and options."""
        return without_types(super().get_params(ctx))


class Commands(Group):
    """All commands, in the order in which people need them."""

    def list_commands(self, ctx: typer.Context) -> list[str]:  # type: ignore[override]
        """Names of the commands; typer would list a group last."""
        return ["train", *(name for name in self.commands if name != "train")]


app = typer.Typer(
    name="partwise",
    cls=Commands,
    help="Structured prediction with maximum margin, every model with a proof of how "
    "far it is from the optimum.",
    epilog="Start with: partwise demo",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    add_completion=False,
    rich_markup_mode="markdown",
    context_settings={"help_option_names": ["-h", "--help"]},
)


class TaskGroup(Group):
    """The outputs of the registry; options of an output are made on demand."""

    def list_commands(self, ctx: typer.Context) -> list[str]:  # type: ignore[override]
        """Names of the tasks."""
        return list(tasks())

    def get_command(self, ctx: typer.Context, name: str) -> Any:  # type: ignore[override]
        """The command of a task, None for an unknown one."""
        output = tasks().get(name)
        if output is None or output.task is None:
            return None
        single = typer.Typer(add_completion=False, rich_markup_mode="markdown")
        command = single.command(name, cls=Command, short_help=output.task[2])
        command(training_command(output))
        return typer.main.get_command(single)


train = typer.Typer(
    cls=TaskGroup,
    help="Learn a model, and prove how far it is from the optimum.",
    epilog="Example: `partwise train tag train.txt --model chunks.model`",
    no_args_is_help=True,
    subcommand_metavar="TASK DATA...",
    rich_markup_mode="markdown",
    callback=lambda: None,
)
app.add_typer(train, name="train")
for command in (predict, evaluate, report, inspect, explain, verify, convert, fetch):
    app.command(cls=Command)(command)
app.command("compile", cls=Command)(compile_tasks)
app.command(cls=Command)(demo)


def _version(is_asked: bool) -> None:
    if is_asked:
        print(f"partwise {__version__}")
        raise typer.Exit()


@app.callback()
def common(
    version: Annotated[
        bool,
        typer.Option(
            "--version",
            metavar="",
            callback=_version,
            is_eager=True,
            help="Print the version.",
        ),
    ] = False,
) -> None:
    """Options that come before the command."""


def run(arguments: Sequence[str] | None = None) -> int:
    """Run a command; an error is one line on standard error, never a traceback."""
    try:
        with warning_lines():
            code = app(arguments, prog_name="partwise", standalone_mode=False)
        if sys.stdout is not None:
            sys.stdout.flush()
        return code or 0
    except BrokenPipeError:
        _drop_output()
        return 1
    except KeyboardInterrupt:
        return 130
    except Exception as error:
        if os.environ.get("PARTWISE_TRACEBACK"):
            raise
        message, code = _describe(error)
        if message:
            say(f"error: {message}")
        if isinstance(error, OSError) and error.errno and error.filename is None:
            _drop_output()
        return code


def _drop_output() -> None:
    """Redirect an unwritable standard output, or Python prints an error at exit."""
    with contextlib.suppress(OSError, ValueError, AttributeError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _describe(error: Exception) -> tuple[str, int]:
    """One line and the exit code."""
    if hasattr(error, "format_message"):  # bad usage, as typer found it
        message = " ".join(error.format_message().split())
        if message.startswith("No such command"):
            context = error.ctx  # type: ignore[attr-defined]
            names = context.command.list_commands(context)
            problem = message.partition(".")[0]
            similar = get_close_matches(problem.split("'")[1], names, n=1)
            hint = f"did you mean {similar[0]!r}? Choose" if similar else "choose"
            message = f"{problem}; {hint} from {', '.join(names)}"
        elif message:
            context = getattr(error, "ctx", None)
            name = "partwise" if context is None else context.command_path
            message += f" (see {name} --help)"
        return message, getattr(error, "exit_code", 2)
    message_text = str(error)
    if isinstance(error, SettingsError):
        message_text = in_options(error.text, OPTIONS)
    text = " ".join(message_text.split()) or type(error).__name__
    if isinstance(error, OSError) and error.filename is not None:
        return f"{error.filename}: {error.strerror}; choose another place", 2
    if isinstance(error, OSError) and error.strerror:
        return f"{error.strerror}: output cannot be written, or input not be read", 1
    if type(error).__name__ == "FetchError":
        return text, 1
    if isinstance(error, ValueError | TypeError):
        return text, 2
    if isinstance(error, MemoryError):
        return f"out of memory: {text}; use less data, or --hash-bits", 1
    if isinstance(error, ModuleNotFoundError):
        return f"{text}; this installation lacks a part of partwise", 1
    report = "set PARTWISE_TRACEBACK=1 to see where, and please report it"
    return f"{type(error).__name__}: {text}; {report}", 1
