"""The command ``partwise train TASK`` of an output, with options of its parameters."""

from __future__ import annotations

from collections.abc import Callable
from inspect import Parameter as Argument
from inspect import Signature, getdoc
from typing import Annotated, Any

import typer

from partwise.cli import options as common
from partwise.cli.parameters import (
    FEATURES,
    KERNELS,
    SWITCHES,
    Declared,
    Option,
    declare,
    parameters_of,
)
from partwise.outputs.registry import Output
from partwise.outputs.task import FileOptions, Task
from partwise.parameters import ParameterError, SettingsError, check_choice


def training_command(output: Output) -> Callable[..., int]:
    """A function whose signature declares the options, as typer reads them."""
    assert output.task is not None
    task: type[Task] = getattr(output.module("task"), output.task[1])
    parameters = parameters_of(f"{output.folder}.estimator", output.estimator)
    options = {p.name: Option.of(p, task.aliases) for p in parameters}
    declared = [declare(p, options[p.name]) for p in parameters]
    parameter_options = [
        option for option in declared if option and option.name != "templates"
    ]
    names = [option.name for option in parameter_options]
    has_templates = "templates" in options
    has_gram = "gram_options" in options
    further = [
        Declared(name, _extra(metavar, text), None)
        for name, (metavar, text) in task.extra_options.items()
    ]
    if has_templates:
        further += [
            Declared("preset", _extra("NAME", _presets(task)), None),
            Declared("template", common.TemplateFile, None),
        ]
    if has_gram:
        further += [
            Declared("gram_cache", common.GramCache, None),
            Declared("gram_dtype", common.GramDtype, None),
        ]
    files = [Declared(n, common.FILE_OPTIONS[n], None) for n in task.file_options]
    files.append(Declared("encoding", common.Encoding, None))
    results = [
        Declared("dev", common.DevFile, None),
        Declared("report", common.ReportFile, None),
        Declared("keep_dual", common.KeepDual, False),
        Declared("json", common.Json, False),
    ]

    def train(data: list[str], model: str, **given: Any) -> int:
        from partwise.cli.train import TrainingRequest, train_model

        common.OPTIONS.update(options)
        values = {name: given[name] for name in (*names, *task.extra_options)}
        if has_templates:
            values["templates"] = _templates(task, given["preset"], given["template"])
        if has_gram:
            values["gram_options"] = _gram_options(
                values["kernel"], given["gram_cache"], given["gram_dtype"]
            )
        settings = task.settings(values)
        estimator = getattr(output.module("estimator"), output.estimator)(**settings)
        reader = FileOptions(**{name: given[name] for name in task.file_options})
        request = TrainingRequest(
            data,
            model,
            given["dev"],
            given["report"],
            given["keep_dual"],
            given["json"],
        )
        return train_model(task.for_training(reader, settings), estimator, request)

    arguments = [
        Argument("data", Argument.KEYWORD_ONLY, annotation=common.Files),
        Argument("model", Argument.KEYWORD_ONLY, annotation=common.ModelToWrite),
    ]
    panels = ("Objective", FEATURES, KERNELS, SWITCHES, "Solver")
    ordered = sorted(
        [*parameter_options, *further], key=lambda option: panels.index(_panel(option))
    )
    for option in (*ordered, *files, *results):
        arguments.append(
            Argument(
                option.name,
                Argument.KEYWORD_ONLY,
                default=option.default,
                annotation=option.annotation,
            )
        )
    train.__signature__ = Signature(arguments)  # type: ignore[attr-defined]
    train.__annotations__ = {a.name: a.annotation for a in arguments}
    train.__doc__ = getdoc(task)
    return train


def _presets(task: type[Task]) -> str:
    names = list(task.template_language()[0])
    listed_names = ", ".join(names[:12]) + (", …" if len(names) > 12 else "")
    return f"Feature templates by name: {listed_names}."


def _panel(option: Declared) -> str:
    return option.annotation.__metadata__[0].rich_help_panel


def _extra(metavar: str, text: str) -> Any:
    about = typer.Option(
        metavar=metavar, help=text, show_default=False, rich_help_panel=FEATURES
    )
    return Annotated[str | None, about]


def _templates(task: type[Task], preset: str | None, path: str | None) -> str | None:
    """Text of the templates, or None for the default ones."""
    from partwise.features.templates import TemplateError
    from partwise.readers.source import read_text_bytes, text_encoding

    if preset is None and path is None:
        return None
    presets, parse = task.template_language()
    if path is None:
        check_choice("preset", preset, presets)
        return presets[preset]  # type: ignore[index]
    if preset is not None:
        raise SettingsError("<preset> and <template> do not go together; drop one")
    with text_encoding("utf-8"):
        _, data = read_text_bytes(path)
    try:
        parse(data.decode())
    except TemplateError as error:
        raise TemplateError(f"{path}: {error}") from error
    return data.decode()


def _gram_options(
    kernel: str | None, cache: str | None, dtype: str | None
) -> dict[str, Any] | None:
    """The parameter ``gram_options`` of estimators; refused without a kernel."""
    given = {"cache_dir": cache, "dtype": dtype}
    chosen = {name: value for name, value in given.items() if value is not None}
    if kernel is None:
        for name, value in chosen.items():
            raise ParameterError(name, value, "it is for kernels, give <kernel=>")
        return None
    from partwise.cli.progress import GramProgress

    return {"progress": GramProgress(), **chosen}
