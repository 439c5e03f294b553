"""`partwise convert`: files of other programs as files of ours, and the other way."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from partwise.cli.data_files import refuse_overwriting
from partwise.cli.options import Columns, Json


def convert(
    file: Annotated[
        str,
        typer.Argument(
            metavar="FILE",
            help="A binary model of CRFsuite, templates of CRF++, or a model of ours.",
        ),
    ],
    *,
    output: Annotated[
        str | None,
        typer.Option(
            "--output",
            "-o",
            metavar="FILE",
            help="Where to write; by default FILE.model for models, stdout for text.",
            show_default=False,
        ),
    ] = None,
    to: Annotated[
        str | None,
        typer.Option(
            metavar="FORMAT",
            help="Of a model of ours: meme or jaspar of a motif, matrix (NCBI) of an "
            "aligner.",
            show_default=False,
        ),
    ] = None,
    columns: Columns = None,
    json: Json = False,
) -> int:
    """Convert a model of CRFsuite, templates of CRF++, or a model for other programs.

    The content of a file decides what it is. A converted model predicts what
    CRFsuite predicts. Templates of CRF++ become lines for `train tag --template`; name
    the columns of your files with --columns where they are not word, pos, c2, …. With
    --to a model becomes text that other programs read.

    Example: `partwise convert names.crfsuite --output names.model`
    """
    from partwise.readers.crfsuite import MAGIC
    from partwise.readers.source import is_model

    try:
        with open(file, "rb") as stream:
            first = stream.read(9)
    except OSError as error:
        what = f"cannot be read ({error.strerror})"
        if isinstance(error, FileNotFoundError):
            what = "no such file"
        raise ValueError(f"{file}: {what}; check the path") from None
    if output not in (None, "-"):
        refuse_overwriting({"--output": output}, [file])
    if to is not None or is_model(first):
        return _convert_ours(file, output or "-", to, json)
    if first.startswith(MAGIC):
        if columns is not None:
            raise ValueError("--columns goes with templates, not with models; drop it")
        place = output or str(Path(file).with_suffix(".model"))
        if output is None and Path(place) == Path(file):
            raise ValueError(f"{file}: is a model itself; name another with --output")
        return _convert_model(file, place, json)
    return _convert_templates(file, output or "-", columns, json)


def _convert_model(file: str, output: str, json: bool) -> int:
    from partwise.cli.output import print_json, say
    from partwise.model_file import save_model
    from partwise.outputs.crfsuite import from_crfsuite

    model = from_crfsuite(file)
    save_model(model, output)
    document = {
        "kind": "CRFsuite model",
        "n_features": model.featurizer.n_features_,
        "labels": model.labels,
        "output": output,
    }
    if json:
        print_json(document)
    else:
        say(
            f"{document['n_features']:,} attributes, {len(model.labels)} labels: model "
            f"written to {output}"
        )
    return 0


def _convert_ours(file: str, output: str, to: str | None, json: bool) -> int:
    from partwise.cli.output import print_json, say
    from partwise.model_file import load_model, model_kind
    from partwise.outputs.registry import task_class
    from partwise.parameters import check_choice
    from partwise.readers.sink import write_bytes

    model = load_model(file)
    task = task_class(model)
    formats = () if task is None else task.other_formats
    if not formats:
        raise ValueError(
            f"{file}: no other program reads a {model_kind(model)}; convert takes "
            "models of CRFsuite, templates of CRF++, and models of motifs and aligners"
        )
    if to not in formats:
        if to is not None:
            check_choice("to", to, formats)
        options = " or ".join(f"--to {name}" for name in formats)
        raise ValueError(f"{file}: is a model of Partwise; give {options}")
    assert task is not None
    text = task.in_format(model, to)
    if not json or output != "-":
        write_bytes(output, text.encode())
    if json:
        print_json({"kind": to, "text": text, "output": output})
    elif output != "-":
        say(f"{to} written to {output}")
    return 0


def _convert_templates(file: str, output: str, columns: str | None, json: bool) -> int:
    from partwise.cli.output import print_json, say
    from partwise.features import convert_crfpp
    from partwise.features.templates import TemplateError
    from partwise.readers.sink import write_bytes
    from partwise.readers.source import ReaderError, read_text_bytes

    try:
        name, data = read_text_bytes(file)
    except ReaderError as error:
        raise ReaderError(
            f"{file}: neither a binary model of CRFsuite nor templates of CRF++, which "
            "are text in UTF-8"
        ) from error
    names = None
    if columns is not None:
        names = [column.strip() for column in columns.split(",")]
    try:
        converted = convert_crfpp(data.decode(), names)
    except TemplateError as error:
        raise TemplateError(f"{name}: {error}") from None
    if not json or output != "-":
        write_bytes(output, converted.templates.encode())
    if json:
        document = {
            "kind": "CRF++ templates",
            "templates": converted.templates.splitlines(),
        }
        print_json(document | {"order": converted.order, "output": output})
    else:
        say(f"train with --order {converted.order}")
    return 0
