"""`partwise convert`: files of other programs as files of ours."""

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
            metavar="FILE", help="A binary model of CRFsuite, or templates of CRF++."
        ),
    ],
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
    columns: Columns = None,
    json: Json = False,
) -> int:
    """Convert a model of CRFsuite, or templates of CRF++.

    The kind of the file is told by its content. A converted model predicts what
    CRFsuite predicts. Templates of CRF++ become lines for `train tag --template`; name
    the columns of your files with --columns where they are not word, pos, c2, ….

    Example: `partwise convert names.crfsuite --output names.model`
    """
    from partwise.readers.crfsuite import MAGIC

    try:
        with open(file, "rb") as stream:
            first = stream.read(len(MAGIC))
    except OSError as error:
        raise ValueError(f"{file}: cannot be read ({error.strerror})") from None
    if output not in (None, "-"):
        refuse_overwriting({"--output": output}, [file])
    if first == MAGIC:
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
