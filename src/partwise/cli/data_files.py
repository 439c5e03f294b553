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
        if path is None:
            continue
        if not path:
            raise ValueError(f"{option} '': give the name of a file")
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


def open_task(path: str, data: Sequence[str], files: FileOptions) -> tuple[Any, Task]:
    """A model and its task; from here on, compilation is announced.

    Files of data that is a model where the model is none are in the wrong order.
    """
    from partwise.cli.output import say
    from partwise.jit import announce_compilation
    from partwise.outputs.task import open_model

    if not _is_model(path):
        models = [name for name in data if _is_model(name)]
        if models:
            raise ValueError(
                f"{path}: not a model file, but {models[0]} is; give the model first, "
                "then the data"
            )
    announce_compilation(say)
    return open_model(path, files)


def _is_model(path: str) -> bool:
    """Whether it is a file that looks like a model."""
    from partwise.readers.source import is_model

    try:
        if not os.path.isfile(path):
            return False
        with open(path, "rb") as file:
            return is_model(file.read(9))
    except OSError:
        return False
