"""numba's `njit` with a cache that follows the content of the package.

numba keys compiled code by the file of a function alone: an edit of a kernel that the
function calls is not seen, a class that has moved breaks the code that refers to it,
and a second environment compiles everything again. Here compiled code is stored under a
digest of all files that are compiled, in the user's cache folder or `NUMBA_CACHE_DIR`.
So stale code is never loaded, and all environments with the same version of the package
share one cache.

Nothing depends on the cache: where it cannot be read or written, a warning names the
folder, and work goes on.
"""

from __future__ import annotations

import atexit
import functools
import gc
import hashlib
import logging
import os
import re
import shutil
import sys
import tempfile
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numba
from numba.core import config, event
from numba.core.caching import CompileResultCacheImpl, FunctionCache, _CacheLocator

PACKAGE = Path(__file__).parent
# files that are compiled, or whose functions are
COMPILED = re.compile(
    rb"^\s*(from|import) (numba|partwise\.compiled|partwise\.jit import .*njit)\b",
    re.MULTILINE,
)
PLAIN = ("objective.py",)  # has functions that kernels call, and imports none of these
VERSIONS = 4  # of the package that are kept, and others that are in use
IN_USE = 14 * 24 * 3600.0  # seconds since a version was last used
PATIENCE = 2.0  # seconds of compilation of which nobody is told
ANNOUNCEMENT = "compiling … (first run only)"


def njit(**options: Any) -> Callable[[Any], Any]:
    """`numba.njit` with options; ``cache=True`` means the cache of this module."""
    is_cached = options.pop("cache", False)

    def decorate(function: Any) -> Any:
        compiled = numba.njit(**options)(function)
        if is_cached and not vars(config)["DISABLE_JIT"]:
            path = Path(compiled.py_func.__code__.co_filename)
            # others would keep the code of kernels that they call when these change
            if PACKAGE in path.parents:
                compiled._cache = KernelCache(compiled.py_func)
        return compiled

    return decorate


@functools.cache
def kernel_key() -> str:
    """A digest of numba's version and flags, and of every file that is compiled."""
    flags = numba.__version__, vars(config)["BOUNDSCHECK"], sys.version_info[:2]
    digest = hashlib.blake2b(repr(flags).encode(), digest_size=10)
    for path in sorted(PACKAGE.rglob("*.py")):
        text = path.read_bytes()
        if path.name in PLAIN or COMPILED.search(text):
            digest.update(f"{path.relative_to(PACKAGE)}:{len(text)}:".encode() + text)
    return digest.hexdigest()


def user_cache() -> Path:
    """The folder for caches of this user."""
    if vars(config)["CACHE_DIR"]:
        return Path(vars(config)["CACHE_DIR"])
    if sys.platform == "win32":
        return (
            Path(os.environ.get("LOCALAPPDATA") or Path.home()) / "partwise" / "cache"
        )
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches" / "partwise"
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "partwise"


@functools.cache
def cache_folder() -> Path:
    """The folder for compiled functions of this version, made if necessary."""
    try:
        folder = user_cache() / f"kernels-{kernel_key()}"
        is_new = not folder.exists()
        folder.mkdir(parents=True, exist_ok=True)
        tempfile.TemporaryFile(dir=folder).close()
        os.utime(folder)
        if is_new:
            _forget_old_versions(folder)
    except (OSError, RuntimeError) as error:  # no home, no room, no right to write
        folder = Path(tempfile.mkdtemp(prefix="partwise-"))
        atexit.register(shutil.rmtree, folder, ignore_errors=True)
        _warn_once(f"compiled code cannot be kept ({error}); it is compiled each time")
    return folder


def _forget_old_versions(newest: Path) -> None:
    others = [path for path in newest.parent.glob("kernels-*") if path != newest]
    others.sort(key=lambda path: path.stat().st_mtime, reverse=True)
    for path in others[VERSIONS - 1 :]:
        if time.time() - path.stat().st_mtime > IN_USE:
            shutil.rmtree(path, ignore_errors=True)


@functools.cache
def _warn_once(message: str) -> None:
    warnings.warn(
        f"{message}. Set NUMBA_CACHE_DIR to a folder that can be written",
        RuntimeWarning,
        stacklevel=2,
    )


class ContentLocator(_CacheLocator):
    """Functions of the package in `cache_folder`."""

    def __init__(self, py_func: Any, py_file: str) -> None:
        self._py_file = py_file  # numba names it in a warning
        self._lineno = py_func.__code__.co_firstlineno
        parts = Path(py_file).relative_to(PACKAGE).parent.parts
        self._path = cache_folder() / ".".join(("partwise", *parts))

    @classmethod
    def from_function(cls, py_func: Any, py_file: str) -> ContentLocator:
        """The place of a function."""
        return cls(py_func, py_file)

    def ensure_cache_path(self) -> None:
        """Make the folder."""
        self._path.mkdir(parents=True, exist_ok=True)

    def get_cache_path(self) -> str:
        """The folder of a function's files."""
        return str(self._path)

    def get_source_stamp(self) -> str:
        """The same for all functions: their folder is named by their content."""
        return kernel_key()

    def get_disambiguator(self) -> str:
        """Tells functions of one name in one file apart."""
        return str(self._lineno)


class _KernelCacheImpl(CompileResultCacheImpl):
    _locator_classes = [ContentLocator]  # noqa: RUF012 - numba's class attribute


class KernelCache(FunctionCache):
    """A function's cache whose errors become warnings."""

    _impl_class = _KernelCacheImpl

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """What was compiled, or None; also where files are damaged."""
        _clock.begin()
        try:
            return super().load_overload(sig, target_context)
        except Exception as error:
            self._give_up(error)
            return None
        finally:
            _clock.end()

    def save_overload(self, sig: Any, data: Any) -> None:
        """Store what was compiled, if possible."""
        try:
            super().save_overload(sig, data)
        except Exception as error:
            self._give_up(error)

    def _give_up(self, error: Exception) -> None:
        """Disable and delete the cache; the next process writes it anew."""
        self.disable()
        shutil.rmtree(self.cache_path, ignore_errors=True)
        _warn_once(
            f"compiled code in {cache_folder()} cannot be used "
            f"({type(error).__name__}: {error}); it is compiled anew"
        )


class _Clock(event.Listener):
    """The intervals in which numba compiles or loads code, and a line to show once.

    A first fit compiles for up to a minute, in which nothing else happens. Where nobody
    has asked for the line, it goes to the logger ``partwise`` after `PATIENCE` seconds:
    without any configuration Python shows messages of the level ``WARNING`` on standard
    error, and a program can silence or redirect them by the name of the logger. A
    warning of `warnings` would say that the caller did something wrong, and end the fit
    where warnings are errors.

    Numba makes millions of objects that refer to each other and live on. Python looks
    through all of them for garbage whenever 700 have been added, which is a sixth of
    the time of compilation; meanwhile it looks after 100,000.
    """

    def __init__(self) -> None:
        self.depth = 0
        self.began = 0.0
        self.threshold = gc.get_threshold()
        self.intervals: list[tuple[float, float]] = []
        self.show: Callable[[str], Any] | None = None
        self.is_announced = False
        self.compiled = 0.0  # seconds, without those of loading alone

    def on_start(self, event: Any) -> None:
        self.begin()
        waited = self.compiled + time.perf_counter() - self.began
        if not self.is_announced and (self.show is not None or waited >= PATIENCE):
            self.is_announced = True
            (self.show or logging.getLogger("partwise").warning)(ANNOUNCEMENT)

    def on_end(self, event: Any) -> None:
        began = self.began
        self.end()
        if not self.depth:
            self.compiled += self.intervals[-1][1] - began

    def begin(self) -> None:
        """Compilation begins, or that of a function within it, or loading."""
        if not self.depth:
            self.began = time.perf_counter()
            self.threshold = gc.get_threshold()
            if self.threshold[0]:  # else somebody has switched collection off
                gc.set_threshold(100_000, *self.threshold[1:])
        self.depth += 1

    def end(self) -> None:
        """What began last ends."""
        self.depth -= 1
        if not self.depth:
            gc.set_threshold(*self.threshold)
            self.intervals.append((self.began, time.perf_counter()))


_clock = _Clock()
event.register("numba:compile", _clock)


def compile_seconds(begin: float, end: float) -> float:
    """Seconds of an interval during which numba compiled, or loaded what it had.

    Parameters
    ----------
    begin, end : float
        Of the clock `time.perf_counter`.
    """
    return sum(
        max(0.0, min(end, b) - max(begin, a)) for a, b in reversed(_clock.intervals)
    )


def announce_compilation(show: Callable[[str], Any]) -> None:
    """Show a line when numba begins to compile, once in a process.

    Numba's event comes after the look into the disk cache, so the line is shown exactly
    when code is compiled. Without a call of this function it is logged, and only when
    compilation takes more than two seconds.

    Parameters
    ----------
    show : callable
        Called with the line; `print`, for example. The first one given counts.
    """
    if _clock.show is None:
        _clock.show = show
