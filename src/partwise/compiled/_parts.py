"""Parts of kernels: functions that numba compiles only as far as their callers need.

Numba optimises every function and makes machine code of it, then does both again
inside each caller, into which its intermediate code (LLVM's) is linked. A function
that kernels alone call needs the intermediate code and nothing else. A part stops
there: a first fit of a tagger compiled in 26 s instead of 43 s by this alone.

Parts are not kept in numba's cache: what calls them is, with their code inside.

How libraries of code are linked is private to numba (written for 0.68).
`tests/test_compiled.py` compiles parts and fails where that has changed.
"""

from typing import Any

from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import Compiler

from partwise.jit import njit


class _NoEnvironment:
    """A code generator that leaves environments alone: a part has no address."""

    def __init__(self, codegen):
        self._codegen = codegen

    def __getattr__(self, name):
        return getattr(self._codegen, name)

    def set_env(self, env_name, env):
        """Nothing to write to."""


class PartLibrary(JITCodeLibrary):
    """Intermediate code to be linked into callers, without machine code."""

    @property
    def codegen(self):
        """Numba's, for all but environments."""
        return _NoEnvironment(self._codegen)

    def _optimize_functions(self, ll_module):
        ll_module.data_layout = self._codegen._data_layout

    def finalize(self):
        """Link what the part calls; callers optimise it with the rest."""
        self._raise_if_finalized()
        for library in dict.fromkeys(self._linking_libraries):
            self._reload_init.update(library._reload_init)
            self._final_module.link_in(library._get_module_for_linking(), preserve=True)
        self._finalize_dynamic_globals()
        self._finalized = True

    def get_pointer_to_function(self, name):
        """0: there is no machine code."""
        self._ensure_finalized()
        return 0


class PartCompiler(Compiler):
    """Numba's compiler, with a library that is not made into machine code."""

    def compile_extra(self, func):
        """As numba does."""
        codegen = self.state.targetctx.codegen()
        self.state.library = PartLibrary(codegen, func.__qualname__)
        self.state.library.enable_object_caching()
        return super().compile_extra(func)


PART: Any = {
    "no_cpython_wrapper": True,
    "no_cfunc_wrapper": True,
    "pipeline_class": PartCompiler,
}


def with_part(dispatcher, **options):
    """Let kernels that call the dispatcher link a part instead of the function."""
    if not hasattr(dispatcher, "py_func"):
        return dispatcher  # numba is switched off
    part = njit(nogil=True, **PART, **options)(dispatcher.py_func)
    dispatcher.get_call_template = part.get_call_template
    dispatcher.get_overload = part.get_overload
    return dispatcher
