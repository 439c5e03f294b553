"""Options and start of commands that run a trained model on data files."""

from __future__ import annotations

import functools
import inspect
import os
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from partwise.cli.options import FILE_OPTIONS, Encoding
from partwise.outputs.task import FileOptions, Task


def reads_files(*names: str) -> Callable[[Callable[..., int]], Callable[..., int]]:
    """Give a command the named options of `FileOptions`, and ``--encoding``.

    The command receives them as one parameter, ``files``; the options stand in its
    place. The encoding takes effect by the callback of its option.
    """

    def decorate(command: Callable[..., int]) -> Callable[..., int]:
        @functools.wraps(command)
        def run(encoding: str | None = None, **values: Any) -> int:
            files = FileOptions(**{name: values.pop(name, None) for name in names})
            return command(files=files, **values)

        options = {name: FILE_OPTIONS[name] for name in names} | {"encoding": Encoding}
        parameters: list[inspect.Parameter] = []
        for parameter in inspect.signature(command, eval_str=True).parameters.values():
            if parameter.name != "files":
                parameters.append(parameter.replace(kind=parameter.KEYWORD_ONLY))
                continue
            parameters += [
                inspect.Parameter(
                    name, parameter.KEYWORD_ONLY, default=None, annotation=option
                )
                for name, option in options.items()
            ]
        run.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
        run.__annotations__ = {p.name: p.annotation for p in parameters}
        return run

    return decorate


def refuse_overwriting(
    results: Mapping[str, str | None], inputs: Sequence[str]
) -> None:
    """Refuse files that cannot be written, or whose writing would lose another file.

    Parameters
    ----------
    results : mapping of str to path or None
        Files to write, by their options.
    inputs : sequence of paths
        Files that are read.
    """
    from partwise.model_file import refuse_unwritable

    owners = {os.path.realpath(path): path for path in inputs if path != "-"}
    for option, path in results.items():
        if not path:
            continue
        refuse_unwritable(path)
        if os.path.exists(path) and not os.path.isfile(path):  # a device, a pipe
            continue
        real_path = os.path.realpath(path)
        if real_path in owners:
            raise ValueError(
                f"{option} {path}: it would overwrite {owners[real_path]}; give "
                "another name"
            )
        owners[real_path] = f"the file of {option}"


def open_task(path: str, files: FileOptions) -> tuple[Any, Task]:
    """A model and its task; from here on, compilation is announced."""
    from partwise.cli.output import say
    from partwise.jit import announce_compilation
    from partwise.outputs.task import open_model

    announce_compilation(say)
    return open_model(path, files)
