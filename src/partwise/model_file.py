"""Model files: safetensors with one JSON document, never a pickle.

The format is specified in ``docs/format.md``. This module handles the container:
limits, versions, atomic writing, and one error for every fault of a file. The content
is written and read by one module per kind of model, named in the registry of outputs.
Kinds are versioned: a later version reads old files by keeping their kind in its
record.
"""

from __future__ import annotations

import json
import math
import os
import re
import stat
from collections.abc import Mapping
from importlib import import_module
from typing import Any

import numpy as np

from partwise.bounds import MAX_WEIGHT, Arrays, check_magnitude
from partwise.files import refuse_folder_or_unwritable, write_atomically
from partwise.outputs.registry import OUTPUTS, file_modules

DOCUMENT = "partwise"  # the key of the JSON document in the safetensors metadata
FORMAT = 1
MAX_HEADER_BYTES = 64 << 20  # safetensors itself stops at 100 MB
MAX_DOCUMENT_BYTES = 16 << 20
MAX_DEPTH = 32  # of the JSON document
MAX_ARRAYS = 1000
MAX_INTEGER = 2**63  # none of the document, nor its negative, is as large
MAX_QUOTED = 300  # characters of a hostile file in a message
DTYPES = {
    "F32": np.float32,
    "F64": np.float64,
    "I64": np.int64,
    "I32": np.int32,
    "U8": np.uint8,
    "BOOL": np.bool_,
}

_AGAIN = "copy or train it again"


class ModelFileError(ValueError):
    """A model cannot be read or written; the text names the file and the remedy."""


def save_model(model: Any, path: str | os.PathLike[str]) -> None:
    """Write a model: whole, or not at all.

    Parameters
    ----------
    model : SequenceModel
        Or any other kind of the registry.
    path : path
        An existing file is replaced.

    Raises
    ------
    ModelFileError
        The place cannot be written, or the model cannot be kept in a file.
    """
    from safetensors.numpy import save

    kind = _newest(model_kind(model))
    settings, arrays = import_module(file_modules()[kind]).to_state(model)
    document = {
        "format": FORMAT,
        "kind": kind,
        "model": settings,
        "info": _with_versions(model.info),
    }
    text = dump_json(document)
    if len(text) > MAX_DOCUMENT_BYTES:
        raise ModelFileError(
            f"{path}: labels and history take {len(text)} bytes of JSON where "
            f"{MAX_DOCUMENT_BYTES} are allowed; shorten info['history']"
        )
    flat = {name: np.ascontiguousarray(array) for name, array in arrays.items()}
    for name, array in flat.items():
        if array.dtype == np.float64:  # readers refuse such numbers
            what = f"{path}: array {name!r} of the model"
            remedy = "; train with smaller features or a smaller C"
            check_magnitude(array, MAX_WEIGHT, what, remedy)
    try:
        write_atomically(path, save(flat, {DOCUMENT: text}))
    except OSError as error:
        raise ModelFileError(
            f"{path}: cannot be written ({error.strerror}); choose another place for "
            "the model"
        ) from error


def load_model(path: str | os.PathLike[str]) -> Any:
    """Read a model that `save_model` wrote.

    Parameters
    ----------
    path : path
        The file may come from an unknown source: everything in it is checked, and no
        code in it is run.

    Returns
    -------
    SequenceModel
        Or another kind of the registry.

    Raises
    ------
    ModelFileError
        Not a model file, a damaged one, or one of a later version.
    """
    name = os.fspath(path)
    text, arrays = _read_container(name)
    document = _parse_document(name, text)
    kind = document["kind"]
    try:
        check_info(document["info"])
        module = import_module(file_modules()[kind])
        model = module.from_state(document["model"], arrays, document["info"])
        if model_kind(model) != _split_kind(kind)[0]:
            raise ValueError(f"a {model_kind(model)} as a {kind}")
    except (ValueError, TypeError, KeyError, OverflowError, RecursionError) as error:
        what = f"no {error}" if isinstance(error, KeyError) else str(error)
        what = " ".join(what.split())[:MAX_QUOTED]
        raise ModelFileError(
            f"{name}: damaged model file ({what}); {_AGAIN}"
        ) from error
    return model


def refuse_unwritable(path: str | os.PathLike[str]) -> None:
    """Raise now what writing would raise after hours of training."""
    if os.fspath(path) == "-":
        raise ModelFileError("-: this file is not written to stdout; give it a name")
    try:
        refuse_folder_or_unwritable(path)
    except IsADirectoryError as error:
        raise ModelFileError(f"{path}: is a folder; give the name of a file") from error
    except OSError as error:
        raise ModelFileError(
            f"{path}: cannot be written ({error.strerror}); choose another place for "
            "the file"
        ) from error


# ---------------------------------------------------------------------------- JSON


def dump_json(value: Any) -> str:
    """Strict JSON; numbers that JSON lacks become ``{"float": "inf"}``."""
    return json.dumps(_plain(value), ensure_ascii=False, allow_nan=False)


def _plain(value: Any) -> Any:
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float) and not math.isfinite(value):
        return {"float": str(value)}
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    if value is None or isinstance(value, str | int | float):
        return value
    raise ModelFileError(
        f"a {type(value).__name__} cannot be kept in a model file; use strings and "
        "numbers as labels and settings"
    )


def _float_or_dict(pairs: dict[str, Any]) -> Any:
    if pairs.keys() == {"float"} and pairs["float"] in ("inf", "-inf", "nan"):
        return float(pairs["float"])
    return pairs


def _refuse_constant(name: str) -> Any:
    raise ValueError(f"{name} is not JSON")


def _read_integer(text: str) -> int:
    if len(text) > 20 or not -MAX_INTEGER < int(text) < MAX_INTEGER:
        raise ValueError("an integer of more than 64 bits")
    return int(text)


def _read_float(text: str) -> float:
    if not math.isfinite(float(text)):
        raise ValueError(f"{text[:40]} is no finite number")
    return float(text)


def _parse_document(name: str, text: str) -> dict[str, Any]:
    damaged = ModelFileError(f"{name}: its JSON document is damaged; {_AGAIN}")
    if len(text) > MAX_DOCUMENT_BYTES or _depth(text) > MAX_DEPTH:
        raise damaged
    try:
        document = json.loads(
            text, object_hook=_float_or_dict, parse_constant=_refuse_constant,
            parse_int=_read_integer, parse_float=_read_float,
        )  # fmt: skip
    except ValueError as error:
        raise damaged from error
    if not isinstance(document, dict) or (
        "\\ud" in text.lower() and _has_lone_surrogate(document)
    ):
        raise damaged
    version, kind = document.get("format"), document.get("kind")
    if type(version) is not int or not isinstance(kind, str):
        raise damaged
    if version > FORMAT or _is_newer(kind):
        raise ModelFileError(
            f"{name}: written by a later version of partwise ({kind}, format "
            f"{version}); update partwise to read it"
        )
    if kind not in file_modules():
        names = sorted(output.estimator for output in OUTPUTS)
        raise ModelFileError(
            f"{name}: unknown kind of model {kind[:80]!r}; this version reads models "
            f"of {', '.join(names)}"
        )
    for part in ("model", "info"):
        if not isinstance(document.get(part), dict):
            raise damaged
    return document


def _has_lone_surrogate(document: Any) -> bool:
    """Whether a string has half a character, which UTF-8 cannot encode."""
    try:
        json.dumps(document, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        return True
    return False


def _depth(text: str) -> int:
    """Brackets open at once, counted before the parser could overflow its stack."""
    # possessive, and the closing quote optional: no text makes it backtrack
    bare = re.sub(r'"(?:[^"\\]++|\\.)*+"?', "", text, flags=re.S)
    code = np.frombuffer(bare.encode("utf-8", "replace"), np.uint8)
    step = np.isin(code, [ord("["), ord("{")]).astype(np.int32)
    step -= np.isin(code, [ord("]"), ord("}")])
    return int(np.cumsum(step, dtype=np.int32).max(initial=0))


def model_kind(model: Any) -> str:
    """Name of the kind of file that holds a model: that of its class, or its own."""
    return getattr(model, "kind", type(model).__name__)


def _split_kind(kind: str) -> tuple[str, int]:
    match = re.fullmatch(r"([A-Za-z]+)\.v([0-9]{1,6})", kind)
    return (match[1], int(match[2])) if match else (kind, 0)


def _newest(model_name: str) -> str:
    """The version in which models of this class are written."""
    known = [kind for kind in file_modules() if _split_kind(kind)[0] == model_name]
    if not known:
        raise ModelFileError(
            f"a {model_name} cannot be kept in a model file; those that can are "
            f"{', '.join(_split_kind(kind)[0] for kind in file_modules())}"
        )
    return max(known, key=lambda kind: _split_kind(kind)[1])


def _is_newer(kind: str) -> bool:
    name, version = _split_kind(kind)
    known = [v for n, v in map(_split_kind, file_modules()) if n == name]
    return bool(known) and version > max(known)


def _with_versions(info: Mapping[str, Any]) -> dict[str, Any]:
    from partwise import __version__

    return dict(info) | {"versions": {"partwise": __version__, "numpy": np.__version__}}


# ---------------------------------------------------------------------------- info


def check_info(info: Mapping[str, Any]) -> None:
    """Refuse what an estimator, `inspect` and `verify` could not use."""
    from partwise.certificate import Certificate

    for name in ("settings", "parameters", "versions", "reader"):
        if not isinstance(info.get(name, {}), dict):
            raise ValueError(f"info {name!r} is no object")
    if "certificate" in info:
        if not isinstance(info["certificate"], dict):
            raise ValueError("info 'certificate' is no object")
        known = Certificate.from_dict(info["certificate"])
        optional = (known.at_most, known.dual, known.data_bound, known.n_planes)
        numbers = [known.at_least, known.oracle_calls]
        numbers += [n for n in optional if n is not None]
        texts = (known.stopped, known.penalty, known.note)
        flags = (known.exact_oracle, known.is_relaxed, known.is_local)
        if (
            not all(map(_is_number, numbers))
            or not all(isinstance(flag, bool) for flag in flags)
            or not all(isinstance(text, str) for text in texts)
        ):
            raise ValueError("certificate of other types")
    history = info.get("history", [])
    if not isinstance(history, list) or not all(
        isinstance(row, list) and len(row) in (4, 5) and all(map(_is_number, row))
        for row in history
    ):
        raise ValueError("history that is no list of four or five numbers")
    if not _is_number(info.get("n_iter", 0)):
        raise ValueError("n_iter that is no number")
    temperature = info.get("temperature", 1.0)
    if not _is_number(temperature) or not 1e-5 < temperature < 1e5:
        raise ValueError("temperature that is no number from 1e-5 to 1e5")


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


# ----------------------------------------------------------------------- container


def _read_container(name: str) -> tuple[str, Arrays]:
    """The JSON text and the arrays, sizes and types checked before they are read."""
    from safetensors import SafetensorError, safe_open

    _check_header(name)
    arrays: Arrays = {}
    try:
        with safe_open(name, framework="numpy") as file:
            text = (file.metadata() or {}).get(DOCUMENT)
            if text is None:
                raise ModelFileError(
                    f"{name}: a safetensors file, but not a model of partwise; "
                    "give a file that `partwise train` or `save` wrote"
                )
            keys = list(file.keys())
            if len(keys) > MAX_ARRAYS:
                raise ModelFileError(f"{name}: {len(keys)} arrays; {_AGAIN}")
            for key in keys:
                dtype = file.get_slice(key).get_dtype()
                if dtype not in DTYPES:
                    raise ModelFileError(
                        f"{name}: array {key[:80]!r} holds {dtype}, which no model "
                        f"uses; {_AGAIN}"
                    )
                arrays[key] = file.get_tensor(key)
                if dtype == "BOOL" and arrays[key].view(np.uint8).max(initial=0) > 1:
                    raise ModelFileError(
                        f"{name}: array {key[:80]!r} holds truth values other than 0 "
                        f"and 1; {_AGAIN}"
                    )
    except ModelFileError:
        raise
    except (SafetensorError, OSError, ValueError, TypeError) as error:
        raise ModelFileError(
            f"{name}: truncated or damaged model file ({_first_line(error)}); {_AGAIN}"
        ) from error
    return text, arrays


def _check_header(name: str) -> None:
    """Refuse what is no safetensors file before a library trusts its lengths."""
    try:
        status = os.stat(name)
        size = status.st_size
        if stat.S_ISFIFO(status.st_mode):  # opening one may wait for ever
            raise ModelFileError(f"{name}: a pipe; copy the model to a file first")
        with open(name, "rb") as file:
            length = int.from_bytes(file.read(8), "little")
            first = file.read(1)
    except FileNotFoundError as error:
        raise ModelFileError(f"{name}: no such file; check the path") from error
    except OSError as error:
        raise ModelFileError(
            f"{name}: cannot be read ({error.strerror}); give a model file"
        ) from error
    if size < 8 or first != b"{":
        raise ModelFileError(
            f"{name}: not a model file; give a file that `partwise train` or `save` "
            "wrote"
        )
    if length > MAX_HEADER_BYTES:
        raise ModelFileError(
            f"{name}: its header claims {length} bytes where {MAX_HEADER_BYTES} are "
            f"allowed; {_AGAIN}"
        )
    if 8 + length > size:
        raise ModelFileError(f"{name}: truncated model file; {_AGAIN}")


def _first_line(error: Exception) -> str:
    return (str(error).splitlines() or [""])[0][:MAX_QUOTED]
