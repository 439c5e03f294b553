"""Settings of all tests: where kernels are cached, and how examples are drawn.

This file is read before anything imports numba.
"""

import os
from pathlib import Path

from hypothesis import settings

os.environ.setdefault(
    "NUMBA_CACHE_DIR", str(Path(__file__).parents[1] / ".numba_cache")
)

# the first example of a test may compile for seconds: no deadlines
settings.register_profile("partwise", deadline=None)
settings.register_profile(
    "ci", deadline=None, derandomize=True, database=None, print_blob=True
)
settings.load_profile("ci" if os.environ.get("CI") else "partwise")
