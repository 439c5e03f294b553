"""`plane` and `violation_of` of `objective.py` for kernels: one text for both."""

from partwise import objective
from partwise.compiled import kernel

plane = kernel(objective.plane)
violation_of = kernel(objective.violation_of)
