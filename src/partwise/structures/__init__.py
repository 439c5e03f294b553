"""Output spaces: one per file, with its numba kernels beside it."""
