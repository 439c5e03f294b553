"""Planes of `objective.py` for kernels: the same text, compiled."""

from partwise import objective
from partwise.compiled import kernel

plane = kernel(objective.plane)
violation_of = kernel(objective.violation_of)


@kernel
def cut(rule, loss, margin):
    """Offset, scale and violation of an output, from its loss and <w, δ>."""
    b, scale = plane(rule, loss)
    return b, scale, violation_of(rule, b, scale, margin)
