"""Settings of all tests: where kernels are cached, and how examples are drawn.

Numba's disk cache does not see edits in imported modules, so each state of the kernel
files has a cache of its own. This file is read before anything imports numba.
"""

import hashlib
import os
import re
from pathlib import Path

from hypothesis import settings

ROOT = Path(__file__).parents[1]
COMPILED = re.compile(rb"^\s*(from|import) (numba|partwise\.compiled)\b", re.MULTILINE)
FLAGS = ("NUMBA_DISABLE_JIT", "NUMBA_BOUNDSCHECK")  # not in numba's own key


def kernel_key() -> str:
    """Digest of the flags and of every file that is compiled, or compiled into one."""
    digest = hashlib.sha256(repr([os.environ.get(flag) for flag in FLAGS]).encode())
    for path in sorted((ROOT / "src" / "partwise").rglob("*.py")):
        text = path.read_bytes()
        if COMPILED.search(text):
            digest.update(str(path.relative_to(ROOT)).encode() + text)
    return digest.hexdigest()[:16]


if not os.environ.get("NUMBA_CACHE_DIR"):
    os.environ["NUMBA_CACHE_DIR"] = str(ROOT / ".numba_cache" / kernel_key())

# the first example of a test may compile for seconds: no deadlines
settings.register_profile("partwise", deadline=None)
settings.register_profile(
    "ci", deadline=None, derandomize=True, database=None, print_blob=True
)
settings.load_profile("ci" if os.environ.get("CI") else "partwise")
