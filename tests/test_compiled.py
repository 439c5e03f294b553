"""The compiler's private ways that `partwise.compiled` relies on, and their effects."""

import ast
import copy
import importlib
import inspect
import os
import pickle
import subprocess
import sys
import textwrap
from typing import NamedTuple

import numba
import numpy as np
import pytest
from numba import njit, types
from numba.core import config

import partwise
from partwise.compiled import (
    Reference,
    address_of,
    allocating,
    called_at,
    inner,
    jitted,
    kernel,
)
from partwise.compiled._entries import ENTRIES
from partwise.compiled._parts import PartLibrary

COMPILES = not config.DISABLE_JIT
needs_compiler = pytest.mark.skipif(not COMPILES, reason="numba is switched off")
SWEEPS = (
    "partwise.solvers._pool_compiled",
    "partwise.solvers._online_compiled",
    "partwise.structures._packed_compiled",
)


# what numba does not promise to keep, by the file that relies on it
PRIVATE = {
    "jit.py": {
        "numba.core.caching:_CacheLocator": (
            "from_function", "ensure_cache_path", "get_cache_path", "get_source_stamp",
            "get_disambiguator",
        ),
        "numba.core.caching:CompileResultCacheImpl": ("_locator_classes",),
        "numba.core.caching:FunctionCache": (
            "_impl_class", "load_overload", "save_overload", "disable", "cache_path",
        ),
        "numba.core.dispatcher:Dispatcher": ("enable_caching",),
        "numba.core.event:_registered": ("__getitem__",),
    },
    "compiled/_parts.py": {
        "numba.core.codegen:JITCodeLibrary": (
            "codegen", "finalize", "get_pointer_to_function", "_optimize_functions",
            "_raise_if_finalized", "_ensure_finalized", "_get_module_for_linking",
            "_finalize_dynamic_globals", "enable_object_caching",
        ),
        "numba.core.compiler:Compiler": ("compile_extra",),
        "numba.core.dispatcher:Dispatcher": ("get_call_template", "get_overload"),
    },
    "vectors.py": {"numba.np.arrayobj:make_array": ("__call__",)},
}  # fmt: skip


@needs_compiler
@pytest.mark.parametrize(
    ("file", "place", "name"),
    [
        (file, place, name)
        for file, places in PRIVATE.items()
        for place, names in places.items()
        for name in names
    ],
)
def test_numba_has_the_private_names_that_are_used(file, place, name):
    module, _, owner = place.partition(":")
    actual = getattr(importlib.import_module(module), owner, None)
    assert hasattr(actual, name), (
        f"numba {numba.__version__} has no {place}.{name}; mend partwise/{file} and "
        "set the versions of numba in pyproject.toml"
    )


@needs_compiler
def test_numba_keeps_a_cache_and_a_library_where_they_are_looked_for():
    compiled = njit(lambda x: x + 1)
    assert hasattr(compiled, "_cache")
    compiled(1)
    (result,) = compiled.overloads.values()
    for name in ("_linking_libraries", "_reload_init", "_final_module", "_finalized"):
        assert hasattr(result.library, name), f"numba {numba.__version__}: {name}"
    assert hasattr(result.library._codegen, "_data_layout")
    assert hasattr(result.library._codegen, "set_env")
    assert result.fndesc.llvm_cfunc_wrapper_name and result.fndesc.llvm_func_name


@inner
def doubled(x):
    return 2.0 * x


@kernel
def total(values):
    sum_ = 0.0
    for k in range(values.shape[0]):
        sum_ += doubled(values[k])
    return sum_


@allocating
def ramp(n):
    return np.arange(n) * 1.0


@jitted
def total_of_ramp(n):
    return total(ramp(n))


@jitted
def refuse(x):
    if x < 0.0:
        raise ValueError("negative")
    return np.sqrt(x)


@kernel
def root(x):
    return refuse(x) + 1.0


def test_parts_compute_what_functions_compute():
    assert total_of_ramp(4) == 12.0
    assert total(np.ones(3)) == 6.0  # from Python, too


@needs_compiler
def test_a_part_has_no_machine_code():
    total_of_ramp(4)
    (result,) = doubled.overloads.values()
    assert type(result.library) is PartLibrary
    assert result.library.get_pointer_to_function(result.fndesc.llvm_func_name) == 0
    # callers link the part, not the function that Python calls
    assert not ramp.overloads


def test_errors_of_parts_reach_python():
    with pytest.raises(ValueError, match="negative"):
        root(-1.0)
    assert root(4.0) == 3.0


class Inside(NamedTuple):
    x: np.ndarray
    shift: float


class Outside(NamedTuple):
    inside: Inside
    table: np.ndarray
    twice: object
    n: int


TWICE = types.float64(types.float64)
call_twice = called_at(TWICE)


def numbers():
    twice = address_of(TWICE, lambda x: 2.0 * x)
    table = np.arange(6, dtype=np.int32).reshape(2, 3)
    return Outside(Inside(np.arange(3.0), 0.25), table, twice, 7)


@njit
def read(tag):
    twice = call_twice(tag.twice, (tag.n,))
    return tag.inside.x[2] + tag.inside.shift + tag.table[1, 2] + twice


def test_references_have_the_fields_of_their_tags():
    assert read(Reference(numbers())) == 2.0 + 0.25 + 5 + 14


@pytest.mark.parametrize(
    "again", [copy.deepcopy, lambda r: pickle.loads(pickle.dumps(r))]
)
def test_a_copied_reference_points_to_its_own_arrays(again):
    tag = Reference(numbers()._replace(twice=1))
    other = again(tag)
    assert not COMPILES or other.address != tag.address
    other.inside.x[2] = 5.0
    assert tag.inside.x[2] == 2.0


def asked(text, tag):
    """Operations that a text, and helpers that it calls, ask of a parameter."""
    module = inspect.getmodule(text)
    actual = set()
    for node in ast.walk(ast.parse(textwrap.dedent(inspect.getsource(text)))):
        if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Name)):
            continue
        for place, argument in enumerate(node.args):
            if isinstance(argument, ast.Name) and argument.id == tag:
                called = inspect.unwrap(getattr(module, node.func.id))
                if node.func.id in ENTRIES:
                    actual.add(node.func.id)
                else:
                    actual |= asked(
                        called, list(inspect.signature(called).parameters)[place]
                    )
    return actual


def sweeps():
    for name in SWEEPS:
        for sweep in vars(importlib.import_module(name)).values():
            if hasattr(sweep, "needs"):
                yield pytest.param(sweep, id=sweep.__name__)


@pytest.mark.parametrize("sweep", list(sweeps()))
def test_sweeps_name_the_operations_that_they_ask_for(sweep):
    """An operation that is not named would be called at the address 0."""
    text = inspect.unwrap(sweep)
    tags = {"blocks", "plain", "local"} & set(inspect.signature(text).parameters)
    assert {tag: asked(text, tag) for tag in tags} == {
        tag: set(names) for tag, names in sweep.needs.items()
    }


FIT_TWICE = """
from numba.core import event
from partwise import SequenceTagger
from partwise.datasets import toy_entities
compiled = []
class Listener(event.Listener):
    def on_start(self, event):
        compiled.append(event.data["dispatcher"].py_func.__name__)
    def on_end(self, event):
        pass
with event.install_listener("numba:compile", Listener()):
    SequenceTagger(tol=0.5).fit(*toy_entities(8))
print(len(compiled))
"""


@needs_compiler
def test_a_second_process_compiles_nothing(tmp_path):
    source = os.path.dirname(os.path.dirname(partwise.__file__))
    environment = {
        **os.environ, "NUMBA_CACHE_DIR": str(tmp_path), "PYTHONPATH": source,
        "PYTHONWARNINGS": "ignore",
    }  # fmt: skip
    run = [sys.executable, "-c", FIT_TWICE]
    first, second = (
        int(
            subprocess.run(run, env=environment, check=True, capture_output=True).stdout
        )
        for _ in range(2)
    )
    assert first > 50
    assert second == 0
